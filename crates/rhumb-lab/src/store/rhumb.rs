//! rhumb as a [`Store`].

use std::path::Path;
use std::sync::Arc;

use ::rhumb::fs::{Access, OsFileSystem};
use ::rhumb::internals::{self, BlockSize, GetTimes};
use ::rhumb::{
    Compaction, Db, Durability, IndexSpec, Iter, KeyspaceStats, Levels, Options, Stats, TableSpec,
    Tuner, TunerStats, WriteBatch,
};

use super::pointers::MEMORY_BYTES;
use super::{Answer, COLD_CACHE_BYTES, Counters, Cursor, Footprint, Store, Temperature, Values};
use crate::data::Pairs;
use crate::error::Result;
use crate::measure::{Disk, ThrottledFs};

/// The options with which rhumb is opened; all others have their defaults.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The index of its tables.
    pub index: IndexSpec,
    /// The layout of its tables.
    pub table: TableSpec,
    /// Bytes of the block cache when warm.
    pub cache_bytes: u64,
    /// Bytes of the block cache when cold.
    pub cold_cache_bytes: u64,
    /// Bytes of writes buffered before they become a table.
    pub write_buffer_bytes: u64,
    /// How its levels grow.
    pub levels: Levels,
    /// Who chooses the index and the layout of new tables.
    pub tuner: Tuner,
    /// The number of threads that merge tables; 0 for the default.
    pub compaction_threads: usize,
    /// How much of value files may be garbage, in percent of what is in use.
    pub over_provision_percent: u32,
    /// Whether a warm store reads past the page cache, as a cold one does.
    pub direct: bool,
    /// Whether each write is durable before it returns.
    pub sync: bool,
    /// The disk that its file system waits for, if it imitates one.
    pub slow: Option<Disk>,
    /// Bytes of memory of a hybrid index of the lab; rhumb has no use for it.
    pub memory_bytes: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        let options = Options::default();
        Settings {
            index: options.index,
            table: options.table,
            cache_bytes: options.cache_bytes,
            cold_cache_bytes: COLD_CACHE_BYTES,
            write_buffer_bytes: options.write_buffer_bytes,
            levels: options.levels,
            tuner: options.tuner,
            compaction_threads: options.compaction_threads,
            over_provision_percent: options.over_provision_percent,
            direct: false,
            sync: false,
            slow: None,
            memory_bytes: MEMORY_BYTES,
        }
    }
}

impl Settings {
    /// Opens or creates a store.
    ///
    /// # Errors
    /// Any error of rhumb.
    pub fn open(&self, directory: &Path, temperature: Temperature) -> Result<Box<dyn Store>> {
        Ok(Box::new(self.store(directory, temperature)?))
    }

    /// The same, as what it is.
    ///
    /// # Errors
    /// Any error of rhumb.
    pub fn store(&self, directory: &Path, temperature: Temperature) -> Result<Rhumb> {
        Ok(Rhumb {
            db: self.db(directory, temperature)?,
            has_tier: matches!(self.levels.compaction, Compaction::LearnedTier(_)),
        })
    }

    /// Opens or creates a store as a [`Db`].
    ///
    /// # Errors
    /// Any error of rhumb.
    pub fn db(&self, directory: &Path, temperature: Temperature) -> Result<Db> {
        let mut options = Options {
            index: self.index.clone(),
            table: self.table.clone(),
            write_buffer_bytes: self.write_buffer_bytes,
            cache_bytes: self.cache(temperature),
            access: self.access(temperature),
            levels: self.levels,
            tuner: self.tuner,
            compaction_threads: self.compaction_threads,
            over_provision_percent: self.over_provision_percent,
            durability: match self.sync {
                true => Durability::Immediate,
                false => Durability::Buffered,
            },
            ..Options::default()
        };
        if let Some(disk) = self.slow {
            let disk = ThrottledFs::new(Arc::new(OsFileSystem::new()), disk);
            options.file_system = Arc::new(disk);
        }
        Ok(Db::open(directory, options)?)
    }

    /// How tables are read.
    pub fn access(&self, temperature: Temperature) -> Access {
        match temperature {
            Temperature::Warm if !self.direct => Access::Buffered,
            _ => Access::Direct,
        }
    }

    /// Bytes of the block cache.
    pub fn cache(&self, temperature: Temperature) -> u64 {
        match temperature {
            Temperature::Warm => self.cache_bytes,
            Temperature::Cold => self.cold_cache_bytes,
        }
    }
}

/// What each block of a store holds, in the order of its tables; each is brought into memory.
///
/// # Errors
/// If one cannot be read.
pub fn block_sizes(db: &Db) -> Result<Vec<BlockSize>> {
    let mut sizes = Vec::new();
    for table in internals::tables(db)? {
        for block in 0..table.blocks() {
            sizes.push(table.block_size(block, true)?);
        }
    }
    Ok(sizes)
}

/// An open store.
pub struct Rhumb {
    pub db: Db,
    /// Whether its last level is a learned tier.
    pub has_tier: bool,
}

impl Footprint {
    /// The footprint according to the statistics of our own store.
    pub fn of(stats: &Stats) -> Footprint {
        let sum = |of: fn(&KeyspaceStats) -> u64| stats.keyspaces.iter().map(of).sum();
        Footprint {
            index: sum(|k| k.index_bytes),
            directory: sum(|k| k.directory_bytes),
            filter: sum(|k| k.filter_bytes + k.above_filter_bytes),
            key_map: sum(|k| k.key_map_bytes),
            tables: sum(|k| k.levels.iter().map(|level| level.tables).sum()),
            table_bytes: Some(sum(|k| k.levels.iter().map(|level| level.bytes).sum())),
            levels: Some(sum(|k| {
                let levels = k.levels.iter();
                levels.filter(|level| level.tables > 0).count() as u64
            })),
            fallbacks: sum(|k| k.fallbacks),
            cache: Some(stats.cache_bytes),
        }
    }
}

