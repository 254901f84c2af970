//! Entries waiting to be placed.

use std::collections::VecDeque;

use crate::entry::{EntryKind, Sequence};
use crate::table::block::NewEntry;

/// The most buffer memory that is kept for later entries.
const SPARE_BYTES: usize = 2 << 20;

#[derive(Debug, Clone, Copy)]
struct WaitingEntry {
    key: usize,
    value: usize,
    number: u64,
    sequence: Sequence,
    kind: EntryKind,
    new_key: bool,
}

/// A queue of entries: their concatenated bytes, and a small record for each.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    bytes: Vec<u8>,
    /// How many of the bytes belong to removed entries.
    gone: usize,
    records: VecDeque<WaitingEntry>,
    keys: u64,
    /// The number of records that were passed to the model, and their bytes.
    trained: usize,
    trained_bytes: usize,
}

/// The first entry of the queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Front<'a> {
    pub key: &'a [u8],
    value: &'a [u8],
    /// The number of the key; only set in its first entry.
    pub number: u64,
    sequence: Sequence,
    kind: EntryKind,
    /// Whether it is the first entry of its user key.
    pub new_key: bool,
}

impl<'a> Front<'a> {
    pub fn entry(&self) -> NewEntry<'a> {
        NewEntry {
            key: self.key,
            sequence: self.sequence,
            kind: self.kind,
            value: self.value,
            new_key: self.new_key,
        }
    }
}

impl Waiting {
    /// The bytes of keys and values.
    pub fn bytes(&self) -> usize {
        self.bytes.len() - self.gone
    }

    /// The number of entries.
    pub fn entries(&self) -> u64 {
        self.records.len() as u64
    }

    /// The memory of all entries but the last, in bytes.
    pub fn memory_before_last(&self) -> usize {
        let last = self.records.back().map_or(0, |r| r.key + r.value);
        let before = self.records.len().saturating_sub(1);
        self.bytes().saturating_sub(last) + before * size_of::<WaitingEntry>()
    }

    /// The number of user keys that start among the entries.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Adds an entry; `number` is that of its key if it is the first of its user key.
    pub fn push(&mut self, entry: &NewEntry<'_>, number: u64) {
        self.bytes.extend_from_slice(entry.key);
        self.bytes.extend_from_slice(entry.value);
        self.keys += u64::from(entry.new_key);
        self.records.push_back(WaitingEntry {
            key: entry.key.len(),
            value: entry.value.len(),
            number,
            sequence: entry.sequence,
            kind: entry.kind,
            new_key: entry.new_key,
        });
    }

    /// The next user key that was not passed to the model, with its number. Each is returned once.
    pub fn untrained(&mut self) -> Option<(&[u8], u64)> {
        let older = |r: &&WaitingEntry| !r.new_key;
        while let Some(record) = self.records.get(self.trained).filter(older) {
            self.trained += 1;
            self.trained_bytes += record.key + record.value;
        }
        let record = self.records.get(self.trained)?;
        let at = self.gone + self.trained_bytes;
        self.trained += 1;
        self.trained_bytes += record.key + record.value;
        let key = self.bytes.get(at..at + record.key)?;
        Some((key, record.number))
    }

    /// The first entry.
    pub fn front(&self) -> Option<Front<'_>> {
        self.iter().next()
    }

    /// All entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = Front<'_>> {
        let mut rest = self.bytes.get(self.gone..).unwrap_or_default();
        self.records.iter().map_while(move |record| {
            let (key, behind) = rest.split_at_checked(record.key)?;
            let (value, behind) = behind.split_at_checked(record.value)?;
            rest = behind;
            Some(Front {
                key,
                value,
                number: record.number,
                sequence: record.sequence,
                kind: record.kind,
                new_key: record.new_key,
            })
        })
    }

    /// Removes the first entry.
    pub fn pop(&mut self) {
        if let Some(record) = self.records.pop_front() {
            let bytes = record.key + record.value;
            self.gone += bytes;
            self.keys -= u64::from(record.new_key);
            self.trained = self.trained.saturating_sub(1);
            self.trained_bytes = self.trained_bytes.saturating_sub(bytes);
        }
    }

    /// Reuses the memory of removed entries once they are at least half of the bytes.
    pub fn compact(&mut self) {
        if self.gone >= self.bytes.len() / 2 {
            self.bytes.drain(..self.gone);
            self.gone = 0;
            self.bytes.shrink_to(SPARE_BYTES);
        }
    }
}
