//! The public API: a store, its keyspaces, batches, snapshots, iterators.

mod bounds;
mod handle;
mod ingest;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
mod keyspace;
mod lifecycle;
mod opening;
mod read;
mod stats;
mod store;
mod upkeep;
mod write;

use std::borrow::Cow;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

pub use ingest::commit::Ingested;
pub use ingest::sorted::SortedIngest;
pub use ingest::writer::TableWriter;
pub use keyspace::Keyspace;
pub use read::entries::Entries;
pub use read::explain::Explanation;
pub use read::iter::Iter;
pub use read::key::Key;
pub use read::keys::Keys;
pub use read::snapshot::Snapshot;
pub use read::value::Value;
pub use stats::{
    CacheStats, KeyspaceStats, LevelStats, OrderStats, ReadStats, RecoveryStats, ScanStats, Stats,
    WriteStats,
};
pub use write::batch::WriteBatch;
pub use write::swap::CompareAndSwapError;

pub(crate) use opening::leftovers::refuse_lost_edits;
pub(crate) use opening::log_check::LogCheck;

use crate::error::{Error, Result};
use crate::options::{Durability, KeyspaceOptions, Options};
use handle::Handle;
use opening::open;

/// The name of the keyspace that every store has; [`Db`] derefs to it.
pub const DEFAULT_KEYSPACE: &str = "default";

/// An open store. It derefs to its default [`Keyspace`], so that `db.get(key)` works.
///
/// What a method of `Keyspace` does when it is called on a `Db`, it does for the default keyspace alone:
/// `db.clear()`, `db.flush()`, `db.compact_range(..)` and `db.options()` concern no other keyspace. The whole
/// store is meant by [`Db::write`], [`Db::snapshot`], [`Db::sync`], [`Db::stats`] and [`Db::close`].
///
/// Cloning a `Db` is cheap and gives another handle to the same store, for another thread, say. Clones,
/// [`Keyspace`] handles and [`Snapshot`]s keep the store open: while one of them is left it goes on as
/// before and takes writes, and it is closed when the last is dropped. Whether closing went well is said by
/// [`Db::close`] only, which closes the store for all of them.
///
/// ```
/// # fn main() -> rhumb::Result<()> {
/// # let options = rhumb::Options::in_memory();
/// let db = rhumb::Db::open("example", options)?;
/// db.put("key", "value")?;
/// assert_eq!(db.get("key")?.as_deref(), Some(&b"value"[..]));
/// db.close()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Db {
    handle: Arc<Handle>,
    default: Keyspace,
}

