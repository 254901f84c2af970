//! A B+-tree, the baseline for the updatable kinds: Bayer and McCreight, "Organization and
//! Maintenance of Large Ordered Indices" (Acta Informatica, 1972), with all entries in the leaves
//! (Comer, "The Ubiquitous B-Tree", Computing Surveys, 1979). The published comparisons use one
//! with nodes of 256 bytes (stx).
//!
//! In memory the keys are integers or byte strings. A leaf has 16 keys and their values, 256 bytes
//! for integers; an inner node has 32 children, each with a bound: a key that is not below any key
//! of the child and below all keys of the next. A search in a node counts the integers below the
//! one sought, with SIMD and without a branch. For strings it counts eight-byte heads, taken after
//! the prefix that all keys of the node share; strings with equal heads are compared in full.
//!
//! With n keys a look-up, a lower bound, an insert and a remove take O(log n) nodes; an insert
//! moves at most 16 entries in a leaf. Range scans move from leaf to leaf through the nodes above,
//! so leaves need no links.
//!
//! Bulk loading fills every leaf. A full leaf is split in halves, with two exceptions for keys that
//! arrive in order: if the key belongs after all others, the last leaf stays full and the key
//! starts a leaf of its own, and likewise for a key before all others. A node that is left with
//! less than a quarter of its entries takes some from a neighbour or is merged with it, so depth
//! stays within log_8. The tree is rebuilt when its leaves, unused ones included, have more than
//! 256 places plus four for each key. This takes constant time a remove on average and keeps memory
//! within four times of what full leaves need. Room for future nodes comes on top: at most 1 MiB or
//! as much as is used. The bound between two leaves of strings is not much longer than the keys
//! left in them require.
//!
//! In a table it is a static tree without pointers; see [`table`].

mod arena;
mod bounds;
mod change;
mod keys;
mod load;
mod table;

use std::ops::ControlFlow;

use arena::Arena;
use keys::{Keys, Stored};

use super::shared::exact::{ExactBuilder, ExactIndex};
use super::shared::knobs::BOUNDARY;
use crate::IndexError;
use crate::kind::{Answers, Kind};
use crate::search::{Count, Counting, counting, prefetch};
use crate::updatable::{Depth, Existing, Updatable};
use table::Table;

pub(crate) const KIND: Kind = Kind {
    name: "btree",
    id: 15,
    about: "B+-tree of cache-conscious nodes, the baseline for the updatable kinds",
    knobs: &[BOUNDARY],
    needs_number: true,
    answers: Answers::Exact,
    version: 1,
    in_memory: (
        Some(|_| Box::new(BTree::<u64>::default())),
        Some(|_| Box::new(BTree::<[u8]>::default())),
    ),
    builder: |settings| Box::new(ExactBuilder::<Table>::new(settings)),
    open: |bytes| Ok(Box::new(ExactIndex::<Table>::open(bytes)?)),
};

/// Entries of a leaf.
const LEAF: usize = 16;
/// Children of an inner node.
const FAN_OUT: usize = 32;

#[derive(Debug)]
#[repr(C)]
struct Leaf<K: Stored + ?Sized> {
    keys: Keys<K, LEAF>,
    values: [u64; LEAF],
}

impl<K: Stored + ?Sized> Default for Leaf<K> {
    fn default() -> Self {
        Leaf {
            keys: Keys::default(),
            values: [0; LEAF],
        }
    }
}

#[derive(Debug)]
#[repr(C)]
struct Inner<K: Stored + ?Sized> {
    /// For each child the largest key that may be stored there; a pad for the last child of the
    /// level.
    bounds: Keys<K, FAN_OUT>,
    children: [u32; FAN_OUT],
}

impl<K: Stored + ?Sized> Default for Inner<K> {
    fn default() -> Self {
        Inner {
            bounds: Keys::default(),
            children: [0; FAN_OUT],
        }
    }
}

/// The tree in memory.
#[derive(Debug)]
struct BTree<K: Stored + ?Sized> {
    leaves: Arena<Leaf<K>>,
    inners: Arena<Inner<K>>,
    /// A leaf if there are no inner levels; otherwise an inner node with at least two children.
    root: u32,
    inner_levels: usize,
    len: usize,
}

impl<K: Stored + ?Sized> Default for BTree<K> {
    fn default() -> Self {
        let mut leaves = Arena::default();
        let root = leaves.add();
        BTree {
            leaves,
            inners: Arena::default(),
            root,
            inner_levels: 0,
            len: 0,
        }
    }
}

