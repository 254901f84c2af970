//! Finds a key inside a block.
//!
//! Keys of equal length are stored in a row. The search there compares the first eight bytes after
//! the block prefix as one integer, and whole keys only where these are equal. Where a model placed
//! the entries, it also predicts a key's slot, and the block records by how much predictions are
//! off in it. The search then starts inside these bounds, and widens if the neighbouring keys show
//! that the target is outside.
//!
//! Other keys are stored in groups. The first 16 bytes of the first keys of all groups are compared with the target as numbers,
//! whole keys only where these are equal; one group is then read from its start.

use std::cmp::Ordering;
use std::ops::Range;

use rhumb_index::search::{
    common_prefix, first_eight, first_not, first_not_by_number, first_sixteen, prefetch,
};

use super::BlockView;
use super::heads::{NarrowHeads, groups_among};
use super::layout::slot_hint;
use super::row_keys::RowKeys;
use crate::entry::{MAX_SEQUENCE, Sequence, compare};

/// So many groups of keys of different lengths are compared with a key at once.
const GROUPS_AT_ONCE: usize = 32;

/// If the values of a group take no more, they are prefetched before its keys are searched.
const VALUES_AHEAD: usize = 512;

/// The key and sequence to find.
#[derive(Clone, Copy)]
struct Target<'k> {
    /// The key after the block prefix.
    rest: &'k [u8],
    /// Its first eight bytes as a number, padded with zeros.
    head: u64,
    sequence: Sequence,
}

impl<'k> Target<'k> {
    #[inline]
    fn of(rest: &'k [u8], sequence: Sequence) -> Self {
        Target {
            rest,
            head: first_eight(rest),
            sequence,
        }
    }
}

