//! Search among sorted byte strings.

use std::ops::Range;

use super::outward::{Sorted, from_middle};
use super::{LINE_BYTES, clamped, first_not_by_number, prefetch};
use crate::Window;

/// The first rank in `lo..=hi` of a window over sorted byte strings whose key is not below `key`;
/// `hi` if there is none. As [`crate::search::lower_bound_u64`] for byte strings.
///
/// The prefix that all keys of the window share is compared once, then the next eight bytes as a
/// number, and whole keys only where these are equal.
///
/// ```
/// use rhumb_index::{Window, search};
///
/// let keys = ["user-10", "user-20", "user-25", "user-30"];
/// let window = Window { lo: 0, hi: 3 };
/// assert_eq!(search::lower_bound_bytes(&keys, window, b"user-20"), 1);
/// assert_eq!(search::lower_bound_bytes(&keys, window, b"user-21"), 2);
/// assert_eq!(search::lower_bound_bytes(&keys, window, b"w"), 3);
/// ```
#[inline]
pub fn lower_bound_bytes<K: AsRef<[u8]>>(keys: &[K], window: Window, key: &[u8]) -> usize {
    lower_bound_strings(keys, window, key)
}

/// As [`lower_bound_bytes`] for byte strings stored in other ways.
#[inline]
pub(crate) fn lower_bound_strings<S: Strings>(keys: S, window: Window, key: &[u8]) -> usize {
    from_middle(Texts { keys, key }, clamped(window, keys.len()))
}

/// How many strings are prefetched at once; each is usually in a cache line of its own.
pub(crate) const NEAR_STRINGS: usize = 34;

/// Sorted byte strings, stored in some way.
pub(crate) trait Strings: Copy {
    /// How many there are.
    fn len(self) -> usize;

    /// One of them; empty past the end.
    fn at(&self, at: usize) -> &[u8];

    /// Prefetches the strings of a range, at least their first bytes, and the data that locates
    /// them.
    fn prefetch(self, range: Range<usize>);
}

impl<K: AsRef<[u8]>> Strings for &[K] {
    #[inline]
    fn len(self) -> usize {
        <[K]>::len(self)
    }

    #[inline]
    fn at(&self, at: usize) -> &[u8] {
        self.get(at).map_or(&[], AsRef::as_ref)
    }

    #[inline]
    fn prefetch(self, range: Range<usize>) {
        prefetch(self, range.clone());
        range.for_each(|at| prefetch(self.at(at), 0..1));
    }
}

/// Sorted byte strings, and the one sought.
#[derive(Clone, Copy)]
struct Texts<'k, S> {
    keys: S,
    key: &'k [u8],
}

impl<S: Strings> Sorted for Texts<'_, S> {
    const NEAR: usize = NEAR_STRINGS;

    #[inline]
    fn is_before(self, at: usize) -> bool {
        self.keys.at(at) < self.key
    }

    #[inline]
    fn prefetch(self, at: usize) {
        prefetch(self.keys.at(at), 0..LINE_BYTES);
    }

    fn search_near(self, range: Range<usize>) -> usize {
        let keys = self.keys;
        keys.prefetch(range.clone());
        let Some(last) = range.end.checked_sub(1).filter(|_| !range.is_empty()) else {
            return range.start;
        };
        let first = keys.at(range.start);
        let shared = common_prefix(first, keys.at(last));
        let (prefix, _) = first.split_at(shared);
        let Some(rest) = self.key.strip_prefix(prefix) else {
            return if self.key < prefix {
                range.start
            } else {
                range.end
            };
        };
        let behind = |at: usize| first_eight(keys.at(at).get(shared..).unwrap_or_default());
        first_not_by_number(range, first_eight(rest), behind, |at| self.is_before(at))
    }
}

/// How many bytes two byte strings have in common at the start.
#[inline]
pub fn common_prefix<'k>(a: &'k [u8], b: &'k [u8]) -> usize {
    let (words_a, words_b) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
    let mut same = 0;
    for (x, y) in words_a.iter().zip(words_b) {
        let other_bits = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if other_bits != 0 {
            return same + other_bits.trailing_zeros() as usize / 8;
        }
        same += 8;
    }
    // One of them has less than eight bytes left.
    let rest = |key: &'k [u8]| key.get(same..).unwrap_or_default().iter();
    let rest = rest(a).zip(rest(b));
    same + rest.take_while(|(x, y)| x == y).count()
}

/// The first eight bytes of a key as a big-endian number, padded with zeros: keys with smaller
/// numbers are smaller, and only keys with equal numbers need be compared in full.
///
/// ```
/// use rhumb_index::search::first_eight;
///
/// assert_eq!(first_eight(b"\x01\x02"), 0x0102_0000_0000_0000);
/// assert_eq!(first_eight(b"\x01\x02"), first_eight(b"\x01\x02\0"));
/// ```
#[inline]
pub fn first_eight(key: &[u8]) -> u64 {
    if let Some(eight) = key.first_chunk() {
        return u64::from_be_bytes(*eight);
    }
    // Overlapping pieces for shorter keys: no loop, whose end would be hard to predict.
    let behind = |at: usize| 64 - 8 * at as u32;
    if let (Some(first), Some(last)) = (key.first_chunk(), key.last_chunk()) {
        let (first, last) = (u32::from_be_bytes(*first), u32::from_be_bytes(*last));
        return u64::from(first) << 32 | u64::from(last) << behind(key.len());
    }
    match key {
        [] => 0,
        [first, ..] => {
            let byte = |at: usize| u64::from(key.get(at).copied().unwrap_or(0)) << behind(at + 1);
            u64::from(*first) << 56 | byte(key.len() / 2) | byte(key.len() - 1)
        }
    }
}

/// The first 16 bytes of a key as a big-endian number, padded with zeros: as [`first_eight`].
#[inline]
pub fn first_sixteen(key: &[u8]) -> u128 {
    match key.first_chunk() {
        Some(sixteen) => u128::from_be_bytes(*sixteen),
        None => {
            let behind = key.get(8..).unwrap_or_default();
            u128::from(first_eight(key)) << 64 | u128::from(first_eight(behind))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_prefixes_are_those_of_a_loop_over_bytes() {
        let bytes: Vec<u8> = (0..40).collect();
        for start in 0..8 {
            for (long, short) in (0..=26).flat_map(|a| (0..=a).map(move |b| (a, b))) {
                let a = &bytes[start..start + long];
                // The last round changes no byte.
                for changed in 0..=short {
                    let mut b = bytes[start..start + short].to_vec();
                    b.iter_mut()
                        .skip(changed)
                        .take(1)
                        .for_each(|byte| *byte ^= 128);
                    let alike = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
                    assert_eq!(alike, changed);
                    assert_eq!(common_prefix(a, &b), alike, "{a:?} and {b:?}");
                    assert_eq!(common_prefix(&b, a), alike, "{b:?} and {a:?}");
                }
            }
        }
    }

    #[test]
    fn first_bytes_are_padded_with_zeros() {
        let bytes: Vec<u8> = (200..220).collect();
        for len in 0..bytes.len() {
            let mut padded = bytes[..len].to_vec();
            padded.resize(len.max(8), 0);
            let expected = padded[..8].iter().fold(0, |n, &b| n << 8 | u64::from(b));
            assert_eq!(first_eight(&bytes[..len]), expected);
            padded.resize(padded.len().max(16), 0);
            let expected = u128::from_be_bytes(padded[..16].try_into().unwrap());
            assert_eq!(first_sixteen(&bytes[..len]), expected);
        }
    }
}
