//! Access to parts of the store, for the benches and the lab only. Unstable: it changes with the
//! parts, without a change of the version number.

mod reindex;

use std::path::Path;
use std::sync::Arc;

use crate::cursor::{MergeCursor, Source};
use crate::db::Db;
use crate::db::read::lookup::Lookup;
use crate::db::read::view::View;
use crate::entry::operations::Operations;
use crate::entry::{Cursor, EntryKind, MAX_SEQUENCE};
use crate::error::Result;
use crate::fs::FileSystem;
use crate::memtable::Memtable;
pub use crate::table::{BlockSize, GetTimes, HeldBlock, Stage};
use crate::table::{TableReader, TimedGet, hash_key};
pub use crate::tune::replayed_regret;
use crate::version::Table;
use crate::wal::LogWriter;
pub use reindex::reindex;

/// Looks `key` up in the default keyspace and stops after `stage`. For stores whose tables are one
/// sorted run, as [`crate::Keyspace::compact_range`] leaves them. The cost of a stage is the
/// difference to the time of the stage before, which may be measured with other random keys. While
/// blocks are read from files, the keys of two stages must differ, since the first look-up leaves
/// blocks in memory for the second. For other stores, or many reads, see [`get_timed`]. Returns a
/// number that depends on all the work, so that the compiler keeps it.
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
    let found = view.active.get(key, hash_key(key), visible);
    if stage == Stage::WriteBuffer || covered.is_some() || found.is_some() {
        return Ok(found.map_or(0, |version| version.sequence));
    }
    match table_of(&view, key) {
        Some(table) if stage == Stage::Table => Ok(table.meta.number),
        Some(table) => table.reader()?.get_until(stage, key),
        None => Ok(0),
    }
}

/// Looks `key` up in the default keyspace and returns the times of the parts of the get. For any
/// store, whether its blocks are in memory or not. The statistics of the store do not count this
/// get.
///
/// # Errors
/// If a file cannot be read or is damaged.
pub fn get_timed(db: &Db, key: &[u8]) -> Result<GetTimes> {
    let mut get = TimedGet::start();
    let view = db.state().view.load();
    let mut lookup = Lookup::new(key, db.handle.store.visible());
    lookup.ask_memtables(&view);
    get.lap(|times| &mut times.write_buffers);
    for (level, run) in view.levels.all_runs() {
        if level > 0 && lookup.decided() {
            break;
        }
        let table = run.table_for(key);
        if let Some(table) = table {
            table.reader()?;
        }
        get.lap(|times| &mut times.tables);
        get.times.runs += 1;
        if let Some(table) = table.filter(|table| lookup.may_be_changed_by(level, table)) {
            lookup.ask_table_timed(table, &mut get)?;
        }
    }
    get.times.found = lookup.take_answer().is_some();
    Ok(get.times)
}

fn table_of<'v>(view: &'v View, key: &[u8]) -> Option<&'v Arc<Table>> {
    view.levels
        .all_runs()
        .find_map(|(_, run)| run.table_for(key).map(|found| found.table))
}

/// The hash of a key that all filters use.
pub fn hash(key: &[u8]) -> u64 {
    hash_key(key)
}

/// A table of the default keyspace.
#[derive(Debug)]
pub struct OpenTable(Arc<TableReader>);

/// All tables of the default keyspace: level by level, and within a level in the order of its runs.
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
    /// The number of the table's file.
    pub fn number(&self) -> u64 {
        self.0.summary().number
    }

    /// The number of blocks.
    pub fn blocks(&self) -> u64 {
        self.0.blocks()
    }

    /// Continues a get up to `stage`, from [`Stage::Filter`] to [`Stage::Pin`].
    ///
    /// # Errors
    /// If a block cannot be read or is damaged.
    pub fn get_until(&self, stage: Stage, key: &[u8]) -> Result<u64> {
        self.0.get_until(stage, key)
    }

    /// The block that holds the first entry at or after `key`, with its number.
    ///
    /// # Errors
    /// If a block cannot be read or is damaged.
    pub fn hold_block(&self, key: &[u8]) -> Result<Option<(u64, HeldBlock)>> {
        self.0.hold_block(key)
    }

    /// The sizes of a block. If `fill_cache`, the block stays in memory.
    ///
    /// # Errors
    /// If it cannot be read or is damaged.
    pub fn block_size(&self, block: u64, fill_cache: bool) -> Result<BlockSize> {
        self.0.block_size(block, fill_cache)
    }
}

/// A merge cursor over all entries of the default keyspace, including old versions.
pub struct Merge(MergeCursor<Source>);

