//! Entries that wait until the values of some of them are read together.

use super::merge::Survivor;
use crate::entry::{EntryKind, Pointer, Sequence};

/// So many entries wait at most.
const MOST_ENTRIES: usize = 1024;
/// They wait until they and the values to be moved have so many bytes.
const MOST_BYTES: u64 = 1 << 20;

/// Entries of new tables, in their order.
#[derive(Default)]
pub(super) struct Waiting {
    entries: Vec<Entry>,
    /// Their keys and values, in their order.
    bytes: Vec<u8>,
    /// The bytes of the values that have to be moved.
    to_move: u64,
}

struct Entry {
    key_bytes: usize,
    value_bytes: usize,
    sequence: Sequence,
    kind: EntryKind,
    new_key: bool,
    to_move: Option<Pointer>,
}

impl Waiting {
    /// Adds an entry, with where the value lies that has to be moved with it.
    pub fn push(&mut self, entry: &Survivor<'_>, to_move: Option<Pointer>) {
        self.bytes.extend_from_slice(entry.key);
        self.bytes.extend_from_slice(entry.value);
        self.to_move += to_move.map_or(0, |pointer| u64::from(pointer.len));
        self.entries.push(Entry {
            key_bytes: entry.key.len(),
            value_bytes: entry.value.len(),
            sequence: entry.sequence,
            kind: entry.kind,
            new_key: entry.new_key,
            to_move,
        });
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether no more should wait.
    pub fn is_full(&self) -> bool {
        let bytes = self.to_move + self.bytes.len() as u64;
        self.entries.len() >= MOST_ENTRIES || bytes >= MOST_BYTES
    }

    /// The entries as they were added, in their order.
    pub fn entries(&self) -> impl Iterator<Item = (Survivor<'_>, Option<Pointer>)> {
        let mut rest = self.bytes.as_slice();
        let mut take = move |bytes| {
            let (taken, behind) = rest.split_at_checked(bytes).unwrap_or_default();
            rest = behind;
            taken
        };
        self.entries.iter().map(move |entry| {
            let survivor = Survivor {
                key: take(entry.key_bytes),
                value: take(entry.value_bytes),
                sequence: entry.sequence,
                kind: entry.kind,
                new_key: entry.new_key,
            };
            (survivor, entry.to_move)
        })
    }

    /// Forgets all entries, and keeps the memory for others unless it is much.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.bytes.clear();
        self.bytes.shrink_to(2 * MOST_BYTES as usize);
        self.to_move = 0;
    }
}
