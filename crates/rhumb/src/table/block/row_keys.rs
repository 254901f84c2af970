//! Keys of equal length in a row.

use std::ops::Range;

use rhumb_index::search::{first_eight, prefetch};

/// The longest row of keys that is prefetched as a whole, in bytes: about as many cache lines as a
/// core can load at once.
const PREFETCHED_BYTES: usize = 640;

/// Keys of one length, one behind the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowKeys<'a> {
    /// The block from the first of them on.
    bytes: &'a [u8],
    pub len: usize,
    /// Selects the bytes of a key among the eight bytes at its start, if the key is shorter.
    mask: u64,
}

impl<'a> RowKeys<'a> {
    /// Keys of `len` bytes, of which the first is at the start of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8], len: usize) -> Self {
        RowKeys::masked(bytes, len, RowKeys::mask_of(len))
    }

    /// The same, of whose heads only the bits of `mask` are wanted, some of [those of the key](RowKeys::mask_of).
    #[inline]
    pub fn masked(bytes: &'a [u8], len: usize, mask: u64) -> Self {
        RowKeys { bytes, len, mask }
    }

    /// The bits of eight bytes that belong to a key of `len` bytes at their start.
    #[inline]
    pub fn mask_of(len: usize) -> u64 {
        let behind = u64::BITS - 8 * len.min(8) as u32;
        u64::MAX.checked_shl(behind).unwrap_or(0)
    }

    /// The first eight bytes of the key at `slot` as a number, padded with zeros.
    #[inline]
    pub fn head(&self, slot: usize) -> u64 {
        let bytes = self.bytes.get(slot * self.len..);
        // The bytes after the key, mostly of the next key or of values, are masked out.
        match bytes.and_then(|bytes| bytes.first_chunk::<8>()) {
            Some(word) => u64::from_be_bytes(*word) & self.mask,
            None => first_eight(self.key(slot)) & self.mask,
        }
    }

    /// The key at `slot`.
    #[inline]
    pub fn key(&self, slot: usize) -> &'a [u8] {
        let start = slot * self.len;
        self.bytes.get(start..start + self.len).unwrap_or_default()
    }

    /// Prefetches the keys at some slots, unless they are many.
    #[inline]
    pub fn prefetch(&self, slots: &Range<usize>) {
        if slots.len() * self.len <= PREFETCHED_BYTES {
            prefetch(self.bytes, slots.start * self.len..slots.end * self.len);
        }
    }
}
