//! The nodes of an index, and the paths through them.

use std::ops::ControlFlow;

use super::fanout::{FEW, plan};
use super::fit::{BEARABLE, LEVEL_COST, SlotLine};
use super::inner::{Inner, LEAF};
use super::leaf::{Leaf, MOST_SLOTS, NONE, slots_of};
use super::put::Put;
use super::upkeep::{Reason, lasts};
use crate::IndexError;
use crate::updatable::{Depth, Existing, Updatable, ascending};

/// The density of newly built data nodes, in tenths.
pub(super) const DENSITY: usize = 7;

/// An index in memory.
#[derive(Debug)]
pub(crate) struct Alex {
    pub(super) inners: Vec<Inner>,
    pub(super) leaves: Vec<Leaf>,
    /// For each inner node: how many more insertions below it must come before it may be rebuilt.
    pub(super) lasts: Vec<usize>,
    /// Numbers of unused inner and data nodes.
    pub(super) free_inners: Vec<u32>,
    pub(super) free_leaves: Vec<u32>,
    pub(super) root: u32,
    pub(super) len: usize,
    /// Whether memory and depth are kept within bounds, unlike in the published design.
    pub(super) is_bounded: bool,
}

/// The path to a data node.
#[derive(Debug)]
pub(super) struct Path {
    /// Inner nodes from the root on.
    pub(super) inners: Vec<u32>,
    /// The data node's number.
    pub(super) leaf: u32,
}

impl Alex {
    /// An index without entries.
    pub(crate) fn new(is_bounded: bool) -> Alex {
        let mut index = Alex {
            inners: Vec::new(),
            leaves: Vec::new(),
            lasts: Vec::new(),
            free_inners: Vec::new(),
            free_leaves: Vec::new(),
            root: LEAF,
            len: 0,
            is_bounded,
        };
        index.load(&[]);
        index
    }

    /// Replaces the content by ascending entries.
    pub(crate) fn load(&mut self, entries: &[(u64, u64)]) {
        (self.inners, self.leaves) = (Vec::new(), Vec::new());
        (self.free_inners, self.free_leaves, self.lasts) = Default::default();
        self.len = entries.len();
        let mut last = NONE;
        self.root = self.build(entries, false, &mut last);
        self.inners.shrink_to_fit();
        self.leaves.shrink_to_fit();
        self.lasts.shrink_to_fit();
    }

    /// Builds nodes over entries. `last` is the data node before them all, and then becomes the
    /// last of the new ones. With `divides` there will be more than one node, which takes at least
    /// two entries.
    pub(super) fn build(&mut self, entries: &[(u64, u64)], divides: bool, last: &mut u32) -> u32 {
        let slots = slots_of(entries.len(), DENSITY);
        if !divides && entries.len() <= FEW {
            return self.add_leaf(Leaf::new(entries, slots), last);
        }
        let cost = match slots <= MOST_SLOTS && !divides {
            true => SlotLine::of(entries, slots).cost(entries),
            false => f64::INFINITY,
        };
        if cost < LEVEL_COST {
            return self.add_leaf(Leaf::new(entries, slots), last);
        }
        let plan = plan(entries, self.len, self.is_bounded);
        let is_bearable = cost <= f64::from(BEARABLE) || !self.is_bounded;
        if !divides && slots <= MOST_SLOTS && plan.cost >= cost && is_bearable {
            return self.add_leaf(Leaf::new(entries, slots), last);
        }
        let places = plan.children.last().map_or(0, |child| child.0.end);
        let mut children = vec![0; places];
        for (places, ranks) in &plan.children {
            let child = self.build(&entries[ranks.clone()], false, last);
            children[places.clone()].fill(child);
        }
        let inner = Inner {
            base: plan.base,
            shift: plan.shift,
            nodes: plan.children.len() as u32,
            children: children.into_boxed_slice(),
        };
        self.add_inner(inner, entries.len())
    }

    /// Adds an inner node over this many entries to the arena.
    pub(super) fn add_inner(&mut self, inner: Inner, entries: usize) -> u32 {
        let lasts = lasts(entries);
        if let Some(id) = self.free_inners.pop() {
            (self.inners[id as usize], self.lasts[id as usize]) = (inner, lasts);
            return id;
        }
        self.inners.push(inner);
        self.lasts.push(lasts);
        self.inners.len() as u32 - 1
    }

    /// Adds a data node to the arena, after the data node `last`, and makes it `last`.
    pub(super) fn add_leaf(&mut self, mut leaf: Leaf, last: &mut u32) -> u32 {
        leaf.before = *last;
        let id = match self.free_leaves.pop() {
            Some(id) => {
                self.leaves[id as usize] = leaf;
                id
            }
            None => {
                self.leaves.push(leaf);
                self.leaves.len() as u32 - 1
            }
        };
        if let Some(before) = self.leaves.get_mut(*last as usize) {
            before.behind = id;
        }
        *last = id;
        id | LEAF
    }

