//! The index in memory: look-ups and changes.

use std::ops::ControlFlow;

use super::leaf::{Entries, Leaf};
use super::node::{Body, Child, Common, Node};
use super::plan::{Choice, Layout};
use super::train::Trained;
use super::walk::collect;
use crate::IndexError;
use crate::updatable::{Depth, Existing, Updatable, ascending};

/// Slots of a model node for each key, keys in a new leaf, and the most slots that a leaf covers.
const SLOTS_A_KEY: f64 = 1.0;
const FILLED: usize = 11;
const COVERED: u32 = 64;

/// For rebuilding after changes, a node of fewer keys counts as if it had this many.
const FEW: usize = 32;

/// The whole index is not rebuilt to save fewer bytes than this.
const ROOM: usize = 4096;

/// The approximate memory of a key besides its bytes.
const BESIDE: usize = 32;

/// An ordered map from byte strings.
#[derive(Debug)]
pub(super) struct Lits {
    common: Common,
    root: Child,
    keys: usize,
    /// Bytes of all keys, and the largest value of [`Lits::taken`] since the whole index was built.
    bytes: usize,
    most: usize,
    upkeep: Upkeep,
    /// A buffer for the entries of one leaf.
    entries: Entries,
}

/// The rules for rebuilding nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Upkeep {
    /// When three times as many keys were inserted or removed as the node was built with, or three
    /// in four are gone; the prefix table is retrained with the root.
    Bounded,
    /// When a node has four times as many keys as it was built for, or half, and, beyond the
    /// published rules, when 16 times as many keys were inserted or removed; the table stays.
    Published,
}

/// The most levels below a node of this many keys before it is rebuilt. This is far more than it
/// has after building, when a child has at most three quarters of its keys.
fn most_levels(keys: usize) -> usize {
    8 + 3 * keys.max(1).ilog2() as usize
}

/// An entry to be stored.
struct Change<'a> {
    upkeep: Upkeep,
    key: &'a [u8],
    value: u64,
    existing: Existing,
    /// A buffer for the entries of a leaf that is rebuilt or split.
    entries: &'a mut Entries,
    /// Levels from the leaf up to the current node, on the way back; fewer if some were rebuilt.
    levels: usize,
}

/// The result of storing an entry.
enum Put {
    Was(u64),
    New,
    /// The leaf was full: its entries and the new one, at this index, must be split.
    Full(usize),
}

impl Upkeep {
    /// Whether a node should be rebuilt. Tries below others grow without rebuilding.
    fn is_due(self, node: &Node, is_root: bool) -> bool {
        match self {
            Upkeep::Bounded => {
                let many = 3 * node.built.max(FEW);
                let grows = is_root || !node.is_trie();
                node.changes >= many && grows || node.changes > 0 && 4 * node.keys <= node.most
            }
            Upkeep::Published => {
                let turnover = node.changes >= 16 * node.built.max(FEW);
                turnover
                    || node.keys >= 4 * node.built
                    || node.changes > 0 && 2 * node.keys <= node.built
            }
        }
    }
}

impl Lits {
    pub(super) fn new(choice: Choice, upkeep: Upkeep) -> Self {
        let layout = Layout {
            choice,
            slots_a_key: SLOTS_A_KEY,
            filled: FILLED,
            covered: COVERED,
        };
        Lits {
            common: Common {
                layout,
                trained: Trained::none(),
            },
            root: Child::Leaf(Leaf::empty()),
            keys: 0,
            bytes: 0,
            most: 0,
            upkeep,
            entries: Entries::default(),
        }
    }

    /// Rebuilds the whole index. The table is retrained unless published upkeep keeps it.
    fn rebuild(&mut self, entries: &Entries) {
        let stays = self.upkeep == Upkeep::Published && self.common.trained.hpt.symbols() > 0;
        if !stays && self.common.layout.choice != Choice::Trie {
            self.common.trained = Trained::new(&entries.keys);
        }
        self.root = self.common.build(entries, 0);
        self.most = self.taken();
        // The buffer may have grown for long keys.
        self.entries = Entries::default();
    }

