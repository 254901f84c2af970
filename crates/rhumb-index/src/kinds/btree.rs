//! A B+-tree, the yardstick of the updatable kinds: Bayer and McCreight, "Organization and Maintenance of
//! Large Ordered Indices" (Acta Informatica, 1972), with all entries in the leaves (Comer, "The Ubiquitous
//! B-Tree", Computing Surveys, 1979). The published comparisons use one of nodes of 256 bytes (stx).
//!
//! Alone in memory it keeps integers or strings of bytes. A leaf has 16 keys and their values, 256 bytes
//! for integers; an inner node 32 children, each with a key that is not below any of its own and below all
//! of the next one's. Integers are searched by counting those below the one looked for, side by side and
//! without a branch; of strings eight bytes each are, from where the keys of the node begin to differ.
//! Strings are compared as a whole where these are alike.
//!
//! With n keys a look-up, a lower bound, an insert and a remove take O(log n) nodes; inserts move at most
//! 16 entries in a leaf. Ranges go on from leaf to leaf by way of the nodes above, so that leaves need no
//! links.
//!
//! Bulk loading fills every leaf. A full leaf is split in halves; but the last one, if the key belongs
//! behind all others, stays full and the key starts a leaf of its own, and so with the first one and a key
//! before all others: keys that come in order leave full leaves. A node that is left with less than a
//! quarter takes from a neighbour or is merged with it: depth stays within log_8. The tree is built anew
//! when its leaves, unused ones too, have four times as many places as there are keys, and 256: that takes
//! constant time a remove on average, and memory stays within four times of what full leaves need. Room for
//! nodes to come, a MiB at most or as much as there is, is beside that. What parts two leaves of strings
//! is not much longer than what parts the keys that are left in them.
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
    about: "B+-tree of cache-conscious nodes, the yardstick of the updatable kinds",
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

/// Keys of a leaf.
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
    /// For each child the largest key that belongs there; a pad for the last child of all.
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

/// The tree alone in memory.
#[derive(Debug)]
struct BTree<K: Stored + ?Sized> {
    leaves: Arena<Leaf<K>>,
    inners: Arena<Inner<K>>,
    /// A leaf if there are no inner levels, or else an inner node with two children at least.
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
    /// Visits what is in and below a node so many levels above the leaves.
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
            // No key is above the last bound, so that the cut does nothing.
            let slot = inner.bounds.below_by(count, key).min(FAN_OUT - 1);
            node = inner.children[slot];
        }
        let leaf = tree.leaves.node(node);
        // Values come from memory together with keys.
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
        // Whether it came to the end or was broken off is the visitor's to know.
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

/// Moves entries over between two neighbours of so many, until the left one has `left_len`. Places
/// without entries, which are behind all others, are all alike and stay so.
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
