//! A data node: a gapped array with a line over it.
//!
//! Slots lie in cache lines of four keys and their values; the last lines hold a bit for every
//! slot, which is set if the slot holds an entry. The keys of all slots, gaps included, ascend
//! weakly, so that a search needs no bits. A gap has the key of the next entry. A present key is
//! therefore in the last of the slots with this key and is found without bits, too. Gaps after the
//! last entry have the greatest key, and gaps before the first entry may have the least: for these
//! two keys bits are consulted, so that every key can be stored. A removal that would have to
//! change many gaps makes the node *loose* instead: gaps may then have any key between their
//! neighbours', and bits are consulted for all keys.

use super::fit::{SlotLine, Toll};
use crate::kinds::shared::gallop::first_about;
use crate::search::prefetch_line;

/// Slots of a cache line.
const LINE_SLOTS: usize = 4;

/// Bits of a cache line.
const BITS: usize = 512;

/// How many lines around the predicted slot are searched without a branch. Every line that is read
/// costs time: with four, look-ups take up to half as long again.
const WINDOW: usize = 2;

/// The fewest slots of a data node.
const LEAST_SLOTS: usize = 16;

/// The most gaps that a removal changes.
const TIDIED: usize = 64;

/// The most slots of a data node: 16 MiB.
pub(super) const MOST_SLOTS: usize = 1 << 20;

/// The number of no data node.
pub(super) const NONE: u32 = u32::MAX;

/// A cache line: four keys and four values, or 512 bits.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct CacheLine([u64; 8]);

/// A data node; this struct takes one cache line.
#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) fit: SlotLine,
    /// Lines of slots, then lines of bits.
    pub(super) lines: Box<[CacheLine]>,
    /// How many entries there are.
    pub(super) len: u32,
    /// The data nodes before and after this one.
    pub(super) before: u32,
    pub(super) behind: u32,
    /// Insertions since the line was fitted.
    pub(super) inserts: u32,
    /// The cost of these insertions, in moves of an entry by a slot.
    pub(super) work: u32,
    /// The expected cost of an insertion when the line was fitted.
    pub(super) expected: u16,
    /// Whether gaps may have keys other than that of the next entry.
    pub(super) is_loose: bool,
    /// Rises with entries inserted before or after all others, falls with those inserted between.
    pub(super) edge: u8,
}

/// How many slots the entries take at a density in tenths.
pub(super) fn slots_of(entries: usize, density: usize) -> usize {
    let slots = (entries * 10)
        .div_ceil(density)
        .next_multiple_of(LINE_SLOTS);
    slots.max(LEAST_SLOTS)
}

impl Leaf {
    /// Lays out ascending entries in `slots` slots, a multiple of 4 that is large enough for them.
    pub(super) fn new(entries: &[(u64, u64)], slots: usize) -> Leaf {
        #[cfg(test)]
        super::bounds::count(entries.len());
        let mut leaf = Leaf::empty(SlotLine::of(entries, slots));
        let fit = leaf.fit;
        let (mut toll, mut filled) = (Toll::default(), 0);
        fit.place(entries, |&(key, value), predicted, slot| {
            toll.add(predicted, slot);
            leaf.fill(filled..slot, if filled == 0 { 0 } else { key });
            filled = slot + 1;
            leaf.set(slot, key, value);
        });
        leaf.fill(filled..slots, u64::MAX);
        leaf.len = entries.len() as u32;
        leaf.expected = toll.mean(entries.len()) as u16;
        leaf
    }

    /// A node without entries under a line.
    pub(super) fn empty(fit: SlotLine) -> Leaf {
        let slots = fit.slots as usize;
        let lines = vec![CacheLine([0; 8]); slots.div_ceil(BITS) + slots / LINE_SLOTS];
        Leaf {
            fit,
            lines: lines.into_boxed_slice(),
            len: 0,
            before: NONE,
            behind: NONE,
            inserts: 0,
            work: 0,
            expected: 0,
            is_loose: false,
            edge: 0,
        }
    }

