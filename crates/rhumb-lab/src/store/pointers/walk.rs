//! Walking over the pairs of a B+-tree in the order of their keys.

use super::node::Node;
use super::nodes::Snapshot;
use super::paged::Buffer;
use super::tree::Tree;
use crate::error::Result;

/// A place in a tree. Each step is told the tree, which others may change between steps, and the snapshot that is
/// walked over; without a snapshot nothing may change.
pub struct Walk {
    leaf: Buffer,
    /// The number of the present cell in the leaf.
    at: usize,
    /// How many more leaves there can be: damaged links may go round in circles.
    left: u32,
}

impl Walk {
    /// A walk that begins with [`Walk::seek`].
    pub fn new() -> Walk {
        Walk {
            leaf: Buffer::new(1),
            at: 0,
            left: 0,
        }
    }

    /// Moves to the first pair whose key is `key` or greater. Returns false if there is none.
    ///
    /// # Errors
    /// If a node cannot be read.
    pub fn seek(&mut self, tree: &Tree, snapshot: Option<&Snapshot>, key: &[u8]) -> Result<bool> {
        let leaf = tree.leaf_of(key, snapshot, &mut Vec::new())?;
        self.left = tree.nodes.next();
        self.read(tree, snapshot, leaf)?;
        let found = Node(self.leaf.bytes()).find(key);
        self.at = match found.ok_or_else(|| tree.nodes.damaged(leaf))? {
            Ok(at) | Err(at) => at,
        };
        self.skip_empty(tree, snapshot)
    }

    /// Moves to the next pair. Returns false if there is none.
    ///
    /// # Errors
    /// If a node cannot be read.
    pub fn advance(&mut self, tree: &Tree, snapshot: Option<&Snapshot>) -> Result<bool> {
        self.at += 1;
        self.skip_empty(tree, snapshot)
    }

    /// The present pair; empty if there is none.
    pub fn pair(&self) -> (&[u8], &[u8]) {
        Node(self.leaf.bytes()).cell(self.at).unwrap_or_default()
    }

    fn skip_empty(&mut self, tree: &Tree, snapshot: Option<&Snapshot>) -> Result<bool> {
        while self.at >= Node(self.leaf.bytes()).count() {
            let next = Node(self.leaf.bytes()).link();
            if next == 0 {
                return Ok(false);
            }
            let left = self.left.checked_sub(1);
            self.left = left.ok_or_else(|| tree.nodes.damaged(next))?;
            self.read(tree, snapshot, next)?;
            self.at = 0;
        }
        let cell = Node(self.leaf.bytes()).cell(self.at);
        cell.map(|_| true).ok_or_else(|| tree.nodes.damaged(0))
    }

    fn read(&mut self, tree: &Tree, snapshot: Option<&Snapshot>, number: u32) -> Result<()> {
        tree.nodes.copy(number, snapshot, &mut self.leaf)?;
        match Node(self.leaf.bytes()).level() {
            0 => Ok(()),
            _ => Err(tree.nodes.damaged(number)),
        }
    }
}
