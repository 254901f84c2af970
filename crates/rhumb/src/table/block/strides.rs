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

    /// The length of each key.
    pub fn key_len(&self) -> usize {
        self.prefix + self.key
    }

    /// Writes the keys from slot `first` on, one behind the other, over `keys`.
    pub fn keys_into(&self, raw: &[u8], first: usize, keys: &mut [u8]) {
        let Some(prefix) = raw.get(HEADER_BYTES..HEADER_BYTES + self.prefix) else {
            return;
        };
        if self.key == 0 {
            let all = keys.chunks_exact_mut(self.prefix.max(1));
            all.for_each(|to| to.copy_from_slice(prefix));
            return;
        }
        let start = self.keys + first * self.key;
        let from = raw.get(start..).unwrap_or_default();
        let mut rests = from.chunks_exact(self.key);
        let Some((first, others)) = keys.split_at_mut_checked(self.key_len()) else {
            return;
        };
        let key_of = |to: &mut [u8], rest: &[u8]| {
            let (_, end) = to.split_at_mut(self.prefix);
            if !copy_words(end, rest) {
                end.copy_from_slice(rest);
            }
        };
        if let (Some(start), Some(rest)) = (first.get_mut(..self.prefix), rests.next()) {
            start.copy_from_slice(prefix);
            key_of(first, rest);
        }
        // The other keys begin like the first one: short keys are copied whole, which takes a few words.
        for (to, rest) in others.chunks_exact_mut(self.key_len()).zip(rests) {
            if !copy_words(to, first) {
                to.copy_from_slice(first);
            }
            key_of(to, rest);
        }
    }

    /// The value at `slot`, an entry that has one.
    #[inline]
    pub fn value<'r>(&self, raw: &'r [u8], slot: usize) -> &'r [u8] {
        let (start, len) = self.value_place(slot);
        raw.get(start..start + len).unwrap_or_default()
    }

    /// Where that value starts, and its length.
    #[inline]
    pub fn value_place(&self, slot: usize) -> (usize, usize) {
        (self.values + slot * self.value, self.value)
    }
}