    /// The approximate memory of the keys.
    fn taken(&self) -> usize {
        self.bytes + self.keys * BESIDE
    }

    /// Counts an inserted key.
    fn added(&mut self, key: &[u8]) {
        self.keys += 1;
        self.bytes += key.len();
        self.most = self.most.max(self.taken());
    }

    /// Rebuilds the root if that is due, or if most memory was taken by a few long keys that are
    /// gone: the prefixes and partings of nodes, and leaves, are as long as the keys they were made
    /// for.
    fn mend_root(&mut self) {
        let is_due = match &self.root {
            Child::Node(node) => self.upkeep.is_due(node, true),
            Child::Leaf(_) => false,
        };
        if is_due || 4 * self.taken() + ROOM <= self.most {
            let entries = collect(&self.root, &[]);
            self.rebuild(&entries);
        }
    }
}

impl Common {
    /// Rebuilds a child if that is due. All its keys begin with `stem`.
    fn mend(&self, upkeep: Upkeep, child: &mut Child, stem: &[u8]) {
        if let Child::Node(node) = child
            && upkeep.is_due(node, false)
        {
            let entries = collect(child, stem);
            *child = self.build(&entries, entries.keys.stem());
        }
    }

    /// Stores an entry below a child whose keys share its first `at` bytes.
    fn put(&self, change: &mut Change<'_>, child: &mut Child, at: usize) -> Put {
        let node = match child {
            Child::Leaf(leaf) => return change.put_in(leaf, at),
            Child::Node(node) => node,
        };
        let key = change.key;
        let mut inside = at;
        let mut way = self.way(node, key, &mut inside);
        let Some(mut next) = node.child_mut(way) else {
            return Put::New;
        };
        next.prefetch();
        self.mend(change.upkeep, next, key.get(..inside).unwrap_or_default());
        if next.is_full() {
            node.halve_child(way);
            inside = at;
            way = self.way(node, key, &mut inside);
            next = match node.child_mut(way) {
                Some(next) => next,
                None => return Put::New,
            };
        }
        match self.put(change, next, inside) {
            Put::Was(was) => return Put::Was(was),
            Put::New => {}
            Put::Full(added) => {
                let entries = &*change.entries;
                node.part(self, way, (entries, added), entries.keys.stem());
            }
        }
        node.keys += 1;
        node.most = node.most.max(node.keys);
        node.changes += 1;
        change.levels += 1;
        if change.levels > most_levels(node.keys) {
            // The lowest such node has most of its keys below one child, which was not the case
            // when it was built. Enough keys were therefore inserted since to pay for rebuilding
            // it.
            let entries = collect(child, key.get(..at).unwrap_or_default());
            *child = self.build(&entries, entries.keys.stem());
            change.levels = 0;
        }
        Put::New
    }

    /// Removes a key below a child whose keys share its first `at` bytes.
    fn remove(&self, upkeep: Upkeep, child: &mut Child, key: &[u8], at: usize) -> Option<u64> {
        let node = match child {
            Child::Leaf(leaf) => {
                let i = leaf.find(key.get(at..)?).ok()?;
                let was = leaf.value(i);
                leaf.remove(i);
                return Some(was);
            }
            Child::Node(node) => node,
        };
        let mut inside = at;
        let way = self.way(node, key, &mut inside);
        let next = node.child_mut(way)?;
        self.mend(upkeep, next, key.get(..inside)?);
        let was = self.remove(upkeep, next, key, inside)?;
        node.keys = node.keys.saturating_sub(1);
        node.changes += 1;
        Some(was)
    }
}

