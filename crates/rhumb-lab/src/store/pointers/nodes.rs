//! Where the nodes of a tree are, and what snapshots see of them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::node::Node;
use super::paged::{Buffer, PAGE, PagedFile};
use crate::error::{Error, Result};

/// Levels of a tree on disk that are read from there: the leaves and two levels of inner nodes (*LearnedKV*,
/// experiment 7).
pub const LEVELS_ON_DISK: u8 = 3;

/// The nodes of a tree by their numbers, from 1.
pub struct Nodes {
    home: Home,
    /// The number of the next node.
    next: u32,
    snapshots: Vec<Weak<Snapshot>>,
}

enum Home {
    /// In memory. There is no node 0.
    Memory(Vec<Box<[u8]>>),
    /// In a file. Nodes above those that are read from it are held in memory too.
    Disk(PagedFile, HashMap<u32, Box<[u8]>>),
}

/// The nodes as they were when it was made, for as long as somebody holds it.
pub struct Snapshot {
    /// The node at the top.
    pub root: u32,
    /// Its level.
    pub height: u8,
    /// Nodes from this number on came later.
    next: u32,
    /// What nodes were that have changed since.
    before: Mutex<HashMap<u32, Box<[u8]>>>,
}

impl Snapshot {
    fn before(&self) -> std::sync::MutexGuard<'_, HashMap<u32, Box<[u8]>>> {
        self.before.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Nodes {
    /// No nodes, in memory.
    pub fn in_memory() -> Nodes {
        Nodes {
            home: Home::Memory(vec![Box::default()]),
            next: 1,
            snapshots: Vec::new(),
        }
    }

    /// The nodes of a file, of which there are some with the numbers below `next`.
    pub fn on_disk(file: PagedFile, next: u32) -> Nodes {
        Nodes {
            home: Home::Disk(file, HashMap::new()),
            next,
            snapshots: Vec::new(),
        }
    }

    /// The file, if the nodes are in one.
    pub fn file(&self) -> Option<&PagedFile> {
        match &self.home {
            Home::Memory(_) => None,
            Home::Disk(file, _) => Some(file),
        }
    }

    /// One more than the number of nodes.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Bytes of the nodes that are in memory.
    pub fn memory_bytes(&self) -> u64 {
        let nodes = match &self.home {
            Home::Memory(nodes) => nodes.len() - 1,
            Home::Disk(_, upper) => upper.len(),
        };
        (nodes * PAGE) as u64
    }

    /// A node that is in memory.
    fn held(&self, number: u32) -> Option<&[u8]> {
        let node = match &self.home {
            Home::Memory(nodes) => nodes.get(number as usize),
            Home::Disk(_, upper) => upper.get(&number),
        };
        node.map(|node| &node[..]).filter(|node| node.len() == PAGE)
    }

    /// Reads a node of the disk.
    fn fetch(&self, number: u32, into: &mut Buffer) -> Result<()> {
        match &self.home {
            Home::Disk(file, _) if (1..self.next).contains(&number) => {
                file.read(number.into(), into.bytes_mut())
            }
            _ => Err(self.damaged(number)),
        }
    }

    /// Reads a node; into `room` if it is on the disk.
    ///
    /// # Errors
    /// If it cannot be read, or there is none.
    pub fn read<'a>(&'a self, number: u32, room: &'a mut Buffer) -> Result<&'a [u8]> {
        if let Some(node) = self.held(number) {
            return Ok(node);
        }
        self.fetch(number, room)?;
        Ok(room.bytes())
    }

    /// Copies a node as a snapshot sees it, or as it is.
    ///
    /// # Errors
    /// If it cannot be read, or there is none.
    pub fn copy(&self, number: u32, at: Option<&Snapshot>, into: &mut Buffer) -> Result<()> {
        if let Some(old) = at.and_then(|at| at.before().get(&number).cloned()) {
            into.bytes_mut().copy_from_slice(&old);
            return Ok(());
        }
        match self.held(number) {
            Some(node) => into.bytes_mut().copy_from_slice(node),
            None => self.fetch(number, into)?,
        }
        Ok(())
    }

    /// Changes a node. `change` returns its result, and whether it changed anything.
    ///
    /// # Errors
    /// If the node cannot be read or written, or `change` returns nothing.
    pub fn update<T>(
        &mut self,
        number: u32,
        change: impl FnOnce(&mut [u8]) -> Option<(T, bool)>,
    ) -> Result<T> {
        if self.has_snapshots() {
            self.keep(number)?;
        }
        if let Home::Memory(nodes) = &mut self.home {
            let node = nodes.get_mut(number as usize);
            let node = node.filter(|node| node.len() == PAGE);
            let changed = node.and_then(|node| change(node));
            let result = changed.map(|(result, _)| result);
            return result.ok_or_else(|| self.damaged(number));
        }
        let mut page = Buffer::new(1);
        self.copy(number, None, &mut page)?;
        let changed = change(page.bytes_mut());
        let (result, is_changed) = changed.ok_or_else(|| self.damaged(number))?;
        if is_changed {
            self.set(number, &page)?;
        }
        Ok(result)
    }

    /// Writes a node whole.
    ///
    /// # Errors
    /// If it cannot be written, or a snapshot needs what it was and it cannot be read.
    pub fn write(&mut self, number: u32, page: &Buffer) -> Result<()> {
        if self.has_snapshots() {
            self.keep(number)?;
        }
        self.set(number, page)
    }

    fn set(&mut self, number: u32, page: &Buffer) -> Result<()> {
        match &mut self.home {
            Home::Memory(nodes) => {
                if let Some(node) = nodes.get_mut(number as usize) {
                    *node = page.bytes().into();
                }
            }
            Home::Disk(file, upper) => {
                file.write(number.into(), page.bytes())?;
                if Node(page.bytes()).level() >= LEVELS_ON_DISK {
                    upper.insert(number, page.bytes().into());
                }
            }
        }
        Ok(())
    }

    /// Holds a node of the disk in memory.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn hold(&mut self, number: u32) -> Result<Box<[u8]>> {
        let mut page = Buffer::new(1);
        self.copy(number, None, &mut page)?;
        if let Home::Disk(_, upper) = &mut self.home {
            upper.insert(number, page.bytes().into());
        }
        Ok(page.bytes().into())
    }

