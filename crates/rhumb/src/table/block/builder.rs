//! Collects sorted entries of a block, and knows what the block will take.

mod encoding;
mod parting;

use rhumb_index::search::common_prefix;

pub(in crate::table) use self::encoding::encode_empty;
use self::parting::Late;
use super::pointers::PointerColumns;
use super::shape::Shape;
use super::sharing::Sharing;
use super::{EntryEnd, GROUP_ENTRIES, Puts};
use crate::entry::{EntryKind, Pointer, Sequence, append};

/// The most buffer memory that is kept for the next block.
const SPARE_BYTES: usize = 1 << 20;

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
    /// Where its last tenth begins, once it has come there.
    late: Option<Late>,
}

/// The smallest and the largest distance with those of more entries from the slots where they were expected.
fn with_distances(
    hint: Option<(i64, i64)>,
    entries: impl Iterator<Item = (usize, u64)>,
) -> Option<(i64, i64)> {
    let distance = |(entry, slot)| entry as i64 - i64::try_from(slot).unwrap_or(i64::MAX);
    let mut distances = entries.map(distance);
    let first = hint.or_else(|| distances.next().map(|first| (first, first)))?;
    Some(distances.fold(first, |(low, high), behind| {
        (low.min(behind), high.max(behind))
    }))
}

/// Counts one more entry of a block with pointers into these files; what its key shares has to follow.
#[inline]
fn count_entry(shape: &mut Shape, files: &[u64], entry: &NewEntry<'_>) {
    shape.add(entry);
    if let Some(pointer) = entry.pointer() {
        shape.add_pointer(pointer, files.binary_search(&pointer.file).is_err());
    }
}

