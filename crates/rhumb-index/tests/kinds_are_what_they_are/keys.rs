//! Keys of fixed seeds. All but those by name are made with integers only: the same on every
//! machine.

use rhumb_index::check::{SplitMix64, distributions};

fn sorted(mut numbers: Vec<u64>) -> Vec<u64> {
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Uniformly distributed numbers.
pub fn uniform(count: usize) -> Vec<u64> {
    let mut random = SplitMix64::new(5);
    sorted((0..count).map(|_| random.next_u64()).collect())
}

/// The numbers of a distribution by name, which may differ a little between machines.
pub fn of(name: &str, count: usize) -> Vec<u64> {
    let keys = distributions::by_name(name).unwrap();
    let keys = keys.keys(&mut SplitMix64::new(5), count);
    let number = |key: Vec<u8>| u64::from_be_bytes(key.try_into().unwrap());
    keys.into_iter().map(number).collect()
}

/// A heavy tail: the share of numbers above x falls as 1 / x.
pub fn heavy_tailed(count: usize) -> Vec<u64> {
    let mut random = SplitMix64::new(5);
    let number = |_| (1 << 62) / (1 + random.below(1 << 44));
    sorted((0..count).map(number).collect())
}

/// The given number of dense clusters, far from each other.
pub fn clustered(count: usize, clusters: u64) -> Vec<u64> {
    let mut random = SplitMix64::new(5);
    let centres: Vec<u64> = (0..clusters).map(|_| random.next_u64() >> 4).collect();
    let number = |_| *random.choose(&centres).unwrap() + random.below(1 << 24);
    sorted((0..count).map(number).collect())
}

/// Even numbers, and 21 far above them.
pub fn with_late_outliers(count: usize) -> Vec<u64> {
    let mut random = SplitMix64::new(5);
    let near = (0..count).map(|_| random.below(1 << 40));
    sorted(near.chain((0..21).map(|i| (1 << 62) + (i << 57))).collect())
}

/// The first `count` multiples of `step`.
pub fn even(count: u64, step: u64) -> Vec<u64> {
    (0..count).map(|i| i * step).collect()
}
