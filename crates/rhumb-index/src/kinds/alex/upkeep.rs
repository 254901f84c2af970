//! What happens where a data node has no room, or costs too much: it grows, gets a new line, or is split.
//!
//! A split leaves the data node's line to its halves and goes into the parent, if one of the parent's children
//! can begin between them; the parent may be refined or go on to a side for that. Else a new inner
//! node takes the place of the data node. `bounded` keeps parents small for that, and builds the nodes below
//! an inner node anew where such splits have made them deep.

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

/// How many insertions below an inner node it lasts that was built over so many entries: in a way that has
/// become too long, it is built anew after them.
///
/// So each insertion pays for nine entries to be laid out again at every inner node on its way, at most.
/// And a child is built over at most 2/3 + 1/8 of the entries of its parent, as long as that lasts: two
/// thirds are the most that it has from the first.
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
    /// An entry belongs before or behind all others, where there is no gap.
    Edge { is_left: bool },
}

/// Where a data node may be split: above `low`, not above `high`, best at `middle`.
#[derive(Debug, Clone, Copy)]
struct SplitRange {
    low: u64,
    middle: u64,
    high: u64,
}

impl Alex {
    /// Makes room for a key, or makes the data node that it belongs to cheaper.
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
        // Where the size is what forbids to grow at an edge, another line would not help.
        let grows = fits && !(matches!(reason, Reason::Edge { .. }) && is_too_full && !is_strained);
        if len <= FEW || grows && keeps {
            let refitted = leaf.refitted(&entries, density);
            // The costs above are means over all entries; but it is here that insertions come.
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

    /// Takes the insertions into a data node since the last time from what the inner nodes on its way last.
    ///
    /// A data node that removals have made smaller since then needs no count: it has fewer entries now.
    fn count_inserts(&mut self, path: &Path) {
        let leaf = &mut self.leaves[path.leaf as usize];
        let inserts = std::mem::take(&mut leaf.inserts) as usize;
        leaf.work = 0;
        for inner in &path.inners {
            let lasts = &mut self.lasts[*inner as usize];
            *lasts = lasts.saturating_sub(inserts);
        }
    }

    /// Whether two data nodes cost less than one of all these entries.
    fn is_cheaper_split(&self, entries: &[(u64, u64)]) -> bool {
        let cost = |entries: &[(u64, u64)]| {
            let slots = slots_of(entries.len(), DENSITY);
            SlotLine::of(entries, slots).cost(entries) * entries.len() as f64
        };
        let (left, right) = entries.split_at(entries.len() / 2);
        let node = BYTE_COST * NODE * self.len as f64;
        cost(left) + cost(right) + node < cost(entries)
    }

    /// Splits a data node about its median.
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

    /// Splits a data node to which a key above or below all others belongs near that key, so that most
    /// entries stay together: no more will come among them where keys arrive in order.
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
        // Places as wide as what the data node is about, so that the next ones find theirs.
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

    /// Puts an empty data node, whose first entry will have this key, beside another one. Gives both.
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

    /// Cuts a data node where a place of its parent begins. Where keys arrive in order, no more will come to
    /// the far side, the `settled` one: that is laid out as if it were loaded.
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

    /// Finds or makes a place of the parent where a data node can be cut: the right half's first. `None` if
    /// it would take too many places.
    fn make_place(&mut self, path: &Path, cut: SplitRange) -> Option<(usize, usize)> {
        let parent = *path.inners.last()? as usize;
        let is_bounded = self.is_bounded;
        let inner = &mut self.inners[parent];
        let most = match is_bounded {
            true => inner.nodes as usize * PLACES,
            false => MOST_PLACES,
        };
        // Cuts below the base: the node goes on to the left first.
        if cut.low < inner.base {
            let missing = inner.base - cut.middle.min(inner.base);
            // One more, for what is below the cut.
            let more = (missing >> inner.shift) + 2;
            if more + inner.children.len() as u64 <= most as u64 && missing > 0 {
                inner.extend_left(more as usize);
            }
        }
        // Then places as narrow as it takes.
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
        // The cut is where the place begins: that of the middle or the next one, as allowed.
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

    /// Puts a node into the places of a path's data node, to which a key belongs.
    fn replace(&mut self, path: &Path, key: u64, node: u32) {
        self.replace_child(path.inners.last().copied(), key, node);
    }

    /// Puts a node into the places of the one that a key leads to, below a node or at the root.
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

    /// Builds nodes anew where the way to a key has become long, if they have lasted long enough to pay for it:
    /// the lowest first, as they cost least.
    ///
    /// Then the way is short or all inner nodes on it still last, so that each was built over at most 19/24 of
    /// the entries of the one above ([`lasts`]), and the lowest over more than [`FEW`]: there are at most
    /// 1 + 2.97 log2(n / 32) of them, n being the entries of the uppermost. Not counted are those of
    /// [`Alex::split_off`] at the edges of a data node that has the largest size, which are for far wider
    /// numbers each than the one below.
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

    /// Builds an inner node to which a key leads, and all nodes below it, anew.
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

    /// Gives back a node and all below it.
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

    /// Gives back memory after a removal from a data node.
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
