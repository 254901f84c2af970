//! Reads a block in place.

use std::cmp::Ordering;

use rhumb_index::search::common_prefix;

use super::{BlockLayout, HEADER_BYTES, Walk};
use crate::entry::{EntryKind, Pointer, Sequence, append_part, compare, copy_words};
use crate::table::form::damage::Damage;

/// A raw block with its layout, which was checked when the block was read. A slot out of bounds, or
/// the layout of another block, gives empty answers.
#[derive(Debug, Clone, Copy)]
pub(in crate::table) struct BlockView<'a> {
    pub(super) raw: &'a [u8],
    pub(super) layout: &'a BlockLayout,
}

impl<'a> BlockView<'a> {
    /// Combines a block with its layout.
    #[inline]
    pub fn new(raw: &'a [u8], layout: &'a BlockLayout) -> Self {
        BlockView { raw, layout }
    }

    /// Whether the keys have equal lengths and share nothing but the block prefix.
    #[inline]
    pub fn is_row(&self) -> bool {
        self.layout.fixed_keys
    }

    /// The number of entries in the block.
    #[inline]
    pub fn count(&self) -> usize {
        self.layout.count()
    }

    /// This slot, or the one behind it at which the next group of keys begins: if the first key of that is below a limit, so are all
    /// before, and none of them is read.
    #[inline]
    pub fn up_to_group(&self, slot: usize) -> usize {
        match self.layout.fixed_keys {
            true => slot,
            false => slot.next_multiple_of(1 << self.layout.group_shift),
        }
    }

    /// Whether the previous block ends with this one's first key.
    #[inline]
    pub fn continues(&self) -> bool {
        self.layout.continues
    }

