//! RocksDB as a [`Store`].

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ::rhumb::Compression;
use ::rhumb::fs::Access;
use ::rhumb::internals::GetTimes;
use ::rocksdb::perf::{PerfContext, PerfMetric, PerfStatsLevel, set_perf_stats};
use ::rocksdb::{
    BlockBasedOptions, Cache, DB, DBCompressionType, DBRawIterator, DEFAULT_COLUMN_FAMILY_NAME,
    Options, ReadOptions, WaitForCompactOptions, WriteBatch, WriteOptions, properties,
};

use super::{Counters, Cursor, Footprint, Settings, Store, Temperature, Values, rocksdb_events};
use crate::data::Pairs;
use crate::error::{Error, Result};

const NAME: &str = "rocksdb";

/// The search in the index of a table.
#[derive(Debug, Clone, Copy)]
pub enum Index {
    /// The default.
    Binary,
    /// By interpolation for all keys.
    Interpolation,
    /// By interpolation where the gaps between an index block's keys vary little: by at most 0.2 of
    /// their mean, the threshold in RocksDB's release notes.
    Auto,
    /// By a succinct trie. RocksDB builds its usual index as well, and keeps both in memory.
    Trie,
}

impl Index {
    /// The setting in RocksDB's options string; the Rust crate has no calls for it.
    fn text(self) -> &'static str {
        match self {
            Index::Binary => "index_block_search_type=kBinary",
            Index::Interpolation => "index_block_search_type=kInterpolation",
            Index::Auto => "index_block_search_type=kAuto;uniform_cv_threshold=0.2",
            Index::Trie => "user_defined_index_factory=trie_index;use_udi_as_primary_index=true",
        }
    }
}

/// Opens or creates a store in a directory that exists.
///
/// # Errors
/// Any error of RocksDB; [`Error::Usage`] for compression other than LZ4.
pub fn open(
    index: Index,
    directory: &Path,
    settings: &Settings,
    temperature: Temperature,
) -> Result<Box<dyn Store>> {
    let options = options(index, settings, temperature)?;
    let mut write = WriteOptions::default();
    write.set_sync(settings.sync);
    Ok(Box::new(Rocksdb {
        log: directory.join("LOG"),
        // Named, so that there is a handle of it.
        db: DB::open_cf_with_opts(
            &options,
            directory,
            [(DEFAULT_COLUMN_FAMILY_NAME, options.clone())],
        )
        .map_err(failed)?,
        read: ReadOptions::default(),
        write,
    }))
}

fn options(index: Index, settings: &Settings, temperature: Temperature) -> Result<Options> {
    let cache_bytes = settings.cache(temperature);
    let mut table = BlockBasedOptions::default();
    table.set_block_size(4096);
    // A cache must have bytes.
    let cache = (cache_bytes > 0).then(|| Cache::new_hyper_clock_cache(cache_bytes as usize, 0));
    match &cache {
        Some(cache) => table.set_block_cache(cache),
        None => table.disable_cache(),
    }
    // On the heap and outside of the cache, as ours are.
    table.set_cache_index_and_filter_blocks(false);
    if settings.table.filter_bits_per_key > 0 {
        table.set_bloom_filter(f64::from(settings.table.filter_bits_per_key), false);
    }

    let mut options = Options::default();
    options.create_if_missing(true);
    let compression = match settings.table.compression {
        Compression::None => DBCompressionType::None,
        Compression::Lz4 => DBCompressionType::Lz4,
        _ => return Err(super::no_zstd(NAME)),
    };
    options.set_compression_type(compression);
    options.set_write_buffer_size(settings.write_buffer_bytes as usize);
    options.set_target_file_size_base(settings.table.table_bytes);
    // Our defaults are those of RocksDB.
    let levels = &settings.levels;
    options.set_max_bytes_for_level_base(levels.base_bytes);
    options.set_max_bytes_for_level_multiplier(f64::from(levels.size_ratio));
    options.set_level_zero_file_num_compaction_trigger(levels.level0_tables as i32);
    if let Some(least) = settings.table.separate_values {
        options.set_enable_blob_files(true);
        options.set_min_blob_size(least.into());
        options.set_enable_blob_gc(true);
        options.set_blob_compression_type(compression);
        if let Some(cache) = &cache {
            options.set_blob_cache(cache);
        }
        // Merges are forced for the oldest files, a quarter of all by default, when garbage is above this share.
        let over_provision = f64::from(settings.over_provision_percent);
        options.set_blob_gc_force_threshold(over_provision / (100.0 + over_provision));
    }
    options.set_use_direct_reads(settings.access(temperature) == Access::Direct);
    options.set_block_based_table_factory(&table);
    // Changes only this part of the table's options set so far.
    let text = format!("block_based_table_factory={{{}}}", index.text());
    options.get_options_from_string(text).map_err(failed)
}

fn failed(error: ::rocksdb::Error) -> Error {
    super::failed(NAME, error)
}

struct Rocksdb {
    db: DB,
    /// What it says of its work, from when it was opened.
    log: PathBuf,
    read: ReadOptions,
    write: WriteOptions,
}

impl Rocksdb {
    fn number(&self, property: &::rocksdb::properties::PropName) -> Result<u64> {
        let number = self.db.property_int_value(property).map_err(failed)?;
        Ok(number.unwrap_or_default())
    }

