//! Which record an operation is for: the request distributions of YCSB's core workload
//! (`site.ycsb.generator` and `CoreWorkload`), over records numbered from 0 in the order they are
//! inserted.
//!
//! As there, uniform, hotspot, sequential and plain-zipfian requests go to the records that were present
//! when the phase began; zipfian ones to every record, those inserted meanwhile included; latest and
//! exponential ones are drawn backwards from the newest record.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use super::zipfian::{Zipfian, fnv1a, unit};
use crate::data::Random;
use crate::error::{Error, Result};

/// How requests are spread over records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// All records alike.
    Uniform,
    /// YCSB's scrambled Zipfian: ranks of 10,000,000,001 items, hashed, modulo the number of records
    /// that there may ever be. So many items make it flatter than the law over the records themselves.
    Zipfian { theta: f64 },
    /// The law over the records themselves, the first inserted the most frequent.
    PlainZipfian { theta: f64 },
    /// YCSB's skewed latest: Zipfian, the newest record the most frequent. The very first record is
    /// never asked for, there as here.
    Latest { theta: f64 },
    /// Of the operations a share goes to the records below a share of all, the rest to the others.
    Hotspot { records: f64, operations: f64 },
    /// Exponential from the newest record backwards: `percentile` percent of the requests fall into the
    /// newest `share` of the records. Those that would fall before the first are drawn again.
    Exponential { percentile: f64, share: f64 },
    /// One after the other, from the start again past the end.
    Sequential,
}

/// The skew that YCSB takes.
const THETA: f64 = 0.99;
/// Share of hot records and of operations on them that YCSB takes.
const HOTSPOT: (f64, f64) = (0.2, 0.8);
/// Percentile and share that YCSB takes.
const EXPONENTIAL: (f64, f64) = (95.0, 0.857_142_857_1);

impl FromStr for Distribution {
    type Err = Error;

    fn from_str(text: &str) -> Result<Distribution> {
        let (name, argument) = match text.split_once('=') {
            Some((name, argument)) => (name, Some(argument)),
            None => (text, None),
        };
        let theta = || match argument {
            None => Ok(THETA),
            Some(number) => theta(text, number),
        };
        match name {
            "uniform" if argument.is_none() => Ok(Distribution::Uniform),
            "sequential" if argument.is_none() => Ok(Distribution::Sequential),
            "zipfian" => Ok(Distribution::Zipfian { theta: theta()? }),
            "plain-zipfian" => Ok(Distribution::PlainZipfian { theta: theta()? }),
            "latest" => Ok(Distribution::Latest { theta: theta()? }),
            "hotspot" => {
                let (records, operations) = two(text, argument, HOTSPOT, (1.0, 1.0))?;
                Ok(Distribution::Hotspot {
                    records,
                    operations,
                })
            }
            "exponential" => {
                let (percentile, share) = two(text, argument, EXPONENTIAL, (100.0, 1.0))?;
                Ok(Distribution::Exponential { percentile, share })
            }
            _ => Err(Error::Usage(format!(
                "there is no request distribution {text:?}: name uniform, zipfian[=THETA], \
                 plain-zipfian[=THETA], latest[=THETA], hotspot[=RECORDS:OPERATIONS], \
                 exponential[=PERCENTILE:SHARE] or sequential"
            ))),
        }
    }
}

fn theta(text: &str, number: &str) -> Result<f64> {
    let parsed = number.parse().ok();
    parsed
        .filter(|theta| *theta > 0.0 && *theta < 1.0)
        .ok_or_else(|| {
            Error::Usage(format!(
                "{number:?} in {text:?} is no skew: give one between 0 and 1, such as 0.99"
            ))
        })
}

/// Two numbers above 0 and below `ends`, parted by a colon.
fn two(
    text: &str,
    argument: Option<&str>,
    default: (f64, f64),
    ends: (f64, f64),
) -> Result<(f64, f64)> {
    let Some(argument) = argument else {
        return Ok(default);
    };
    let number = |text: &str, end: f64| -> Option<f64> {
        let number = text.parse().ok()?;
        (number > 0.0 && number < end).then_some(number)
    };
    let numbers = argument
        .split_once(':')
        .and_then(|(first, second)| Some((number(first, ends.0)?, number(second, ends.1)?)));
    numbers.ok_or_else(|| {
        Error::Usage(format!(
            "{argument:?} in {text:?} is not two numbers above 0, the first below {}, the second below \
             {}: write them like {}:{}",
            ends.0, ends.1, default.0, default.1
        ))
    })
}

