//! Makes room in a data node that is full or costs too much: it grows, gets a new line, or is
//! split.
//!
//! A split goes into the parent if one of the parent's places can begin between the halves; the
//! parent may be refined or extended to a side for that. Otherwise a new inner node takes the place
//! of the data node. With `bounded` upkeep parents are kept small, and the nodes below an inner
//! node are rebuilt where such splits have made them deep.

use super::fanout::{FEW, NODE};
use super::fit::{BYTE_COST, SlotLine};
use super::inner::{Inner, LEAF};
use super::leaf::{Leaf, MOST_SLOTS, slots_of};
use super::tree::{Alex, DENSITY, Path};

/// Density of data nodes that have just grown, in tenths.
const GROWN_DENSITY: usize = 6;

/// The most places of an inner node for each of its children.
const PLACES: usize = 16;

/// The most places of an inner node as published: 4 MiB.
const MOST_PLACES: usize = 1 << 20;

/// How many insertions below an inner node, built over this many entries, must come before it may
/// be rebuilt because its path has become too long.
///
/// Each insertion then pays for laying out at most nine entries at every inner node on its path.
/// And until then a child is built over at most 2/3 + 1/8 of the entries of its parent, since it
/// has at most two thirds of them at first.
pub(super) fn lasts(entries: usize) -> usize {
    entries / 8
}

/// Why a data node needs room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// It has few gaps.
    Full,
    /// Insertions have become costly.
    Cost,
    /// An entry belongs before or after all others, where there is no gap.
    Edge { is_left: bool },
}

/// Where a data node may be split: above `low`, not above `high`, preferably at `middle`.
#[derive(Debug, Clone, Copy)]
struct SplitRange {
    low: u64,
    middle: u64,
    high: u64,
}

impl Alex {
    /// Makes room for a key, or reduces the cost of the data node it belongs to.
    pub(super) fn make_room(&mut self, key: u64, reason: Reason) {
        let path = self.path(key);
        let leaf = &self.leaves[path.leaf as usize];
        let len = leaf.len as usize;
        let is_strained = leaf.is_strained() || reason == Reason::Cost;
        if let Reason::Edge { is_left } = reason {
            let is_dense = len * 20 >= leaf.slots() * 11;
            if !is_strained && is_dense && leaf.slots_grown() <= MOST_SLOTS {
                self.leaves[path.leaf as usize] = leaf.grown(is_left);
                return;
            }
        }
        self.count_inserts(&path);
        let leaf = &self.leaves[path.leaf as usize];
        let entries = leaf.entries();
        let (first, last) = match (entries.first(), entries.last()) {
            (Some(first), Some(last)) => (first.0, last.0),
            _ => return,
        };
        let density = if reason == Reason::Full {
            GROWN_DENSITY
        } else {
            DENSITY
        };
        let fits = slots_of(len, density) <= MOST_SLOTS;
        let is_too_full = reason == Reason::Full || len * 20 >= leaf.slots() * 11;
        let keeps = !is_strained || !self.is_cheaper_split(&entries);
        // Where the largest size forbids growing at an edge, a new line would not help.
        let grows = fits && !(matches!(reason, Reason::Edge { .. }) && is_too_full && !is_strained);
        if len <= FEW || grows && keeps {
            let refitted = leaf.refitted(&entries, density);
            // The costs above are means over all entries, but insertions arrive at this key.
            let is_no_help = reason == Reason::Cost && refitted.is_packed_at(key);
            if len <= FEW || !self.is_bounded || !is_no_help {
                self.leaves[path.leaf as usize] = refitted;
                return;
            }
        }
        let is_beyond = !(first..=last).contains(&key);
        if !is_beyond || !self.split_off(&path, &entries, key, is_strained) {
            self.split(&path, &entries);
        }
    }

    /// Subtracts the insertions into a data node since the last count from the [`lasts`] of the
    /// inner nodes on its path.
    ///
    /// If removals cause a data node to be rebuilt first, its insertions are not counted; that is
    /// harmless, since it then has fewer entries.
    fn count_inserts(&mut self, path: &Path) {
        let leaf = &mut self.leaves[path.leaf as usize];
        let inserts = std::mem::take(&mut leaf.inserts) as usize;
        leaf.work = 0;
        for inner in &path.inners {
            let lasts = &mut self.lasts[*inner as usize];
            *lasts = lasts.saturating_sub(inserts);
        }
    }

    /// Whether two data nodes cost less than one for all these entries.
    fn is_cheaper_split(&self, entries: &[(u64, u64)]) -> bool {
        let cost = |entries: &[(u64, u64)]| {
            let slots = slots_of(entries.len(), DENSITY);
            SlotLine::of(entries, slots).cost(entries) * entries.len() as f64
        };
        let (left, right) = entries.split_at(entries.len() / 2);
        let node = BYTE_COST * NODE * self.len as f64;
        cost(left) + cost(right) + node < cost(entries)
    }

