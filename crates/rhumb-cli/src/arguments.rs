//! Arguments that several commands share.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use rhumb::{
    Compaction, DEFAULT_KEYSPACE, Db, Durability, Granularity, IndexSpec, Keyspace,
    KeyspaceOptions, Levels, Options, Preset, TableSpec,
};

use crate::escape;
use crate::failure::Failure;

/// The store to work on.
#[derive(Debug, Args)]
pub struct Store {
    /// The directory of the store.
    #[arg(long, value_name = "DIR")]
    pub db: PathBuf,
}

impl Store {
    /// Opens the store for reading; other readers may have it open too.
    pub fn read(&self) -> Result<Db, Failure> {
        Ok(Db::open_read_only(&self.db, Options::default())?)
    }

    /// Opens an existing store for writing.
    pub fn write(&self, options: Options) -> Result<Db, Failure> {
        let options = Options {
            create_if_missing: false,
            ..options
        };
        Ok(Db::open(&self.db, options)?)
    }

    /// Opens the store for writing and creates it if there is none.
    pub fn write_or_create(&self, options: Options) -> Result<Db, Failure> {
        let options = Options {
            create_if_missing: true,
            ..options
        };
        Ok(Db::open(&self.db, options)?)
    }
}

/// The keyspace to work on.
#[derive(Debug, Args)]
pub struct InKeyspace {
    /// The keyspace.
    #[arg(long, value_name = "NAME", default_value = DEFAULT_KEYSPACE)]
    pub keyspace: String,
}

impl InKeyspace {
    /// The keyspace, which must exist.
    pub fn open(&self, db: &Db) -> Result<Keyspace, Failure> {
        Ok(db.keyspace(&self.keyspace)?)
    }
}

/// Settings for new tables.
#[derive(Debug, Args)]
pub struct NewTables {
    /// A published form of new tables, `doblix`, `bourbon`, `tridentkv` or `rocksdb-like`: their index and
    /// partition, where `--index` and `--table` do not say another. A keyspace then keeps a table layout of its own,
    /// whose other settings are those of `--table`, else the usual ones, not those of the store.
    #[arg(long, value_name = "NAME")]
    preset: Option<Preset>,
    /// The index of new tables, such as `plr:boundary=16` or `fp`.
    #[arg(long, value_name = "SPEC")]
    index: Option<IndexSpec>,
    /// The layout of new tables, such as `partition=bytes(4096),filter=10,compression=lz4`.
    #[arg(long, value_name = "SPEC")]
    table: Option<TableText>,
}

impl NewTables {
    /// The options of a keyspace with these settings.
    pub fn options(self) -> KeyspaceOptions {
        let Some(preset) = self.preset else {
            return KeyspaceOptions {
                index: self.index,
                table: self.table.map(|table| table.spec),
            };
        };
        let table = self.table.unwrap_or_default();
        KeyspaceOptions {
            index: Some(self.index.unwrap_or_else(|| preset.index())),
            table: Some(TableSpec {
                partition: match table.says_partition {
                    true => table.spec.partition,
                    false => preset.partition(),
                },
                ..table.spec
            }),
        }
    }
}

/// The layout of tables as it was written.
#[derive(Debug, Clone, Default)]
struct TableText {
    spec: TableSpec,
    /// Whether it names a partition, rather than leaving the usual one.
    says_partition: bool,
}

impl FromStr for TableText {
    type Err = rhumb::Error;

    fn from_str(text: &str) -> Result<Self, rhumb::Error> {
        let mut settings = text.split(',');
        Ok(TableText {
            spec: text.parse()?,
            says_partition: settings.any(|setting| setting.starts_with("partition=")),
        })
    }
}

/// How new tables are made, and levels merged.
#[derive(Debug, Args)]
pub struct Layout {
    #[command(flatten)]
    tables: NewTables,
    /// How levels are merged: `leveled`, `full-level`, `tiered`, `learned-tier` or `learned-tier:form=inline,range=256MiB,runs=8,filter=10,concurrent=false`.
    #[arg(long, value_name = "SHAPE", default_value_t)]
    compaction: Compaction,
    /// What one index covers: `table`, `joined:boundary=128` or `trained`.
    #[arg(long, value_name = "GRANULARITY", default_value_t)]
    granularity: Granularity,
}

impl Layout {
    /// The options of the store with these settings.
    pub fn options(self) -> Options {
        let defaults = Options::default();
        let tables = self.tables.options();
        Options {
            index: tables.index.unwrap_or(defaults.index),
            table: tables.table.unwrap_or(defaults.table),
            levels: Levels {
                compaction: self.compaction,
                granularity: self.granularity,
                ..defaults.levels
            },
            ..Options::default()
        }
    }
}

/// When a write counts as complete.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum DurabilityName {
    /// When it is on the disk.
    Immediate,
    /// When the operating system has it.
    Buffered,
}

impl From<DurabilityName> for Durability {
    fn from(name: DurabilityName) -> Self {
        match name {
            DurabilityName::Immediate => Durability::Immediate,
            DurabilityName::Buffered => Durability::Buffered,
        }
    }
}

/// A key or value from the command line, with its escapes decoded.
#[derive(Debug, Clone)]
pub struct Bytes(pub Vec<u8>);

/// Reads a key or value from an argument that need not be valid UTF-8.
pub fn bytes() -> impl TypedValueParser<Value = Bytes> {
    OsStringValueParser::new().try_map(|text: OsString| {
        let mut bytes = Vec::with_capacity(text.len());
        escape::decode(text.as_bytes(), &mut bytes)?;
        Ok::<_, String>(Bytes(bytes))
    })
}

/// The bounds of an interval of keys.
#[derive(Debug, Args)]
pub struct Bounds {
    /// The first key, included.
    #[arg(long, value_name = "KEY", value_parser = bytes())]
    pub from: Option<Bytes>,
    /// The end of the interval, excluded.
    #[arg(long, value_name = "KEY", value_parser = bytes())]
    pub to: Option<Bytes>,
}

/// A path as text for messages.
pub fn shown(path: &Path) -> String {
    path.display().to_string()
}
