//! Search outward from the middle of a window.
//!
//! Memory that is not in a cache takes about 100 ns, and a binary search that waits for it at every
//! step takes a multiple of that. This search prefetches many cache lines at once: all keys if they
//! are few, otherwise those around the middle, where the model expects the key, and further out
//! seven keys that divide the rest into eight parts.

use std::ops::Range;

use super::first_not;

/// Parts into which a step divides a wide range.
const PARTS: usize = 8;

/// Sorted keys and one that is sought among them.
pub(super) trait Sorted: Copy {
    /// How many keys are prefetched at once, at least [`PARTS`].
    const NEAR: usize;

    /// Whether the key at an index is before the one sought.
    fn is_before(self, at: usize) -> bool;

    /// Prefetches the key at an index.
    fn prefetch(self, at: usize);

    /// The first index of a range of at most [`Sorted::NEAR`] keys that is not before the key, or
    /// its end. Prefetches them all first.
    fn search_near(self, range: Range<usize>) -> usize;
}

/// The first index of the range that is not before the key, or its end.
#[inline]
pub(super) fn from_middle<S: Sorted>(keys: S, range: Range<usize>) -> usize {
    // Separate, so that a look-up in a narrow window takes few instructions and the processor can
    // start the next ones while it waits.
    if range.len() <= S::NEAR {
        return keys.search_near(range);
    }
    outward(keys, range)
}

/// As [`from_middle`] for a range longer than [`Sorted::NEAR`].
#[inline(never)]
fn outward<S: Sorted>(keys: S, range: Range<usize>) -> usize {
    let start = range.start + range.len().saturating_sub(S::NEAR) / 2;
    let end = start + S::NEAR;
    match keys.search_near(start..end) {
        place if place == start => below(keys, range.start..start),
        place if place == end => above(keys, end..range.end),
        place => place,
    }
}

/// As [`from_middle`] for a range in which the key is likely near the start.
#[cold]
fn above<S: Sorted>(keys: S, mut range: Range<usize>) -> usize {
    let mut step = S::NEAR;
    while step < range.len() {
        let at = range.start + step;
        if !keys.is_before(at) {
            range.end = at;
            break;
        }
        range.start = at + 1;
        step = step.saturating_mul(PARTS);
    }
    narrow(keys, range)
}

/// As [`from_middle`] for a range in which the key is likely near the end.
#[cold]
fn below<S: Sorted>(keys: S, mut range: Range<usize>) -> usize {
    let mut step = S::NEAR;
    while step < range.len() {
        let at = range.end - step;
        if keys.is_before(at) {
            range.start = at + 1;
            break;
        }
        range.end = at;
        step = step.saturating_mul(PARTS);
    }
    narrow(keys, range)
}

/// As [`from_middle`] for a range with no expected place: each step waits once and leaves an
/// eighth.
fn narrow<S: Sorted>(keys: S, mut range: Range<usize>) -> usize {
    while range.len() > S::NEAR {
        let (start, part) = (range.start, range.len() / PARTS);
        (1..PARTS).for_each(|cut| keys.prefetch(start + cut * part));
        let cut = first_not(1..PARTS, |cut| keys.is_before(start + cut * part));
        range.start = start + (cut - 1) * part;
        if cut < PARTS {
            range.end = start + cut * part;
        }
    }
    keys.search_near(range)
}
