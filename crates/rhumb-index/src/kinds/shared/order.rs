//! Counts the pushed keys and makes sure that they ascend.

use std::borrow::Cow;

use crate::IndexError;

/// Remembers the last key that was pushed.
#[derive(Debug, Default)]
pub(crate) struct Order {
    last: Last,
    keys: u64,
    /// Whether the caller checks the order, so that the last key is not remembered.
    trusted: bool,
}

/// The last key; one pushed as an integer is kept and compared as an integer.
#[derive(Debug, Default)]
enum Last {
    #[default]
    None,
    Number(u64),
    Key(Vec<u8>),
}

impl Order {
    /// From now on takes the order of keys as checked. Call it before the first key.
    pub(crate) fn trust(&mut self) {
        self.trusted = true;
    }

    /// Notes the next key and gives its rank.
    ///
    /// # Errors
    /// [`IndexError::Unsorted`] if it is not above the key before it.
    #[inline]
    pub(crate) fn push(&mut self, key: &[u8]) -> Result<u64, IndexError> {
        if self.trusted {
            self.keys += 1;
            return Ok(self.keys - 1);
        }
        // Among keys of other lengths their buffer is kept.
        match (&self.last, <[u8; 8]>::try_from(key)) {
            (Last::None | Last::Number(_), Ok(bytes)) => {
                self.push_number(u64::from_be_bytes(bytes))
            }
            _ => self.push_key(key),
        }
    }

    /// Counts the next keys, if their order is trusted. Returns whether it is.
    pub(crate) fn push_unseen(&mut self, keys: u64) -> bool {
        if self.trusted {
            self.keys += keys;
        }
        self.trusted
    }

    fn push_key(&mut self, key: &[u8]) -> Result<u64, IndexError> {
        let rank = self.check(key)?;
        self.keys += 1;
        match &mut self.last {
            Last::Key(last) => {
                last.clear();
                last.extend_from_slice(key);
            }
            other => *other = Last::Key(key.to_vec()),
        }
        Ok(rank)
    }

    /// The rank that a key would have, without noting the key.
    ///
    /// # Errors
    /// [`IndexError::Unsorted`] if it is not above the last one.
    #[inline]
    pub(crate) fn check(&self, key: &[u8]) -> Result<u64, IndexError> {
        let ascends = match &self.last {
            Last::None => true,
            Last::Number(last) => key > last.to_be_bytes().as_slice(),
            Last::Key(last) => key > last.as_slice(),
        };
        let rank = self.keys;
        match ascends {
            true => Ok(rank),
            false => Err(IndexError::Unsorted { rank }),
        }
    }

    /// The error for a key whose number is below the one before.
    #[cold]
    pub(crate) fn descends<T>(
        &self,
        key: &[u8],
        number: u64,
        before: u64,
    ) -> Result<T, IndexError> {
        let rank = self.check(key)?;
        Err(IndexError::UnsortedNumbers {
            rank,
            number,
            before,
        })
    }

    /// Notes the next key, given as the integer of its 8 big-endian bytes, and gives its rank.
    ///
    /// # Errors
    /// [`IndexError::Unsorted`] if it is not above the key before it.
    #[inline]
    fn push_number(&mut self, number: u64) -> Result<u64, IndexError> {
        let ascends = match &self.last {
            Last::None => true,
            Last::Number(last) => number > *last,
            Last::Key(last) => number.to_be_bytes().as_slice() > last.as_slice(),
        };
        let rank = self.keys;
        if !ascends {
            return Err(IndexError::Unsorted { rank });
        }
        self.keys += 1;
        self.last = Last::Number(number);
        Ok(rank)
    }

    /// Notes many keys of 8 big-endian bytes, or of any bytes if the order is trusted, and gives the
    /// rank of the first.
    ///
    /// # Errors
    /// [`IndexError::Unsorted`] if they do not ascend; none is noted then.
    pub(crate) fn push_numbers(&mut self, numbers: &[u64]) -> Result<u64, IndexError> {
        let first_rank = self.keys;
        let [first, rest @ ..] = numbers else {
            return Ok(first_rank);
        };
        if !numbers.is_sorted_by(|a, b| a < b) {
            let mut pairs = numbers.iter().zip(rest);
            let at = pairs.position(|(a, b)| a >= b).unwrap_or_default();
            let rank = first_rank + at as u64 + 1;
            return Err(IndexError::Unsorted { rank });
        }
        if self.trusted {
            self.keys += numbers.len() as u64;
            return Ok(first_rank);
        }
        self.push_number(*first)?;
        if let Some(last) = rest.last() {
            self.last = Last::Number(*last);
            self.keys += rest.len() as u64;
        }
        Ok(first_rank)
    }

    /// The last key; empty if there is none.
    pub(crate) fn last(&self) -> Cow<'_, [u8]> {
        match &self.last {
            Last::None => Cow::Borrowed(&[]),
            Last::Number(last) => Cow::Owned(last.to_be_bytes().to_vec()),
            Last::Key(last) => Cow::Borrowed(last),
        }
    }

    /// How many keys were pushed.
    pub(crate) fn keys(&self) -> u64 {
        self.keys
    }
}
