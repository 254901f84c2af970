//! Batches of writes.

use std::borrow::Cow;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use crate::db::Keyspace;
use crate::db::bounds::{behind_prefix, end_key, first_key};
use crate::db::store::OpenKeyspace;
use crate::entry::operations::Operations;
use crate::entry::{LARGEST_KEY, MAX_KEY_BYTES, MAX_VALUE_BYTES};
use crate::error::{Error, Result};

/// Writes to one or more keyspaces that are atomic: all of them or none become visible, and all of
/// them or none survive a crash.
///
/// ```
/// # fn main() -> rhumb::Result<()> {
/// # let options = rhumb::Options::in_memory();
/// let db = rhumb::Db::open("example", options)?;
/// let users = db.create_keyspace("users")?;
/// let by_mail = db.create_keyspace("by_mail")?;
/// let mut batch = rhumb::WriteBatch::new();
/// batch.put(&users, "7", "Ada")?;
/// batch.put(&by_mail, "ada@example.org", "7")?;
/// db.write(batch)?;
/// # Ok(())
/// # }
/// ```
///
/// A batch that is written by reference can be used again: [`WriteBatch::clear`] keeps its memory.
///
/// ```
/// # fn main() -> rhumb::Result<()> {
/// # let db = rhumb::Db::open("example", rhumb::Options::in_memory())?;
/// let mut batch = rhumb::WriteBatch::new();
/// for thousand in 0..3u64 {
///     for n in 0..1000 {
///         batch.put(&db, (thousand * 1000 + n).to_be_bytes(), "value")?;
///     }
///     db.write(&batch)?;
///     batch.clear();
/// }
/// # assert_eq!(db.approximate_len()?, 3000);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default, Clone)]
pub struct WriteBatch {
    pub(in crate::db) operations: Operations,
    /// The keyspaces that the operations write to.
    pub(in crate::db) keyspaces: Vec<Arc<OpenKeyspace>>,
    user_bytes: usize,
    /// Whether it has a value that may stay in the log, apart from its key.
    pub(in crate::db) separates: bool,
}

