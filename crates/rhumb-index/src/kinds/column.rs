//! Finds numbers in a sorted column of a byte form.

use std::hint::select_unpredictable;

/// A column of numbers.
pub(crate) type Numbers<'a> = &'a [[u8; 8]];

/// Windows up to this wide are searched in as many steps each, so that a processor foresees them.
const FEW: usize = 16;

/// The last of the numbers from `start` to below `end` that is not above `number`; or `start`, if all
/// of them are. Those before `start` are known to be not above it, and those from `end` on to be above,
/// or `start` is 0.
#[inline]
pub(crate) fn last_not_above(numbers: Numbers<'_>, start: usize, end: usize, number: u64) -> usize {
    if end.saturating_sub(start) <= FEW && numbers.len() >= FEW {
        // Neighbours that are searched too change nothing.
        let start = start.min(numbers.len() - FEW);
        if let Some(few) = numbers.get(start..).and_then(|from| from.first_chunk()) {
            return start + last_of_few(few, number);
        }
    }
    let numbers = numbers.get(start..end).unwrap_or_default();
    let (mut found, mut left) = (0, numbers.len());
    while left > 1 {
        let half = left / 2;
        found = step(numbers.get(found + half), number, found, half);
        left -= half;
    }
    start + found
}

#[inline]
fn last_of_few(numbers: &[[u8; 8]; FEW], number: u64) -> usize {
    let mut found = 0;
    for half in [8, 4, 2, 1] {
        found = step(numbers.get(found + half), number, found, half);
    }
    found
}

/// Goes on if the number there is not above the one sought.
#[inline]
fn step(there: Option<&[u8; 8]>, number: u64, found: usize, half: usize) -> usize {
    let there = there.copied().map_or(u64::MAX, u64::from_le_bytes);
    select_unpredictable(there > number, found, found + half)
}
