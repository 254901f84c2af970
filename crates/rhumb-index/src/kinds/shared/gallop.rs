//! Galloping (exponential) search: step lengths double until the target is passed, then a binary
//! search covers the last step.
//!
//! The cost is logarithmic in the distance from the start to the target. The search in windows
//! ([`crate::search`]) has its own galloping, which prefetches several cache lines at each step
//! because its keys are mostly out of cache.

use std::ops::Range;

use crate::search::first_not;

/// The first place of `range` for which `is_before` is false, or the range's end if there is none.
/// `is_before` must be false for all later places too. The search starts at the range's start with
/// a first step of `step` places.
#[inline(always)]
pub(in crate::kinds) fn first_ahead(
    range: Range<usize>,
    mut step: usize,
    is_before: impl Fn(usize) -> bool,
) -> usize {
    let (mut start, mut end) = (range.start, range.start);
    while end < range.end && is_before(end) {
        start = end + 1;
        end = (end + step).min(range.end);
        step *= 2;
    }
    first_not(start..end, is_before)
}

/// As [`first_ahead`] for the places below `len`, searching in either direction from `from`, which
/// is at most `len`.
#[inline(always)]
pub(in crate::kinds) fn first_about(
    len: usize,
    from: usize,
    mut step: usize,
    is_before: impl Fn(usize) -> bool,
) -> usize {
    if from < len && is_before(from) {
        return first_ahead(from..len, step, is_before);
    }
    let (mut start, mut end) = (from, from);
    while start > 0 && !is_before(start) {
        end = start;
        start = start.saturating_sub(step);
        step *= 2;
    }
    first_not(start..end, is_before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_found_from_every_start() {
        for (len, step) in [(0, 1), (1, 1), (40, 1), (41, 8), (7, 8)] {
            for first in 0..=len {
                for from in 0..=len {
                    // No place past the end is tested.
                    let is_before = |place: usize| {
                        assert!(place <= len);
                        place < first
                    };
                    assert_eq!(first_about(len, from, step, is_before), first);
                    let ahead = first_ahead(from..len, step, is_before);
                    assert_eq!(ahead, first.max(from));
                }
            }
        }
    }
}
