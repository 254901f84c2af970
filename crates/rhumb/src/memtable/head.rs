//! Heads: a few bytes of a key that lie beside the links, so that a search seldom reads keys.
//!
//! Keys are compared as if zeros without end followed them. This keeps their order: if one such
//! string is smaller than another, so is its key. Only keys that become equal in this way differ in
//! their length alone.

use std::cmp::Ordering;

use rhumb_index::search::{common_prefix, first_eight};

use crate::entry::Sequence;

/// The most bytes that a head leaves out, and the most that a search need know to be shared.
pub(super) const MOST_SKIPPED: usize = 0xFFFE;

/// The low bits of a head hold bytes of the key, and the others say how many come before them.
const SKIP_SHIFT: u32 = 48;

/// Six bytes of a key, behind some that it shares with its neighbours, and the number of these. It
/// is one word, so that it can be replaced while others read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head(pub u64);

impl Head {
    /// That of a key which has to be compared in full.
    pub const NONE: Head = Head(u64::MAX << SKIP_SHIFT);

    #[inline]
    pub fn new(key: &[u8], skip: usize) -> Self {
        let skip = skip.min(MOST_SKIPPED);
        let eight = match key.len().checked_sub(8) {
            // One load for every skip. What comes behind the end of the key is zeros.
            Some(last) => {
                let at = skip.min(last);
                let eight = first_eight(key.get(at..).unwrap_or_default());
                eight.checked_shl(8 * (skip - at) as u32).unwrap_or(0)
            }
            None => first_eight(key.get(skip..).unwrap_or_default()),
        };
        Head((skip as u64) << SKIP_SHIFT | eight >> (64 - SKIP_SHIFT))
    }

    /// How many bytes of the key come before those of the head.
    #[inline]
    pub fn skip(self) -> usize {
        (self.0 >> SKIP_SHIFT) as usize
    }
}

/// How many bytes a target shares with two keys on both sides of it, the smaller and the larger; 0 where there is no
/// such key.
pub(super) type Around = (usize, usize);

/// A position in a list: just before the first entry that is not before this key and sequence.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub key: &'a [u8],
    pub sequence: Sequence,
    /// The length of the prefix of all keys that have heads, if the key has it too.
    prefix: Option<usize>,
    head: Head,
}

impl<'a> Target<'a> {
    /// In a list in which only keys with the prefix have heads.
    #[inline]
    pub fn new(prefix: &[u8], key: &'a [u8], sequence: Sequence) -> Self {
        // An empty prefix by itself, since an empty slice may point to unmapped memory: the C library's
        // comparison loads from there under an empty mask, which takes as long as a cache miss.
        let has_prefix = prefix.is_empty() || key.starts_with(prefix);
        let prefix = has_prefix.then_some(prefix.len());
        Target {
            key,
            sequence,
            prefix,
            head: Head::new(key, prefix.unwrap_or(0)),
        }
    }

    /// The length of the prefix of all keys that have heads, if the key has it too.
    pub fn prefix(&self) -> Option<usize> {
        self.prefix
    }

    /// How many bytes the target shares with a head in some surroundings. Everything between two keys
    /// shares what they share.
    #[inline]
    pub fn shared(&self, (low, high): Around) -> usize {
        low.min(high)
            .max(self.prefix.unwrap_or(0))
            .min(MOST_SKIPPED)
    }

    /// Compares a key with the target's by its head, and tells how many bytes they share; `None` if
    /// the head does not tell.
    #[inline(always)]
    pub fn compare(&self, head: Head, around: Around) -> Option<(Ordering, usize)> {
        let skip = head.skip();
        let own = match skip == self.head.skip() {
            true => self.head,
            false if skip <= self.shared(around) => self.head_behind(skip),
            false => return None,
        };
        let different = (head.0 ^ own.0).leading_zeros() as usize / 8;
        // The skips are the first two bytes.
        (different < 8).then(|| (head.0.cmp(&own.0), skip + different - 2))
    }

