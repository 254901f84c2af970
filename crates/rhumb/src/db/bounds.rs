//! The bounds of ranges of keys.

use std::borrow::Cow;
use std::ops::Bound;

use crate::entry::{MAX_KEY_BYTES, successor};

/// The bound with a key of its own.
pub(super) fn owned<K: AsRef<[u8]>>(bound: Bound<&K>) -> Bound<Vec<u8>> {
    bound.map(|key| key.as_ref().to_vec())
}

/// The end of the range of keys that start with `prefix`.
pub(super) fn behind_prefix(prefix: &[u8]) -> Bound<Vec<u8>> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.last_mut() {
        if *last < u8::MAX {
            *last += 1;
            return Bound::Excluded(end);
        }
        end.pop();
    }
    Bound::Unbounded
}

/// The smallest key that a range with this start may hold; `None` if there is none, because the start
/// is behind the largest key.
pub(super) fn first_key(start: Bound<&[u8]>) -> Option<Cow<'_, [u8]>> {
    match start {
        Bound::Unbounded => Some(Cow::Borrowed(&[])),
        Bound::Included(key) => Some(Cow::Borrowed(key)),
        Bound::Excluded(key) => next_key(key).map(Cow::Owned),
    }
}

/// The smallest key behind a range with this end; `None` if there is none, because the range reaches the
/// largest key.
pub(super) fn end_key(end: Bound<&[u8]>) -> Option<Cow<'_, [u8]>> {
    match end {
        Bound::Unbounded => None,
        Bound::Excluded(key) => Some(Cow::Borrowed(key)),
        Bound::Included(key) => next_key(key).map(Cow::Owned),
    }
}

/// The smallest key above `key`; `None` for the largest key.
fn next_key(key: &[u8]) -> Option<Vec<u8>> {
    if key.len() < MAX_KEY_BYTES {
        return Some(successor(key));
    }
    // No key is longer, so the next one is the first that does not start with this one.
    match behind_prefix(key) {
        Bound::Excluded(next) => Some(next),
        Bound::Included(_) | Bound::Unbounded => None,
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::entry::LARGEST_KEY;

    #[test]
    fn the_next_key_is_the_smallest_above() {
        assert_eq!(next_key(b"").as_deref(), Some(&b"\0"[..]));
        assert_eq!(next_key(b"a\xFF").as_deref(), Some(&b"a\xFF\0"[..]));
        let mut longest = vec![7; MAX_KEY_BYTES];
        longest[MAX_KEY_BYTES - 1] = u8::MAX;
        let mut next = vec![7; MAX_KEY_BYTES - 1];
        next[MAX_KEY_BYTES - 2] = 8;
        assert_eq!(next_key(&longest), Some(next));
        assert_eq!(next_key(LARGEST_KEY), None);
    }

    #[test]
    fn bounds_become_the_keys_that_part_them() {
        let key = &b"k"[..];
        let borrowed = |key: Option<Cow<'_, [u8]>>| key.map(Cow::into_owned);
        let first = |bound| borrowed(first_key(bound));
        let end = |bound| borrowed(end_key(bound));
        assert_eq!(first(Bound::Unbounded), Some(Vec::new()));
        assert_eq!(first(Bound::Included(key)), Some(b"k".to_vec()));
        assert_eq!(first(Bound::Excluded(key)), Some(b"k\0".to_vec()));
        assert_eq!(first(Bound::Excluded(LARGEST_KEY)), None);
        assert_eq!(end(Bound::Unbounded), None);
        assert_eq!(end(Bound::Excluded(key)), Some(b"k".to_vec()));
        assert_eq!(end(Bound::Included(key)), Some(b"k\0".to_vec()));
        assert_eq!(end(Bound::Included(LARGEST_KEY)), None);
    }
}
