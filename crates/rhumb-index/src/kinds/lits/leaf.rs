//! A compact leaf in memory: up to 16 entries in one allocation.
//!
//! The number of entries and the room for entries (1 byte each) come first, then the values (8
//! bytes each, little-endian), then the keys as a [`Pack`], without the prefix that the parent's
//! keys share. Unused room follows the values and the keys, so that most changes move bytes within
//! the leaf.

use std::ops::{ControlFlow, Range};

use super::keys::Keys;
use super::pack::{self, Pack};
use super::partings::{COLUMNS, HEAD};
use super::plan::LEAF;
use crate::bytes::u64_of;
use crate::search::prefetch;

/// Entries with sorted keys.
#[derive(Debug, Default)]
pub(super) struct Entries {
    pub keys: Keys,
    pub values: Vec<u64>,
}

impl Entries {
    /// No entries; entries are added with keys that lack their common stem.
    pub(super) fn below(stem: &[u8]) -> Self {
        Entries {
            keys: Keys::below(stem),
            values: Vec::new(),
        }
    }

    /// Removes all entries; entries are then added with keys that lack their common stem.
    pub(super) fn clear(&mut self, stem: &[u8]) {
        self.keys.clear(stem);
        self.values.clear();
    }

    /// Adds an entry, given its key without the stem.
    pub(super) fn push(&mut self, rest: &[u8], value: u64) {
        self.keys.push(rest);
        self.values.push(value);
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.keys.heap_bytes() + self.values.capacity() * size_of::<u64>()
    }
}

/// The entries of a leaf.
#[derive(Debug)]
pub(super) struct Leaf(Box<[u8]>);

/// How much of a leaf is prefetched before it is read.
const AHEAD: usize = 640;

/// The most bytes of an encoded length.
const LONGEST_VARINT: usize = 10;

/// Bytes before the values.
const HEADER: usize = 2;

impl Leaf {
    /// A leaf without entries.
    pub(super) fn empty() -> Leaf {
        Leaf([0, 0, 0].into())
    }

    /// A leaf of some entries, at most 16, without the first `at` bytes of their keys, and with
    /// room for `room` entries.
    pub(super) fn new(entries: &Entries, range: Range<usize>, at: usize, room: usize) -> Leaf {
        let count = range.len();
        let room = if count == 0 {
            0
        } else {
            room.clamp(count, LEAF)
        };
        let shared = Pack::shared(&entries.keys, &range, at);
        let rests = range.clone().map(|i| entries.keys.rest(i, shared).len());
        let tails: usize = rests.map(|len| len.saturating_sub(HEAD)).sum();
        // Future keys are assumed to be as long as these.
        let spare = (room - count) * (tails.div_ceil(count.max(1)) + 1);
        // The final length, so that the bytes are allocated once.
        let columns = room * (8 + COLUMNS);
        let len = HEADER + columns + LONGEST_VARINT + shared - at + tails + spare;
        let mut bytes = Vec::with_capacity(len);
        bytes.extend([count as u8, room as u8]);
        let values = entries.values.get(range.clone()).unwrap_or_default();
        values
            .iter()
            .for_each(|value| bytes.extend(value.to_le_bytes()));
        bytes.resize(HEADER + room * 8, 0);
        Pack::lay(&entries.keys, range, (at, shared), room, &mut bytes);
        bytes.resize(len.max(bytes.len()), 0);
        Leaf(bytes.into_boxed_slice())
    }

