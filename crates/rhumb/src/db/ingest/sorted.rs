//! Ingest of sorted entries.

use super::commit::{Ingested, NewTables};
use super::entries::SortedEntries;
use crate::compaction::{Counters, NewTable, write_new_table};
use crate::db::Keyspace;
use crate::db::store::{OpenKeyspace, Store};
use crate::error::{Error, Result};
use crate::sync::Arc;

/// Sorted entries on their way into a keyspace, from [`Keyspace::sorted_ingest`]. They are written to tables as
/// they come; [`SortedIngest::finish`] makes all of them visible and durable at once. Nothing is changed if this
/// is dropped before, or after a crash.
///
/// It holds the entries of one table in memory, about [`TableSpec::table_bytes`](crate::TableSpec::table_bytes).
/// Others may write to the keyspace meanwhile; the entries are newer than all that is written before `finish`
/// returns.
///
/// ```
/// # fn main() -> rhumb::Result<()> {
/// # let db = rhumb::Db::open("example", rhumb::Options::in_memory())?;
/// let mut ingest = db.sorted_ingest()?;
/// for line in ["apple 1", "pear 2"] {
///     let (key, value) = line.split_once(' ').expect("a blank");
///     ingest.put(key, value)?;
/// }
/// assert!(db.is_empty()?);
/// ingest.finish()?;
/// assert_eq!(db.get("pear")?.as_deref(), Some(&b"2"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SortedIngest<'a> {
    keyspace: Arc<OpenKeyspace>,
    store: &'a Store,
    entries: SortedEntries,
    tables: NewTables<'a>,
    /// A table is written when the entries take about this many bytes.
    table_bytes: u64,
    /// The error that ended it.
    failed: Option<Error>,
}

impl<'a> SortedIngest<'a> {
    pub(in crate::db) fn new(keyspace: &'a Keyspace) -> Result<Self> {
        let store = keyspace.store();
        store.check_writable()?;
        let options = store.keyspace_options(keyspace.state())?;
        let (_, table) = options.layout(&store.options);
        Ok(SortedIngest {
            table_bytes: table.table_bytes,
            keyspace: keyspace.state().clone(),
            store,
            entries: SortedEntries::default(),
            tables: NewTables::new(store),
            failed: None,
        })
    }

    /// Adds a key with its value. The key must sort after all keys before it.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if it does not, or if key or value is too long: the entry is left out, and
    /// others may follow. If a table cannot be written; then nothing can follow.
    pub fn put(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.check()?;
        self.entries.put(key.as_ref(), value.as_ref())?;
        self.write_full_table()
    }

    /// Adds the removal of a key, which must sort after all keys before it.
    ///
    /// # Errors
    /// As [`SortedIngest::put`].
    pub fn delete(&mut self, key: impl AsRef<[u8]>) -> Result<()> {
        self.check()?;
        self.entries.delete(key.as_ref())?;
        self.write_full_table()
    }

    /// The number of entries so far.
    pub fn entries(&self) -> u64 {
        self.entries.taken()
    }

    /// Makes all entries visible and durable, as one step of the commit order: what was written before is older,
    /// and durable too. Takes a flush of the keyspace and, while other writes wait, a few syncs.
    ///
    /// # Errors
    /// If a table cannot be written, the keyspace was dropped, or the store takes no writes. Nothing is changed
    /// then; after an I/O error that made the store read-only, the next opening tells.
    pub fn finish(mut self) -> Result<Ingested> {
        self.check()?;
        if !self.entries.is_empty() {
            self.write_table()?;
        }
        self.store.ingest(&self.keyspace, self.tables)
    }

    fn check(&self) -> Result<()> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    fn write_full_table(&mut self) -> Result<()> {
        match self.entries.bytes() >= self.table_bytes {
            true => self.write_table(),
            false => Ok(()),
        }
    }

    fn write_table(&mut self) -> Result<()> {
        match self.store.write_sorted(&self.keyspace, &self.entries) {
            Ok(table) => {
                self.tables.push(table);
                self.entries.clear();
                Ok(())
            }
            Err(e) => {
                self.failed = Some(e.clone());
                Err(e)
            }
        }
    }
}

impl Store {
    /// Writes sorted entries as a table that nothing names.
    fn write_sorted(&self, keyspace: &OpenKeyspace, entries: &SortedEntries) -> Result<NewTable> {
        let written = self.with_context(keyspace, &Counters::default(), &|_| {}, |context| {
            let (map, bytes) = (entries.key_map(), entries.bytes());
            write_new_table(context, map, bytes, |writer| entries.write(writer))
        });
        written.inspect_err(|e| self.fail_after_io(e))
    }
}
