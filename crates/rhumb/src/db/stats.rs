//! The statistics of a store.

pub(in crate::db) mod counters;
mod measure;
mod text;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::options::KeyspaceOptions;
use crate::tune::TunerStats;

/// A store's state and what it did since it was opened. Sizes are bytes. It displays as text of several lines:
///
/// ```
/// # fn main() -> rhumb::Result<()> {
/// # let db = rhumb::Db::open("example", rhumb::Options::in_memory())?;
/// println!("{}", db.stats()?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Stats {
    /// The keyspaces, sorted by name.
    pub keyspaces: Vec<KeyspaceStats>,
    /// Counts of gets.
    pub reads: ReadStats,
    /// Counts of scans.
    pub scans: ScanStats,
    /// Counts of writes, flushes and compactions.
    pub writes: WriteStats,
    /// The bytes of the blocks in memory.
    pub cache_bytes: u64,
    /// The largest number of bytes of blocks that may be kept in memory.
    pub cache_capacity: u64,
    /// More about the blocks in memory.
    pub cache: CacheStats,
    /// The bytes of the logs on disk.
    pub log_bytes: u64,
    /// What was found in the logs when the store was opened.
    pub recovery: RecoveryStats,
}

/// The state of one keyspace.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct KeyspaceStats {
    /// The name of the keyspace.
    pub name: String,
    /// The options of the keyspace alone.
    pub options: KeyspaceOptions,
    /// Its levels, from level 0.
    pub levels: Vec<LevelStats>,
    /// The memory of the write buffers, including what flushes kept back.
    pub memtable_bytes: u64,
    /// In which order its keys arrive, and what flushes keep back because of it.
    pub order: OrderStats,
    /// The memory of the indexes of tables.
    pub index_bytes: u64,
    /// The memory of the directories of tables.
    pub directory_bytes: u64,
    /// The memory of the filters of tables.
    pub filter_bytes: u64,
    /// The memory of the filter over all that stands above a learned tier.
    pub above_filter_bytes: u64,
    /// The memory of the key maps of tables.
    pub key_map_bytes: u64,
    /// The memory of the range deletes of tables.
    pub range_delete_bytes: u64,
    /// The number of value files.
    pub value_files: u64,
    /// The number of groups of keys ([`TableSpec::value_groups`](crate::TableSpec::value_groups)) whose values these
    /// hold, those of other numbers of groups too.
    pub value_groups: u64,
    /// The bytes of the value files.
    pub value_bytes: u64,
    /// The bytes of those values in them, with their keys, that tables point to. The rest is garbage
    /// ([`Options::over_provision_percent`](crate::Options::over_provision_percent)).
    pub used_value_bytes: u64,
    /// About the bytes of those in use that newer entries hide, so that merges will make garbage of them.
    pub hidden_value_bytes: u64,
    /// The number of entries in tables, including old versions and deletes.
    pub entries: u64,
    /// The number of tables that fell back to fence pointers.
    pub fallbacks: u64,
    /// The number of tables whose keys are found by a model over several of them
    /// ([`Levels::granularity`](crate::Levels::granularity)). The memory of these models counts as that of indexes and key maps.
    pub tables_in_models: u64,
    /// The number of tables with each kind of index.
    pub index_kinds: BTreeMap<String, u64>,
    /// What the tuner knows, if the store has one ([`Options::tuner`](crate::Options::tuner)).
    pub tuner: Option<TunerStats>,
}

/// The order in which the keys of a keyspace arrived in the write buffer that was flushed last. Shares are
/// of its entries, and estimated from a sample.
///
/// Keys that arrive nearly in order are written as tables that do not overlap, and the others are kept in
/// memory until they are in order too, or until they are so many that a table of them pays. This is done
/// while most keys are in order and few are early, and only under leveled compaction.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct OrderStats {
    /// Whether the flush could keep back what arrived late or early.
    pub holds_back: bool,
    /// The share that was in order, or came early before and was now.
    pub in_order: f64,
    /// The share that came after keys beyond it had been flushed.
    pub late: f64,
    /// The share that came before keys on this side of it will have come, together with those that came
    /// so before. More than 1 means that keys are displaced by more than a write buffer.
    pub early: f64,
    /// The number of entries kept back now.
    pub held_entries: u64,
    /// Their memory.
    pub held_bytes: u64,
}