    /// How many entries there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(self.0.first().copied().unwrap_or_default())
    }

    /// How many entries there is room for.
    #[inline]
    fn room(&self) -> usize {
        usize::from(self.0.get(1).copied().unwrap_or_default())
    }

    /// The bytes of values and keys.
    #[inline]
    fn parts(&self) -> (&[u8], &[u8]) {
        let columns = self.0.get(HEADER..).unwrap_or_default();
        columns
            .split_at_checked(self.room() * 8)
            .unwrap_or_default()
    }

    fn parts_mut(&mut self) -> (&mut [u8], &mut [u8]) {
        let values = self.room() * 8;
        let columns = self.0.get_mut(HEADER..).unwrap_or_default();
        columns.split_at_mut_checked(values).unwrap_or_default()
    }

    /// Prefetches its bytes, all at once.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(&self.0, 0..self.0.len().min(AHEAD));
    }

    #[inline]
    fn keys(&self) -> Option<Pack<'_>> {
        Pack::read(self.parts().1, self.len(), self.room())
    }

    /// The value of an entry.
    #[inline]
    pub(super) fn value(&self, i: usize) -> u64 {
        u64_of(self.parts().0, i)
    }

    /// Sets the value of an entry.
    pub(super) fn set(&mut self, i: usize, value: u64) {
        if let Some(bytes) = self.parts_mut().0.get_mut(i * 8..i * 8 + 8) {
            bytes.copy_from_slice(&value.to_le_bytes());
        }
    }

    /// The index of the entry with this key, or the index at which it would be inserted.
    #[inline]
    pub(super) fn find(&self, rest: &[u8]) -> Result<usize, usize> {
        let place = self.keys().map(|keys| keys.find(rest));
        match place {
            Some(place) if place.is_there => Ok(place.not_above.saturating_sub(1)),
            Some(place) => Err(place.not_above),
            None => Err(0),
        }
    }

    /// Visits the entries in order; each key is appended to `path`.
    pub(super) fn visit(
        &self,
        path: &mut Vec<u8>,
        mut visit: impl FnMut(&[u8], u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(keys) = self.keys() else {
            return ControlFlow::Continue(());
        };
        let at = path.len();
        let mut entries = 0..self.len();
        let flow = entries.try_for_each(|i| {
            path.truncate(at);
            keys.push_to(i, path);
            visit(path, self.value(i))
        });
        path.truncate(at);
        flow
    }

    /// Writes the entries and one more, all below a stem, to `entries`.
    pub(super) fn with(
        &self,
        at: usize,
        (rest, value): (&[u8], u64),
        stem: &[u8],
        entries: &mut Entries,
    ) {
        entries.clear(stem);
        let copy = |range: Range<usize>, entries: &mut Entries| {
            for i in range {
                let keys = self.keys();
                entries.keys.push_by(|bytes| {
                    if let Some(keys) = keys {
                        keys.push_to(i, bytes);
                    }
                });
                entries.values.push(self.value(i));
            }
        };
        let count = self.len();
        copy(0..at.min(count), entries);
        entries.push(rest, value);
        copy(at.min(count)..count, entries);
    }

    /// Inserts an entry at an index. There must be fewer than 16 entries. `entries` is a buffer.
    pub(super) fn insert(&mut self, i: usize, (rest, value): (&[u8], u64), entries: &mut Entries) {
        let (count, room) = (self.len(), self.room());
        let (values, keys) = self.parts_mut();
        if !pack::insert(keys, (count, room), i, rest) {
            self.with(i, (rest, value), &[], entries);
            *self = Leaf::new(entries, 0..entries.values.len(), 0, LEAF);
            return;
        }
        values.copy_within(i * 8..count * 8, i * 8 + 8);
        self.set_len(count + 1);
        self.set(i, value);
    }

    fn set_len(&mut self, count: usize) {
        if let Some(len) = self.0.first_mut() {
            *len = count as u8;
        }
    }

    /// Removes an entry.
    pub(super) fn remove(&mut self, i: usize) {
        let (count, room) = (self.len(), self.room());
        let (values, keys) = self.parts_mut();
        pack::remove(keys, (count, room), i);
        values.copy_within(i * 8 + 8..count * 8, i * 8);
        self.set_len(count - 1);
        if count == 1 {
            *self = Leaf::empty();
        }
    }

    /// Whether another entry fits.
    pub(super) fn has_room(&self) -> bool {
        self.len() < LEAF
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.0.len()
    }
}