impl Change<'_> {
    /// Stores the entry in a leaf whose keys share its first `at` bytes.
    fn put_in(&mut self, leaf: &mut Leaf, at: usize) -> Put {
        let (stem, rest) = self.key.split_at_checked(at).unwrap_or((self.key, &[]));
        match leaf.find(rest) {
            Ok(i) => {
                let was = leaf.value(i);
                if self.existing == Existing::Replace {
                    leaf.set(i, self.value);
                }
                Put::Was(was)
            }
            Err(i) if leaf.has_room() => {
                leaf.insert(i, (rest, self.value), self.entries);
                Put::New
            }
            Err(i) => {
                leaf.with(i, (rest, self.value), stem, self.entries);
                Put::Full(i)
            }
        }
    }
}

impl Updatable<[u8]> for Lits {
    fn kind(&self) -> &'static str {
        super::KIND.name
    }

    fn len(&self) -> usize {
        self.keys
    }

    fn bulk_load(&mut self, entries: &[(Box<[u8]>, u64)]) -> Result<(), IndexError> {
        ascending(entries)?;
        let mut sorted = Entries::below(&[]);
        entries
            .iter()
            .for_each(|(key, value)| sorted.push(key, *value));
        self.common.trained = Trained::none();
        self.keys = entries.len();
        self.bytes = entries.iter().map(|(key, _)| key.len()).sum();
        self.rebuild(&sorted);
        Ok(())
    }

    #[inline]
    fn get(&self, key: &[u8]) -> Option<u64> {
        self.common.get(&self.root, key)
    }

    fn put(&mut self, key: &[u8], value: u64, existing: Existing) -> Option<u64> {
        self.mend_root();
        if self.root.is_full() {
            self.root.widen();
        }
        let mut entries = std::mem::take(&mut self.entries);
        let mut change = Change {
            upkeep: self.upkeep,
            key,
            value,
            existing,
            entries: &mut entries,
            levels: 0,
        };
        let put = self.common.put(&mut change, &mut self.root, 0);
        if matches!(put, Put::Full(_)) {
            self.rebuild(&entries);
        }
        self.entries = entries;
        match put {
            Put::Was(was) => Some(was),
            _ => {
                self.added(key);
                None
            }
        }
    }

    fn remove(&mut self, key: &[u8]) -> Option<u64> {
        self.mend_root();
        let was = self.common.remove(self.upkeep, &mut self.root, key, 0)?;
        self.keys -= 1;
        self.bytes -= key.len();
        Some(was)
    }

    fn walk(&self, from: &[u8], visit: &mut dyn FnMut(&[u8], u64) -> ControlFlow<()>) {
        let _ = self
            .common
            .visit_from(&self.root, from, &mut Vec::new(), visit);
    }

    fn depth(&self) -> Depth {
        let (mut levels, mut max) = (0, 0);
        each_leaf(&self.root, 1, &mut |leaf, depth| {
            levels += leaf.len() * depth;
            if leaf.len() > 0 {
                max = max.max(depth);
            }
        });
        Depth {
            mean: levels as f64 / self.keys.max(1) as f64,
            max,
        }
    }

    fn size_in_bytes(&self) -> usize {
        let beside = self.common.trained.heap_bytes() + self.entries.heap_bytes();
        size_of::<Self>() + beside + heap_bytes(&self.root)
    }
}

/// Visits all leaves with their levels.
fn each_leaf(child: &Child, level: usize, visit: &mut dyn FnMut(&Leaf, usize)) {
    match child {
        Child::Leaf(leaf) => visit(leaf, level),
        Child::Node(node) => {
            let children = node.outside.iter().chain(&node.children);
            children.for_each(|child| each_leaf(child, level + 1, visit));
        }
    }
}

/// Bytes on the heap below a child.
fn heap_bytes(child: &Child) -> usize {
    let node = match child {
        Child::Leaf(leaf) => return leaf.heap_bytes(),
        Child::Node(node) => node,
    };
    let body = match &node.body {
        Body::Model { slots, .. } => size_of_val(&**slots),
        Body::Trie { partings, .. } => partings.capacity(),
    };
    let own = size_of::<Node>() + node.prefix.len() + body;
    let children = node.children.capacity() * size_of::<Child>();
    let below = node.outside.iter().chain(&node.children);
    own + children + below.map(heap_bytes).sum::<usize>()
}
