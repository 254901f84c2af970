//! A sorted map.

use std::borrow::Borrow;
use std::fmt;
use std::ops::RangeBounds;

use super::build::Entries;
use super::column::{Collector, Column};
use super::element::Element;
use super::form::VALUES;
use super::iter::Iter;
use super::set::SortedSet;
use crate::{ByteForm, IndexError, IndexSpec, Window};

/// A sorted map from keys, which may repeat, to values. It stores a [`SortedSet`] of the keys and
/// the values in one buffer, and is immutable.
///
/// For values of other types than [`Element`], store them in a slice and index it by
/// [`SortedSet::position`].
///
/// ```
/// use rhumb_index::SortedMap;
///
/// let ages = SortedMap::<str, u8>::from_sorted([("ann", 31), ("bob", 9), ("bob", 80)])?;
/// assert_eq!((ages.get("ann"), ages.get("eve")), (Some(31), None));
/// assert_eq!(ages.range("bob"..).map(|(_, age)| age).collect::<Vec<_>>(), [9, 80]);
///
/// let bytes = ages.to_bytes();
/// let opened = SortedMap::<str, u8>::open(&bytes)?;
/// assert_eq!(opened.get_many(&["bob", "cid"]), [Some(9), None]);
/// # Ok::<(), rhumb_index::IndexError>(())
/// ```
pub struct SortedMap<'a, K: Element + ?Sized, V: Element + ?Sized> {
    keys: SortedSet<'a, K>,
    values: V::Column,
}

impl<'a, K: Element + ?Sized, V: Element + ?Sized> SortedMap<'a, K, V> {
    /// The map of entries sorted by key. Equal keys are adjacent, and all are kept with their
    /// values in the given order.
    ///
    /// # Errors
    /// As [`SortedSet::from_sorted`].
    pub fn from_sorted<I, Q, W>(entries: I) -> Result<Self, IndexError>
    where
        I: IntoIterator<Item = (Q, W)>,
        Q: Borrow<K>,
        W: Borrow<V>,
    {
        Self::build(None, entries)
    }

    /// As [`SortedMap::from_sorted`] with the given index.
    ///
    /// # Errors
    /// As [`SortedSet::from_sorted_with`].
    pub fn from_sorted_with<I, Q, W>(index: &IndexSpec, entries: I) -> Result<Self, IndexError>
    where
        I: IntoIterator<Item = (Q, W)>,
        Q: Borrow<K>,
        W: Borrow<V>,
    {
        Self::build(Some(index), entries)
    }

    fn build<I, Q, W>(index: Option<&IndexSpec>, entries: I) -> Result<Self, IndexError>
    where
        I: IntoIterator<Item = (Q, W)>,
        Q: Borrow<K>,
        W: Borrow<V>,
    {
        let mut keys = Entries::<K>::default();
        let mut values = <V::Column as Column>::Collector::default();
        for (key, value) in entries {
            keys.push(key.borrow())?;
            values.push(value.borrow().stored(&mut [0; 16]));
        }
        Self::open(keys.finish(index, V::CODE, |out| values.finish(out))?)
    }

    /// Opens the bytes of [`SortedMap::as_bytes`] in place, as [`SortedSet::open`] does.
    ///
    /// # Errors
    /// As [`SortedSet::open`]; [`IndexError::Types`] also if the values have another type.
    pub fn open(bytes: impl Into<ByteForm<'a>>) -> Result<Self, IndexError> {
        let keys = SortedSet::with_values(bytes.into(), V::CODE)?;
        let place = keys.sections().places[VALUES].clone();
        let values = V::Column::open(keys.form(), place, keys.len())?;
        Ok(SortedMap { keys, values })
    }

    /// The keys as a set: for positions, membership and the index.
    pub fn keys(&self) -> &SortedSet<'a, K> {
        &self.keys
    }

    /// The whole map as bytes, for [`SortedMap::open`].
    pub fn as_bytes(&self) -> &[u8] {
        self.keys.as_bytes()
    }

    /// A copy of [`SortedMap::as_bytes`].
    pub fn to_bytes(&self) -> Vec<u8> {
        self.keys.to_bytes()
    }

    /// Compares all bytes with their checksum, as [`SortedSet::verify`] does.
    ///
    /// # Errors
    /// As [`SortedSet::verify`].
    pub fn verify(&self) -> Result<(), IndexError> {
        self.keys.verify()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The value of a key, the first one if the key repeats; `None` if the key is absent.
    #[inline]
    pub fn get(&self, key: &K) -> Option<V::Ref<'_>> {
        self.value(self.keys.position(key)?)
    }

    /// The values of many keys, as from [`SortedMap::get`]. If the entries are out of cache this
    /// takes a fraction of the time, since the waits for memory overlap.
    pub fn get_many<Q: Borrow<K>>(&self, keys: &[Q]) -> Vec<Option<V::Ref<'_>>> {
        let mut values = Vec::with_capacity(keys.len());
        let form = self.keys.form();
        let window = |position: &usize| Window {
            lo: *position as u64,
            hi: *position as u64 + 1,
        };
        self.keys.positions_by(keys, |positions| {
            let there = || positions.iter().flatten().map(window);
            there().for_each(|place| self.values.prefetch_places(form, place));
            there().for_each(|place| self.values.prefetch(form, place));
            values.extend(positions.iter().map(|position| self.value((*position)?)));
        });
        values
    }

    /// The value of the entry at a position; `None` past the end.
    #[inline]
    pub fn value(&self, position: usize) -> Option<V::Ref<'_>> {
        if position >= self.len() {
            return None;
        }
        let value = self.values.get(self.keys.form(), position);
        value.map(V::from_stored)
    }

    /// The entry at a position; `None` past the end.
    pub fn entry(&self, position: usize) -> Option<(K::Ref<'_>, V::Ref<'_>)> {
        Some((self.keys.key(position)?, self.value(position)?))
    }

    /// The entry with the smallest key.
    pub fn first(&self) -> Option<(K::Ref<'_>, V::Ref<'_>)> {
        self.entry(0)
    }

    /// The last entry, which has the largest key.
    pub fn last(&self) -> Option<(K::Ref<'_>, V::Ref<'_>)> {
        self.entry(self.len().checked_sub(1)?)
    }

    /// All entries in order; the iterator is double-ended.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter::new(self, 0..self.len())
    }

    /// The entries of a range of keys in order, as [`SortedSet::range`] gives the keys; the
    /// iterator is double-ended. All values of one key are in `range(key..=key)`.
    pub fn range<Q: Borrow<K>>(&self, range: impl RangeBounds<Q>) -> Iter<'_, K, V> {
        Iter::new(self, self.keys.positions_of_range(range))
    }
}

impl<K: Element + ?Sized, V: Element + ?Sized> fmt::Debug for SortedMap<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_struct("SortedMap");
        map.field("keys", &self.keys).finish_non_exhaustive()
    }
}
