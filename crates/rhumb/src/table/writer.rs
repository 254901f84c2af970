//! Writes a table: entries in order, then what finds them.

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rhumb_index::{IndexError, IndexSpec, KeyMap};

use super::block::{BlockBuilder, NewEntry};
use super::directory::DirectoryBuilder;
use super::filter::{Filter, hash_key};
use super::footer::{self, SectionKind};
use super::index_choice::{BuiltIndex, IndexChoice};
use super::properties::Properties;
use super::stored::store;
use super::summary::{self, Bounds, TableSummary};
use crate::entry::{EntryKind, MAX_KEY_BYTES, RangeDeletes, Sequence};
use crate::error::{Error, Result};
use crate::fs::{FileSystem, WriteFile, names, ops};
use crate::options::{Compression, Partition, TableSpec};

/// Writes go out in pieces of at least this many bytes.
const PIECE_BYTES: usize = 256 << 10;
/// A larger entry stands in a block of its own.
const LARGE_ENTRY_BYTES: usize = 64 << 10;
/// The largest raw block of several entries, whatever the partition says.
const LARGEST_BLOCK_BYTES: usize = 16 << 20;
/// What a raw block can hold beside the value of its only entry.
const ENTRY_OVERHEAD_BYTES: usize = MAX_KEY_BYTES + 64;

/// How a table is to be made.
#[derive(Debug, Clone)]
pub(crate) struct TableSettings {
    /// The id of its keyspace.
    pub keyspace: u32,
    /// Its layout.
    pub spec: TableSpec,
    /// Its index.
    pub index: IndexSpec,
    /// What numbers its keys.
    pub map: Arc<KeyMap>,
    /// The number of this map within the keyspace.
    pub map_number: u64,
}

/// What is counted while entries come in.
#[derive(Debug, Default)]
struct Counts {
    entries: u64,
    deletes: u64,
    key_bytes: u64,
    value_bytes: u64,
    raw_bytes: u64,
    raw_largest: u64,
    sequences: Option<(Sequence, Sequence)>,
}