/// The state of one level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LevelStats {
    /// The number of sorted runs.
    pub runs: u64,
    /// The number of tables.
    pub tables: u64,
    /// The bytes of the tables on disk.
    pub bytes: u64,
    /// The number of entries in the tables.
    pub entries: u64,
}

/// The memory that blocks take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// The memory used for blocks: frames, full or free, their headers, and the structures that
    /// find them. At most 33/32 of [`Stats::cache_capacity`].
    pub memory_bytes: u64,
    /// The part of `memory_bytes` used to find blocks: 4 bytes for each block of every table that
    /// has blocks in memory.
    pub slot_bytes: u64,
    /// The number of blocks that cannot be removed now, because values or iterators use them.
    pub pinned_blocks: u64,
    /// The bytes of these pinned blocks.
    pub pinned_bytes: u64,
    /// The number of blocks removed to make room since the store was opened.
    pub evictions: u64,
    /// The number of blocks read that were not kept, because all blocks in memory were pinned,
    /// the cache is too small for them, or a long scan read them. They are read again the next time.
    pub bypassed: u64,
    /// The bytes of the reads that brought those which values or iterators still lie in, and of values that were copied
    /// out of them ([`Value`](crate::Value)); not part of the memory above.
    pub bypassed_bytes: u64,
}

/// Counts of gets since the store was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadStats {
    /// The number of keys looked up.
    pub gets: u64,
    /// The number of gets that a write buffer answered.
    pub memtable_hits: u64,
    /// The number of tables asked.
    pub tables_probed: u64,
    /// The number of tables whose filter excluded the key.
    pub filter_negative: u64,
    /// The number of tables whose filter admitted the key.
    pub filter_positive: u64,
    /// The number of tables whose filter admitted the key although they did not hold it.
    pub filter_false_positive: u64,
    /// The number of tables behind the filter in which a model over several tables said where to look
    /// ([`Levels::granularity`](crate::Levels::granularity)).
    pub model_probes: u64,
    /// The number of gets that asked a table of the last level, which is the learned tier if there is one.
    pub tier_probed: u64,
    /// The number of gets that found their key there.
    pub tier_hits: u64,
    /// The number of gets that the filter over all that stands above a learned tier sent there at once.
    pub above_negative: u64,
    /// The number of gets that it let search for a key which does not stand above the tier.
    pub above_false_positive: u64,
    /// The number of gets that asked for a block of the tier before they searched what stands above it
    /// ([`TierSpec::concurrent_probes`](crate::TierSpec::concurrent_probes)). The block counts as read if it was needed.
    pub tier_ahead: u64,
    /// The number of ranks in the windows that models returned.
    pub window_ranks: u64,
    /// The number of calls that read blocks from files. One call may read several adjacent blocks.
    pub read_calls: u64,
    /// The number of blocks read from files. Of the blocks that a call reads, only those that are
    /// searched are verified and may stay in memory.
    pub blocks_read: u64,
    /// The bytes of the blocks read, as stored.
    pub bytes_read: u64,
    /// The number of blocks found in memory.
    pub blocks_cached: u64,
}

/// Counts of scans since the store was opened. An iterator adds its counts when it is dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanStats {
    /// How often an end of an iterator was positioned: once for each end that was used, at its
    /// first step.
    pub seeks: u64,
    /// The number of ranks in the windows that models returned.
    pub window_ranks: u64,
    /// The number of calls that read blocks from files.
    pub read_calls: u64,
    /// The number of blocks read from files, including those read ahead but not used.
    pub blocks_read: u64,
    /// The bytes of the blocks read, as stored.
    pub bytes_read: u64,
    /// The number of blocks found in memory.
    pub blocks_cached: u64,
}

