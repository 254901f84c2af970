//! Growth of nodes in memory: full leaves are split, and full tries too, as in a B-tree.
//!
//! A trie with the most children is halved before anything is inserted below it. One half stays.
//! The other becomes its neighbour if the parent is a trie, which has room because it was halved
//! first if it was full; otherwise a new trie takes the place of both. Insertions below a trie, in
//! any order, therefore cost the same as in a B-tree, and no trie must be rebuilt for them.

use super::leaf::{Entries, Leaf};
use super::node::{Body, Child, Common, Node, Way};
use super::partings::{COLUMNS, Partings, PartingsMut};
use super::plan::{FAN_OUT, LEAF};

impl Child {
    /// How many keys are below.
    fn keys(&self) -> usize {
        match self {
            Child::Leaf(leaf) => leaf.len(),
            Child::Node(node) => node.keys,
        }
    }

    /// Whether it must be halved before anything is inserted below it.
    pub(super) fn is_full(&self) -> bool {
        match self {
            Child::Leaf(_) => false,
            Child::Node(node) => node.is_trie() && node.children.len() >= FAN_OUT,
        }
    }

    /// Replaces a trie by a new one over both its halves.
    pub(super) fn widen(&mut self) {
        let Child::Node(left) = self else {
            return;
        };
        let (built, changes) = (left.built, left.changes);
        let prefix = std::mem::take(&mut left.prefix);
        let outside = std::mem::replace(&mut left.outside, nothing());
        let Some((parting, right)) = left.halve() else {
            return;
        };
        let left = std::mem::replace(self, Child::Leaf(Leaf::empty()));
        let children = vec![left, Child::Node(Box::new(right))];
        let mut node = Node::trie(prefix, outside, &[parting], children);
        (node.built, node.changes) = (built, changes);
        *self = Child::Node(Box::new(node));
    }
}

impl Body {
    /// A trie with these partings, and room for about as many again.
    pub(super) fn trie(strings: &[Vec<u8>]) -> Body {
        let count = strings.len();
        let room = (count * 2 + 2).clamp(count, FAN_OUT);
        let mut partings = Vec::new();
        Partings::lay(strings.iter().map(Vec::as_slice), room, &mut partings);
        let tails = partings.len() - room * COLUMNS;
        let spare = (room - count) * tails.div_ceil(count.max(1));
        partings.resize(partings.len() + spare, 0);
        Body::Trie { partings, room }
    }
}

impl Node {
    pub(super) fn is_trie(&self) -> bool {
        matches!(self.body, Body::Trie { .. })
    }

    /// A trie over children, with the partings between them.
    fn trie(
        prefix: Box<[u8]>,
        outside: [Child; 2],
        partings: &[Vec<u8>],
        children: Vec<Child>,
    ) -> Node {
        let keys = children.iter().chain(&outside).map(Child::keys).sum();
        Node {
            prefix,
            outside,
            body: Body::trie(partings),
            children,
            built: keys,
            most: keys,
            keys,
            changes: 0,
        }
    }

    /// Keeps the lower half of the children of a trie. Returns the upper half, and the parting
    /// between both without the prefix, which both halves have.
    fn halve(&mut self) -> Option<(Vec<u8>, Node)> {
        let count = self.children.len();
        let Body::Trie { partings, room } = &self.body else {
            return None;
        };
        let strings = Partings::with_room(partings, count.saturating_sub(1), *room).strings();
        let middle = count / 2;
        let (below, above) = strings.split_at_checked(middle)?;
        let (parting, below) = below.split_last()?;
        let upper = self.children.split_off(middle);
        let children = std::mem::take(&mut self.children);
        let prefix = self.prefix.clone();
        let [outer, last] = std::mem::replace(&mut self.outside, nothing());
        let first = [outer, Child::Leaf(Leaf::empty())];
        let last = [Child::Leaf(Leaf::empty()), last];
        let right = Node::trie(prefix.clone(), last, above, upper);
        *self = Node::trie(prefix, first, below, children);
        Some((parting.clone(), right))
    }

    /// Halves the full trie that `way` leads to.
    pub(super) fn halve_child(&mut self, way: Way) {
        let place = match way {
            Way::Inside(place) if self.is_trie() => place,
            _ => {
                if let Some(child) = self.child_mut(way) {
                    child.widen();
                }
                return;
            }
        };
        let Some(Child::Node(child)) = self.children.get_mut(place) else {
            return;
        };
        if let Some((parting, right)) = child.halve() {
            let parting = [&right.prefix, parting.as_slice()].concat();
            self.insert_child(place + 1, &parting, Child::Node(Box::new(right)));
        }
    }

