//! Puts collected to be written together.

use super::merge::Survivor;
use crate::cursor::Picked;
use crate::entry::{EntryKind, Sequence, append};
use crate::table::{BlockRun, EvenPuts, PutEnd, Puts};

/// So many bytes are collected: they stay in the nearest cache.
const MOST_BYTES: usize = 8 << 10;
/// Puts of one size alone are collected behind so many that have it: elsewhere batches would be too short to pay.
const LEAST_ALIKE: u32 = 4;
/// Of larger entries so few would be, that to copy them once more costs more than it saves.
const MOST_ENTRY_BYTES: usize = 256;

/// Puts of different keys.
#[derive(Debug, Default)]
pub(super) struct Batch {
    keys: Vec<u8>,
    values: Vec<u8>,
    /// Of puts of one size.
    sequences: Vec<Sequence>,
    /// Of puts of any sizes.
    ends: Vec<PutEnd>,
    /// The lengths of the key and the value of the last one, and whether all have these.
    last: (usize, usize),
    alike: bool,
    sizes: Sizes,
}

/// Which puts are taken.
#[derive(Debug, Clone, Copy)]
enum Sizes {
    /// Those that have the size of the entries before them, of which so many came in a row before the batch.
    Alike {
        key: usize,
        value: usize,
        before: u32,
    },
    /// All.
    Any,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes::Alike {
            key: 0,
            value: 0,
            before: 0,
        }
    }
}

/// The puts of a batch.
#[derive(Debug)]
pub(super) enum Collected<'a> {
    /// They have one size.
    Even(EvenPuts<'a>),
    /// They have any sizes.
    Any(Puts<'a>),
}

impl Batch {
    /// Takes an entry behind the others, if it is a put that may be. Returns whether it has.
    #[inline]
    pub fn take(&mut self, entry: &Survivor<'_>) -> bool {
        let size = (entry.key.len(), entry.value.len());
        let is_taken = self.takes(size) && entry.kind == EntryKind::Put && entry.new_key;
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
        let is_taken = self.takes(size);
        if is_taken {
            run.append_to(&mut self.keys, &mut self.values);
            self.count(size, sequence);
        }
        is_taken
    }

    /// How many puts with keys and values of these lengths it takes together before it is full; 0 if none.
    pub fn wanted(&self, sizes: (usize, usize)) -> usize {
        let left = MOST_BYTES.saturating_sub(self.bytes());
        match self.takes(sizes) {
            true => left.div_ceil((sizes.0 + sizes.1).max(1)),
            false => 0,
        }
    }

    /// Takes all of these, with these sequences.
    pub fn take_picked(&mut self, picked: &Picked<'_>, sequences: impl Iterator<Item = Sequence>) {
        let (key, value) = picked.sizes();
        let mut end = PutEnd {
            key: self.keys.len(),
            value: self.values.len(),
            sequence: 0,
        };
        self.note_size((key, value));
        picked.append_to(&mut self.keys, &mut self.values);
        match self.sizes {
            Sizes::Alike { .. } => self.sequences.extend(sequences),
            Sizes::Any => self.ends.extend(sequences.map(|sequence| {
                (end.key, end.value) = (end.key + key, end.value + value);
                PutEnd { sequence, ..end }
            })),
        }
    }

    /// Whether puts whose keys and values have these lengths are taken.
    #[inline]
    fn takes(&self, size: (usize, usize)) -> bool {
        match self.sizes {
            Sizes::Alike { key, value, before } => before >= LEAST_ALIKE && size == (key, value),
            Sizes::Any => size.0 + size.1 <= MOST_ENTRY_BYTES,
        }
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
        match self.sizes {
            Sizes::Alike { .. } => self.sequences.push(sequence),
            Sizes::Any => self.ends.push(PutEnd {
                key: self.keys.len(),
                value: self.values.len(),
                sequence,
            }),
        }
    }

    /// The key of the last put; empty if there is none.
    #[inline]
    pub fn last_key(&self) -> &[u8] {
        let start = self.keys.len().checked_sub(self.last.0);
        start
            .and_then(|start| self.keys.get(start..))
            .unwrap_or_default()
    }

    /// Begins behind an entry that was not taken: with puts of any size, or with those that have its size. There must be none.
    pub fn begin_behind(&mut self, entry: &Survivor<'_>, takes_any: bool) {
        self.begin(takes_any);
        if let Sizes::Alike { key, value, before } = &mut self.sizes {
            let size = (entry.key.len(), entry.value.len());
            if size != (*key, *value) || size.0 + size.1 > MOST_ENTRY_BYTES {
                *before = 0;
            }
            (*key, *value) = size;
            *before = before.saturating_add(1);
        }
    }

    /// Begins with puts of any size, or with those of the size of some entries before them. There must be none.
    pub fn begin(&mut self, takes_any: bool) {
        self.sizes = match (takes_any, self.sizes) {
            (true, _) => Sizes::Any,
            (false, Sizes::Any) => Sizes::default(),
            (false, alike) => alike,
        };
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sequences.is_empty() && self.ends.is_empty()
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
    pub fn puts(&self) -> Collected<'_> {
        match self.sizes {
            Sizes::Alike { key, value, .. } => Collected::Even(EvenPuts {
                keys: &self.keys,
                values: &self.values,
                sequences: &self.sequences,
                key_len: key,
                value_len: value,
            }),
            Sizes::Any => {
                let puts = Puts::new(&self.keys, &self.values, &self.ends);
                Collected::Any(match self.alike {
                    true => puts.of_sizes(self.last),
                    false => puts,
                })
            }
        }
    }

    /// Forgets the puts, and keeps the memory for others.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.values.clear();
        self.ends.clear();
        self.sequences.clear();
    }
}
