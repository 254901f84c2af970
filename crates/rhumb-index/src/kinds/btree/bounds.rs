//! Shortening of string bounds whose neighbouring keys are gone.
//!
//! A new bound is about as long as the common prefix of its neighbours, and may stay when both are
//! removed. It is stored above the two leaves that it separates, and again in each node down to the
//! left leaf, as the bound of that node's last child.

use super::BTree;
use super::keys::Stored;

/// Bounds of at most this many bytes are not shortened: that would not be worth reading both
/// leaves.
const SHORT: usize = 32;

/// The bound of a child of an inner node, not the last child, and the level of the node above the
/// leaves.
#[derive(Clone, Copy)]
struct ChildBound {
    node: u32,
    slot: usize,
    levels: usize,
}

impl<K: Stored + ?Sized> BTree<K> {
    /// Shortens the bound next to a removed key, if there is one.
    pub(super) fn shorten_bound_at(&mut self, key: &K) {
        if size_of::<K::Rest>() == 0 {
            return;
        }
        // The bounds of the leaf, each from the lowest node that has another child on that side.
        let (mut before, mut behind) = (None, None);
        let mut node = self.root;
        for levels in (1..=self.inner_levels).rev() {
            let inner = self.inners.node(node);
            let slot = inner.bounds.below(key);
            let place = |slot| Some(ChildBound { node, slot, levels });
            if let Some(left) = slot.checked_sub(1) {
                before = place(left);
            }
            if slot + 1 < self.inners.len(node) {
                behind = place(slot);
            }
            node = inner.children[slot];
        }
        let at = self.leaves.node(node).keys.below(key);
        if at == 0 {
            before.into_iter().for_each(|bound| self.shorten(bound));
        } else if at == self.leaves.len(node) {
            behind.into_iter().for_each(|bound| self.shorten(bound));
        }
    }

    fn shorten(&mut self, place: ChildBound) {
        let ChildBound { node, slot, levels } = place;
        let inner = self.inners.node(node);
        let len = inner.bounds.key(slot).heap_bytes();
        if len <= SHORT {
            return;
        }
        let below = [inner.children[slot], inner.children[slot + 1]];
        let [left, right] = [true, false].map(|is_left| self.edge(below, levels, is_left));
        let bound = self.bound_between(left, right);
        let bound = K::borrowed(&bound);
        if bound.heap_bytes() >= len {
            return;
        }
        self.inners.node_mut(node).bounds.set(slot, Some(bound));
        // Keys between the new and the old bound now belong to the other side, whose nodes may only
        // skip a prefix of these keys too: the shorter of the prefixes that both leaves share with
        // the old bound.
        let skips = [right, left].map(|leaf| self.leaves.node(leaf).keys.skip());
        for (mut node, skip, is_left) in [(below[0], skips[0], true), (below[1], skips[1], false)] {
            for _ in 1..levels {
                let len = self.inners.len(node);
                let inner = self.inners.node_mut(node);
                inner.bounds.skip_less(skip, len);
                if is_left {
                    inner.bounds.set(len - 1, Some(bound));
                }
                node = inner.children[if is_left { len - 1 } else { 0 }];
            }
            let len = self.leaves.len(node);
            self.leaves.node_mut(node).keys.skip_less(skip, len);
        }
    }

    /// The last leaf below the left of two children of a node at this level, or the first leaf
    /// below the right one.
    fn edge(&self, [left, right]: [u32; 2], levels: usize, is_left: bool) -> u32 {
        let mut node = if is_left { left } else { right };
        for _ in 1..levels {
            let last = self.inners.len(node) - 1;
            node = self.inners.node(node).children[if is_left { last } else { 0 }];
        }
        node
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;
    use crate::check::SplitMix64;
    use std::collections::BTreeSet;

    /// Keys that differ only after many bytes separate leaves and are then removed.
    #[test]
    fn bounds_do_not_outlive_long_keys() {
        const LONG: usize = 4096;
        for by_load in [false, true] {
            // A number of keys for which full leaves end between two long ones.
            let mut keys: BTreeSet<Vec<u8>> = (0..7).map(|i| vec![i]).collect();
            let mut long = Vec::new();
            for group in 0..500 {
                for i in 0..6 {
                    keys.insert(format!("{group:05}M{i}").into_bytes());
                }
                for end in ["a", "b"] {
                    let name = [format!("{group:05}"), "L".repeat(LONG), end.into()].concat();
                    long.push(name.clone().into_bytes());
                    keys.insert(name.into_bytes());
                }
            }
            let mut tree = BTree::<[u8]>::default();
            let entries: Vec<_> = keys.iter().map(|key| (key.as_slice().into(), 5)).collect();
            match by_load {
                true => tree = super::super::load::load(&entries).unwrap(),
                false => entries.iter().for_each(|(key, value)| {
                    tree.put_entry(key, *value, crate::updatable::Existing::Keep);
                }),
            }
            for key in &long {
                assert_eq!(tree.remove_entry(key), Some(5));
                keys.remove(key);
            }
            check(&tree);
            let inners = tree.inners.nodes();
            let texts: usize = inners.map(|inner| inner.bounds.heap_bytes()).sum();
            // A few bounds may stay that were not next to removed keys.
            assert!(texts < 20 * LONG, "{texts}");
        }
    }

    /// Every key is still found when bounds move up and down and between levels.
    #[test]
    fn keys_are_found_beside_bounds_that_move() {
        let mut random = SplitMix64::new(12);
        for round in 0..30 {
            let (mut tree, mut keys) = (BTree::<[u8]>::default(), BTreeSet::new());
            for step in 0..6000 {
                // Long strings of few symbols, many of which share dozens of bytes.
                let mut key = Vec::new();
                for _ in 0..2 {
                    key.extend(vec![b'k'; 40 * random.below(3) as usize]);
                    let len = 1 + random.below(6) as usize;
                    key.extend(random.bytes(len, 3));
                }
                let removes = if step % 2000 < 1000 { 1 } else { 3 };
                if random.below(4) >= removes {
                    let is_new = keys.insert(key.clone());
                    let had = tree.put_entry(&key, 1, crate::updatable::Existing::Keep);
                    assert_eq!(had.is_none(), is_new);
                } else if let Some(key) = keys.range(key..).next().cloned() {
                    keys.remove(&key);
                    assert_eq!(tree.remove_entry(&key), Some(1));
                }
                if step % 500 == 499 {
                    check(&tree);
                    let get = |key: &Vec<u8>| crate::updatable::Updatable::get(&tree, key);
                    assert!(keys.iter().all(|key| get(key).is_some()), "{round} {step}");
                }
            }
        }
    }
}
