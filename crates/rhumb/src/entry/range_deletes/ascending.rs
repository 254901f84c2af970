//! The range deletes over ascending keys.

use super::{Fragment, RangeDeletes};

/// The range deletes over keys that are asked for in ascending order: n keys and m fragments take O(n + m).
pub(crate) struct Ascending<'a> {
    /// The fragments that do not end before the last key asked for.
    fragments: &'a [Fragment],
}

impl<'a> Ascending<'a> {
    pub fn new(range_deletes: &'a RangeDeletes) -> Self {
        Ascending {
            fragments: range_deletes.fragments(),
        }
    }

    /// The range deletes over `key`.
    pub fn over(&mut self, key: &[u8]) -> Option<&'a Fragment> {
        while let Some((first, rest)) = self.fragments.split_first() {
            if &*first.end > key {
                return Some(first).filter(|first| &*first.start <= key);
            }
            self.fragments = rest;
        }
        None
    }
}
