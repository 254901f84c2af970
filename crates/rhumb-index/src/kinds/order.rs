//! Counts the pushed keys and makes sure that they ascend.

use crate::IndexError;

/// Remembers the last key that was pushed.
#[derive(Debug, Default)]
pub(crate) struct Order {
    last: Last,
    keys: u64,
}

/// The last key; integers are compared as such.
#[derive(Debug, Default)]
enum Last {
    #[default]
    None,
    Number(u64),
    Key(Vec<u8>),
}

impl Order {
    /// Notes the next key and gives its rank.
    ///
    /// # Errors
    /// [`IndexError::Unsorted`] if it is not above the key before it.
    pub(crate) fn push(&mut self, key: &[u8]) -> Result<u64, IndexError> {
        let ascends = match &self.last {
            Last::None => true,
            Last::Number(last) => key > last.to_be_bytes().as_slice(),
            Last::Key(last) => key > last.as_slice(),
        };
        let rank = self.count(ascends)?;
        match &mut self.last {
            Last::Key(last) => {
                last.clear();
                last.extend_from_slice(key);
            }
            other => *other = Last::Key(key.to_vec()),
        }
        Ok(rank)
    }

    /// The same for a key of 8 big-endian bytes.
    #[inline]
    pub(crate) fn push_number(&mut self, number: u64) -> Result<u64, IndexError> {
        let ascends = match &self.last {
            Last::None => true,
            Last::Number(last) => number > *last,
            Last::Key(last) => number.to_be_bytes().as_slice() > last.as_slice(),
        };
        let rank = self.count(ascends)?;
        self.last = Last::Number(number);
        Ok(rank)
    }

    /// Notes `keys` more that are known to ascend, `last` being the last of them.
    pub(crate) fn skip_to(&mut self, last: u64, keys: u64) {
        self.last = Last::Number(last);
        self.keys += keys;
    }

    #[inline]
    fn count(&mut self, ascends: bool) -> Result<u64, IndexError> {
        let rank = self.keys;
        if !ascends {
            return Err(IndexError::Unsorted { rank });
        }
        self.keys += 1;
        Ok(rank)
    }

    /// How many keys there were.
    pub(crate) fn keys(&self) -> u64 {
        self.keys
    }
}