/// A merge cursor that is not positioned.
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
    /// Moves to the first entry.
    ///
    /// # Errors
    /// If a block cannot be read or is damaged.
    pub fn first(&mut self) -> Result<()> {
        self.0.seek_first()
    }

    /// Moves to the next entry and returns the length of its key; `None` after the last.
    ///
    /// # Errors
    /// If a block cannot be read or is damaged.
    pub fn step(&mut self) -> Result<Option<usize>> {
        self.0.next()?;
        Ok(self.0.valid().then(|| self.0.key().len()))
    }
}

/// A separate memtable.
#[derive(Debug, Default)]
pub struct WriteBuffer(Memtable);

impl WriteBuffer {
    /// Inserts a value.
    ///
    /// # Errors
    /// If the key or value is too long.
    pub fn put(&self, key: &[u8], sequence: u64, value: &[u8]) -> Result<()> {
        self.put_all(&[key], sequence, value)
    }

    /// Inserts values of some keys at once, with sequences from `first` on.
    ///
    /// # Errors
    /// If a key or the value is too long.
    pub fn put_all<K: AsRef<[u8]>>(&self, keys: &[K], first: u64, value: &[u8]) -> Result<()> {
        let mut writer = self.0.writer();
        (keys.iter().zip(first..)).try_for_each(|(key, sequence)| {
            writer.insert(key.as_ref(), sequence, EntryKind::Put, value)
        })
    }

    /// The length of the newest value of `key`.
    pub fn get(&self, key: &[u8]) -> Option<usize> {
        let newest = self.0.get(key, hash_key(key), MAX_SEQUENCE)?;
        Some(newest.content.into_value().len())
    }
}

/// A separate log.
#[derive(Debug)]
pub struct Log {
    writer: LogWriter,
    operations: Operations,
    sequence: u64,
}

impl Log {
    /// Makes an empty log in `directory`. Each frame appended to it puts `pairs`.
    ///
    /// # Errors
    /// If it exists or cannot be created.
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

    /// Appends a frame, without a sync.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn append(&mut self) -> Result<()> {
        let (bytes, count) = (self.operations.bytes(), self.operations.count());
        self.writer.append(self.sequence, &[bytes], count)?;
        self.sequence += u64::from(count);
        Ok(())
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::options::{Levels, Options};
    use std::time::{Duration, Instant};

    const KEYS: u64 = 6_000;

    fn key(number: u64) -> [u8; 8] {
        (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 1).to_be_bytes()
    }

    /// A store with several levels and a write buffer that is not empty, with a cache of 0 bytes.
    fn store(table: &str) -> Db {
        let options = Options {
            table: table.parse().unwrap(),
            index: "pgm:boundary=16".parse().unwrap(),
            cache_bytes: 0,
            write_buffer_bytes: 32 << 10,
            compaction_threads: 1,
            levels: Levels {
                base_bytes: 64 << 10,
                size_ratio: 2,
                ..Levels::default()
            },
            ..Options::in_memory()
        };
        let db = Db::open("store", options).unwrap();
        for number in 0..KEYS {
            db.put(key(number), [1; 20]).unwrap();
        }
        db.flush().unwrap();
        db.settle();
        db.put(key(0), "newer").unwrap();
        db.delete(key(1)).unwrap();
        db
    }

    #[test]
    fn timed_gets_find_the_same_and_their_parts_add_up() {
        for table in ["partition=entries(1),filter=0,size=16KiB", "size=16KiB"] {
            let db = store(table);
            let levels = &db.stats().unwrap().keyspaces[0].levels;
            assert!(levels.iter().filter(|level| level.tables > 0).count() > 1);
            let mut sum = GetTimes::default();
            for number in (0..KEYS + 500).step_by(7) {
                let key = key(number);
                let start = Instant::now();
                let times = get_timed(&db, &key).unwrap();
                let whole = start.elapsed();
                assert_eq!(times.found, db.get(key).unwrap().is_some(), "key {number}");
                let in_tables = times.filters + times.key_map + times.index;
                let blocks = times.reads + times.search;
                let parts = times.write_buffers + times.tables + in_tables + blocks;
                assert!(parts <= whole, "{times:?} in {whole:?}");
                assert!(times.tables_searched <= times.filters_asked);
                assert!(times.tables_searched > 0 || times.reads == Duration::ZERO);
                sum.runs += times.runs;
                sum.filters_asked += times.filters_asked;
            }
            // Those of the write buffer are the first two keys only.
            assert!(sum.filters_asked > (KEYS / 7) as u32 && sum.runs >= sum.filters_asked);
        }
    }
}
