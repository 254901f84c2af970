//! Tables outside of a store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rhumb_index::IndexSpec;

use super::entries::SortedEntries;
use crate::error::{Error, Result};
use crate::fs::{FileSystem, ops};
use crate::options::{Options, TableSpec};
use crate::table;

/// Writes a table outside of a store, to be added to a keyspace by [`Keyspace::ingest`](crate::Keyspace::ingest):
/// by another process, say, or by many at a time.
///
/// Keys come in ascending order of their bytes, each once. The entries are held in memory until
/// [`TableWriter::finish`], so begin another table when [`TableWriter::bytes`] reaches about
/// [`TableSpec::table_bytes`](crate::TableSpec::table_bytes), which is 64 MiB by default.
///
/// ```
/// # fn main() -> rhumb::Result<()> {
/// # let options = rhumb::Options::in_memory();
/// let mut fruit = rhumb::TableWriter::create("fruit.table", &options)?;
/// fruit.put("apple", "1")?;
/// fruit.put("pear", "2")?;
/// fruit.finish()?;
///
/// let db = rhumb::Db::open("example", options)?;
/// db.ingest(&["fruit.table"])?;
/// assert_eq!(db.get("pear")?.as_deref(), Some(&b"2"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TableWriter {
    fs: Arc<dyn FileSystem>,
    path: PathBuf,
    index: IndexSpec,
    table: TableSpec,
    entries: SortedEntries,
}

impl TableWriter {
    /// Begins a table. Of the options, only [`Options::file_system`], [`Options::index`] and [`Options::table`]
    /// count; the keyspace that will take the table may have others. The file is made by
    /// [`TableWriter::finish`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for options that a store cannot be opened with.
    pub fn create(path: impl AsRef<Path>, options: &Options) -> Result<TableWriter> {
        options.check()?;
        Ok(TableWriter {
            fs: Arc::clone(&options.file_system),
            path: path.as_ref().to_path_buf(),
            index: options.index.clone(),
            table: options.table.clone(),
            entries: SortedEntries::default(),
        })
    }

    /// Adds a key with its value. The key must sort after all keys before it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if it does not, or if key or value is too long: the entry is left out, and
    /// others may follow.
    pub fn put(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.entries.put(key.as_ref(), value.as_ref())
    }

    /// Adds the removal of a key, which must sort after all keys before it.
    ///
    /// # Errors
    /// As [`TableWriter::put`].
    pub fn delete(&mut self, key: impl AsRef<[u8]>) -> Result<()> {
        self.entries.delete(key.as_ref())
    }

    /// The number of entries so far.
    pub fn entries(&self) -> u64 {
        self.entries.taken()
    }

    /// The bytes of the keys and values so far.
    pub fn bytes(&self) -> u64 {
        self.entries.bytes()
    }

    /// Writes the table, durably.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there are no entries; if the file exists or cannot be written.
    pub fn finish(self) -> Result<()> {
        if self.entries.is_empty() {
            let path = self.path.display();
            let message = format!("{path} would be a table without entries: write at least one");
            return Err(Error::InvalidArgument(message));
        }
        let settings = table::TableSettings {
            keyspace: None,
            given_sequence: true,
            spec: self.table,
            index: self.index,
            map: Arc::new(self.entries.key_map()),
            // The keyspace that takes the table numbers the map.
            map_number: 0,
            chosen: String::new(),
        };
        let dir = self.path.parent().unwrap_or(Path::new("")).to_path_buf();
        let writer = table::TableWriter::create_at(&self.fs, self.path, 0, &settings)?;
        self.entries.write(writer)?;
        ops::sync_dir(&*self.fs, &dir)
    }
}
