//! Binary search without branches that depend on comparisons.

use std::hint::select_unpredictable;
use std::ops::Range;

/// The first index of `range` for which `is_before` is false; the range's end if there is none.
/// `is_before` must be false for all later indices too. Each step is a conditional move: its
/// direction is unpredictable, and a mispredicted branch would discard what the processor has
/// started of the next look-up.
///
/// For a slice [`slice::partition_point`] does the same; this function is for keys stored
/// elsewhere, such as in the columns of a block. `is_before` is called only for indices of the
/// range, for ceil(log2(length)) + 1 of them.
///
/// ```
/// let column = [3_u32, 5, 5, 9].map(u32::to_le_bytes).concat();
/// let number = |i: usize| u32::from_le_bytes(column[4 * i..][..4].try_into().unwrap());
/// assert_eq!(rhumb_index::search::first_not(0..4, |i| number(i) < 5), 1);
/// assert_eq!(rhumb_index::search::first_not(0..4, |i| number(i) < 10), 4);
/// ```
#[inline]
pub fn first_not(range: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut first, mut left) = (range.start, range.len());
    if left == 0 {
        return first;
    }
    while left > 1 {
        let half = left / 2;
        first = select_unpredictable(is_before(first + half), first + half, first);
        left -= half;
    }
    first + usize::from(is_before(first))
}

/// The first index of `range` whose key is not before the one sought; the end of `range` if there
/// is none. Most comparisons are of numbers of the keys.
///
/// Smaller keys must not have larger numbers. Only keys whose number equals the `target`, the
/// number of the key sought, are compared in full, by `is_before`. [`crate::search::first_eight`]
/// makes such numbers.
#[inline]
pub fn first_not_by_number(
    range: Range<usize>,
    target: u64,
    number: impl Fn(usize) -> u64,
    is_before: impl Fn(usize) -> bool,
) -> usize {
    let first = first_not(range.clone(), |at| number(at) < target);
    if first >= range.end || number(first) > target || !is_before(first) {
        return first;
    }
    let alike = first_not(first..range.end, |at| number(at) == target);
    first_not(first + 1..alike, is_before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_every_range_is_found_inside_it() {
        for (start, end) in (0..20).flat_map(|start| (start..40).map(move |end| (start, end))) {
            for place in start..=end {
                let found = first_not(start..end, |at| {
                    assert!((start..end).contains(&at));
                    at < place
                });
                assert_eq!(found, place);
            }
        }
        assert_eq!(first_not(Range { start: 7, end: 3 }, |_| true), 7);
    }

    #[test]
    fn keys_of_one_number_are_compared_in_full() {
        // Runs of keys with equal numbers, of every length up to 5; the place is anywhere.
        for runs in 0..6_usize.pow(3) {
            let lengths = [runs % 6, runs / 6 % 6, runs / 36];
            let numbers: Vec<u64> = (0..3)
                .flat_map(|run| std::iter::repeat_n([0, 5, u64::MAX][run], lengths[run]))
                .collect();
            for place in 0..=numbers.len() {
                let between = |target: u64| {
                    (place == 0 || numbers[place - 1] <= target)
                        && numbers.get(place).is_none_or(|&number| number >= target)
                };
                for target in [0, 3, 5, 6, u64::MAX].into_iter().filter(|t| between(*t)) {
                    let found = first_not_by_number(
                        0..numbers.len(),
                        target,
                        |at| numbers[at],
                        |at| {
                            assert_eq!(numbers[at], target);
                            at < place
                        },
                    );
                    assert_eq!(found, place, "{numbers:?} and {target}");
                }
            }
        }
    }
}