/// Counts of writes since the store was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteStats {
    /// The bytes of the keys and values that were written by the user, or ingested.
    pub user_bytes: u64,
    /// The bytes written to logs.
    pub log_bytes: u64,
    /// The number of write buffers flushed to tables.
    pub flushes: u64,
    /// The bytes of the tables that flushes wrote.
    pub flushed_bytes: u64,
    /// The elapsed time of flushes, from the sync of the log before each until its table was
    /// visible to readers.
    pub flush_time: Duration,
    /// The part of `flush_time` spent building indexes of the kind asked for: taking in keys with
    /// their numbers, or the keys between blocks, and encoding. Fence pointers built as a fallback
    /// for a model, the key map, the directory and the filter are not included.
    pub flush_training_time: Duration,
    /// The part of `flush_time` spent in the calls that created, wrote and synced the tables.
    pub flush_write_time: Duration,
    /// The number of merges of tables.
    pub compactions: u64,
    /// The number of flushes that kept back part of what was written ([`OrderStats`]).
    pub partial_flushes: u64,
    /// The number of tables that flushes put below level 0 at once, since nothing overlapped them there or
    /// above. They need no merge and no move.
    pub direct_placements: u64,
    /// The number of tables moved down, by one level or several, without being rewritten.
    pub trivial_moves: u64,
    /// The number of tables for which merges made or trained a model over several, each time one was made, and how long
    /// that took, which is part of `compaction_time` where it was trained ([`Levels::granularity`](crate::Levels::granularity)).
    pub modelled_tables: u64,
    /// The time of that.
    pub model_time: Duration,
    /// The number of models that were trained again, since their file was not there, damaged, or of other tables.
    pub renewed_models: u64,
    /// The number of merges that moved values out of value files with much garbage.
    pub collections: u64,
    /// The bytes of the values that they moved, without keys.
    pub moved_value_bytes: u64,
    /// The bytes of the tables that merges read, and of the values that they moved.
    pub compaction_bytes_read: u64,
    /// The bytes written by merges.
    pub compaction_bytes_written: u64,
    /// The elapsed time of merges, until their tables were visible to readers: the sum over all
    /// merges, several of which may have run at the same time.
    pub compaction_time: Duration,
    /// The part of `compaction_time` spent building indexes, as in
    /// [`WriteStats::flush_training_time`].
    pub compaction_training_time: Duration,
    /// The part of `compaction_time` spent in the calls that read blocks.
    pub compaction_read_time: Duration,
    /// The part of `compaction_time` spent in the calls that created, wrote and synced tables.
    pub compaction_write_time: Duration,
    /// The number of tables that were ingested.
    pub ingested_tables: u64,
    /// The bytes of the tables that were ingested.
    pub ingested_bytes: u64,
    /// How often writers were slowed down.
    pub slowdowns: u64,
    /// How often writers had to wait: for a flush, a merge, the next log, or the sync of other writes.
    pub stalls: u64,
    /// The longest time that a writer was held up.
    pub longest_stall: Duration,
    /// What it waited for then, one of those in `stall_reasons`; empty if no writer was held up.
    pub longest_stall_reason: String,
    /// How often writers were slowed down or had to wait, by reason.
    pub stall_reasons: BTreeMap<String, u64>,
}

impl WriteStats {
    /// The bytes written to files for each byte that the user wrote; 0 if the user wrote nothing.
    pub fn write_amplification(&self) -> f64 {
        let tables = self.flushed_bytes + self.ingested_bytes + self.compaction_bytes_written;
        let written = self.log_bytes + tables;
        if self.user_bytes == 0 {
            0.0
        } else {
            written as f64 / self.user_bytes as f64
        }
    }
}

/// What was found in the logs when the store was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecoveryStats {
    /// The number of commit groups read from logs.
    pub log_frames: u64,
    /// The number of operations put back into write buffers.
    pub log_operations: u64,
    /// The bytes of unfinished writes at the ends of logs. They were never acknowledged as durable.
    pub torn_bytes: u64,
}