    #[inline]
    pub(super) fn slice(&self, start: usize, len: usize) -> &'a [u8] {
        self.raw.get(start..start + len).unwrap_or_default()
    }

    #[inline]
    pub(super) fn prefix(&self) -> &'a [u8] {
        self.slice(HEADER_BYTES, self.layout.prefix_end() - HEADER_BYTES)
    }

    /// The sequence at `slot`.
    #[inline]
    pub fn sequence(&self, slot: usize) -> Sequence {
        self.layout.sequence(self.raw, slot)
    }

    /// Whether all entries have smaller sequences than this; may be `false` although they have.
    pub fn has_only_older(&self, sequence: Sequence) -> bool {
        self.layout.largest_sequence() < sequence
    }

    /// Whether all entries are puts of different keys, up to a sequence; may be `false` although they are.
    #[inline]
    pub fn are_all_puts(&self, visible: Sequence) -> bool {
        let sequence = self.layout.only_sequence();
        self.layout.kind_alike == Some(EntryKind::Put) && sequence.is_some_and(|s| s <= visible)
    }

    /// Whether all entries are of this kind; may be `false` although they are.
    pub fn is_of_kind(&self, kind: EntryKind) -> bool {
        self.layout.kind_alike == Some(kind)
    }

    /// Whether the entry at `slot` is a put up to a sequence.
    pub fn is_put(&self, slot: usize, visible: Sequence) -> bool {
        self.kind(slot) == EntryKind::Put && self.sequence(slot) <= visible
    }

    /// Whether the entries at two slots have the same key.
    pub fn is_same_key(&self, one: usize, other: usize) -> bool {
        let (start, rest) = self.key_parts(one);
        let (other_start, other_rest) = self.key_parts(other);
        if start.len() == other_start.len() {
            return rest == other_rest && start == other_start;
        }
        let other = other_start.iter().chain(other_rest);
        start.iter().chain(rest).eq(other)
    }

    /// The kind at `slot`.
    #[inline]
    pub fn kind(&self, slot: usize) -> EntryKind {
        self.layout.kind(self.raw, slot)
    }

    /// Where the value at `slot` starts in the raw form, and its length; zeros for a delete and a pointer.
    #[inline]
    pub fn value(&self, slot: usize) -> (usize, usize) {
        match self.kind(slot) {
            EntryKind::Put => self.value_of_put(slot),
            _ => (0, 0),
        }
    }

    /// The same for an entry that is known to be a put.
    #[inline]
    pub fn value_of_put(&self, slot: usize) -> (usize, usize) {
        let len = self.layout.value.get(self.raw, slot);
        (self.value_start(slot), len)
    }

    /// Where the value at `slot` starts in the raw form, or would if it had one.
    #[inline]
    pub fn value_start(&self, slot: usize) -> usize {
        let layout = self.layout;
        let before = match layout.fixed_values {
            true => slot * layout.value.alike(),
            false => {
                let group = slot >> layout.group_shift;
                let first = group << layout.group_shift;
                layout.value_offset(self.raw, group) + layout.value.sum(self.raw, first, slot)
            }
        };
        layout.values() + before
    }

    /// As [`BlockView::value`], given where a walk is.
    #[inline]
    pub fn value_near(&self, slot: usize, walk: Option<&Walk>) -> (usize, usize) {
        match walk.and_then(|walk| walk.value_of_put_at(slot)) {
            Some(place) if self.kind(slot) == EntryKind::Put => place,
            _ => self.value(slot),
        }
    }

    /// The pointer at `slot`, for an entry that is one.
    // Not inlined: it would make gets and scans longer that meet none.
    #[inline(never)]
    pub fn pointer(&self, slot: usize) -> Pointer {
        self.layout.pointer(self.raw, slot)
    }

    /// The first suffix of a group, with which the others may share bytes.
    pub(super) fn head(&self, group: usize) -> &'a [u8] {
        let layout = self.layout;
        let start = layout.keys() + layout.key_offset(self.raw, group);
        self.slice(
            start,
            layout.suffix.get(self.raw, group << layout.group_shift),
        )
    }

    /// The key at `slot` after the block prefix, in two parts: what it shares with the first key of
    /// its group, and the rest.
    #[inline]
    fn key_parts(&self, slot: usize) -> (&'a [u8], &'a [u8]) {
        let layout = self.layout;
        let len = layout.suffix.get(self.raw, slot);
        if layout.fixed_keys {
            return (&[], self.slice(layout.keys() + slot * len, len));
        }
        let group = slot >> layout.group_shift;
        let first = group << layout.group_shift;
        let start = layout.keys()
            + layout.key_offset(self.raw, group)
            + layout.suffix.sum(self.raw, first, slot);
        let shared = layout.shared.get(self.raw, slot);
        let shared = match shared {
            0 => &[],
            _ => self.head(group).get(..shared).unwrap_or_default(),
        };
        (shared, self.slice(start, len))
    }

    /// Checks that keys ascend and that the sequences of each key descend. Takes time linear in the
    /// number of entries.
    ///
    /// # Errors
    /// The first entry that does not come after the one before it.
    pub fn check_order(&self) -> Result<(), Damage> {
        let layout = self.layout;
        if layout.fixed_keys && self.heads_ascend() {
            return Ok(());
        }
        let in_group = (1 << layout.group_shift) - 1;
        let (mut head, mut before): (&[u8], _) = (&[], (0, &[][..]));
        let mut at = layout.keys();
        for slot in 0..self.count() {
            let suffix = self.slice(at, layout.suffix.get(self.raw, slot));
            let here = (layout.shared.get(self.raw, slot), suffix);
            // The first key of a group shares nothing, so the head of the group before it may be
            // used.
            let order = match slot {
                0 => Ordering::Less,
                _ => compare_tails(head, before, here),
            };
            let ascends = match order {
                Ordering::Less => true,
                Ordering::Equal => self.is_older(slot),
                Ordering::Greater => false,
            };
            if !ascends {
                return Err(out_of_order(slot, at));
            }
            if slot & in_group == 0 {
                head = suffix;
            }
            at += suffix.len();
            before = here;
        }
        Ok(())
    }

    // Not inlined: few entries have the same key as the entry before.
    #[inline(never)]
    fn is_older(&self, slot: usize) -> bool {
        self.sequence(slot) < self.sequence(slot - 1)
    }

    /// Copies the key at `slot` into `key`.
    pub fn key_into(&self, slot: usize, key: &mut Vec<u8>) {
        self.prefix_into(key);
        if self.layout.fixed_keys {
            let len = self.layout.suffix.alike();
            return append_part(key, self.raw, self.layout.keys() + slot * len, len);
        }
        let (shared, suffix) = self.key_parts(slot);
        key.extend_from_slice(shared);
        key.extend_from_slice(suffix);
    }

    /// Makes `key` the prefix of the block.
    #[inline]
    pub(super) fn prefix_into(&self, key: &mut Vec<u8>) {
        key.clear();
        append_part(key, self.raw, HEADER_BYTES, self.prefix().len());
    }

    /// Copies the key at `slot` into `key`, which holds another key of this block.
    #[inline]
    pub fn next_key_into(&self, slot: usize, key: &mut Vec<u8>) {
        let (shared, suffix) = self.key_parts(slot);
        if self.layout.fixed_keys
            && let Some(rest) = key.get_mut(self.prefix().len()..)
            && copy_words(rest, suffix)
        {
            return;
        }
        key.truncate(self.prefix().len());
        if !shared.is_empty() {
            key.extend_from_slice(shared);
        }
        key.extend_from_slice(suffix);
    }

    /// Compares the key at `slot` with `key`.
    pub fn compare(&self, slot: usize, key: &[u8]) -> Ordering {
        let (shared, suffix) = self.key_parts(slot);
        match key.split_at_checked(self.prefix().len()) {
            Some((start, rest)) => self.prefix().cmp(start).then_with(|| {
                if shared.is_empty() {
                    // To compare nothing takes 100 ns where it lies nowhere and the C library masks what it loads.
                    return suffix.cmp(rest);
                }
                let (start, rest) = rest.split_at(shared.len().min(rest.len()));
                shared.cmp(start).then_with(|| suffix.cmp(rest))
            }),
            None => self.prefix().cmp(key),
        }
    }

    /// How many bytes at its start `key` has in common with the key at `slot`.
    pub(super) fn common_with(&self, slot: usize, key: &[u8]) -> usize {
        let (shared, suffix) = self.key_parts(slot);
        let mut common = 0;
        for part in [self.prefix(), shared, suffix] {
            let here = common_prefix(part, key.get(common..).unwrap_or_default());
            common += here;
            if here < part.len() {
                break;
            }
        }
        common
    }

    /// As [`BlockLayout::slot_hint`].
    pub fn slot_hint(&self) -> Option<(i32, i32)> {
        self.layout.slot_hint()
    }
}

