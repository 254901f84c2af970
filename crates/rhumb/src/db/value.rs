//! The type of the values that reads return.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use crate::memory::Pinned;

/// A value, lying where it was found: in a block or in the write buffer. It keeps that memory from
/// being reused, so hold it briefly, or take a copy with [`Value::to_vec`] (from `[u8]`).
#[derive(Clone)]
pub struct Value<'db> {
    pinned: Pinned,
    store: PhantomData<&'db ()>,
}

impl Value<'_> {
    pub(crate) fn new(pinned: Pinned) -> Self {
        Value {
            pinned,
            store: PhantomData,
        }
    }
}

impl Deref for Value<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.pinned
    }
}

impl AsRef<[u8]> for Value<'_> {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for Value<'_> {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
