//! A B+-tree over nodes of 4 KiB, on disk or in memory. Nodes that became empty stay, as no workload of the lab
//! deletes.

use std::path::Path;
use std::sync::Arc;

use ::rhumb::fs::Access;

use super::node::{self, CHILD, LARGEST, Node};
use super::nodes::{LEVELS_ON_DISK, Nodes, Snapshot};
use super::paged::{Buffer, PagedFile};
use crate::error::{Error, Result};

/// What a file of nodes begins with, in its page 0: then the number of the next node, that of the root, and its level.
const MAGIC: &[u8; 8] = b"rhumbB+1";

/// A B+-tree.
pub struct Tree {
    pub(super) nodes: Nodes,
    pub(super) root: u32,
    /// The level of the root.
    pub(super) height: u8,
}

impl Tree {
    /// An empty tree in memory.
    ///
    /// # Errors
    /// None that is known.
    pub fn in_memory() -> Result<Tree> {
        Tree::empty(Nodes::in_memory())
    }

    /// The tree in a file, or an empty one in a new file.
    ///
    /// # Errors
    /// If the file cannot be read, or is no tree.
    pub fn open(path: &Path, access: Access) -> Result<Tree> {
        let file = PagedFile::open(path, access)?;
        if file.pages()? == 0 {
            return Tree::empty(Nodes::on_disk(file, 1));
        }
        let mut page = Buffer::new(1);
        file.read(0, page.bytes_mut())?;
        let fields = page.bytes().strip_prefix(MAGIC).and_then(|rest| {
            let next = u32::from_le_bytes(*rest.first_chunk()?);
            let root = u32::from_le_bytes(*rest.get(4..)?.first_chunk()?);
            Some((next, root, *rest.get(8)?))
        });
        let Some((next, root, height)) = fields else {
            let found = "it begins otherwise".to_string();
            return Err(file.damaged("a B+-tree of the lab", found));
        };
        let nodes = Nodes::on_disk(file, next);
        let mut tree = Tree {
            nodes,
            root,
            height,
        };
        tree.hold_upper(root, height)?;
        Ok(tree)
    }

    fn empty(mut nodes: Nodes) -> Result<Tree> {
        let root = nodes.add()?;
        let mut page = Buffer::new(1);
        node::clear(page.bytes_mut(), 0, 0);
        nodes.write(root, &page)?;
        Ok(Tree {
            nodes,
            root,
            height: 0,
        })
    }

    /// Brings the levels into memory that are not read from the disk.
    fn hold_upper(&mut self, number: u32, level: u8) -> Result<()> {
        if level < LEVELS_ON_DISK {
            return Ok(());
        }
        let page = self.nodes.hold(number)?;
        let node = Node(&page);
        let keys = (0..node.count()).map(|at| node.cell(at).map(|(key, _)| key));
        let children = keys.map(|key| node.child(key?));
        for child in [Some(node.link())].into_iter().chain(children) {
            let child = child.filter(|_| node.level() == level);
            let child = child.ok_or_else(|| self.nodes.damaged(number))?;
            self.hold_upper(child, level - 1)?;
        }
        Ok(())
    }

    /// Writes what the next opening needs, and makes all durable.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self) -> Result<()> {
        let Some(file) = self.nodes.file() else {
            return Ok(());
        };
        let mut page = Buffer::new(1);
        let (next, root) = (self.nodes.next().to_le_bytes(), self.root.to_le_bytes());
        let fields = [&MAGIC[..], &next, &root, &[self.height]].concat();
        page.bytes_mut()[..fields.len()].copy_from_slice(&fields);
        file.write(0, page.bytes())?;
        file.sync()
    }

    /// Whether it has a single node, which holds nothing.
    ///
    /// # Errors
    /// If the node cannot be read.
    pub fn is_empty(&self) -> Result<bool> {
        let mut room = Buffer::new(1);
        let root = Node(self.nodes.read(self.root, &mut room)?);
        Ok(self.height == 0 && root.count() == 0)
    }

    /// Bytes of the nodes in memory.
    pub fn memory_bytes(&self) -> u64 {
        self.nodes.memory_bytes()
    }

    /// The nodes that a get reads from the disk.
    pub fn reads_of_a_get(&self) -> u64 {
        match self.nodes.file() {
            Some(_) => u64::from(self.height + 1).min(LEVELS_ON_DISK.into()),
            None => 0,
        }
    }

    /// The tree as it is now.
    pub fn snapshot(&mut self) -> Arc<Snapshot> {
        self.nodes.snapshot(self.root, self.height)
    }

    /// The leaf for a key, as a snapshot sees it or as it is. `path` becomes the inner nodes above it, from the root.
    pub(super) fn leaf_of(
        &self,
        key: &[u8],
        at: Option<&Snapshot>,
        path: &mut Vec<u32>,
    ) -> Result<u32> {
        let (mut number, height) = match at {
            Some(at) => (at.root, at.height),
            None => (self.root, self.height),
        };
        let mut room = Buffer::new(1);
        path.clear();
        for level in (1..=height).rev() {
            let page = match at {
                None => self.nodes.read(number, &mut room)?,
                Some(_) => {
                    self.nodes.copy(number, at, &mut room)?;
                    room.bytes()
                }
            };
            let node = Node(page);
            let child = Some(node).filter(|node| node.level() == level);
            let child = child.and_then(|node| node.child(key));
            path.push(number);
            number = child.ok_or_else(|| self.nodes.damaged(number))?;
        }
        Ok(number)
    }

    /// Sets `into` to the value of a key; returns false if it is absent.
    ///
    /// # Errors
    /// If a node cannot be read.
    pub fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool> {
        into.clear();
        let leaf = self.leaf_of(key, None, &mut Vec::new())?;
        let mut room = Buffer::new(1);
        let node = Node(self.nodes.read(leaf, &mut room)?);
        let found = node.find(key).filter(|_| node.level() == 0);
        match found.ok_or_else(|| self.nodes.damaged(leaf))? {
            Err(_) => Ok(false),
            Ok(at) => {
                let cell = node.cell(at);
                let (_, value) = cell.ok_or_else(|| self.nodes.damaged(leaf))?;
                into.extend_from_slice(value);
                Ok(true)
            }
        }
    }

    /// Puts a key with its value.
    ///
    /// # Errors
    /// If they are too long for a node; if a node cannot be read or written.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        check_size(key, value)?;
        let mut path = Vec::new();
        let leaf = self.leaf_of(key, None, &mut path)?;
        let is_put = self.nodes.update(leaf, |page| {
            let is_put = node::put(page, key, value)?;
            Some((is_put, is_put))
        })?;
        match is_put {
            true => Ok(()),
            false => self.split(leaf, key, value, path),
        }
    }

    /// Removes a key. Returns whether it was there.
    ///
    /// # Errors
    /// If a node cannot be read or written.
    pub fn remove(&mut self, key: &[u8]) -> Result<bool> {
        let leaf = self.leaf_of(key, None, &mut Vec::new())?;
        self.nodes.update(leaf, |page| {
            let is_removed = node::remove(page, key)?;
            Some((is_removed, is_removed))
        })
    }
}

/// Whether a key with its value fits into a node, and with the number of a child.
pub(super) fn check_size(key: &[u8], value: &[u8]) -> Result<()> {
    let length = key.len() + value.len().max(CHILD);
    if length <= LARGEST {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "a key with its value has {length} bytes, and the lab's indexes of pointers hold at most {LARGEST} in their \
         pages of 4 KiB: write shorter keys, and put values into a value log (btree-disk+)"
    )))
}
