//! rhumb as a [`Store`].

use std::path::Path;

use ::rhumb::fs::Access;
use ::rhumb::internals::{self, BlockSize};
use ::rhumb::{Db, Durability, IndexSpec, KeyspaceStats, Options, Stats, TableSpec, WriteBatch};

use super::{COLD_CACHE_BYTES, Footprint, Reads, Store, Temperature, Writes};
use crate::data::Pairs;
use crate::error::Result;

/// The options with which rhumb is opened; all others have their defaults.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The index of its tables.
    pub index: IndexSpec,
    /// The layout of its tables.
    pub table: TableSpec,
    /// Bytes of the block cache when warm.
    pub cache_bytes: u64,
    /// Bytes of writes buffered before they become a table.
    pub write_buffer_bytes: u64,
}

impl Settings {
    /// Opens or creates a store.
    ///
    /// # Errors
    /// Any error of rhumb.
    pub fn open(&self, directory: &Path, temperature: Temperature) -> Result<Box<dyn Store>> {
        Ok(Box::new(Rhumb(self.db(directory, temperature)?)))
    }

    /// Opens or creates a store as a [`Db`].
    ///
    /// # Errors
    /// Any error of rhumb.
    pub fn db(&self, directory: &Path, temperature: Temperature) -> Result<Db> {
        let (cache_bytes, access) = match temperature {
            Temperature::Warm => (self.cache_bytes, Access::Buffered),
            Temperature::Cold => (COLD_CACHE_BYTES, Access::Direct),
        };
        let options = Options {
            index: self.index.clone(),
            table: self.table.clone(),
            write_buffer_bytes: self.write_buffer_bytes,
            cache_bytes,
            access,
            ..Options::default()
        };
        Ok(Db::open(directory, options)?)
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
pub struct Rhumb(pub Db);

impl Footprint {
    /// The footprint according to the statistics of our own store.
    pub fn of(stats: &Stats) -> Footprint {
        let sum = |of: fn(&KeyspaceStats) -> u64| stats.keyspaces.iter().map(of).sum();
        Footprint {
            index: sum(|k| k.index_bytes),
            directory: sum(|k| k.directory_bytes),
            filter: sum(|k| k.filter_bytes),
            key_map: sum(|k| k.key_map_bytes),
            tables: sum(|k| k.levels.iter().map(|level| level.tables).sum()),
            fallbacks: sum(|k| k.fallbacks),
            cache: Some(stats.cache_bytes),
        }
    }
}

impl Store for Rhumb {
    fn write(&self, batch: &Pairs) -> Result<()> {
        let mut writes = WriteBatch::new();
        for (key, value) in batch.iter() {
            writes.put(&self.0, key, value)?;
        }
        Ok(self.0.write_with(writes, Durability::Buffered)?)
    }

    fn settle(&self) -> Result<()> {
        Ok(self.0.compact_range(None, None)?)
    }

    fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool> {
        into.clear();
        let Some(value) = self.0.get(key)? else {
            return Ok(false);
        };
        into.extend_from_slice(&value);
        Ok(true)
    }

    fn scan(&self, start: &[u8], count: usize, into: &mut Pairs) -> Result<()> {
        into.clear();
        let mut pairs = self.0.range(start..)?;
        for _ in 0..count {
            if !pairs.advance()? {
                break;
            }
            into.push(pairs.key(), pairs.value());
        }
        Ok(())
    }

    fn footprint(&self) -> Result<Option<Footprint>> {
        Ok(Some(Footprint::of(&self.0.stats()?)))
    }

    fn blocks(&self) -> Result<Option<Vec<BlockSize>>> {
        Ok(Some(block_sizes(&self.0)?))
    }

    fn reads(&self) -> Result<Option<Reads>> {
        let reads = self.0.stats()?.reads;
        Ok(Some(Reads {
            gets: reads.gets,
            probes: reads.filter_positive,
            blocks: reads.blocks_read + reads.blocks_cached,
            blocks_read: reads.blocks_read,
            bytes_read: reads.bytes_read,
            window_ranks: reads.window_ranks,
        }))
    }

    fn writes(&self) -> Result<Option<Writes>> {
        let writes = self.0.stats()?.writes;
        Ok(Some(Writes {
            bytes: writes.log_bytes + writes.flushed_bytes + writes.compaction_bytes_written,
            slowdowns: writes.slowdowns,
            stalls: writes.stalls,
            longest_stall: writes.longest_stall,
        }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.0.close()?)
    }
}