impl Db {
    /// Opens the store in a directory, or creates it ([`Options::create_if_missing`]). Only one
    /// process can have it open at a time.
    ///
    /// # Errors
    /// If an option is out of its range, the directory is in use, holds no store, or is damaged; or for
    /// any I/O error.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Db> {
        Db::from_handle(open::open(path.as_ref(), options)?)
    }

    /// Opens a store for reading only. Several processes can do so at the same time, but not while
    /// one has it open for writing. Nothing on the disk changes.
    ///
    /// # Errors
    /// As [`Db::open`].
    pub fn open_read_only(path: impl AsRef<Path>, options: Options) -> Result<Db> {
        Db::from_handle(open::open_read_only(path.as_ref(), options)?)
    }

    fn from_handle(handle: Handle) -> Result<Db> {
        let handle = Arc::new(handle);
        let default = keyspace_of(&handle, DEFAULT_KEYSPACE)?;
        Ok(Db { handle, default })
    }

    /// A handle to the keyspace with that name.
    ///
    /// # Errors
    /// If there is no such keyspace.
    pub fn keyspace(&self, name: &str) -> Result<Keyspace> {
        keyspace_of(&self.handle, name)
    }

    /// Creates an empty keyspace, durably.
    ///
    /// # Errors
    /// If there is a keyspace with that name, the name is empty or longer than 255 bytes, or the
    /// store takes no writes.
    pub fn create_keyspace(&self, name: &str) -> Result<Keyspace> {
        self.create_keyspace_with(name, KeyspaceOptions::default())
    }

    /// Makes a new, empty keyspace with options of its own, durably and at once.
    ///
    /// # Errors
    /// As [`Db::create_keyspace`]; [`Error::InvalidArgument`] for options that a store cannot be opened
    /// with.
    pub fn create_keyspace_with(&self, name: &str, options: KeyspaceOptions) -> Result<Keyspace> {
        let state = self.handle.store.create_keyspace(name, options)?;
        Ok(Keyspace::new(self.handle.clone(), state))
    }

    /// A handle to the keyspace with that name, which is created first, empty and durably, if there is none.
    /// When several threads ask for one name at the same time, they all get the same keyspace.
    ///
    /// ```
    /// # fn main() -> rhumb::Result<()> {
    /// # let db = rhumb::Db::open("example", rhumb::Options::in_memory())?;
    /// db.get_or_create_keyspace("prices")?.put("apple", "0.40")?;
    /// let prices = db.get_or_create_keyspace("prices")?;
    /// assert!(prices.contains_key("apple")?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Where it has to be created: as [`Db::create_keyspace`].
    pub fn get_or_create_keyspace(&self, name: &str) -> Result<Keyspace> {
        loop {
            match self.keyspace(name) {
                Err(Error::NoSuchKeyspace(_)) => {}
                found => return found,
            }
            match self.create_keyspace(name) {
                // Another thread has created it, and may drop it again before it is looked for.
                Err(Error::KeyspaceExists(_)) => {}
                created => return created,
            }
        }
    }

    /// Removes a keyspace and all its keys, durably. Later calls on its handles fail with
    /// [`Error::NoSuchKeyspace`], reads through earlier snapshots too. Iterators and values that exist
    /// already can be read to their ends; the files are deleted when the last iterator is dropped.
    ///
    /// Other threads see the keyspace as gone before the drop is durable. If they write elsewhere in the
    /// meantime, a loss of power may keep what they wrote and undo the drop.
    ///
    /// # Errors
    /// If there is no keyspace with that name, it is the default keyspace, or the store takes no
    /// writes.
    pub fn drop_keyspace(&self, name: &str) -> Result<()> {
        self.handle.store.drop_keyspace(name)
    }

    /// The names of all keyspaces, sorted.
    pub fn keyspaces(&self) -> Vec<String> {
        let keyspaces = self.handle.store.keyspaces.load();
        let kept = keyspaces.values().filter(|k| !k.is_dropped());
        let mut names: Vec<String> = kept.map(|k| k.name.clone()).collect();
        names.sort();
        names
    }

    /// Writes a batch with the durability of [`Options::durability`]. It takes a batch, or a reference to one
    /// that is to be written again or [cleared](WriteBatch::clear) and filled anew; its bytes are copied
    /// if other threads are writing.
    ///
    /// # Errors
    /// If the batch belongs to another store or a dropped keyspace, or the store takes no writes.
    /// After an I/O error it is unknown whether the batch was written, until the store is opened
    /// again.
    pub fn write<'a>(&self, batch: impl Into<Cow<'a, WriteBatch>>) -> Result<()> {
        self.handle.write(batch.into())
    }

    /// Writes a batch with the given durability.
    ///
    /// # Errors
    /// As [`Db::write`].
    pub fn write_with<'a>(
        &self,
        batch: impl Into<Cow<'a, WriteBatch>>,
        durability: Durability,
    ) -> Result<()> {
        self.handle.write_with(batch.into(), durability)
    }

    /// A snapshot of all keyspaces, to be read later. Costs next to nothing.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.handle.clone())
    }

    /// Makes everything durable that was acknowledged so far, in all keyspaces.
    ///
    /// # Errors
    /// If the sync fails; the store is then read-only until it is opened again.
    pub fn sync(&self) -> Result<()> {
        self.handle.store.sync_logs()
    }

    /// Describes what the store holds and what it did, all keyspaces included. Opens every table that is
    /// not open yet.
    ///
    /// # Errors
    /// If a table cannot be opened.
    pub fn stats(&self) -> Result<Stats> {
        self.handle.store.measure()
    }

    /// Waits until no flush or compaction is due and no table is to be learned, or none can be done. Tables that wait before they
    /// may be [learned](crate::Tuner::Bourbon) are not waited for. For tests that need the same
    /// files each time.
    #[doc(hidden)]
    pub fn settle(&self) {
        self.handle.settle();
    }

    /// Whether flushes may keep back keys that arrive out of order; they may in a store that was just opened. For
    /// tests and measurements that compare both.
    #[doc(hidden)]
    pub fn set_holding_back(&self, on: bool) {
        let store = &self.handle.store;
        store
            .may_hold_back
            .store(on, crate::sync::atomic::Ordering::Relaxed);
    }

    /// Closes the store and returns whether that succeeded. It waits until the background threads have
    /// ended or broken off their flushes and merges, and ends the log. Later writes, flushes and
    /// compactions, and those that other threads have under way, fail with [`Error::Closed`], or with the
    /// error that ended all writing before.
    ///
    /// It is closed for all handles, clones of this one among them. These, [`Keyspace`] handles,
    /// [`Snapshot`]s, iterators and values can still be read, and the files that they read stay. As long as a
    /// handle or a snapshot exists, the directory stays locked, and opening it again gives
    /// [`Error::Locked`].
    ///
    /// # Errors
    /// If the log cannot be ended. What was acknowledged as durable is durable all the same, and the store
    /// is closed. [`Error::Closed`] if a clone has closed it before.
    pub fn close(self) -> Result<()> {
        self.handle.close()
    }
}

impl Deref for Db {
    type Target = Keyspace;

    fn deref(&self) -> &Keyspace {
        &self.default
    }
}

fn keyspace_of(handle: &Arc<Handle>, name: &str) -> Result<Keyspace> {
    let state = handle.store.keyspace_named(name);
    let state = state.filter(|keyspace| !keyspace.is_dropped());
    let state = state.ok_or_else(|| Error::NoSuchKeyspace(name.to_string()))?;
    Ok(Keyspace::new(handle.clone(), state))
}
