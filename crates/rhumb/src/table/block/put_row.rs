//! Gets from blocks of the commonest form, by their headers alone.
//!
//! Where all entries are puts, and all keys and all values have one length, a few fields of the header tell where everything lies.
//! A get that finds its key there needs no [`BlockLayout`](super::BlockLayout), whose making takes as long as the search.

use rhumb_index::search::{first_eight, first_not};

use super::header::Header;
use super::row_keys::RowKeys;
use super::search::{slots_near, strip};
use super::{HEADER_BYTES, flag};
use crate::entry::{EntryKind, Sequence, is_same};
use crate::table::form::bits::unpack;

/// A block of puts whose keys have one length and lie in a row, and whose values have one length. It was checked when it was read;
/// of other bytes it gives arbitrary answers.
#[derive(Debug, Clone, Copy)]
pub(in crate::table) struct PutRow<'a> {
    header: Header<'a>,
    prefix: &'a [u8],
    /// The block from its sequences on.
    sequences: &'a [u8],
    count: usize,
    keys: RowKeys<'a>,
    /// Where the first value starts in the block, and the length of each.
    values: usize,
    value_len: usize,
}

/// A put that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::table) struct FoundPut {
    /// Where its value starts in the block, and the length of the value.
    pub value: (usize, usize),
    /// Its sequence in the block, to which that of the table is to be added.
    pub sequence: Sequence,
}

impl<'a> PutRow<'a> {
    /// The entries of a block, if they are such.
    #[inline]
    pub fn of(raw: &'a [u8]) -> Option<Self> {
        let (header, rest) = raw.split_first_chunk::<HEADER_BYTES>()?;
        let header = Header(header);
        let is_put = header.kind() == EntryKind::Put as u8;
        if !(is_put && header.flags() & flag::ALL_ALIKE == flag::ALL_ALIKE) {
            return None;
        }
        let [count, prefix_len] = [header.count(), header.prefix_len()].map(usize::from);
        let key_len = header.suffix_len() as usize;
        let (prefix, sequences) = rest.split_at_checked(prefix_len)?;
        let sequence_bytes = (count * usize::from(header.sequence_width())).div_ceil(8);
        Some(PutRow {
            header,
            prefix,
            sequences,
            count,
            keys: RowKeys::new(sequences.get(sequence_bytes..)?, key_len),
            values: HEADER_BYTES + prefix_len + sequence_bytes + count * key_len,
            value_len: header.value_len() as usize,
        })
    }

    /// The newest put of a key up to sequence `visible`, if it is certainly that of the whole table; `expected` is the slot that
    /// the model predicts. `None` tells nothing: the put may be elsewhere, or here behind other keys with the same first eight bytes.
    #[inline]
    pub fn find(&self, key: &[u8], visible: Sequence, expected: Option<u64>) -> Option<FoundPut> {
        let rest = strip(self.prefix, key).filter(|rest| rest.len() == self.keys.len)?;
        let near = slots_near(expected, self.header.hint(), self.count);
        // With an expectation, the keys were prefetched before the block was pinned.
        if expected.is_none() {
            self.keys.prefetch(&near);
        }
        let head = first_eight(rest);
        let slot = first_not(near.clone(), |slot| self.keys.head(slot) < head);
        if slot >= self.count || self.keys.head(slot) != head || !self.ends_as(slot, rest) {
            return None;
        }
        // Newer versions of the key, if there are any, come before it.
        let is_first = match slot {
            0 => !self.header.has(flag::CONTINUES),
            _ => slot > near.start || self.keys.head(slot - 1) < head,
        };
        let width = self.header.sequence_width().into();
        let stored = unpack(self.sequences, slot as u64, width);
        let sequence = self.header.sequence_base().wrapping_add(stored);
        (is_first && sequence <= visible).then(|| FoundPut {
            value: (self.values + slot * self.value_len, self.value_len),
            sequence,
        })
    }

