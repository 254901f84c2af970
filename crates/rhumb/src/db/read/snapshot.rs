//! Snapshots: reads of the store as it was at one moment.

use std::ops::RangeBounds;
use std::sync::Arc;

use crate::db::handle::Handle;
use crate::db::{Iter, Key, Keyspace, Value};
use crate::entry::Sequence;
use crate::error::{Error, Result};

/// All keyspaces of the store as they were when the snapshot was taken. Taking one costs next to
/// nothing; while it exists, the versions that it sees are kept, except for those of dropped keyspaces. It
/// can be read after [`Db::close`](crate::Db::close) too, and keeps the directory locked until it is dropped.
///
/// ```
/// # fn main() -> rhumb::Result<()> {
/// # let db = rhumb::Db::open("example", rhumb::Options::in_memory())?;
/// db.put("apple", "1")?;
/// let before = db.snapshot();
/// db.put("apple", "2")?;
/// assert_eq!(before.get(&db, "apple")?.as_deref(), Some(&b"1"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Snapshot {
    handle: Arc<Handle>,
    sequence: Sequence,
}

impl Snapshot {
    pub(in crate::db) fn new(handle: Arc<Handle>) -> Self {
        let sequence = handle.store.pin_snapshot();
        Snapshot { handle, sequence }
    }

    /// Fails if the keyspace belongs to another store, whose sequences are unrelated.
    fn check(&self, keyspace: &Keyspace) -> Result<()> {
        if keyspace.state().store == self.handle.store.number {
            return Ok(());
        }
        Err(Error::InvalidArgument(format!(
            "the keyspace {:?} and the snapshot belong to different stores: take a snapshot of the \
             keyspace's store",
            keyspace.name()
        )))
    }

    /// The value that `key` had, if any. See [`Keyspace::get`].
    ///
    /// # Errors
    /// As [`Keyspace::get`]; [`Error::InvalidArgument`] if the keyspace is of another store.
    pub fn get<'a>(
        &self,
        keyspace: &'a Keyspace,
        key: impl AsRef<[u8]>,
    ) -> Result<Option<Value<'a>>> {
        self.check(keyspace)?;
        keyspace.get_at(key.as_ref(), self.sequence)
    }

    /// The values that several keys had, in the order of `keys`. See [`Keyspace::multi_get`].
    ///
    /// # Errors
    /// As [`Keyspace::get`]; [`Error::InvalidArgument`] if the keyspace is of another store.
    pub fn multi_get<'a, K: AsRef<[u8]>>(
        &self,
        keyspace: &'a Keyspace,
        keys: &[K],
    ) -> Result<Vec<Option<Value<'a>>>> {
        self.check(keyspace)?;
        keyspace.multi_get_at(keys, Some(self.sequence))
    }

    /// Whether `key` had a value.
    ///
    /// # Errors
    /// As [`Keyspace::get`]; [`Error::InvalidArgument`] if the keyspace is of another store.
    pub fn contains_key(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<bool> {
        self.check(keyspace)?;
        keyspace.contains_at(key.as_ref(), Some(self.sequence))
    }

    /// The first key that a keyspace had, with its value. See [`Keyspace::first`].
    ///
    /// # Errors
    /// As [`Keyspace::get`]; [`Error::InvalidArgument`] if the keyspace is of another store.
    pub fn first<'a>(&self, keyspace: &'a Keyspace) -> Result<Option<(Key, Value<'a>)>> {
        self.iter(keyspace)?.next().transpose()
    }

    /// The last key that a keyspace had, with its value. See [`Keyspace::last`].
    ///
    /// # Errors
    /// As [`Keyspace::get`]; [`Error::InvalidArgument`] if the keyspace is of another store.
    pub fn last<'a>(&self, keyspace: &'a Keyspace) -> Result<Option<(Key, Value<'a>)>> {
        self.iter(keyspace)?.next_back().transpose()
    }

    /// Whether a keyspace had no key.
    ///
    /// # Errors
    /// As [`Keyspace::get`]; [`Error::InvalidArgument`] if the keyspace is of another store.
    pub fn is_empty(&self, keyspace: &Keyspace) -> Result<bool> {
        Ok(!self.iter(keyspace)?.keys().advance()?)
    }

    /// All keys and values of a keyspace. See [`Keyspace::iter`].
    ///
    /// # Errors
    /// As [`Keyspace::iter`]; [`Error::InvalidArgument`] if the keyspace is of another store.
    pub fn iter<'a>(&self, keyspace: &'a Keyspace) -> Result<Iter<'a>> {
        self.range::<&[u8]>(keyspace, ..)
    }

    /// The keys and values of a range. See [`Keyspace::range`].
    ///
    /// # Errors
    /// As [`Keyspace::range`]; [`Error::InvalidArgument`] if the keyspace is of another store.
    pub fn range<'a, K: AsRef<[u8]>>(
        &self,
        keyspace: &'a Keyspace,
        range: impl RangeBounds<K>,
    ) -> Result<Iter<'a>> {
        self.check(keyspace)?;
        keyspace.range_at(range, self.sequence)
    }

    /// The keys that start with `prefix`. See [`Keyspace::prefix`].
    ///
    /// # Errors
    /// As [`Keyspace::prefix`]; [`Error::InvalidArgument`] if the keyspace is of another store.
    pub fn prefix<'a>(&self, keyspace: &'a Keyspace, prefix: impl AsRef<[u8]>) -> Result<Iter<'a>> {
        self.check(keyspace)?;
        keyspace.prefix_at(prefix.as_ref(), self.sequence)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.handle.store.unpin_snapshot(self.sequence);
    }
}
