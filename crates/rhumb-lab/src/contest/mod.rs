//! Contests: whether two systems differ, judged by pairs of figures from the same round.
//!
//! In each round every system of a contest is built anew from other data and measured in another
//! order. What a system gains by its place in the order, by luck of its build or by the hour
//! therefore differs from round to round, and the spread over rounds shows how much it matters.

mod interval;
mod rounds;
#[cfg(test)]
mod tests;

pub use self::interval::{Interval, Side};
pub use self::rounds::Rounds;