impl Display for Distribution {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let skewed = |f: &mut Formatter<'_>, name: &str, theta: f64| {
            if theta == THETA {
                write!(f, "{name}")
            } else {
                write!(f, "{name}={theta}")
            }
        };
        let paired = |f: &mut Formatter<'_>, name: &str, pair: (f64, f64), default| {
            if pair == default {
                write!(f, "{name}")
            } else {
                write!(f, "{name}={}:{}", pair.0, pair.1)
            }
        };
        match *self {
            Distribution::Uniform => write!(f, "uniform"),
            Distribution::Sequential => write!(f, "sequential"),
            Distribution::Zipfian { theta } => skewed(f, "zipfian", theta),
            Distribution::PlainZipfian { theta } => skewed(f, "plain-zipfian", theta),
            Distribution::Latest { theta } => skewed(f, "latest", theta),
            Distribution::Hotspot {
                records,
                operations,
            } => paired(f, "hotspot", (records, operations), HOTSPOT),
            Distribution::Exponential { percentile, share } => {
                paired(f, "exponential", (percentile, share), EXPONENTIAL)
            }
        }
    }
}

/// The records that a phase begins with, and those it will add.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Records present at the beginning.
    pub records: u64,
    /// Records that are expected to be inserted.
    pub inserts: u64,
}

/// Draws the records of one client thread.
#[derive(Debug)]
pub struct Chooser(Kind);

#[derive(Debug)]
enum Kind {
    Uniform { records: u64 },
    Scrambled { zipfian: Zipfian, items: u64 },
    Plain(Zipfian),
    Latest(Zipfian),
    Hotspot { hot: u64, records: u64, share: f64 },
    Exponential { gamma: f64 },
    Sequential { next: u64, step: u64, records: u64 },
}

impl Chooser {
    /// For thread `thread` of `threads`: sequential requests are dealt out to the threads by turns, all
    /// others are independent.
    ///
    /// # Errors
    /// If there are too few records for the distribution.
    pub fn new(
        distribution: Distribution,
        extent: Extent,
        (thread, threads): (u64, u64),
    ) -> Result<Chooser> {
        let records = extent.records;
        if records == 0 {
            let message = format!("{distribution} requests need a record: load at least one");
            return Err(Error::Usage(message));
        }
        Ok(Chooser(match distribution {
            Distribution::Uniform => Kind::Uniform { records },
            Distribution::Zipfian { theta } => Kind::Scrambled {
                // Ranks up to 10,000,000,000 included, as there.
                zipfian: Zipfian::new(10_000_000_001, theta),
                // The bounds are inclusive there, and inserts are taken twice to be on the safe side.
                items: records + 2 * extent.inserts + 1,
            },
            Distribution::PlainZipfian { theta } => Kind::Plain(Zipfian::new(records, theta)),
            Distribution::Latest { theta } => Kind::Latest(Zipfian::new(records - 1, theta)),
            Distribution::Hotspot {
                records: share_of_records,
                operations,
            } => Kind::Hotspot {
                hot: hot(records, share_of_records)?,
                records,
                share: operations,
            },
            Distribution::Exponential { percentile, share } => Kind::Exponential {
                gamma: -(1.0 - percentile / 100.0).ln() / (records as f64 * share),
            },
            Distribution::Sequential => Kind::Sequential {
                next: thread % records,
                step: threads % records,
                records,
            },
        }))
    }

