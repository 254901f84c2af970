//! Walks forwards over a block whose keys have different lengths.

use super::{BlockView, HEADER_BYTES};
use crate::entry::append_part;

/// An entry that a walk stands on, and where it lies: what would otherwise be summed up again at each step, from the start of the
/// entry's group.
#[derive(Debug, Clone, Copy)]
pub(in crate::table) struct Walk {
    slot: usize,
    /// Where the rest of the next key starts, if it is in the same group.
    key_end: usize,
    /// Where the first key of the group starts.
    head: usize,
    /// How many bytes of it follow the block prefix in the key.
    held: usize,
    /// Where the value starts.
    value: usize,
}

impl BlockView<'_> {
    /// Changes `key` from that at `slot` to that of the next slot. `walk` is where a walk over keys of different lengths was.
    #[inline]
    pub fn next_key(&self, slot: usize, walk: &mut Option<Walk>, key: &mut Vec<u8>) {
        match self.is_row() {
            true => self.next_key_into(slot + 1, key),
            false => self.walk_on(self.walk_at(slot, walk), key),
        }
    }

    /// The walk, if it stands at `slot`; else a new one there.
    #[inline]
    fn walk_at<'w>(&self, slot: usize, walk: &'w mut Option<Walk>) -> &'w mut Walk {
        let walk = walk.get_or_insert_with(|| self.walk_from(slot));
        if !walk.is_at(slot) {
            *walk = self.walk_from(slot);
        }
        walk
    }

    /// A walk that stands at `slot`. Its key is known; see [`BlockView::key_into`].
    pub(super) fn walk_from(&self, slot: usize) -> Walk {
        let layout = self.layout;
        let group = slot >> layout.group_shift;
        let first = group << layout.group_shift;
        let head = layout.keys() + layout.key_offset(self.raw, group);
        Walk {
            slot,
            key_end: head + layout.suffix.sum(self.raw, first, slot + 1),
            head,
            held: match slot == first {
                true => layout.suffix.get(self.raw, slot),
                false => layout.shared.get(self.raw, slot),
            },
            value: self.value_start(slot),
        }
    }

    /// Moves to the next slot of the block, and `key` from the key of this one to that of the next one.
    #[inline]
    pub fn walk_on(&self, walk: &mut Walk, key: &mut Vec<u8>) {
        let layout = self.layout;
        let slot = walk.slot + 1;
        let len = layout.suffix.get(self.raw, slot);
        let prefix = layout.prefix_end() - HEADER_BYTES;
        if slot & ((1 << layout.group_shift) - 1) == 0 {
            walk.head = layout.keys() + layout.key_offset(self.raw, slot >> layout.group_shift);
            walk.key_end = walk.head;
            walk.value = self.value_start(slot);
            key.truncate(prefix);
            walk.held = len;
        } else {
            walk.value += layout.value.get(self.raw, slot - 1);
            let shared = layout.shared.get(self.raw, slot);
            key.truncate(prefix + shared.min(walk.held));
            if shared > walk.held {
                append_part(key, self.raw, walk.head + walk.held, shared - walk.held);
            }
            walk.held = shared;
        }
        append_part(key, self.raw, walk.key_end, len);
        walk.key_end += len;
        walk.slot = slot;
    }
}

impl Walk {
    /// Whether the walk stands at `slot`.
    #[inline]
    pub fn is_at(&self, slot: usize) -> bool {
        self.slot == slot
    }

    /// Where the value at `slot` starts, if the walk stands there.
    #[inline]
    pub fn value_at(&self, slot: usize) -> Option<usize> {
        self.is_at(slot).then_some(self.value)
    }
}
