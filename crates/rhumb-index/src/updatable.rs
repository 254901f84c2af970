//! Ordered maps that stand alone in memory and change in place: the updatable kinds.
//!
//! [`crate::registry::in_memory`] makes them. Their byte forms, for tables, are laid from the same
//! structures, bulk loaded.

use std::borrow::Borrow;
use std::fmt::Debug;
use std::ops::{Bound, ControlFlow};

use crate::IndexError;

/// A type of keys, as they are looked up: `u64`, or `[u8]` for strings of bytes.
pub trait Key: Ord {
    /// The same as a value of its own.
    type Owned: Borrow<Self> + Clone + Debug + Default + Ord + Send + Sync;

    /// Makes a value of its own.
    fn to_key(&self) -> Self::Owned;

    /// What a value of its own stands for.
    fn borrowed(owned: &Self::Owned) -> &Self {
        owned.borrow()
    }

    /// Bytes on the heap that a value of its own takes.
    fn heap_bytes(&self) -> usize;
}

impl Key for u64 {
    type Owned = u64;

    fn to_key(&self) -> u64 {
        *self
    }

    fn heap_bytes(&self) -> usize {
        0
    }
}

impl Key for [u8] {
    type Owned = Box<[u8]>;

    fn to_key(&self) -> Box<[u8]> {
        self.into()
    }

    fn heap_bytes(&self) -> usize {
        self.len()
    }
}

/// What to do with a key that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Leave its value.
    Keep,
    /// Give it the new value.
    Replace,
}

/// How deep an index is; a single node is one level.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Depth {
    /// Levels on the way to a key, on average over all keys.
    pub mean: f64,
    /// Levels on the way to the deepest key.
    pub max: usize,
}

/// An ordered map from keys to positions (or any other 8 bytes), kept in memory, changed in place.
///
/// Every key of the type may be stored, the least and the greatest among them, in any order and any
/// number; costs are stated by each kind. [`crate::check::updatable`] compares one with a `BTreeMap`.
pub trait Updatable<K: Key + ?Sized>: Debug + Send + Sync {
    /// The name under which the registry knows this kind.
    fn kind(&self) -> &'static str;

    /// How many keys there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Replaces all that is there by these entries.
    ///
    /// # Errors
    /// [`IndexError::Unsorted`] if the keys do not ascend; nothing has changed then.
    fn bulk_load(&mut self, entries: &[(K::Owned, u64)]) -> Result<(), IndexError>;

    /// A key's value.
    fn get(&self, key: &K) -> Option<u64>;

    /// Stores a key, or treats one that is there as said. Gives the value that it had.
    fn put(&mut self, key: &K, value: u64, existing: Existing) -> Option<u64>;

    /// Takes a key out. Gives the value that it had.
    fn remove(&mut self, key: &K) -> Option<u64>;

    /// Visits entries in ascending order, from the first whose key is not below `from`, until the
    /// visitor breaks off.
    fn walk(&self, from: &K, visit: &mut dyn FnMut(&K, u64) -> ControlFlow<()>);

    /// Walks over all of it.
    fn depth(&self) -> Depth;

    /// The whole memory footprint in bytes, unused room included. May walk over all of it.
    fn size_in_bytes(&self) -> usize;

    /// Stores a key that is not there. False, and nothing changes, if it is.
    fn insert(&mut self, key: &K, value: u64) -> bool {
        self.put(key, value, Existing::Keep).is_none()
    }

    /// Stores a key whether it is there or not. Gives the value that it had.
    fn upsert(&mut self, key: &K, value: u64) -> Option<u64> {
        self.put(key, value, Existing::Replace)
    }

    /// The first entry whose key is not below this one.
    fn lower_bound(&self, key: &K) -> Option<(K::Owned, u64)> {
        let mut found = None;
        self.walk(key, &mut |key, value| {
            found = Some((key.to_key(), value));
            ControlFlow::Break(())
        });
        found
    }

    /// The entries from `from` on, up to the end of the range, in ascending order.
    fn range(&self, from: &K, to: Bound<&K>) -> Vec<(K::Owned, u64)> {
        let mut entries = Vec::new();
        self.walk(from, &mut |key, value| {
            let is_inside = match to {
                Bound::Included(to) => key <= to,
                Bound::Excluded(to) => key < to,
                Bound::Unbounded => true,
            };
            if !is_inside {
                return ControlFlow::Break(());
            }
            entries.push((key.to_key(), value));
            ControlFlow::Continue(())
        });
        entries
    }
}

/// Fails unless keys ascend.
///
/// # Errors
/// [`IndexError::Unsorted`] with the rank of the first that does not.
pub(crate) fn ascending<K: Ord>(entries: &[(K, u64)]) -> Result<(), IndexError> {
    let mut pairs = entries.iter().zip(entries.iter().skip(1));
    match pairs.position(|(before, entry)| before.0 >= entry.0) {
        Some(at) => Err(IndexError::Unsorted {
            rank: at as u64 + 1,
        }),
        None => Ok(()),
    }
}
