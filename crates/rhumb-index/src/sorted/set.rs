//! A sorted set.

use std::borrow::Borrow;
use std::fmt;
use std::ops::{Bound, Range, RangeBounds};

use super::build;
use super::column::Column;
use super::element::Element;
use super::finder::Finder;
use super::form::{FIRSTS, Header, KEYS, NAME, Sections, VALUES};
use super::iter::Keys;
use crate::bytes::{Reader, u32_of};
use crate::{ByteForm, Index, IndexError, IndexSpec, KeyMap, Window, registry};

/// How many look-ups of a batch overlap; each waits for a few cache lines.
const SIDE_BY_SIDE: usize = 16;

/// How a key is stored.
type Item<'k, K> = <<K as Element>::Column as Column>::Item<'k>;

/// A sorted set of keys, which may repeat, found by a learned index. It is immutable.
///
/// Keys are stored in one buffer with their index. [`SortedSet::as_bytes`] is that buffer, and
/// [`SortedSet::open`] uses one in place, without reading the keys. A look-up costs as much as the
/// index and the search of its window: about one wait for memory if the index fits into the caches.
///
/// ```
/// use rhumb_index::SortedSet;
///
/// let words = SortedSet::<str>::from_sorted(["ant", "bee", "bee", "cat"])?;
/// assert!(words.contains("bee") && !words.contains("cow"));
/// assert_eq!((words.lower_bound("bee"), words.upper_bound("bee"), words.len()), (1, 3, 4));
/// # Ok::<(), rhumb_index::IndexError>(())
/// ```
pub struct SortedSet<'a, K: Element + ?Sized> {
    form: ByteForm<'a>,
    sections: Sections,
    keys: K::Column,
    finder: Finder<'a>,
    /// The location of the first entry of each distinct key; empty if all keys differ.
    firsts: Range<usize>,
}

impl<'a, K: Element + ?Sized> SortedSet<'a, K> {
    /// The set of sorted keys. Equal keys are adjacent and are all kept.
    ///
    /// Takes time linear in the number of keys, and memory for up to four times their bytes while it
    /// builds. Strings are indexed by a model if one can serve them, else by fence pointers: see
    /// [`SortedSet::index`].
    ///
    /// # Errors
    /// [`IndexError::UnsortedEntries`] if the keys descend. [`IndexError::Unfit`] if there are 2^32
    /// or more.
    pub fn from_sorted<I>(keys: I) -> Result<Self, IndexError>
    where
        I: IntoIterator<Item: Borrow<K>>,
    {
        Self::owned(build::set::<K, I>(None, keys)?)
    }

    /// As [`SortedSet::from_sorted`] with the given index, such as `lits` for strings or `plex` for
    /// numbers.
    ///
    /// # Errors
    /// As [`SortedSet::from_sorted`], and [`IndexError::Unfit`] if this kind cannot serve these
    /// keys.
    pub fn from_sorted_with<I>(index: &IndexSpec, keys: I) -> Result<Self, IndexError>
    where
        I: IntoIterator<Item: Borrow<K>>,
    {
        Self::owned(build::set::<K, I>(Some(index), keys)?)
    }

    fn owned(form: Vec<u8>) -> Result<Self, IndexError> {
        Self::with_values(form.into(), 0)
    }

    /// Opens the bytes of [`SortedSet::as_bytes`] in place. Keys are neither copied nor read; the
    /// header, the key map and what the kind of index checks are read.
    ///
    /// The default index is used in place. `radix-spline` and `plex` copy their columns, and
    /// `btree` and `nfl` copy themselves if they do not start on a cache line. Kinds with exact
    /// answers, `lits` among them, hold every key or its number themselves, and may read them all.
    ///
    /// Accepts owned bytes, borrowed bytes, or a memory map by [`ByteForm::from_owner`]. Bytes that
    /// were damaged since they were written can make answers wrong, but never cause a panic or an
    /// access out of bounds: [`SortedSet::verify`] detects such damage.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], [`IndexError::Version`] or [`IndexError::Kind`] if the bytes are
    /// not a set that this build reads, or the key map does not belong to these keys;
    /// [`IndexError::Types`] if they are a map, or have keys of another type.
    pub fn open(bytes: impl Into<ByteForm<'a>>) -> Result<Self, IndexError> {
        Self::with_values(bytes.into(), 0)
    }

