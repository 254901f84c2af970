//! Nearly sorted orders of arrival, after the Benchmark on Data Sortedness (BoDS).
//!
//! A. Raman, K. Karatzenidis, S. Sarkar, M. Olma, M. Athanassoulis, "BoDS: A Benchmark on Data
//! Sortedness", TPCTC 2022.

mod beta;
mod sortedness;
mod swaps;

use std::fmt;
use std::str::FromStr;

use self::beta::Beta;
pub use self::sortedness::Sortedness;
use super::Random;
use crate::error::{Error, Result};

/// How far an order of arrival is from sorted: (K, L)-sortedness.
///
/// As text `k=10,l=5`, and as many of `alpha`, `beta` and `partitions` as differ from 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Disorder {
    /// K: the entries out of place, in percent of all.
    pub out_of_place: f64,
    /// L: the largest displacement of an entry, in percent of the number of entries.
    pub displacement: f64,
    /// The distribution of targets over the places within reach of an entry.
    targets: Beta,
    /// The number of equal parts, one after another, each of which is put out of order by itself: K and
    /// L are shares of a part.
    partitions: u32,
}

/// A partition of an order of arrival.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The rank of its smallest key among all keys.
    pub first: u64,
    /// The ranks of its keys within it, in the order of their arrival.
    pub ranks: Vec<u32>,
}

/// The names in its text.
const KEYS: &str = "k, l, alpha, beta, partitions";

impl FromStr for Disorder {
    type Err = Error;

    fn from_str(text: &str) -> Result<Disorder> {
        let mut disorder = Disorder::new(0.0, 0.0);
        let (mut k, mut l) = (false, false);
        for part in text.split(',') {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let number = || -> Result<f64> {
                value.parse().map_err(|_| {
                    Error::Usage(format!("{name}={value}: write a number, such as {name}=5"))
                })
            };
            match name {
                "k" => (disorder.out_of_place, k) = (percent(name, number()?)?, true),
                "l" => (disorder.displacement, l) = (percent(name, number()?)?, true),
                "alpha" => disorder.targets.alpha = above_zero(name, number()?)?,
                "beta" => disorder.targets.beta = above_zero(name, number()?)?,
                "partitions" => {
                    let parsed = value.parse().ok().filter(|count| *count > 0);
                    disorder.partitions = parsed.ok_or_else(|| {
                        Error::Usage(format!(
                            "partitions={value}: write a whole number from 1 on"
                        ))
                    })?;
                }
                _ => {
                    return Err(Error::Usage(format!(
                        "an order has no {name:?}: write {KEYS}, such as k=10,l=5"
                    )));
                }
            }
        }
        match (k, l) {
            (true, true) => Ok(disorder),
            _ => Err(Error::Usage(format!(
                "{text:?} is no order: write both k and l, such as k=10,l=5"
            ))),
        }
    }
}

impl fmt::Display for Disorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "k={},l={}", self.out_of_place, self.displacement)?;
        let Beta { alpha, beta } = self.targets;
        for (name, value) in [("alpha", alpha), ("beta", beta)] {
            if value != 1.0 {
                write!(f, ",{name}={value}")?;
            }
        }
        match self.partitions {
            1 => Ok(()),
            count => write!(f, ",partitions={count}"),
        }
    }
}

fn percent(name: &str, value: f64) -> Result<f64> {
    if (0.0..=100.0).contains(&value) {
        return Ok(value);
    }
    Err(Error::Usage(format!(
        "{name}={value}: write a share from 0 to 100, in percent"
    )))
}

fn above_zero(name: &str, value: f64) -> Result<f64> {
    if value.is_finite() && value > 0.0 {
        return Ok(value);
    }
    Err(Error::Usage(format!(
        "{name}={value}: write a number above 0"
    )))
}

impl Disorder {
    /// Ascending.
    pub const SORTED: Disorder = Disorder::new(0.0, 0.0);