/// Notes a file among others, which ascend.
fn note_file(files: &mut Vec<u64>, file: u64) {
    if let Err(place) = files.binary_search(&file) {
        files.insert(place, file);
    }
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
            _ => self.formed().raw_bytes() + self.pointer_bytes(),
        }
    }

    /// As [`BlockBuilder::raw_bytes`], but for pointers, which may take less than this.
    pub fn most_bytes(&mut self) -> usize {
        match self.count() {
            0 => 0,
            _ => self.formed().most_bytes(),
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
        let mut start = 0;
        let keys = self.rows.iter().enumerate().map(move |(i, row)| {
            let key = part(&self.keys, Some(start), Some(row.key_end));
            start = row.key_end;
            (i, key)
        });
        keys.filter(|(i, _)| !self.repeats(*i)).map(|(_, key)| key)
    }

    /// The number of user keys.
    pub fn distinct(&self) -> usize {
        match self.repeats {
            true => self.first_entries().count(),
            false => self.count(),
        }
    }

    /// The first entry of each user key.
    pub fn first_entries(&self) -> impl Iterator<Item = usize> {
        (0..self.count()).filter(|i| !self.repeats(*i))
    }

    /// Whether the entry is of the same key as the one before it.
    #[inline]
    fn repeats(&self, i: usize) -> bool {
        self.repeats && i > 0 && self.key(i - 1) == self.key(i)
    }

    /// Sets whether all blocks of a table should take the same number of bytes an entry, if the
    /// entries have one size; `prefix` is then the length of the block prefix in bytes. Only for a
    /// block without entries.
    pub fn set_even(&mut self, prefix: Option<usize>) {
        self.shape = Shape::without_entries(prefix);
    }

    /// The number of bytes that each entry takes, if it is the same for all.
    pub fn stride(&mut self) -> Option<usize> {
        self.formed().stride()
    }

    /// The size that the raw form would have in its most compact layout.
    pub fn least_bytes(&mut self) -> usize {
        self.measured().uneven().raw_bytes() + self.pointer_bytes()
    }

    /// A lower bound of [`BlockBuilder::least_bytes`], which does not depend on what keys share.
    pub fn least_possible_bytes(&mut self) -> usize {
        self.formed().least_possible_bytes() + self.pointer_bytes()
    }

    /// Notes the slot in which the last entry was expected.
    pub fn last_was_expected_in(&mut self, slot: u64) {
        self.last_were_expected_in(std::iter::once(slot));
    }

    /// Notes the slots in which the last entries were expected.
    pub fn last_were_expected_in(&mut self, slots: impl ExactSizeIterator<Item = u64>) {
        let first = self.count().saturating_sub(slots.len());
        self.hint = with_distances(self.hint, (first..).zip(slots));
    }

    /// Notes the slots in which the user keys were expected, but for the first `skip` of them.
    pub fn expect(&mut self, skip: usize, expected: &[u64]) {
        let expected = expected.iter().copied();
        self.hint = match self.repeats {
            false => with_distances(self.hint, (skip..self.count()).zip(expected)),
            true => with_distances(self.hint, self.first_entries().skip(skip).zip(expected)),
        };
    }

    /// Forgets which slots were expected.
    pub fn forget_expected(&mut self) {
        self.hint = None;
    }

    /// The shape, with all that the form of the block depends on.
    fn formed(&mut self) -> &Shape {
        if !self.shape.has_fixed_keys() {
            return self.measured();
        }
        self.shape.common = common_prefix(self.first_key(), self.last_key());
        &self.shape
    }

    /// The shape, after all entries were measured.
    fn measured(&mut self) -> &Shape {
        if self.shape.sharing.entries < self.count() {
            self.measure();
        }
        &self.shape
    }

    /// Measures the entries that were not.
    fn measure(&mut self) {
        // Keys ascend, so none shares less with the first one than the last one does.
        let common = common_prefix(self.first_key(), self.last_key());
        let mut sharing = self.shape.sharing;
        match self.shape.key_size() {
            Some(8) => self.measure_words(&mut sharing),
            _ => self.measure_any(common, &mut sharing),
        }
        (self.shape.common, self.shape.sharing) = (common, sharing);
    }

    /// Measures entries all of whose keys have eight bytes.
    fn measure_words(&mut self, sharing: &mut Sharing) {
        let words = self.keys.as_chunks::<8>().0.iter();
        let first = sharing.entries;
        let head = first - first % GROUP_ENTRIES;
        let mut head_word = 0;
        let rows = self.rows.iter_mut().zip(words).enumerate();
        for (i, (row, word)) in rows.skip(head) {
            let word = u64::from_be_bytes(*word);
            if i % GROUP_ENTRIES == 0 {
                head_word = word;
            } else {
                row.with_head = (word ^ head_word).leading_zeros() as usize / 8;
            }
            if i >= first {
                sharing.add(size_of::<u64>(), row.with_head);
            }
        }
    }

    /// Measures entries whose keys share the first `common` bytes.
    fn measure_any(&mut self, common: usize, sharing: &mut Sharing) {
        let first = sharing.entries;
        let mut at = self.before(first).map_or(0, |row| row.key_end);
        let head = first - first % GROUP_ENTRIES;
        let start = self.before(head).map(|row| row.key_end);
        let end = self.rows.get(head).map(|row| row.key_end);
        let behind = |key| <[u8]>::get(key, common..).unwrap_or_default();
        let mut head = behind(part(&self.keys, start, end));
        for (i, row) in self.rows.iter_mut().enumerate().skip(first) {
            let key = part(&self.keys, Some(at), Some(row.key_end));
            at = row.key_end;
            match i % GROUP_ENTRIES {
                0 => head = behind(key),
                _ => row.with_head = common + common_prefix(head, behind(key)),
            }
            sharing.add(key.len(), row.with_head);
        }
    }

    /// The shape with one more entry, and what the key shares with the first one of its group.
    fn shape_with(&mut self, entry: &NewEntry<'_>) -> (Shape, usize) {
        let mut with = *self.measured();
        count_entry(&mut with, &self.files, entry);
        with.common = common_prefix(self.first_key(), entry.key);
        let in_group = self.count() % GROUP_ENTRIES;
        let with_head = match in_group {
            0 => 0,
            _ => common_prefix(self.key(self.count() - in_group), entry.key),
        };
        with.sharing.add(entry.key.len(), with_head);
        (with, with_head)
    }

    /// Adds an entry unless the raw form would then exceed `limit` bytes; the first entry is always
    /// added. Returns whether it was added.
    pub fn push_within(&mut self, entry: &NewEntry<'_>, limit: usize) -> bool {
        // The exact size takes longer than all else that is done for an entry.
        if self.count() == 0 || self.shape.surely_admits(entry, limit) {
            self.add(entry);
            return true;
        }
        let with = self.shape_with(entry);
        let fits = with.0.most_bytes() <= limit;
        if fits {
            self.add_measured(entry, with);
        }
        fits
    }

    fn add(&mut self, entry: &NewEntry<'_>) {
        count_entry(&mut self.shape, &self.files, entry);
        self.push_row(entry, 0);
    }

    /// Adds an entry that was measured: with it the shape is as given, and its key shares so many bytes with the first one of its
    /// group.
    fn add_measured(&mut self, entry: &NewEntry<'_>, (with, with_head): (Shape, usize)) {
        self.shape = with;
        self.push_row(entry, with_head);
    }

    fn push_row(&mut self, entry: &NewEntry<'_>, with_head: usize) {
        self.repeats |= !entry.new_key;
        append(&mut self.keys, entry.key);
        match entry.pointer() {
            None => append(&mut self.values, entry.value),
            Some(pointer) => self.push_pointer(pointer),
        }
        self.rows.push(Row {
            key_end: self.keys.len(),
            value_end: self.values.len(),
            with_head,
            sequence: entry.sequence,
            kind: entry.kind,
        });
    }

    /// Adds puts of one size, if it is known at once that the raw form takes at most `limit` bytes then, and that there are at most
    /// `most` entries. Returns whether it has.
    pub fn push_even_within(&mut self, puts: &Puts<'_>, limit: usize, most: usize) -> bool {
        let mut with = self.shape;
        with.add_puts(puts);
        let bytes = with.most_bytes_if_even();
        let fits = bytes.is_some_and(|bytes| bytes <= limit) && with.count <= most;
        if fits {
            self.shape = with;
            self.push_rows(puts);
        }
        fits
    }

    /// Adds puts that were counted in the shape.
    fn push_rows(&mut self, puts: &Puts<'_>) {
        let start = EntryEnd {
            key: self.keys.len(),
            value: self.values.len(),
            sequence: 0,
        };
        let (keys, values) = puts.columns();
        self.keys.extend_from_slice(keys);
        self.values.extend_from_slice(values);
        self.rows.extend(puts.ends_from(start).map(|end| Row {
            key_end: end.key,
            value_end: end.value,
            with_head: 0,
            sequence: end.sequence,
            kind: EntryKind::Put,
        }));
    }

    fn push_pointer(&mut self, pointer: Pointer) {
        note_file(&mut self.files, pointer.file);
        self.pointers.push(pointer);
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.shape = Shape::without_entries(self.shape.even);
        self.hint = None;
        self.late = None;
        self.repeats = false;
        self.keys.clear();
        self.values.clear();
        self.rows.clear();
        self.pointers.clear();
        self.files.clear();
        self.keys.shrink_to(SPARE_BYTES);
        self.values.shrink_to(SPARE_BYTES);
    }
}
