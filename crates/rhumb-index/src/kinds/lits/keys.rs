//! Sorted keys, concatenated, from which nodes are built.

use crate::kinds::shared::strings::Strings;
use crate::search::common_prefix;

/// How many bytes before a key's own part the prefix table reads.
pub(super) const CONTEXT_BYTES: usize = 4;

/// Sorted keys. The keys below a node share a stem, of which only the end is stored.
#[derive(Debug, Default)]
pub(super) struct Keys {
    strings: Strings,
    /// How many bytes of the stem are omitted from each key.
    skipped: usize,
    /// The stored end of the stem, with which each key begins.
    stem: Vec<u8>,
}

impl Keys {
    /// No keys; keys are added without their common `stem`.
    pub(super) fn below(stem: &[u8]) -> Self {
        let mut keys = Keys::default();
        keys.clear(stem);
        keys
    }

    /// Removes all keys; keys are then added without their common `stem`.
    pub(super) fn clear(&mut self, stem: &[u8]) {
        self.strings.clear();
        self.skipped = stem.len().saturating_sub(CONTEXT_BYTES);
        self.stem.clear();
        self.stem
            .extend_from_slice(stem.get(self.skipped..).unwrap_or_default());
    }

    /// How many bytes of the whole keys are omitted.
    pub(super) fn skipped(&self) -> usize {
        self.skipped
    }

    /// The length of the stored stem, after which the keys' own parts begin.
    pub(super) fn stem(&self) -> usize {
        self.stem.len()
    }

    /// Adds a key, given without the stem.
    pub(super) fn push(&mut self, rest: &[u8]) {
        self.push_by(|bytes| bytes.extend_from_slice(rest));
    }

    /// Adds a key, whose part after the stem `append` writes.
    #[inline]
    pub(super) fn push_by(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        self.strings.push_by(|bytes| {
            bytes.extend_from_slice(&self.stem);
            append(bytes);
        });
    }

    pub(super) fn len(&self) -> usize {
        self.strings.len()
    }

    /// A key, including the stored part of the stem.
    #[inline]
    pub(super) fn get(&self, i: usize) -> &[u8] {
        self.strings.get(i)
    }

    /// A key without its first `at` bytes.
    #[inline]
    pub(super) fn rest(&self, i: usize, at: usize) -> &[u8] {
        self.strings.rest(i, at)
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.strings.heap_bytes() + self.stem.capacity()
    }

    /// How many bytes two keys share.
    pub(super) fn shared(&self, a: usize, b: usize) -> usize {
        common_prefix(self.get(a), self.get(b))
    }
}
