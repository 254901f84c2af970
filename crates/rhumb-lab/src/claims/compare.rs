//! Comparison of figures, by pairs of one round. Where the interval of a ratio contains 1, two figures
//! do not count as different; where it is wide, they do not count as equal either.

use crate::contest::{Interval, Rounds, Side};
use crate::measure::Spread;

/// The answer of results to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// The statement is true.
    Yes,
    /// The statement is false.
    No,
    /// The rounds spread too widely to decide, or there are too few.
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

/// Figures whose ratio is within this relative difference are equal for [`less`].
const CLOSE: f64 = 0.1;

impl Told {
    /// Whether both statements are true.
    pub fn and(self, other: Told) -> Told {
        match (self, other) {
            (Told::Yes, other) => other,
            (Told::No, _) | (_, Told::No) => Told::No,
            (Told::Unclear, _) => Told::Unclear,
        }
    }

    /// Whether an interval is above a limit, or reaches it.
    pub fn at_least(interval: Interval, limit: f64) -> Told {
        match interval.side_of(limit, f64::INFINITY) {
            Side::Within => Told::Yes,
            Side::Below => Told::No,
            _ => Told::Unclear,
        }
    }

    /// Whether an interval is below a limit, or reaches it.
    pub fn at_most(interval: Interval, limit: f64) -> Told {
        match interval.side_of(f64::NEG_INFINITY, limit) {
            Side::Within => Told::Yes,
            Side::Above => Told::No,
            _ => Told::Unclear,
        }
    }

    /// Whether an interval is in a band.
    pub fn between(interval: Interval, low: f64, high: f64) -> Told {
        match interval.side_of(low, high) {
            Side::Within => Told::Yes,
            Side::Below | Side::Above => Told::No,
            Side::Undecided => Told::Unclear,
        }
    }
}

/// Whether `one` is clearly less: all of the interval of the ratio is below 1.
pub fn clearly_less(one: &Rounds, other: &Rounds) -> bool {
    one.over(other).ratio().side_of(1.0, 1.0) == Side::Below
}

/// Whether `one` is less: yes if it is clearly less; no if `other` is clearly less, or the ratio is
/// surely within 10 % of 1; else unclear.
pub fn less(one: &Rounds, other: &Rounds) -> Told {
    let ratio = one.over(other).ratio();
    match ratio.side_of(1.0, 1.0) {
        Side::Below => Told::Yes,
        Side::Above | Side::Within => Told::No,
        Side::Undecided => match near(one, other, CLOSE) {
            Told::Yes => Told::No,
            _ => Told::Unclear,
        },
    }
}

/// Whether two figures are equal but for a share, such as 0.1 for 10 %.
pub fn near(one: &Rounds, other: &Rounds, share: f64) -> Told {
    let high = 1.0 + share;
    Told::between(one.over(other).ratio(), 1.0 / high, high)
}

/// The median of some numbers.
pub fn median(numbers: &[f64]) -> f64 {
    Spread::of(numbers).median
}

/// The minimum and maximum of some numbers: `0.31 to 0.42`. Ratios that no round has are left out.
pub fn range(numbers: &[f64]) -> String {
    let numbers = numbers.iter().copied().filter(|number| !number.is_nan());
    let numbers: Vec<f64> = numbers.collect();
    if numbers.is_empty() {
        return "not known".to_string();
    }
    let spread = Spread::of(&numbers);
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

    fn rounds(figures: &[f64]) -> Rounds {
        let figures = (1..).zip(figures);
        Rounds::new(
            figures
                .map(|(round, figure)| ((1, round), *figure))
                .collect(),
        )
    }

    #[test]
    fn figures_whose_rounds_contradict_each_other_do_not_differ() {
        let drifting = rounds(&[1.0, 2.0, 4.0, 8.0]);
        let double = rounds(&[2.0, 4.01, 8.02, 16.01]);
        assert_eq!(less(&drifting, &double), Told::Yes);
        assert_eq!(less(&double, &drifting), Told::No);
        assert!(clearly_less(&drifting, &double) && !clearly_less(&double, &drifting));
        let shuffled = rounds(&[3.0, 2.0, 9.0, 5.0]);
        assert_eq!(less(&drifting, &shuffled), Told::Unclear);
        let close = rounds(&[1.01, 1.98, 4.01, 8.02]);
        assert_eq!(less(&drifting, &close), Told::No);
        assert_eq!(near(&drifting, &close, 0.1), Told::Yes);
        assert_eq!(near(&drifting, &double, 0.2), Told::No);
        assert_eq!(near(&drifting, &shuffled, 0.2), Told::Unclear);
        // One round decides nothing.
        assert_eq!(less(&rounds(&[1.0]), &rounds(&[9.0])), Told::Unclear);
    }

    #[test]
    fn limits_and_bands_need_the_whole_interval() {
        let [low, high] = [&[1.0, 1.1, 1.05], &[3.0, 3.1, 3.05]].map(|f| rounds(f).interval());
        assert_eq!(Told::at_most(low, 2.0), Told::Yes);
        assert_eq!(Told::at_most(high, 2.0), Told::No);
        assert_eq!(Told::at_most(low, 1.05), Told::Unclear);
        assert_eq!(Told::at_least(low, 2.0), Told::No);
        assert_eq!(Told::at_least(high, 2.0), Told::Yes);
        assert_eq!(Told::between(low, 0.5, 2.0), Told::Yes);
        assert_eq!(Told::between(high, 0.5, 2.0), Told::No);
        assert_eq!(Told::between(low, 1.05, 2.0), Told::Unclear);
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
        assert_eq!(range(&[0.5, f64::NAN, 0.25]), "0.25 to 0.50");
        assert_eq!(range(&[f64::NAN]), "not known");
        assert_eq!(micros(&[1_500.0]), "1.50 us");
    }
}
