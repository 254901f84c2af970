//! What a user can set.

mod keyspace;
mod levels;
mod preset;
mod table;
mod tier;
mod tuner;

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::error::Error;
use crate::fs::{Access, FileSystem, MemoryFileSystem, OsFileSystem};
pub use keyspace::KeyspaceOptions;
pub use levels::{Compaction, Granularity, Levels};
pub use preset::Preset;
pub use table::{Compression, Partition, TableSpec};
pub use tier::{TierForm, TierSpec};
pub(crate) use tuner::PUBLISHED_RATES;
pub use tuner::{Covers, Tuner};

/// When a write is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// After it is on the disk: it survives power loss. Concurrent writers share one sync.
    #[default]
    Immediate,
    /// After it was handed to the operating system: it survives the death of the process, not of
    /// the machine.
    Buffered,
}

/// An error, in the words of the code, if the value of a field is out of its range.
fn check_range(
    field: &str,
    value: impl Into<u64>,
    allowed: RangeInclusive<u64>,
) -> Result<(), Error> {
    let value = value.into();
    if allowed.contains(&value) {
        return Ok(());
    }
    let (least, most) = allowed.into_inner();
    let allowed = match most {
        u64::MAX => format!("at least {least}"),
        _ => format!("a number from {least} to {most}"),
    };
    let message = format!("{field} is {value}: set it to {allowed}");
    Err(Error::InvalidArgument(message))
}

/// A number of bytes such as `4096`, `64KiB`, `64MiB` or `1GiB`.
fn parse_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..)? {
        "" | "B" => 1,
        "KiB" | "K" => 1 << 10,
        "MiB" | "M" => 1 << 20,
        "GiB" | "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// Settings of a store, given when it is opened. None of them is needed to open it again, and all
/// may differ from one opening to the next.
#[derive(Debug, Clone)]
pub struct Options {
    /// Create the store if there is none. Default: yes.
    pub create_if_missing: bool,
    /// Durability of writes that do not say their own, as [`Db::write_with`](crate::Db::write_with) and
    /// [`Keyspace::with_durability`](crate::Keyspace::with_durability) do. Default:
    /// [`Durability::Immediate`].
    pub durability: Durability,
    /// Bytes of writes that one keyspace buffers before they become a table. Of those that arrive out of order,
    /// up to 7/8 as many bytes may be kept for longer ([`OrderStats`](crate::OrderStats)). At least 1.
    /// Default: 64 MiB.
    pub write_buffer_bytes: u64,
    /// Bytes of log that may be kept for buffered writes before the keyspace that holds the oldest
    /// is flushed. At least 1; a new log begins after each quarter of it. Default: 512 MiB.
    pub log_bytes: u64,
    /// Bytes of blocks, and of values that lie in value files, kept in memory, with what finds them; at most 512 GiB are used, and a block
    /// above about 1/256 of it is not kept. Address space for all of it is reserved when the store is
    /// opened, memory is taken as it fills. Default: 256 MiB.
    pub cache_bytes: u64,
    /// The index of new tables, such as `plr:boundary=16`: any of [`rhumb_index::registry::kinds`].
    /// Default: `plr`.
    pub index: rhumb_index::IndexSpec,
    /// The layout of new tables. Default: blocks of about 4 KiB, placed by the model, 10 filter bits, tables of 64 MiB.
    pub table: TableSpec,
    /// Whether the store chooses the index of new tables and how they are cut, beginning with those, or learns models of tables
    /// beside their index. Default: [`Tuner::Off`].
    pub tuner: Tuner,
    /// How levels grow. Default: leveled, ratio 10 over a level 1 of 256 MiB.
    pub levels: Levels,
    /// How many threads merge tables. Default: 0, which stands for as many as the machine has cores
    /// less one, at least 1 and at most 4. At most 64.
    pub compaction_threads: usize,
    /// How many bytes a second merges write, all together and about; 0 for no limit. It keeps them from
    /// taking a device away from reads. There is no limit while writers are slowed down or stalled, since it
    /// would hold them up for longer; flushes have none. Default: 0.
    pub compaction_bytes_per_second: u64,
    /// How much larger the value files of a keyspace ([`TableSpec::separate_values`]) may be than the values in them that
    /// count, in percent, and beyond that by four [write buffers](Options::write_buffer_bytes). The rest of them was
    /// overwritten or deleted; what merges have not met of it is estimated. Tables are rewritten in the background from
    /// three fifths of it on, and writers slowed down where that does not keep up: in the end to about 100 KB a second,
    /// and large batches wait. What snapshots and iterators keep comes to it. With 0, any garbage is collected; there is no upper bound. Less space costs more
    /// writing. Default: 30.
    pub over_provision_percent: u32,
    /// How tables and value files are read for gets and scans. With [`Access::Direct`], scans and merges read values, and
    /// `multi_get` values and blocks, by up to 16 threads at a time where the system has no io_uring. Default: through the page
    /// cache.
    pub access: Access,
    /// The file system. Default: the operating system's.
    pub file_system: Arc<dyn FileSystem>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            create_if_missing: true,
            durability: Durability::default(),
            write_buffer_bytes: 64 << 20,
            log_bytes: 512 << 20,
            cache_bytes: 256 << 20,
            index: rhumb_index::IndexSpec::default(),
            table: TableSpec::default(),
            tuner: Tuner::Off,
            levels: Levels::default(),
            compaction_threads: 0,
            compaction_bytes_per_second: 0,
            over_provision_percent: 30,
            access: Access::default(),
            file_system: Arc::new(OsFileSystem::new()),
        }
    }
}

/// More threads than any machine has disks to keep busy.
const MOST_COMPACTION_THREADS: u64 = 64;

impl Options {
    /// An error, in the words of the code, if a value is out of its range.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let threads = u64::try_from(self.compaction_threads).unwrap_or(u64::MAX);
        let most_threads = MOST_COMPACTION_THREADS;
        check_range("Options::compaction_threads", threads, 0..=most_threads)?;
        let buffer = self.write_buffer_bytes;
        check_range("Options::write_buffer_bytes", buffer, 1..=u64::MAX)?;
        check_range("Options::log_bytes", self.log_bytes, 1..=u64::MAX)?;
        self.levels.check()?;
        self.tuner.check()?;
        self.table.check()
    }

    /// The default settings on a file system in memory: for tests and examples.
    pub fn in_memory() -> Self {
        Options {
            file_system: Arc::new(MemoryFileSystem::new()),
            ..Options::default()
        }
    }
}
