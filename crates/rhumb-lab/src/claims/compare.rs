//! How figures are compared. Where repeats overlap nothing is said to differ; nor, if their middles
//! are apart, to be equal.

use crate::measure::Spread;

/// What results say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// It is so.
    Yes,
    /// It is not so.
    No,
    /// Repeats spread too widely to tell.
    Unclear,
}

impl From<bool> for Told {
    fn from(so: bool) -> Told {
        match so {
            true => Told::Yes,
            false => Told::No,
        }
    }
}

/// "All".
pub const ALL: f64 = 1.0;

/// "Nearly all": of ten cells at least nine.
pub const NEARLY_ALL: f64 = 0.9;

/// Whether a share of some things, at least, is so: yes if it is, no if it is not even counting
/// what is unclear. Says also how many are.
pub fn vote(told: &[Told], share: f64) -> (Told, String) {
    let count = |of| told.iter().filter(|told| **told == of).count();
    let (yes, unclear) = (count(Told::Yes), count(Told::Unclear));
    let enough = |count: usize| count as f64 >= share * told.len() as f64;
    let mut text = format!("{yes} of {}", told.len());
    if unclear > 0 {
        text += &format!(" ({unclear} unclear)");
    }
    match (enough(yes), enough(yes + unclear)) {
        (true, _) => (Told::Yes, text),
        (false, false) => (Told::No, text),
        (false, true) => (Told::Unclear, text),
    }
}

/// What is closer than this, relative to the other, is equal if repeats overlap.
const CLOSE: f64 = 0.1;

/// What is closer than this, relative to the other, is not clearly less, whatever the repeats.
const MARGIN: f64 = 0.05;

/// Whether each time of the one is less than each time of the other, by more than what two
/// measurements of one thing, some minutes apart, differ by.
pub fn clearly_less(one: Spread, other: Spread) -> bool {
    one.max < other.min && !within(one, other, MARGIN)
}

/// Whether one is less: yes if clearly, no if the other is, or if repeats overlap and the middles
/// are within 10 %.
pub fn less(one: Spread, other: Spread) -> Told {
    if clearly_less(one, other) {
        Told::Yes
    } else if clearly_less(other, one) || within(one, other, CLOSE) {
        Told::No
    } else {
        Told::Unclear
    }
}

/// Whether two are alike: yes if the middles differ by at most a share of the other, no if they
/// differ by more and repeats do not overlap.
pub fn near(one: Spread, other: Spread, share: f64) -> Told {
    if within(one, other, share) {
        Told::Yes
    } else if clearly_less(one, other) || clearly_less(other, one) {
        Told::No
    } else {
        Told::Unclear
    }
}

fn within(one: Spread, other: Spread, share: f64) -> bool {
    (one.median / other.median - 1.0).abs() <= share
}

/// The ratio of two figures: of their middles, and the least and greatest of which their times
/// admit.
pub fn ratio(one: Spread, other: Spread) -> Spread {
    Spread {
        min: one.min / other.max,
        median: one.median / other.median,
        max: one.max / other.min,
    }
}

/// The middle of some numbers.
pub fn median(numbers: &[f64]) -> f64 {
    Spread::of(numbers).median
}

/// From the least to the greatest of some numbers: `0.31 to 0.42`.
pub fn range(numbers: &[f64]) -> String {
    let spread = Spread::of(numbers);
    let (least, greatest) = (short(spread.min), short(spread.max));
    match least == greatest {
        true => least,
        false => format!("{least} to {greatest}"),
    }
}

/// Nanoseconds as microseconds, from the least to the greatest.
pub fn micros(nanos: &[f64]) -> String {
    let micros: Vec<f64> = nanos.iter().map(|nanos| nanos / 1e3).collect();
    range(&micros) + " us"
}

/// A number with three digits that count, so that small shares do not vanish.
pub fn short(number: f64) -> String {
    match number.abs() {
        100.0.. => format!("{number:.0}"),
        10.0..100.0 => format!("{number:.1}"),
        0.1..10.0 => format!("{number:.2}"),
        0.0 => "0".to_string(),
        _ => format!("{number:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_does_not_differ() {
        let (low, high) = (Spread::of(&[1.0, 2.0, 3.0]), Spread::of(&[3.5, 4.0]));
        let (middle, close) = (Spread::of(&[2.5, 3.6]), Spread::of(&[1.9, 2.1, 2.2]));
        assert_eq!(less(low, high), Told::Yes);
        assert_eq!(less(high, low), Told::No);
        assert_eq!(less(low, close), Told::No);
        assert_eq!(less(low, middle), Told::Unclear);
        assert_eq!(near(low, high, 0.5), Told::Yes);
        assert_eq!(near(low, high, 0.2), Told::No);
        assert_eq!(near(low, middle, 0.2), Told::Unclear);
        let ratio = ratio(high, low);
        assert_eq!((ratio.min, ratio.max), (3.5 / 3.0, 4.0));
    }

    #[test]
    fn votes_count_what_is_unclear_on_both_sides() {
        use Told::{No, Unclear, Yes};
        assert_eq!(vote(&[Yes; 9], NEARLY_ALL), (Yes, "9 of 9".to_string()));
        assert_eq!(vote(&[Yes, Yes, No], 0.5).0, Yes);
        assert_eq!(
            vote(&[Yes, Unclear], ALL),
            (Unclear, "1 of 2 (1 unclear)".to_string())
        );
        assert_eq!(vote(&[Yes, Unclear, No], ALL).0, No);
    }

    #[test]
    fn numbers_are_short() {
        let texts = [1234.5, 12.34, 1.234, 0.01234, 0.0, -3.0].map(short);
        assert_eq!(texts, ["1234", "12.3", "1.23", "0.0123", "0", "-3.00"]);
        assert_eq!(range(&[0.5, 0.25]), "0.25 to 0.50");
        assert_eq!(micros(&[1_500.0]), "1.50 us");
    }
}
