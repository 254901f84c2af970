//! Blocks whose keys and values lie at equal distances.

use super::{BlockView, HEADER_BYTES};
use crate::entry::copy_words;

/// Where the keys and values of a block lie whose keys share nothing but the block prefix, and have one length, as have its
/// values: what a walk would otherwise work out again for each entry.
#[derive(Debug, Clone, Copy)]
pub(in crate::table) struct Strides {
    prefix: usize,
    keys: usize,
    key: usize,
    values: usize,
    value: usize,
}

impl BlockView<'_> {
    /// The strides of the block, if its entries are so.
    #[inline]
    pub fn strides(&self) -> Option<Strides> {
        let value = self.layout.value_len()?;
        let (keys, key) = self.layout.row();
        self.is_row().then_some(Strides {
            prefix: self.layout.prefix_end() - HEADER_BYTES,
            keys,
            key,
            values: self.layout.values(),
            value,
        })
    }
}

impl Strides {
    /// Changes `key` from another key of the block, whose raw form is given, to that at `slot`. Returns `false`, and changes
    /// nothing, unless the rest behind the prefix has 4 to 32 bytes.
    #[inline]
    pub fn key_into(&self, raw: &[u8], slot: usize, key: &mut [u8]) -> bool {
        let start = self.keys + slot * self.key;
        let from = raw.get(start..start + self.key);
        match (key.get_mut(self.prefix..), from) {
            (Some(to), Some(from)) => copy_words(to, from),
            _ => false,
        }
    }

    /// The value at `slot`, an entry that has one.
    #[inline]
    pub fn value<'r>(&self, raw: &'r [u8], slot: usize) -> &'r [u8] {
        let start = self.values + slot * self.value;
        raw.get(start..start + self.value).unwrap_or_default()
    }
}