    /// K and L in percent, from 0 to 100, with uniformly distributed targets. If either is 0, the order
    /// is sorted.
    pub const fn new(out_of_place: f64, displacement: f64) -> Disorder {
        Disorder {
            out_of_place,
            displacement,
            targets: Beta::UNIFORM,
            partitions: 1,
        }
    }

    /// The ranks of `entries` keys in the order of their arrival, partition by partition, always the same
    /// for the same seed: exactly K % of the entries are out of place, the largest displacement is exactly
    /// L %, both rounded to whole entries. Takes 8 bytes of memory for each entry of one partition, and
    /// constant time an entry.
    ///
    /// # Errors
    /// While iterating, if a partition has 2^32 entries or more, or too few for K and L.
    pub fn parts(self, entries: u64, seed: u64) -> impl Iterator<Item = Result<Part>> {
        let count = u64::from(self.partitions);
        let start = move |number| entries / count * number + (entries % count).min(number);
        (0..count).map(move |number| {
            let (first, end) = (start(number), start(number + 1));
            let ranks = self.part(end - first, &mut Random::new(seed, number))?;
            Ok(Part { first, ranks })
        })
    }

    /// The ranks of all partitions together; see [`Disorder::parts`].
    ///
    /// # Errors
    /// If there are 2^32 entries or more, or too few for K and L.
    pub fn order(self, entries: usize, seed: u64) -> Result<Vec<u32>> {
        if u32::try_from(entries).is_err() {
            return Err(Error::Usage(format!(
                "{entries} keys are too many for an order in memory: take fewer than 4,294,967,296"
            )));
        }
        let mut order = Vec::with_capacity(entries);
        for part in self.parts(entries as u64, seed) {
            let Part { first, ranks } = part?;
            order.extend(ranks.into_iter().map(|rank| first as u32 + rank));
        }
        Ok(order)
    }

    /// The ranks of a partition.
    fn part(self, entries: u64, random: &mut Random) -> Result<Vec<u32>> {
        let Ok(entries) = u32::try_from(entries) else {
            return Err(Error::Usage(format!(
                "{entries} entries are too many for one partition: write partitions={} or more",
                entries / u64::from(u32::MAX) + 1
            )));
        };
        if entries == 0 || self.out_of_place == 0.0 || self.displacement == 0.0 {
            return Ok((0..entries).collect());
        }
        let share = |percent: f64| (f64::from(entries) * percent / 100.0).round() as u32;
        let displaced = share(self.out_of_place);
        let reach = share(self.displacement).min(entries.saturating_sub(1));
        if displaced < 2 || reach == 0 {
            return Err(self.too_few(entries, &format!("{displaced} out of place by {reach}")));
        }
        let found = swaps::displace(entries, displaced, reach, self.targets, random);
        found.ok_or_else(|| {
            self.too_few(
                entries,
                &format!("{displaced} out of place, by at most {reach}"),
            )
        })
    }

