//! Writes a table: entries in order, then the sections with which they are found.

mod finish;
mod together;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rhumb_index::{IndexSpec, KeyMap};

use super::blocks::{BlockWriter, LARGEST_BLOCK_BYTES, refused};
use super::cutter::{Cutter, cut_by_both, cut_by_bytes, cut_by_entries};
use super::index_choice::IndexChoice;
use super::placing::{Placing, TARGET_BYTES};
use crate::entry::{EntryKind, MAX_KEY_BYTES, Pointer, Sequence, compare, set_key};
use crate::error::{Error, Result};
use crate::fs::output::{Output, PIECE_BYTES, Pieces};
use crate::fs::{FileSystem, names, ops};
use crate::memory::{BlockCache, WrittenBlocks};
use crate::options::{Partition, TableSpec};
use crate::table::block::NewEntry;
use crate::table::form::summary::TableMeta;
use crate::table::form::value_uses::ValueUse;
use crate::vlog::ValueFileMeta;

/// The space of a raw block that is reserved for everything except the value of its only entry.
const ENTRY_OVERHEAD_BYTES: usize = MAX_KEY_BYTES + 64;

/// A table is written in such pieces. Memory for the largest block of several entries is kept, behind what is left of a piece.
const PIECES: Pieces = Pieces {
    bytes: PIECE_BYTES,
    kept: LARGEST_BLOCK_BYTES + 2 * PIECE_BYTES,
};

/// How entries are cut if no model places them.
const BY_BYTES: Partition = Partition::Bytes(TARGET_BYTES as u32);

/// How to write a table.
#[derive(Debug, Clone)]
pub(crate) struct TableSettings {
    /// The id of its keyspace, if it is known.
    pub keyspace: Option<u32>,
    /// Whether the manifest will give the table its sequence: all sequences in it must be 0, and each user key
    /// must have one entry.
    pub given_sequence: bool,
    /// Its layout.
    pub spec: TableSpec,
    /// Its index.
    pub index: IndexSpec,
    /// The map from its keys to numbers.
    pub map: Arc<KeyMap>,
    /// The number of this map within the keyspace.
    pub map_number: u64,
    /// The form that was asked for, as text, where a tuner is on; empty elsewhere.
    pub chosen: String,
}

/// A table that was written.
#[derive(Debug)]
pub(crate) struct WrittenTable {
    pub summary: TableMeta,
    /// The time spent building its index.
    pub training: Duration,
    /// The time spent creating, writing and syncing its file.
    pub write_time: Duration,
}

/// Counts over the entries so far.
#[derive(Debug)]
struct Counts {
    entries: u64,
    deletes: u64,
    key_bytes: u64,
    value_bytes: u64,
    /// The smallest and the largest sequence, if there are entries.
    sequences: (Sequence, Sequence),
}

impl Default for Counts {
    fn default() -> Self {
        Counts {
            entries: 0,
            deletes: 0,
            key_bytes: 0,
            value_bytes: 0,
            sequences: (Sequence::MAX, 0),
        }
    }
}

impl Counts {
    #[inline(always)]
    fn of(entry: &NewEntry<'_>) -> Counts {
        Counts {
            entries: 1,
            deletes: u64::from(entry.kind == EntryKind::Delete),
            key_bytes: entry.key.len() as u64,
            value_bytes: entry.value.len() as u64,
            sequences: (entry.sequence, entry.sequence),
        }
    }

    #[inline]
    fn add(&mut self, other: &Counts) {
        self.entries += other.entries;
        self.deletes += other.deletes;
        self.key_bytes += other.key_bytes;
        self.value_bytes += other.value_bytes;
        let ((low, high), (other_low, other_high)) = (self.sequences, other.sequences);
        self.sequences = (low.min(other_low), high.max(other_high));
    }

    fn sequences(&self) -> Option<(Sequence, Sequence)> {
        (self.entries > 0).then_some(self.sequences)
    }
}

/// A table being written.
#[derive(Debug)]
pub(crate) struct TableWriter {
    fs: Arc<dyn FileSystem>,
    path: PathBuf,
    number: u64,
    table_id: u64,
    settings: TableSettings,
    blocks: BlockWriter,
    cutter: Cutter,
    /// How the last blocks are cut.
    partition: Partition,
    /// The number of neighbouring predictions that shared a cell before the model was given up; 0 if it placed nothing.
    left_cells: u32,
    first_key: Vec<u8>,
    /// The key and sequence of the last entry.
    last_key: Vec<u8>,
    last_sequence: Sequence,
    counts: Counts,
    /// What entries point to, by file.
    values: BTreeMap<u64, ValueUse>,
    /// How many keys hide an older version in another table; has to be set before the end of the table.
    pub hides: u64,
}