    /// The number of the data node that a key belongs to.
    #[inline(always)]
    fn leaf_of(&self, key: u64) -> usize {
        let mut node = self.root;
        while node & LEAF == 0 {
            node = self.inners[node as usize].child(key);
        }
        (node ^ LEAF) as usize
    }

    /// The path to the data node that a key belongs to.
    pub(super) fn path(&self, key: u64) -> Path {
        let mut inners = Vec::new();
        let mut node = self.root;
        while node & LEAF == 0 {
            inners.push(node);
            node = self.inners[node as usize].child(key);
        }
        Path {
            inners,
            leaf: node ^ LEAF,
        }
    }

    /// How many data nodes there are.
    pub(super) fn leaf_count(&self) -> usize {
        self.leaves.len() - self.free_leaves.len()
    }

    /// Visits the data nodes below a node, in order, with their depth.
    pub(super) fn visit(&self, node: u32, depth: usize, visit: &mut dyn FnMut(u32, usize)) {
        if node & LEAF != 0 {
            return visit(node ^ LEAF, depth);
        }
        for child in self.inners[node as usize].nodes() {
            self.visit(child, depth + 1, visit);
        }
    }

    /// Stores an entry, making room as often as necessary.
    fn put_entry(&mut self, key: u64, value: u64, existing: Existing) -> Option<u64> {
        for attempt in 0.. {
            let id = self.leaf_of(key);
            // The third attempt may move any number of entries, in case growing at the edge did not
            // help.
            let put = self.leaves[id].put(key, value, existing, attempt > 1);
            match put {
                Put::Old(old) => return Some(old),
                Put::New | Put::Costly => {
                    self.len += 1;
                    if put == Put::Costly {
                        self.make_room(key, Reason::Cost);
                    }
                    return None;
                }
                Put::Full => self.make_room(key, Reason::Full),
                Put::Edge { is_left } => self.make_room(key, Reason::Edge { is_left }),
            }
        }
        None
    }
}

impl Updatable<u64> for Alex {
    fn kind(&self) -> &'static str {
        super::KIND.name
    }

    fn len(&self) -> usize {
        self.len
    }

    fn bulk_load(&mut self, entries: &[(u64, u64)]) -> Result<(), IndexError> {
        ascending(entries)?;
        self.load(entries);
        Ok(())
    }

    #[inline]
    fn get(&self, key: &u64) -> Option<u64> {
        self.leaves[self.leaf_of(*key)].get(*key)
    }

    fn put(&mut self, key: &u64, value: u64, existing: Existing) -> Option<u64> {
        self.put_entry(*key, value, existing)
    }

    fn remove(&mut self, key: &u64) -> Option<u64> {
        let id = self.leaf_of(*key);
        let value = self.leaves[id].remove(*key)?;
        self.len -= 1;
        self.shrink(id);
        Some(value)
    }

    fn walk(&self, from: &u64, visit: &mut dyn FnMut(&u64, u64) -> ControlFlow<()>) {
        let mut id = self.leaf_of(*from);
        let mut slot = self.leaves[id].lower_bound(*from);
        while let Some(leaf) = self.leaves.get(id) {
            while slot < leaf.slots() {
                if visit(&leaf.key(slot), leaf.value(slot)).is_break() {
                    return;
                }
                slot = leaf.entry_from(slot + 1);
            }
            id = leaf.behind as usize;
            slot = self.leaves.get(id).map_or(0, |leaf| leaf.entry_from(0));
        }
    }

    fn depth(&self) -> Depth {
        let (mut sum, mut max) = (0, 0);
        self.visit(self.root, 1, &mut |leaf, depth| {
            sum += depth * self.leaves[leaf as usize].len as usize;
            max = max.max(depth);
        });
        Depth {
            mean: sum as f64 / self.len.max(1) as f64,
            max,
        }
    }

    fn size_in_bytes(&self) -> usize {
        let slots: usize = self.leaves.iter().map(Leaf::heap_bytes).sum();
        let children = self
            .inners
            .iter()
            .map(|inner| inner.children.len() * size_of::<u32>());
        size_of::<Self>()
            + self.leaves.capacity() * size_of::<Leaf>()
            + self.inners.capacity() * size_of::<Inner>()
            + self.lasts.capacity() * size_of::<usize>()
            + (self.free_inners.capacity() + self.free_leaves.capacity()) * size_of::<u32>()
            + slots
            + children.sum::<usize>()
    }
}