    /// Whether the key at `slot`, which has the first eight bytes of another one, and its length, is that one.
    #[inline]
    fn ends_as(&self, slot: usize, rest: &[u8]) -> bool {
        rest.len() <= 8 || is_same(self.keys.key(slot), rest)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::table::block::{BlockBuilder, BlockLayout, BlockView, FENCE_KEY_BYTES, NewEntry};

    /// Keys of one length, each at some sequences, in the order of a block.
    type Puts = BTreeSet<(Vec<u8>, Reverse<Sequence>)>;

    fn puts() -> impl Strategy<Value = (Puts, usize)> {
        let keys = (1..20usize, 1..4u8).prop_flat_map(|(len, letters)| {
            let key = prop::collection::vec(b'a'..b'a' + letters, len);
            let sequence = prop_oneof![4 => Just(7), 1 => 5..9u64];
            prop::collection::btree_set((key, sequence.prop_map(Reverse)), 1..40)
        });
        (keys, prop_oneof![Just(0usize), Just(1), 2..70usize])
    }

    /// The block; whether it `continues` with the last key of the one before.
    fn encoded(puts: &Puts, value: usize, hint: (i16, i16), continues: bool) -> Vec<u8> {
        let mut block = BlockBuilder::default();
        let mut before: Option<&[u8]> = None;
        for (key, Reverse(sequence)) in puts {
            let entry = NewEntry {
                key,
                sequence: *sequence,
                kind: EntryKind::Put,
                value: &vec![7; value],
                new_key: before.replace(key) != Some(key),
            };
            assert!(block.push_within(&entry, usize::MAX));
        }
        let (first, mut raw) = (block.first_key().to_vec(), Vec::new());
        block.encode(continues.then_some(&first), None, &mut raw);
        raw[24..26].copy_from_slice(&hint.0.to_le_bytes());
        raw[26..28].copy_from_slice(&hint.1.to_le_bytes());
        raw
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

        /// What it finds is the newest visible put, whatever is expected; and with a fitting expectation it finds all that it may.
        #[test]
        fn puts_are_those_that_the_whole_block_has(
            (puts, value) in puts(),
            hint in prop_oneof![Just((1i16, 0i16)), Just((0, 0)), Just((-2, 3)), (-5..5i16, -5..5i16)],
            continues: bool,
            visible in 4..9u64,
        ) {
            let raw = encoded(&puts, value, hint, continues);
            let layout = BlockLayout::parse(&raw).unwrap();
            let view = BlockView::new(&raw, &layout);
            let row = PutRow::of(&raw);
            // Keys that share much are not stored in a row.
            prop_assume!(row.is_some());
            let row = row.unwrap();
            for (key, _) in &puts {
                let slot = view.lower_bound(key, visible);
                let newest = view.lower_bound(key, Sequence::MAX);
                let alike = |other: &[u8]| other.get(..8).is_some_and(|start| key.starts_with(start));
                let is_alone = puts.iter().all(|(other, _)| other == key || !alike(other));
                for expected in (0..puts.len() as u64 + 2).map(Some).chain([None]) {
                    let Some(found) = row.find(key, visible, expected) else {
                        let is_certain =
                            !(continues && newest == 0) && slot == newest && is_alone;
                        let is_near = slots_near(expected, hint, view.count()).contains(&slot);
                        prop_assert!(!(is_certain && is_near), "{key:?} at {slot}, expected at {expected:?}");
                        continue;
                    };
                    prop_assert_eq!(found.sequence, view.sequence(slot));
                    prop_assert_eq!(found.value, view.value_of_put(slot));
                    prop_assert!(view.has_key(slot, key) && !(continues && slot == 0));
                }
                for other in [&key[1..], &[&key[..], b"a"].concat(), b"", &[b'b'; 30]] {
                    let found = row.find(other, visible, None);
                    let slot = view.lower_bound(other, visible);
                    prop_assert!(found.is_none() || view.has_key(slot, other));
                }
            }
        }
    }

    #[test]
    fn other_blocks_and_bytes_are_left_to_their_layout() {
        let puts: Puts = (0..9).map(|n| (vec![n, 1], Reverse(7))).collect();
        let raw = encoded(&puts, 3, (1, 0), false);
        assert!(PutRow::of(&raw).is_some_and(|row| row.find(&[4, 1], 7, None).is_some()));
        for (at, byte) in [(0, 0), (0, raw[0] & !flag::VALUES_ALIKE), (7, 0)] {
            let mut other = raw.clone();
            other[at] = byte;
            assert!(PutRow::of(&other).is_none(), "{byte} at {at}");
        }
        // The key ends 4 keys, 9 values and the fence keys before the end.
        let key_end = raw.len() - FENCE_KEY_BYTES - 9 * 3 - 4 * 2;
        for len in 0..raw.len() {
            let found = PutRow::of(&raw[..len]).and_then(|row| row.find(&[4, 1], 7, None));
            assert!(found.is_none() || len >= key_end, "{len} bytes");
        }
    }
}
