//! Puts of any sizes, which go through the writer of a table together.

use std::mem;
use std::ops::Range;

use super::NewEntry;
use crate::entry::{EntryKind, Sequence, compare};

/// Where the key and the value of a put end among those of others, and its sequence.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PutEnd {
    pub key: usize,
    pub value: usize,
    pub sequence: Sequence,
}

impl PutEnd {
    /// The bytes of keys and values up to there.
    #[inline]
    fn bytes(&self) -> usize {
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
    ends: &'a [PutEnd],
    /// Where the first put starts.
    start: PutEnd,
    /// The lengths of all keys and of all values, if they have one, and that is known.
    sizes: Option<(usize, usize)>,
}

impl<'a> Puts<'a> {
    /// Puts whose keys and values start at the first bytes.
    pub fn new(keys: &'a [u8], values: &'a [u8], ends: &'a [PutEnd]) -> Puts<'a> {
        Puts {
            keys,
            values,
            ends,
            start: PutEnd::default(),
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
    fn start_of(&self, at: usize) -> PutEnd {
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
    pub(super) fn ends_from(&self, start: PutEnd) -> impl Iterator<Item = PutEnd> {
        let first = self.start;
        self.ends.iter().map(move |end| PutEnd {
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
