//! Writes that happen together.

use std::sync::Arc;

use super::Keyspace;
use super::store::OpenKeyspace;
use crate::entry::operations::Operations;
use crate::entry::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use crate::error::{Error, Result};
use crate::sync::atomic::Ordering;

/// Writes to one or more keyspaces that become visible, and survive a crash, all or none.
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
#[derive(Debug, Default, Clone)]
pub struct WriteBatch {
    pub(super) operations: Operations,
    /// The keyspaces that the operations name.
    pub(super) keyspaces: Vec<Arc<OpenKeyspace>>,
    user_bytes: usize,
}

impl WriteBatch {
    /// A batch without operations.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a key's value.
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

    /// Removes all keys from `start` on and below `end`. Nothing happens if `start >= end`.
    ///
    /// # Errors
    /// If a key is longer than 65,536 bytes.
    pub fn delete_range(
        &mut self,
        keyspace: &Keyspace,
        start: impl AsRef<[u8]>,
        end: impl AsRef<[u8]>,
    ) -> Result<()> {
        let (start, end) = (check_key(start.as_ref())?, check_key(end.as_ref())?);
        if start < end {
            let id = self.name(keyspace)?;
            self.operations.push_range_delete(id, start, end);
            self.user_bytes += start.len() + end.len();
        }
        Ok(())
    }

    /// How many operations the batch holds.
    pub fn len(&self) -> usize {
        self.operations.count() as usize
    }

    /// Whether the batch holds no operation.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many bytes the batch takes in the log.
    pub fn bytes(&self) -> usize {
        self.operations.bytes().len()
    }

    /// Bytes of keys and values.
    pub(super) fn user_bytes(&self) -> usize {
        self.user_bytes
    }

    /// Notes that the batch names `keyspace`; returns its id.
    fn name(&mut self, keyspace: &Keyspace) -> Result<u32> {
        let state = keyspace.state();
        if let Some(first) = self.keyspaces.first()
            && first.store != state.store
        {
            let message = "a batch holds writes to one store: use one batch for each".to_string();
            return Err(Error::InvalidArgument(message));
        }
        if !self.keyspaces.iter().any(|k| k.id == state.id) {
            self.keyspaces.push(state.clone());
        }
        Ok(state.id)
    }

    /// Whether the batch belongs to the store numbered `store`.
    pub(super) fn check_store(&self, store: u64) -> Result<()> {
        if self.keyspaces.iter().any(|k| k.store != store) {
            let message = "the batch was made for the keyspaces of another store".to_string();
            return Err(Error::InvalidArgument(message));
        }
        Ok(())
    }

    /// An error if one of the keyspaces was dropped since.
    pub(super) fn check_keyspaces(&self) -> Result<()> {
        match self
            .keyspaces
            .iter()
            .find(|k| k.dropped.load(Ordering::Acquire))
        {
            Some(dropped) => Err(Error::NoSuchKeyspace(dropped.name.clone())),
            None => Ok(()),
        }
    }
}

fn check_key(key: &[u8]) -> Result<&[u8]> {
    if key.len() > MAX_KEY_BYTES {
        let message = format!(
            "a key of {} bytes is too long: keys hold up to {MAX_KEY_BYTES}",
            key.len()
        );
        return Err(Error::InvalidArgument(message));
    }
    Ok(key)
}

fn check_value(value: &[u8]) -> Result<&[u8]> {
    // The frame and the block around a value have 32-bit lengths, so a little is kept back.
    if value.len() > MAX_VALUE_BYTES - (1 << 20) {
        let message = format!(
            "a value of {} bytes is too long: values stay below 4 GiB",
            value.len()
        );
        return Err(Error::InvalidArgument(message));
    }
    Ok(value)
}