impl Store for Rhumb {
    fn write(&self, batch: &Pairs) -> Result<()> {
        let mut writes = WriteBatch::new();
        for (key, value) in batch.iter() {
            writes.put(&self.db, key, value)?;
        }
        Ok(self.db.write(writes)?)
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        Ok(self.db.delete(key)?)
    }

    fn flush(&self) -> Result<()> {
        self.db.flush()?;
        self.db.settle();
        Ok(())
    }

    fn settle(&self) -> Result<()> {
        Ok(self.db.compact_range(None, None)?)
    }

    fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool> {
        into.clear();
        let Some(value) = self.db.get(key)? else {
            return Ok(false);
        };
        into.extend_from_slice(&value);
        Ok(true)
    }

    fn get_many(&self, keys: &[&[u8]], into: &mut Values) -> Result<()> {
        into.clear();
        let found = self.db.multi_get(keys)?;
        found.iter().for_each(|value| into.push(value.as_ref()));
        Ok(())
    }

    fn get_timed(&self, key: &[u8]) -> Result<Option<GetTimes>> {
        Ok(Some(internals::get_timed(&self.db, key)?))
    }

    fn answer(&self, key: &[u8]) -> Result<Option<Answer>> {
        let explanation = self.db.explain_get(key)?;
        Ok(Some(Answer::of(&explanation, self.has_tier)))
    }

    fn with_cursor(&self, with: &mut dyn FnMut(&mut dyn Cursor) -> Result<()>) -> Result<()> {
        with(&mut Forward(self.db.iter()?))
    }

    fn footprint(&self) -> Result<Option<Footprint>> {
        Ok(Some(Footprint::of(&self.db.stats()?)))
    }

    fn blocks(&self) -> Result<Option<Vec<BlockSize>>> {
        Ok(Some(block_sizes(&self.db)?))
    }

    fn tuner(&self) -> Result<Option<TunerStats>> {
        let stats = self.db.stats()?;
        Ok(stats.keyspaces.into_iter().find_map(|k| k.tuner))
    }

    fn counters(&self) -> Result<Counters> {
        Ok(counters(&self.db.stats()?))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.db.close()?)
    }
}

/// A cursor that moves forwards.
struct Forward<'db>(Iter<'db>);

impl Cursor for Forward<'_> {
    fn seek(&mut self, key: &[u8]) -> Result<bool> {
        self.0.seek(key);
        Ok(self.0.advance()?)
    }

    fn advance(&mut self) -> Result<bool> {
        Ok(self.0.advance()?)
    }

    fn pair(&self) -> (&[u8], &[u8]) {
        (self.0.key(), self.0.value())
    }
}

/// The counters of gets, of scans and of writes.
fn counters(stats: &Stats) -> Counters {
    let mut counters = Counters::default();
    let (reads, scans, writes) = (&stats.reads, &stats.scans, &stats.writes);
    for (name, value, unit) in [
        ("gets", reads.gets, "gets"),
        ("get_probes", reads.filter_positive, "tables"),
        (
            "get_blocks",
            reads.blocks_read + reads.blocks_cached,
            "blocks",
        ),
        ("get_blocks_read", reads.blocks_read, "blocks"),
        ("get_bytes_read", reads.bytes_read, "B"),
        ("get_window_ranks", reads.window_ranks, "ranks"),
        ("model_probes", reads.model_probes, "tables"),
        ("tier_probed", reads.tier_probed, "gets"),
        ("tier_hits", reads.tier_hits, "gets"),
        ("above_negative", reads.above_negative, "gets"),
        ("above_false_positive", reads.above_false_positive, "gets"),
        ("scan_blocks_read", scans.blocks_read, "blocks"),
        ("scan_read_calls", scans.read_calls, "calls"),
        ("scan_bytes_read", scans.bytes_read, "B"),
        ("flushes", writes.flushes, "flushes"),
        ("merges", writes.compactions, "merges"),
        ("modelled_tables", writes.modelled_tables, "tables"),
        ("value_collections", writes.collections, "merges"),
        ("moved_value_bytes", writes.moved_value_bytes, "B"),
        // Tables that came to their level without a merge: moved there, or written there at once.
        (
            "trivial_moves",
            writes.trivial_moves + writes.direct_placements,
            "tables",
        ),
        ("log_bytes", writes.log_bytes, "B"),
        ("flushed_bytes", writes.flushed_bytes, "B"),
        ("merged_bytes", writes.compaction_bytes_written, "B"),
        ("slowdowns", writes.slowdowns, "slowdowns"),
        ("stalls", writes.stalls, "stalls"),
    ] {
        counters.put(name, value, unit);
    }
    for (name, time) in [
        ("flush_time", writes.flush_time),
        ("merge_time", writes.compaction_time),
        ("flush_training_time", writes.flush_training_time),
        ("merge_training_time", writes.compaction_training_time),
        ("model_time", writes.model_time),
        ("flush_write_time", writes.flush_write_time),
        ("merge_write_time", writes.compaction_write_time),
        ("merge_read_time", writes.compaction_read_time),
        ("longest_stall", writes.longest_stall),
    ] {
        counters.put(name, time.as_nanos() as u64, "ns");
    }
    counters
}