    /// The next record, below `present`: how many there are now, no fewer than at the beginning.
    pub fn next(&mut self, random: &mut Random, present: u64) -> u64 {
        match &mut self.0 {
            Kind::Uniform { records } => random.below(*records),
            Kind::Scrambled { zipfian, items } => loop {
                // The absolute value of the signed hash, as there.
                let hash = (fnv1a(zipfian.draw(random)) as i64).unsigned_abs();
                let record = hash % *items;
                if record < present {
                    return record;
                }
            },
            Kind::Plain(zipfian) => zipfian.draw(random),
            Kind::Latest(zipfian) => {
                let last = present.saturating_sub(1);
                zipfian.grow(last);
                last - zipfian.draw(random).min(last)
            }
            Kind::Hotspot {
                hot,
                records,
                share,
            } => {
                if unit(random) < *share {
                    random.below(*hot)
                } else {
                    *hot + random.below(*records - *hot)
                }
            }
            Kind::Exponential { gamma } => loop {
                let back = (-unit(random).ln() / *gamma) as u64;
                if back < present {
                    return present - 1 - back;
                }
            },
            Kind::Sequential {
                next,
                step,
                records,
            } => {
                let record = *next;
                *next = (*next + *step) % *records;
                record
            }
        }
    }
}

/// How many of `records` are hot.
fn hot(records: u64, share: f64) -> Result<u64> {
    let hot = (records as f64 * share) as u64;
    if hot == 0 {
        return Err(Error::Usage(format!(
            "a share of {share} of {records} records is none: load at least {}",
            (1.0 / share).ceil()
        )));
    }
    Ok(hot)
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_fits;
    use super::*;

    const DRAWS: usize = 200_000;

    fn counts(text: &str, records: u64, groups: u64) -> Vec<u64> {
        let extent = Extent {
            records,
            inserts: 0,
        };
        let mut chooser = Chooser::new(text.parse().unwrap(), extent, (0, 1)).unwrap();
        let (mut random, mut counts) = (Random::new(3, 3), vec![0; groups as usize]);
        for _ in 0..DRAWS {
            let record = chooser.next(&mut random, records);
            assert!(record < records);
            counts[(record * groups / records) as usize] += 1;
        }
        counts
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for text in [
            "uniform",
            "zipfian",
            "zipfian=0.9",
            "plain-zipfian=0.5",
            "latest",
            "hotspot",
            "hotspot=0.1:0.95",
            "exponential",
            "exponential=90:0.5",
            "sequential",
        ] {
            assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
        }
        for (text, part) in [
            ("zipf", "plain-zipfian[=THETA]"),
            ("uniform=1", "no request distribution"),
            ("zipfian=1", "between 0 and 1"),
            ("latest=x", "\"x\" in \"latest=x\" is no skew"),
            ("hotspot=0.2", "write them like 0.2:0.8"),
            ("hotspot=0.2:1", "the second below 1"),
            ("exponential=100:0.5", "the first below 100"),
        ] {
            let error = text.parse::<Distribution>().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn uniform_draws_are_uniform() {
        assert_fits(&counts("uniform", 1_000, 100), &[0.01; 100]);
    }

    #[test]
    fn plain_zipfian_draws_have_their_head_in_front() {
        let counts = counts("plain-zipfian=0.9", 1_000, 1_000);
        let first = 1.0 / super::super::zipfian::zeta(1_000, 0.9);
        let rest = 1.0 - first * (1.0 + 0.5f64.powf(0.9));
        let found = [counts[0], counts[1], counts[2..].iter().sum()];
        assert_fits(&found, &[first, first * 0.5f64.powf(0.9), rest]);
    }

    #[test]
    fn zipfian_draws_are_hashed_ranks_of_ten_billion() {
        for (text, theta) in [("zipfian", 0.99), ("zipfian=0.9", 0.9)] {
            let counts = counts(text, 1_000_000, 1_000_000);
            let zeta = super::super::zipfian::zeta(10_000_000_001, theta);
            let mut found = vec![DRAWS as u64];
            let mut shares = vec![1.0];
            // One more than there are records; the one past the end is drawn again.
            for (rank, hash) in [6_284_781_860_667_377_211u64, 8_517_097_267_634_966_620]
                .into_iter()
                .enumerate()
            {
                found.push(counts[(hash % 1_000_001) as usize]);
                // What else falls on the record is below a millionth of the rest.
                shares.push(((rank + 1) as f64).powf(-theta) / zeta + 1e-6);
                found[0] -= found[rank + 1];
                shares[0] -= shares[rank + 1];
            }
            assert_fits(&found, &shares);
        }
    }

    #[test]
    fn zipfian_draws_go_to_records_that_are_there() {
        let extent = Extent {
            records: 100,
            inserts: 50,
        };
        let theta = 0.9;
        let mut chooser = Chooser::new(Distribution::Zipfian { theta }, extent, (0, 1)).unwrap();
        let mut random = Random::new(4, 4);
        for present in 100..=150 {
            let mut newest = 0;
            for _ in 0..2_000 {
                let record = chooser.next(&mut random, present);
                newest = newest.max(record);
            }
            // Every record is asked for sooner or later, new ones too.
            assert_eq!(newest, present - 1);
        }
    }

    #[test]
    fn latest_draws_follow_inserts() {
        let extent = Extent {
            records: 1_000,
            inserts: 1_000,
        };
        let mut chooser = Chooser::new("latest".parse().unwrap(), extent, (0, 1)).unwrap();
        let mut random = Random::new(5, 5);
        for present in [1_000, 1_001, 1_500, 2_000] {
            let mut counts = [0u64; 3];
            for _ in 0..50_000 {
                let record = chooser.next(&mut random, present);
                assert!((1..present).contains(&record));
                counts[(present - 1 - record).min(2) as usize] += 1;
            }
            let first = 1.0 / super::super::zipfian::zeta(present - 1, 0.99);
            let second = first * 0.5f64.powf(0.99);
            assert_fits(&counts, &[first, second, 1.0 - first - second]);
        }
        let extent = Extent {
            records: 1,
            inserts: 0,
        };
        let mut one = Chooser::new("latest".parse().unwrap(), extent, (0, 1)).unwrap();
        assert_eq!(one.next(&mut random, 1), 0);
    }

    #[test]
    fn hotspot_draws_have_both_shares() {
        let found = counts("hotspot", 1_000, 10);
        assert_fits(
            &found,
            &[0.4, 0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
                .map(|s| if s > 0.3 { s } else { 0.2 / 8.0 }),
        );
        let extent = Extent {
            records: 4,
            inserts: 0,
        };
        let error = Chooser::new("hotspot".parse().unwrap(), extent, (0, 1)).unwrap_err();
        assert!(error.to_string().contains("load at least 5"), "{error}");
    }

    #[test]
    fn exponential_draws_have_their_percentile() {
        let found = counts("exponential", 70_000, 7);
        // 95 of 100 draws fall into the newest 6/7, before those that reach past the first record are
        // drawn again.
        let gamma = -(0.05f64).ln() / (70_000.0 * 0.857_142_857_1);
        let until = |records: f64| 1.0 - (-gamma * records).exp();
        assert!((until(60_000.0) - 0.95).abs() < 1e-9);
        let shares: Vec<f64> = (0..7)
            .rev()
            .map(|n| f64::from(n) * 10_000.0)
            .map(|from| (until(from + 10_000.0) - until(from)) / until(70_000.0))
            .collect();
        assert_fits(&found, &shares);
    }

    #[test]
    fn sequential_draws_are_dealt_out() {
        let extent = Extent {
            records: 5,
            inserts: 0,
        };
        let mut random = Random::new(6, 6);
        let mut draw = |thread, threads, present| {
            let mut chooser =
                Chooser::new(Distribution::Sequential, extent, (thread, threads)).unwrap();
            (0..6)
                .map(|_| chooser.next(&mut random, present))
                .collect::<Vec<u64>>()
        };
        assert_eq!(draw(0, 1, 5), [0, 1, 2, 3, 4, 0]);
        assert_eq!(draw(0, 2, 9), [0, 2, 4, 1, 3, 0]);
        assert_eq!(draw(1, 2, 5), [1, 3, 0, 2, 4, 1]);
    }

    #[test]
    fn no_record_is_an_error() {
        let extent = Extent {
            records: 0,
            inserts: 9,
        };
        let error = Chooser::new(Distribution::Uniform, extent, (0, 1)).unwrap_err();
        assert!(error.to_string().contains("load at least one"), "{error}");
    }
}
