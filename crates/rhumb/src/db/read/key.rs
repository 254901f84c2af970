//! The type of the keys that iterators return.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use crate::entry::copy_words;

/// Keys up to this length are stored inline: an allocation would cost as much as finding the key.
const INLINE_BYTES: usize = 30;

/// A key that an iterator returned, as a byte string. Up to 30 bytes are stored inline.
/// `into` makes a `Vec<u8>` of it, and `to_vec` (of `[u8]`) a copy.
#[derive(Clone)]
pub struct Key(Form);

#[derive(Clone)]
enum Form {
    Inline { len: u8, bytes: [u8; INLINE_BYTES] },
    Boxed(Box<[u8]>),
}

impl From<&[u8]> for Key {
    #[inline]
    fn from(key: &[u8]) -> Self {
        let mut bytes = [0; INLINE_BYTES];
        Key(match bytes.get_mut(..key.len()) {
            Some(start) => {
                if !copy_words(start, key) {
                    start.copy_from_slice(key);
                }
                let len = key.len() as u8;
                Form::Inline { len, bytes }
            }
            None => Form::Boxed(key.into()),
        })
    }
}

impl Deref for Key {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Form::Inline { len, bytes } => bytes.get(..usize::from(*len)).unwrap_or_default(),
            Form::Boxed(bytes) => bytes,
        }
    }
}

impl From<Key> for Vec<u8> {
    fn from(key: Key) -> Self {
        match key.0 {
            Form::Inline { .. } => key.to_vec(),
            Form::Boxed(bytes) => bytes.into_vec(),
        }
    }
}

impl AsRef<[u8]> for Key {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Borrow<[u8]> for Key {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for Key {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn keys_of_any_length_are_their_bytes() {
        for len in [0, 1, 29, 30, 31, 300] {
            let bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let key = Key::from(&bytes[..]);
            assert_eq!(key, bytes);
            assert_eq!(key.cmp(&Key::from(&b"\x01"[..])), bytes[..].cmp(b"\x01"));
            assert_eq!(format!("{key:?}"), format!("{bytes:?}"));
            assert_eq!(Vec::from(key.clone()), bytes);
            assert!(matches!(key.0, Form::Inline { .. }) == (len <= INLINE_BYTES));
        }
        assert_eq!(size_of::<Key>(), 32);
    }
}
