//! Iterators over entries, from both ends.

use std::fmt;
use std::iter::FusedIterator;
use std::ops::Range;

use super::element::Element;
use super::map::SortedMap;
use super::set::SortedSet;

/// An entry: its position, and the rank of its key among the distinct keys.
#[derive(Debug, Clone, Copy)]
struct Place {
    position: usize,
    rank: usize,
}

/// The keys of a [`SortedSet`] or a range of it, in order, from both ends.
pub struct Keys<'s, K: Element + ?Sized> {
    set: &'s SortedSet<'s, K>,
    front: Place,
    /// The last remaining entry, if there is one.
    back: Place,
    left: usize,
}

impl<K: Element + ?Sized> Clone for Keys<'_, K> {
    fn clone(&self) -> Self {
        Keys { ..*self }
    }
}

impl<'s, K: Element + ?Sized> Keys<'s, K> {
    pub(super) fn new(set: &'s SortedSet<'_, K>, positions: Range<usize>) -> Self {
        let place = |position: usize| Place {
            position,
            rank: set.rank_of_entry(position),
        };
        Keys {
            set,
            front: place(positions.start),
            back: place(positions.end.saturating_sub(1)),
            left: positions.len(),
        }
    }

    /// The next entry's position and key.
    #[inline]
    fn step(&mut self) -> Option<(usize, K::Ref<'s>)> {
        self.left = self.left.checked_sub(1)?;
        let Place { position, rank } = self.front;
        self.front.position += 1;
        if self.set.first_entry(rank + 1) <= position + 1 {
            self.front.rank += 1;
        }
        self.entry(position, rank)
    }

    /// The entry, or the end of both directions if damage hides its key.
    #[inline(always)]
    fn entry(&mut self, position: usize, rank: usize) -> Option<(usize, K::Ref<'s>)> {
        let item = self.set.item(rank);
        if item.is_none() {
            self.left = 0;
        }
        Some((position, K::from_stored(item?)))
    }

    /// As [`Keys::step`] from the back.
    #[inline]
    fn step_back(&mut self) -> Option<(usize, K::Ref<'s>)> {
        self.left = self.left.checked_sub(1)?;
        let Place { position, rank } = self.back;
        self.back.position = position.saturating_sub(1);
        if self.set.first_entry(rank) == position {
            self.back.rank = rank.saturating_sub(1);
        }
        self.entry(position, rank)
    }
}

impl<'s, K: Element + ?Sized> Iterator for Keys<'s, K> {
    type Item = K::Ref<'s>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.step().map(|(_, key)| key)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<K: Element + ?Sized> DoubleEndedIterator for Keys<'_, K> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step_back().map(|(_, key)| key)
    }
}

impl<K: Element + ?Sized> ExactSizeIterator for Keys<'_, K> {}
impl<K: Element + ?Sized> FusedIterator for Keys<'_, K> {}

impl<K: Element + ?Sized> fmt::Debug for Keys<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut keys = f.debug_struct("Keys");
        keys.field("left", &self.left).finish_non_exhaustive()
    }
}

/// The entries of a [`SortedMap`] or a range of it, in order, from both ends.
pub struct Iter<'s, K: Element + ?Sized, V: Element + ?Sized> {
    map: &'s SortedMap<'s, K, V>,
    keys: Keys<'s, K>,
}

impl<K: Element + ?Sized, V: Element + ?Sized> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Iter {
            map: self.map,
            keys: self.keys.clone(),
        }
    }
}

impl<'s, K: Element + ?Sized, V: Element + ?Sized> Iter<'s, K, V> {
    pub(super) fn new(map: &'s SortedMap<'_, K, V>, positions: Range<usize>) -> Self {
        let keys = Keys::new(map.keys(), positions);
        Iter { map, keys }
    }

    /// The entry, or the end of both directions if damage hides its value.
    #[inline(always)]
    fn entry(&mut self, position: usize, key: K::Ref<'s>) -> Option<(K::Ref<'s>, V::Ref<'s>)> {
        let value = self.map.value(position);
        if value.is_none() {
            self.keys.left = 0;
        }
        Some((key, value?))
    }
}

impl<'s, K: Element + ?Sized, V: Element + ?Sized> Iterator for Iter<'s, K, V> {
    type Item = (K::Ref<'s>, V::Ref<'s>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (position, key) = self.keys.step()?;
        self.entry(position, key)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.keys.size_hint()
    }
}

impl<K: Element + ?Sized, V: Element + ?Sized> DoubleEndedIterator for Iter<'_, K, V> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        let (position, key) = self.keys.step_back()?;
        self.entry(position, key)
    }
}

impl<K: Element + ?Sized, V: Element + ?Sized> ExactSizeIterator for Iter<'_, K, V> {}
impl<K: Element + ?Sized, V: Element + ?Sized> FusedIterator for Iter<'_, K, V> {}

impl<K: Element + ?Sized, V: Element + ?Sized> fmt::Debug for Iter<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut iter = f.debug_struct("Iter");
        iter.field("left", &self.keys.len()).finish_non_exhaustive()
    }
}

impl<'s, K: Element + ?Sized> IntoIterator for &'s SortedSet<'_, K> {
    type Item = K::Ref<'s>;
    type IntoIter = Keys<'s, K>;

    fn into_iter(self) -> Keys<'s, K> {
        self.iter()
    }
}

impl<'s, K: Element + ?Sized, V: Element + ?Sized> IntoIterator for &'s SortedMap<'_, K, V> {
    type Item = (K::Ref<'s>, V::Ref<'s>);
    type IntoIter = Iter<'s, K, V>;

    fn into_iter(self) -> Iter<'s, K, V> {
        self.iter()
    }
}
