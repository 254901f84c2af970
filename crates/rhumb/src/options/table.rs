//! How tables are laid out.

use std::fmt;
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::{check_range, parse_size};
use crate::error::Error;

/// How blocks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Compression {
    /// Stored as they are.
    #[default]
    None,
    /// LZ4, where it makes a block smaller.
    Lz4,
    /// Zstd, where it makes a block smaller: smaller than LZ4, slower to read. Needs a build with the
    /// cargo feature `zstd`.
    Zstd,
}

impl Compression {
    /// Whether this build has it.
    fn is_built(self) -> bool {
        self != Compression::Zstd || cfg!(feature = "zstd")
    }
}

/// How a table is cut into blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Partition {
    /// A block holds at most about this many bytes (LevelDB, RocksDB, Bourbon). Within the last tenth of them it ends where the
    /// next key is told from the last one by the fewest bytes, which about halves what fence pointers on paths take.
    Bytes(u32),
    /// A block holds at most this many bytes, and the keys of which the index knows the slots closely enough, as `pla` with
    /// its `error` asks (DobLIX, cut by two objectives): a get of the newest version of a key reads exactly one block. An entry
    /// that alone takes more bytes has a block of its own. Indexes that are no models of blocks cut as `Bytes` does.
    Dual(u32),
    /// A block holds this many entries, down to one (the protocol of the EDBT study). Entries of one
    /// size (puts, one version a key) that are not compressed are stored in a row: a block then takes
    /// 4 bytes besides them, and where sequences are still needed, up to 8 bytes an entry. Since this
    /// is for comparisons of indexes, fence pointers never replace the index because it takes more
    /// memory, only if it cannot be built.
    Entries(u32),
    /// A block holds the entries for which the model predicts one of this many neighbouring ranks, so
    /// that the model's answer is a block; 0: chosen for blocks of about 4 KiB. With `rmi`, which is
    /// trained when all keys are known, the entries of a table wait in memory for its end, at most
    /// 256 MiB of them. Indexes without a model, and those that know the place of each key, cut as
    /// `Bytes(4096)` does.
    Predicted(u32),
}

/// As it is written in a [`TableSpec`].
impl FromStr for Partition {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parsed = match text.split_once('(') {
            None => (text == "predicted").then_some(Partition::Predicted(0)),
            Some((name, rest)) => rest
                .strip_suffix(')')
                .and_then(parse_size)
                .and_then(|n| u32::try_from(n).ok())
                .filter(|n| PARTITION_RANGE.contains(n))
                .and_then(|n| Partition::named(name, n)),
        };
        parsed.ok_or_else(|| bad(&format!("partition={text}"), PARTITION_EXPECTED))
    }
}

impl Partition {
    fn named(name: &str, n: u32) -> Option<Partition> {
        match name {
            "bytes" => Some(Partition::Bytes(n)),
            "dual" => Some(Partition::Dual(n)),
            "entries" => Some(Partition::Entries(n.min(u32::from(u16::MAX)))),
            "predicted" => Some(Partition::Predicted(n.min(u32::from(u16::MAX)))),
            _ => None,
        }
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Partition::Bytes(n) => write!(f, "bytes({n})"),
            Partition::Dual(n) => write!(f, "dual({n})"),
            Partition::Entries(n) => write!(f, "entries({n})"),
            Partition::Predicted(0) => f.write_str("predicted"),
            Partition::Predicted(n) => write!(f, "predicted({n})"),
        }
    }
}

/// How tables are laid out: `partition=predicted`, `filter=10`, `compression=lz4`, `size=64MiB`,
/// `values=1KiB`, `groups=16`, joined by commas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSpec {
    /// How blocks are cut.
    pub partition: Partition,
    /// Bits of Bloom filter a key, at most 64; 0 for no filter.
    pub filter_bits_per_key: u32,
    /// How blocks are compressed.
    pub compression: Compression,
    /// A table of a level ends when it holds about this many bytes, among which an eighth of the values counts that it
    /// points to; one that is rewritten in place may have twice as many. At least 1; the text form takes at
    /// least 1 KiB, since a smaller number mostly lacks its unit.
    pub table_bytes: u64,
    /// Values of at least so many bytes lie in value files, and tables point to them: merges then leave them where
    /// they are, until much of a file is [garbage](crate::Options::over_provision_percent). `None` for no value.
    pub separate_values: Option<u32>,
    /// Into so many groups, 1 to 1,024, keys are divided by their hashes, and a value file holds values of one group:
    /// all versions of a key are in one group, and the groups with the most garbage are collected whole (HashKV). Each
    /// flush writes a file a group, so there should be some MiB of its write buffer for each. Values are then always
    /// written twice, to the log and to such a file. `None` for no groups; only together with `separate_values`.
    pub value_groups: Option<u16>,
}

