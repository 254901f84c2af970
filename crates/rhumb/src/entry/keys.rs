//! Comparing, abbreviating and copying keys. Short keys, which are the most common, are handled by
//! whole words.

use std::cmp::Ordering;
use std::ops::Bound;

use rhumb_index::search::first_eight;

/// The hash of a user key for filters, hash indexes and groups of values.
pub(crate) fn hash_key(key: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(key)
}

/// Makes `key` equal to `from`. Short keys of equal length, as successive keys often are, are
/// copied by whole words.
#[inline]
pub(crate) fn set_key(key: &mut Vec<u8>, from: &[u8]) {
    if key.len() != from.len() || !copy_words(key, from) {
        key.clear();
        key.extend_from_slice(from);
    }
}

/// Appends bytes; eight, as many keys and values have, as a whole word.
#[inline]
pub(crate) fn append(to: &mut Vec<u8>, from: &[u8]) {
    match <&[u8; 8]>::try_from(from) {
        Ok(word) => to.extend_from_slice(word),
        Err(_) => to.extend_from_slice(from),
    }
}

/// Appends the `len` bytes of `from` that start at `at`, as far as there are so many. Up to 64 are copied as one piece, without a
/// call, with what follows them in `from`, which is cut off again.
#[inline]
pub(crate) fn append_part(to: &mut Vec<u8>, from: &[u8], at: usize, len: usize) {
    let from = from.get(at..).unwrap_or_default();
    match from.first_chunk::<64>() {
        Some(piece) if len <= piece.len() => {
            let end = to.len() + len;
            to.extend_from_slice(piece);
            to.truncate(end);
        }
        _ => to.extend_from_slice(from.get(..len).unwrap_or(from)),
    }
}

/// Copies 4 to 32 bytes by whole words; returns `false`, with nothing copied, for other lengths or
/// if the lengths differ.
#[inline]
pub(crate) fn copy_words(to: &mut [u8], from: &[u8]) -> bool {
    fn ends<const N: usize>(to: &mut [u8], from: &[u8]) -> Option<()> {
        let (first, last) = (*from.first_chunk::<N>()?, *from.last_chunk::<N>()?);
        *to.first_chunk_mut()? = first;
        *to.last_chunk_mut()? = last;
        Some(())
    }
    let copied = match from.len() {
        len if len != to.len() => None,
        4..=7 => ends::<4>(to, from),
        8..=16 => ends::<8>(to, from),
        17..=32 => ends::<16>(to, from),
        _ => None,
    };
    copied.is_some()
}

/// The smallest byte string above `key`.
pub(crate) fn successor(key: &[u8]) -> Vec<u8> {
    let mut next = Vec::with_capacity(key.len() + 1);
    next.extend_from_slice(key);
    next.push(0);
    next
}

/// Whether `key` is beyond the upper bound `to`.
#[inline]
pub(crate) fn is_behind(key: &[u8], to: Bound<&[u8]>) -> bool {
    match to {
        Bound::Unbounded => false,
        Bound::Included(to) => key > to,
        Bound::Excluded(to) => key >= to,
    }
}

/// Whether `key` is before the lower bound `from`.
#[inline]
pub(crate) fn is_before(key: &[u8], from: Bound<&[u8]>) -> bool {
    match from {
        Bound::Unbounded => false,
        Bound::Included(from) => key < from,
        Bound::Excluded(from) => key <= from,
    }
}

/// Compares two keys: by their first eight bytes, if these differ.
#[inline]
pub(crate) fn compare(one: &[u8], other: &[u8]) -> Ordering {
    match first_eight(one).cmp(&first_eight(other)) {
        Ordering::Equal => one.cmp(other),
        order => order,
    }
}

/// Whether two keys are equal. Short keys are compared by whole words: the C library loads wider
/// pieces, which stalls if the key was written in smaller pieces just before.
#[inline]
pub(crate) fn is_same(one: &[u8], other: &[u8]) -> bool {
    let ends = |key: &[u8]| {
        let (first, last) = (key.first_chunk::<8>()?, key.last_chunk::<8>()?);
        Some((u64::from_ne_bytes(*first), u64::from_ne_bytes(*last)))
    };
    match (ends(one), ends(other)) {
        (Some(some), Some(others)) if one.len() <= 16 => some == others && one.len() == other.len(),
        _ => one == other,
    }
}

/// The eight bytes after the prefix as a number; 0 or `u64::MAX` for keys that sort before or after
/// all keys with the prefix. The mapping is monotone, so only keys with equal numbers need to be
/// compared in full.
#[inline]
pub(crate) fn abbreviate(prefix: &[u8], key: &[u8]) -> u64 {
    // A separate case, since an empty slice may point to unmapped memory: the C library's
    // comparison loads from there under an empty mask, which takes as long as a cache miss.
    match prefix.is_empty() {
        true => first_eight(key),
        false => abbreviate_behind(prefix, key),
    }
}

#[inline(never)]
fn abbreviate_behind(prefix: &[u8], key: &[u8]) -> u64 {
    match key.strip_prefix(prefix) {
        Some(rest) => first_eight(rest),
        None if key < prefix => 0,
        None => u64::MAX,
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn parts_are_appended_whatever_follows_them() {
        let bytes: Vec<u8> = (1..=70).collect();
        for at in 0..=71 {
            for len in [0, 1, 7, 31, 32, 33, 70] {
                let mut to = b"before".to_vec();
                append_part(&mut to, &bytes, at, len);
                let (start, end) = (at.min(70), (at + len).min(70));
                assert_eq!(
                    to,
                    [b"before", &bytes[start..end]].concat(),
                    "{len} at {at}"
                );
            }
        }
    }

    #[test]
    fn short_keys_are_copied_and_compared_whole() {
        let bytes: Vec<u8> = (1..=40).collect();
        for len in 0..=40 {
            let from = &bytes[..len];
            for other in [0, 7, 8, 16, 17, 32, 33, len] {
                let mut key = vec![0xaa; other];
                set_key(&mut key, from);
                assert_eq!(key, from, "{len} bytes over {other}");
                assert_eq!(is_same(from, &bytes[..other]), len == other);
            }
            let mut to = vec![0; len];
            let copied = copy_words(&mut to, from);
            assert_eq!(copied, (4..=32).contains(&len));
            assert_eq!(to == from, copied || len == 0);
            let mut longer = vec![0; len + 1];
            assert!(!copy_words(&mut longer, from) && longer.iter().all(|byte| *byte == 0));
            for changed in 0..len {
                let mut other = from.to_vec();
                other[changed] ^= 1;
                assert!(!is_same(from, &other), "{changed} of {len}");
            }
        }
    }
}
