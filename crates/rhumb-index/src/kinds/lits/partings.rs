//! Ascending strings in a layout that is searched in few steps: the partings (separators) between
//! the children of a trie node, and the keys of a leaf.
//!
//! The *head* of a string is a number that decides most comparisons: the first seven bytes, padded
//! with zeros, and then the string's length, at most 8. Heads ascend as strings do. They are equal
//! only if the strings are, or if both are longer than seven bytes and share the first seven. In
//! that case the *tails* after these are compared.
//!
//! ```text
//! offset  size  field
//!      0    8m  heads of m strings
//!     8m    4m  the end of each tail among the tails
//!    12m        tails
//! ```

use std::cmp::Ordering;
use std::ops::Range;

use crate::bytes::u32_of;
use crate::search::first_eight;

/// Bytes of a string in its head.
pub(super) const HEAD: usize = 7;

/// Bytes of a string besides its tail: its head and the end of its tail.
pub(super) const COLUMNS: usize = 12;

/// The place of a string among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyPlace {
    /// How many strings are not above it.
    pub not_above: usize,
    /// Whether the last of these is the string itself.
    pub is_there: bool,
}

/// The head of a string.
#[inline]
fn head(string: &[u8]) -> u64 {
    first_eight(string) & !0xff | string.len().min(HEAD + 1) as u64
}

/// The byte form of some strings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Partings<'a> {
    bytes: &'a [u8],
    count: usize,
    /// How many heads and ends of tails there is room for.
    room: usize,
}

impl<'a> Partings<'a> {
    /// `count` strings at the start of `bytes`.
    #[inline]
    pub(super) fn new(bytes: &'a [u8], count: usize) -> Self {
        Partings::with_room(bytes, count, count)
    }

    /// `count` strings at the start of `bytes`, with room for `room`: unused entries follow the
    /// heads and the ends.
    #[inline]
    pub(super) fn with_room(bytes: &'a [u8], count: usize, room: usize) -> Self {
        Partings { bytes, count, room }
    }

    /// Appends the byte form of ascending strings with room for `room`, which must not be less than
    /// their number.
    pub(super) fn lay<'s>(
        strings: impl ExactSizeIterator<Item = &'s [u8]> + Clone,
        room: usize,
        out: &mut Vec<u8>,
    ) {
        let unused = room.saturating_sub(strings.len());
        for string in strings.clone() {
            out.extend(head(string).to_le_bytes());
        }
        out.resize(out.len() + unused * 8, 0);
        let tails = strings.map(|string| string.get(HEAD..).unwrap_or_default());
        let mut end = 0;
        for tail in tails.clone() {
            end += tail.len() as u32;
            out.extend(end.to_le_bytes());
        }
        out.resize(out.len() + unused * 4, 0);
        tails.for_each(|tail| out.extend_from_slice(tail));
    }

    /// The location of a string's tail among the tails.
    #[inline]
    fn tail_range(&self, i: usize) -> Range<usize> {
        let ends = self.bytes.get(self.room * 8..).unwrap_or_default();
        let start = i.checked_sub(1).map_or(0, |before| u32_of(ends, before));
        start as usize..u32_of(ends, i) as usize
    }

    #[inline]
    fn tail(&self, i: usize) -> &'a [u8] {
        let tails = self.bytes.get(self.room * COLUMNS..).unwrap_or_default();
        tails.get(self.tail_range(i)).unwrap_or_default()
    }

    /// The total length of all tails.
    pub(super) fn tail_bytes(&self) -> usize {
        self.count
            .checked_sub(1)
            .map_or(0, |last| self.tail_range(last).end)
    }

    #[inline]
    fn heads(&self) -> &'a [[u8; 8]] {
        let heads = self.bytes.get(..self.count * 8).unwrap_or_default();
        heads.as_chunks::<8>().0
    }

    /// Appends a string.
    pub(super) fn push_to(&self, i: usize, out: &mut Vec<u8>) {
        let head = self.heads().get(i).copied().unwrap_or_default();
        let bytes = u64::from_le_bytes(head).to_be_bytes();
        let len = usize::from(bytes[HEAD]).min(HEAD);
        out.extend_from_slice(bytes.get(..len).unwrap_or_default());
        out.extend_from_slice(self.tail(i));
    }

    /// The strings.
    pub(super) fn strings(&self) -> Vec<Vec<u8>> {
        let string = |i| {
            let mut string = Vec::new();
            self.push_to(i, &mut string);
            string
        };
        (0..self.count).map(string).collect()
    }

    /// The place of a string, present or not.
    #[inline]
    pub(super) fn find(&self, string: &[u8]) -> KeyPlace {
        let heads = self.heads();
        let wanted = head(string);
        let at = heads.partition_point(|head| u64::from_le_bytes(*head) < wanted);
        let same = |head: &&[u8; 8]| u64::from_le_bytes(**head) == wanted;
        let alike = heads
            .get(at..)
            .unwrap_or_default()
            .iter()
            .take_while(same)
            .count();
        // Strings without a tail need not access the tails.
        if alike == 0 || wanted & 0xff <= HEAD as u64 {
            return KeyPlace {
                not_above: at + alike,
                is_there: alike > 0,
            };
        }
        let rest = string.get(HEAD..).unwrap_or_default();
        let (mut low, mut high) = (at, at + alike);
        while low < high {
            let middle = low.midpoint(high);
            match self.tail(middle).cmp(rest) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => {
                    return KeyPlace {
                        not_above: middle + 1,
                        is_there: true,
                    };
                }
            }
        }
        KeyPlace {
            not_above: low,
            is_there: false,
        }
    }
}