impl WriteBatch {
    /// Makes an empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// If the key is longer than 65,536 bytes or the value does not fit into 4 GiB.
    pub fn put(
        &mut self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<()> {
        let (key, value) = (check_key(key.as_ref())?, check_value(value.as_ref())?);
        let id = self.name(keyspace)?;
        self.operations.push_put(id, key, value);
        self.separates |= keyspace.state().leaves_in_log(value.len());
        self.user_bytes += key.len() + value.len();
        Ok(())
    }

    /// Removes a key.
    ///
    /// # Errors
    /// If the key is longer than 65,536 bytes.
    pub fn delete(&mut self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<()> {
        let key = check_key(key.as_ref())?;
        let id = self.name(keyspace)?;
        self.operations.push_delete(id, key);
        self.user_bytes += key.len();
        Ok(())
    }

    /// Removes all keys of a range. Does nothing if the range is empty. A range without an end takes 128
    /// KiB in the batch; others take about what their keys take.
    ///
    /// # Errors
    /// If a key is longer than 65,536 bytes.
    pub fn delete_range<K: AsRef<[u8]>>(
        &mut self,
        keyspace: &Keyspace,
        range: impl RangeBounds<K>,
    ) -> Result<()> {
        let (start, end) = (range.start_bound(), range.end_bound());
        let start = check_bound(start.map(AsRef::as_ref))?;
        let end = check_bound(end.map(AsRef::as_ref))?;
        let Some(start) = first_key(start) else {
            return Ok(());
        };
        match end_key(end) {
            Some(end) => self.delete_between(keyspace, &start, &end),
            None => {
                // The end of a range is a key, and not in the range: the largest key goes by itself.
                self.delete_between(keyspace, &start, LARGEST_KEY)?;
                self.delete(keyspace, LARGEST_KEY)
            }
        }
    }

    /// Removes all keys at or after `start` and below `end`.
    fn delete_between(&mut self, keyspace: &Keyspace, start: &[u8], end: &[u8]) -> Result<()> {
        if start < end {
            let id = self.name(keyspace)?;
            self.operations.push_range_delete(id, start, end);
            self.user_bytes += start.len() + end.len();
        }
        Ok(())
    }

    /// Removes all keys that start with `prefix`. An empty prefix, or one of bytes 0xFF only, takes 128 KiB
    /// in the batch; others take about twice their length.
    ///
    /// # Errors
    /// If the prefix is longer than 65,536 bytes.
    pub fn delete_prefix(&mut self, keyspace: &Keyspace, prefix: impl AsRef<[u8]>) -> Result<()> {
        let prefix = prefix.as_ref();
        let range = (Bound::Included(prefix.to_vec()), behind_prefix(prefix));
        self.delete_range(keyspace, range)
    }

    /// Removes all operations, and keeps the memory that they took for those to come.
    pub fn clear(&mut self) {
        self.operations.clear();
        self.keyspaces.clear();
        self.user_bytes = 0;
        self.separates = false;
    }

    /// The number of operations in the batch.
    pub fn len(&self) -> usize {
        self.operations.count() as usize
    }

    /// Whether the batch is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of bytes that the operations take in the log.
    pub fn bytes(&self) -> usize {
        self.operations.bytes().len()
    }

    /// The number of bytes in the keys and values of the operations.
    pub(in crate::db) fn user_bytes(&self) -> usize {
        self.user_bytes
    }

    /// Adds `keyspace` to the list of keyspaces that the batch writes to. Returns its id.
    fn name(&mut self, keyspace: &Keyspace) -> Result<u32> {
        let state = keyspace.state();
        if let Some(first) = self.keyspaces.first()
            && first.store != state.store
        {
            let message =
                "a batch holds writes to one store only: use a batch for each store".to_string();
            return Err(Error::InvalidArgument(message));
        }
        if !self.keyspaces.iter().any(|k| k.id == state.id) {
            self.keyspaces.push(state.clone());
        }
        Ok(state.id)
    }

    /// Fails if the batch holds writes to another store than the one numbered `store`.
    pub(in crate::db) fn check_store(&self, store: u64) -> Result<()> {
        if self.keyspaces.iter().any(|k| k.store != store) {
            let message = "the batch holds writes to keyspaces of another store".to_string();
            return Err(Error::InvalidArgument(message));
        }
        Ok(())
    }

    /// Fails if one of the keyspaces has been dropped.
    pub(in crate::db) fn check_keyspaces(&self) -> Result<()> {
        match self.keyspaces.iter().find(|k| k.is_dropped()) {
            Some(dropped) => Err(Error::NoSuchKeyspace(dropped.name.clone())),
            None => Ok(()),
        }
    }
}

/// What a writer hands over that does not keep its batch.
impl From<WriteBatch> for Cow<'_, WriteBatch> {
    fn from(batch: WriteBatch) -> Self {
        Cow::Owned(batch)
    }
}

/// What a writer lends that keeps its batch.
impl<'a> From<&'a WriteBatch> for Cow<'a, WriteBatch> {
    fn from(batch: &'a WriteBatch) -> Self {
        Cow::Borrowed(batch)
    }
}

pub(in crate::db) fn check_key(key: &[u8]) -> Result<&[u8]> {
    if key.len() > MAX_KEY_BYTES {
        let message = format!(
            "a key of {} bytes is too long: keys hold up to {MAX_KEY_BYTES}",
            key.len()
        );
        return Err(Error::InvalidArgument(message));
    }
    Ok(key)
}

fn check_bound(bound: Bound<&[u8]>) -> Result<Bound<&[u8]>> {
    if let Bound::Included(key) | Bound::Excluded(key) = bound {
        check_key(key)?;
    }
    Ok(bound)
}

pub(in crate::db) fn check_value(value: &[u8]) -> Result<&[u8]> {
    // The log frame and the block that hold the value have 32-bit lengths too. The megabyte is for
    // what they hold besides the value.
    if value.len() > MAX_VALUE_BYTES - (1 << 20) {
        let message = format!(
            "a value of {} bytes is too long: values stay below 4 GiB",
            value.len()
        );
        return Err(Error::InvalidArgument(message));
    }
    Ok(value)
}