const LARGEST_PARTITION: u32 = 16 << 20;
const PARTITION_RANGE: RangeInclusive<u32> = 1..=LARGEST_PARTITION;
const PARTITION_EXPECTED: &str = "partition=predicted, partition=predicted(16), \
     partition=bytes(4096), partition=dual(4096) or partition=entries(16), 1 to 16Mi of them";
const MOST_FILTER_BITS: u32 = 64;
const COMPRESSION_EXPECTED: &str = "compression=none, compression=lz4 or compression=zstd";
const COMPRESSION_BUILT: &str =
    "compression=lz4, or use a rhumb that was built with the cargo feature `zstd`";
const VALUES_EXPECTED: &str = "values=1KiB (at least so many bytes, below 4GiB) or values=off";
const GROUPS_EXPECTED: &str = "groups=1 to groups=1024 or groups=off";
const GROUPS_ALONE: &str = "values=1KiB (or another length) beside it, or groups=off";
const MOST_GROUPS: u16 = 1_024;
const FILTER_EXPECTED: &str = "filter=0 to filter=64 (bits a key)";

impl Default for TableSpec {
    fn default() -> Self {
        TableSpec {
            partition: Partition::Predicted(0),
            filter_bits_per_key: 10,
            compression: Compression::None,
            table_bytes: 64 << 20,
            separate_values: None,
            value_groups: None,
        }
    }
}

impl TableSpec {
    /// The number of groups of values, if there are any.
    pub(crate) fn groups(&self) -> Option<NonZero<u16>> {
        self.separate_values
            .and(self.value_groups)
            .and_then(NonZero::new)
    }

    /// An error, in the words of the code, if a value is out of its range.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let (name, n, least) = match self.partition {
            Partition::Bytes(n) => ("Bytes", n, 1),
            Partition::Dual(n) => ("Dual", n, 1),
            Partition::Entries(n) => ("Entries", n, 1),
            Partition::Predicted(n) => ("Predicted", n, 0),
        };
        if !(least..=LARGEST_PARTITION).contains(&n) {
            return Err(Error::InvalidArgument(format!(
                "TableSpec::partition is {name}({n}): \
                 set it to Partition::{name}(n) with n from {least} to {LARGEST_PARTITION}"
            )));
        }
        let bits = self.filter_bits_per_key;
        let most_bits = u64::from(MOST_FILTER_BITS);
        check_range("TableSpec::filter_bits_per_key", bits, 0..=most_bits)?;
        check_range("TableSpec::table_bytes", self.table_bytes, 1..=u64::MAX)?;
        if let Some(groups) = self.value_groups {
            let most = u64::from(MOST_GROUPS);
            check_range("TableSpec::value_groups", groups, 1..=most)?;
            if self.separate_values.is_none() {
                return Err(Error::InvalidArgument(format!(
                    "TableSpec::value_groups is {groups}, but no values lie apart: set \
                     TableSpec::separate_values too"
                )));
            }
        }
        if !self.compression.is_built() {
            return Err(Error::InvalidArgument(format!(
                "TableSpec::compression is {:?}, which this build of rhumb lacks: set it to \
                 Compression::Lz4, or build rhumb with the cargo feature `zstd`",
                self.compression
            )));
        }
        Ok(())
    }
}

impl fmt::Display for TableSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let compression = match self.compression {
            Compression::None => "none",
            Compression::Lz4 => "lz4",
            Compression::Zstd => "zstd",
        };
        let (partition, filter, size) =
            (self.partition, self.filter_bits_per_key, self.table_bytes);
        write!(
            f,
            "partition={partition},filter={filter},compression={compression},size={size}"
        )?;
        match self.separate_values {
            Some(bytes) => write!(f, ",values={bytes}")?,
            None => return Ok(()),
        }
        match self.value_groups {
            Some(groups) => write!(f, ",groups={groups}"),
            None => Ok(()),
        }
    }
}

