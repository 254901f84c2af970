//! The keys of a block of puts of different sizes, copied one behind the other.

use std::ops::Range;

use super::BlockView;
use crate::entry::append_part;

/// Keys of a block from some slot on as they are, without what the block leaves out, and where the values of their entries lie.
#[derive(Debug, Default)]
pub(in crate::table) struct CopiedRows {
    keys: Vec<u8>,
    rows: Vec<Row>,
    /// The slot of the first of them.
    first: usize,
    /// How many bytes all keys of the block share at least.
    prefix: usize,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    key_end: usize,
    /// Where the value starts in the raw form, and its length.
    value: (usize, usize),
}

impl CopiedRows {
    #[inline]
    fn row(&self, slot: usize) -> Option<&Row> {
        self.rows.get(slot.checked_sub(self.first)?)
    }

    /// What all keys begin with.
    pub fn prefix(&self) -> &[u8] {
        self.keys.get(..self.prefix).unwrap_or_default()
    }

    /// Where the key at `slot` lies; nowhere if it was not copied.
    pub fn key_place(&self, slot: usize) -> Range<usize> {
        let before = slot.checked_sub(1).and_then(|before| self.row(before));
        self.key_behind(before.map_or(0, |row| row.key_end), slot)
    }

    /// Where the key at `slot` lies, which starts where the one before it ends.
    #[inline]
    pub fn key_behind(&self, start: usize, slot: usize) -> Range<usize> {
        start..self.row(slot).map_or(start, |row| row.key_end)
    }

    /// The key at its place.
    #[inline]
    pub fn key(&self, place: &Range<usize>) -> &[u8] {
        self.keys.get(place.start..place.end).unwrap_or_default()
    }

    /// Appends the key at its place to other keys.
    #[inline]
    pub fn append_key(&self, place: &Range<usize>, keys: &mut Vec<u8>) {
        append_part(keys, &self.keys, place.start, place.len());
    }

    /// The slot behind those that were copied.
    pub fn end(&self) -> usize {
        self.first + self.rows.len()
    }

    /// Where the value at `slot` starts in the raw form, and its length.
    #[inline]
    pub fn value_place(&self, slot: usize) -> (usize, usize) {
        self.row(slot).map_or((0, 0), |row| row.value)
    }
}

impl BlockView<'_> {
    /// Copies the keys from `slot` on, and a few before it, until there are `enough` bytes of them. All entries must be puts.
    pub fn copy_rows(&self, slot: usize, enough: usize, copied: &mut CopiedRows) {
        let wanted = slot;
        let layout = self.layout;
        let (prefix, in_group) = (self.prefix(), (1 << layout.group_shift) - 1);
        // Keys share with the first one of their group.
        let first = slot & !in_group;
        copied.keys.clear();
        copied.rows.clear();
        (copied.first, copied.prefix) = (first, prefix.len());
        let mut at = layout.keys()
            + match layout.fixed_keys {
                true => first * layout.suffix.get(self.raw, first),
                false => layout.key_offset(self.raw, first >> layout.group_shift),
            };
        let (mut value, mut head) = (self.value_start(first), 0);
        for slot in first..self.count() {
            let len = layout.suffix.get(self.raw, slot);
            let start = copied.keys.len();
            match layout.shared.get(self.raw, slot) {
                shared if slot & in_group > 0 && shared > 0 => {
                    let end = (head + prefix.len() + shared).min(start);
                    copied.keys.extend_from_within(head..end);
                }
                _ => copied.keys.extend_from_slice(prefix),
            }
            append_part(&mut copied.keys, self.raw, at, len);
            if slot & in_group == 0 {
                head = start;
            }
            let value_len = layout.value.get(self.raw, slot);
            copied.rows.push(Row {
                key_end: copied.keys.len(),
                value: (value, value_len),
            });
            (at, value) = (at + len, value + value_len);
            if slot >= wanted && copied.keys.len() >= enough {
                break;
            }
        }
    }
}
