//! What the keys of a block share with the first keys of their groups.

use super::GROUP_ENTRIES;

/// Sums and extremes over the first entries of a block.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sharing {
    /// The number of these entries.
    pub entries: usize,
    /// How many bytes the entries that do not start a group share with the one that does: the sum,
    /// then the largest.
    pub shared_bytes: usize,
    pub shared_max: usize,
    /// The largest number of bytes that such an entry does not share with it.
    unshared_max: usize,
    /// The longest key that starts a group.
    head_max: usize,
}

impl Sharing {
    /// Adds the next key, of so many bytes, and how many of them it shares with the first key of its group; 0 for that key
    /// itself.
    #[inline]
    pub fn add(&mut self, key: usize, with_head: usize) {
        if self.entries.is_multiple_of(GROUP_ENTRIES) {
            self.head_max = self.head_max.max(key);
        } else {
            self.shared_bytes += with_head;
            self.shared_max = self.shared_max.max(with_head);
            self.unshared_max = self.unshared_max.max(key - with_head);
        }
        self.entries += 1;
    }

    /// The number of entries that start a group.
    pub fn heads(&self) -> usize {
        self.entries.div_ceil(GROUP_ENTRIES)
    }

    /// The most bytes that are stored of a key if keys share, behind a block prefix of this length.
    pub fn suffix_max(&self, prefix: usize) -> usize {
        self.unshared_max.max(self.head_max - prefix)
    }
}
