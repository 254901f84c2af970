//! Iterators over keys without their values.

use super::iter::Iter;
use super::key::Key;
use crate::error::Result;

/// An iterator over the keys of a range, in key order and from both ends, which reads no values: see
/// [`Iter::keys`]. In everything else it is as the [`Iter`] it was made of.
#[derive(Debug)]
pub struct Keys<'db> {
    entries: Iter<'db>,
}

impl<'db> Keys<'db> {
    pub(super) fn new(entries: Iter<'db>) -> Self {
        Keys { entries }
    }

    /// Moves the front to `key`, as [`Iter::seek`].
    pub fn seek(&mut self, key: impl AsRef<[u8]>) {
        self.entries.seek(key);
    }

    /// Moves the back to `key`, as [`Iter::seek_back`].
    pub fn seek_back(&mut self, key: impl AsRef<[u8]>) {
        self.entries.seek_back(key);
    }

    /// Moves to the next key from the front, which [`Keys::key`] then lends: as [`Iter::advance`].
    ///
    /// # Errors
    /// If a file cannot be read or is damaged; the iterator ends then.
    pub fn advance(&mut self) -> Result<bool> {
        self.entries.advance()
    }

    /// The key that the last [`Keys::advance`] or `next` moved to; empty if there is none.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.entries.key()
    }
}

impl Iterator for Keys<'_> {
    type Item = Result<Key>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.entries.advance() {
            Ok(true) => Some(Ok(Key::from(self.entries.key()))),
            Ok(false) => None,
            Err(e) => Some(Err(e)),
        }
    }
}

impl DoubleEndedIterator for Keys<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let entry = self.entries.next_back()?;
        Some(entry.map(|(key, _)| key))
    }
}
