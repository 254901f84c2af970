//! `gets`: only warm gets, between a beginning and an end that are always the same.
//!
//! To count instructions, cache misses or system calls with an external tool (valgrind, strace),
//! run it with two different numbers of gets: the difference of the counts is due to the gets.

use std::hint::black_box;

use super::ours::Ours;
use super::{Arguments, Bench};
use crate::data::Random;
use crate::error::Result;

/// Gets random present keys, and copies their values.
///
/// # Errors
/// Failures of the store.
pub fn run(arguments: &Arguments, bench: &mut Bench) -> Result<String> {
    let gets = arguments.gets.unwrap_or(1_000_000);
    let mut text = String::new();
    for set in &arguments.sets {
        let (input, cache_bytes) = set.input(arguments)?;
        let ours = Ours::load("gets", &input, cache_bytes, arguments, bench)?;
        let mut random = Random::new(arguments.seed, 0x6e75);
        let (mut value, mut bytes) = (Vec::new(), 0);
        for _ in 0..gets {
            let rank = random.below(input.keys.len() as u64) as usize;
            if let Some(found) = ours.db.get(input.keys.get(rank))? {
                value.clear();
                value.extend_from_slice(&found);
                bytes += black_box(&value).len();
            }
        }
        text += &format!("{}: {gets} gets of {bytes} bytes in all\n", input.name);
        ours.end()?;
    }
    Ok(text)
}
