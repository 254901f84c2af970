//! Look-alikes of the real integers of SOSD, for use without the files.
//!
//! Each look-alike has the shape of the real set and is about as hard to index: `pgm:boundary=16`
//! takes as many bytes a key as was published for the real set, within a quarter. The figure is
//! that of one index for each run of 1M to 4M neighbouring keys, as many as a table holds (4M
//! entries of 16 bytes are 64 MiB). It is the same with 1M, 4M and 10M keys, since every set either
//! continues as it began or is similar at all scales.
//!
//! | set | published: bytes for keys | a key | here, minimum to maximum over runs of 1M, 4M, 10M |
//! |---|---|---|---|
//! | `fb-like` | 66 MB for 200M | 0.33 | 0.328 to 0.331 |
//! | `osm-like` | 204 MB for 800M | 0.255 | 0.257 to 0.260 |
//! | `wiki-like` | 10.9 MB for 200M | 0.0545 | 0.0548 to 0.0564 |
//! | `books-like` | - | - | 0.0857 to 0.0883 |
//!
//! Published: "Evaluating Learned Indexes in LSM-tree Systems", figure 8: PGM at boundary 16. Only
//! that figure is fitted; the figures of other kinds and boundaries are results.
//!
//! The same seed gives the same numbers on all platforms whose `exp`, `ln`, `pow` and `cos` give
//! the same results.

use std::f64::consts::TAU;

use rhumb_index::check::SplitMix64;

use super::numbers::{OUTLIERS, distinct, exponential, outliers};

/// The set to imitate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookAlike {
    /// User ids: uniform at a large scale, gaps of very different sizes at a small one, 21
    /// outliers.
    Fb,
    /// Cell ids of a map: clusters within clusters, at all scales.
    Osm,
    /// Seconds in which an edit was made: more by day than by night, with bursts.
    Wiki,
    /// Sales: a power law's tail over several orders of magnitude.
    Books,
}

impl LookAlike {
    /// `count` ascending distinct numbers.
    pub fn make(self, count: usize, seed: u64) -> Vec<u64> {
        let mut random = SplitMix64::new(seed);
        match self {
            LookAlike::Fb => ids(count, &mut random),
            LookAlike::Osm => {
                let mut numbers = Vec::with_capacity(count);
                cells(
                    count,
                    Cell { start: 0, bits: 60 },
                    &mut random,
                    &mut numbers,
                );
                numbers
            }
            LookAlike::Wiki => edits(count, &mut random),
            LookAlike::Books => sales(count, &mut random),
        }
    }
}

/// Lognormal gaps. 200M of them cover some 2^38, as the real ids do; sigma is calibrated.
fn ids(count: usize, random: &mut SplitMix64) -> Vec<u64> {
    const MEAN: f64 = 1_374.0;
    const SIGMA: f64 = 1.73;
    let log_median = MEAN.ln() - SIGMA * SIGMA / 2.0;
    let far = outliers(OUTLIERS.min(count / 2), random);
    let mut last = 0;
    let gaps = (far.len()..count).map(|_| 1 + (log_median + SIGMA * random.normal()).exp() as u64);
    let near = gaps.map(|gap| {
        last += gap;
        last
    });
    let mut numbers: Vec<u64> = near.collect();
    numbers.extend(far);
    numbers
}

/// A square of a map, on a space-filling curve that visits the quarters of a square one by one.
#[derive(Clone, Copy)]
struct Cell {
    start: u64,
    /// Binary logarithm of the count of numbers in the cell.
    bits: u32,
}

/// Divides a cell's keys among its quarters, recursively down to a few keys, which are placed at
/// random (a random cascade). The shares are lognormal; their sigma is calibrated.
fn cells(count: usize, cell: Cell, random: &mut SplitMix64, into: &mut Vec<u64>) {
    const SIGMA: f64 = 0.53;
    const FEW: usize = 16;
    // If at most an eighth of a cell is occupied, at most half of each quarter is.
    if count <= FEW || count as u64 > 1 << cell.bits.saturating_sub(3) {
        let draw = || cell.start + random.below(1 << cell.bits);
        into.extend(distinct(count, draw));
        return;
    }
    let mut sums = [0.0; 4];
    let mut total = 0.0;
    for sum in &mut sums {
        total += (SIGMA * random.normal()).exp();
        *sum = total;
    }
    let bits = cell.bits - 2;
    let (mut start, mut done) = (cell.start, 0);
    for sum in sums {
        let end = (count as f64 * sum / total).round() as usize;
        cells(end - done, Cell { start, bits }, random, into);
        done = end;
        start += 1 << bits;
    }
}

