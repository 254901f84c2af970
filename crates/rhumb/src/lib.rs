//! An embedded, ordered, durable key-value store whose tables are found by learned models.
//!
//! ```
//! # fn main() -> rhumb::Result<()> {
//! # let options = rhumb::Options::in_memory();
//! let db = rhumb::Db::open("example", options)?;
//! db.put("pear", "2")?;
//! db.put("apple", "1")?;
//! for entry in db.iter()? {
//!     let (key, value) = entry?;
//!     println!("{key:?} = {value:?}");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A write that returned is on the disk ([`Durability::Immediate`], the default), reads see a
//! consistent moment, and every byte read from a file is checksummed. ARCHITECTURE.md in the
//! repository shows the way of a read and of a write through the source.
//!
//! - A [`Db`] is a store, and stands for its default [`Keyspace`]; others come from
//!   [`Db::get_or_create_keyspace`].
//! - Single writes go through a keyspace, as durably as [`Options::durability`] or
//!   [`Keyspace::with_durability`] says; a [`WriteBatch`] is atomic over keyspaces.
//! - Sorted entries ([`Keyspace::ingest_sorted`]) and finished tables ([`TableWriter`], [`Keyspace::ingest`]) are
//!   added all at once, without passing the log.
//! - A [`Snapshot`] reads all keyspaces as they were at one moment; an [`Iter`] goes over a range from both
//!   ends, and [`Keys`] reads no values.
//!
//! The cargo feature `zstd` adds [`Compression::Zstd`]. The feature `test-kit` adds to [`fs`] what crash tests
//! need: a file system that fails on demand, and loss of power.

mod compaction;
mod cursor;
mod db;
mod entry;
mod error;
pub mod fs;
#[cfg(feature = "test-kit")]
#[doc(hidden)]
pub mod fuzz;
pub mod inspect;
mod memory;
mod memtable;
mod options;
mod sync;
mod table;
#[cfg(test)]
mod test_seed;
mod tune;
mod version;
mod vlog;
mod wal;

#[cfg(feature = "internals")]
#[doc(hidden)]
pub use db::internals;
pub use db::{
    CacheStats, CompareAndSwapError, DEFAULT_KEYSPACE, Db, Entries, Explanation, Ingested, Iter,
    Key, Keys, Keyspace, KeyspaceStats, LevelStats, OrderStats, ReadStats, RecoveryStats,
    ScanStats, Snapshot, SortedIngest, Stats, TableWriter, Value, WriteBatch, WriteStats,
};
pub use error::{Error, Result};
pub use options::{
    Compaction, Compression, Covers, Durability, Granularity, KeyspaceOptions, Levels, Options,
    Partition, Preset, TableSpec, TierForm, TierSpec, Tuner,
};
pub use rhumb_index::IndexSpec;
pub use tune::{FormStats, ModelStats, TunerStats};

/// Runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
