//! Insertion and removal.

use std::ops::ControlFlow;

use super::keys::Stored;
use super::load::load;
use super::{BTree, FAN_OUT, LEAF, level_out};
use crate::search::prefetch;
use crate::updatable::Existing;

/// A node that uses less than one in this many of its places takes entries from a neighbour.
/// Neighbours are merged if that leaves as much free in the merged node, so that a node can take or
/// lose many entries between two such changes.
const PART: usize = 4;

/// The places of leaves, unused leaves included, beyond [`PART`] for each key, at which the tree is
/// rebuilt. The leaves in use never reach that: all but the outermost are at least one [`PART`]th
/// full.
const SPARE: usize = 256;

/// An insertion on its way down.
struct Descent<'k, K: ?Sized> {
    key: &'k K,
    value: u64,
    existing: Existing,
    /// Whether the path so far leads to the first child of every node, or to the last.
    is_first: bool,
    is_last: bool,
}

/// A node that has been split in two.
struct Split<K: Stored + ?Sized> {
    /// The bound of the left half.
    bound: K::Owned,
    right: u32,
}

/// A removed entry.
struct Removed {
    value: u64,
    /// Whether it was the first or the last entry of its leaf.
    was_outermost: bool,
}

/// The number of entries that the left half keeps when a full node is split.
fn cut(places: usize, at_last: Option<usize>, at_first: Option<usize>) -> usize {
    at_last.or(at_first).unwrap_or(places / 2)
}

impl<K: Stored + ?Sized> BTree<K> {
    pub(super) fn put_entry(&mut self, key: &K, value: u64, existing: Existing) -> Option<u64> {
        let descent = Descent {
            key,
            value,
            existing,
            is_first: true,
            is_last: true,
        };
        let (had, split) = self.put_below(self.root, self.inner_levels, descent);
        if let Some(split) = split {
            let old = self.root;
            self.root = self.inners.add();
            self.inner_levels += 1;
            let root = self.inners.node_mut(self.root);
            root.bounds.set(0, Some(K::borrowed(&split.bound)));
            root.children[0] = old;
            root.children[1] = split.right;
            self.inners.set_len(self.root, 2);
        }
        self.len += usize::from(had.is_none());
        had
    }

    fn put_below(
        &mut self,
        node: u32,
        levels: usize,
        mut descent: Descent<'_, K>,
    ) -> (Option<u64>, Option<Split<K>>) {
        if levels == 0 {
            return self.put_in_leaf(node, descent);
        }
        let inner = self.inners.node(node);
        let slot = inner.bounds.below(descent.key);
        let (was_first, was_last) = (descent.is_first, descent.is_last);
        descent.is_first &= slot == 0;
        descent.is_last &= inner.bounds.is_pad(slot);
        let child = inner.children[slot];
        let (had, split) = self.put_below(child, levels - 1, descent);
        let Some(split) = split else {
            return (had, None);
        };
        self.skip_more(node, slot, levels, &split);
        let len = self.inners.len(node);
        if len < FAN_OUT {
            self.add_child(node, slot, split);
            return (had, None);
        }
        let at_last = (was_last && slot == FAN_OUT - 1).then_some(FAN_OUT - 1);
        let at_first = (was_first && slot == 0).then_some(1);
        let cut = cut(FAN_OUT, at_last, at_first);
        let right = self.inners.add();
        let skip = self.inners.node(node).bounds.skip();
        self.inners.node_mut(right).bounds.skip_more(skip, 0);
        self.level_inners(node, right, cut);
        match slot.checked_sub(cut) {
            None => self.add_child(node, slot, split),
            Some(slot) => self.add_child(right, slot, split),
        }
        let last = self.inners.len(node) - 1;
        let bound = self.inners.node(node).bounds.key(last).to_key();
        (had, Some(Split { bound, right }))
    }