    /// Splits a data node near its median.
    fn split(&mut self, path: &Path, entries: &[(u64, u64)]) {
        let key = |rank: usize| entries.get(rank).map_or(0, |entry| entry.0);
        let cut = SplitRange {
            low: key(entries.len() / 4),
            middle: key(entries.len() / 2),
            high: key(entries.len() * 3 / 4),
        };
        if let Some(place) = self.make_place(path, cut) {
            return self.cut(path, entries, place, cut.middle, None);
        }
        let Leaf { before, behind, .. } = self.leaves[path.leaf as usize];
        let mut last = before;
        self.free_leaves.push(path.leaf);
        let node = self.build(entries, true, &mut last);
        self.link(last, behind);
        self.replace(path, cut.middle, node);
        self.limit_depth(cut.middle);
    }

    /// Splits a data node near a key that belongs above or below all its entries, so that most
    /// entries stay together: if keys arrive in order, no more will arrive among them.
    fn split_off(
        &mut self,
        path: &Path,
        entries: &[(u64, u64)],
        key: u64,
        is_strained: bool,
    ) -> bool {
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
            return false;
        };
        let is_left = key < first.0;
        let half = entries[entries.len() / 2].0;
        let (low, middle, high) = match is_left {
            true => (key, first.0, half),
            false => (half, key, key),
        };
        if let Some(place) = self.make_place(path, SplitRange { low, middle, high }) {
            self.cut(path, entries, place, key, Some(usize::from(is_left)));
            return true;
        }
        if is_strained {
            return false;
        }
        let old = path.leaf;
        let (left, right) = self.put_beside(old, key, is_left);
        // Places about as wide as the range of the data node, so that the next keys find places of
        // their own.
        let at = if is_left { first.0 } else { key };
        let shift = (last.0 - first.0).clamp(1, at).ilog2();
        let inner = Inner {
            base: at - (1 << shift),
            shift,
            nodes: 2,
            children: Box::new([left, right]),
        };
        let node = self.add_inner(inner, entries.len());
        self.replace(path, key, node);
        self.limit_depth(key);
        true
    }

    /// Adds an empty data node next to another one; `key` is the first that will be inserted.
    /// Returns both, in order.
    fn put_beside(&mut self, old: u32, key: u64, is_left: bool) -> (u32, u32) {
        let Leaf { before, behind, .. } = self.leaves[old as usize];
        let new = self.leaves[old as usize].neighbour(key, is_left);
        let mut last = if is_left { before } else { old };
        let new = self.add_leaf(new, &mut last);
        self.link(last, if is_left { old } else { behind });
        match is_left {
            true => (new, old | LEAF),
            false => (old | LEAF, new),
        }
    }

    /// Cuts a data node where a place of its parent begins. If keys arrive in order, no more will
    /// arrive on the far side, `settled`, which is therefore laid out as in a bulk load.
    fn cut(
        &mut self,
        path: &Path,
        entries: &[(u64, u64)],
        place: (usize, usize),
        key: u64,
        settled: Option<usize>,
    ) {
        let (parent, at) = place;
        let inner = &self.inners[parent];
        let places = inner.places(at);
        let (left, right) =
            entries.split_at(entries.partition_point(|entry| inner.slot(entry.0) < at));
        let old = &self.leaves[path.leaf as usize];
        let Leaf { before, behind, .. } = *old;
        let mut empty = Some(old.neighbour(key, left.is_empty()));
        self.free_leaves.push(path.leaf);
        let mut last = before;
        for (side, entries, places) in [(0, left, places.start..at), (1, right, at..places.end)] {
            let node = if entries.is_empty() {
                let empty = empty
                    .take()
                    .unwrap_or_else(|| Leaf::new(&[], slots_of(0, DENSITY)));
                self.add_leaf(empty, &mut last)
            } else if settled == Some(side) {
                self.build(entries, false, &mut last)
            } else {
                let leaf = Leaf::new(entries, slots_of(entries.len(), DENSITY));
                self.add_leaf(leaf, &mut last)
            };
            self.inners[parent].children[places].fill(node);
        }
        self.link(last, behind);
        self.inners[parent].nodes += 1;
    }

    /// Finds or makes a place of the parent at which a data node can be cut: the first place of the
    /// right half. `None` if that would take too many places.
    fn make_place(&mut self, path: &Path, cut: SplitRange) -> Option<(usize, usize)> {
        let parent = *path.inners.last()? as usize;
        let is_bounded = self.is_bounded;
        let inner = &mut self.inners[parent];
        let most = match is_bounded {
            true => inner.nodes as usize * PLACES,
            false => MOST_PLACES,
        };
        // For cuts below the base, first extend the node to the left.
        if cut.low < inner.base {
            let missing = inner.base - cut.middle.min(inner.base);
            // One place more, for entries below the cut.
            let more = (missing >> inner.shift) + 2;
            if more + inner.children.len() as u64 <= most as u64 && missing > 0 {
                inner.extend_left(more as usize);
            }
        }
        // Then refine the places as far as necessary.
        let (low, high) = (
            cut.low.saturating_sub(inner.base),
            cut.high.saturating_sub(inner.base),
        );
        let differing = (low ^ high).checked_ilog2()?;
        if low >> inner.shift == high >> inner.shift {
            let bits = inner.shift - differing;
            let places = inner
                .children
                .len()
                .checked_shl(bits)
                .filter(|places| places >> bits == inner.children.len());
            if places.is_none_or(|places| places > most) {
                return None;
            }
            inner.refine(bits);
        }
        let (low, high) = (inner.place(cut.low), inner.place(cut.high));
        let middle = inner.place(cut.middle);
        // The cut is where a place begins: that of the middle, or the next one within the allowed
        // range.
        let at = match middle > low {
            true => middle,
            false => low + 1,
        };
        let at = at.min(high);
        if at >= most as u64 {
            return None;
        }
        let missing = (at as usize + 1).saturating_sub(inner.children.len());
        if missing > 0 {
            inner.extend(missing);
        }
        Some((parent, at as usize))
    }

    /// Replaces the data node at the end of a path, to which a key belongs.
    fn replace(&mut self, path: &Path, key: u64, node: u32) {
        self.replace_child(path.inners.last().copied(), key, node);
    }

    /// Replaces the child that a key leads to, below a parent or at the root.
    fn replace_child(&mut self, parent: Option<u32>, key: u64, node: u32) {
        let Some(parent) = parent else {
            self.root = node;
            return;
        };
        let inner = &mut self.inners[parent as usize];
        let places = inner.places(inner.slot(key));
        inner.children[places].fill(node);
    }

    /// Makes two data nodes neighbours.
    fn link(&mut self, left: u32, right: u32) {
        if let Some(left) = self.leaves.get_mut(left as usize) {
            left.behind = right;
        }
        if let Some(right) = self.leaves.get_mut(right as usize) {
            right.before = left;
        }
    }

    /// Rebuilds nodes on a path to a key that has become long, if enough insertions have paid for
    /// it: the lowest first, as they cost least.
    ///
    /// Afterwards the path is short, or none of its inner nodes may be rebuilt yet. In that case
    /// each was built over at most 19/24 of the entries of the one above ([`lasts`]), and the
    /// lowest over more than [`FEW`], so there are at most 1 + 2.97 log2(n / 32) of them for the n
    /// entries of the uppermost. This excludes the inner nodes that [`Alex::split_off`] makes at
    /// the edges of a data node of the largest size, each of which covers far wider numbers than
    /// the one below.
    pub(super) fn limit_depth(&mut self, key: u64) {
        let allowed = 4 + self.len.max(1).ilog2() as usize / 4;
        while self.is_bounded {
            let inners = self.path(key).inners;
            let is_worn = |inner: &u32| self.lasts[*inner as usize] == 0;
            let worn = inners.iter().rposition(is_worn);
            let Some(level) = worn.filter(|_| inners.len() + 1 >= allowed) else {
                return;
            };
            let above = level.checked_sub(1).map(|above| inners[above]);
            self.rebuild(above, key, inners[level]);
        }
    }

    /// Rebuilds an inner node that a key leads to, with all nodes below it.
    fn rebuild(&mut self, parent: Option<u32>, key: u64, inner: u32) {
        let mut leaves = Vec::new();
        self.visit(inner, 0, &mut |leaf, _| leaves.push(leaf));
        let (Some(first), Some(last)) = (leaves.first(), leaves.last()) else {
            return;
        };
        let mut before = self.leaves[*first as usize].before;
        let behind = self.leaves[*last as usize].behind;
        let mut entries = Vec::new();
        for leaf in &leaves {
            self.leaves[*leaf as usize].put_entries(&mut entries);
        }
        self.free(inner);
        let node = self.build(&entries, false, &mut before);
        self.link(before, behind);
        self.replace_child(parent, key, node);
    }

    /// Frees a node and all below it.
    fn free(&mut self, node: u32) {
        if node & LEAF != 0 {
            let leaf = (node ^ LEAF) as usize;
            self.leaves[leaf] = Leaf::empty(SlotLine::of(&[], 0));
            return self.free_leaves.push(node ^ LEAF);
        }
        let inner = std::mem::take(&mut self.inners[node as usize]);
        inner.nodes().for_each(|child| self.free(child));
        self.free_inners.push(node);
    }

    /// Frees memory after a removal from a data node.
    pub(super) fn shrink(&mut self, leaf: usize) {
        let node = &self.leaves[leaf];
        let len = node.len as usize;
        if len * 4 < node.slots() && node.slots() > slots_of(len, DENSITY) * 2 {
            self.leaves[leaf] = node.refitted(&node.entries(), DENSITY);
        }
        if self.is_bounded && self.leaf_count() > 16 && self.len < self.leaf_count() * 8 {
            let mut entries = Vec::with_capacity(self.len);
            self.visit(self.root, 0, &mut |leaf, _| {
                self.leaves[leaf as usize].put_entries(&mut entries);
            });
            self.load(&entries);
        }
    }
}