    /// Bytes of all filters, from RocksDB's text of the properties of its tables.
    fn filter_bytes(&self) -> Result<u64> {
        let about = self
            .db
            .property_value(properties::AGGREGATED_TABLE_PROPERTIES);
        let about = about.map_err(failed)?.unwrap_or_default();
        let mut fields = about.split(';').filter_map(|field| field.split_once('='));
        let bytes = fields.find(|(name, _)| name.trim() == "filter block size");
        bytes
            .and_then(|(_, bytes)| bytes.trim().parse().ok())
            .ok_or_else(|| super::failed(NAME, format!("no \"filter block size\" in \"{about}\"")))
    }
}

impl Store for Rocksdb {
    fn write(&self, batch: &Pairs) -> Result<()> {
        let mut writes = WriteBatch::default();
        for (key, value) in batch.iter() {
            writes.put(key, value);
        }
        self.db.write_opt(writes, &self.write).map_err(failed)
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        self.db.delete_opt(key, &self.write).map_err(failed)
    }

    fn flush(&self) -> Result<()> {
        let mut all = WaitForCompactOptions::default();
        all.set_flush(true);
        self.db.wait_for_compact(&all).map_err(failed)
    }

    fn settle(&self) -> Result<()> {
        self.db.compact_range(None::<&[u8]>, None::<&[u8]>);
        // Returns errors too, which the call above does not.
        self.flush()
    }

    fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool> {
        into.clear();
        let value = self.db.get_pinned_opt(key, &self.read).map_err(failed)?;
        if let Some(value) = &value {
            into.extend_from_slice(value);
        }
        Ok(value.is_some())
    }

    fn get_many(&self, keys: &[&[u8]], into: &mut Values) -> Result<()> {
        into.clear();
        let family = self.db.cf_handle(DEFAULT_COLUMN_FAMILY_NAME);
        let family = family.ok_or_else(|| super::failed(NAME, "no default column family"))?;
        for value in
            self.db
                .batched_multi_get_cf_opt(family, keys.iter().copied(), false, &self.read)
        {
            into.push(value.map_err(failed)?.as_ref());
        }
        Ok(())
    }

    /// By RocksDB's perf context, which has one time for the seeks in the index and in the block: both count as
    /// searching. What it does not time counts as filters.
    fn get_timed(&self, key: &[u8]) -> Result<Option<GetTimes>> {
        let mut context = PerfContext::default();
        // This has the number of RocksDB's `kEnableTimeExceptForMutex`: the crate lacks a level before it.
        set_perf_stats(PerfStatsLevel::EnableTimeAndCPUTimeExceptForMutex);
        context.reset();
        let start = Instant::now();
        let value = self.db.get_pinned_opt(key, &self.read);
        let all = start.elapsed();
        set_perf_stats(PerfStatsLevel::Disable);
        let found = value.map_err(failed)?.is_some();
        let sum = |metrics: [PerfMetric; 2]| {
            Duration::from_nanos(metrics.map(|metric| context.metric(metric)).iter().sum())
        };
        let write_buffers = sum([PerfMetric::GetSnapshotTime, PerfMetric::GetFromMemtableTime]);
        let search = sum([PerfMetric::BlockSeekNanos, PerfMetric::BlockChecksumTime]);
        let reads = sum([PerfMetric::BlockReadTime, PerfMetric::BlockDecompressTime]);
        Ok(Some(GetTimes {
            found,
            write_buffers,
            filters: all.saturating_sub(write_buffers + search + reads),
            reads,
            search,
            ..GetTimes::default()
        }))
    }

    fn with_cursor(&self, with: &mut dyn FnMut(&mut dyn Cursor) -> Result<()>) -> Result<()> {
        with(&mut Forward(
            self.db.raw_iterator_opt(ReadOptions::default()),
        ))
    }

    fn footprint(&self) -> Result<Option<Footprint>> {
        let filter = self.filter_bytes()?;
        // The memory of open tables, filters included, and a few hundred bytes a table in addition.
        let readers = self.number(properties::ESTIMATE_TABLE_READERS_MEM)?;
        let files = self.db.live_files().map_err(failed)?;
        Ok(Some(Footprint {
            index: readers.saturating_sub(filter),
            filter,
            tables: files.len() as u64,
            table_bytes: Some(files.iter().map(|file| file.size as u64).sum()),
            cache: Some(self.number(properties::BLOCK_CACHE_USAGE)?),
            ..Footprint::default()
        }))
    }

    fn counters(&self) -> Result<Counters> {
        let log = std::fs::read_to_string(&self.log);
        let log = log.map_err(Error::io("read", &self.log))?;
        Ok(rocksdb_events::counters(&log))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.db.cancel_all_background_work(true);
        Ok(())
    }
}

/// A cursor that moves forwards.
struct Forward<'db>(DBRawIterator<'db>);

impl Forward<'_> {
    /// Whether the iterator is at a pair; it may also have ended by an error.
    fn is_at_pair(&self) -> Result<bool> {
        if self.0.valid() {
            return Ok(true);
        }
        self.0.status().map_err(failed)?;
        Ok(false)
    }
}

impl Cursor for Forward<'_> {
    fn seek(&mut self, key: &[u8]) -> Result<bool> {
        self.0.seek(key);
        self.is_at_pair()
    }

    fn advance(&mut self) -> Result<bool> {
        self.0.next();
        self.is_at_pair()
    }

    fn pair(&self) -> (&[u8], &[u8]) {
        self.0.item().unwrap_or_default()
    }
}