    /// Opens a form with values of this type.
    pub(super) fn with_values(form: ByteForm<'a>, value_type: u8) -> Result<Self, IndexError> {
        let sections = Sections::read(&form)?;
        let Header {
            key_type,
            block,
            entries,
            distinct,
            ..
        } = sections.header;
        if (key_type, sections.header.value_type) != (K::CODE, value_type) {
            return Err(IndexError::Types {
                expected: types(K::CODE, value_type),
                found: types(key_type, sections.header.value_type),
            });
        }
        let keys = K::Column::open(&form, sections.places[KEYS].clone(), distinct)?;
        let firsts = sections.places[FIRSTS].clone();
        let repeat = distinct < entries;
        if distinct.checked_mul(if repeat { 4 } else { 0 }) != Some(firsts.len()) {
            let reader = Reader::new(NAME, &form);
            let expected = format!("the first entries of {distinct} keys of {entries} entries");
            return Err(reader.damaged_at(firsts.start, expected, firsts.len()));
        }
        let values = sections.places[VALUES].clone();
        if value_type == 0 && !values.is_empty() {
            let reader = Reader::new(NAME, &form);
            return Err(reader.damaged_at(values.start, "no values in a set", values.len()));
        }
        let index = registry::open(sections.index(&form))?;
        let finder = Finder::new::<K::Column>(index, sections.map(&form)?, distinct, block)?;
        Ok(SortedSet {
            keys,
            firsts,
            finder,
            sections,
            form,
        })
    }

    /// The whole set as bytes, for [`SortedSet::open`]. The same keys and index give the same bytes
    /// on every machine, unless the index is `lits:choice=measured`.
    pub fn as_bytes(&self) -> &[u8] {
        &self.form
    }

    /// A copy of [`SortedSet::as_bytes`].
    pub fn to_bytes(&self) -> Vec<u8> {
        self.as_bytes().to_vec()
    }

    /// Compares all bytes with the checksum written with them. Reads all bytes.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] if they have changed.
    pub fn verify(&self) -> Result<(), IndexError> {
        self.sections.verify(&self.form)
    }

    /// How many keys there are; each of several equal keys counts.
    pub fn len(&self) -> usize {
        self.sections.header.entries
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many different keys there are.
    pub fn distinct(&self) -> usize {
        self.sections.header.distinct
    }

    /// Whether a key is present.
    #[inline]
    pub fn contains(&self, key: &K) -> bool {
        self.rank(key).is_some()
    }

    /// The position of the first entry with this key, from 0; `None` if the key is absent.
    #[inline]
    pub fn position(&self, key: &K) -> Option<usize> {
        self.rank(key).map(|rank| self.first_entry(rank))
    }

    /// The position of the first key that is not below this one; [`SortedSet::len`] if there is
    /// none.
    #[inline]
    pub fn lower_bound(&self, key: &K) -> usize {
        let mut room = [0; 16];
        self.first_entry(self.search(key.stored(&mut room)))
    }

    /// The position of the first key that is above this one; [`SortedSet::len`] if there is none.
    #[inline]
    pub fn upper_bound(&self, key: &K) -> usize {
        let mut room = [0; 16];
        let item = key.stored(&mut room);
        let rank = self.search(item);
        let is_there = self.item(rank) == Some(item);
        self.first_entry(rank + usize::from(is_there))
    }

    /// The positions of many keys, as from [`SortedSet::position`]. If the keys are out of cache
    /// this takes a fraction of the time, since the waits for memory overlap.
    pub fn positions<Q: Borrow<K>>(&self, keys: &[Q]) -> Vec<Option<usize>> {
        let mut positions = Vec::with_capacity(keys.len());
        self.positions_by(keys, |some| positions.extend_from_slice(some));
        positions
    }

    /// As [`SortedSet::positions`], passing the positions to `found` in batches.
    pub(super) fn positions_by<Q: Borrow<K>>(
        &self,
        keys: &[Q],
        mut found: impl FnMut(&[Option<usize>]),
    ) {
        for keys in keys.chunks(SIDE_BY_SIDE) {
            let mut rooms = [[0; 16]; SIDE_BY_SIDE];
            let mut windows = [Window { lo: 0, hi: 0 }; SIDE_BY_SIDE];
            let mut positions = [None; SIDE_BY_SIDE];
            for ((key, room), window) in keys.iter().zip(&mut rooms).zip(&mut windows) {
                let item = key.borrow().stored(room);
                *window = self.finder.window::<K::Column>(item);
                self.keys.prefetch_places(&self.form, *window);
            }
            for window in windows.iter().take(keys.len()) {
                self.keys.prefetch(&self.form, *window);
            }
            let places = rooms.iter_mut().zip(&windows).zip(&mut positions);
            for (key, ((room, window), position)) in keys.iter().zip(places) {
                let item = key.borrow().stored(room);
                let rank = self.keys.lower_bound(&self.form, *window, item);
                *position = (self.item(rank) == Some(item)).then(|| self.first_entry(rank));
            }
            found(positions.get(..keys.len()).unwrap_or_default());
        }
    }

    /// The key of the entry at a position; `None` past the end.
    #[inline]
    pub fn key(&self, position: usize) -> Option<K::Ref<'_>> {
        if position >= self.len() {
            return None;
        }
        self.item(self.rank_of_entry(position)).map(K::from_stored)
    }

