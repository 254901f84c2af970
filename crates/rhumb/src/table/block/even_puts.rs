//! Puts of one size, which go through the writer of a table together.

use std::ops::Range;

use super::NewEntry;
use crate::entry::{EntryKind, Sequence};

/// Puts of different keys, in order: all keys have one length, and so have all values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EvenPuts<'a> {
    /// The keys, one behind the other.
    pub keys: &'a [u8],
    /// The values, likewise.
    pub values: &'a [u8],
    /// One for each put.
    pub sequences: &'a [Sequence],
    pub key_len: usize,
    pub value_len: usize,
}

impl<'a> EvenPuts<'a> {
    /// The number of puts.
    #[inline]
    pub fn len(&self) -> usize {
        self.sequences.len()
    }

    /// The bytes of the key and the value of a put.
    #[inline]
    pub fn entry_bytes(&self) -> usize {
        self.key_len + self.value_len
    }

    /// The smallest and the largest sequence; `None` if there are no puts.
    pub fn sequence_range(&self) -> Option<(Sequence, Sequence)> {
        let each = self.sequences.iter().map(|sequence| (*sequence, *sequence));
        each.reduce(|(low, high), (other, _)| (low.min(other), high.max(other)))
    }

    /// Some of the puts, as far as there are so many.
    pub fn part(&self, range: Range<usize>) -> EvenPuts<'a> {
        let (start, end) = (range.start.min(self.len()), range.end.min(self.len()));
        let of = |bytes: &'a [u8], len: usize| bytes.get(start * len..end * len);
        EvenPuts {
            keys: of(self.keys, self.key_len).unwrap_or_default(),
            values: of(self.values, self.value_len).unwrap_or_default(),
            sequences: self.sequences.get(start..end).unwrap_or_default(),
            ..*self
        }
    }

    /// The key of put `at`; empty if there are fewer.
    #[inline]
    pub fn key(&self, at: usize) -> &'a [u8] {
        let start = at * self.key_len;
        self.keys
            .get(start..start + self.key_len)
            .unwrap_or_default()
    }

    /// The puts one by one.
    pub(in crate::table) fn entries(self) -> impl Iterator<Item = NewEntry<'a>> {
        self.sequences
            .iter()
            .enumerate()
            .map(move |(at, sequence)| {
                let value = at * self.value_len..(at + 1) * self.value_len;
                NewEntry {
                    key: self.key(at),
                    sequence: *sequence,
                    kind: EntryKind::Put,
                    value: self.values.get(value).unwrap_or_default(),
                    new_key: true,
                }
            })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::table::block::BlockBuilder;

    /// Keys of some length, in order, and a value and a sequence of each.
    fn puts() -> impl Strategy<Value = (usize, usize, Vec<Vec<u8>>, Vec<Sequence>)> {
        let lengths = (1..12usize, prop_oneof![0..20usize, 300..500usize]);
        lengths.prop_flat_map(|(key, value)| {
            let keys = prop::collection::btree_set(prop::collection::vec(0..4u8, key), 1..200);
            let sequences = prop::collection::vec(0..1_000u64, 200);
            let keys = keys.prop_map(|keys| keys.into_iter().collect());
            (Just(key), Just(value), keys, sequences)
        })
    }

    /// How many are added together must not matter, nor what was added before.
    #[test]
    fn puts_of_one_size_are_added_as_if_one_by_one() {
        let cuts = prop::collection::vec(1..60usize, 1..5);
        let even = prop::option::of(0..3usize);
        proptest!(|((key, value, keys, sequences) in puts(), cuts in cuts, even in even, before: bool)| {
            let keys = keys.concat();
            let count = keys.len() / key;
            let values: Vec<u8> = (0..count * value).map(|i| i as u8).collect();
            let sequences = &sequences[..count];
            let all = EvenPuts { keys: &keys, values: &values, sequences, key_len: key, value_len: value };
            prop_assert_eq!(all.len(), count);
            let (mut together, mut alone) = (BlockBuilder::default(), BlockBuilder::default());
            for block in [&mut together, &mut alone] {
                block.set_even(even);
                if before {
                    let other = NewEntry { key: &[], sequence: 5, kind: EntryKind::Put, value: &[1], new_key: true };
                    block.push_within(&other, usize::MAX);
                }
            }
            let (mut at, limit) = (0, 20_000);
            for cut in cuts.into_iter().cycle() {
                let part = all.part(at..at + cut);
                if at >= count || !together.push_even_within(&part, limit, 150) {
                    break;
                }
                together.last_were_expected_in((0..part.len()).map(|i| (at + i / 2) as u64));
                for (i, entry) in part.entries().enumerate() {
                    prop_assert!(alone.push_within(&entry, limit));
                    alone.last_was_expected_in((at + i / 2) as u64);
                }
                at += part.len();
            }
            // Those behind another entry, too many and too large ones are refused.
            let all_fit = count <= 150 && count * (key + value + 2) + 100 < limit;
            prop_assert!(at == count || before || !all_fit);
            prop_assert!(!before || at == 0);
            prop_assert!(together.count() <= 150 && together.raw_bytes() <= limit);
            prop_assert_eq!(together.least_bytes(), alone.least_bytes());
            prop_assert!(together.count() == 0 || together.least_possible_bytes() <= together.least_bytes());
            let (mut one, mut other) = (Vec::new(), Vec::new());
            if together.count() > 0 {
                together.encode(None, None, &mut one);
                alone.encode(None, None, &mut other);
            }
            prop_assert_eq!(one, other);
        });
    }
}
