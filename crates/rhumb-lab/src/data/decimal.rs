//! Uniform integers written in 24 decimal digits: the usual form of benchmark keys.

use std::io::Write;

use super::{Random, Strings};

/// `count` ascending keys, the same for the same seed.
pub fn keys(count: usize, seed: u64) -> Strings {
    let mut keys = Strings::default();
    let mut text = [0; 24];
    for number in Random::new(seed, 0).distinct(count) {
        // 24 digits hold every 64-bit number, so the write cannot fall short.
        if write!(&mut text[..], "{number:024}").is_ok() {
            keys.push(&text);
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_ascend_and_repeat_with_the_seed() {
        let all = keys(1_000, 42);
        assert_eq!(all.len(), 1_000);
        assert_eq!(all, keys(1_000, 42));
        assert_ne!(all, keys(1_000, 43));
        assert!(all.iter().is_sorted_by(|a, b| a < b));
        assert!(
            all.iter()
                .all(|key| key.len() == 24 && key.iter().all(u8::is_ascii_digit))
        );
    }
}
