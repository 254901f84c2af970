//! Entries waiting to be placed.

use crate::entry::{EntryKind, append};
use crate::error::Result;
use crate::table::block::{EntryEnd, NewEntry, Puts};

/// The most buffer memory that is kept for later entries.
const SPARE_BYTES: usize = 2 << 20;

/// What is kept of an entry besides its key, its value and its sequence.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Mark {
    kind: EntryKind,
    new_key: bool,
}

const NEW_PUT: Mark = Mark {
    kind: EntryKind::Put,
    new_key: true,
};

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
    /// Where the last of them ends.
    end: EntryEnd,
}

impl Waiting {
    /// The bytes of keys and values.
    pub fn bytes(&self) -> usize {
        self.end().bytes() - self.gone.end.bytes()
    }

    /// Where the last entry ends.
    fn end(&self) -> EntryEnd {
        self.ends.last().copied().unwrap_or_default()
    }

    /// The number of entries.
    pub fn entries(&self) -> u64 {
        (self.ends.len() - self.gone.entries) as u64
    }

    /// The memory of all entries but the last, in bytes.
    pub fn memory_before_last(&self) -> usize {
        let before_last = self.ends.iter().rev().nth(1).map_or(0, EntryEnd::bytes);
        let record = size_of::<EntryEnd>() + size_of::<Mark>() + size_of::<u64>();
        let records = (self.entries() as usize).saturating_sub(1) * record;
        before_last.saturating_sub(self.gone.end.bytes()) + records
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
        self.marks.push(Mark {
            kind: entry.kind,
            new_key: entry.new_key,
        });
    }

    /// Adds puts; `numbers` are those of their keys.
    pub fn push_puts(&mut self, puts: &Puts<'_>, numbers: impl Iterator<Item = u64>) {
        self.ends.extend(puts.ends_from(self.end()));
        let (keys, values) = puts.columns();
        self.keys.extend_from_slice(keys);
        self.values.extend_from_slice(values);
        self.numbers.extend(numbers);
        self.marks.resize(self.ends.len(), NEW_PUT);
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
    pub fn even_puts(&self, most: usize) -> Option<Puts<'_>> {
        let ends = self.ends.get(self.gone.entries..)?;
        let marks = self.marks.get(self.gone.entries..)?;
        let mut start = self.gone.end;
        let mut sizes = None;
        let even = ends.iter().zip(marks).take(most).take_while(|(end, mark)| {
            let own = (end.key - start.key, end.value - start.value);
            start = **end;
            **mark == NEW_PUT && *sizes.get_or_insert(own) == own
        });
        let count = even.count();
        let ends = ends.get(..count)?;
        Some(Puts::behind(self.gone.end, (&self.keys, &self.values), ends).of_sizes(sizes?))
    }

    /// All entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = NewEntry<'_>> {
        let mut start = self.gone.end;
        let entries = self.ends.iter().zip(&self.marks);
        (entries.skip(self.gone.entries)).map_while(move |(end, mark)| {
            let key = self.keys.get(start.key..end.key)?;
            let value = self.values.get(start.value..end.value)?;
            start = *end;
            Some(NewEntry {
                key,
                sequence: end.sequence,
                kind: mark.kind,
                value,
                new_key: mark.new_key,
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
        let all = self.gone.entries + entries;
        let removed = self.marks.get(self.gone.entries..all).unwrap_or_default();
        self.gone.keys += removed.iter().filter(|mark| mark.new_key).count();
        self.gone.entries += removed.len();
        let last = self.gone.entries.checked_sub(1);
        let last = last.and_then(|last| self.ends.get(last));
        self.gone.end = last.copied().unwrap_or_default();
        self.trained = self.trained.max(self.gone.keys);
        self.compact();
    }

    /// Reuses the memory of removed entries once they are at least half of the bytes.
    fn compact(&mut self) {
        let end = self.gone.end;
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
