//! The distribution of keys as a curve for drawing.

use rhumb_index::KeyMap;

use super::Strings;

/// Points (position of a key between the first and the last key, share of keys up to it): at most
/// `points` of them, evenly spaced by rank, always with the first and the last key.
///
/// The position of a key is that of its number. Decimal keys of one length have the number that
/// they spell; all other keys have the number of a [`KeyMap`], which for keys of 8 bytes is their
/// big-endian integer. `keys` ascend.
pub fn cdf(keys: &Strings, points: usize) -> Vec<(f64, f64)> {
    let points = points.min(keys.len());
    let Some(last) = keys.len().checked_sub(1).filter(|_| points > 0) else {
        return Vec::new();
    };
    let numbering = Numbering::of(keys);
    let number = |rank| numbering.number(keys.get(rank));
    let (low, high) = (number(0), number(last));
    let span = if high > low { high - low } else { 1.0 };
    let point = |n: usize| {
        let rank = n * last / (points - 1).max(1);
        let place = (number(rank) - low) / span;
        (place, (rank + 1) as f64 / keys.len() as f64)
    };
    (0..points).map(point).collect()
}

/// The map from keys to numbers.
enum Numbering {
    Decimal,
    Map(KeyMap),
}

impl Numbering {
    /// The map for at least one key.
    fn of(keys: &Strings) -> Numbering {
        let length = keys.get(0).len();
        let decimal = |key: &[u8]| key.len() == length && key.iter().all(u8::is_ascii_digit);
        if keys.iter().all(decimal) {
            Numbering::Decimal
        } else {
            Numbering::Map(keys.iter().collect())
        }
    }

    fn number(&self, key: &[u8]) -> f64 {
        match self {
            Numbering::Decimal => key
                .iter()
                .fold(0.0, |number, digit| number * 10.0 + f64::from(digit - b'0')),
            Numbering::Map(map) => map.number(key) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{decimal, uniform};

    #[test]
    fn uniform_keys_lie_on_the_diagonal() {
        for keys in [uniform::keys(50_000, 1), decimal::keys(50_000, 1)] {
            let curve = cdf(&keys, 200);
            assert_eq!(curve.len(), 200);
            assert_eq!((curve[0], curve[199]), ((0.0, 1.0 / 50_000.0), (1.0, 1.0)));
            for (place, share) in curve {
                assert!((place - share).abs() < 0.01, "{place} {share}");
            }
        }
    }

    #[test]
    fn curves_ascend_whatever_the_keys() {
        let mut keys = Strings::default();
        assert!(cdf(&keys, 10).is_empty());
        for word in ["a", "ab", "b", "ba", "zebra"] {
            keys.push(word.as_bytes());
            let curve = cdf(&keys, 3);
            assert_eq!(curve.len(), keys.len().min(3));
            assert!(curve.is_sorted());
            assert_eq!(
                curve.last().unwrap().1 == 1.0,
                keys.len() > 1 || curve.len() == 1
            );
        }
        assert!(cdf(&keys, 0).is_empty());
    }

    #[test]
    fn the_curve_of_square_numbers_is_not_straight() {
        let mut keys = Strings::default();
        for n in 0..=1_000u64 {
            keys.push(format!("{:08}", n * n).as_bytes());
        }
        let curve = cdf(&keys, 3);
        assert!((curve[1].0 - 0.25).abs() < 1e-12, "{curve:?}");
        assert_eq!(curve[1].1, 501.0 / 1_001.0);
    }
}