impl<K: Stored + ?Sized> BTree<K> {
    /// Visits the entries below a node that is `levels` levels above the leaves.
    fn walk_below(
        &self,
        node: u32,
        levels: usize,
        from: Option<&K>,
        visit: &mut dyn FnMut(&K, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if levels == 0 {
            let leaf = self.leaves.node(node);
            let first = from.map_or(0, |from| leaf.keys.below(from));
            for at in first..self.leaves.len(node) {
                visit(leaf.keys.key(at), leaf.values[at])?;
            }
            return ControlFlow::Continue(());
        }
        let inner = self.inners.node(node);
        let first = from.map_or(0, |from| inner.bounds.below(from));
        for slot in first..self.inners.len(node) {
            if levels == 1 && slot + 1 < self.inners.len(node) {
                let next = self.leaves.node(inner.children[slot + 1]);
                prefetch(std::slice::from_ref(next), 0..1);
            }
            let from = from.filter(|_| slot == first);
            self.walk_below(inner.children[slot], levels - 1, from, visit)?;
        }
        ControlFlow::Continue(())
    }
}

/// A look-up.
struct Get<'a, K: Stored + ?Sized> {
    tree: &'a BTree<K>,
    key: &'a K,
}

impl<K: Stored + ?Sized> Counting for Get<'_, K> {
    type Answer = Option<u64>;

    #[inline(always)]
    fn by<C: Count>(self, count: C) -> Option<u64> {
        let Get { tree, key } = self;
        let mut node = tree.root;
        for _ in 0..tree.inner_levels {
            let inner = tree.inners.node(node);
            // No key is above the last bound, so the clamp has no effect; it spares a bounds check.
            let slot = inner.bounds.below_by(count, key).min(FAN_OUT - 1);
            node = inner.children[slot];
        }
        let leaf = tree.leaves.node(node);
        // Fetches the values while the keys are searched.
        prefetch(&leaf.values, 0..LEAF);
        let at = leaf.keys.below_by(count, key);
        let is_there = leaf.keys.looks_like(at, key)
            && (!leaf.keys.is_like_pads(key) || at < tree.leaves.len(node));
        is_there.then(|| leaf.values[at])
    }
}

impl<K: Stored + ?Sized> Updatable<K> for BTree<K> {
    fn kind(&self) -> &'static str {
        KIND.name
    }

    fn len(&self) -> usize {
        self.len
    }

    fn bulk_load(&mut self, entries: &[(K::Owned, u64)]) -> Result<(), IndexError> {
        *self = load::load(entries)?;
        Ok(())
    }

    fn get(&self, key: &K) -> Option<u64> {
        counting(Get { tree: self, key })
    }

    fn put(&mut self, key: &K, value: u64, existing: Existing) -> Option<u64> {
        self.put_entry(key, value, existing)
    }

    fn remove(&mut self, key: &K) -> Option<u64> {
        self.remove_entry(key)
    }

    fn walk(&self, from: &K, visit: &mut dyn FnMut(&K, u64) -> ControlFlow<()>) {
        // The visitor knows whether it broke off; ignore the result.
        let _ = self.walk_below(self.root, self.inner_levels, Some(from), visit);
    }

    fn depth(&self) -> Depth {
        let levels = self.inner_levels + 1;
        Depth {
            mean: levels as f64,
            max: levels,
        }
    }

    fn size_in_bytes(&self) -> usize {
        let mut texts = 0;
        if size_of::<K::Rest>() > 0 {
            let leaves = self.leaves.nodes().map(|leaf| leaf.keys.heap_bytes());
            let inners = self.inners.nodes().map(|inner| inner.bounds.heap_bytes());
            texts = leaves.chain(inners).sum();
        }
        size_of::<Self>() + self.leaves.size_in_bytes() + self.inners.size_in_bytes() + texts
    }
}

/// Moves entries between two neighbouring nodes with these numbers of entries until the left one
/// has `left_len`. Unused places, which come last, all hold the same value and still do afterwards.
fn level_out<T>(left: &mut [T], right: &mut [T], lens: [usize; 2], left_len: usize) {
    let [had_left, had_right] = lens;
    if left_len < had_left {
        let moved = had_left - left_len;
        right[..had_right + moved].rotate_right(moved);
        left[left_len..had_left].swap_with_slice(&mut right[..moved]);
    } else {
        let moved = left_len - had_left;
        left[had_left..left_len].swap_with_slice(&mut right[..moved]);
        right[..had_right].rotate_left(moved);
    }
}

#[cfg(test)]
mod tests;
