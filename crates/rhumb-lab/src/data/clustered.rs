//! Integers in clusters of very different density, as 8 big-endian bytes. They look like the cell
//! ids of a map, which no single line fits.

use super::{Random, Strings};

const CLUSTERS: usize = 10_000;

/// `count` ascending keys, the same for the same seed.
pub fn keys(count: usize, seed: u64) -> Strings {
    let mut random = Random::new(seed, 0xc105);
    let clusters: Vec<(u64, u32)> = (0..CLUSTERS)
        .map(|_| (random.next() >> 4, 24 + random.below(17) as u32))
        .collect();
    let mut numbers: Vec<u64> = Vec::with_capacity(count);
    while numbers.len() < count {
        let missing = count - numbers.len();
        numbers.extend((0..missing).map(|_| {
            let (centre, width) = clusters[random.below(CLUSTERS as u64) as usize];
            // The sum of four uniform numbers is nearly normal.
            let offset: u64 = (0..4).map(|_| random.next() >> (64 - width)).sum();
            centre + offset
        }));
        numbers.sort_unstable();
        numbers.dedup();
    }
    Strings::of_numbers(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_ascend_repeat_with_the_seed_and_crowd() {
        let all = keys(50_000, 42);
        assert_eq!((all.len(), &all), (50_000, &keys(50_000, 42)));
        assert_ne!(all, keys(50_000, 43));
        assert!(all.iter().is_sorted_by(|a, b| a < b));
        let number = |i| u64::from_be_bytes(*all.get(i).first_chunk().unwrap());
        let near = (1..all.len()).filter(|&i| number(i) - number(i - 1) < 1 << 41);
        assert!(near.count() > 30_000, "most keys have a near neighbour");
    }
}
