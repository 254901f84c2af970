//! Uniform 64-bit integers as 8 big-endian bytes.

use super::{Random, Strings};

/// `count` ascending keys, the same for the same seed.
pub fn keys(count: usize, seed: u64) -> Strings {
    Strings::of_numbers(Random::new(seed, 0).distinct(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_ascend_and_repeat_with_the_seed() {
        let all = keys(1_000, 42);
        assert_eq!(all, keys(1_000, 42));
        assert_ne!(all, keys(1_000, 43));
        assert!(all.iter().is_sorted_by(|a, b| a < b));
        assert!(all.iter().all(|key| key.len() == 8));
        // Frozen: results of different days can be compared only if the keys stay the same.
        assert_eq!(all.get(0), [0, 152, 216, 97, 244, 137, 209, 53]);
    }
}
