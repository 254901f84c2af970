//! Comparison of figures. If the repeats of two figures overlap, the figures do not count as
//! different; if in addition their medians are far apart, they do not count as equal either.

use crate::measure::Spread;

/// The answer of results to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// The statement is true.
    Yes,
    /// The statement is false.
    No,
    /// The repeats spread too widely to decide.
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

/// The share that "all" means.
pub const ALL: f64 = 1.0;

/// The share that "nearly all" means: at least nine of ten cells.
pub const NEARLY_ALL: f64 = 0.9;

/// Whether at least a share of the answers is yes. The result is no if the share is not reached
/// even when unclear answers count as yes, and unclear if it is reached only then. Also returns the
/// counts as text.
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

/// Medians with at most this relative difference are equal, unless one figure is clearly less.
const CLOSE: f64 = 0.1;

/// With at most this relative difference of the medians, neither figure is clearly less. It covers
/// the difference of two measurements of the same thing some minutes apart.
const MARGIN: f64 = 0.05;

/// Whether each repeat of `one` is less than each repeat of `other`, and the medians differ by more
/// than `MARGIN`.
pub fn clearly_less(one: Spread, other: Spread) -> bool {
    one.max < other.min && !within(one, other, MARGIN)
}

/// Whether `one` is less: yes if it is clearly less; no if `other` is clearly less or the medians
/// are within 10 %; else unclear.
pub fn less(one: Spread, other: Spread) -> Told {
    if clearly_less(one, other) {
        Told::Yes
    } else if clearly_less(other, one) || within(one, other, CLOSE) {
        Told::No
    } else {
        Told::Unclear
    }
}

/// Whether two figures are about equal: yes if the medians differ by at most `share`; no if one
/// figure is clearly less; else unclear.
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

/// The ratio of two figures: the ratio of their medians, and the smallest and largest ratio of
/// their repeats.
pub fn ratio(one: Spread, other: Spread) -> Spread {
    Spread {
        min: one.min / other.max,
        median: one.median / other.median,
        max: one.max / other.min,
    }
}

/// The median of some numbers.
pub fn median(numbers: &[f64]) -> f64 {
    Spread::of(numbers).median
}

/// The minimum and maximum of some numbers: `0.31 to 0.42`.
pub fn range(numbers: &[f64]) -> String {
    let spread = Spread::of(numbers);
    let (least, greatest) = (short(spread.min), short(spread.max));
    match least == greatest {
        true => least,
        false => format!("{least} to {greatest}"),
    }
}

/// The minimum and maximum of some nanoseconds, in microseconds.
pub fn micros(nanos: &[f64]) -> String {
    let micros: Vec<f64> = nanos.iter().map(|nanos| nanos / 1e3).collect();
    range(&micros) + " us"
}

/// A number with about three significant digits, so that small shares do not become 0.
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
    fn figures_with_overlapping_repeats_do_not_differ() {
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
    fn unclear_answers_can_decide_neither_way() {
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
