//! Sorted distinct integers: look-alikes of the sets on which index kinds are usually compared.
//!
//! The same seed gives the same numbers on all platforms whose `exp`, `ln` and `cos` give the same
//! results.

use clap::ValueEnum;
use rhumb_index::check::SplitMix64;

/// The set of numbers to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Numbers {
    /// Uniform below 2^63.
    Uniform,
    /// Uniform below 2^38, and 21 outliers above 2^59: user ids.
    Fb,
    /// 100,000 Gaussian clusters below 2^60 of very different density: cell ids of a map.
    Osm,
    /// Gaps of 1 to 4.
    Dense,
    /// Lognormal (0, 2), times 10^9.
    Lognormal,
    /// Timestamps that come in bursts.
    Wiki,
}

/// The smallest and the largest binary logarithm of the sigma of a cluster of `osm`.
const SIGMA_BITS: (f64, f64) = (24.0, 40.0);
/// The number of clusters of `osm`.
const CLUSTERS: u64 = 100_000;

/// Outliers of user ids.
pub const OUTLIERS: usize = 21;

/// Parameters of `wiki`: the mean gap, the factor by which it is smaller in a burst, and the mean
/// number of keys in a burst and between two bursts.
const GAP: f64 = 200.0;
const HASTE: f64 = 8.0;
const BURST: f64 = 1_000.0;
const QUIET: f64 = 3_200.0;

impl Numbers {
    /// All sets, in the order in which they are listed.
    pub const ALL: [Numbers; 6] = [
        Numbers::Uniform,
        Numbers::Fb,
        Numbers::Osm,
        Numbers::Dense,
        Numbers::Lognormal,
        Numbers::Wiki,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Numbers::Uniform => "uniform",
            Numbers::Fb => "fb",
            Numbers::Osm => "osm",
            Numbers::Dense => "dense",
            Numbers::Lognormal => "lognormal",
            Numbers::Wiki => "wiki",
        }
    }

    /// `count` ascending distinct numbers. `count` is at most 2^32, so that every set has that
    /// many.
    pub fn make(self, count: usize, seed: u64) -> Vec<u64> {
        let mut random = SplitMix64::new(seed);
        let random = &mut random;
        match self {
            Numbers::Uniform => distinct(count, || random.next_u64() >> 1),
            Numbers::Fb => {
                let few = OUTLIERS.min(count / 2);
                let mut numbers = distinct(count - few, || random.below(1 << 38));
                numbers.extend(outliers(few, random));
                numbers
            }
            Numbers::Osm => clusters(count, random),
            Numbers::Dense => {
                let mut last = 0;
                let gaps = (0..count).map(|_| 1 + random.below(4));
                gaps.map(|gap| {
                    last += gap;
                    last
                })
                .collect()
            }
            Numbers::Lognormal => distinct(count, || ((random.normal() * 2.0).exp() * 1e9) as u64),
            Numbers::Wiki => bursts(count, random),
        }
    }
}

/// `count` different numbers drawn from `draw`, ascending.
pub fn distinct(count: usize, mut draw: impl FnMut() -> u64) -> Vec<u64> {
    let mut numbers = Vec::with_capacity(count);
    while numbers.len() < count {
        let missing = count - numbers.len();
        numbers.extend((0..missing).map(|_| draw()));
        numbers.sort_unstable();
        numbers.dedup();
    }
    numbers
}

/// `count` different numbers above 2^59, ascending.
pub fn outliers(count: usize, random: &mut SplitMix64) -> Vec<u64> {
    let least = 1 << 59;
    distinct(count, || least + random.below(u64::MAX - least))
}

fn clusters(count: usize, random: &mut SplitMix64) -> Vec<u64> {
    let (least, most) = SIGMA_BITS;
    let clusters: Vec<(f64, f64)> = (0..CLUSTERS)
        .map(|_| {
            let bits = least + (most - least) * random.fraction();
            (random.below(1 << 60) as f64, bits.exp2())
        })
        .collect();
    distinct(count, || {
        loop {
            let (centre, sigma) = clusters[random.below(CLUSTERS) as usize];
            let number = centre + sigma * random.normal();
            if (0.0..(1u64 << 60) as f64).contains(&number) {
                return number as u64;
            }
        }
    })
}

