//! Puts collected to be written together.

use super::merge::Survivor;
use crate::cursor::Picked;
use crate::entry::{EntryKind, Sequence, append};
use crate::table::{BlockRun, EntryEnd, Puts};

/// So many bytes are collected: they stay in the nearest cache.
const MOST_BYTES: usize = 8 << 10;
/// Of larger entries so few would be, that to copy them once more costs more than it saves.
const MOST_ENTRY_BYTES: usize = 256;

/// Puts of different keys.
#[derive(Debug, Default)]
pub(super) struct Batch {
    keys: Vec<u8>,
    values: Vec<u8>,
    ends: Vec<EntryEnd>,
    /// The lengths of the key and the value of the last one, and whether all have these.
    last: (usize, usize),
    alike: bool,
}

/// Whether puts whose keys and values have these lengths are taken.
#[inline]
fn takes((key, value): (usize, usize)) -> bool {
    key + value <= MOST_ENTRY_BYTES
}

impl Batch {
    /// Takes an entry behind the others, if it is a put that may be. Returns whether it has.
    #[inline]
    pub fn take(&mut self, entry: &Survivor<'_>) -> bool {
        let size = (entry.key.len(), entry.value.len());
        let is_taken = takes(size) && entry.kind == EntryKind::Put && entry.new_key;
        if is_taken {
            append(&mut self.keys, entry.key);
            append(&mut self.values, entry.value);
            self.count(size, entry.sequence);
        }
        is_taken
    }

    /// As [`Batch::take`], for the entry of a run, a put that is the first version of its key.
    #[inline]
    pub fn take_put(&mut self, run: &BlockRun, sequence: Sequence) -> bool {
        let size = run.sizes();
        let is_taken = takes(size);
        if is_taken {
            run.append_to(&mut self.keys, &mut self.values);
            self.count(size, sequence);
        }
        is_taken
    }

    /// How many puts with keys and values of these lengths it takes together before it is full; 0 if none.
    pub fn wanted(&self, sizes: (usize, usize)) -> usize {
        let left = MOST_BYTES.saturating_sub(self.bytes());
        match takes(sizes) {
            true => left.div_ceil((sizes.0 + sizes.1).max(1)),
            false => 0,
        }
    }

    /// Takes all of these, with these sequences.
    pub fn take_picked(&mut self, picked: &Picked<'_>, sequences: impl Iterator<Item = Sequence>) {
        let (key, value) = picked.sizes();
        let mut end = EntryEnd {
            key: self.keys.len(),
            value: self.values.len(),
            sequence: 0,
        };
        self.note_size((key, value));
        picked.append_to(&mut self.keys, &mut self.values);
        self.ends.extend(sequences.map(|sequence| {
            (end.key, end.value) = (end.key + key, end.value + value);
            EntryEnd { sequence, ..end }
        }));
    }

    /// Notes the lengths of the key and the value of a put that is not counted yet.
    #[inline]
    fn note_size(&mut self, size: (usize, usize)) {
        self.alike = size == self.last && self.alike || self.is_empty();
        self.last = size;
    }

    /// Counts a put that was appended.
    #[inline]
    fn count(&mut self, size: (usize, usize), sequence: Sequence) {
        self.note_size(size);
        self.ends.push(EntryEnd {
            key: self.keys.len(),
            value: self.values.len(),
            sequence,
        });
    }

    /// The key of the last put; empty if there is none.
    #[inline]
    pub fn last_key(&self) -> &[u8] {
        let start = self.keys.len().checked_sub(self.last.0);
        start
            .and_then(|start| self.keys.get(start..))
            .unwrap_or_default()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of all keys and values.
    #[inline]
    fn bytes(&self) -> usize {
        self.keys.len() + self.values.len()
    }

    /// Whether there are enough to be written.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.bytes() >= MOST_BYTES
    }

    /// The puts.
    pub fn puts(&self) -> Puts<'_> {
        let puts = Puts::new(&self.keys, &self.values, &self.ends);
        match self.alike {
            true => puts.of_sizes(self.last),
            false => puts,
        }
    }

    /// Forgets the puts, and keeps the memory for others.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.values.clear();
        self.ends.clear();
    }
}
