//! Collects sorted entries and lays them out as columns.

mod parting;

use std::ops::Range;

use rhumb_index::search::common_prefix;

use self::parting::Parting;
use super::fence_keys::encode_fence_keys;
use super::pointers::PointerColumns;
use super::shape::{KeyForm, Shape, length_width};
use super::{GROUP_ENTRIES, NO_HINT, WITH_FENCE_KEYS, WITH_POINTERS, flag};
use crate::entry::{EntryKind, Pointer, Sequence, append, copy_words};
use crate::table::form::bits::pack;

/// The most buffer memory that is kept for the next block.
const SPARE_BYTES: usize = 1 << 20;
/// Entries are measured when their keys take this many bytes, so that what keys share is known for
/// all but the last of them.
const MEASURED_KEY_BYTES: usize = 4 << 10;

/// An entry to add to a block.
#[derive(Debug, Clone, Copy)]
pub(in crate::table) struct NewEntry<'a> {
    pub key: &'a [u8],
    pub sequence: Sequence,
    pub kind: EntryKind,
    /// Empty for a delete; the encoded pointer for a pointer.
    pub value: &'a [u8],
    /// Whether it is the first entry of its user key in the table.
    pub new_key: bool,
}

impl NewEntry<'_> {
    /// The pointer, if it is one.
    #[inline]
    fn pointer(&self) -> Option<Pointer> {
        match self.kind {
            EntryKind::Pointer => Pointer::from_bytes(self.value),
            _ => None,
        }
    }
}

/// What a block keeps of an entry besides key and value.
#[derive(Debug, Clone, Copy)]
struct Row {
    key_end: usize,
    value_end: usize,
    /// How many bytes the key shares with the first key of its group; 0 until it was measured.
    with_head: usize,
    sequence: Sequence,
    kind: EntryKind,
}

/// A block being built. Entries are added in the order of the table.
///
/// What keys share is measured for many entries together, when the size of the block is needed.
#[derive(Debug, Default)]
pub(in crate::table) struct BlockBuilder {
    shape: Shape,
    keys: Vec<u8>,
    values: Vec<u8>,
    rows: Vec<Row>,
    pointers: Vec<Pointer>,
    /// The files that these lead into, ascending.
    files: Vec<u64>,
    /// Whether a user key may have several entries.
    repeats: bool,
    /// The smallest and the largest distance from an entry's expected slot to its own; `None` if no
    /// slot was expected.
    hint: Option<(i64, i64)>,
    /// Whether it has nearly all the bytes that a block may have.
    is_late: bool,
    /// Where it should end, if it has to before the next entry.
    parting: Option<Parting>,
}

/// Appends the raw form of a block without entries that has a block prefix.
pub(in crate::table) fn encode_empty(prefix: &[u8], into: &mut Vec<u8>) {
    let flags = flag::NO_SHARING | flag::SUFFIXES_ALIKE | flag::VALUES_ALIKE | flag::KINDS_ALIKE;
    into.extend_from_slice(&[flags, 0, 0, 0]);
    into.extend_from_slice(&(prefix.len() as u16).to_le_bytes());
    into.extend_from_slice(&[WITH_FENCE_KEYS, EntryKind::Put as u8]);
    into.resize(into.len() + 16, 0);
    encode_hint(None, into);
    into.extend_from_slice(prefix);
    encode_fence_keys((&[], &[]), (None, None), into);
}

/// The smallest and the largest distance with that of one more entry from the slot where it was expected.
fn with_distance(hint: Option<(i64, i64)>, entry: usize, slot: u64) -> Option<(i64, i64)> {
    let behind = entry as i64 - i64::try_from(slot).unwrap_or(i64::MAX);
    let (low, high) = hint.unwrap_or((behind, behind));
    Some((low.min(behind), high.max(behind)))
}

fn encode_hint(hint: Option<(i64, i64)>, into: &mut Vec<u8>) {
    let hint = hint.and_then(|(low, high)| Some((low.try_into().ok()?, high.try_into().ok()?)));
    let (low, high): (i16, i16) = hint.unwrap_or(NO_HINT);
    into.extend_from_slice(&low.to_le_bytes());
    into.extend_from_slice(&high.to_le_bytes());
}