impl BlockView<'_> {
    /// The first slot at or after `(key, sequence)` in the order of the table, or the number of
    /// entries.
    #[cfg(test)]
    pub fn lower_bound(&self, key: &[u8], sequence: Sequence) -> usize {
        self.lower_bound_near(key, sequence, None)
    }

    /// As [`BlockView::lower_bound`]; `expected` is the slot that the model predicts, counted from
    /// the start of the cell. The result is right even if the prediction or the block's hint is
    /// wrong.
    pub fn lower_bound_near(&self, key: &[u8], sequence: Sequence, expected: Option<u64>) -> usize {
        self.find_near(key, sequence, expected).0
    }

    /// As [`BlockView::lower_bound_near`], and whether it is already known that the slot has the key: if not, it still may.
    pub fn find_near(
        &self,
        key: &[u8],
        sequence: Sequence,
        expected: Option<u64>,
    ) -> (usize, bool) {
        let prefix = self.prefix();
        let Some(rest) = strip(prefix, key) else {
            let is_before = key < prefix;
            return (if is_before { 0 } else { self.count() }, false);
        };
        let target = Target::of(rest, sequence);
        if self.layout.fixed_keys {
            let slot = self.lower_bound_in_row(&target, expected);
            return (slot, Row::of(*self).has_key(slot, &target));
        }
        let start = first_sixteen(rest);
        let among = self.groups_expected(start, expected);
        let found = self.find_among_groups(among, start, rest, sequence);
        found.unwrap_or((0, false))
    }

    /// The first of these slots whose key is not below `key`, or their end if all are below it; and whether it is already known that
    /// the slot is one of them and has the key: if not, it still may.
    #[inline]
    pub fn first_from(&self, slots: Range<usize>, key: &[u8]) -> (usize, bool) {
        let prefix = self.prefix();
        match strip(prefix, key) {
            Some(rest) if self.layout.fixed_keys => {
                let target = Target::of(rest, MAX_SEQUENCE);
                (Row::of(*self).lower_bound(slots, &target), false)
            }
            Some(rest) => self.first_in_groups(slots, rest),
            None if key < prefix => (slots.start, false),
            None => (slots.end, false),
        }
    }

    /// As [`BlockView::first_from`], of keys of different lengths, given the key after the block prefix.
    #[inline(never)]
    fn first_in_groups(&self, slots: Range<usize>, rest: &[u8]) -> (usize, bool) {
        if slots.is_empty() {
            return (slots.end, false);
        }
        let (shift, start) = (self.layout.group_shift, first_sixteen(rest));
        let behind = slots.end.div_ceil(1 << shift);
        // Limits are often far away: then the first key behind tells all.
        if behind < self.layout.groups() && self.head_start(behind) < start {
            return (slots.end, false);
        }
        let among = slots.start >> shift..behind;
        match self.find_among_groups(among, start, rest, MAX_SEQUENCE) {
            Some(found) if slots.contains(&found.0) => found,
            Some((slot, _)) => (slot.clamp(slots.start, slots.end), false),
            None => (slots.start, false),
        }
    }

    /// The first slot in these groups, or right behind them, that is not before the target, given its key after the block prefix
    /// and the first 16 bytes of that, and whether it is known to have that key. `None` if they are no groups, or the first one begins
    /// at or behind the target.
    #[inline(always)]
    fn find_among_groups(
        &self,
        among: Range<usize>,
        start: u128,
        rest: &[u8],
        sequence: Sequence,
    ) -> Option<(usize, bool)> {
        let first = among.start;
        // Whether the first key of a group is before the target.
        let before = |group: usize| {
            let order = self.head(group).cmp(rest);
            self.is_before(order, group << self.layout.group_shift, sequence)
        };
        match first_not(self.groups_near(among, start), before) {
            behind if behind == first => None,
            behind => {
                self.prefetch_values_of(behind - 1);
                Some(self.find_in_group(behind - 1, rest, sequence))
            }
        }
    }

    /// Prefetches the values of a group, if they have one length and are short: one of them is probably read next.
    #[inline(always)]
    fn prefetch_values_of(&self, group: usize) {
        let layout = self.layout;
        let bytes = layout.value.alike() << layout.group_shift;
        if layout.fixed_values && bytes <= VALUES_AHEAD {
            let start = layout.values() + group * bytes;
            prefetch(self.raw, start..start + bytes);
        }
    }

    /// Of these groups those whose first keys have to be compared whole: those before are below the key, those behind are above
    /// it.
    ///
    /// The first 16 bytes of each are compared as one number, all of them: none waits for another one to be in memory.
    #[inline]
    fn groups_near(&self, among: Range<usize>, start: u128) -> Range<usize> {
        if among.len() > GROUPS_AT_ONCE {
            return among;
        }
        match NarrowHeads::of(self) {
            Some(heads) => groups_among(among, start, |group| heads.start(group)),
            None => groups_among(among, start, |group| self.head_start(group)),
        }
    }

    /// The groups among which that of the key is expected: what begins before them is below the key, which starts with these 16
    /// bytes, and what begins behind them is above it.
    #[inline]
    fn groups_expected(&self, start: u128, expected: Option<u64>) -> Range<usize> {
        let groups = self.layout.groups();
        let slots = self.bounds(expected);
        if slots.len() >= self.count() {
            return 0..groups;
        }
        let shift = self.layout.group_shift;
        let from = (slots.start >> shift).min(groups - 1);
        let to = (slots.end >> shift) + 1;
        let low_holds = from == 0 || self.head_start(from) < start;
        let high_holds = to >= groups || self.head_start(to) > start;
        match low_holds && high_holds {
            true => from..to.min(groups),
            false => 0..groups,
        }
    }

    /// Whether keys of equal length ascend by their first eight bytes alone; otherwise they may still ascend.
    pub(super) fn heads_ascend(&self) -> bool {
        let row = Row::of(*self);
        let (mut before, mut ascend) = (row.keys.head(0), true);
        for slot in 1..self.count() {
            let head = row.keys.head(slot);
            ascend &= before < head;
            before = head;
        }
        ascend
    }

    /// Whether `key` is the key at `slot`.
    #[inline]
    pub fn has_key(&self, slot: usize, key: &[u8]) -> bool {
        if !self.layout.fixed_keys {
            return self.compare(slot, key) == Ordering::Equal;
        }
        let target = strip(self.prefix(), key).map(|rest| Target::of(rest, 0));
        target.is_some_and(|target| Row::of(*self).has_key(slot, &target))
    }

    /// Whether the entry at `slot`, whose key compares as `order` with the target's, is before the
    /// target.
    fn is_before(&self, order: Ordering, slot: usize, sequence: Sequence) -> bool {
        order.then_with(|| sequence.cmp(&self.sequence(slot))) == Ordering::Less
    }

    /// The range of slots in which the target is expected.
    #[inline]
    fn bounds(&self, expected: Option<u64>) -> Range<usize> {
        slots_near(expected, self.layout.hint, self.count())
    }

    /// Searches keys of equal length, first where the model expects the key.
    #[inline]
    fn lower_bound_in_row(&self, target: &Target<'_>, expected: Option<u64>) -> usize {
        let (row, count) = (Row::of(*self), self.count());
        let near = self.bounds(expected);
        // With an expectation, the keys were prefetched before the block was pinned.
        if expected.is_none() {
            row.keys.prefetch(&near);
        }
        let found = row.lower_bound(near.clone(), target);
        let low_holds =
            found > near.start || near.start == 0 || row.is_before(near.start - 1, target);
        let high_holds = found < near.end || near.end >= count || !row.is_before(near.end, target);
        if low_holds && high_holds {
            return found;
        }
        row.lower_bound(0..count, target)
    }

    /// The first slot of `group` that is not before the target, and whether it has the key. The group's first slot is before
    /// it.
    #[inline(never)]
    fn find_in_group(&self, group: usize, rest: &[u8], sequence: Sequence) -> (usize, bool) {
        let layout = self.layout;
        let head = self.head(group);
        let first = group << layout.group_shift;
        let slots = first + 1..self.count().min(first + (1 << layout.group_shift));
        let target = InGroup {
            rest,
            common: common_prefix(head, rest),
            sequence,
            at: layout.keys() + layout.key_offset(self.raw, group) + head.len(),
        };
        let columns = [layout.shared, layout.suffix];
        match columns.map(|column| column.bytes(self.raw, slots.clone())) {
            [Some(shared), Some(own)] => {
                let lengths = shared.iter().zip(own);
                let lengths =
                    lengths.map(|(shared, own)| [usize::from(*shared), usize::from(*own)]);
                self.find_behind_head(target, slots, lengths)
            }
            _ => {
                let of = |slot| columns.map(|column| column.get(self.raw, slot));
                self.find_behind_head(target, slots.clone(), slots.map(of))
            }
        }
    }

    /// As [`BlockView::find_in_group`], among the slots behind the first one: with how many bytes each shares with the head, and
    /// the number of its own.
    #[inline(always)]
    fn find_behind_head(
        &self,
        target: InGroup<'_>,
        slots: Range<usize>,
        lengths: impl Iterator<Item = [usize; 2]>,
    ) -> (usize, bool) {
        let mut at = target.at;
        let behind = target.rest.get(target.common..).unwrap_or_default();
        let number = first_eight(behind);
        for (slot, [shared, own]) in slots.clone().zip(lengths) {
            // Most share with the head what the target does, and differ from it in the eight bytes behind that. What follows
            // shorter keys only makes the number larger. A key that shares more is before the target, as the head is.
            let is_near = shared == target.common;
            let before = shared > target.common || is_near && self.eight_at(at) < number;
            if !before {
                let rest = target.rest.get(shared..).unwrap_or_default();
                let order = compare(self.slice(at, own), rest);
                if !self.is_before(order, slot, target.sequence) {
                    return (slot, order == Ordering::Equal);
                }
            }
            at += own;
        }
        (slots.end, false)
    }

    /// The eight bytes at `at` as a number; zeros behind the end of the block.
    #[inline(always)]
    fn eight_at(&self, at: usize) -> u64 {
        let bytes = self.raw.get(at..).unwrap_or_default();
        match bytes.first_chunk() {
            Some(bytes) => u64::from_be_bytes(*bytes),
            None => first_eight(bytes),
        }
    }
}

