//! Integers written in decimal digits: the usual form of benchmark keys.

use std::io::Write;

use super::{Random, Sizes, Strings};

/// `count` ascending uniform keys of 24 digits, the same for the same seed.
pub fn keys(count: usize, seed: u64) -> Strings {
    padded(Random::new(seed, 0).distinct(count))
}

/// Numbers in 24 digits each.
pub fn padded(numbers: impl IntoIterator<Item = u64>) -> Strings {
    let mut keys = Strings::default();
    let mut text = [0; 24];
    for number in numbers {
        // Every 64-bit number fits into 24 digits, so the write cannot fail.
        if write!(&mut text[..], "{number:024}").is_ok() {
            keys.push(&text);
        }
    }
    keys
}

/// `count` ascending distinct keys of random digits, with lengths drawn from `sizes`. If a key is
/// drawn twice, a new key and length are drawn, so short lengths may become rarer than `sizes`
/// says. If there are fewer than `count` different keys, this does not end.
pub fn of_lengths(sizes: Sizes, count: usize, seed: u64) -> Strings {
    let mut random = Random::new(seed, 0x1e96);
    let mut drawn = Strings::default();
    let (mut order, mut text) = (Vec::new(), Vec::new());
    while order.len() < count {
        for _ in order.len()..count {
            text.clear();
            let length = sizes.draw(&mut random);
            text.extend((0..length).map(|_| b'0' + random.below(10) as u8));
            order.push(drawn.len());
            drawn.push(&text);
        }
        order.sort_unstable_by(|a, b| drawn.get(*a).cmp(drawn.get(*b)));
        order.dedup_by(|a, b| drawn.get(*a) == drawn.get(*b));
    }
    let mut keys = Strings::default();
    order
        .iter()
        .for_each(|number| keys.push(drawn.get(*number)));
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

    #[test]
    fn lengths_are_those_asked_for() {
        let sizes = Sizes::Between(2, 9);
        let all = of_lengths(sizes, 20_000, 42);
        assert_eq!((all.len(), &all), (20_000, &of_lengths(sizes, 20_000, 42)));
        assert_ne!(all, of_lengths(sizes, 20_000, 43));
        assert!(all.iter().is_sorted_by(|a, b| a < b));
        assert!(all.iter().flatten().all(u8::is_ascii_digit));
        let of = |length| all.iter().filter(|key| key.len() == length).count();
        // There are only 100 keys of two digits.
        assert!(of(2) == 100 && of(3) <= 1_000);
        assert!((2_900..3_600).contains(&of(8)), "{}", of(8));
        assert_eq!((2..=9).map(of).sum::<usize>(), 20_000);
    }
}
