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
use crate::data::Random;

/// The order in which `systems` systems take their turns in a round.
pub fn turns(systems: usize, seed: u64, round: u32) -> Vec<usize> {
    let order = Random::new(seed, u64::from(round)).order(systems as u32);
    order.into_iter().map(|system| system as usize).collect()
}

/// A round of a contest.
pub struct Round {
    /// Its number, from 1.
    pub number: u32,
    /// Seed of its keys, values and random choices.
    pub seed: u64,
    /// The numbers of the systems in the order of their turns.
    pub order: Vec<usize>,
}

/// The rounds of a contest between some systems.
pub fn rounds(systems: usize, rounds: u32, seed: u64) -> impl Iterator<Item = Round> {
    (1..=rounds).map(move |number| Round {
        number,
        seed: seed_of(seed, number),
        order: turns(systems, seed, number),
    })
}

/// The seed of a round, from 1; that of the first round is the given one.
pub fn seed_of(seed: u64, round: u32) -> u64 {
    seed ^ u64::from(round.saturating_sub(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
