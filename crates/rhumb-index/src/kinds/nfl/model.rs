//! Models: monotone functions from numbers to slots.

use crate::kinds::shared::fixed_line::FixedLine;

/// Computes the slot of a number.
pub(super) trait Model {
    /// How many slots there are, at least 1.
    fn slots(&self) -> usize;

    /// The slot of a number: below [`Model::slots`], and not below the slot of any smaller number.
    fn slot(&self, number: u64) -> usize;
}

/// Groups ascending entries by slot.
pub(super) fn by_slot<'a>(
    entries: &'a [(u64, u64)],
    model: &'a impl Model,
) -> impl Iterator<Item = (usize, &'a [(u64, u64)])> {
    let slot_of = |entry: Option<&(u64, u64)>| entry.map(|entry| model.slot(entry.0));
    let (mut left, mut next) = (entries, slot_of(entries.first()));
    std::iter::from_fn(move || {
        let slot = next?;
        let mut inside = 1;
        loop {
            next = slot_of(left.get(inside));
            if next != Some(slot) {
                break;
            }
            inside += 1;
        }
        let (group, behind) = left.split_at_checked(inside)?;
        left = behind;
        Some((slot, group))
    })
}

/// A line in integer arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Linear {
    /// Computes slots in units of 2^-shift.
    pub(super) line: FixedLine,
    /// Additional bits of precision of the line, at most 63.
    pub(super) shift: u8,
    /// How many slots there are, one cache line each.
    pub(super) lines: u32,
}

impl Linear {
    /// Divides the numbers from `first` to `last`, which must not be below it, into equal pieces;
    /// numbers outside belong to the first and the last piece.
    ///
    /// There are at most as many pieces as numbers. If there are more than two, the first and the
    /// last number belong to different ones: the factor is rounded down by less than 1, so the last
    /// number is in the last piece or the one before it.
    pub(super) fn over((first, last): (u64, u64), lines: usize) -> Self {
        let numbers = u128::from(last - first) + 1;
        let lines = (lines.max(1) as u128).min(numbers).min(u32::MAX.into());
        let slots = (lines << 64) - 1;
        // The shift that makes the factor use all 64 bits. The quotient is below 2^64; it is 0 only
        // for one piece over all numbers, and is then taken as 1.
        let shift = ((slots / numbers).max(1) as u64).leading_zeros();
        Linear {
            line: FixedLine {
                base: first,
                slope: ((slots << shift) / numbers) as u64,
            },
            shift: shift as u8,
            lines: lines as u32,
        }
    }

    /// The slot of a number; 0 if there are no lines.
    #[inline(always)]
    pub(super) fn slot_of(&self, number: u64) -> usize {
        let slot = self.line.place(number) >> (self.shift & 63);
        slot.min(u64::from(self.lines.saturating_sub(1))) as usize
    }
}

impl Model for Linear {
    fn slots(&self) -> usize {
        self.lines as usize
    }

    #[inline]
    fn slot(&self, number: u64) -> usize {
        self.slot_of(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::SplitMix64;

    #[test]
    fn lines_are_monotone_and_reach_both_ends() {
        let mut random = SplitMix64::new(7);
        for _ in 0..20_000 {
            let (a, b) = (
                random.next_u64() >> random.below(64),
                random.next_u64() >> random.below(64),
            );
            let (first, last) = (a.min(b), a.max(b));
            let bits = random.below(24);
            let lines = 1 + random.below(1 << bits) as usize;
            let model = Linear::over((first, last), lines);
            assert_eq!(model.slot(first), 0);
            assert!(model.slot(u64::MAX) < model.slots());
            assert!(model.slot(last) + 2 >= model.slots(), "{model:?} {last}");
            let probe = first + random.below((last - first).max(1));
            assert!(model.slot(probe) <= model.slot(probe.saturating_add(1)));
        }
        let whole = Linear::over((0, u64::MAX), 8);
        assert_eq!((whole.slot(u64::MAX), whole.slot(u64::MAX / 2)), (7, 3));
    }
}
