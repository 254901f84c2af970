//! Blocks whose keys and values lie at equal distances.

use super::row_keys::RowKeys;
use super::{BlockView, HEADER_BYTES};
use crate::entry::{append_part, copy_words};

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
        let to = key.get_mut(self.prefix..);
        to.is_some_and(|to| copy_words(to, self.rest_of_key(raw, slot)))
    }

    /// What all keys of the block, whose raw form is given, begin with.
    #[inline]
    pub fn prefix<'r>(&self, raw: &'r [u8]) -> &'r [u8] {
        // A unit has no header, and may be shorter than one.
        match self.prefix {
            0 => &[],
            len => raw
                .get(HEADER_BYTES..HEADER_BYTES + len)
                .unwrap_or_default(),
        }
    }

    /// The key at `slot` behind the prefix.
    #[inline]
    pub fn rest_of_key<'r>(&self, raw: &'r [u8], slot: usize) -> &'r [u8] {
        let start = self.keys + slot * self.key;
        raw.get(start..start + self.key).unwrap_or_default()
    }

    /// Of the first eight bytes of that as a number, padded with zeros, the bits of `mask`.
    #[inline]
    pub fn head(&self, raw: &[u8], slot: usize, mask: u64) -> u64 {
        let bytes = raw.get(self.keys..).unwrap_or_default();
        RowKeys::masked(bytes, self.key, mask).head(slot)
    }

    /// The bits of those eight bytes that belong to the key.
    pub fn head_mask(&self) -> u64 {
        RowKeys::mask_of(self.key)
    }

    /// Appends the key at `slot` to other keys.
    #[inline]
    pub fn append_key(&self, raw: &[u8], slot: usize, keys: &mut Vec<u8>) {
        if self.prefix > 0 {
            append_part(keys, raw, HEADER_BYTES, self.prefix);
        }
        append_part(keys, raw, self.keys + slot * self.key, self.key);
    }

    /// The length of each value.
    #[inline]
    pub fn value_len(&self) -> usize {
        self.value
    }

    /// The length of each key.
    #[inline]
    pub fn key_len(&self) -> usize {
        self.prefix + self.key
    }

    /// Writes the keys from slot `first` on, one behind the other, over `keys`.
    pub fn keys_into(&self, raw: &[u8], first: usize, keys: &mut [u8]) {
        let prefix = self.prefix(raw);
        let from = raw.get(self.keys + first * self.key..).unwrap_or_default();
        let Some((head, others)) = keys.split_at_mut_checked(self.key_len().max(1)) else {
            return;
        };
        let (start, end) = head.split_at_mut(self.prefix);
        let Some(rest) = from.get(..self.key).filter(|_| start.len() == prefix.len()) else {
            return;
        };
        start.copy_from_slice(prefix);
        end.copy_from_slice(rest);
        // The other keys begin like the first one: short keys are copied whole, which takes a few words.
        let rests = from.get(self.key..).unwrap_or_default();
        let rests = rests.chunks(self.key.max(1));
        for (to, rest) in others.chunks_exact_mut(head.len()).zip(rests) {
            if !copy_words(to, head) {
                to.copy_from_slice(head);
            }
            let (_, end) = to.split_at_mut(self.prefix);
            if !copy_words(end, rest) && end.len() == rest.len() {
                end.copy_from_slice(rest);
            }
        }
    }

    /// Where the value at `slot`, an entry that has one, starts in the raw form, and its length.
    #[inline]
    pub fn value_place(&self, slot: usize) -> (usize, usize) {
        (self.values + slot * self.value, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::EntryKind;
    use crate::table::block::{BlockBuilder, BlockLayout, NewEntry};
    use crate::table::form::units::UnitShape;

    /// Up to 20 keys of `len` bytes, of which the first `shared` are alike.
    fn keys(len: usize, shared: usize) -> Vec<Vec<u8>> {
        let rest = len - shared;
        let count = if rest == 0 { 1 } else { 20 };
        let key = |n: u8| {
            [
                vec![b'k'; shared],
                vec![n; rest.min(2)],
                vec![b'e'; rest - rest.min(2)],
            ]
        };
        (1..=count).map(|n| key(n).concat()).collect()
    }

    fn built(keys: &[Vec<u8>], value: usize) -> BlockBuilder {
        let mut block = BlockBuilder::default();
        for key in keys {
            let entry = NewEntry {
                key,
                sequence: 0,
                kind: EntryKind::Put,
                value: &vec![7; value],
                new_key: true,
            };
            assert!(block.push_within(&entry, usize::MAX));
        }
        block
    }

    /// Compares the keys from each slot on with those read one by one.
    fn check(raw: &[u8], layout: &BlockLayout, expected: &[Vec<u8>]) {
        let view = BlockView::new(raw, layout);
        let Some(strides) = view.strides() else {
            return;
        };
        for (first, key) in expected.iter().enumerate() {
            assert_eq!(strides.key_len(), key.len());
            for count in 0..=expected.len() - first {
                let mut found = vec![0xaa; count * key.len()];
                strides.keys_into(raw, first, &mut found);
                assert_eq!(found, expected[first..first + count].concat());
            }
        }
    }

    #[test]
    fn keys_at_equal_distances_are_those_of_the_block() {
        let mut strided = 0;
        for len in 0..=40 {
            for shared in [0, 1, 3, 9, 20].into_iter().filter(|shared| *shared <= len) {
                let keys = keys(len, shared);
                for value in [0, 1, 8, 100] {
                    let mut block = built(&keys, value);
                    let mut raw = Vec::new();
                    block.encode(None, None, &mut raw);
                    let layout = BlockLayout::parse(&raw).unwrap();
                    strided += usize::from(BlockView::new(&raw, &layout).strides().is_some());
                    check(&raw, &layout, &keys);
                }
            }
        }
        assert!(strided > 300, "{strided}");
    }

    /// Units have no header, and those of small entries are shorter than one.
    #[test]
    fn keys_of_units_are_found_without_a_header() {
        for (len, value, width) in [
            (1, 0, 0),
            (4, 0, 0),
            (4, 1, 0),
            (3, 0, 2),
            (8, 8, 0),
            (33, 1, 8),
        ] {
            let keys = keys(len, 0);
            for count in 1..=keys.len() {
                let mut raw = Vec::new();
                built(&keys[..count], value).encode_unit(width, &mut raw);
                let shape = UnitShape {
                    key: len as u32,
                    value: value as u32,
                    width,
                };
                let layout = BlockLayout::of_unit(shape, raw.len());
                assert!(BlockView::new(&raw, &layout).strides().is_some());
                check(&raw, &layout, &keys[..count]);
            }
        }
    }
}
