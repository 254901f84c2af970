//! Contests: whether two systems differ, judged by pairs of figures from the same round.
//!
//! In each round every system of a contest is built anew from other data and measured in another
//! order. What a system gains by its place in the order, by luck of its build or by the hour
//! therefore differs from round to round, and the spread over rounds shows how much it matters.

mod interval;
#[cfg(test)]
mod tests;

pub use self::interval::Interval;
#[cfg(test)]
pub use self::interval::Side;

/// The interval of the ratio of two systems. `pairs` has a figure of each, measured in the same
/// round, for every round that has both; the middle is the geometric mean of their ratios.
///
/// The interval is unlimited with fewer than two pairs, or if a figure is not above 0.
pub fn ratio(pairs: &[(f64, f64)]) -> Interval {
    let logs: Vec<f64> = pairs.iter().map(|(of, over)| (of / over).ln()).collect();
    Interval::of(&logs).map(f64::exp)
}
