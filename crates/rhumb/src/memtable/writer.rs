//! Writing to a memtable.

use super::Memtable;
use super::hash_index::HashIndex;
use super::insert::{Inserted, NewEntry, TreeWriter};
use crate::entry::{
    EntryKind, MAX_KEY_BYTES, MAX_VALUE_BYTES, RangeDeleteTree, Sequence, hash_key,
};
use crate::error::{Error, Result};
use crate::sync::atomic::Ordering;

/// Writes to a memtable. What it counts, such as [`Memtable::entries`], includes its writes once it is
/// dropped; they can be found at once.
pub(crate) struct MemtableWriter<'a> {
    memtable: &'a Memtable,
    tree: TreeWriter<'a>,
    /// Has each entry before it may be seen: before its sequence is published.
    index: Option<&'a HashIndex>,
    count: Count,
}

/// What the memtable does not count yet.
#[derive(Default)]
struct Count {
    entries: u64,
    /// The smallest and the largest of their sequences.
    sequences: Option<(Sequence, Sequence)>,
}

impl Count {
    fn note(&mut self, sequence: Sequence) {
        let (smallest, largest) = self.sequences.unwrap_or((sequence, sequence));
        self.sequences = Some((smallest.min(sequence), largest.max(sequence)));
        self.entries += 1;
    }
}

/// Refuses an entry that is too long.
fn check(entry: &NewEntry<'_>) -> Result<()> {
    let (key, value) = (entry.key, entry.value);
    if key.len() <= MAX_KEY_BYTES && value.len() <= MAX_VALUE_BYTES {
        return Ok(());
    }
    Err(Error::InvalidArgument(format!(
        "a key of {} bytes with a value of {} bytes is too long: keep keys within {MAX_KEY_BYTES} \
         bytes and values within {MAX_VALUE_BYTES}",
        key.len(),
        value.len()
    )))
}

impl<'a> MemtableWriter<'a> {
    pub(super) fn new(memtable: &'a Memtable) -> Self {
        MemtableWriter {
            memtable,
            tree: memtable.tree.writer(),
            index: memtable.index.get(),
            count: Count::default(),
        }
    }

    /// Inserts an entry; the value of a delete is empty. Does nothing if an entry of this key and
    /// sequence exists, so that a log can be replayed twice.
    ///
    /// Costs a few comparisons for a key at or near the position of the last one, and a search for
    /// other keys.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the key or value is longer than the store allows, or the
    /// memtable is full (32 GiB). Nothing was inserted then.
    pub fn insert(
        &mut self,
        key: &[u8],
        sequence: Sequence,
        kind: EntryKind,
        value: &[u8],
    ) -> Result<()> {
        let entry = NewEntry {
            key,
            sequence,
            kind,
            value,
        };
        check(&entry)?;
        // Its bucket comes while the place in the tree is searched.
        let indexed = self.index.map(|index| {
            let hash = hash_key(key);
            index.prefetch(hash);
            (index, hash)
        });
        match self.tree.insert(&entry) {
            Inserted::New(address) => {
                if let Some((index, hash)) = indexed {
                    self.memtable.tree.add_to(index, hash, address);
                }
                self.count.note(sequence);
            }
            Inserted::Duplicate => {}
            Inserted::Full => {
                return Err(Error::InvalidArgument(format!(
                    "the write buffer is full at {} bytes: write smaller batches",
                    self.memtable.bytes()
                )));
            }
        }
        Ok(())
    }

    /// Deletes the keys `start..end` at `sequence`, here and in everything older. Does nothing if
    /// the range is empty.
    ///
    /// Takes time and memory logarithmic in the number of range deletes (amortised).
    pub fn delete_range(&mut self, start: &[u8], end: &[u8], sequence: Sequence) {
        if start >= end {
            return;
        }
        self.publish_counts();
        let memtable = self.memtable;
        // Entries inserted later than this get a mark of their own.
        let in_order = memtable.counts.largest_sequence.load(Ordering::Relaxed) < sequence;
        memtable.tree.marks.note(sequence, in_order);
        let mut bytes = 0;
        memtable.range_deletes.rcu(|old| {
            let mut new = RangeDeleteTree::clone(old);
            bytes = new.insert(start, end, sequence);
            new
        });
        memtable
            .range_delete_bytes
            .fetch_add(bytes, Ordering::Relaxed);
        memtable.cover(sequence, sequence);
        memtable.range_delete_count.fetch_add(1, Ordering::Release);
    }

    /// Brings the counts of the memtable up to date.
    fn publish_counts(&mut self) {
        let count = &mut self.count;
        if let Some((smallest, largest)) = count.sequences.take() {
            self.memtable.cover(smallest, largest);
            let entries = std::mem::take(&mut count.entries);
            let counts = &self.memtable.counts;
            counts.keys.store(self.tree.entries(), Ordering::Relaxed);
            counts.entries.fetch_add(entries, Ordering::Release);
        }
    }
}

impl Drop for MemtableWriter<'_> {
    fn drop(&mut self) {
        self.publish_counts();
    }
}
