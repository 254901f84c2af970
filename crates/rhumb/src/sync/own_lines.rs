//! A value that shares no cache line with others.

use std::ops::{Deref, DerefMut};

use super::Lock;

/// A value in cache lines of its own: changing it does not take from other threads' caches what lies beside it.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct OwnLines<T>(pub T);

impl<T> Deref for OwnLines<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for OwnLines<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<L: Lock> Lock for OwnLines<L> {
    type Guard<'a>
        = L::Guard<'a>
    where
        L: 'a;

    #[track_caller]
    fn acquire(&self) -> L::Guard<'_> {
        self.0.acquire()
    }
}
