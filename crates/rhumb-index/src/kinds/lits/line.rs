//! The linear model of a node: from a number to a slot.

use super::hpt::BITS;

/// A monotone line over numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SlotLine {
    pub base: i64,
    /// Slots for each number; finite and not negative.
    pub slope: f64,
    /// How many slots there are, at least 1.
    pub slots: u32,
    /// Intervals narrower than this are not narrowed further; at least 1: an eighth of a slot.
    pub least: u64,
}

impl SlotLine {
    /// The line that maps one number to a share of `slots` slots, and another number to another
    /// share. `None` if the numbers do not differ.
    pub(super) fn through(slots: u32, from: (f64, u64), to: (f64, u64)) -> Option<SlotLine> {
        let span = to.1.checked_sub(from.1).filter(|span| *span > 0)?;
        let slope = (to.0 - from.0) * f64::from(slots) / span as f64;
        // How far below the first number slot 0 begins.
        let ahead = from.0 * f64::from(slots) / slope;
        let base = from.1 as i64 - (ahead as i64).min(1 << (BITS + 1));
        Some(SlotLine {
            base,
            slope,
            slots,
            least: SlotLine::least(slots, to.0 - from.0, span),
        })
    }

    /// An eighth of the width of a slot, if a span of numbers takes a share of `slots` slots.
    pub(super) fn least(slots: u32, share: f64, span: u64) -> u64 {
        ((span as f64 / (f64::from(slots) * share) / 8.0) as u64).max(1)
    }

    /// The slot of a number. Monotone, since the difference, its product with a slope that is not
    /// negative, and rounding down are.
    #[inline]
    pub(super) fn slot(&self, number: u64) -> u32 {
        let behind = (number as i64).saturating_sub(self.base).max(0);
        ((behind as f64 * self.slope) as u32).min(self.slots.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_never_descend_and_stay_inside() {
        let top = 1u64 << BITS;
        for (from, to) in [
            (0, 1),
            (0, top),
            (top - 1, top),
            (5, 1000),
            (top / 3, top / 2),
        ] {
            for slots in [1, 2, 1000, u32::MAX] {
                for (a, b) in [(0.0, 1.0), (1.0 / 16.0, 15.0 / 16.0)] {
                    let line = SlotLine::through(slots, (a, from), (b, to)).unwrap();
                    let numbers = [0, 1, from, from + 1, to / 2, to - 1, to, to + 1, top];
                    let mut numbers = numbers.to_vec();
                    numbers.sort();
                    let found: Vec<u32> = numbers.iter().map(|n| line.slot(*n)).collect();
                    assert!(found.is_sorted(), "{line:?} {found:?}");
                    assert!(found.iter().all(|slot| *slot < slots));
                    assert!(line.least >= 1 && line.slope.is_finite());
                }
            }
        }
        assert_eq!(SlotLine::through(9, (0.0, 7), (1.0, 7)), None);
        let damaged = SlotLine {
            base: i64::MIN,
            slope: f64::NAN,
            slots: 0,
            least: 0,
        };
        assert_eq!(damaged.slot(u64::MAX), 0);
    }
}
