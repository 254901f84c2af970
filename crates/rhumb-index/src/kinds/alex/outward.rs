//! Exponential search: in ever longer steps away from a slot, then binary in the last of them.

use crate::search::first_not;

/// The first of so many slots that is not before what is looked for, or their number; searched from a slot
/// among them or behind them. The first step is so long.
#[inline(always)]
pub(super) fn first_outward(
    slots: usize,
    from: usize,
    mut step: usize,
    is_before: impl Fn(usize) -> bool,
) -> usize {
    let (mut start, mut end) = (from, from);
    if from < slots && is_before(from) {
        while end < slots && is_before(end) {
            start = end + 1;
            end = (end + step).min(slots);
            step *= 2;
        }
    } else {
        while start > 0 && !is_before(start) {
            end = start;
            start = start.saturating_sub(step);
            step *= 2;
        }
    }
    first_not(start..end, is_before)
}

#[cfg(test)]
mod tests {
    use super::first_outward;

    #[test]
    fn finds_every_place_from_every_other() {
        for (slots, step) in [(0, 1), (1, 1), (40, 1), (41, 8), (7, 8)] {
            for first in 0..=slots {
                for from in 0..=slots {
                    // Slots behind the end are not asked for.
                    let is_before = |slot: usize| {
                        assert!(slot <= slots);
                        slot < first
                    };
                    assert_eq!(first_outward(slots, from, step, is_before), first);
                }
            }
        }
    }
}