/// Strings that can be changed in place.
#[derive(Debug)]
pub(super) struct PartingsMut<'a> {
    bytes: &'a mut [u8],
    count: usize,
    room: usize,
}

impl<'a> PartingsMut<'a> {
    /// `count` strings with room for `room`, and possibly room after their tails.
    pub(super) fn new(bytes: &'a mut [u8], count: usize, room: usize) -> Self {
        PartingsMut { bytes, count, room }
    }

    fn as_ref(&self) -> Partings<'_> {
        Partings::with_room(self.bytes, self.count, self.room)
    }

    /// The ends of the tails from index `i` on, including unused ones.
    fn ends(&mut self, i: usize) -> &mut [[u8; 4]] {
        let ends = self
            .bytes
            .get_mut(self.room * 8 + i * 4..self.room * COLUMNS);
        ends.unwrap_or_default().as_chunks_mut::<4>().0
    }

    /// Inserts a string at index `i`. Returns false, and changes nothing, if there is no room.
    pub(super) fn insert(&mut self, i: usize, string: &[u8]) -> bool {
        let tail = string.get(HEAD..).unwrap_or_default();
        let (count, tails) = (self.count, self.room * COLUMNS);
        let end = tails + self.as_ref().tail_bytes();
        let start = i
            .checked_sub(1)
            .map_or(0, |before| self.as_ref().tail_range(before).end);
        if i > count || count >= self.room || end + tail.len() > self.bytes.len() {
            return false;
        }
        self.bytes.copy_within(i * 8..count * 8, i * 8 + 8);
        if let Some(place) = self.bytes.get_mut(i * 8..i * 8 + 8) {
            place.copy_from_slice(&head(string).to_le_bytes());
        }
        let ends = self.ends(i);
        ends.copy_within(..count - i, 1);
        if let Some(first) = ends.first_mut() {
            *first = (start as u32).to_le_bytes();
        }
        for end in ends.iter_mut().take(count - i + 1) {
            *end = (u32::from_le_bytes(*end) + tail.len() as u32).to_le_bytes();
        }
        let start = tails + start;
        self.bytes.copy_within(start..end, start + tail.len());
        if let Some(place) = self.bytes.get_mut(start..start + tail.len()) {
            place.copy_from_slice(tail);
        }
        self.count += 1;
        true
    }

    /// Removes the string at index `i`.
    pub(super) fn remove(&mut self, i: usize) {
        let (count, tails) = (self.count, self.room * COLUMNS);
        if i >= count {
            return;
        }
        let end = self.as_ref().tail_bytes();
        let tail = self.as_ref().tail_range(i);
        self.bytes.copy_within(i * 8 + 8..count * 8, i * 8);
        let ends = self.ends(i);
        ends.copy_within(1..count - i, 0);
        for end in ends.iter_mut().take(count - i - 1) {
            let without = u32::from_le_bytes(*end).saturating_sub(tail.len() as u32);
            *end = without.to_le_bytes();
        }
        self.bytes
            .copy_within(tails + tail.end..tails + end, tails + tail.start);
        self.count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{SplitMix64, distributions};

    #[test]
    fn searches_and_changes_match_those_of_a_list() {
        let mut random = SplitMix64::new(3);
        for distribution in distributions::all() {
            let all = distribution.keys(&mut random, 400);
            for strings in all.chunks(21) {
                let bytes = laid(strings);
                let partings = Partings::new(&bytes, strings.len());
                for (i, string) in strings.iter().enumerate() {
                    let mut rebuilt = Vec::new();
                    partings.push_to(i, &mut rebuilt);
                    assert_eq!(rebuilt, *string);
                    let mut others = strings.to_vec();
                    others.remove(i);
                    let room = strings.len() + random.below(3) as usize;
                    let mut roomy = Vec::new();
                    Partings::lay(strings.iter().map(Vec::as_slice), room, &mut roomy);
                    let mut changed = PartingsMut::new(&mut roomy, strings.len(), room);
                    changed.remove(i);
                    assert_eq!(changed.as_ref().strings(), others);
                    let longer = [string.as_slice(), &[0; 400]].concat();
                    assert!(!changed.insert(i, &longer));
                    assert!(changed.insert(i, string));
                    assert_eq!(changed.as_ref().strings(), strings);
                    assert_eq!(changed.as_ref().find(string), partings.find(string));
                    let full = strings.len() == room;
                    assert!(!full || !changed.insert(i, &[]));
                }
                let near = strings.iter().flat_map(|string| {
                    let cut = random.below(string.len() as u64 + 1) as usize;
                    let longer = [string, [0].as_slice()].concat();
                    [string.clone(), string[..cut].to_vec(), longer]
                });
                for probe in near.chain(all.iter().step_by(30).cloned()) {
                    let expected = KeyPlace {
                        not_above: strings.partition_point(|string| *string <= probe),
                        is_there: strings.contains(&probe),
                    };
                    assert_eq!(partings.find(&probe), expected, "{probe:?} {strings:?}");
                }
            }
        }
    }

    fn laid(strings: &[Vec<u8>]) -> Vec<u8> {
        let mut out = Vec::new();
        Partings::lay(strings.iter().map(Vec::as_slice), strings.len(), &mut out);
        out
    }
}
