//! Puts of one size, collected to be written together.

use super::merge::Survivor;
use crate::entry::{EntryKind, Sequence, append};
use crate::table::EvenPuts;

/// So many bytes are collected: they stay in the nearest cache.
const MOST_BYTES: usize = 8 << 10;
/// Of larger entries so few would be, that to copy them once more costs more than it saves.
const MOST_ENTRY_BYTES: usize = 256;

/// Puts of different keys, which all have the size of the entry before them.
#[derive(Debug, Default)]
pub(super) struct Batch {
    keys: Vec<u8>,
    values: Vec<u8>,
    sequences: Vec<Sequence>,
    /// The lengths of key and value.
    key: usize,
    value: usize,
}

impl Batch {
    /// Takes an entry behind the others, if it is like them. Returns whether it has.
    #[inline]
    pub fn take(&mut self, entry: &Survivor<'_>) -> bool {
        let size = (entry.key.len(), entry.value.len());
        let is_put = entry.kind == EntryKind::Put && entry.new_key;
        if !is_put || size != (self.key, self.value) || size.0 + size.1 > MOST_ENTRY_BYTES {
            return false;
        }
        append(&mut self.keys, entry.key);
        append(&mut self.values, entry.value);
        self.sequences.push(entry.sequence);
        true
    }

    /// Notes the size of an entry, which those of the next batch may have. There must be none.
    pub fn begin_behind(&mut self, entry: &Survivor<'_>) {
        (self.key, self.value) = (entry.key.len(), entry.value.len());
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sequences.is_empty()
    }

    /// Whether there are enough to be written.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.keys.len() + self.values.len() >= MOST_BYTES
    }

    /// The puts.
    pub fn puts(&self) -> EvenPuts<'_> {
        EvenPuts {
            keys: &self.keys,
            values: &self.values,
            sequences: &self.sequences,
            key: self.key,
            value: self.value,
        }
    }

    /// Forgets the puts, and keeps the memory for others.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.values.clear();
        self.sequences.clear();
    }
}
