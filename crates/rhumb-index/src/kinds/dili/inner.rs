//! An internal node divides its range into equal parts, one for each child.

use std::ops::ControlFlow;

use super::leaf::Leaf;
use super::top_down;
use super::upkeep::{LEAF_CAP, Upkeep};
use crate::kinds::shared::fixed_line::FixedLine;
use crate::updatable::Existing;

/// A child of an internal node. Leaves are stored inside their parents, so that reading a leaf's
/// line takes no access of its own.
#[derive(Debug)]
pub(super) enum Child {
    Leaf(Leaf),
    Inner(Box<Inner>),
}

/// An internal node.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) line: FixedLine,
    pub(super) children: Vec<Child>,
    pub(super) keys: usize,
    /// How many keys it was built with.
    pub(super) built: usize,
    /// The first and the last key it was built with.
    pub(super) ends: (u64, u64),
}

impl Child {
    pub(super) fn keys(&self) -> usize {
        match self {
            Child::Leaf(leaf) => leaf.keys(),
            Child::Inner(inner) => inner.keys,
        }
    }

    #[inline]
    pub(super) fn get(&self, key: u64) -> Option<u64> {
        let mut child = self;
        loop {
            match child {
                Child::Leaf(leaf) => return leaf.get(key),
                Child::Inner(inner) => child = inner.children.get(inner.slot(key))?,
            }
        }
    }

    /// As [`crate::updatable::Updatable::put`].
    pub(super) fn put(
        &mut self,
        entry: (u64, u64),
        existing: Existing,
        upkeep: Upkeep,
    ) -> Option<u64> {
        let found = match self {
            Child::Leaf(leaf) => leaf.put(entry, existing, upkeep),
            Child::Inner(inner) => inner.put(entry, existing, upkeep),
        };
        if found.is_none() && self.has_outgrown(upkeep) {
            self.rebuild();
        }
        found
    }

    fn has_outgrown(&self, upkeep: Upkeep) -> bool {
        match self {
            Child::Leaf(leaf) => upkeep.overflows(leaf.keys()),
            Child::Inner(inner) => upkeep.outgrown(inner.keys, inner.built),
        }
    }

    pub(super) fn remove(&mut self, key: u64, upkeep: Upkeep) -> Option<u64> {
        let inner = match self {
            Child::Leaf(leaf) => return leaf.remove(key, upkeep),
            Child::Inner(inner) => inner,
        };
        let slot = inner.slot(key);
        let value = inner.children.get_mut(slot)?.remove(key, upkeep)?;
        inner.keys -= 1;
        if upkeep.shrinks(inner.keys, inner.built) {
            self.rebuild();
        }
        Some(value)
    }

    /// Rebuilds the subtree, with room at the end where most of the new keys arrived.
    fn rebuild(&mut self) {
        let mut entries = Vec::with_capacity(self.keys());
        let _ = self.walk(None, &mut |key, value| {
            entries.push((key, value));
            ControlFlow::Continue(())
        });
        let ends = match self {
            Child::Leaf(leaf) => leaf.ends(),
            Child::Inner(inner) => inner.ends,
        };
        let built = match self {
            Child::Leaf(_) => LEAF_CAP / 3,
            Child::Inner(inner) => inner.built,
        };
        let room = top_down::room(&entries, ends, built);
        // Frees the old nodes before building the new ones.
        *self = Child::Leaf(Leaf::default());
        *self = top_down::build(&entries, room);
    }

    /// Visits entries in order, from the first whose key is not below `from`.
    pub(super) fn walk(
        &self,
        from: Option<u64>,
        visit: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let inner = match self {
            Child::Leaf(leaf) => return leaf.walk(from, visit),
            Child::Inner(inner) => inner,
        };
        let first = from.map_or(0, |from| inner.slot(from));
        let mut from = from;
        for child in inner.children.iter().skip(first) {
            child.walk(from.take(), visit)?;
        }
        ControlFlow::Continue(())
    }

    /// Adds the level of each key to `sum` and returns the deepest level; `above` levels are above
    /// this node.
    pub(super) fn levels(&self, above: usize, sum: &mut u64) -> usize {
        match self {
            Child::Leaf(leaf) => leaf.levels(above, sum),
            Child::Inner(inner) => {
                let levels = inner
                    .children
                    .iter()
                    .map(|child| child.levels(above + 1, sum));
                levels.max().unwrap_or(0)
            }
        }
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Child::Leaf(leaf) => leaf.heap_bytes(),
            Child::Inner(inner) => {
                let own = size_of::<Inner>() + inner.children.capacity() * size_of::<Child>();
                own + inner.children.iter().map(Child::heap_bytes).sum::<usize>()
            }
        }
    }
}

impl Inner {
    #[inline(always)]
    fn slot(&self, key: u64) -> usize {
        self.line.slot(key, self.children.len())
    }

    fn put(&mut self, entry: (u64, u64), existing: Existing, upkeep: Upkeep) -> Option<u64> {
        let slot = self.slot(entry.0);
        if let Some(Child::Leaf(leaf)) = self.children.get(slot)
            && leaf.slots() == 0
            && upkeep.is_bounded()
        {
            self.children[slot] = Child::Leaf(self.ready_leaf(slot));
        }
        let found = self
            .children
            .get_mut(slot)
            .and_then(|child| child.put(entry, existing, upkeep));
        self.keys += usize::from(found.is_none());
        found
    }

    /// An empty leaf for a child without slots, with room for as many keys as children had on
    /// average.
    fn ready_leaf(&self, slot: usize) -> Leaf {
        let min = self.line.first_number(slot as u64);
        let max = self.line.first_number(slot as u64 + 1).saturating_sub(1);
        let average = self.built / self.children.len().max(1);
        Leaf::ready(min, max, average.min(LEAF_CAP / 8), super::upkeep::RATIO)
    }
}

#[cfg(test)]
impl Child {
    /// Whether this node or one below it would be rebuilt now.
    pub(super) fn is_to_be_built(&self) -> bool {
        let below = match self {
            Child::Leaf(_) => &[],
            Child::Inner(inner) => inner.children.as_slice(),
        };
        self.has_outgrown(Upkeep::Bounded) || below.iter().any(Child::is_to_be_built)
    }
}
