//! The line of a data node, and what its errors cost.

use crate::kinds::shared::least_squares::Sums;

/// What a step of exponential search costs in the published cost model.
pub(super) const STEP_COST: f64 = 20.0;

/// What moving an entry by a slot costs there.
pub(super) const SHIFT_COST: f64 = 0.5;

/// What a further level of nodes costs there.
pub(super) const LEVEL_COST: f64 = 20.0;

/// What a byte of nodes, entries excluded, costs there.
pub(super) const BYTE_COST: f64 = 5e-7;

/// A cost that a data node is not left with: twelve steps and a hundred moves.
pub(super) const BEARABLE: u32 = 300;

/// Numbers that a line is fitted to, at least, where there are more.
const FITTED: usize = 512;

/// A line from numbers to slots.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SlotLine {
    /// Where the line is anchored: numbers below count as this one.
    pub(super) base: u64,
    /// Slots a number: finite and not negative.
    pub(super) slope: f64,
    /// Where the line is at the base, in slots: finite.
    pub(super) offset: f32,
    /// How many slots there are, at least one.
    pub(super) slots: u32,
}

impl SlotLine {
    /// The line through ascending entries by least squares, stretched over so many slots.
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

    /// The same, not cut down to the last slot.
    ///
    /// Weakly monotone, since every step is: the subtraction, the conversion, multiplying by a slope that
    /// is not negative, adding and the cast, which saturates. The conversion is that of a number without a
    /// sign: it takes more instructions than the other, but that one waits for whatever its register held
    /// before, such as an entry that the last look-up reads.
    #[inline(always)]
    pub(super) fn slot(&self, number: u64) -> u32 {
        let distance = number.saturating_sub(self.base) as f64;
        (distance * self.slope + f64::from(self.offset)) as u32
    }

    /// The line so many slots further right, anchored as far left as it goes.
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

    /// Gives every entry its slot, the predicted one or the next that is free, ascending and so that all
    /// have room; tells `place` entry, predicted and given slot.
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

/// Sums up what placed entries will cost.
#[derive(Debug, Default)]
pub(super) struct Toll {
    steps: u64,
    shifts: u64,
    next: usize,
    packed: u64,
}

impl Toll {
    /// Takes in the next entry.
    #[inline(always)]
    pub(super) fn add(&mut self, predicted: usize, slot: usize) {
        self.steps += u64::from(steps(predicted, slot));
        if slot > self.next {
            // An insertion among so many without a gap moves a quarter of them on average.
            self.shifts += self.packed * self.packed;
            self.packed = 0;
        }
        self.packed += 1;
        self.next = slot + 1;
    }

    /// The cost of one of so many entries.
    pub(super) fn mean(&self, entries: usize) -> f64 {
        let shifts = (self.shifts + self.packed * self.packed) as f64 / 4.0;
        (self.steps as f64 * STEP_COST + shifts * SHIFT_COST) / entries.max(1) as f64
    }
}

/// How many steps exponential search takes from the predicted slot.
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
    fn a_straight_row_costs_next_to_nothing() {
        for (first, gap) in [(0, 1), (u64::MAX - 99_999 * 7, 7), (1 << 53, 1 << 40)] {
            let entries: Vec<(u64, u64)> = (0..100_000).map(|i| (first + i * gap, i)).collect();
            let cost = SlotLine::of(&entries, 142_858).cost(&entries);
            assert!(cost < STEP_COST, "{cost}");
        }
    }

    #[test]
    fn one_number_and_none_have_a_line() {
        for entries in [&[][..], &[(7, 0)], &[(u64::MAX, 0)]] {
            let fit = SlotLine::of(entries, 16);
            assert_eq!((fit.slope, fit.offset), (0.0, 0.0));
        }
    }
}