/// A table in the making.
#[derive(Debug)]
pub(crate) struct TableWriter {
    fs: Arc<dyn FileSystem>,
    path: PathBuf,
    file: Box<dyn WriteFile>,
    number: u64,
    table_id: u64,
    settings: TableSettings,
    block: BlockBuilder,
    raw: Vec<u8>,
    /// Bytes not written yet, which lie at `offset - pending.len()`.
    pending: Vec<u8>,
    offset: u64,
    directory: DirectoryBuilder,
    index: IndexChoice,
    hashes: Vec<u64>,
    ranks: u64,
    first_key: Vec<u8>,
    /// The last key of the last closed block, and its last sequence.
    last_key: Vec<u8>,
    last_sequence: Sequence,
    counts: Counts,
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
        let index = IndexChoice::new(&settings.index).map_err(refused)?;
        let path = dir.join(names::table_name(number));
        let file = ops::create(&**fs, &path)?;
        Ok(TableWriter {
            fs: Arc::clone(fs),
            path,
            file,
            number,
            table_id: RandomState::new().hash_one((SystemTime::now(), number)),
            settings: settings.clone(),
            block: BlockBuilder::default(),
            raw: Vec::new(),
            pending: Vec::with_capacity(PIECE_BYTES + (PIECE_BYTES >> 3)),
            offset: 0,
            directory: DirectoryBuilder::default(),
            index,
            hashes: Vec::new(),
            ranks: 0,
            first_key: Vec::new(),
            last_key: Vec::new(),
            last_sequence: 0,
            counts: Counts::default(),
        })
    }

    /// Adds an entry: a larger key than the last, or the same key with a smaller sequence. The value
    /// of a delete is not kept.
    ///
    /// # Errors
    /// If the entry is out of order or too large, or a write fails.
    pub fn add(
        &mut self,
        key: &[u8],
        sequence: Sequence,
        kind: EntryKind,
        value: &[u8],
    ) -> Result<()> {
        self.check(key, sequence, value)?;
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
        };
        let (limit, most) = match self.settings.spec.partition {
            Partition::Bytes(n) => (n as usize, usize::from(u16::MAX)),
            Partition::Entries(n) => (LARGEST_BLOCK_BYTES, (n as usize).min(u16::MAX.into())),
        };
        let large = key.len() + value.len() > LARGE_ENTRY_BYTES;
        let full = self.block.count() > 0 && (large || self.block.count() >= most);
        if full || !self.block.push_within(&entry, limit) {
            self.close_block()?;
            self.block.push_within(&entry, limit);
        }
        if self.counts.entries == 0 {
            self.first_key = key.to_vec();
        }
        self.count(&entry);
        if large { self.close_block() } else { Ok(()) }
    }

    fn check(&self, key: &[u8], sequence: Sequence, value: &[u8]) -> Result<()> {
        let last = match self.block.count() {
            0 => &self.last_key[..],
            _ => self.block.last_key(),
        };
        let ascends = key > last || (key == last && sequence < self.last_sequence);
        if self.counts.entries > 0 && !ascends {
            return Err(Error::InvalidArgument(format!(
                "entry {} of table {} does not come after the one before: sort entries by key, then \
                 newest first",
                self.counts.entries, self.number
            )));
        }
        if key.len() > MAX_KEY_BYTES || value.len() > u32::MAX as usize - ENTRY_OVERHEAD_BYTES {
            return Err(Error::InvalidArgument(format!(
                "a key of {} bytes with a value of {} bytes does not fit into a table",
                key.len(),
                value.len()
            )));
        }
        Ok(())
    }

    fn count(&mut self, entry: &NewEntry<'_>) {
        let counts = &mut self.counts;
        counts.entries += 1;
        counts.deletes += u64::from(entry.kind == EntryKind::Delete);
        counts.key_bytes += entry.key.len() as u64;
        counts.value_bytes += entry.value.len() as u64;
        let (least, greatest) = counts.sequences.unwrap_or((entry.sequence, entry.sequence));
        counts.sequences = Some((least.min(entry.sequence), greatest.max(entry.sequence)));
        self.last_sequence = entry.sequence;
    }

    /// About how long the file would be if it were finished now, in bytes.
    pub fn estimated_bytes(&self) -> u64 {
        let bits_per_key = u64::from(self.settings.spec.filter_bits_per_key);
        self.offset + self.block.raw_bytes() as u64 + self.ranks * bits_per_key / 8
    }

    fn close_block(&mut self) -> Result<()> {
        if self.block.count() == 0 {
            return Ok(());
        }
        let first_block = self.directory.offsets.is_empty();
        let first_key = self.block.first_key();
        let continues = !first_block && first_key == &self.last_key[..];
        self.directory.offsets.push(self.offset);
        self.directory
            .first_ranks
            .push(self.ranks - u64::from(continues));

        let cut = (!first_block).then_some((&self.last_key[..], first_key));
        let fresh = self.block.distinct_keys().skip(usize::from(continues));
        let hashes = &mut self.hashes;
        let (ranks, with_filter) = (&mut self.ranks, self.settings.spec.filter_bits_per_key > 0);
        let keys = fresh.inspect(|key| {
            *ranks += 1;
            if with_filter {
                hashes.push(hash_key(key));
            }
        });
        self.index
            .block(cut, keys, &self.settings.map)
            .map_err(refused)?;

        self.raw.clear();
        self.block.encode(continues, &mut self.raw);
        self.counts.raw_bytes += self.raw.len() as u64;
        self.counts.raw_largest = self.counts.raw_largest.max(self.raw.len() as u64);
        let before = self.pending.len();
        let compression = self.settings.spec.compression;
        store(
            &self.raw,
            compression,
            self.table_id,
            self.offset,
            &mut self.pending,
        );
        self.offset += (self.pending.len() - before) as u64;
        self.last_key.clear();
        self.last_key.extend_from_slice(self.block.last_key());
        self.block.clear();
        self.raw.shrink_to(LARGEST_BLOCK_BYTES);
        if self.pending.len() >= PIECE_BYTES {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<()> {
        ops::write_all(&mut *self.file, &self.path, &self.pending)?;
        self.pending.clear();
        Ok(())
    }

    /// Writes everything behind the blocks and syncs the file, though not its name in the directory.
    ///
    /// # Errors
    /// If a write or the sync fails; what was written is then removed, if that is possible.
    pub fn finish(mut self, range_deletes: &RangeDeletes) -> Result<TableSummary> {
        let finished = self.write_sections(range_deletes);
        if finished.is_err() {
            // The first error says more than one of the removal, and a leftover file is harmless.
            let _ = self.abandon();
        }
        finished
    }

    fn write_sections(&mut self, range_deletes: &RangeDeletes) -> Result<TableSummary> {
        self.close_block()?;
        let sections_offset = self.offset;
        let blocks = (self.directory.offsets.len() as u64).max(1);
        let block_bytes = self.counts.raw_bytes / blocks;
        let entry_bytes = self.counts.raw_bytes / self.counts.entries.max(1);
        let mut index = self
            .index
            .finish(block_bytes, entry_bytes)
            .map_err(refused)?;
        let directory = std::mem::take(&mut self.directory)
            .encode(self.offset, self.ranks, self.counts.entries)
            .ok_or_else(|| too_large(self.number))?;

        let properties = self.properties(range_deletes, &index);
        let mut sections = vec![
            (SectionKind::Directory, directory),
            (SectionKind::Index, std::mem::take(&mut index.bytes)),
        ];
        if !self.hashes.is_empty() {
            let bits_per_key = self.settings.spec.filter_bits_per_key;
            sections.push((
                SectionKind::Filter,
                Filter::encode(&self.hashes, bits_per_key),
            ));
        }
        if !range_deletes.is_empty() {
            let mut bytes = Vec::new();
            range_deletes.encode(&mut bytes);
            sections.push((SectionKind::RangeDeletes, bytes));
        }
        sections.push((SectionKind::KeyMap, self.settings.map.to_bytes()));
        sections.push((SectionKind::Properties, properties.encode()));
        let before = self.pending.len();
        footer::encode(&sections, self.table_id, sections_offset, &mut self.pending);
        self.offset += (self.pending.len() - before) as u64;
        self.flush()?;
        ops::sync(&mut *self.file, &self.path)?;
        Ok(self.summary(range_deletes, sections_offset, index))
    }

    fn keys(&self) -> Option<(&[u8], &[u8])> {
        (self.counts.entries > 0).then_some((&self.first_key[..], &self.last_key[..]))
    }

    fn summary(
        &self,
        range_deletes: &RangeDeletes,
        sections_offset: u64,
        index: BuiltIndex,
    ) -> TableSummary {
        let sequences = summary::sequences(self.counts.sequences, range_deletes);
        TableSummary {
            number: self.number,
            file_bytes: self.offset,
            sections_offset,
            table_id: self.table_id,
            entries: self.counts.entries,
            deletes: self.counts.deletes,
            range_deletes: range_deletes.fragments().len() as u64,
            bounds: Bounds::of(self.keys(), range_deletes),
            smallest_sequence: sequences.0,
            largest_sequence: sequences.1,
            map_number: self.settings.map_number,
            index_kind: index.kind,
            index_fallback: index.fallback,
        }
    }

    fn properties(&self, range_deletes: &RangeDeletes, index: &BuiltIndex) -> Properties {
        let (counts, spec) = (&self.counts, &self.settings.spec);
        let codec = match spec.compression {
            Compression::None => "none",
            Compression::Lz4 => "lz4",
        };
        let partition = match spec.partition {
            Partition::Bytes(n) => format!("bytes({n})"),
            Partition::Entries(n) => format!("entries({n})"),
        };
        let sequences = summary::sequences(counts.sequences, range_deletes);
        let mut properties = Properties::default();
        properties.set("cipher", 0);
        properties.set("codec", codec);
        properties.set("comparator", "bytes");
        properties.set("created.by", concat!("rhumb ", env!("CARGO_PKG_VERSION")));
        properties.set("deletes", counts.deletes);
        properties.set("entries", counts.entries);
        properties.set("index.fallback", &index.fallback);
        properties.set("index.kind", &index.kind);
        properties.set("index.spec", &self.settings.index);
        properties.set("index.training_ns", index.training.as_nanos());
        properties.set("key.bytes", counts.key_bytes);
        if let Some((first, last)) = self.keys() {
            properties.set_bytes("key.smallest", first);
            properties.set_bytes("key.largest", last);
        }
        properties.set("keyspace", self.settings.keyspace);
        properties.set("map.number", self.settings.map_number);
        properties.set("partition", partition);
        properties.set("raw_block.largest", counts.raw_largest);
        properties.set("sequence.smallest", sequences.0);
        properties.set("sequence.largest", sequences.1);
        properties.set("value.bytes", counts.value_bytes);
        properties
    }

    /// Removes the unfinished file.
    ///
    /// # Errors
    /// If it cannot be removed; it is then a leftover that nothing refers to.
    pub fn abandon(self) -> Result<()> {
        let TableWriter { fs, path, file, .. } = self;
        drop(file);
        ops::remove(&*fs, &path)
    }
}

fn refused(error: IndexError) -> Error {
    Error::InvalidArgument(format!("the index of a table cannot be built: {error}"))
}

fn too_large(number: u64) -> Error {
    Error::InvalidArgument(format!(
        "table {number} is larger than 2^57 bytes: use smaller tables"
    ))
}