impl TableWriter {
    /// Creates the file of table `number` in `dir`.
    ///
    /// # Errors
    /// If it exists or cannot be created, or the index cannot be built.
    pub fn create(
        fs: &Arc<dyn FileSystem>,
        dir: &Path,
        number: u64,
        settings: &TableSettings,
    ) -> Result<TableWriter> {
        let path = dir.join(names::table_name(number));
        Self::create_at(fs, path, number, settings)
    }

    /// Creates the file of a table at `path`, which need not be the one of its number.
    ///
    /// # Errors
    /// As [`TableWriter::create`].
    pub fn create_at(
        fs: &Arc<dyn FileSystem>,
        path: PathBuf,
        number: u64,
        settings: &TableSettings,
    ) -> Result<TableWriter> {
        let index = IndexChoice::new(&settings.index).map_err(refused)?;
        let spec = &settings.spec;
        let cutter = Cutter::of(spec, &index);
        let partition = match (spec.partition, &cutter) {
            (Partition::Predicted(_), Cutter::Bytes(_)) => BY_BYTES,
            (partition, _) => partition,
        };
        let output = Output::create(fs, path.clone(), PIECES)?;
        let table_id = RandomState::new().hash_one((SystemTime::now(), number));
        let blocks = BlockWriter::new(
            output,
            table_id,
            spec.compression,
            Arc::clone(&settings.map),
            index,
            spec.filter_bits_per_key > 0,
        );
        Ok(TableWriter {
            fs: Arc::clone(fs),
            path,
            number,
            table_id,
            settings: settings.clone(),
            blocks,
            cutter,
            partition,
            left_cells: 0,
            first_key: Vec::new(),
            last_key: Vec::new(),
            last_sequence: 0,
            counts: Counts::default(),
            values: BTreeMap::new(),
            hides: 0,
        })
    }

    /// Leaves its blocks in memory, as far as there is memory left in the cache, for its first reader there.
    pub fn keeping_blocks(mut self, cache: &Arc<BlockCache>) -> TableWriter {
        self.blocks.kept = WrittenBlocks::new(cache);
        self
    }

    /// The same with this id.
    #[cfg(test)]
    pub fn with_id(mut self, id: u64) -> TableWriter {
        self.table_id = id;
        self.blocks.set_table_id(id);
        self
    }

    /// Adds an entry: a larger key than the last one, or the same key with a smaller sequence. The
    /// value of a delete is not stored.
    ///
    /// # Errors
    /// If the entry is out of order or too large, or a write fails.
    #[inline]
    pub fn add(
        &mut self,
        key: &[u8],
        sequence: Sequence,
        kind: EntryKind,
        value: &[u8],
    ) -> Result<()> {
        let first = self.counts.entries == 0;
        // The only comparison of keys, which may be long.
        let order = match first {
            true => Ordering::Greater,
            false => compare(key, &self.last_key),
        };
        self.check(key, sequence, value, order)?;
        let value = if kind == EntryKind::Delete {
            &[]
        } else {
            value
        };
        let entry = NewEntry {
            key,
            sequence,
            kind,
            value,
            new_key: order.is_gt(),
        };
        if first {
            self.first_key = key.to_vec();
        }
        self.count(&entry);
        if kind == EntryKind::Pointer {
            self.count_pointer(key, value)?;
        }
        self.cut(&entry)
    }

    /// Adds an entry to the block that it belongs into.
    #[inline]
    fn cut(&mut self, entry: &NewEntry<'_>) -> Result<()> {
        match &mut self.cutter {
            Cutter::Units { entries } => {
                let entries = *entries;
                if self.blocks.push_into_unit(entry, entries)? {
                    return Ok(());
                }
                let entries = entries as usize;
                self.cutter = Cutter::Entries(entries);
                cut_by_entries(&mut self.blocks, entry, entries)
            }
            Cutter::Bytes(bytes) => cut_by_bytes(&mut self.blocks, entry, *bytes),
            Cutter::Entries(entries) => cut_by_entries(&mut self.blocks, entry, *entries),
            Cutter::Dual(bytes) => cut_by_both(&mut self.blocks, entry, *bytes),
            Cutter::Model(placer) => match placer.add(entry, &mut self.blocks)? {
                Placing::GoesOn => Ok(()),
                Placing::Ended => self.leave_model(),
            },
        }
    }