    fn too_few(self, entries: u32, would: &str) -> Error {
        Error::Usage(format!(
            "{self} of {entries} entries in a partition would be {would}, which no order can be: take more \
             entries, or a larger k or l"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARES: [f64; 7] = [1.0, 3.0, 5.0, 10.0, 25.0, 50.0, 100.0];

    fn ranks(disorder: Disorder, entries: usize, seed: u64) -> Vec<u32> {
        disorder.order(entries, seed).unwrap()
    }

    #[test]
    fn every_order_is_exact_and_a_permutation() {
        for seed in 0..100 {
            for k in SHARES {
                for l in SHARES {
                    let ranks = ranks(Disorder::new(k, l), 1_000, seed);
                    let measured = Sortedness::of(&ranks);
                    let told = format!("k={k},l={l}, seed {seed}: {measured:?}");
                    assert_eq!(measured.out_of_place, (10.0 * k) as u64, "{told}");
                    let longest = (10.0 * l).min(999.0);
                    assert_eq!(measured.largest, longest as u64, "{told}");
                    let mut sorted = ranks;
                    sorted.sort_unstable();
                    assert!(sorted.into_iter().eq(0..1_000), "{told}");
                }
            }
        }
    }

    /// The mean displacement as a share of L, which the published generator was measured to have.
    #[test]
    fn mean_displacements_are_those_of_the_published_generator() {
        for (text, expected) in [
            ("k=10,l=10", 0.488),
            ("k=10,l=10,alpha=2,beta=2", 0.374),
            ("k=10,l=10,alpha=5,beta=5", 0.259),
            ("k=10,l=10,alpha=1,beta=5", 0.649),
            ("k=10,l=10,alpha=2,beta=5", 0.458),
            ("k=1,l=50", 0.44),
            ("k=1,l=1", 0.5),
        ] {
            let disorder: Disorder = text.parse().unwrap();
            let measured = Sortedness::of(&ranks(disorder, 200_000, 3));
            let reach = 2_000.0 * disorder.displacement;
            let mean = measured.mean_displacement() / reach;
            assert!((mean - expected).abs() < 0.015, "{text}: {mean}");
        }
    }

    #[test]
    fn orders_depend_on_the_seed_alone_and_zero_is_sorted() {
        let disorder = Disorder::new(10.0, 5.0);
        assert_eq!(ranks(disorder, 5_000, 1), ranks(disorder, 5_000, 1));
        assert_ne!(ranks(disorder, 5_000, 1), ranks(disorder, 5_000, 2));
        for sorted in [Disorder::new(0.0, 10.0), Disorder::new(10.0, 0.0)] {
            assert!(ranks(sorted, 100, 1).into_iter().eq(0..100));
        }
    }

    #[test]
    fn partitions_are_put_out_of_order_by_themselves() {
        let disorder: Disorder = "k=50,l=10,partitions=3".parse().unwrap();
        let all = ranks(disorder, 3_001, 5);
        for (part, first) in [
            (&all[..1_001], 0),
            (&all[1_001..2_001], 1_001),
            (&all[2_001..], 2_001),
        ] {
            let own: Vec<u32> = part.iter().map(|rank| rank - first).collect();
            let measured = Sortedness::of(&own);
            assert!(own.iter().all(|rank| *rank < part.len() as u32));
            assert!((499..=501).contains(&measured.out_of_place) && measured.largest == 100);
        }
        assert_ne!(all[..1_000], all[1_001..2_001]);
    }

    #[test]
    fn texts_are_read_and_written() {
        for text in [
            "k=10,l=5",
            "k=0.5,l=100,alpha=2.5",
            "k=1,l=1,beta=3,partitions=7",
        ] {
            assert_eq!(text.parse::<Disorder>().unwrap().to_string(), text);
        }
        for (text, part) in [
            ("", "write k, l"),
            ("k=10", "both k and l"),
            ("k=101,l=1", "from 0 to 100"),
            ("k=-1,l=1", "from 0 to 100"),
            ("k=NaN,l=1", "from 0 to 100"),
            ("k=x,l=1", "write a number"),
            ("k=1,l=1,alpha=0", "above 0"),
            ("k=1,l=1,beta=inf", "above 0"),
            ("k=1,l=1,partitions=0", "from 1 on"),
            ("k=1,l=1,gamma=2", "\"gamma\""),
        ] {
            let error = text.parse::<Disorder>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn too_few_entries_are_an_error_with_a_remedy() {
        for (text, entries) in [
            ("k=1,l=50", 100),
            ("k=50,l=1", 20),
            ("k=50,l=50", 1),
            ("k=100,l=10", 9),
        ] {
            let disorder: Disorder = text.parse().unwrap();
            let error = disorder.order(entries, 1).unwrap_err();
            assert!(error.to_string().contains("take more"), "{error}");
        }
        let error = Disorder::new(1.0, 1.0)
            .parts(1 << 33, 1)
            .find_map(Result::err);
        assert!(error.unwrap().to_string().contains("partitions=3"));
        assert_eq!(ranks(Disorder::new(1.0, 1.0), 0, 1).len(), 0);
    }
}
