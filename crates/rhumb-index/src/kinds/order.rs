//! Counts the pushed keys and makes sure that they ascend.

use crate::IndexError;

/// Remembers the last key that was pushed.
#[derive(Debug, Default)]
pub(crate) struct Order {
    last: Vec<u8>,
    keys: u64,
}

impl Order {
    /// Notes the next key and gives its rank.
    ///
    /// # Errors
    /// [`IndexError::Unsorted`] if it is not above the key before it.
    pub(crate) fn push(&mut self, key: &[u8]) -> Result<u64, IndexError> {
        let rank = self.keys;
        if rank > 0 && key <= self.last.as_slice() {
            return Err(IndexError::Unsorted { rank });
        }
        self.last.clear();
        self.last.extend_from_slice(key);
        self.keys += 1;
        Ok(rank)
    }

    /// How many keys there were.
    pub(crate) fn keys(&self) -> u64 {
        self.keys
    }
}
