//! The search inside models: for the last number that is not above another.

use super::numbers::Number;

/// How many numbers are searched without a branch: two cache lines.
pub(crate) const FEW: usize = 16;

/// The last of the numbers in `start..end` that is not above `number`, or `start` if all are above.
/// The numbers before `start` must not be above it, or `start` is 0, and those from `end` on must
/// be above it.
#[inline(always)]
pub(crate) fn last_not_above<N: Number>(
    numbers: &[N],
    start: usize,
    end: usize,
    number: u64,
) -> usize {
    if end.saturating_sub(start) <= FEW && numbers.len() >= FEW {
        // Searching some neighbours too does not change the result.
        let start = start.min(numbers.len() - FEW);
        if let Some(few) = numbers.get(start..).and_then(|from| from.first_chunk()) {
            return start + last_of_few(few, number);
        }
    }
    let inside = numbers.get(start..end).unwrap_or_default();
    let count = inside.partition_point(|one| one.value() <= number);
    start + count.saturating_sub(1)
}

/// The last of these that is not above `number`, or the first. Compares every fourth one, and then
/// three neighbours: two rounds of memory accesses, and no branch.
#[inline(always)]
pub(crate) fn last_of_few<N: Number>(few: &[N; FEW], number: u64) -> usize {
    let goes_on = |at: usize| usize::from(few[at].value() <= number);
    let four = 4 * (goes_on(4) + goes_on(8) + goes_on(12));
    four + goes_on(four + 1) + goes_on(four + 2) + goes_on(four + 3)
}
