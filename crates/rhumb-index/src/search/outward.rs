//! Where to look first: about the middle of a window, then ever further away from it.
//!
//! Memory that is not in a cache takes some 100 ns, and a binary search that waits for it at every
//! step takes a multiple. So this one asks for many cache lines at once: for all keys where they are
//! few, else for those about the middle, which is the place that the model expects, and beyond
//! them for seven keys that cut what is left in eight.

use std::ops::Range;

use super::first_not;

/// Parts that a step cuts a wide range into.
const PARTS: usize = 8;

/// Sorted keys and one that is looked for among them.
pub(super) trait Sorted: Copy {
    /// How many keys are asked for at once, at least [`PARTS`].
    const NEAR: usize;

    /// Whether the key at a place is before the one looked for.
    fn is_before(self, at: usize) -> bool;

    /// Asks for the key at a place ahead of its use.
    fn prefetch(self, at: usize);

    /// The first place of at most [`Sorted::NEAR`] that is not before the key, or their end.
    /// Asks for them all first.
    fn search_near(self, range: Range<usize>) -> usize;
}

/// The first place of the range that is not before the key, or its end.
#[inline]
pub(super) fn from_middle<S: Sorted>(keys: S, range: Range<usize>) -> usize {
    // Apart, so that a look-up in a narrow window is few instructions: the processor then begins the
    // next ones while this one waits.
    if range.len() <= S::NEAR {
        return keys.search_near(range);
    }
    outward(keys, range)
}

/// The same for a range that is longer than what is searched at once.
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

/// The same for a range whose start is the likelier side.
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

/// The same for a range whose end is the likelier side.
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

/// The same for a range of which nothing is known: as many waits as it has digits in base 8.
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
