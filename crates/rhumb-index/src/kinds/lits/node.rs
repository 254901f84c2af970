//! Nodes in memory: building them from entries and finding keys in them.

use std::cmp::Ordering;
use std::ops::Range;

use super::leaf::{Entries, Leaf};
use super::line::SlotLine;
use super::partings::{COLUMNS, Partings};
use super::plan::{self, LEAF, Layout, Planner};
use super::train::Trained;
use crate::search::{common_prefix, prefetch};

/// A leaf, or a node for more keys than a leaf holds.
#[derive(Debug)]
pub(super) enum Child {
    Leaf(Leaf),
    Node(Box<Node>),
}

impl Child {
    /// Prefetches the parts that are read first, all at once.
    #[inline]
    pub(super) fn prefetch(&self) {
        match self {
            Child::Leaf(leaf) => leaf.prefetch(),
            Child::Node(node) => prefetch(std::slice::from_ref(&**node), 0..1),
        }
    }
}

/// A node. Its keys share the prefix after that of the parent's keys.
#[derive(Debug)]
pub(super) struct Node {
    pub prefix: Box<[u8]>,
    /// Keys inserted later that are below or above all keys with the prefix.
    pub outside: [Child; 2],
    pub body: Body,
    pub children: Vec<Child>,
    /// The number of keys when it was built, the most since then, and the current one, and the
    /// number of insertions and removals since.
    pub built: usize,
    pub most: usize,
    pub keys: usize,
    pub changes: usize,
}

/// Maps keys to children.
#[derive(Debug)]
pub(super) enum Body {
    /// The child of each slot; neighbouring slots may have the same child.
    Model { line: SlotLine, slots: Box<[u32]> },
    /// [`Partings`] between the ordered children, with room for `room` partings.
    Trie { partings: Vec<u8>, room: usize },
}

/// Where a key is relative to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Below,
    /// To the slot of a model, or the child of a trie.
    Inside(usize),
    Above,
}

/// Data shared by all nodes of an index.
#[derive(Debug)]
pub(super) struct Common {
    pub layout: Layout,
    pub trained: Trained,
}

impl Common {
    /// Builds the node, or leaf, of entries whose keys share the first `at` bytes.
    pub(super) fn build(&self, entries: &Entries, at: usize) -> Child {
        let planner = Planner::new(self.layout, &self.trained, &entries.keys);
        child(&planner, entries, 0..entries.values.len(), at)
    }

    /// The slot of a key without its first `skipped` bytes.
    #[inline]
    pub(super) fn slot(&self, line: &SlotLine, key: &[u8], at: usize, skipped: usize) -> usize {
        let Trained { hpt, rows } = &self.trained;
        line.slot(hpt.number(rows, key, at, skipped, line.least).0) as usize
    }

    /// The way of a key at a node. `at` is the length of the prefix matched by the parents; the
    /// length of the node's prefix is added if it matches too.
    #[inline]
    pub(super) fn way(&self, node: &Node, key: &[u8], at: &mut usize) -> Way {
        if let Body::Trie { partings, .. } = &node.body {
            prefetch(partings, 0..node.children.len() * COLUMNS);
        }
        let own = key.get(*at..).unwrap_or_default();
        let own = own.get(..node.prefix.len()).unwrap_or(own);
        let alike = common_prefix(own, &node.prefix);
        match own.get(alike).cmp(&node.prefix.get(alike)) {
            Ordering::Less => return Way::Below,
            Ordering::Greater => return Way::Above,
            Ordering::Equal => *at += node.prefix.len(),
        }
        Way::Inside(match &node.body {
            Body::Model { line, .. } => self.slot(line, key, *at, 0),
            Body::Trie { partings, room } => {
                let rest = key.get(*at..).unwrap_or_default();
                let count = node.children.len().saturating_sub(1);
                Partings::with_room(partings, count, *room)
                    .find(rest)
                    .not_above
            }
        })
    }

    /// The value of a key below a child.
    #[inline]
    pub(super) fn get(&self, mut child: &Child, key: &[u8]) -> Option<u64> {
        let mut at = 0;
        loop {
            match child {
                Child::Leaf(leaf) => {
                    let i = leaf.find(key.get(at..)?).ok()?;
                    return Some(leaf.value(i));
                }
                Child::Node(node) => {
                    let way = self.way(node, key, &mut at);
                    child = node.child(way)?;
                    child.prefetch();
                }
            }
        }
    }
}

fn child(planner: &Planner<'_>, entries: &Entries, range: Range<usize>, at: usize) -> Child {
    match range.len() {
        count @ 0..=LEAF => Child::Leaf(Leaf::new(entries, range, at, count + 5)),
        _ => Child::Node(Box::new(node(planner, entries, range, at))),
    }
}

fn node(planner: &Planner<'_>, entries: &Entries, range: Range<usize>, parent_at: usize) -> Node {
    let plan = planner.plan(range.clone(), parent_at);
    let first = entries.keys.get(range.start);
    let children = plan.children.into_iter();
    Node {
        prefix: first.get(parent_at..plan.at).unwrap_or_default().into(),
        outside: [Child::Leaf(Leaf::empty()), Child::Leaf(Leaf::empty())],
        body: match plan.body {
            plan::Body::Model { line, slots } => {
                let all = slots.iter().zip(0u32..);
                let all = all.flat_map(|(run, i)| run.clone().map(move |_| i));
                Body::Model {
                    line,
                    slots: all.collect(),
                }
            }
            plan::Body::Trie { partings } => Body::trie(&partings),
        },
        children: children
            .map(|range| child(planner, entries, range, plan.at))
            .collect(),
        built: range.len(),
        most: range.len(),
        keys: range.len(),
        changes: 0,
    }
}

impl Node {
    /// The index of the child that a way leads to; `None` if it is outside.
    #[inline]
    pub(super) fn place(&self, way: Way) -> Option<usize> {
        match (way, &self.body) {
            (Way::Inside(slot), Body::Model { slots, .. }) => slots.get(slot).map(|i| *i as usize),
            (Way::Inside(child), Body::Trie { .. }) => Some(child),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn child(&self, way: Way) -> Option<&Child> {
        match way {
            Way::Below => self.outside.first(),
            Way::Above => self.outside.last(),
            Way::Inside(_) => self.children.get(self.place(way)?),
        }
    }

    pub(super) fn child_mut(&mut self, way: Way) -> Option<&mut Child> {
        match way {
            Way::Below => self.outside.first_mut(),
            Way::Above => self.outside.last_mut(),
            Way::Inside(_) => {
                let place = self.place(way)?;
                self.children.get_mut(place)
            }
        }
    }
}
