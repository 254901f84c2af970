//! Entries waiting to be placed.

use crate::entry::{EntryKind, Sequence, append};
use crate::error::Result;
use crate::table::block::{EvenPuts, NewEntry};

/// The most buffer memory that is kept for later entries.
const SPARE_BYTES: usize = 2 << 20;

#[derive(Debug, Clone, Copy)]
struct WaitingEntry {
    key: u32,
    value: u32,
    kind: EntryKind,
    new_key: bool,
}

impl WaitingEntry {
    fn of(entry: &NewEntry<'_>) -> Self {
        WaitingEntry {
            // The writer of tables refuses longer ones.
            key: entry.key.len() as u32,
            value: entry.value.len() as u32,
            kind: entry.kind,
            new_key: entry.new_key,
        }
    }

    fn bytes(&self) -> usize {
        self.key as usize + self.value as usize
    }

    /// Whether an entry is as this one, a put of a key of its own, and of one size.
    fn is_even_with(&self, other: &WaitingEntry) -> bool {
        let is_put = |entry: &WaitingEntry| entry.kind == EntryKind::Put && entry.new_key;
        is_put(self) && is_put(other) && (self.key, self.value) == (other.key, other.value)
    }
}

/// A queue of entries by columns: their keys, their values and their sequences, a small record for each, and the numbers of
/// their user keys. What was removed stays in front until it is worth moving the rest.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    keys: Vec<u8>,
    values: Vec<u8>,
    sequences: Vec<Sequence>,
    records: Vec<WaitingEntry>,
    numbers: Vec<u64>,
    gone: Gone,
    /// How many of the numbers were passed to the model.
    trained: usize,
}

/// What is at the front of the columns but was removed.
#[derive(Debug, Default)]
struct Gone {
    key_bytes: usize,
    value_bytes: usize,
    entries: usize,
    /// The user keys that started among the entries.
    keys: usize,
}

impl Waiting {
    /// The bytes of keys and values.
    pub fn bytes(&self) -> usize {
        self.keys.len() - self.gone.key_bytes + self.values.len() - self.gone.value_bytes
    }

    /// The number of entries.
    pub fn entries(&self) -> u64 {
        (self.records.len() - self.gone.entries) as u64
    }

    /// The memory of all entries but the last, in bytes.
    pub fn memory_before_last(&self) -> usize {
        let last = self.records.get(self.gone.entries..);
        let last = last.and_then(<[_]>::last);
        let before = self.bytes() - last.map_or(0, WaitingEntry::bytes);
        let record = size_of::<WaitingEntry>() + size_of::<Sequence>() + size_of::<u64>();
        before + (self.entries() as usize).saturating_sub(1) * record
    }

    /// The number of user keys that start among the entries.
    pub fn keys(&self) -> u64 {
        self.numbers().len() as u64
    }

    /// The numbers of these user keys.
    pub fn numbers(&self) -> &[u64] {
        self.numbers.get(self.gone.keys..).unwrap_or_default()
    }

    /// Adds an entry; `number` is that of its key if it is the first of its user key.
    pub fn push(&mut self, entry: &NewEntry<'_>, number: u64) {
        let record = WaitingEntry::of(entry);
        append(&mut self.keys, entry.key);
        append(&mut self.values, entry.value);
        if entry.new_key {
            self.numbers.push(number);
        }
        self.sequences.push(entry.sequence);
        self.records.push(record);
    }

    /// Adds puts; `numbers` are those of their keys.
    pub fn push_even(&mut self, puts: &EvenPuts<'_>, numbers: impl Iterator<Item = u64>) {
        let Some(first) = puts.entries().next() else {
            return;
        };
        let record = WaitingEntry::of(&first);
        self.keys.extend_from_slice(puts.keys);
        self.values.extend_from_slice(puts.values);
        self.numbers.extend(numbers);
        self.sequences.extend_from_slice(puts.sequences);
        self.records.resize(self.records.len() + puts.len(), record);
    }

    /// The numbers that were not passed to the model.
    pub fn untrained(&self) -> &[u64] {
        self.numbers.get(self.trained..).unwrap_or_default()
    }

    /// Notes that all numbers were passed to the model.
    pub fn all_trained(&mut self) {
        self.trained = self.numbers.len();
    }

    /// The first entries, at most `most` of them, as far as they are puts of different keys, and of one size.
    pub fn even_puts(&self, most: usize) -> Option<EvenPuts<'_>> {
        let records = self.records.get(self.gone.entries..)?;
        let first = records.first()?;
        let even = records.iter().take(most);
        let count = even.take_while(|record| first.is_even_with(record)).count();
        let all = EvenPuts {
            keys: self.keys.get(self.gone.key_bytes..)?,
            values: self.values.get(self.gone.value_bytes..)?,
            sequences: self.sequences.get(self.gone.entries..)?,
            key_len: first.key as usize,
            value_len: first.value as usize,
        };
        Some(all.part(0..count))
    }

    /// All entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = NewEntry<'_>> {
        let mut keys = self.keys.get(self.gone.key_bytes..).unwrap_or_default();
        let mut values = self.values.get(self.gone.value_bytes..).unwrap_or_default();
        let records = self.records.iter().zip(&self.sequences);
        (records.skip(self.gone.entries)).map_while(move |(record, sequence)| {
            let (key, other_keys) = keys.split_at_checked(record.key as usize)?;
            let (value, other_values) = values.split_at_checked(record.value as usize)?;
            (keys, values) = (other_keys, other_values);
            Some(NewEntry {
                key,
                sequence: *sequence,
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
        let (mut entries, mut keys) = (0, 0);
        let mut taken = Ok(true);
        for entry in self.iter() {
            let number = self.numbers().get(keys).filter(|_| entry.new_key);
            taken = take(&entry, number.copied());
            if !matches!(taken, Ok(true)) {
                break;
            }
            entries += 1;
            keys += usize::from(entry.new_key);
        }
        self.remove(entries);
        taken.map(|_| ())
    }

    /// Removes the first entries.
    pub fn remove(&mut self, entries: usize) {
        let removed = self.records.iter().skip(self.gone.entries).take(entries);
        for record in removed {
            self.gone.key_bytes += record.key as usize;
            self.gone.value_bytes += record.value as usize;
            self.gone.keys += usize::from(record.new_key);
            self.gone.entries += 1;
        }
        self.trained = self.trained.max(self.gone.keys);
        self.compact();
    }

    /// Reuses the memory of removed entries once they are at least half of the bytes.
    fn compact(&mut self) {
        let gone = &self.gone;
        if gone.key_bytes + gone.value_bytes >= (self.keys.len() + self.values.len()) / 2 {
            self.keys.drain(..gone.key_bytes);
            self.values.drain(..gone.value_bytes);
            self.sequences.drain(..gone.entries);
            self.records.drain(..gone.entries);
            self.numbers.drain(..gone.keys);
            self.trained -= gone.keys;
            self.gone = Gone::default();
            self.keys.shrink_to(SPARE_BYTES);
            self.values.shrink_to(SPARE_BYTES);
        }
    }
}
