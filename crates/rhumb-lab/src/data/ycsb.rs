//! Zipf sets of YCSB keys, 24 decimal digits each. There are two interpretations of a "Zipf data
//! set".

use super::zipf_law::ZipfLaw;
use super::{Arrivals, Random, Strings, decimal};

/// The number of possible keys.
const KEY_SPACE: u64 = 1_000_000_000_000_000;
/// The longest gap, so that 10^8 keys stay within the key space.
const LONGEST_GAP: u64 = 10_000_000;

/// First interpretation: updates are drawn by Zipf's law over 10^15 keys, with the smallest key the
/// most frequent one, until there are `count` distinct keys. Returns the keys, ascending, and all
/// updates in order: 1.05M for 1M keys at theta 0.9, and 1.37M at 0.99.
pub fn updates(theta: f64, count: usize, seed: u64) -> Arrivals {
    let law = ZipfLaw::new(KEY_SPACE, theta);
    let mut random = Random::new(seed, 0x21bf);
    let (mut draws, mut distinct) = (Vec::new(), Vec::new());
    // Drawing as many updates as keys are missing never gives too many keys.
    while distinct.len() < count {
        let from = draws.len();
        draws.extend((distinct.len()..count).map(|_| law.draw(&mut random) - 1));
        distinct.extend_from_slice(&draws[from..]);
        // The stable sort, since it is faster on partly sorted input.
        distinct.sort();
        distinct.dedup();
    }
    drop(distinct);
    Arrivals::new(&draws, decimal::padded)
}

/// Second interpretation: distinct keys whose gaps, from 1 to 10^7, are drawn independently by
/// Zipf's law.
pub fn gaps(theta: f64, count: usize, seed: u64) -> Strings {
    let law = ZipfLaw::new(LONGEST_GAP, theta);
    let mut random = Random::new(seed, 0x6a95);
    let mut last = 0;
    decimal::padded((0..count).map(|_| {
        last += law.draw(&mut random);
        last
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_stop_with_the_last_new_key() {
        for (theta, writes) in [(0.9, 20_300), (0.99, 21_500)] {
            let made = updates(theta, 20_000, 42);
            assert_eq!(
                (made.keys.len(), &made),
                (20_000, &updates(theta, 20_000, 42))
            );
            assert_ne!(made, updates(theta, 20_000, 43));
            assert!(made.keys.iter().is_sorted_by(|a, b| a < b));
            assert!(made.keys.iter().all(|key| key.len() == 24));
            let order = made.order.unwrap();
            let (last, before) = order.split_last().unwrap();
            assert!(!before.contains(last), "the last one is new");
            let mut ranks = order.clone();
            ranks.sort_unstable();
            ranks.dedup();
            assert_eq!(ranks, (0..20_000).collect::<Vec<u32>>());
            assert!(order.len() > writes, "{} writes", order.len());
            // The smallest key, number 0, is the most frequent one.
            assert_eq!(made.keys.get(0), [b'0'; 24]);
            let of = |rank: u32| order.iter().filter(|r| **r == rank).count();
            assert!(of(0) > of(1) && of(1) > of(5), "{} {}", of(0), of(1));
        }
    }

    #[test]
    fn gaps_are_skewed() {
        for theta in [0.9, 0.99] {
            let keys = gaps(theta, 100_000, 42);
            assert_eq!((keys.len(), &keys), (100_000, &gaps(theta, 100_000, 42)));
            assert!(keys.iter().is_sorted_by(|a, b| a < b));
            let number = |rank| -> u64 {
                let text = std::str::from_utf8(keys.get(rank)).unwrap();
                text.parse().unwrap()
            };
            let of_one = (1..keys.len()).filter(|i| number(*i) - number(i - 1) == 1);
            let zeta: f64 = (1..=LONGEST_GAP).map(|n| (n as f64).powf(-theta)).sum();
            let found = of_one.count() as f64 / 100_000.0;
            assert!((found * zeta - 1.0).abs() < 0.06, "{found} {zeta}");
        }
    }
}
