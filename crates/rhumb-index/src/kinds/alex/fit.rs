//! The line of a data node, and the cost of its errors.

use crate::kinds::shared::least_squares::Sums;

/// The cost of a step of exponential search in the published cost model.
pub(super) const STEP_COST: f64 = 20.0;

/// The cost there of moving an entry by a slot.
pub(super) const SHIFT_COST: f64 = 0.5;

/// The cost there of another level of nodes.
pub(super) const LEVEL_COST: f64 = 20.0;

/// The cost there of a byte of nodes, entries excluded.
pub(super) const BYTE_COST: f64 = 5e-7;

/// The highest cost at which a data node is kept: twelve steps and a hundred moves.
pub(super) const BEARABLE: u32 = 300;

/// The least sample of numbers that a line is fitted to, where there are more.
const FITTED: usize = 512;

/// A line from numbers to slots.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SlotLine {
    /// The origin of the line; lower numbers are treated as this one.
    pub(super) base: u64,
    /// Slots for each number: finite and not negative.
    pub(super) slope: f64,
    /// The value of the line at the base, in slots: finite.
    pub(super) offset: f32,
    /// How many slots there are, at least one.
    pub(super) slots: u32,
}

impl SlotLine {
    /// The least-squares line through ascending entries, scaled to this many slots.
    pub(super) fn of(entries: &[(u64, u64)], slots: usize) -> SlotLine {
        let first = entries.first().map_or(0, |entry| entry.0);
        let last = entries.last().map_or(first, |entry| entry.0);
        let half = (last - first) as f64 / 2.0;
        let step = (entries.len() / FITTED).max(1);
        let mut sums = Sums::default();
        for (i, entry) in entries.iter().step_by(step).enumerate() {
            sums.add((entry.0 - first) as f64 - half, (i * step) as f64);
        }
        let scale = slots as f64 / entries.len().max(1) as f64;
        let slope = sums.slope() * scale;
        let offset = match entries.is_empty() {
            true => 0.0,
            false => {
                let (x, y) = sums.mean();
                y * scale - slope * (x + half)
            }
        };
        SlotLine {
            base: first,
            slope,
            offset: offset as f32,
            slots: slots as u32,
        }
    }

    /// The slot in which a number is expected.
    #[inline(always)]
    pub(super) fn predict(&self, number: u64) -> usize {
        self.slot(number).min(self.slots - 1) as usize
    }

    /// The predicted slot, not clamped to the last slot.
    ///
    /// Weakly monotone, since every step is: the subtraction, the conversion, the multiplication by
    /// a slope that is not negative, the addition and the cast, which saturates. The distance is
    /// converted as an unsigned number. That takes more instructions than a signed conversion, but
    /// the signed one depends on the old value of its register, such as an entry that the last
    /// look-up is still reading.
    #[inline(always)]
    pub(super) fn slot(&self, number: u64) -> u32 {
        let distance = number.saturating_sub(self.base) as f64;
        (distance * self.slope + f64::from(self.offset)) as u32
    }

    /// The line moved this many slots to the right, with its base as low as possible.
    pub(super) fn moved(self, slots: usize) -> SlotLine {
        let offset = f64::from(self.offset) + slots as f64;
        let room = match self.slope > 0.0 {
            true => (offset / self.slope) as u64,
            false => 0,
        };
        let room = room.min(self.base);
        SlotLine {
            base: self.base - room,
            offset: (offset - room as f64 * self.slope) as f32,
            ..self
        }
    }

    /// Assigns ascending slots to the entries: the predicted slot or the next free one, but low
    /// enough to leave room for all later entries. Calls `place` with the entry, its predicted and
    /// its assigned slot.
    #[inline(always)]
    pub(super) fn place(
        &self,
        entries: &[(u64, u64)],
        mut place: impl FnMut(&(u64, u64), usize, usize),
    ) {
        let room = self.slots as usize - entries.len();
        let mut next = 0;
        for (rank, entry) in entries.iter().enumerate() {
            let predicted = self.predict(entry.0);
            let slot = predicted.max(next).min(room + rank);
            place(entry, predicted, slot);
            next = slot + 1;
        }
    }

    /// The published cost of a look-up and an insertion, on average over the entries.
    pub(super) fn cost(&self, entries: &[(u64, u64)]) -> f64 {
        let mut toll = Toll::default();
        self.place(entries, |_, predicted, slot| toll.add(predicted, slot));
        toll.mean(entries.len())
    }
}

/// Sums the expected costs of placed entries.
#[derive(Debug, Default)]
pub(super) struct Toll {
    steps: u64,
    shifts: u64,
    next: usize,
    packed: u64,
}

impl Toll {
    /// Adds the next entry.
    #[inline(always)]
    pub(super) fn add(&mut self, predicted: usize, slot: usize) {
        self.steps += u64::from(steps(predicted, slot));
        if slot > self.next {
            // An insertion into a run without gaps moves a quarter of the run on average.
            self.shifts += self.packed * self.packed;
            self.packed = 0;
        }
        self.packed += 1;
        self.next = slot + 1;
    }

    /// The mean cost of one of this many entries.
    pub(super) fn mean(&self, entries: usize) -> f64 {
        let shifts = (self.shifts + self.packed * self.packed) as f64 / 4.0;
        (self.steps as f64 * STEP_COST + shifts * SHIFT_COST) / entries.max(1) as f64
    }
}

/// How many steps an exponential search from the predicted slot takes.
#[inline(always)]
pub(super) fn steps(predicted: usize, slot: usize) -> u32 {
    usize::BITS - predicted.abs_diff(slot).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{SplitMix64, distributions, map_of};

    #[test]
    fn predictions_never_descend_and_places_ascend() {
        for distribution in distributions::all() {
            let keys = distribution.keys(&mut SplitMix64::new(3), 2_000);
            let map = map_of(&keys);
            let mut numbers: Vec<u64> = keys.iter().map(|key| map.number(key)).collect();
            numbers.dedup();
            let entries: Vec<(u64, u64)> = numbers.iter().map(|&number| (number, 0)).collect();
            for slots in [entries.len(), entries.len() * 10 / 7 + 1] {
                let fit = SlotLine::of(&entries, slots);
                for number in &numbers {
                    let around = [number.saturating_sub(1), *number, number.saturating_add(1)];
                    let predicted = around.map(|number| fit.predict(number));
                    assert!(predicted.is_sorted() && predicted[2] < slots);
                }
                assert!(numbers.is_sorted_by_key(|number| fit.predict(*number)));
                let mut next = 0;
                fit.place(&entries, |_, _, slot| {
                    assert!(slot >= next && slot < slots, "{}", distribution.name);
                    next = slot + 1;
                });
            }
        }
    }

    #[test]
    fn evenly_spaced_keys_cost_less_than_a_step() {
        for (first, gap) in [(0, 1), (u64::MAX - 99_999 * 7, 7), (1 << 53, 1 << 40)] {
            let entries: Vec<(u64, u64)> = (0..100_000).map(|i| (first + i * gap, i)).collect();
            let cost = SlotLine::of(&entries, 142_858).cost(&entries);
            assert!(cost < STEP_COST, "{cost}");
        }
    }

    #[test]
    fn one_or_no_number_gives_a_level_line() {
        for entries in [&[][..], &[(7, 0)], &[(u64::MAX, 0)]] {
            let fit = SlotLine::of(entries, 16);
            assert_eq!((fit.slope, fit.offset), (0.0, 0.0));
        }
    }
}
