//! Entries that wait until the values of some of them are read together.

use super::merge::Survivor;
use crate::entry::{EntryKind, Sequence};

/// So many entries wait at most.
const MOST_ENTRIES: usize = 1024;
/// They wait until they and the values to be read have so many bytes.
const MOST_BYTES: u64 = 1 << 20;

/// Entries of new tables, in their order.
#[derive(Default)]
pub(super) struct Waiting {
    entries: Vec<Entry>,
    /// Their keys and values, in their order.
    bytes: Vec<u8>,
    /// The bytes of the values that have to be read.
    to_read: u64,
}

struct Entry {
    key_bytes: usize,
    value_bytes: usize,
    sequence: Sequence,
    kind: EntryKind,
    new_key: bool,
}

impl Waiting {
    /// Adds an entry, and so many bytes of values to be read.
    pub fn push(&mut self, entry: &Survivor<'_>, to_read: u64) {
        self.bytes.extend_from_slice(entry.key);
        self.bytes.extend_from_slice(entry.value);
        self.to_read = self.to_read.saturating_add(to_read);
        self.entries.push(Entry {
            key_bytes: entry.key.len(),
            value_bytes: entry.value.len(),
            sequence: entry.sequence,
            kind: entry.kind,
            new_key: entry.new_key,
        });
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether no more should wait.
    pub fn is_full(&self) -> bool {
        let bytes = self.to_read.saturating_add(self.bytes.len() as u64);
        self.entries.len() >= MOST_ENTRIES || bytes >= MOST_BYTES
    }

    /// The entries, in the order in which they were added.
    pub fn entries(&self) -> impl Iterator<Item = Survivor<'_>> {
        let mut rest = self.bytes.as_slice();
        let mut take = move |bytes| {
            let (taken, behind) = rest.split_at_checked(bytes).unwrap_or_default();
            rest = behind;
            taken
        };
        self.entries.iter().map(move |entry| Survivor {
            key: take(entry.key_bytes),
            value: take(entry.value_bytes),
            sequence: entry.sequence,
            kind: entry.kind,
            new_key: entry.new_key,
        })
    }

    /// Forgets all entries, and keeps the memory for others unless it is much.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.bytes.clear();
        self.bytes.shrink_to(2 * MOST_BYTES as usize);
        self.to_read = 0;
    }
}