    /// The number of a new node, which the caller writes.
    ///
    /// # Errors
    /// If there are 2^32 of them.
    pub fn add(&mut self) -> Result<u32> {
        let number = self.next;
        let next = number.checked_add(1);
        self.next = next.ok_or_else(|| {
            Error::Usage("a B+-tree of the lab has less than 2^32 nodes: write less".to_string())
        })?;
        if let Home::Memory(nodes) = &mut self.home {
            nodes.push(Box::default());
        }
        Ok(number)
    }

    /// The nodes as they are now.
    pub fn snapshot(&mut self, root: u32, height: u8) -> Arc<Snapshot> {
        self.snapshots.retain(|known| known.strong_count() > 0);
        let snapshot = Arc::new(Snapshot {
            root,
            height,
            next: self.next,
            before: Mutex::default(),
        });
        self.snapshots.push(Arc::downgrade(&snapshot));
        snapshot
    }

    fn has_snapshots(&mut self) -> bool {
        if !self.snapshots.is_empty() {
            self.snapshots.retain(|known| known.strong_count() > 0);
        }
        !self.snapshots.is_empty()
    }

    /// Keeps what a node is for all snapshots that have it.
    fn keep(&self, number: u32) -> Result<()> {
        let living = self.snapshots.iter().filter_map(Weak::upgrade);
        for snapshot in living.filter(|snapshot| number < snapshot.next) {
            let mut before = snapshot.before();
            if let Entry::Vacant(place) = before.entry(number) {
                let mut page = Buffer::new(1);
                self.copy(number, None, &mut page)?;
                place.insert(page.bytes().into());
            }
        }
        Ok(())
    }

    /// The error that a node makes no sense.
    pub fn damaged(&self, number: u32) -> Error {
        let expected = "a B+-tree of whole nodes";
        let found = format!("node {number} is missing or makes no sense");
        match &self.home {
            Home::Disk(file, _) => file.damaged(expected, found),
            Home::Memory(_) => Error::Input {
                path: PathBuf::from("memory"),
                expected,
                found,
            },
        }
    }
}
