//! `btree-disk`: a B+-tree on disk as a store.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use ::rhumb::fs::Access;

use super::super::{Counters, Cursor, Footprint, Store};
use super::nodes::Snapshot;
use super::paged::{InUse, PAGE};
use super::tree::Tree;
use super::walk::Walk;
use crate::data::Pairs;
use crate::error::Result;

/// A B+-tree whose leaves and two lowest inner levels are read from the disk at each operation.
pub struct BTreeDisk {
    tree: RwLock<Tree>,
    in_use: InUse,
    /// Whether a change was left half done.
    is_broken: AtomicBool,
    gets: AtomicU64,
    /// Nodes that gets read from the disk.
    read: AtomicU64,
}

impl BTreeDisk {
    /// Opens or creates a tree in a directory that exists.
    ///
    /// # Errors
    /// If it was not closed, or its file cannot be read.
    pub fn open(directory: &Path, access: Access) -> Result<BTreeDisk> {
        let in_use = InUse::begin(directory)?;
        let tree = Tree::open(&directory.join("nodes"), access)?;
        Ok(BTreeDisk {
            tree: RwLock::new(tree),
            in_use,
            is_broken: AtomicBool::new(false),
            gets: AtomicU64::new(0),
            read: AtomicU64::new(0),
        })
    }

    fn tree(&self) -> RwLockReadGuard<'_, Tree> {
        self.tree.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn tree_mut(&self) -> RwLockWriteGuard<'_, Tree> {
        self.tree.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the tree. After an error it will not be opened again.
    fn change<T>(&self, change: impl FnOnce(&mut Tree) -> Result<T>) -> Result<T> {
        let changed = change(&mut self.tree_mut());
        if changed.is_err() {
            self.is_broken.store(true, Ordering::Relaxed);
        }
        changed
    }
}

impl Store for BTreeDisk {
    fn write(&self, batch: &Pairs) -> Result<()> {
        self.change(|tree| {
            let mut pairs = batch.iter();
            pairs.try_for_each(|(key, value)| tree.put(key, value))
        })
    }

    fn load(&self, batch: &Pairs) -> Result<()> {
        self.change(|tree| {
            let loaded = tree.load(batch)?;
            let mut rest = batch.iter().skip(loaded);
            rest.try_for_each(|(key, value)| tree.put(key, value))
        })
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        self.change(|tree| tree.remove(key).map(drop))
    }

    fn settle(&self) -> Result<()> {
        self.tree().save()
    }

    fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool> {
        let tree = self.tree();
        self.gets.fetch_add(1, Ordering::Relaxed);
        self.read
            .fetch_add(tree.reads_of_a_get(), Ordering::Relaxed);
        tree.get(key, into)
    }

    fn with_cursor(&self, with: &mut dyn FnMut(&mut dyn Cursor) -> Result<()>) -> Result<()> {
        let snapshot = self.tree_mut().snapshot();
        with(&mut Forward {
            store: self,
            snapshot: &snapshot,
            walk: Walk::new(),
        })
    }

    fn footprint(&self) -> Result<Option<Footprint>> {
        let tree = self.tree();
        Ok(Some(Footprint {
            index: tree.memory_bytes(),
            tables: 1,
            table_bytes: Some(u64::from(tree.nodes.next()) * PAGE as u64),
            ..Footprint::default()
        }))
    }

    fn counters(&self) -> Result<Counters> {
        let mut counters = Counters::default();
        let read = self.read.load(Ordering::Relaxed);
        counters.put("gets", self.gets.load(Ordering::Relaxed), "gets");
        counters.put("get_blocks_read", read, "blocks");
        counters.put("get_bytes_read", read * PAGE as u64, "B");
        Ok(counters)
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.tree().save()?;
        match self.is_broken.load(Ordering::Relaxed) {
            true => Ok(()),
            false => self.in_use.end(),
        }
    }
}

/// A cursor over a snapshot; the tree is locked for each step alone.
struct Forward<'a> {
    store: &'a BTreeDisk,
    snapshot: &'a Snapshot,
    walk: Walk,
}

impl Cursor for Forward<'_> {
    fn seek(&mut self, key: &[u8]) -> Result<bool> {
        let tree = self.store.tree();
        self.walk.seek(&tree, Some(self.snapshot), key)
    }

    fn advance(&mut self) -> Result<bool> {
        let tree = self.store.tree();
        self.walk.advance(&tree, Some(self.snapshot))
    }

    fn pair(&self) -> (&[u8], &[u8]) {
        self.walk.pair()
    }
}