    #[inline(never)]
    fn head_behind(&self, skip: usize) -> Head {
        Head::new(self.key, skip)
    }
}

/// Compares two keys that share at least the first `from` bytes, and tells how many they share;
/// `usize::MAX` if they differ at most in their length.
pub(super) fn compare_from(from: usize, one: &[u8], other: &[u8]) -> (Ordering, usize) {
    let rest = |key| <[u8]>::get(key, from..).unwrap_or_default();
    let (a, b) = (rest(one), rest(other));
    let same = common_prefix(a, b);
    match (a.get(same), b.get(same)) {
        (Some(x), Some(y)) => (x.cmp(y), from + same),
        (None, None) => (one.len().cmp(&other.len()), usize::MAX),
        (x, _) => {
            let (order, longer) = match x {
                Some(_) => (Ordering::Greater, a),
                None => (Ordering::Less, b),
            };
            let zeros = longer.get(same..).unwrap_or_default().iter();
            let zeros = zeros.take_while(|byte| **byte == 0).count();
            let shared = match same + zeros < longer.len() {
                true => from + same + zeros,
                false => usize::MAX,
            };
            (order, shared)
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::entry::MAX_SEQUENCE;

    /// All keys of up to three letters, which include zero, behind some prefixes.
    fn keys() -> Vec<Vec<u8>> {
        let mut keys = vec![vec![]];
        let letters = [0, 1, b'a', 0xff];
        for prefix in [&b""[..], b"pre", b"prefix-of-many"] {
            for code in 0..5usize.pow(3) {
                let digits = [code % 5, code / 5 % 5, code / 25];
                let letters = digits
                    .iter()
                    .map_while(|digit| letters.get(*digit).copied());
                keys.push(prefix.iter().copied().chain(letters).collect());
            }
        }
        keys.sort();
        keys.dedup();
        keys
    }

    /// The number of bytes that two keys share if zeros follow both.
    fn share(a: &[u8], b: &[u8]) -> usize {
        let at = |key: &[u8], i: usize| key.get(i).copied().unwrap_or(0);
        let longest = a.len().max(b.len());
        let differ = (0..longest).find(|i| at(a, *i) != at(b, *i));
        differ.unwrap_or(usize::MAX)
    }

    #[test]
    fn keys_are_compared_from_any_byte_that_they_share() {
        let keys = keys();
        for a in &keys {
            for b in &keys {
                let shared = share(a, b);
                for from in (0..=shared.min(20)).step_by(3) {
                    assert_eq!(compare_from(from, a, b), (a.cmp(b), shared), "{a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn heads_tell_the_order_or_nothing() {
        let keys = keys();
        for prefix in [&b""[..], b"pr", b"prefix"] {
            for target in &keys {
                let to = Target::new(prefix, target, MAX_SEQUENCE);
                for key in keys.iter().filter(|key| key.starts_with(prefix)) {
                    let shared = share(key, target);
                    for skip in prefix.len()..=20 {
                        let around = (shared, shared);
                        let known = to.shared(around);
                        match to.compare(Head::new(key, skip), around) {
                            Some(told) => assert_eq!(told, (key.cmp(target), shared)),
                            None => assert!(skip > known || shared >= skip + 6),
                        }
                    }
                    assert_eq!(to.compare(Head::NONE, (shared, shared)), None);
                }
            }
        }
    }

    #[test]
    fn a_head_is_six_bytes_behind_those_it_skips() {
        let key: Vec<u8> = (1..=40).collect();
        for len in 0..=key.len() {
            for skip in 0..50 {
                let byte = |i: usize| key[..len].get(i).copied().unwrap_or(0);
                let six = (skip..skip + 6).fold(0, |six, i| six << 8 | u64::from(byte(i)));
                let head = Head::new(&key[..len], skip);
                assert_eq!(head, Head((skip as u64) << 48 | six), "{len} {skip}");
                assert_eq!(head.skip(), skip);
            }
        }
        assert_eq!(Head::new(&key, usize::MAX).skip(), MOST_SKIPPED);
    }
}