    /// The smallest key.
    pub fn first(&self) -> Option<K::Ref<'_>> {
        self.key(0)
    }

    /// The largest key.
    pub fn last(&self) -> Option<K::Ref<'_>> {
        self.key(self.len().checked_sub(1)?)
    }

    /// All keys in order; the iterator is double-ended.
    pub fn iter(&self) -> Keys<'_, K> {
        Keys::new(self, 0..self.len())
    }

    /// The keys of a range in order: two look-ups, then steps to the next entry. The iterator is
    /// double-ended. A range that ends before it starts is empty.
    ///
    /// ```
    /// # use rhumb_index::SortedSet;
    /// let words = SortedSet::<str>::from_sorted(["ant", "bee", "cat", "dog"])?;
    /// assert_eq!(words.range("b".."d").rev().collect::<Vec<_>>(), ["cat", "bee"]);
    /// // The type of other bounds has to be named.
    /// use std::ops::Bound::{Excluded, Unbounded};
    /// assert!(words.range::<&str>((Excluded("bee"), Unbounded)).eq(["cat", "dog"]));
    /// # Ok::<(), rhumb_index::IndexError>(())
    /// ```
    pub fn range<Q: Borrow<K>>(&self, range: impl RangeBounds<Q>) -> Keys<'_, K> {
        Keys::new(self, self.positions_of_range(range))
    }

    /// The positions of the entries in a range of keys.
    pub fn positions_of_range<Q: Borrow<K>>(&self, range: impl RangeBounds<Q>) -> Range<usize> {
        let start = match range.start_bound() {
            Bound::Unbounded => 0,
            Bound::Included(key) => self.lower_bound(key.borrow()),
            Bound::Excluded(key) => self.upper_bound(key.borrow()),
        };
        let end = match range.end_bound() {
            Bound::Unbounded => self.len(),
            Bound::Included(key) => self.upper_bound(key.borrow()),
            Bound::Excluded(key) => self.lower_bound(key.borrow()),
        };
        start..end.max(start)
    }

    /// The index of the set, which is over the distinct keys.
    pub fn index(&self) -> &(dyn Index + 'a) {
        self.finder.index()
    }

    /// The key map that numbers strings for the index, if it needs one.
    pub fn key_map(&self) -> Option<&KeyMap> {
        self.finder.map()
    }

    /// Bytes of the index besides the keys, including its key map.
    pub fn index_bytes(&self) -> usize {
        let map = self.key_map().map_or(0, KeyMap::size_in_bytes);
        self.index().size_in_bytes() + map
    }

    pub(super) fn form(&self) -> &ByteForm<'a> {
        &self.form
    }

    pub(super) fn sections(&self) -> &Sections {
        &self.sections
    }

    /// The key of a distinct rank, as stored.
    #[inline(always)]
    pub(super) fn item(&self, rank: usize) -> Option<Item<'_, K>> {
        self.keys.get(&self.form, rank)
    }

    /// The rank of the first distinct key that is not below an item.
    #[inline(always)]
    fn search(&self, item: Item<'_, K>) -> usize {
        let window = self.finder.window::<K::Column>(item);
        self.keys.lower_bound(&self.form, window, item)
    }

    #[inline(always)]
    fn rank(&self, key: &K) -> Option<usize> {
        let mut room = [0; 16];
        let item = key.stored(&mut room);
        let rank = self.search(item);
        (self.item(rank) == Some(item)).then_some(rank)
    }

    /// The position of the first entry of a distinct rank.
    #[inline(always)]
    pub(super) fn first_entry(&self, rank: usize) -> usize {
        if self.firsts.is_empty() {
            return rank;
        }
        let len = self.len();
        if rank >= self.distinct() {
            return len;
        }
        let firsts = self.form.get(self.firsts.clone()).unwrap_or_default();
        (u32_of(firsts, rank) as usize).min(len)
    }

    /// The distinct rank of the key at a position.
    #[inline]
    pub(super) fn rank_of_entry(&self, position: usize) -> usize {
        if self.firsts.is_empty() {
            return position;
        }
        let firsts = self.form.get(self.firsts.clone()).unwrap_or_default();
        let firsts = firsts.as_chunks::<4>().0;
        let behind =
            firsts.partition_point(|first| u32::from_le_bytes(*first) as usize <= position);
        behind.saturating_sub(1)
    }
}

impl<K: Element + ?Sized> fmt::Debug for SortedSet<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SortedSet")
            .field("len", &self.len())
            .field("distinct", &self.distinct())
            .field("index", &self.index().kind())
            .field("index_bytes", &self.index_bytes())
            .finish_non_exhaustive()
    }
}

/// The description of a form with these types.
fn types(key: u8, value: u8) -> String {
    match value {
        0 => format!("a set of {}", name(key)),
        value => format!("a map from {} to {}", name(key), name(value)),
    }
}

fn name(code: u8) -> &'static str {
    const NAMES: [&str; 14] = [
        "u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128", "f32", "f64",
        "bytes", "text",
    ];
    let at = usize::from(code).checked_sub(1);
    at.and_then(|at| NAMES.get(at)).unwrap_or(&"a later type")
}
