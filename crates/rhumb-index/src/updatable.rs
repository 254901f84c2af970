//! Ordered maps in memory that can be changed: the updatable kinds.
//!
//! [`crate::registry::in_memory`] makes them. The same structures, bulk loaded, are the source of
//! the byte forms for tables.

use std::borrow::Borrow;
use std::fmt::Debug;
use std::ops::{Bound, ControlFlow};

use crate::IndexError;

/// A type of keys as it is looked up: `u64`, or `[u8]` for byte strings.
pub trait Key: Ord {
    /// The owned type.
    type Owned: Borrow<Self> + Clone + Debug + Default + Ord + Send + Sync;

    /// Makes an owned key.
    fn to_key(&self) -> Self::Owned;

    /// The key in an owned value.
    fn borrowed(owned: &Self::Owned) -> &Self {
        owned.borrow()
    }

    /// Heap bytes of the owned key.
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

/// What to do if a key is already present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Keep its value.
    Keep,
    /// Replace its value.
    Replace,
}

/// The depth of an index in levels; a single node is one level.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Depth {
    /// Levels on the path to a key, on average over all keys.
    pub mean: f64,
    /// Levels on the path to the deepest key.
    pub max: usize,
}

/// An ordered map in memory from keys to positions (or any other 8 bytes) that can be changed.
///
/// Every key of the type may be stored, including the least and the greatest, in any order and
/// number. Each kind states its costs. [`crate::check::updatable`] compares an index with a
/// `BTreeMap`.
pub trait Updatable<K: Key + ?Sized>: Debug + Send + Sync {
    /// The name of the kind in the registry.
    fn kind(&self) -> &'static str;

    /// How many keys there are.
    fn len(&self) -> usize;

    /// Whether there are no keys.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Replaces all entries by these.
    ///
    /// # Errors
    /// [`IndexError::Unsorted`] if the keys do not ascend; the index is then unchanged.
    fn bulk_load(&mut self, entries: &[(K::Owned, u64)]) -> Result<(), IndexError>;

    /// The value of a key.
    fn get(&self, key: &K) -> Option<u64>;

    /// Stores a key, or treats a present key as `existing` tells. Returns the old value, if any.
    fn put(&mut self, key: &K, value: u64, existing: Existing) -> Option<u64>;

    /// Removes a key. Returns its value, if it was present.
    fn remove(&mut self, key: &K) -> Option<u64>;

    /// Visits entries in ascending order, from the first whose key is not below `from`, until the
    /// visitor breaks.
    fn walk(&self, from: &K, visit: &mut dyn FnMut(&K, u64) -> ControlFlow<()>);

    /// The depth. Visits the whole index.
    fn depth(&self) -> Depth;

    /// The whole memory footprint in bytes, including unused capacity. May visit the whole index.
    fn size_in_bytes(&self) -> usize;

    /// Stores a key if it is absent. Returns false, and changes nothing, if it is present.
    fn insert(&mut self, key: &K, value: u64) -> bool {
        self.put(key, value, Existing::Keep).is_none()
    }

    /// Stores a key, replacing its value if it is present. Returns the old value, if any.
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

    /// The entries from `from` up to the end of the range, in ascending order.
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

/// Fails unless the keys ascend.
///
/// # Errors
/// [`IndexError::Unsorted`] with the rank of the first key that does not ascend.
pub(crate) fn ascending<K: Ord>(entries: &[(K, u64)]) -> Result<(), IndexError> {
    let mut pairs = entries.iter().zip(entries.iter().skip(1));
    match pairs.position(|(before, entry)| before.0 >= entry.0) {
        Some(at) => Err(IndexError::Unsorted {
            rank: at as u64 + 1,
        }),
        None => Ok(()),
    }
}