/// The key and sequence to find in a group behind its first key, the head.
struct InGroup<'k> {
    /// The key after the block prefix.
    rest: &'k [u8],
    /// How many bytes of it the head has as well.
    common: usize,
    sequence: Sequence,
    /// Where the own bytes of the key behind the head start.
    at: usize,
}

/// The rest of a key after a prefix, if it has the prefix. Most prefixes are short.
#[inline]
pub(super) fn strip<'k>(prefix: &[u8], key: &'k [u8]) -> Option<&'k [u8]> {
    let (start, rest) = key.split_at_checked(prefix.len())?;
    match prefix.len() {
        0..8 => start.iter().eq(prefix).then_some(rest),
        _ => (start == prefix).then_some(rest),
    }
}

/// The slots in which a key is expected, if the model predicts a slot and the block's hint says by how much predictions are off
/// in it; else all of them.
#[inline]
pub(super) fn slots_near(expected: Option<u64>, hint: (i16, i16), count: usize) -> Range<usize> {
    let Some((expected, (low, high))) = expected.zip(slot_hint(hint)) else {
        return 0..count;
    };
    let expected = i64::try_from(expected).unwrap_or(i64::MAX);
    let clamp = |slot: i64| usize::try_from(slot).unwrap_or(0).min(count);
    // The lower bound of a missing key may be one slot further.
    let end = expected.saturating_add(i64::from(high) + 1);
    clamp(expected.saturating_add(low.into()))..clamp(end)
}

