//! The type of the values that reads return.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use crate::memory::Pinned;

/// A value, lying where it was found, in a block or in the write buffer: it is not copied.
///
/// It can be held as long as its [`Keyspace`](crate::Keyspace) handle, and stays as it is, whatever
/// happens to its key and its store meanwhile: other writes, compaction, the drop of the keyspace,
/// [`Db::close`](crate::Db::close). But the memory it lies in cannot be used for anything else. So
/// values held for long are better copied, with `to_vec` (of `[u8]`). Those held keep:
///
/// - of blocks in the cache, these blocks, and so no more than the cache. But pinned blocks leave less
///   of the cache to others, and where all of it is pinned, other blocks are read again for each get.
/// - of blocks that are not in the cache, at most twice the bytes of the values, and some 100
///   bytes each. A value that takes less than half of what was read with it is copied in this case.
/// - of the write buffer, chunks of its memory. Values that were written one after the other share a
///   chunk of up to 256 KiB, those above 64 KiB have one of their own. It is freed when all that is held
///   of it, and the buffer, are gone.
///
/// [`CacheStats`](crate::CacheStats) counts the first as `pinned_bytes` and the second as
/// `bypassed_bytes`.
#[derive(Clone)]
pub struct Value<'db> {
    pinned: Pinned,
    store: PhantomData<&'db ()>,
}

impl Value<'_> {
    pub(crate) fn new(pinned: Pinned) -> Self {
        Value {
            pinned: pinned.handed_out(),
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