impl FromStr for TableSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut spec = TableSpec::default();
        for setting in text.split(',').filter(|s| !s.is_empty()) {
            let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
            match name {
                "partition" => {
                    spec.partition = value
                        .parse()
                        .map_err(|_| bad(setting, PARTITION_EXPECTED))?;
                }
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
                        "zstd" => Compression::Zstd,
                        _ => return Err(bad(setting, COMPRESSION_EXPECTED)),
                    };
                    if !spec.compression.is_built() {
                        return Err(bad(setting, COMPRESSION_BUILT));
                    }
                }
                "size" => {
                    spec.table_bytes = parse_size(value)
                        .filter(|n| *n >= 1 << 10)
                        .ok_or_else(|| bad(setting, "size=64MiB, at least 1KiB"))?;
                }
                "values" if value == "off" => spec.separate_values = None,
                "values" => {
                    let bytes = parse_size(value).and_then(|n| u32::try_from(n).ok());
                    spec.separate_values =
                        Some(bytes.ok_or_else(|| bad(setting, VALUES_EXPECTED))?);
                }
                "groups" if value == "off" => spec.value_groups = None,
                "groups" => {
                    let groups = value.parse().ok();
                    let groups = groups.filter(|n| (1..=MOST_GROUPS).contains(n));
                    spec.value_groups = Some(groups.ok_or_else(|| bad(setting, GROUPS_EXPECTED))?);
                }
                _ => {
                    let known = "partition=, filter=, compression=, size=, values= or groups=";
                    return Err(bad(setting, known));
                }
            }
        }
        match spec.value_groups {
            Some(groups) if spec.separate_values.is_none() => {
                Err(bad(&format!("groups={groups}"), GROUPS_ALONE))
            }
            _ => Ok(spec),
        }
    }
}

fn bad(found: &str, expected: &str) -> Error {
    Error::InvalidArgument(format!(
        "table setting {found:?} cannot be used: write {expected}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_settings_read_back_as_written() {
        for text in [
            "partition=bytes(4096),filter=10,compression=none,size=67108864",
            "partition=entries(1),filter=0,compression=lz4,size=8388608",
            "partition=dual(4096),filter=10,compression=none,size=67108864",
            "partition=predicted,filter=10,compression=none,size=67108864",
            "partition=predicted(7),filter=10,compression=none,size=67108864",
            "partition=predicted,filter=10,compression=none,size=67108864,values=1000",
            "partition=predicted,filter=10,compression=none,size=67108864,values=0,groups=1024",
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
    fn zstd_is_read_back_or_its_feature_is_named() {
        let text = "partition=predicted,filter=10,compression=zstd,size=8388608";
        let spec = TableSpec {
            compression: Compression::Zstd,
            table_bytes: 8 << 20,
            ..TableSpec::default()
        };
        assert_eq!(spec.to_string(), text);
        if cfg!(feature = "zstd") {
            assert_eq!(text.parse::<TableSpec>().unwrap(), spec);
            spec.check().unwrap();
        } else {
            for refused in [
                text.parse::<TableSpec>().unwrap_err(),
                spec.check().unwrap_err(),
            ] {
                let refused = refused.to_string();
                assert!(refused.contains("cargo feature `zstd`"), "{refused}");
            }
        }
    }

    #[test]
    fn wrong_table_settings_say_what_is_right() {
        for text in [
            "size=1",
            "partition=entries(0)",
            "partition=dual(0)",
            "partition=dual",
            "partition=predicted(0)",
            "compression=gzip",
            "filter=x",
            "values=many",
            "values=4GiB",
            "groups=16",
            "values=off,groups=1",
            "values=1KiB,groups=0",
            "values=1KiB,groups=1025",
            "values=1KiB,groups=some",
            "blocks=4",
        ] {
            let error = text.parse::<TableSpec>().unwrap_err().to_string();
            assert!(error.contains("write "), "{error}");
        }
    }
}
