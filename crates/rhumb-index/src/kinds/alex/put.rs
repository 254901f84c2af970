//! Insertion into a data node, and growth of a node at its edges.

use super::fit::{BEARABLE, LEVEL_COST, STEP_COST, SlotLine, steps};
use super::leaf::{Leaf, slots_of};
use super::tree::DENSITY;
use crate::updatable::Existing;

/// The most slots that an entry is stored into a run of gaps, however far into it it is predicted:
/// the gaps before it must take its key.
const FILL: usize = 32;

/// The most slots that an entry below or above all others moves others by in a node that grows at
/// its edge.
const EDGE: usize = 32;

/// A node grows at its edge if [`Leaf::edge`] is at least this, which means that most entries
/// arrive there. Other nodes would be left with too few gaps between their entries.
const APPENDED: u8 = 16;

/// A node with fewer slots doubles when it grows at an edge; a larger one grows by a quarter.
const DOUBLED: usize = 1 << 15;

/// After this many insertions since the line was fitted, the earlier ones are counted half.
const COUNTED: u32 = 1 << 20;

/// The result of storing an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Put {
    /// The key was present, with this value.
    Old(u64),
    /// The entry was stored.
    New,
    /// The entry was stored, and insertions have become too costly for the node as it is.
    Costly,
    /// The entry was not stored: there are too few gaps.
    Full,
    /// The entry was not stored: it belongs before or after all others, and the nearest gap is far.
    Edge { is_left: bool },
}

impl Leaf {
    /// Stores an entry if there is room. With `at_any_cost`, any number of others may move.
    #[inline]
    pub(super) fn put(
        &mut self,
        key: u64,
        value: u64,
        existing: Existing,
        at_any_cost: bool,
    ) -> Put {
        let predicted = self.fit.predict(key);
        self.prefetch_bit(predicted);
        let slot = self.seek_near(predicted, |other| other < key);
        if slot < self.slots() && self.key(slot) == key {
            let entry = self.entry_from(slot);
            if entry < self.slots() && self.key(entry) == key {
                let old = self.value(entry);
                if existing == Existing::Replace {
                    self.set_value(entry, value);
                }
                return Put::Old(old);
            }
        }
        // The density is at most 0.8.
        if (self.len as usize + 1) * 5 > self.slots() * 4 {
            return Put::Full;
        }
        let moved = match self.put_into_gap(predicted, slot, key, value) {
            true => 0,
            false => match self.put_between(slot, key, value, at_any_cost) {
                Ok(moved) => moved,
                Err(is_left) => return Put::Edge { is_left },
            },
        };
        self.len += 1;
        self.inserts += 1;
        let is_edge = slot == 0
            || slot >= self.slots() - 1
            || self.key(slot + 1) == u64::MAX
            || self.key(slot - 1) == 0;
        self.edge = match is_edge {
            true => self.edge.saturating_add(2),
            false => self.edge.saturating_sub(1),
        };
        if self.inserts > COUNTED {
            (self.inserts, self.work) = (self.inserts / 2, self.work / 2);
        }
        // A step costs as much as 40 moves.
        let work = 40 * steps(predicted, slot) + moved as u32;
        self.work = self.work.saturating_add(work);
        // Above the highest cost at which a node is kept, after enough insertions to pay for a new
        // node.
        let bearable = (self.inserts * 2 * BEARABLE).saturating_add(self.fit.slots * 8);
        match self.work > bearable {
            true => Put::Costly,
            false => Put::New,
        }
    }

    /// Stores an entry in the gaps around its slot, the first one whose key is not below it.
    /// Returns false if there are none.
    #[inline(always)]
    fn put_into_gap(&mut self, predicted: usize, slot: usize, key: u64, value: u64) -> bool {
        let next = self.entry_within(slot, FILL);
        if slot < next {
            let at = predicted.clamp(slot, next - 1);
            self.fill(slot..at, key);
            self.set(at, key, value);
            return true;
        }
        if slot == 0 || self.is_entry(slot - 1) {
            return false;
        }
        // Gaps before the slot have keys below this one.
        let mut at = slot - 1;
        while at > predicted && slot - at < FILL && !self.is_entry(at - 1) {
            at -= 1;
        }
        let above = match slot < self.slots() {
            true => self.key(slot),
            false => u64::MAX,
        };
        self.fill(at + 1..slot, above);
        self.set(at, key, value);
        true
    }

