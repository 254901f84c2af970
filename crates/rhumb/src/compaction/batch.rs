//! Puts of one size, collected to be written together.

use super::merge::Survivor;
use crate::entry::{EntryKind, Sequence, append};
use crate::table::EvenPuts;

/// So many bytes are collected: they stay in the nearest cache.
const MOST_BYTES: usize = 8 << 10;
/// Puts are collected behind so many that have their size: elsewhere batches would be too short to pay.
const LEAST_ALIKE: u32 = 4;
/// Of larger entries so few would be, that to copy them once more costs more than it saves.
const MOST_ENTRY_BYTES: usize = 256;

/// Puts of different keys, which all have the size of the entries before them.
#[derive(Debug, Default)]
pub(super) struct Batch {
    keys: Vec<u8>,
    values: Vec<u8>,
    sequences: Vec<Sequence>,
    key_len: usize,
    value_len: usize,
    /// How many entries of this size came in a row before the batch.
    alike: u32,
}

impl Batch {
    /// Takes an entry behind the others, if it is like them. Returns whether it has.
    #[inline]
    pub fn take(&mut self, entry: &Survivor<'_>) -> bool {
        let size = (entry.key.len(), entry.value.len());
        let is_put = entry.kind == EntryKind::Put && entry.new_key;
        if self.alike < LEAST_ALIKE || !is_put || size != (self.key_len, self.value_len) {
            return false;
        }
        append(&mut self.keys, entry.key);
        append(&mut self.values, entry.value);
        self.sequences.push(entry.sequence);
        true
    }

    /// Notes the size of an entry that was not taken, which those of the next batch may have. There must be none.
    pub fn begin_behind(&mut self, entry: &Survivor<'_>) {
        let size = (entry.key.len(), entry.value.len());
        if size != (self.key_len, self.value_len) || size.0 + size.1 > MOST_ENTRY_BYTES {
            self.alike = 0;
        }
        (self.key_len, self.value_len) = size;
        self.alike = self.alike.saturating_add(1);
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
            key_len: self.key_len,
            value_len: self.value_len,
        }
    }

    /// Forgets the puts, and keeps the memory for others.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.values.clear();
        self.sequences.clear();
    }
}
