//! fjall as a [`Store`]: one keyspace.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::fjall::compaction::Leveled;
use ::fjall::config::{
    BlockSizePolicy, BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry,
    PartitioningPolicy, PinningPolicy,
};
use ::fjall::{
    AbstractTree, CompressionType, Database, Guard, Iter, Keyspace, KeyspaceCreateOptions,
    PersistMode, UserKey, UserValue,
};
use ::rhumb::Compression;

use super::pages::Pages;
use super::{Counters, Cursor, Footprint, Settings, Store, Temperature};
use crate::data::Pairs;
use crate::error::{Error, Result};

const NAME: &str = "fjall";
/// The interval at which the end of background work is checked.
const POLL: Duration = Duration::from_millis(5);

/// Opens or creates a store in a directory that exists.
///
/// # Errors
/// Any error of fjall; [`Error::Usage`] for compression other than LZ4.
pub fn open(
    directory: &Path,
    settings: &Settings,
    temperature: Temperature,
) -> Result<Box<dyn Store>> {
    let options = options(settings)?;
    let cache_bytes = settings.cache(temperature);
    let builder = Database::builder(directory).cache_size(cache_bytes);
    let database = builder.open().map_err(failed)?;
    let keyspace = database.keyspace("pairs", || options).map_err(failed)?;
    Ok(Box::new(Fjall {
        keyspace,
        database,
        pages: Pages::if_cold(temperature, directory)?,
        persist: match settings.sync {
            true => PersistMode::SyncData,
            false => PersistMode::Buffer,
        },
    }))
}

fn options(settings: &Settings) -> Result<KeyspaceCreateOptions> {
    let table = &settings.table;
    let filter = match table.filter_bits_per_key {
        0 => FilterPolicyEntry::None,
        bits => FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(bits as f32)),
    };
    let compression = match table.compression {
        Compression::None => CompressionType::None,
        Compression::Lz4 => CompressionType::Lz4,
        _ => return Err(super::no_zstd(NAME)),
    };
    let strategy = Leveled::default().with_table_target_size(table.table_bytes);
    // Indexes and filters are whole and on the heap, as ours are. By default fjall partitions those
    // of its lower levels and keeps them in the cache.
    Ok(KeyspaceCreateOptions::default()
        .index_block_partitioning_policy(PartitioningPolicy::all(false))
        .filter_block_partitioning_policy(PartitioningPolicy::all(false))
        .index_block_pinning_policy(PinningPolicy::all(true))
        .filter_block_pinning_policy(PinningPolicy::all(true))
        .filter_policy(FilterPolicy::all(filter))
        .data_block_size_policy(BlockSizePolicy::all(4096))
        .data_block_compression_policy(CompressionPolicy::all(compression))
        .max_memtable_size(settings.write_buffer_bytes)
        .compaction_strategy(Arc::new(strategy)))
}

fn failed(error: ::fjall::Error) -> Error {
    super::failed(NAME, error)
}

// Fields are dropped in order. fjall ends its threads when the last handle of the database drops.
struct Fjall {
    keyspace: Keyspace,
    database: Database,
    pages: Option<Pages>,
    persist: PersistMode,
}

impl Store for Fjall {
    fn write(&self, batch: &Pairs) -> Result<()> {
        let mut writes = self.database.batch().durability(Some(self.persist));
        for (key, value) in batch.iter() {
            writes.insert(&self.keyspace, key, value);
        }
        writes.commit().map_err(failed)
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        let mut writes = self.database.batch().durability(Some(self.persist));
        writes.remove(&self.keyspace, key);
        writes.commit().map_err(failed)
    }

    fn flush(&self) -> Result<()> {
        self.keyspace.rotate_memtable_and_wait().map_err(failed)?;
        while self.database.outstanding_flushes() > 0 || self.database.active_compactions() > 0 {
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    fn settle(&self) -> Result<()> {
        self.flush()?;
        self.keyspace.major_compact().map_err(failed)
    }

    fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool> {
        into.clear();
        let value = self.keyspace.get(key).map_err(failed)?;
        if let Some(value) = &value {
            into.extend_from_slice(value);
        }
        Ok(value.is_some())
    }

    fn with_cursor(&self, with: &mut dyn FnMut(&mut dyn Cursor) -> Result<()>) -> Result<()> {
        with(&mut Forward {
            keyspace: &self.keyspace,
            pairs: None,
            pair: None,
        })
    }

    fn cool(&self) -> Result<()> {
        self.pages.as_ref().map_or(Ok(()), Pages::leave)
    }

    fn footprint(&self) -> Result<Option<Footprint>> {
        let tree = &self.keyspace.tree;
        Ok(Some(Footprint {
            index: tree.pinned_block_index_size() as u64,
            filter: tree.pinned_filter_size() as u64,
            tables: tree.table_count() as u64,
            cache: Some(self.database.cache_size()),
            ..Footprint::default()
        }))
    }

    fn counters(&self) -> Result<Counters> {
        let mut counters = Counters::default();
        let merges = self.database.compactions_completed() as u64;
        counters.put("merges", merges, "merges");
        Ok(counters)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// A cursor; each seek makes an iterator, since those of fjall have no seek.
struct Forward<'a> {
    keyspace: &'a Keyspace,
    pairs: Option<Iter>,
    pair: Option<(UserKey, UserValue)>,
}

impl Cursor for Forward<'_> {
    fn seek(&mut self, key: &[u8]) -> Result<bool> {
        self.pairs = Some(self.keyspace.range(key..));
        self.advance()
    }

    fn advance(&mut self) -> Result<bool> {
        let next = self.pairs.as_mut().and_then(Iter::next);
        self.pair = next.map(Guard::into_inner).transpose().map_err(failed)?;
        Ok(self.pair.is_some())
    }

    fn pair(&self) -> (&[u8], &[u8]) {
        let pair = self.pair.as_ref();
        pair.map_or((&[], &[]), |(key, value)| (key, value))
    }
}