#[cold]
fn out_of_order(slot: usize, at: usize) -> Damage {
    let expected = format!("entry {slot} to sort after the one before it");
    Damage::new(at, expected, "entries out of order")
}

/// Compares two keys, each given as the number of bytes that it shares with `head`, and its rest.
#[inline]
fn compare_tails(head: &[u8], one: (usize, &[u8]), other: (usize, &[u8])) -> Ordering {
    let between = |from: usize, to: usize| head.get(from..to).unwrap_or_default();
    match one.0.cmp(&other.0) {
        Ordering::Equal => compare(one.1, other.1),
        Ordering::Greater => compare_joined(between(other.0, one.0), one.1, other.1),
        Ordering::Less => compare_joined(between(one.0, other.0), other.1, one.1).reverse(),
    }
}

/// Compares the concatenation of `start` and `rest` with `other`.
#[inline]
fn compare_joined(start: &[u8], rest: &[u8], other: &[u8]) -> Ordering {
    // Mostly the keys part with the first bytes of these.
    if let (Some(one), Some(other)) = (start.first(), other.first())
        && one != other
    {
        return one.cmp(other);
    }
    let (other_start, other_rest) = other.split_at(start.len().min(other.len()));
    start.cmp(other_start).then_with(|| rest.cmp(other_rest))
}
