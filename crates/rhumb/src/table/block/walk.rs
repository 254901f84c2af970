//! Walks forwards over a block whose keys or values have different lengths.

use super::{BlockView, HEADER_BYTES};
use crate::entry::append_part;

/// An entry that a walk stands on, and where it lies: what would otherwise be summed up again at each step, from the start of the
/// entry's group.
#[derive(Debug, Clone, Copy)]
pub(in crate::table) struct Walk {
    slot: usize,
    /// Where its value starts, and its length.
    value: (usize, usize),
    /// Where keys of different lengths are.
    keys: KeyWalk,
}

/// Where a walk is among keys of different lengths.
#[derive(Debug, Clone, Copy, Default)]
struct KeyWalk {
    /// Where the rest of the next key starts, if it is in the same group.
    end: usize,
    /// Where the first key of the group starts.
    head: usize,
    /// How many bytes of it follow the block prefix in the key.
    held: usize,
}

impl BlockView<'_> {
    /// Changes `key` from that at `slot` to that of the next slot. `walk` is where a walk over keys or values of different lengths
    /// was.
    // Inlined by force: left to itself the compiler calls it, which takes a tenth of a step.
    #[inline(always)]
    pub fn next_key(&self, slot: usize, walk: &mut Option<Walk>, key: &mut Vec<u8>) {
        if self.layout.fixed_keys && self.layout.fixed_values {
            return self.next_key_into(slot + 1, key);
        }
        let walk = match walk {
            Some(walk) if walk.slot == slot => walk,
            other => other.insert(self.walk_from(slot)),
        };
        self.walk_on(walk, key);
    }

    /// Copies the key at `slot` into `key`. Returns a walk that stands there, if keys have different lengths: what is summed up for the
    /// key serves the value and the next key as well.
    pub fn walk_to(&self, slot: usize, key: &mut Vec<u8>) -> Option<Walk> {
        if self.layout.fixed_keys {
            self.key_into(slot, key);
            return None;
        }
        let walk = self.walk_from(slot);
        let (keys, own) = (walk.keys, self.layout.suffix.get(self.raw, slot));
        let start = keys.end.saturating_sub(own);
        self.prefix_into(key);
        // The first key of a group is its head.
        if start > keys.head {
            append_part(key, self.raw, keys.head, keys.held);
        }
        append_part(key, self.raw, start, own);
        Some(walk)
    }

    /// A walk that stands at `slot`. Its key is known; see [`BlockView::key_into`].
    #[inline(never)]
    pub(super) fn walk_from(&self, slot: usize) -> Walk {
        let keys = match self.layout.fixed_keys {
            true => KeyWalk::default(),
            false => self.keys_from(slot),
        };
        Walk {
            slot,
            value: self.value_of_put(slot),
            keys,
        }
    }

    fn keys_from(&self, slot: usize) -> KeyWalk {
        let layout = self.layout;
        let group = slot >> layout.group_shift;
        let first = group << layout.group_shift;
        let head = layout.keys() + layout.key_offset(self.raw, group);
        KeyWalk {
            end: head + layout.suffix.sum(self.raw, first, slot + 1),
            head,
            held: match slot == first {
                true => layout.suffix.get(self.raw, slot),
                false => layout.shared.get(self.raw, slot),
            },
        }
    }

    /// Moves to the next slot of the block, and `key` from the key of this one to that of the next one.
    #[inline(always)]
    pub(super) fn walk_on(&self, walk: &mut Walk, key: &mut Vec<u8>) {
        let layout = self.layout;
        let slot = walk.slot + 1;
        let begins_group = slot & ((1 << layout.group_shift) - 1) == 0;
        match layout.fixed_keys {
            true => self.next_key_into(slot, key),
            false => self.walk_on_keys(slot, begins_group, &mut walk.keys, key),
        }
        let start = match begins_group {
            true => self.value_start(slot),
            false => walk.value.0 + walk.value.1,
        };
        walk.value = (start, layout.value.get(self.raw, slot));
        walk.slot = slot;
    }

    /// Changes a key to that at `slot`, the next one.
    #[inline(always)]
    fn walk_on_keys(&self, slot: usize, begins_group: bool, at: &mut KeyWalk, key: &mut Vec<u8>) {
        let layout = self.layout;
        let len = layout.suffix.get(self.raw, slot);
        let prefix = layout.prefix_end() - HEADER_BYTES;
        if begins_group {
            let head = layout.keys() + layout.key_offset(self.raw, slot >> layout.group_shift);
            (at.end, at.head) = (head, head);
            key.truncate(prefix);
            at.held = len;
        } else {
            let shared = layout.shared.get(self.raw, slot);
            key.truncate(prefix + shared.min(at.held));
            if shared > at.held {
                append_part(key, self.raw, at.head + at.held, shared - at.held);
            }
            at.held = shared;
        }
        append_part(key, self.raw, at.end, len);
        at.end += len;
    }
}

impl Walk {
    /// Where the value at `slot` starts, and its length, if the walk stands there. Only for an entry that is a put.
    #[inline]
    pub fn value_of_put_at(&self, slot: usize) -> Option<(usize, usize)> {
        (self.slot == slot).then_some(self.value)
    }
}