    /// Adds a child to a trie, and the parting before it. There must be a child before it.
    fn insert_child(&mut self, place: usize, parting: &[u8], child: Child) {
        let count = self.children.len().saturating_sub(1);
        let i = place.saturating_sub(1);
        if let Body::Trie { partings, room } = &mut self.body
            && !PartingsMut::new(partings, count, *room).insert(i, parting)
        {
            let mut strings = Partings::with_room(partings, count, *room).strings();
            strings.insert(i, parting.to_vec());
            self.body = Body::trie(&strings);
        }
        self.children.insert(place, child);
    }

    /// Makes room for the entries of a full leaf and one more, the one at index `added`, in place
    /// of the leaf that `way` leads to: two leaves of this node if it can separate them, else of a
    /// new trie.
    pub(super) fn part(
        &mut self,
        common: &Common,
        way: Way,
        (entries, added): (&Entries, usize),
        at: usize,
    ) {
        let n = entries.values.len();
        // If keys arrive in order, the leaf behind them stays full.
        let cut = match added {
            0 => 2,
            _ if added + 1 == n => n - 2,
            _ => n / 2,
        };
        let parted = match way {
            Way::Inside(place) => match self.body {
                Body::Model { .. } => self.part_slots(common, place, (entries, cut), at),
                Body::Trie { .. } => self.part_child(place, (entries, cut), at),
            },
            _ => None,
        };
        if parted.is_some() {
            return;
        }
        // Keys outside the prefix that come later need not share anything.
        let shared = match way {
            Way::Inside(_) => entries.keys.shared(0, n - 1).max(at),
            _ => at,
        };
        let prefix = entries.keys.get(0).get(at..shared).unwrap_or_default();
        let (parting, children) = halves(entries, cut, shared);
        let node = Node::trie(prefix.into(), nothing(), &[parting], children.into());
        if let Some(child) = self.child_mut(way) {
            *child = Child::Node(Box::new(node));
        }
    }

    /// Moves some slots of a leaf to a new leaf. `None` if all its keys have the same slot.
    fn part_slots(
        &mut self,
        common: &Common,
        slot: usize,
        (entries, cut): (&Entries, usize),
        at: usize,
    ) -> Option<()> {
        let Body::Model { line, slots } = &mut self.body else {
            return None;
        };
        let n = entries.values.len();
        let skipped = entries.keys.skipped();
        let slot_of = |i: usize| common.slot(line, entries.keys.get(i), at, skipped);
        if slot_of(0) == slot_of(n - 1) {
            return None;
        }
        // The first key of a slot, nearest to the cut; mostly few keys have to be checked.
        let near = (0..n).flat_map(|far| [cut.checked_sub(far), cut.checked_add(far)]);
        let mut near = near.flatten().filter(|i| (1..n).contains(i));
        let middle = near.find(|i| slot_of(i - 1) != slot_of(*i))?;
        let from = slot_of(middle);
        let here = *slots.get(slot)?;
        let new = u32::try_from(self.children.len()).ok()?;
        for slot in slots
            .iter_mut()
            .skip(from)
            .take_while(|slot| **slot == here)
        {
            *slot = new;
        }
        self.children
            .push(Child::Leaf(Leaf::new(entries, middle..n, at, LEAF)));
        let child = self.children.get_mut(here as usize)?;
        *child = Child::Leaf(Leaf::new(entries, 0..middle, at, LEAF));
        Some(())
    }

    /// Splits a leaf of a trie. `None` if the trie already has the most children.
    fn part_child(
        &mut self,
        place: usize,
        (entries, cut): (&Entries, usize),
        at: usize,
    ) -> Option<()> {
        if self.children.len() >= FAN_OUT {
            return None;
        }
        let (parting, [left, right]) = halves(entries, cut, at);
        *self.children.get_mut(place)? = left;
        self.insert_child(place + 1, &parting, right);
        Some(())
    }
}

/// Leaves without keys for below and above.
fn nothing() -> [Child; 2] {
    [Child::Leaf(Leaf::empty()), Child::Leaf(Leaf::empty())]
}

/// Two leaves for the entries before and after `cut`, without the first `at` bytes of their keys,
/// and the shortest parting between them.
fn halves(entries: &Entries, cut: usize, at: usize) -> (Vec<u8>, [Child; 2]) {
    let n = entries.values.len();
    let parts = entries.keys.shared(cut - 1, cut) + 1;
    let parting = entries.keys.get(cut).get(at..parts).unwrap_or_default();
    let leaves = [0..cut, cut..n].map(|half| Child::Leaf(Leaf::new(entries, half, at, LEAF)));
    (parting.to_vec(), leaves)
}
