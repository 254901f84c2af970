//! What a user can set.

mod keyspace;
mod table;

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::Arc;

use crate::error::Error;
use crate::fs::{Access, FileSystem, MemoryFileSystem, OsFileSystem};
pub use keyspace::KeyspaceOptions;
pub use table::{Compression, Partition, TableSpec};

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

/// When and how levels are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Compaction {
    /// Each level is one sorted run of limited bytes. From a level that is larger one table at a time
    /// is merged into the next level, the one that overlaps least there.
    #[default]
    Leveled,
    /// Each level is one sorted run of limited bytes. One that is larger is merged whole with all of
    /// the next (the classic merge of an LSM-tree).
    FullLevel,
    /// Each level holds some sorted runs, and when it is full they are merged into one run of the
    /// next: fewer bytes are written, and more tables asked by reads.
    Tiered,
}

const COMPACTION_EXPECTED: &str = "leveled, full-level or tiered";

impl fmt::Display for Compaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compaction::Leveled => "leveled",
            Compaction::FullLevel => "full-level",
            Compaction::Tiered => "tiered",
        })
    }
}

impl FromStr for Compaction {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "leveled" => Ok(Compaction::Leveled),
            "full-level" => Ok(Compaction::FullLevel),
            "tiered" => Ok(Compaction::Tiered),
            _ => Err(Error::InvalidArgument(format!(
                "compaction {text:?} is not known: write {COMPACTION_EXPECTED}"
            ))),
        }
    }
}

/// How the levels below the write buffer grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Levels {
    /// When and how levels are merged. A store that was written under another setting is brought
    /// into the new shape step by step.
    pub compaction: Compaction,
    /// How many times larger each level is than the one above it; under tiered compaction, how many
    /// runs a level from 1 on holds. At least 2.
    pub size_ratio: u32,
    /// Size of level 1 in bytes, at least 1; without meaning under tiered compaction.
    pub base_bytes: u64,
    /// How many runs (flushed tables) level 0 holds before they are merged into level 1. At least 1. While
    /// level 1 is too large it takes up to six times as many. Three times as many slow writers down, nine times as
    /// many hold them up.
    pub level0_tables: u32,
}

impl Levels {
    /// An error, in the words of the code, if a value is out of its range.
    fn check(&self) -> Result<(), Error> {
        check_range("Levels::size_ratio", self.size_ratio, 2..=u64::MAX)?;
        check_range("Levels::base_bytes", self.base_bytes, 1..=u64::MAX)?;
        check_range("Levels::level0_tables", self.level0_tables, 1..=u64::MAX)
    }
}

impl Default for Levels {
    fn default() -> Self {
        Levels {
            compaction: Compaction::default(),
            size_ratio: 10,
            base_bytes: 256 << 20,
            level0_tables: 4,
        }
    }
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
    /// How tables and value files are read for gets and scans. With [`Access::Direct`], scans, `multi_get` and merges read
    /// values by up to 16 threads at a time where the system has no io_uring. Default: through the page cache.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_read_back_as_written() {
        for text in ["leveled", "full-level", "tiered"] {
            assert_eq!(text.parse::<Compaction>().unwrap().to_string(), text);
        }
        let error = "universal".parse::<Compaction>().unwrap_err().to_string();
        assert!(error.contains("tiered"), "{error}");
    }
}