    fn put_in_leaf(&mut self, id: u32, descent: Descent<'_, K>) -> (Option<u64>, Option<Split<K>>) {
        let Descent { key, value, .. } = descent;
        let len = self.leaves.len(id);
        let leaf = self.leaves.node_mut(id);
        // Values move with the keys.
        prefetch(&leaf.values, 0..LEAF);
        let at = leaf.keys.below(key);
        if at < len && leaf.keys.looks_like(at, key) {
            let had = leaf.values[at];
            if descent.existing == Existing::Replace {
                leaf.values[at] = value;
            }
            return (Some(had), None);
        }
        if len < LEAF {
            self.add_entry(id, at, key, value);
            return (None, None);
        }
        let at_last = (descent.is_last && at == LEAF).then_some(LEAF);
        let at_first = (descent.is_first && at == 0).then_some(0);
        let cut = cut(LEAF, at_last, at_first);
        let skip = leaf.keys.skip();
        let right = self.leaves.add();
        self.leaves.node_mut(right).keys.skip_more(skip, 0);
        self.level_leaves(id, right, cut);
        match at.checked_sub(cut) {
            Some(at) if at > 0 || cut == LEAF => self.add_entry(right, at, key, value),
            _ => self.add_entry(id, at, key, value),
        }
        let bound = self.bound_between(id, right);
        (None, Some(Split { bound, right }))
    }

    /// Stores an entry at an index of a leaf that has room.
    fn add_entry(&mut self, id: u32, at: usize, key: &K, value: u64) {
        let len = self.leaves.len(id);
        let leaf = self.leaves.node_mut(id);
        leaf.keys.insert(at, len, Some(key));
        leaf.values.copy_within(at..len, at + 1);
        leaf.values[at] = value;
        self.leaves.set_len(id, len + 1);
    }

    /// Adds the right half of a child that was split to an inner node that has room.
    fn add_child(&mut self, id: u32, slot: usize, split: Split<K>) {
        let len = self.inners.len(id);
        let inner = self.inners.node_mut(id);
        // The old bound is now that of the right half.
        inner
            .bounds
            .insert(slot, len, Some(K::borrowed(&split.bound)));
        inner.children.copy_within(slot + 1..len, slot + 2);
        inner.children[slot + 1] = split.right;
        self.inners.set_len(id, len + 1);
    }

    /// A bound for the left of two leaves that have keys.
    pub(super) fn bound_between(&self, left: u32, right: u32) -> K::Owned {
        let last = self.leaves.node(left).keys.key(self.leaves.len(left) - 1);
        K::between(last, self.leaves.node(right).keys.key(0))
    }

    /// Lengthens the prefix skipped by the heads in both halves of a child as far as the new bound
    /// allows. The right half is not yet a child of the node.
    fn skip_more(&mut self, node: u32, slot: usize, levels: usize, split: &Split<K>) {
        let inner = self.inners.node(node);
        let middle = K::borrowed(&split.bound);
        let left = match slot.checked_sub(1) {
            Some(before) => K::shared(inner.bounds.key(before), middle),
            None => inner.bounds.skip(),
        };
        let right = match inner.bounds.is_pad(slot) {
            false => K::shared(middle, inner.bounds.key(slot)),
            true => inner.bounds.skip(),
        };
        for (id, skip) in [(inner.children[slot], left), (split.right, right)] {
            if levels == 1 {
                let len = self.leaves.len(id);
                self.leaves.node_mut(id).keys.skip_more(skip, len);
            } else {
                let len = self.inners.len(id);
                self.inners.node_mut(id).bounds.skip_more(skip, len);
            }
        }
    }

    /// Moves entries between neighbouring leaves until the left one has `left_len`.
    fn level_leaves(&mut self, left: u32, right: u32, left_len: usize) {
        let lens = [self.leaves.len(left), self.leaves.len(right)];
        if let Some([a, b]) = self.leaves.two_mut(left, right) {
            a.keys.level_out(lens, &mut b.keys, left_len);
            level_out(&mut a.values, &mut b.values, lens, left_len);
            self.leaves.set_len(left, left_len);
            self.leaves.set_len(right, lens[0] + lens[1] - left_len);
        }
    }