fn part(bytes: &[u8], start: Option<usize>, end: Option<usize>) -> &[u8] {
    let part = end.and_then(|end| bytes.get(start.unwrap_or(0)..end));
    part.unwrap_or_default()
}

impl BlockBuilder {
    /// The number of entries in the block.
    pub fn count(&self) -> usize {
        self.shape.count
    }

    /// The exact size of the raw form, in bytes; 0 for a block without entries.
    pub fn raw_bytes(&mut self) -> usize {
        match self.count() {
            0 => 0,
            _ => self.measured().raw_bytes() + self.pointer_bytes(),
        }
    }

    /// The columns of the pointers, if there are any.
    fn pointer_columns(&self) -> Option<PointerColumns<'_>> {
        (!self.pointers.is_empty()).then(|| PointerColumns::new(&self.pointers, &self.files))
    }

    fn pointer_bytes(&self) -> usize {
        let groups = self.shape.ranked_groups();
        self.pointer_columns()
            .map_or(0, |columns| columns.bytes(groups))
    }

    /// About the size of the raw form, in bytes, known at once.
    pub fn about_bytes(&self) -> usize {
        self.shape.about_bytes()
    }

    /// The row before row `i`.
    fn before(&self, i: usize) -> Option<&Row> {
        self.rows.get(i.checked_sub(1)?)
    }

    /// The key of entry `i`; empty behind the last one.
    pub fn key(&self, i: usize) -> &[u8] {
        let start = self.before(i).map(|row| row.key_end);
        part(&self.keys, start, self.rows.get(i).map(|row| row.key_end))
    }

    fn value(&self, i: usize) -> &[u8] {
        let start = self.before(i).map(|row| row.value_end);
        part(
            &self.values,
            start,
            self.rows.get(i).map(|row| row.value_end),
        )
    }

    /// The last key; empty if there is none.
    pub fn last_key(&self) -> &[u8] {
        self.key(self.count().saturating_sub(1))
    }

    /// The first key; empty if there is none.
    pub fn first_key(&self) -> &[u8] {
        self.key(0)
    }

    /// The user keys, each once.
    pub fn distinct_keys(&self) -> impl Iterator<Item = &[u8]> {
        self.first_entries().map(|i| self.key(i))
    }

    /// The first entry of each user key.
    pub fn first_entries(&self) -> impl Iterator<Item = usize> {
        (0..self.count()).filter(|i| !self.repeats(*i))
    }

    /// Whether the entry is of the same key as the one before it.
    fn repeats(&self, i: usize) -> bool {
        let before = i.checked_sub(1).filter(|_| self.repeats);
        before.is_some_and(|before| self.key(before) == self.key(i))
    }

    /// Sets whether all blocks of a table should take the same number of bytes an entry, if the
    /// entries have one size; `prefix` is then the length of the block prefix in bytes. Only for a
    /// block without entries.
    pub fn set_even(&mut self, prefix: Option<usize>) {
        self.shape = Shape::without_entries(prefix);
    }

    /// The number of bytes that each entry takes, if it is the same for all.
    pub fn stride(&mut self) -> Option<usize> {
        self.measured().stride()
    }

    /// The size that the raw form would have in its most compact layout.
    pub fn least_bytes(&mut self) -> usize {
        self.measured().uneven().raw_bytes() + self.pointer_bytes()
    }

    /// Notes the slot in which the last entry was expected.
    pub fn last_was_expected_in(&mut self, slot: u64) {
        self.hint = with_distance(self.hint, self.count().saturating_sub(1), slot);
    }

    /// Notes the slots in which the user keys were expected, but for the first `skip` of them.
    pub fn expect(&mut self, skip: usize, expected: &[u64]) {
        let own = self.first_entries().skip(skip).zip(expected);
        self.hint = own.fold(self.hint, |hint, (i, slot)| with_distance(hint, i, *slot));
    }

    /// Forgets which slots were expected.
    pub fn forget_expected(&mut self) {
        self.hint = None;
    }

    /// The shape, after all entries were measured.
    fn measured(&mut self) -> &Shape {
        let first = self.shape.measured;
        if first == self.count() {
            return &self.shape;
        }
        // Keys ascend, so none shares less with the first one than the last one does.
        let common = common_prefix(self.first_key(), self.last_key());
        self.shape.common = common;
        let head = first - first % GROUP_ENTRIES;
        let start = |before: Option<&Row>| before.map_or(0, |row| row.key_end);
        let (mut shape, mut at) = (self.shape, start(self.before(first)));
        let mut head = start(self.before(head))..self.rows.get(head).map_or(0, |row| row.key_end);
        for (i, row) in self.rows.iter_mut().enumerate().skip(first) {
            let own = at..row.key_end;
            at = row.key_end;
            match i % GROUP_ENTRIES {
                0 => head = own.clone(),
                _ => {
                    let key = |range: &Range<usize>| self.keys.get(range.clone());
                    let (head, own) = (key(&head), key(&own));
                    row.with_head =
                        common_prefix(head.unwrap_or_default(), own.unwrap_or_default());
                }
            }
            shape.share(own.len(), row.with_head);
        }
        self.shape = shape;
        &self.shape
    }

    /// The size of the raw form with one more entry: exact but for pointers, which may take less.
    fn raw_bytes_with(&mut self, entry: &NewEntry<'_>) -> usize {
        let mut with = *self.measured();
        let count = self.count();
        with.add(entry);
        with.common = common_prefix(self.first_key(), entry.key);
        let head = count - count % GROUP_ENTRIES;
        let with_head = match count - head {
            0 => 0,
            _ => common_prefix(self.key(head), entry.key),
        };
        with.share(entry.key.len(), with_head);
        if let Some(pointer) = entry.pointer() {
            let new_file = self.files.binary_search(&pointer.file).is_err();
            with.add_pointer(pointer, new_file);
        }
        with.raw_bytes() + with.pointers.most_bytes(with.ranked_groups())
    }

    /// Whether the raw form with one more entry takes at most `limit` bytes.
    #[inline]
    fn admits(&mut self, entry: &NewEntry<'_>, limit: usize) -> bool {
        // The exact size takes longer than all else that is done for an entry.
        let most = self.shape.most_bytes_with(entry);
        if most <= limit {
            return true;
        }
        let bytes = self.raw_bytes_with(entry);
        debug_assert!(bytes <= most, "{bytes} {most}");
        bytes <= limit
    }

    /// Adds an entry unless the raw form would then exceed `limit` bytes; the first entry is always
    /// added. Returns whether it was added.
    pub fn push_within(&mut self, entry: &NewEntry<'_>, limit: usize) -> bool {
        if self.count() > 0 && !self.admits(entry, limit) {
            return false;
        }
        self.add(entry);
        true
    }

    fn add(&mut self, entry: &NewEntry<'_>) {
        self.shape.add(entry);
        self.repeats |= !entry.new_key;
        append(&mut self.keys, entry.key);
        match entry.pointer() {
            None => append(&mut self.values, entry.value),
            Some(pointer) => self.push_pointer(pointer),
        }
        self.rows.push(Row {
            key_end: self.keys.len(),
            value_end: self.values.len(),
            with_head: 0,
            sequence: entry.sequence,
            kind: entry.kind,
        });
        if self.shape.unmeasured_bytes() >= MEASURED_KEY_BYTES {
            self.measured();
        }
    }

    fn push_pointer(&mut self, pointer: Pointer) {
        let place = self.files.binary_search(&pointer.file);
        if let Err(place) = place {
            self.files.insert(place, pointer.file);
        }
        self.shape.add_pointer(pointer, place.is_err());
        self.pointers.push(pointer);
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.shape = Shape::without_entries(self.shape.even);
        self.hint = None;
        self.is_late = false;
        self.parting = None;
        self.repeats = false;
        self.keys.clear();
        self.values.clear();
        self.rows.clear();
        self.pointers.clear();
        self.files.clear();
        self.keys.shrink_to(SPARE_BYTES);
        self.values.shrink_to(SPARE_BYTES);
    }

    /// Appends the raw form. `before` is the last key in front of the block, which it may go on with, `behind` the first key
    /// behind it, if they are there and known.
    pub fn encode(&mut self, before: Option<&[u8]>, behind: Option<&[u8]>, into: &mut Vec<u8>) {
        let (start, raw_bytes) = (into.len(), self.raw_bytes());
        into.reserve(raw_bytes);
        self.encode_header(before == Some(self.first_key()), into);
        into.extend_from_slice(self.key(0).get(..self.shape.prefix()).unwrap_or_default());
        self.encode_lengths(into);
        if !self.shape.kinds_alike {
            into.extend(self.rows.iter().map(|row| row.kind as u8));
        }
        let base = self.shape.sequence_min;
        let stored = self.rows.iter().map(|row| row.sequence - base);
        pack(stored, self.shape.sequence_width(), into);
        self.encode_offsets(into);
        self.encode_suffixes(into);
        self.encode_values(into);
        self.encode_pointers(into);
        encode_fence_keys((self.first_key(), self.last_key()), (before, behind), into);
        debug_assert_eq!(into.len() - start, raw_bytes);
    }

    /// Appends the entries as those of a unit with sequences of `width` bytes. They must be puts with
    /// keys of one length and values of one length.
    pub fn encode_unit(&self, width: u8, into: &mut Vec<u8>) {
        for row in &self.rows {
            let bytes = row.sequence.to_le_bytes();
            into.extend_from_slice(bytes.get(..width.into()).unwrap_or_default());
        }
        into.extend_from_slice(&self.keys);
        into.extend_from_slice(&self.values);
    }

    fn encode_header(&self, continues: bool, into: &mut Vec<u8>) {
        let shape = &self.shape;
        let (form, value) = (shape.key_form(), shape.value_form());
        let mut flags = 0;
        for (bit, set) in [
            (flag::WIDE_OFFSETS, shape.offset_width() == 4),
            (flag::NO_SHARING, form != KeyForm::Shared),
            (flag::SUFFIXES_ALIKE, matches!(form, KeyForm::Fixed(_))),
            (flag::VALUES_ALIKE, value.is_some()),
            (flag::KINDS_ALIKE, shape.kinds_alike),
            (flag::CONTINUES, continues),
        ] {
            flags |= if set { bit } else { 0 };
        }
        let kind = shape
            .kind
            .filter(|_| shape.kinds_alike)
            .map_or(0, |k| k as u8);
        let suffix = if let KeyForm::Fixed(len) = form {
            len
        } else {
            0
        };
        into.extend_from_slice(&[flags, shape.sequence_width() as u8]);
        into.extend_from_slice(&(shape.count as u16).to_le_bytes());
        into.extend_from_slice(&(shape.prefix() as u16).to_le_bytes());
        into.extend_from_slice(&[self.length_codes(), kind]);
        into.extend_from_slice(&shape.sequence_min.to_le_bytes());
        into.extend_from_slice(&(suffix as u32).to_le_bytes());
        into.extend_from_slice(&(value.unwrap_or(0) as u32).to_le_bytes());
        encode_hint(self.hint, into);
    }

    fn length_codes(&self) -> u8 {
        let shape = &self.shape;
        let shared = length_width(shape.shared_largest()).1;
        let form = shape.key_form();
        let suffix = length_width(shape.suffix_largest(form)).1;
        let value = length_width(shape.value_largest()).1;
        let lengths = match form {
            KeyForm::Fixed(_) => value << 4,
            KeyForm::Whole => suffix << 2 | value << 4,
            KeyForm::Shared => shared | suffix << 2 | value << 4,
        };
        match self.pointers.is_empty() {
            true => lengths | WITH_FENCE_KEYS,
            false => lengths | WITH_FENCE_KEYS | WITH_POINTERS,
        }
    }

    fn encode_suffixes(&self, into: &mut Vec<u8>) {
        let KeyForm::Fixed(len @ 1..) = self.shape.key_form() else {
            self.suffixes().for_each(|suffix| append(into, suffix));
            return;
        };
        let start = into.len();
        into.resize(start + len * self.count(), 0);
        let places = into
            .get_mut(start..)
            .unwrap_or_default()
            .chunks_exact_mut(len);
        for (to, suffix) in places.zip(self.suffixes()) {
            if !copy_words(to, suffix) {
                to.copy_from_slice(suffix);
            }
        }
    }

    fn value_lengths(&self) -> impl Iterator<Item = usize> {
        let mut start = 0;
        self.rows.iter().map(move |row| {
            let length = row.value_end - start;
            start = row.value_end;
            length
        })
    }

    /// What is stored of each key.
    fn suffixes(&self) -> impl Iterator<Item = &[u8]> {
        let prefix = self.shape.prefix();
        let shares = self.shape.key_form() == KeyForm::Shared;
        let mut start = 0;
        self.rows.iter().map(move |row| {
            let key = self.keys.get(start..row.key_end).unwrap_or_default();
            start = row.key_end;
            let shared = if shares { row.with_head } else { 0 };
            key.get(prefix.max(shared)..).unwrap_or_default()
        })
    }

    fn encode_lengths(&self, into: &mut Vec<u8>) {
        let shape = &self.shape;
        let form = shape.key_form();
        let mut column = |largest: usize, lengths: &mut dyn Iterator<Item = usize>| {
            let width = length_width(largest).0;
            for length in lengths {
                let bytes = (length as u32).to_le_bytes();
                into.extend_from_slice(bytes.get(..width).unwrap_or_default());
            }
        };
        if form == KeyForm::Shared {
            let prefix = shape.prefix();
            let shared = |row: &Row| row.with_head.saturating_sub(prefix);
            column(shape.shared_largest(), &mut self.rows.iter().map(shared));
        }
        if !matches!(form, KeyForm::Fixed(_)) {
            let mut lengths = self.suffixes().map(<[u8]>::len);
            column(shape.suffix_largest(form), &mut lengths);
        }
        if shape.value_form().is_none() {
            column(shape.value_largest(), &mut self.value_lengths());
        }
    }

    fn encode_offsets(&self, into: &mut Vec<u8>) {
        let width = self.shape.offset_width();
        let mut column = |lengths: &mut dyn Iterator<Item = usize>| {
            let mut at = 0usize;
            for (i, length) in lengths.enumerate() {
                if i % GROUP_ENTRIES == 0 {
                    let bytes = (at as u32).to_le_bytes();
                    into.extend_from_slice(bytes.get(..width).unwrap_or_default());
                }
                at += length;
            }
        };
        if !matches!(self.shape.key_form(), KeyForm::Fixed(_)) {
            column(&mut self.suffixes().map(<[u8]>::len));
        }
        if self.shape.value_form().is_none() {
            column(&mut self.value_lengths());
        }
    }

    fn encode_values(&self, into: &mut Vec<u8>) {
        match self.shape.value_form() {
            Some(len) if len * self.count() != self.values.len() => {
                for i in 0..self.count() {
                    let value = self.value(i);
                    into.extend_from_slice(value);
                    into.resize(into.len() + len - value.len(), 0);
                }
            }
            _ => into.extend_from_slice(&self.values),
        }
    }

    fn encode_pointers(&self, into: &mut Vec<u8>) {
        let Some(columns) = self.pointer_columns() else {
            return;
        };
        let mut before = 0;
        let ranks = self.rows.chunks(GROUP_ENTRIES).map(|group| {
            let rank = before;
            before += group
                .iter()
                .filter(|row| row.kind == EntryKind::Pointer)
                .count();
            rank
        });
        let stored = self.shape.ranked_groups().unwrap_or(0);
        columns.encode(ranks.take(stored), into);
    }
}
