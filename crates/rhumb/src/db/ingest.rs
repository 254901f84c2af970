//! Bulk ingest: sorted entries and finished tables become part of a keyspace without passing the log and the
//! write buffer, all of them at once.
//!
//! Tables are written, or copied, without a sequence ([`crate::table`], section 7 of docs/format.md). Nothing
//! names them until [`commit`] takes a sequence, and one edit of the manifest gives it to all of them.

pub(in crate::db) mod commit;
mod entries;
mod finished;
pub(in crate::db) mod sorted;
#[cfg(test)]
#[cfg(not(loom))]
mod tests;
pub(in crate::db) mod writer;

use std::path::{Path, PathBuf};

#[cfg(doc)]
use crate::db::TableWriter;
use crate::db::{Ingested, Keyspace, SortedIngest};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;

impl Keyspace {
    /// Adds entries whose keys ascend, each key once, all at once: they are written to tables of their own
    /// without passing the log and the write buffer, and are visible and durable when this returns. That is the
    /// cheapest way to load many entries. Entries of the same keys that were written before are replaced, as by
    /// puts; snapshots and iterators keep seeing those.
    ///
    /// ```
    /// # fn main() -> rhumb::Result<()> {
    /// # let db = rhumb::Db::open("example", rhumb::Options::in_memory())?;
    /// let squares = (0..1000u32).map(|n| (n.to_be_bytes(), (n * n).to_be_bytes()));
    /// assert_eq!(db.ingest_sorted(squares)?.entries, 1000);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a key does not sort after the one before it, or a key or value is too long;
    /// and as [`SortedIngest::finish`]. Nothing is changed then.
    pub fn ingest_sorted<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Ingested> {
        let mut ingest = self.sorted_ingest()?;
        for (key, value) in entries {
            ingest.put(key, value)?;
        }
        ingest.finish()
    }

    /// Begins to add sorted entries, as [`Keyspace::ingest_sorted`] does, from a source that may fail, or with
    /// deletes.
    ///
    /// # Errors
    /// If the keyspace was dropped, or the store takes no writes.
    pub fn sorted_ingest(&self) -> Result<SortedIngest<'_>> {
        self.check()?;
        SortedIngest::new(self)
    }

    /// Adds finished tables of [`TableWriter`], all at once. Their files are copied and
    /// checked wholly; the originals stay. What they hold is visible and durable when this returns. Entries
    /// of the same keys that were written before are replaced, as by puts; snapshots and iterators keep seeing
    /// those.
    ///
    /// No two of the tables may overlap: the first and the last key of one lie both before or both behind those
    /// of another.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if tables overlap, or a file is no such table, or a damaged one;
    /// [`Error::Unsupported`] for a table of another rhumb, in another format or order of keys. If a file cannot be
    /// read or written, the keyspace was dropped, or the store takes no writes. Nothing is changed then; after an I/O
    /// error that made the store read-only, the next opening tells.
    pub fn ingest<P: AsRef<Path>>(&self, tables: &[P]) -> Result<Ingested> {
        self.check()?;
        let paths: Vec<PathBuf> = tables.iter().map(|p| p.as_ref().to_path_buf()).collect();
        self.store().ingest_files(self.state(), &paths)
    }
}