/// Keys of equal length, stored in a row.
#[derive(Clone, Copy)]
struct Row<'a> {
    view: BlockView<'a>,
    keys: RowKeys<'a>,
}

impl<'a> Row<'a> {
    /// The keys of a block with `fixed_keys`.
    #[inline]
    fn of(view: BlockView<'a>) -> Self {
        let bytes = view.raw.get(view.layout.keys()..).unwrap_or_default();
        Row {
            view,
            keys: RowKeys::new(bytes, view.layout.suffix.alike()),
        }
    }

    /// Whether the entry at `slot` is before the target.
    #[inline]
    fn is_before(&self, slot: usize, target: &Target<'_>) -> bool {
        let head = self.keys.head(slot);
        head < target.head || (head == target.head && self.is_before_of_head(slot, target))
    }

    /// The same for an entry whose key has the same first eight bytes.
    #[inline]
    fn is_before_of_head(&self, slot: usize, target: &Target<'_>) -> bool {
        let order = self.compare_whole(slot, target.rest);
        self.view.is_before(order, slot, target.sequence)
    }

    /// Whether the entry at `slot` has the key of the target; not if there is no such entry.
    #[inline]
    fn has_key(&self, slot: usize, target: &Target<'_>) -> bool {
        slot < self.view.count()
            && self.keys.head(slot) == target.head
            && self.compare_whole(slot, target.rest) == Ordering::Equal
    }

    /// Compares the key at `slot` with one that has the same first eight bytes.
    #[inline]
    fn compare_whole(&self, slot: usize, rest: &[u8]) -> Ordering {
        if self.keys.len <= 8 && rest.len() <= 8 {
            // The shorter key was padded with zeros, so the longer one is larger.
            return self.keys.len.cmp(&rest.len());
        }
        self.keys.key(slot).cmp(rest)
    }

    /// The first slot of `near` that is not before the target; the end of `near` if all are.
    #[inline]
    fn lower_bound(&self, near: Range<usize>, target: &Target<'_>) -> usize {
        let head = |slot| self.keys.head(slot);
        first_not_by_number(near, target.head, head, |slot| {
            self.is_before_of_head(slot, target)
        })
    }
}
