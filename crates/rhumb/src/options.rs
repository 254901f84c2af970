//! What a user can set.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::Arc;

use crate::error::Error;
use crate::fs::{Access, FileSystem, MemoryFileSystem, OsFileSystem};

/// When a write is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// After it is on the disk: it survives power loss. Concurrent writers share one sync.
    #[default]
    Immediate,
    /// After it was handed to the operating system: it survives the death of the process, not of
    /// the machine.
    Buffered,
}

/// How blocks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Stored as they are.
    #[default]
    None,
    /// LZ4, where it makes a block smaller.
    Lz4,
}

/// How a table is cut into blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partition {
    /// A block ends when it holds about this many bytes (LevelDB, RocksDB, Bourbon).
    Bytes(u32),
    /// A block holds this many entries, down to one (the protocol of the EDBT study).
    Entries(u32),
}

/// How tables are laid out: `partition=bytes(4096)`, `filter=10`, `compression=lz4`, `size=64MiB`,
/// joined by commas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSpec {
    /// How blocks are cut.
    pub partition: Partition,
    /// Bits of Bloom filter a key; 0 for no filter.
    pub filter_bits_per_key: u32,
    /// How blocks are compressed.
    pub compression: Compression,
    /// A table of a level ends when it holds about this many bytes.
    pub table_bytes: u64,
}

const PARTITION_RANGE: RangeInclusive<u32> = 1..=16 << 20;
const PARTITION_EXPECTED: &str =
    "partition=bytes(4096) or partition=entries(16), 1 to 16Mi of them";
const MOST_FILTER_BITS: u32 = 64;
const FILTER_EXPECTED: &str = "filter=0 to filter=64 (bits a key)";

impl Default for TableSpec {
    fn default() -> Self {
        TableSpec {
            partition: Partition::Bytes(4096),
            filter_bits_per_key: 10,
            compression: Compression::None,
            table_bytes: 64 << 20,
        }
    }
}

impl TableSpec {
    /// An error if a value is out of the range that its text form is held to.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let (Partition::Bytes(n) | Partition::Entries(n)) = self.partition;
        if !PARTITION_RANGE.contains(&n) {
            return Err(bad(&self.to_string(), PARTITION_EXPECTED));
        }
        if self.filter_bits_per_key > MOST_FILTER_BITS {
            return Err(bad(&self.to_string(), FILTER_EXPECTED));
        }
        Ok(())
    }
}

impl fmt::Display for TableSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.partition {
            Partition::Bytes(n) => write!(f, "partition=bytes({n})")?,
            Partition::Entries(n) => write!(f, "partition=entries({n})")?,
        }
        let compression = match self.compression {
            Compression::None => "none",
            Compression::Lz4 => "lz4",
        };
        let (filter, size) = (self.filter_bits_per_key, self.table_bytes);
        write!(f, ",filter={filter},compression={compression},size={size}")
    }
}

impl FromStr for TableSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut spec = TableSpec::default();
        for setting in text.split(',').filter(|s| !s.is_empty()) {
            let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
            match name {
                "partition" => spec.partition = parse_partition(value)?,
                "filter" => {
                    spec.filter_bits_per_key = parse_size(value)
                        .and_then(|n| u32::try_from(n).ok())
                        .filter(|n| *n <= MOST_FILTER_BITS)
                        .ok_or_else(|| bad(setting, FILTER_EXPECTED))?;
                }
                "compression" => {
                    spec.compression = match value {
                        "none" => Compression::None,
                        "lz4" => Compression::Lz4,
                        _ => return Err(bad(setting, "compression=none or compression=lz4")),
                    }
                }
                "size" => {
                    spec.table_bytes = parse_size(value)
                        .filter(|n| *n >= 1 << 10)
                        .ok_or_else(|| bad(setting, "size=64MiB, at least 1KiB"))?;
                }
                _ => return Err(bad(setting, "partition=, filter=, compression= or size=")),
            }
        }
        Ok(spec)
    }
}

fn parse_partition(text: &str) -> Result<Partition, Error> {
    let expected = PARTITION_EXPECTED;
    let (name, rest) = text.split_once('(').ok_or_else(|| bad(text, expected))?;
    let n = rest
        .strip_suffix(')')
        .and_then(parse_size)
        .and_then(|n| u32::try_from(n).ok())
        .filter(|n| PARTITION_RANGE.contains(n))
        .ok_or_else(|| bad(text, expected))?;
    match name {
        "bytes" => Ok(Partition::Bytes(n)),
        "entries" => Ok(Partition::Entries(n.min(u32::from(u16::MAX)))),
        _ => Err(bad(text, expected)),
    }
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

fn bad(found: &str, expected: &str) -> Error {
    Error::InvalidArgument(format!(
        "table setting {found:?} is not known: write {expected}"
    ))
}

/// How the levels below the write buffer grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Levels {
    /// How many times larger each level is than the one above it.
    pub size_ratio: u32,
    /// Size of level 1 in bytes.
    pub base_bytes: u64,
    /// How many tables level 0 holds before they are merged into level 1.
    pub level0_tables: u32,
}

impl Default for Levels {
    fn default() -> Self {
        Levels {
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
    /// Durability of writes that do not say their own. Default: [`Durability::Immediate`].
    pub durability: Durability,
    /// Bytes of writes that one keyspace buffers before they become a table. Default: 64 MiB.
    pub write_buffer_bytes: u64,
    /// Bytes of log that may be kept for buffered writes before the keyspace that holds the oldest
    /// is flushed. Default: 512 MiB.
    pub log_bytes: u64,
    /// Bytes of blocks kept in memory. Default: 256 MiB.
    pub cache_bytes: u64,
    /// The index of new tables: `fp`, `fp-raw`, `plr:boundary=16`. Default: `plr`.
    pub index: rhumb_index::IndexSpec,
    /// The layout of new tables. Default: blocks of 4 KiB, 10 filter bits, tables of 64 MiB.
    pub table: TableSpec,
    /// How levels grow. Default: ratio 10 over a level 1 of 256 MiB.
    pub levels: Levels,
    /// How tables are read for gets. Default: through the page cache.
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
            access: Access::default(),
            file_system: Arc::new(OsFileSystem::new()),
        }
    }
}

impl Options {
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
    fn table_settings_read_back_as_written() {
        for text in [
            "partition=bytes(4096),filter=10,compression=none,size=67108864",
            "partition=entries(1),filter=0,compression=lz4,size=8388608",
        ] {
            assert_eq!(text.parse::<TableSpec>().unwrap().to_string(), text);
        }
        let spec: TableSpec = "size=8MiB,partition=bytes(16KiB)".parse().unwrap();
        assert_eq!(
            (spec.table_bytes, spec.partition),
            (8 << 20, Partition::Bytes(16 << 10))
        );
    }

    #[test]
    fn wrong_table_settings_say_what_is_right() {
        for text in [
            "size=1",
            "partition=entries(0)",
            "compression=gzip",
            "filter=x",
            "blocks=4",
        ] {
            let error = text.parse::<TableSpec>().unwrap_err().to_string();
            assert!(error.contains("write "), "{error}");
        }
    }
}
