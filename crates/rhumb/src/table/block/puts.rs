//! Puts of any sizes, which go through the writer of a table together.

use std::mem;
use std::ops::Range;

use super::NewEntry;
use crate::entry::{EntryKind, Sequence, compare};

/// Where the key and the value of an entry end among those of others, and its sequence.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EntryEnd {
    pub key: usize,
    pub value: usize,
    pub sequence: Sequence,
}

impl EntryEnd {
    /// The bytes of keys and values up to there.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.key + self.value
    }
}

/// Puts of different keys, in order, none of which is so large that it has a block of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Puts<'a> {
    /// The keys, one behind the other.
    keys: &'a [u8],
    /// The values, likewise.
    values: &'a [u8],
    ends: &'a [EntryEnd],
    /// Where the first put starts.
    start: EntryEnd,
    /// The lengths of all keys and of all values, if they have one, and that is known.
    sizes: Option<(usize, usize)>,
}

impl<'a> Puts<'a> {
    /// Puts whose keys and values start at the first bytes.
    pub fn new(keys: &'a [u8], values: &'a [u8], ends: &'a [EntryEnd]) -> Puts<'a> {
        Puts::behind(EntryEnd::default(), (keys, values), ends)
    }

    /// Puts whose keys and values start where another entry ends.
    pub fn behind(
        start: EntryEnd,
        (keys, values): (&'a [u8], &'a [u8]),
        ends: &'a [EntryEnd],
    ) -> Puts<'a> {
        Puts {
            keys,
            values,
            ends,
            start,
            sizes: None,
        }
    }

    /// The same puts, all of whose keys and all of whose values have these lengths.
    pub fn of_sizes(self, sizes: (usize, usize)) -> Puts<'a> {
        Puts {
            sizes: Some(sizes),
            ..self
        }
    }

    /// The lengths of all keys and of all values, if they have one, and that is known.
    #[inline]
    pub fn sizes(&self) -> Option<(usize, usize)> {
        self.sizes
    }

    /// The number of puts.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Where put `at` starts: where the one before it ends.
    #[inline]
    fn start_of(&self, at: usize) -> EntryEnd {
        let before = at.checked_sub(1).and_then(|before| self.ends.get(before));
        before.copied().unwrap_or(self.start)
    }

    /// The bytes of the keys and the values.
    pub fn bytes(&self) -> usize {
        self.start_of(self.len()).bytes() - self.start.bytes()
    }

    /// How many of the first puts take at most `bytes`, if each takes `more` than its key and its value.
    pub fn count_within(&self, bytes: usize, more: usize) -> usize {
        if let Some((key, value)) = self.sizes {
            return (bytes / (key + value + more).max(1)).min(self.len());
        }
        let most = self.start.bytes() + bytes;
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let count = usize::midpoint(low, high) + 1;
            match self.start_of(count).bytes() + count * more <= most {
                true => low = count,
                false => high = count - 1,
            }
        }
        low
    }

    /// Some of the puts, as far as there are so many.
    pub fn part(&self, range: Range<usize>) -> Puts<'a> {
        let (start, end) = (range.start.min(self.len()), range.end.min(self.len()));
        Puts {
            ends: self.ends.get(start..end).unwrap_or_default(),
            start: self.start_of(start),
            ..*self
        }
    }

    /// The key of put `at`; empty if there are fewer.
    #[inline]
    pub fn key(&self, at: usize) -> &'a [u8] {
        let end = self.ends.get(at).map_or(0, |end| end.key);
        let key = self.keys.get(self.start_of(at).key..end);
        key.unwrap_or_default()
    }

    /// The first put whose key is not larger than that of the one before it, if there is one.
    pub fn first_out_of_order(&self) -> Option<usize> {
        let (keys, _) = self.columns();
        if let (Some((8, _)), (words, [])) = (self.sizes, keys.as_chunks::<8>()) {
            let words = words.iter().map(|word| u64::from_be_bytes(*word));
            let mut pairs = words.clone().zip(words.skip(1));
            return pairs.position(|(one, other)| one >= other).map(|at| at + 1);
        }
        let mut keys = self.entries().map(|entry| entry.key);
        let mut before = keys.next()?;
        let descends = |key| !compare(mem::replace(&mut before, key), key).is_lt();
        keys.position(descends).map(|at| at + 1)
    }

    /// The keys, and the values, one behind the other.
    pub fn columns(&self) -> (&'a [u8], &'a [u8]) {
        let end = self.start_of(self.len());
        let keys = self.keys.get(self.start.key..end.key);
        let values = self.values.get(self.start.value..end.value);
        (keys.unwrap_or_default(), values.unwrap_or_default())
    }

    /// Where each put ends, as if the first one started at `start`.
    pub(in crate::table) fn ends_from(&self, start: EntryEnd) -> impl Iterator<Item = EntryEnd> {
        let first = self.start;
        self.ends.iter().map(move |end| EntryEnd {
            key: start.key + (end.key - first.key),
            value: start.value + (end.value - first.value),
            sequence: end.sequence,
        })
    }

    /// The smallest and the largest sequence; `None` if there are no puts.
    pub fn sequence_range(&self) -> Option<(Sequence, Sequence)> {
        let each = self.ends.iter().map(|end| (end.sequence, end.sequence));
        each.reduce(|(low, high), (other, _)| (low.min(other), high.max(other)))
    }

    /// The sequence of the last put, if there is one.
    pub fn last_sequence(&self) -> Option<Sequence> {
        self.ends.last().map(|end| end.sequence)
    }

    /// The puts one by one.
    pub(in crate::table) fn entries(self) -> impl Iterator<Item = NewEntry<'a>> {
        let mut start = self.start;
        self.ends.iter().map(move |end| {
            let key = self.keys.get(start.key..end.key);
            let value = self.values.get(start.value..end.value);
            start = *end;
            NewEntry {
                key: key.unwrap_or_default(),
                sequence: end.sequence,
                kind: EntryKind::Put,
                value: value.unwrap_or_default(),
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
            let end = |i: usize| EntryEnd { key: (i + 1) * key, value: (i + 1) * value, sequence: sequences[i] };
            let ends: Vec<_> = (0..count).map(end).collect();
            let all = Puts::new(&keys, &values, &ends).of_sizes((key, value));
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
