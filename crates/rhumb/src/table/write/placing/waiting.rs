//! Entries waiting to be placed.

use crate::entry::{EntryKind, Sequence, append};
use crate::error::Result;
use crate::table::block::NewEntry;

/// The most buffer memory that is kept for later entries.
const SPARE_BYTES: usize = 2 << 20;

#[derive(Debug, Clone, Copy)]
struct WaitingEntry {
    key: u32,
    value: u32,
    sequence: Sequence,
    kind: EntryKind,
    new_key: bool,
}

impl WaitingEntry {
    fn bytes(&self) -> usize {
        self.key as usize + self.value as usize
    }
}

/// A queue of entries: their concatenated bytes, a small record for each, and the numbers of their
/// user keys. What was removed stays in front until it is worth moving the rest.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    bytes: Vec<u8>,
    gone_bytes: usize,
    records: Vec<WaitingEntry>,
    gone: usize,
    numbers: Vec<u64>,
    gone_keys: usize,
    /// How many of the numbers were passed to the model.
    trained: usize,
}

impl Waiting {
    /// The bytes of keys and values.
    pub fn bytes(&self) -> usize {
        self.bytes.len() - self.gone_bytes
    }

    /// The number of entries.
    pub fn entries(&self) -> u64 {
        (self.records.len() - self.gone) as u64
    }

    /// The memory of all entries but the last, in bytes.
    pub fn memory_before_last(&self) -> usize {
        let last = self.records.get(self.gone..).and_then(<[_]>::last);
        let before = self.bytes() - last.map_or(0, WaitingEntry::bytes);
        let record = size_of::<WaitingEntry>() + size_of::<u64>();
        before + (self.entries() as usize).saturating_sub(1) * record
    }

    /// The number of user keys that start among the entries.
    pub fn keys(&self) -> u64 {
        self.numbers().len() as u64
    }

    /// The numbers of these user keys.
    pub fn numbers(&self) -> &[u64] {
        self.numbers.get(self.gone_keys..).unwrap_or_default()
    }

    /// Adds an entry; `number` is that of its key if it is the first of its user key.
    pub fn push(&mut self, entry: &NewEntry<'_>, number: u64) {
        append(&mut self.bytes, entry.key);
        append(&mut self.bytes, entry.value);
        if entry.new_key {
            self.numbers.push(number);
        }
        self.records.push(WaitingEntry {
            // The writer of tables refuses longer ones.
            key: entry.key.len() as u32,
            value: entry.value.len() as u32,
            sequence: entry.sequence,
            kind: entry.kind,
            new_key: entry.new_key,
        });
    }

    /// The numbers that were not passed to the model.
    pub fn untrained(&self) -> &[u64] {
        self.numbers.get(self.trained..).unwrap_or_default()
    }

    /// Notes that all numbers were passed to the model.
    pub fn all_trained(&mut self) {
        self.trained = self.numbers.len();
    }

    /// All entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = NewEntry<'_>> {
        let mut rest = self.bytes.get(self.gone_bytes..).unwrap_or_default();
        let records = self.records.get(self.gone..).unwrap_or_default();
        records.iter().map_while(move |record| {
            let (key, behind) = rest.split_at_checked(record.key as usize)?;
            let (value, behind) = behind.split_at_checked(record.value as usize)?;
            rest = behind;
            Some(NewEntry {
                key,
                sequence: record.sequence,
                kind: record.kind,
                value,
                new_key: record.new_key,
            })
        })
    }

    /// Passes the entries to `take`, in order, as long as it returns true, and removes those for which
    /// it did. The first entry of a user key comes with the number of the key.
    ///
    /// # Errors
    /// The errors of `take`; the entry is then not removed.
    pub fn drain(
        &mut self,
        mut take: impl FnMut(&NewEntry<'_>, Option<u64>) -> Result<bool>,
    ) -> Result<()> {
        let (mut bytes, mut entries, mut keys) = (0, 0, 0);
        let mut taken = Ok(true);
        for entry in self.iter() {
            let number = self.numbers().get(keys).filter(|_| entry.new_key);
            taken = take(&entry, number.copied());
            if !matches!(taken, Ok(true)) {
                break;
            }
            bytes += entry.key.len() + entry.value.len();
            entries += 1;
            keys += usize::from(entry.new_key);
        }
        self.gone_bytes += bytes;
        self.gone += entries;
        self.gone_keys += keys;
        self.trained = self.trained.max(self.gone_keys);
        self.compact();
        taken.map(|_| ())
    }

    /// Reuses the memory of removed entries once they are at least half of the bytes.
    fn compact(&mut self) {
        if self.gone_bytes >= self.bytes.len() / 2 {
            self.bytes.drain(..self.gone_bytes);
            self.records.drain(..self.gone);
            self.numbers.drain(..self.gone_keys);
            self.trained -= self.gone_keys;
            (self.gone_bytes, self.gone, self.gone_keys) = (0, 0, 0);
            self.bytes.shrink_to(SPARE_BYTES);
        }
    }
}