/// An exponentially distributed number with this mean.
pub fn exponential(random: &mut SplitMix64, mean: f64) -> f64 {
    -(1.0 - random.fraction()).ln() * mean
}

/// Times of arrivals with exponential gaps, whose mean is shorter during bursts; arrivals at the
/// same time count once.
fn bursts(count: usize, random: &mut SplitMix64) -> Vec<u64> {
    let mut numbers: Vec<u64> = Vec::with_capacity(count);
    let (mut now, mut left, mut burst) = (0.0, 0.0, true);
    while numbers.len() < count {
        if left <= 0.0 {
            burst = !burst;
            left = exponential(random, if burst { BURST } else { QUIET });
        }
        left -= 1.0;
        now += exponential(random, if burst { GAP / HASTE } else { GAP });
        if numbers.last() != Some(&(now as u64)) {
            numbers.push(now as u64);
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ascend_and_repeat_with_the_seed() {
        for set in Numbers::ALL {
            let numbers = set.make(20_000, 42);
            assert_eq!(numbers.len(), 20_000, "{}", set.name());
            assert!(numbers.is_sorted_by(|a, b| a < b), "{}", set.name());
            assert_eq!(numbers, set.make(20_000, 42));
            assert_ne!(numbers, set.make(20_000, 43));
            let name = set.to_possible_value().unwrap();
            assert_eq!(name.get_name(), set.name());
            assert_eq!(set.make(3, 1).len(), 3);
        }
    }

    /// The share of gaps that are shorter than `share` times the mean gap.
    fn crowded(numbers: &[u64], share: f64) -> f64 {
        let span = (numbers[numbers.len() - 1] - numbers[0]) as f64;
        let short = share * span / numbers.len() as f64;
        let gaps = numbers.windows(2).map(|pair| (pair[1] - pair[0]) as f64);
        gaps.filter(|gap| *gap < short).count() as f64 / numbers.len() as f64
    }

    #[test]
    fn every_set_has_its_shape() {
        let make = |set: Numbers| set.make(100_000, 7);
        let uniform = make(Numbers::Uniform);
        assert!(uniform.iter().all(|number| *number < 1 << 63));
        let expected = 1.0 - (-0.5f64).exp();
        assert!((crowded(&uniform, 0.5) - expected).abs() < 0.01);

        let fb = make(Numbers::Fb);
        let far = fb.iter().filter(|number| **number >= 1 << 59).count();
        let near = fb.iter().filter(|number| **number < 1 << 38).count();
        assert_eq!((far, near), (21, 100_000 - 21));

        let osm = make(Numbers::Osm);
        assert!(osm.iter().all(|number| *number < 1 << 60));
        assert!(crowded(&osm, 0.01) > 0.3, "clusters are crowded");

        let dense = make(Numbers::Dense);
        let gaps: Vec<u64> = dense.windows(2).map(|pair| pair[1] - pair[0]).collect();
        for gap in 1..=4 {
            let share = gaps.iter().filter(|known| **known == gap).count();
            assert!((24_000..26_000).contains(&share), "{share} gaps of {gap}");
        }
        assert!(gaps.iter().all(|gap| (1..=4).contains(gap)));

        let lognormal = make(Numbers::Lognormal);
        let median = lognormal[50_000] as f64;
        assert!((0.95e9..1.05e9).contains(&median), "{median}");

        // About a quarter of the keys are in bursts, where the mean gap is an eighth.
        let wiki = make(Numbers::Wiki);
        let more = crowded(&wiki, 0.1) / (1.0 - (-0.1f64).exp());
        assert!((1.4..3.0).contains(&more), "{more}");
    }
}