    /// Cuts the entries that wait for the model, and all later ones, by bytes.
    fn leave_model(&mut self) -> Result<()> {
        let target = TARGET_BYTES as usize;
        let by_bytes = Cutter::Bytes(target);
        let Cutter::Model(mut placer) = std::mem::replace(&mut self.cutter, by_bytes) else {
            return Ok(());
        };
        let blocks = &mut self.blocks;
        self.left_cells = placer.left_cells();
        self.partition = BY_BYTES;
        blocks.end_even();
        blocks.open().forget_expected();
        placer.drain(|entry| cut_by_bytes(blocks, entry, target))
    }

    /// Checks an entry whose key is in this order with the last one.
    fn check(&self, key: &[u8], sequence: Sequence, value: &[u8], order: Ordering) -> Result<()> {
        let older = order.is_eq() && sequence < self.last_sequence;
        if !order.is_gt() && !older {
            return Err(self.out_of_order(0));
        }
        self.check_size(key, value)
    }

    #[inline]
    fn check_size(&self, key: &[u8], value: &[u8]) -> Result<()> {
        if key.len() > MAX_KEY_BYTES || value.len() > u32::MAX as usize - ENTRY_OVERHEAD_BYTES {
            return Err(Error::InvalidArgument(format!(
                "a key of {} bytes with a value of {} bytes does not fit into a table",
                key.len(),
                value.len()
            )));
        }
        Ok(())
    }

    /// An error about the entry that comes so many behind the next one.
    #[cold]
    fn out_of_order(&self, behind: u64) -> Error {
        Error::InvalidArgument(format!(
            "entry {} of table {} does not sort after the one before it: sort entries by key, then \
             newest first",
            self.counts.entries + behind,
            self.number
        ))
    }

    #[inline(always)]
    fn count(&mut self, entry: &NewEntry<'_>) {
        self.counts.add(&Counts::of(entry));
        self.last_sequence = entry.sequence;
        if entry.new_key {
            set_key(&mut self.last_key, entry.key);
        }
    }

    /// Counts the record that a pointer leads to.
    fn count_pointer(&mut self, key: &[u8], pointer: &[u8]) -> Result<()> {
        let Some(pointer) = Pointer::from_bytes(pointer) else {
            return Err(Error::InvalidArgument(format!(
                "entry {} of table {} is a pointer of {} bytes",
                self.counts.entries - 1,
                self.number,
                pointer.len()
            )));
        };
        let used = self.values.entry(pointer.file).or_insert(ValueUse {
            file: pointer.file,
            meta: ValueFileMeta::default(),
            entries: 0,
            bytes: 0,
        });
        used.entries += 1;
        let keyspace = self.settings.keyspace.unwrap_or(0);
        used.bytes += Pointer::record_bytes(keyspace, key.len(), pointer.len.into());
        Ok(())
    }

    /// Notes what the value files are that entries point into; has to come before the end of the table.
    ///
    /// # Errors
    /// If `meta_of` does not know a file, or it is shorter than what entries point to: they came from a damaged table.
    pub fn set_value_files(
        &mut self,
        meta_of: impl Fn(u64) -> Option<ValueFileMeta>,
    ) -> Result<()> {
        for used in self.values.values_mut() {
            used.meta = meta_of(used.file).ok_or_else(|| {
                let expected = "pointers into value files that the tables name";
                let found = format!("one into file {}", used.file);
                Error::corruption(&self.path, 0, expected, found)
            })?;
            if !used.is_possible() {
                let expected = format!(
                    "pointers to at most {} bytes of file {}",
                    used.meta.bytes, used.file
                );
                let found = format!("pointers to {} bytes", used.bytes);
                return Err(Error::corruption(&self.path, 0, expected, found));
            }
        }
        Ok(())
    }

    /// What entries refer to in value files.
    fn value_uses(&self) -> Vec<ValueUse> {
        self.values.values().copied().collect()
    }

    /// About the length that the file would have if it were finished now, in bytes.
    pub fn estimated_bytes(&mut self) -> u64 {
        let bits_per_key = u64::from(self.settings.spec.filter_bits_per_key);
        let (waiting, keys) = match &self.cutter {
            Cutter::Model(placer) => (placer.waiting_bytes() as u64, placer.waiting_keys()),
            _ => (0, 0),
        };
        let filter = (self.blocks.ranks() + keys) * bits_per_key / 8;
        self.blocks.estimated_bytes() + waiting + filter
    }

    /// Removes the unfinished file.
    ///
    /// # Errors
    /// If it cannot be removed; it is then a leftover that nothing refers to.
    pub fn abandon(self) -> Result<()> {
        let TableWriter {
            fs, path, blocks, ..
        } = self;
        drop(blocks);
        ops::remove(&*fs, &path)
    }
}
