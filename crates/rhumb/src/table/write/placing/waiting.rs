//! Entries waiting to be placed.

use crate::entry::{EntryKind, append};
use crate::error::Result;
use crate::table::LARGE_ENTRY_BYTES;
use crate::table::block::{EntryEnd, NewEntry, Puts};

/// The most buffer memory that is kept for later entries.
const SPARE_BYTES: usize = 2 << 20;

/// The kind of an entry, and whether it is an older version of a key: in one byte, since many entries may wait.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Mark(u8);

impl Mark {
    const OLDER: u8 = 1 << 7;
    const NEW_PUT: Mark = Mark(EntryKind::Put as u8);

    fn of(entry: &NewEntry<'_>) -> Mark {
        let older = if entry.new_key { 0 } else { Self::OLDER };
        Mark(entry.kind as u8 | older)
    }

    fn is_new_key(self) -> bool {
        self.0 & Self::OLDER == 0
    }

    fn kind(self) -> Option<EntryKind> {
        EntryKind::from_byte(self.0 & !Self::OLDER)
    }
}

/// A queue of entries by columns: their keys and their values, where these end and their sequences, marks, and the numbers of
/// their user keys. What was removed stays in front until it is worth moving the rest.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    keys: Vec<u8>,
    values: Vec<u8>,
    ends: Vec<EntryEnd>,
    marks: Vec<Mark>,
    numbers: Vec<u64>,
    gone: Gone,
    /// How many of the numbers were passed to the model.
    trained: usize,
}

/// What is at the front of the columns but was removed.
#[derive(Debug, Default)]
struct Gone {
    entries: usize,
    /// The user keys that started among the entries.
    keys: usize,
}

impl Waiting {
    /// The bytes of keys and values.
    pub fn bytes(&self) -> usize {
        self.start_of(self.ends.len()).bytes() - self.start().bytes()
    }

    /// Where entry `at` starts, counted with those that were removed: where the one before it ends.
    fn start_of(&self, at: usize) -> EntryEnd {
        let before = at.checked_sub(1).and_then(|before| self.ends.get(before));
        before.copied().unwrap_or_default()
    }

    /// Where the first entry starts.
    fn start(&self) -> EntryEnd {
        self.start_of(self.gone.entries)
    }

    /// The number of entries.
    pub fn entries(&self) -> u64 {
        (self.ends.len() - self.gone.entries) as u64
    }

    /// The memory of all entries but the last, in bytes.
    pub fn memory_before_last(&self) -> usize {
        let last = self.ends.len().saturating_sub(1).max(self.gone.entries);
        let before = self.start_of(last).bytes() - self.start().bytes();
        let record = size_of::<EntryEnd>() + size_of::<Mark>() + size_of::<u64>();
        let records = (self.entries() as usize).saturating_sub(1) * record;
        before + records
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
        append(&mut self.keys, entry.key);
        append(&mut self.values, entry.value);
        if entry.new_key {
            self.numbers.push(number);
        }
        self.ends.push(EntryEnd {
            key: self.keys.len(),
            value: self.values.len(),
            sequence: entry.sequence,
        });
        self.marks.push(Mark::of(entry));
    }

    /// Adds puts; `numbers` are those of their keys.
    pub fn push_puts(&mut self, puts: &Puts<'_>, numbers: impl Iterator<Item = u64>) {
        let start = self.start_of(self.ends.len());
        self.ends.extend(puts.ends_from(start));
        let (keys, values) = puts.columns();
        self.keys.extend_from_slice(keys);
        self.values.extend_from_slice(values);
        self.numbers.extend(numbers);
        self.marks.resize(self.ends.len(), Mark::NEW_PUT);
    }

    /// The numbers that were not passed to the model.
    pub fn untrained(&self) -> &[u64] {
        self.numbers.get(self.trained..).unwrap_or_default()
    }

    /// Notes that all numbers were passed to the model.
    pub fn all_trained(&mut self) {
        self.trained = self.numbers.len();
    }

    /// The first entries, at most `most` of them, as far as they are puts of different keys, and of one size; `None` if that is
    /// so large that each has a block of its own.
    pub fn even_puts(&self, most: usize) -> Option<Puts<'_>> {
        let ends = self.ends.get(self.gone.entries..)?;
        let marks = self.marks.get(self.gone.entries..)?;
        let mut start = self.start();
        let mut sizes = None;
        let even = ends.iter().zip(marks).take(most).take_while(|(end, mark)| {
            let own = (end.key - start.key, end.value - start.value);
            start = **end;
            **mark == Mark::NEW_PUT && *sizes.get_or_insert(own) == own
        });
        let count = even.count();
        let sizes = sizes.filter(|(key, value)| key + value <= LARGE_ENTRY_BYTES)?;
        let puts = Puts::behind(self.start(), (&self.keys, &self.values), ends.get(..count)?);
        Some(puts.of_sizes(sizes))
    }

    /// All entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = NewEntry<'_>> {
        let mut start = self.start();
        let entries = self.ends.iter().zip(&self.marks);
        (entries.skip(self.gone.entries)).map_while(move |(end, mark)| {
            let key = self.keys.get(start.key..end.key)?;
            let value = self.values.get(start.value..end.value)?;
            start = *end;
            Some(NewEntry {
                key,
                sequence: end.sequence,
                kind: mark.kind()?,
                value,
                new_key: mark.is_new_key(),
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
        let removed = self.marks.iter().skip(self.gone.entries).take(entries);
        for mark in removed {
            self.gone.keys += usize::from(mark.is_new_key());
            self.gone.entries += 1;
        }
        self.trained = self.trained.max(self.gone.keys);
        self.compact();
    }

    /// Reuses the memory of removed entries once they are at least half of the bytes.
    fn compact(&mut self) {
        let end = self.start();
        if end.bytes() < (self.keys.len() + self.values.len()) / 2 {
            return;
        }
        self.keys.drain(..end.key);
        self.values.drain(..end.value);
        self.ends.drain(..self.gone.entries);
        for other in &mut self.ends {
            (other.key, other.value) = (other.key - end.key, other.value - end.value);
        }
        self.marks.drain(..self.gone.entries);
        self.numbers.drain(..self.gone.keys);
        self.trained -= self.gone.keys;
        self.gone = Gone::default();
        self.keys.shrink_to(SPARE_BYTES);
        self.values.shrink_to(SPARE_BYTES);
    }
}
