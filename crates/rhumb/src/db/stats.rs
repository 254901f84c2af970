//! What a store says of itself.

use std::collections::BTreeMap;
use std::time::Duration;

/// A store's state and what it did since it was opened. Sizes are bytes.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    /// One entry a keyspace, by name.
    pub keyspaces: Vec<KeyspaceStats>,
    /// What gets did.
    pub reads: ReadStats,
    /// What iterators did.
    pub scans: ScanStats,
    /// What writes, flushes and compactions did.
    pub writes: WriteStats,
    /// Blocks in memory now.
    pub cache_bytes: u64,
    /// Blocks that may be in memory.
    pub cache_capacity: u64,
    /// More of the blocks in memory.
    pub cache: CacheStats,
    /// Logs on disk.
    pub log_bytes: u64,
    /// What opening the store found.
    pub recovery: RecoveryStats,
}

/// One keyspace.
#[derive(Debug, Clone, Default)]
pub struct KeyspaceStats {
    /// Its name.
    pub name: String,
    /// Its levels, from level 0.
    pub levels: Vec<LevelStats>,
    /// Memory of its write buffers.
    pub memtable_bytes: u64,
    /// Memory of its tables' indexes.
    pub index_bytes: u64,
    /// Memory of its tables' directories.
    pub directory_bytes: u64,
    /// Memory of its tables' filters.
    pub filter_bytes: u64,
    /// Memory of its tables' key maps.
    pub key_map_bytes: u64,
    /// Memory of its tables' range deletes.
    pub range_delete_bytes: u64,
    /// Entries in its tables, old versions and deletes included.
    pub entries: u64,
    /// How many of its tables fell back to fence pointers.
    pub fallbacks: u64,
    /// How many of its tables have which index.
    pub index_kinds: BTreeMap<String, u64>,
}

/// One level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LevelStats {
    /// Number of sorted runs.
    pub runs: u64,
    /// Number of tables.
    pub tables: u64,
    /// Their bytes on disk.
    pub bytes: u64,
    /// Their entries.
    pub entries: u64,
}

/// The memory of blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Memory in use for blocks: frames, full or free, their headers, and what finds them. Stays
    /// within [`Stats::cache_capacity`] and a thirty-second of it.
    pub memory_bytes: u64,
    /// Of this, what finds the blocks: 4 bytes for each block of a table that has some in memory.
    pub slot_bytes: u64,
    /// Blocks that cannot be removed now, because values or iterators lie in them.
    pub pinned_blocks: u64,
    /// Their bytes.
    pub pinned_bytes: u64,
    /// How many blocks were removed to make room since the store was opened.
    pub evictions: u64,
    /// How many blocks were read that found no room: all was pinned, or the cache is too small for
    /// them. They are read again the next time.
    pub bypassed: u64,
    /// The bytes of those that values or iterators still lie in; not part of the memory above.
    pub bypassed_bytes: u64,
}

/// Counts of gets since the store was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadStats {
    /// Keys looked up.
    pub gets: u64,
    /// Of these, answered by a write buffer.
    pub memtable_hits: u64,
    /// Tables asked.
    pub tables_probed: u64,
    /// Tables whose filter said no.
    pub filter_negative: u64,
    /// Tables whose filter said perhaps.
    pub filter_positive: u64,
    /// Of these, tables that did not hold the key.
    pub filter_false_positive: u64,
    /// Ranks in the windows that models returned.
    pub window_ranks: u64,
    /// Calls that read blocks from files. One may read several that lie side by side.
    pub read_calls: u64,
    /// Blocks read from files. Of those that a call brings, only those that are looked into are
    /// verified, and may stay in memory.
    pub blocks_read: u64,
    /// Bytes of these blocks as they are stored.
    pub bytes_read: u64,
    /// Blocks found in memory.
    pub blocks_cached: u64,
}

/// Counts of iterators since the store was opened. An iterator adds its own when it is dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScanStats {
    /// How often an end of an iterator was placed at its first key. The first step from an end does
    /// that and nothing else.
    pub seeks: u64,
    /// Ranks in the windows that models returned.
    pub window_ranks: u64,
    /// Calls that read blocks from files.
    pub read_calls: u64,
    /// Blocks read from files, those among them that were read ahead in vain.
    pub blocks_read: u64,
    /// Bytes of these blocks as they are stored.
    pub bytes_read: u64,
    /// Blocks found in memory.
    pub blocks_cached: u64,
}

/// Counts of writes since the store was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteStats {
    /// Bytes of keys and values handed in.
    pub user_bytes: u64,
    /// Bytes written to logs.
    pub log_bytes: u64,
    /// Write buffers turned into tables.
    pub flushes: u64,
    /// Bytes of these tables.
    pub flushed_bytes: u64,
    /// What flushes took by the clock, from the sync of the log before them until readers had the
    /// table.
    pub flush_time: Duration,
    /// Of this, building the indexes of the wanted kind for these tables: taking in keys with their
    /// numbers, or the keys between blocks, and encoding. Not the fence pointers that stand by for a
    /// model, the key map, the directory or the filter.
    pub flush_training_time: Duration,
    /// Of this, the calls that created, wrote and synced these tables.
    pub flush_write_time: Duration,
    /// Merges of tables.
    pub compactions: u64,
    /// Tables moved down a level without being read.
    pub trivial_moves: u64,
    /// Bytes read by merges.
    pub compaction_bytes_read: u64,
    /// Bytes written by merges.
    pub compaction_bytes_written: u64,
    /// What merges took by the clock, until readers had their tables: the sum over merges, of which
    /// several may have run at one time.
    pub compaction_time: Duration,
    /// Of this, building the indexes of the tables they wrote, as in
    /// [`WriteStats::flush_training_time`].
    pub compaction_training_time: Duration,
    /// Of this, the calls that read blocks.
    pub compaction_read_time: Duration,
    /// Of this, the calls that created, wrote and synced tables.
    pub compaction_write_time: Duration,
    /// How often a write was slowed down.
    pub slowdowns: u64,
    /// How often a write had to wait for a flush or a merge.
    pub stalls: u64,
    /// The longest time a write was held up.
    pub longest_stall: Duration,
    /// How often for which reason.
    pub stall_reasons: BTreeMap<String, u64>,
}

impl WriteStats {
    /// Bytes written to files for each byte handed in; 0 where nothing was.
    pub fn write_amplification(&self) -> f64 {
        let written = self.log_bytes + self.flushed_bytes + self.compaction_bytes_written;
        if self.user_bytes == 0 {
            0.0
        } else {
            written as f64 / self.user_bytes as f64
        }
    }
}

/// What opening the store found in its logs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecoveryStats {
    /// Commit groups read from logs.
    pub log_frames: u64,
    /// Operations put back into write buffers.
    pub log_operations: u64,
    /// Bytes of writes under way when the store was cut off, never acknowledged as durable.
    pub torn_bytes: u64,
}