/// Unix times from 2001-01-15 on. A second with one or more edits is a key; the last of 200M such
/// seconds is 15 years later. The rate (edits a second) is calibrated.
fn edits(count: usize, random: &mut SplitMix64) -> Vec<u64> {
    const FIRST: u64 = 979_516_800;
    const RATE: f64 = 0.51;
    /// The relative change of the rate over the day.
    const SWAY: f64 = 0.4;
    /// The factor of the rate in a burst, and the mean minutes of a burst and between two bursts.
    const HASTE: f64 = 3.0;
    const BURST: f64 = 10.0;
    const QUIET: f64 = 120.0;
    let mut numbers = Vec::with_capacity(count);
    let (mut minute, mut left, mut burst) = (0, 0, true);
    while numbers.len() < count {
        if left == 0 {
            burst = !burst;
            left = 1 + exponential(random, if burst { BURST } else { QUIET }) as u64;
        }
        left -= 1;
        let day = TAU * (minute % 1_440) as f64 / 1_440.0;
        let rate = RATE * (1.0 - SWAY * day.cos()) * if burst { HASTE } else { 1.0 };
        let edited = 1.0 - (-rate).exp();
        let start = FIRST + 60 * minute;
        numbers.extend((start..start + 60).filter(|_| random.fraction() < edited));
        minute += 1;
    }
    numbers.truncate(count);
    numbers
}

/// A Lomax (Pareto II) distribution of shape 1.2, times 2^40, below 2^63: most numbers are of the
/// order of 2^40, and one in a thousand is 300 times as large.
fn sales(count: usize, random: &mut SplitMix64) -> Vec<u64> {
    const SHAPE: f64 = 1.2;
    let (scale, end) = (40f64.exp2(), 63f64.exp2());
    distinct(count, || {
        loop {
            let number = scale * ((1.0 - random.fraction()).powf(-1.0 / SHAPE) - 1.0);
            if number < end {
                return number as u64;
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use rhumb_index::registry;

    use super::*;

    const MILLION: usize = 1_000_000;

    fn bytes_a_key(numbers: &[u64]) -> f64 {
        let mut builder = registry::builder(&"pgm:boundary=16".parse().unwrap()).unwrap();
        builder.push_numbers(numbers).unwrap();
        let index = registry::open(builder.finish().unwrap()).unwrap();
        index.size_in_bytes() as f64 / numbers.len() as f64
    }

    fn published() -> [(LookAlike, f64, f64); 4] {
        let within = |published: f64| (published * 0.75, published * 1.25);
        let [fb, osm, wiki] = [66.0 / 200.0, 204.0 / 800.0, 10.9 / 200.0].map(within);
        [
            (LookAlike::Fb, fb.0, fb.1),
            (LookAlike::Osm, osm.0, osm.1),
            (LookAlike::Wiki, wiki.0, wiki.1),
            (LookAlike::Books, 10.9 / 200.0, 66.0 / 200.0),
        ]
    }

    #[test]
    fn sizes_are_those_published() {
        for (set, least, most) in published() {
            let numbers = set.make(MILLION, 42);
            assert_eq!(numbers.len(), MILLION, "{set:?}");
            assert!(numbers.is_sorted_by(|a, b| a < b), "{set:?}");
            let size = bytes_a_key(&numbers);
            assert!((least..=most).contains(&size), "{set:?}: {size}");
        }
    }

    #[test]
    #[ignore = "a quarter of a minute; prints the figures above"]
    fn sizes_hold_for_more_keys() {
        for (set, least, most) in published() {
            for millions in [1, 4, 10] {
                let numbers = set.make(millions * MILLION, 42);
                for run in [1, 4, 10] {
                    let runs = numbers.chunks_exact(run * MILLION).map(bytes_a_key);
                    for (number, size) in runs.enumerate() {
                        println!("{set:?}, {millions}M keys, run {number} of {run}M: {size:.4}");
                        assert!((least..=most).contains(&size), "{set:?}: {size}");
                    }
                }
            }
        }
    }

    #[test]
    fn numbers_repeat_with_the_seed() {
        for (set, _, _) in published() {
            let numbers = set.make(20_000, 42);
            assert_eq!(numbers, set.make(20_000, 42));
            assert_ne!(numbers, set.make(20_000, 43));
            assert_eq!(set.make(3, 1).len(), 3);
        }
    }

    #[test]
    fn every_set_has_its_shape() {
        let fb = LookAlike::Fb.make(100_000, 7);
        assert_eq!(fb.iter().filter(|id| **id >= 1 << 59).count(), 21);
        assert!(
            (1.2e8..1.6e8).contains(&(fb[99_978] as f64)),
            "{}",
            fb[99_978]
        );

        // Of 64 equal parts of the map, some have many times as many keys as others.
        let osm = LookAlike::Osm.make(100_000, 7);
        let mut parts = [0u32; 64];
        osm.iter().for_each(|id| parts[(id >> 54) as usize] += 1);
        let (least, most) = (parts.iter().min().unwrap(), parts.iter().max().unwrap());
        assert!(*least > 0 && most / least > 10, "{parts:?}");

        // There are fewer edits by night than by day.
        let wiki = LookAlike::Wiki.make(200_000, 7);
        let night = |time: &&u64| !(21_600..64_800).contains(&(**time % 86_400));
        let share = wiki.iter().filter(night).count() as f64 / 200_000.0;
        assert!((0.3..0.46).contains(&share), "{share}");

        let books = LookAlike::Books.make(100_000, 7);
        let tail = books[99_900] as f64 / 40f64.exp2();
        assert!((200.0..500.0).contains(&tail), "{tail}");
        let median = books[50_000] as f64 / 40f64.exp2();
        assert!((0.76..0.80).contains(&median), "{median}");
    }
}