    /// As [`BTree::level_leaves`] for children of neighbouring inner nodes.
    fn level_inners(&mut self, left: u32, right: u32, left_len: usize) {
        let lens = [self.inners.len(left), self.inners.len(right)];
        if let Some([a, b]) = self.inners.two_mut(left, right) {
            a.bounds.level_out(lens, &mut b.bounds, left_len);
            level_out(&mut a.children, &mut b.children, lens, left_len);
            self.inners.set_len(left, left_len);
            self.inners.set_len(right, lens[0] + lens[1] - left_len);
        }
    }

    pub(super) fn remove_entry(&mut self, key: &K) -> Option<u64> {
        let removed = self.remove_below(self.root, self.inner_levels, key)?;
        self.len -= 1;
        while self.inner_levels > 0 && self.inners.len(self.root) == 1 {
            let child = self.inners.node(self.root).children[0];
            self.inners.free(self.root);
            self.root = child;
            self.inner_levels -= 1;
        }
        if self.leaves.count() * LEAF > self.len * PART + SPARE {
            self.build_anew();
        } else if removed.was_outermost {
            self.shorten_bound_at(key);
        }
        Some(removed.value)
    }

    /// Rebuilds the tree with full leaves and frees unused memory.
    fn build_anew(&mut self) {
        let mut entries = Vec::with_capacity(self.len);
        let _ = self.walk_below(self.root, self.inner_levels, None, &mut |key, value| {
            entries.push((key.to_key(), value));
            ControlFlow::Continue(())
        });
        // The entries ascend, so loading cannot fail.
        if let Ok(tree) = load(&entries) {
            *self = tree;
        }
    }

    fn remove_below(&mut self, node: u32, levels: usize, key: &K) -> Option<Removed> {
        if levels == 0 {
            let len = self.leaves.len(node);
            let leaf = self.leaves.node_mut(node);
            let at = leaf.keys.below(key);
            if at >= len || !leaf.keys.looks_like(at, key) {
                return None;
            }
            let removed = Removed {
                value: leaf.values[at],
                was_outermost: at == 0 || at == len - 1,
            };
            leaf.keys.remove(at, len);
            leaf.values.copy_within(at + 1..len, at);
            leaf.values[len - 1] = 0;
            self.leaves.set_len(node, len - 1);
            return Some(removed);
        }
        let inner = self.inners.node(node);
        let slot = inner.bounds.below(key);
        let child = inner.children[slot];
        let removed = self.remove_below(child, levels - 1, key)?;
        let is_thin = match levels {
            1 => self.leaves.len(child) < LEAF / PART,
            _ => self.inners.len(child) < FAN_OUT / PART,
        };
        if is_thin {
            // Fill it from the child before it or, if it is the first, from the one after it; there
            // are at least two.
            self.fill(node, slot.saturating_sub(1), levels);
        }
        Some(removed)
    }

    /// Merges the child in a slot with the next one, or moves entries so that both have equally
    /// many.
    fn fill(&mut self, node: u32, slot: usize, levels: usize) {
        let children = self.inners.node(node).children;
        let (left, right) = (children[slot], children[slot + 1]);
        let (sum, places) = match levels {
            1 => (self.leaves.len(left) + self.leaves.len(right), LEAF),
            _ => (self.inners.len(left) + self.inners.len(right), FAN_OUT),
        };
        let is_merge = sum <= places - places / PART;
        let left_len = if is_merge { sum } else { sum / 2 };
        match levels {
            1 => self.level_leaves(left, right, left_len),
            _ => self.level_inners(left, right, left_len),
        }
        if is_merge {
            match levels {
                1 => self.leaves.free(right),
                _ => self.inners.free(right),
            }
            let len = self.inners.len(node);
            let inner = self.inners.node_mut(node);
            inner.bounds.remove(slot, len);
            inner.children.copy_within(slot + 2..len, slot + 1);
            inner.children[len - 1] = 0;
            self.inners.set_len(node, len - 1);
            return;
        }
        let bound = match levels {
            1 => self.bound_between(left, right),
            _ => self.inners.node(left).bounds.key(left_len - 1).to_key(),
        };
        let inner = self.inners.node_mut(node);
        inner.bounds.set(slot, Some(K::borrowed(&bound)));
    }
}