    /// Stores an entry between two others by moving entries up to the nearest gap. Returns how many
    /// moved, or, if the gap is far from the edge where the entry belongs, whether that is the left
    /// edge.
    fn put_between(
        &mut self,
        slot: usize,
        key: u64,
        value: u64,
        at_any_cost: bool,
    ) -> Result<usize, bool> {
        let right = Some(self.gap_from(slot)).filter(|gap| *gap < self.slots());
        let left = self.gap_before(slot);
        let is_far = |gap: Option<usize>| gap.is_none_or(|gap| gap.abs_diff(slot) > EDGE);
        let grows = !at_any_cost && self.edge >= APPENDED;
        if grows && slot == 0 && is_far(right) {
            return Err(true);
        }
        if grows && slot == self.slots() && is_far(left) {
            return Err(false);
        }
        let (toward, gap) = match (left, right) {
            (Some(left), right) if right.is_none_or(|right| slot - left <= right - slot) => {
                (slot - 1, left)
            }
            (_, Some(right)) => (slot, right),
            // There is always a gap, since the density is at most 0.8.
            _ => (slot, slot),
        };
        if gap < toward {
            (gap..toward).for_each(|to| self.copy(to + 1, to));
        } else {
            (toward + 1..=gap)
                .rev()
                .for_each(|to| self.copy(to - 1, to));
        }
        self.mark(gap);
        self.set(toward, key, value);
        Ok(gap.abs_diff(toward))
    }

    /// Whether insertions cost far more than expected.
    pub(super) fn is_strained(&self) -> bool {
        let cost = f64::from(self.work) / 2.0 / f64::from(self.inserts.max(1));
        // A new line must be paid for by insertions.
        self.inserts >= 32 + self.len / 32 && cost > LEVEL_COST + 1.5 * f64::from(self.expected)
    }

    /// Whether insertions next to a key cost more than is acceptable because many entries stand
    /// there without a gap, as under a line that covers far wider numbers.
    pub(super) fn is_packed_at(&self, key: u64) -> bool {
        let predicted = self.fit.predict(key);
        let slot = self.seek_near(predicted, |other| other < key);
        let run = self.gap_from(slot) - self.gap_before(slot).map_or(0, |gap| gap + 1);
        // An insertion into a run without gaps moves a quarter of the run on average.
        40 * steps(predicted, slot) as usize + run / 4 > 2 * BEARABLE as usize
    }

    /// The number of slots after growth at an edge.
    pub(super) fn slots_grown(&self) -> usize {
        let slots = self.slots();
        match slots < DOUBLED {
            true => slots * 2,
            false => (slots + slots / 4).next_multiple_of(4),
        }
    }

    /// The same entries in the same order, with gaps before or after them all and the line
    /// extended.
    pub(super) fn grown(&self, is_left: bool) -> Leaf {
        let (slots, grown) = (self.slots(), self.slots_grown());
        let shift = if is_left { grown - slots } else { 0 };
        let mut fit = SlotLine {
            slots: grown as u32,
            ..self.fit
        };
        if is_left {
            fit = fit.moved(shift);
        }
        let mut leaf = Leaf::empty(fit);
        for slot in 0..slots {
            match self.is_entry(slot) {
                true => leaf.set(slot + shift, self.key(slot), self.value(slot)),
                false => leaf.fill(slot + shift..slot + shift + 1, self.key(slot)),
            }
        }
        if !is_left {
            leaf.fill(slots..grown, u64::MAX);
        }
        Leaf {
            len: self.len,
            before: self.before,
            behind: self.behind,
            inserts: self.inserts,
            work: self.work,
            expected: self.expected,
            is_loose: self.is_loose,
            edge: self.edge,
            ..leaf
        }
    }

    /// A node of the same entries with a new line, at a density in tenths.
    pub(super) fn refitted(&self, entries: &[(u64, u64)], density: usize) -> Leaf {
        Leaf {
            edge: self.edge,
            before: self.before,
            behind: self.behind,
            ..Leaf::new(entries, slots_of(entries.len(), density))
        }
    }

    /// An empty node next to this one; `key` is the first that will be inserted.
    pub(super) fn neighbour(&self, key: u64, is_left: bool) -> Leaf {
        let slots = slots_of(0, DENSITY);
        let fit = SlotLine {
            base: key,
            slope: self.fit.slope,
            offset: 0.0,
            slots: slots as u32,
        };
        let mut leaf = Leaf::empty(if is_left { fit.moved(slots - 1) } else { fit });
        leaf.fill(0..slots, u64::MAX);
        // The expected cost of this node, but at least that of a step.
        leaf.expected = self.expected.max(STEP_COST as u16);
        leaf
    }
}
