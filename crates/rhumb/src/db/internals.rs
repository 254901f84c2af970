//! Doors to parts of the store, for the benches and the lab only. Unstable: they change with the parts,
//! and no version number says so.

use std::path::Path;
use std::sync::Arc;

use super::Db;
use super::view::View;
use crate::compaction::Source;
use crate::entry::operations::Operations;
use crate::entry::{Cursor, EntryKind, MAX_SEQUENCE, MergeCursor};
use crate::error::Result;
use crate::fs::FileSystem;
use crate::memtable::Memtable;
pub use crate::table::{BlockSize, HeldBlock, Stage};
use crate::table::{TableReader, hash_key};
use crate::version::Table;
use crate::wal::LogWriter;

/// Looks `key` up in the default keyspace, and ends behind `stage`: for a store whose tables all lie
/// below level 0. Gives a number that depends on all that was done.
///
/// # Errors
/// If a file cannot be read or is damaged.
pub fn get_until(db: &Db, stage: Stage, key: &[u8]) -> Result<u64> {
    match stage {
        Stage::Nothing => return Ok(0),
        Stage::Get => return Ok(db.get(key)?.map_or(0, |value| value.len() as u64)),
        _ => {}
    }
    let view = db.state().view.load();
    let visible = db.handle.store.visible();
    if stage == Stage::View {
        return Ok(visible);
    }
    let covered = view.active.covering(key, visible);
    let found = view.active.get(key, visible);
    if stage == Stage::WriteBuffer || covered.is_some() || found.is_some() {
        return Ok(found.map_or(0, |version| version.sequence));
    }
    match table_of(&view, key) {
        Some(table) if stage == Stage::Table => Ok(table.meta.number),
        Some(table) => table.reader()?.get_until(stage, key),
        None => Ok(0),
    }
}

fn table_of<'v>(view: &'v View, key: &[u8]) -> Option<&'v Arc<Table>> {
    view.levels
        .all_runs()
        .find_map(|(_, run)| run.table_for(key))
}

/// The hash that all filters share.
pub fn hash(key: &[u8]) -> u64 {
    hash_key(key)
}

/// One table of the default keyspace.
#[derive(Debug)]
pub struct OpenTable(Arc<TableReader>);

/// All tables of the default keyspace: newer levels first, and within a level in its order.
///
/// # Errors
/// If a table cannot be opened.
pub fn tables(db: &Db) -> Result<Vec<OpenTable>> {
    let view = db.state().view.load_full();
    let readers = view.levels.tables().map(|(_, table)| table.reader());
    readers
        .map(|reader| Ok(OpenTable(reader?.clone())))
        .collect()
}

impl OpenTable {
    /// The number of its file.
    pub fn number(&self) -> u64 {
        self.0.summary().number
    }

    /// How many blocks it has.
    pub fn blocks(&self) -> u64 {
        self.0.blocks()
    }

    /// Goes on with a get up to `stage`, from [`Stage::Filter`] to [`Stage::Pin`].
    ///
    /// # Errors
    /// If a block cannot be read or is damaged.
    pub fn get_until(&self, stage: Stage, key: &[u8]) -> Result<u64> {
        self.0.get_until(stage, key)
    }

    /// The block that holds the first entry at or after `key`, and its number.
    ///
    /// # Errors
    /// If a block cannot be read or is damaged.
    pub fn hold_block(&self, key: &[u8]) -> Result<Option<(u64, HeldBlock)>> {
        self.0.hold_block(key)
    }

    /// What a block holds; it stays in the cache if `fill_cache`.
    ///
    /// # Errors
    /// If it cannot be read or is damaged.
    pub fn block_size(&self, block: u64, fill_cache: bool) -> Result<BlockSize> {
        self.0.block_size(block, fill_cache)
    }
}

/// A merge of everything in the default keyspace, every version of every key.
pub struct Merge(MergeCursor<Source>);

/// A merge that stands nowhere.
///
/// # Errors
/// If a table cannot be opened.
pub fn merge(db: &Db) -> Result<Merge> {
    let view = db.state().view.load_full();
    let memtables = view.memtables();
    let mut sources: Vec<Source> = memtables.map(|m| Source::Memtable(m.cursor())).collect();
    for (_, table) in view.levels.tables() {
        sources.push(Source::Table(Box::new(table.reader()?.cursor(true))));
    }
    Ok(Merge(MergeCursor::new(sources)))
}

impl Merge {
    /// Goes to the first entry.
    ///
    /// # Errors
    /// If a block cannot be read or is damaged.
    pub fn first(&mut self) -> Result<()> {
        self.0.seek_first()
    }

    /// Goes one entry on and gives the length of its key; `None` behind the last.
    ///
    /// # Errors
    /// If a block cannot be read or is damaged.
    pub fn step(&mut self) -> Result<Option<usize>> {
        self.0.next()?;
        Ok(self.0.valid().then(|| self.0.key().len()))
    }
}

/// A memtable alone.
#[derive(Debug, Default)]
pub struct WriteBuffer(Memtable);

impl WriteBuffer {
    /// Inserts a value.
    ///
    /// # Errors
    /// If the key or value is too long.
    pub fn put(&self, key: &[u8], sequence: u64, value: &[u8]) -> Result<()> {
        self.0.insert(key, sequence, EntryKind::Put, value)
    }

    /// The length of the newest value of `key`.
    pub fn get(&self, key: &[u8]) -> Option<usize> {
        Some(self.0.get(key, MAX_SEQUENCE)?.value.len())
    }
}

/// A log alone.
#[derive(Debug)]
pub struct Log {
    writer: LogWriter,
    operations: Operations,
    sequence: u64,
}

impl Log {
    /// Makes an empty log in `directory`, whose frames all put these pairs.
    ///
    /// # Errors
    /// If it exists or cannot be made.
    pub fn create(fs: &dyn FileSystem, directory: &Path, pairs: &[(&[u8], &[u8])]) -> Result<Log> {
        let mut operations = Operations::default();
        for (key, value) in pairs {
            operations.push_put(0, key, value);
        }
        Ok(Log {
            writer: LogWriter::create(fs, directory, 1)?,
            operations,
            sequence: 1,
        })
    }

    /// Appends one frame, not synced.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn append(&mut self) -> Result<()> {
        let (bytes, count) = (self.operations.bytes(), self.operations.count());
        self.writer.append(self.sequence, bytes, count)?;
        self.sequence += u64::from(count);
        Ok(())
    }
}