    /// How many slots it has.
    #[inline(always)]
    pub(super) fn slots(&self) -> usize {
        self.fit.slots as usize
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.lines)
    }

    /// How many lines of slots there are.
    #[inline(always)]
    fn slot_lines(&self) -> usize {
        self.slots() / LINE_SLOTS
    }

    #[inline(always)]
    pub(super) fn key(&self, slot: usize) -> u64 {
        self.lines[slot / LINE_SLOTS].0[slot % LINE_SLOTS]
    }

    #[inline(always)]
    pub(super) fn value(&self, slot: usize) -> u64 {
        self.lines[slot / LINE_SLOTS].0[LINE_SLOTS + slot % LINE_SLOTS]
    }

    #[inline(always)]
    pub(super) fn set_value(&mut self, slot: usize, value: u64) {
        self.lines[slot / LINE_SLOTS].0[LINE_SLOTS + slot % LINE_SLOTS] = value;
    }

    /// Puts an entry into a slot.
    #[inline(always)]
    pub(super) fn set(&mut self, slot: usize, key: u64, value: u64) {
        let line = &mut self.lines[slot / LINE_SLOTS].0;
        line[slot % LINE_SLOTS] = key;
        line[LINE_SLOTS + slot % LINE_SLOTS] = value;
        self.mark(slot);
    }

    /// Copies a slot's key and value to another slot, but not its bit.
    #[inline(always)]
    pub(super) fn copy(&mut self, from: usize, to: usize) {
        let (key, value) = (self.key(from), self.value(from));
        let line = &mut self.lines[to / LINE_SLOTS].0;
        line[to % LINE_SLOTS] = key;
        line[LINE_SLOTS + to % LINE_SLOTS] = value;
    }

    /// Sets a slot's bit.
    #[inline(always)]
    pub(super) fn mark(&mut self, slot: usize) {
        let line = self.slot_lines() + slot / BITS;
        self.lines[line].0[slot % BITS / 64] |= 1 << (slot % 64);
    }

    /// Turns a slot into a gap.
    pub(super) fn clear(&mut self, slot: usize) {
        let line = self.slot_lines() + slot / BITS;
        self.lines[line].0[slot % BITS / 64] &= !(1 << (slot % 64));
    }

    /// Sets the key of slots.
    #[inline(always)]
    pub(super) fn fill(&mut self, slots: std::ops::Range<usize>, key: u64) {
        for slot in slots {
            self.lines[slot / LINE_SLOTS].0[slot % LINE_SLOTS] = key;
        }
    }

    /// Prefetches a slot's bit.
    #[inline(always)]
    pub(super) fn prefetch_bit(&self, slot: usize) {
        let line = self.slot_lines() + slot / BITS;
        prefetch_line(self.lines.as_ptr().wrapping_add(line).cast());
    }

    /// Bits of the slots 64 x `word` to 64 x `word` + 63.
    #[inline(always)]
    fn bits(&self, word: usize) -> u64 {
        self.lines[self.slot_lines() + word / 8].0[word % 8]
    }

    /// Whether a slot holds an entry.
    #[inline(always)]
    pub(super) fn is_entry(&self, slot: usize) -> bool {
        self.bits(slot / 64) >> (slot % 64) & 1 == 1
    }

    /// The first entry from a slot on, or the number of slots.
    #[inline(always)]
    pub(super) fn entry_from(&self, slot: usize) -> usize {
        self.from(slot, self.slots(), 0)
    }

    /// As [`Leaf::entry_from`] within `len` slots; the slot after them if there is none.
    #[inline(always)]
    pub(super) fn entry_within(&self, slot: usize, len: usize) -> usize {
        self.from(slot, self.slots().min(slot + len), 0)
    }

    /// The first gap from a slot on, or the number of slots.
    pub(super) fn gap_from(&self, slot: usize) -> usize {
        self.from(slot, self.slots(), u64::MAX)
    }

    /// The first slot from this one on whose bit, flipped by `flip`, is set, or the end.
    #[inline(always)]
    fn from(&self, slot: usize, end: usize, flip: u64) -> usize {
        if slot >= end {
            return end;
        }
        let mut word = slot / 64;
        let mut bits = (self.bits(word) ^ flip) >> (slot % 64) << (slot % 64);
        while bits == 0 {
            word += 1;
            if word * 64 >= end {
                return end;
            }
            bits = self.bits(word) ^ flip;
        }
        (word * 64 + bits.trailing_zeros() as usize).min(end)
    }

    /// The last gap before a slot.
    pub(super) fn gap_before(&self, slot: usize) -> Option<usize> {
        let mut word = slot / 64;
        let mut bits = match slot % 64 {
            0 => 0,
            inside => !self.bits(word) << (64 - inside) >> (64 - inside),
        };
        while bits == 0 {
            word = word.checked_sub(1)?;
            bits = !self.bits(word);
        }
        Some(word * 64 + 63 - bits.leading_zeros() as usize)
    }

    /// The first slot whose key is not before the one sought, or the number of slots; searches near
    /// `slot`.
    #[inline(always)]
    pub(super) fn seek_near(&self, slot: usize, is_before: impl Fn(u64) -> bool) -> usize {
        let lines = &self.lines[..self.slot_lines()];
        // An entry is in the predicted slot or, if that was taken, a few slots to the right of it;
        // insertions may have moved it to the left too.
        let first = (slot.saturating_sub(1) / LINE_SLOTS).min(lines.len().saturating_sub(WINDOW));
        let Some(window) = lines[first..].first_chunk::<WINDOW>() else {
            return 0;
        };
        // Slots are counted instead of compared one by one: the result is unpredictable, and a
        // mispredicted branch would wait for memory and keep the next look-up from starting.
        let mut before = 0;
        for line in window {
            for column in 0..LINE_SLOTS {
                before += usize::from(is_before(line.0[column]));
            }
        }
        let is_left = before == 0 && first > 0;
        let is_right = before == LINE_SLOTS * WINDOW && first + WINDOW < lines.len();
        if is_left || is_right {
            return seek_outward(lines, first * LINE_SLOTS + before, is_before);
        }
        first * LINE_SLOTS + before
    }

    /// The first entry whose key is not below this one, or the number of slots.
    #[inline]
    pub(super) fn lower_bound(&self, key: u64) -> usize {
        let predicted = self.fit.predict(key);
        self.prefetch_bit(predicted);
        self.entry_from(self.seek_near(predicted, |other| other < key))
    }

    /// The slot of a key, if present.
    #[inline(always)]
    fn find(&self, key: u64) -> Option<usize> {
        if self.is_loose || key == 0 || key == u64::MAX {
            let slot = self.lower_bound(key);
            return Some(slot).filter(|slot| *slot < self.slots() && self.key(*slot) == key);
        }
        let slot = self.seek_near(self.fit.slot(key) as usize, |other| other <= key);
        let slot = slot.checked_sub(1)?;
        Some(slot).filter(|slot| self.key(*slot) == key)
    }

    /// The value of a key.
    #[inline(always)]
    pub(super) fn get(&self, key: u64) -> Option<u64> {
        Some(self.value(self.find(key)?))
    }

    /// Removes a key. Returns its value.
    pub(super) fn remove(&mut self, key: u64) -> Option<u64> {
        self.prefetch_bit(self.fit.predict(key));
        let slot = self.find(key)?;
        self.clear(slot);
        self.len -= 1;
        let next = match slot + 1 < self.slots() {
            true => self.key(slot + 1),
            false => u64::MAX,
        };
        let alike = (0..=slot).rev().take_while(|slot| self.key(*slot) == key);
        let alike = alike.take(TIDIED + 1).count();
        match alike > TIDIED {
            true => self.is_loose = true,
            false => self.fill(slot + 1 - alike..slot + 1, next),
        }
        Some(self.value(slot))
    }

    /// Appends all entries, in order.
    pub(super) fn put_entries(&self, entries: &mut Vec<(u64, u64)>) {
        let mut slot = self.entry_from(0);
        while slot < self.slots() {
            entries.push((self.key(slot), self.value(slot)));
            slot = self.entry_from(slot + 1);
        }
    }

    /// All entries, in order.
    pub(super) fn entries(&self) -> Vec<(u64, u64)> {
        let mut entries = Vec::with_capacity(self.len as usize);
        self.put_entries(&mut entries);
        entries
    }
}

/// The first slot whose key is not before the one sought; searches outward from a slot.
#[inline(never)]
fn seek_outward(lines: &[CacheLine], from: usize, is_before: impl Fn(u64) -> bool) -> usize {
    first_about(
        lines.len() * LINE_SLOTS,
        from,
        LINE_SLOTS * WINDOW,
        |slot| is_before(lines[slot / LINE_SLOTS].0[slot % LINE_SLOTS]),
    )
}
