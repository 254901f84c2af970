//! Heads: eight bytes of a key that lie in the blocks, so that a search seldom reads keys.
//!
//! A block leaves out bytes that all its keys share, and with them every key that is sought there, since they share
//! them with the keys between which the block lies. At least these are the bytes of the prefix of the whole memtable.
//! Keys without this prefix, of which there are few, have the head 0 if they come before those that have it, and the
//! largest one if they come behind.
//!
//! Heads never contradict the order of keys. Where they are equal, keys are compared in full.

use std::cmp::Ordering;

use rhumb_index::search::first_eight;

use super::record::Record;
use crate::entry::Sequence;

/// A position in a tree: just before the first entry that is not before this key and sequence.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub key: &'a [u8],
    pub sequence: Sequence,
    /// The length of the memtable's prefix.
    prefix: usize,
    /// The head behind it.
    pub head: u64,
}

/// How an entry stands to a target: in the order in which such entries come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// It has a smaller key.
    Before,
    /// It is a newer version of the target's key.
    Newer,
    /// It is at the target.
    There,
    /// It is an older version of the target's key.
    Older,
    /// It has a larger key.
    Behind,
}

impl Standing {
    /// Whether the entry comes before the target.
    #[inline]
    pub fn is_before(self) -> bool {
        self < Standing::There
    }
}

impl<'a> Target<'a> {
    /// In a memtable with a prefix.
    #[inline]
    pub fn new(prefix: &[u8], key: &'a [u8], sequence: Sequence) -> Self {
        Target {
            key,
            sequence,
            prefix: prefix.len(),
            head: head(prefix, key),
        }
    }

    /// The length of the memtable's prefix.
    #[inline]
    pub fn prefix(&self) -> usize {
        self.prefix
    }

    /// Whether the key goes on behind its head in a block that leaves out `skip` bytes, so that others with this head may come before
    /// it.
    #[inline]
    pub fn goes_on_behind_head(&self, skip: usize) -> bool {
        self.key.len() > skip + size_of_val(&self.head)
    }

    /// The head in a block that leaves out `skip` bytes.
    #[inline]
    pub fn head_behind(&self, skip: usize) -> u64 {
        match skip == self.prefix {
            true => self.head,
            false => eight(self.key, skip),
        }
    }

    /// Where a record of a block that leaves out `skip` bytes lies relative to the target: newer entries of a key come
    /// first.
    #[inline]
    pub fn standing(&self, record: &Record<'_>, skip: usize) -> Standing {
        // Keys may lack the memtable's prefix.
        let from = if skip > self.prefix { skip } else { 0 };
        let rest = |key| <[u8]>::get(key, from..).unwrap_or_default();
        match rest(record.key).cmp(rest(self.key)) {
            Ordering::Less => Standing::Before,
            Ordering::Greater => Standing::Behind,
            Ordering::Equal => match self.sequence.cmp(&record.sequence) {
                Ordering::Less => Standing::Newer,
                Ordering::Equal => Standing::There,
                Ordering::Greater => Standing::Older,
            },
        }
    }

    /// Where a record lies relative to the target.
    pub fn compare(&self, record: &Record<'_>) -> Ordering {
        self.standing(record, 0).cmp(&Standing::There)
    }
}

/// The head of a key in a block that leaves out a prefix, which the key need not have.
#[inline]
pub(super) fn head(prefix: &[u8], key: &[u8]) -> u64 {
    // An empty prefix by itself, since an empty slice may point to unmapped memory: the C library's
    // comparison loads from there under an empty mask, which takes as long as a cache miss.
    if prefix.is_empty() || key.starts_with(prefix) {
        return eight(key, prefix.len());
    }
    if key < prefix { 0 } else { u64::MAX }
}

/// Eight bytes of a key behind the first `skip`.
#[inline]
pub(super) fn eight(key: &[u8], skip: usize) -> u64 {
    match key.len().checked_sub(8) {
        // One load for every skip. What comes behind the end of the key is zeros.
        Some(last) => {
            let at = skip.min(last);
            let eight = first_eight(key.get(at..).unwrap_or_default());
            eight.checked_shl(8 * (skip - at) as u32).unwrap_or(0)
        }
        None => first_eight(key.get(skip..).unwrap_or_default()),
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

    #[test]
    fn heads_do_not_contradict_the_order_of_keys() {
        for prefix in [&b""[..], b"pr", b"prefix", b"zz"] {
            let heads: Vec<u64> = keys().iter().map(|key| head(prefix, key)).collect();
            assert!(heads.is_sorted());
            for key in keys() {
                let target = Target::new(prefix, &key, MAX_SEQUENCE);
                assert_eq!(target.head_behind(prefix.len()), head(prefix, &key));
                assert_eq!(
                    target.head_behind(prefix.len() + 1),
                    eight(&key, prefix.len() + 1)
                );
            }
        }
    }

    #[test]
    fn a_head_is_eight_bytes_behind_those_it_leaves_out() {
        let key: Vec<u8> = (1..=40).collect();
        for len in 0..=key.len() {
            for skip in 0..50 {
                let byte = |i: usize| key[..len].get(i).copied().unwrap_or(0);
                let expected = (skip..skip + 8).fold(0, |eight, i| eight << 8 | u64::from(byte(i)));
                assert_eq!(eight(&key[..len], skip), expected, "{len} {skip}");
            }
        }
    }
}
