//! The prefix of a node, which all of its strings share.

use crate::search::first_eight;

/// A prefix in the bytes of a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prefix<'a> {
    bytes: &'a [u8],
    /// The prefix and what follows it.
    and_more: &'a [u8],
}

impl<'a> Prefix<'a> {
    /// Splits a prefix off bytes; `None` if there are fewer.
    #[inline]
    pub fn split(bytes: &'a [u8], length: usize) -> Option<(Prefix<'a>, &'a [u8])> {
        let (prefix, rest) = bytes.split_at_checked(length)?;
        let prefix = Prefix {
            bytes: prefix,
            and_more: bytes,
        };
        Some((prefix, rest))
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// What follows the prefix in a key; if the key does not begin with it, whether the key is below all that does.
    #[inline]
    pub fn strip<'k>(&self, key: &'k [u8]) -> Result<&'k [u8], bool> {
        let length = self.len();
        if length == 0 {
            return Ok(key);
        }
        let (Some(own), 1..=8) = (self.and_more.first_chunk(), length) else {
            return self.strip_long(key);
        };
        let mask = u64::MAX << (8 * (8 - length));
        let (own, other) = (u64::from_be_bytes(*own) & mask, first_eight(key) & mask);
        match key.get(length..).filter(|_| own == other) {
            Some(rest) => Ok(rest),
            // A key that ends within the prefix is below, and so is what was padded.
            None => Err(other <= own),
        }
    }

    /// As [`Prefix::strip`], by a call.
    fn strip_long<'k>(&self, key: &'k [u8]) -> Result<&'k [u8], bool> {
        key.strip_prefix(self.bytes).ok_or(key < self.bytes)
    }
}
