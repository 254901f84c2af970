//! `hybrid-pgm` and `hybrid-leco`: a B+-tree in memory over a sorted run on disk with a static index.
//!
//! ```text
//! in-use     while it is open
//! run-7      the run; each merge writes the next
//! ```

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Instant;

use ::rhumb::fs::Access;

use super::super::{Counters, Cursor, Footprint, Store};
use super::both::{self, Both, DELETED};
use super::merge::{Runs, State, exclusive, shared};
use super::nodes::Snapshot;
use super::page_index::Form;
use super::paged::{InUse, PAGE};
use super::run::Run;
use super::tree::Tree;
use crate::data::Pairs;
use crate::error::Result;

/// The tree in memory may always have so many bytes: else each put would merge where the static index takes all of the
/// memory.
pub const LEAST_MEMORY: u64 = 64 << 10;

/// A tree in memory over a run on disk.
pub struct Hybrid {
    runs: Runs,
    /// Bytes for the tree and the static index.
    memory_bytes: u64,
    in_use: InUse,
    state: RwLock<State>,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    gets: AtomicU64,
    /// Pages that gets read from the disk.
    read: AtomicU64,
    merges: AtomicU64,
    merged_bytes: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Hybrid {
    /// Opens or creates an index in a directory that exists.
    ///
    /// # Errors
    /// If it was not closed, or its run cannot be read.
    pub fn open(directory: &Path, form: Form, memory_bytes: u64, access: Access) -> Result<Hybrid> {
        let in_use = InUse::begin(directory)?;
        let runs = Runs {
            directory: directory.to_path_buf(),
            form,
            access,
        };
        Ok(Hybrid {
            state: RwLock::new(runs.open()?),
            runs,
            memory_bytes,
            in_use,
            counts: Counts::default(),
        })
    }

    /// The state, once nothing is being loaded.
    fn state(&self) -> Result<RwLockReadGuard<'_, State>> {
        loop {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            if !state.is_loading() {
                return Ok(state);
            }
            drop(state);
            drop(self.state_mut()?);
        }
    }

    fn state_mut(&self) -> Result<RwLockWriteGuard<'_, State>> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.end_loading()?;
        Ok(state)
    }

    /// Puts a key with the form of its value in memory.
    fn put(&self, state: &mut State, key: &[u8], value: &[u8]) -> Result<()> {
        state.put(key, value)?;
        match state.is_full(self.memory_bytes, LEAST_MEMORY) {
            true => self.merge(state),
            false => Ok(()),
        }
    }

    fn merge(&self, state: &mut State) -> Result<()> {
        let began = Instant::now();
        state.merge(&self.runs)?;
        let add = |counter: &AtomicU64, value| counter.fetch_add(value, Ordering::Relaxed);
        add(&self.counts.merges, 1);
        add(&self.counts.merged_bytes, state.run.file().bytes());
        add(&self.counts.nanoseconds, began.elapsed().as_nanos() as u64);
        Ok(())
    }
}

impl Store for Hybrid {
    fn write(&self, batch: &Pairs) -> Result<()> {
        let (mut state, mut form) = (self.state_mut()?, Vec::new());
        batch.iter().try_for_each(|(key, value)| {
            both::encode(value, &mut form);
            self.put(&mut state, key, &form)
        })
    }

    fn load(&self, batch: &Pairs) -> Result<()> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let loaded = state.load(&self.runs, batch)?;
        if loaded == batch.len() {
            return Ok(());
        }
        state.end_loading()?;
        let mut form = Vec::new();
        batch.iter().skip(loaded).try_for_each(|(key, value)| {
            both::encode(value, &mut form);
            self.put(&mut state, key, &form)
        })
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        let mut state = self.state_mut()?;
        self.put(&mut state, key, DELETED)
    }

    fn settle(&self) -> Result<()> {
        let mut state = self.state_mut()?;
        let is_empty = shared(&state.tree).is_empty()?;
        match is_empty {
            true => Ok(()),
            false => self.merge(&mut state),
        }
    }

    fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool> {
        self.counts.gets.fetch_add(1, Ordering::Relaxed);
        let state = self.state()?;
        if shared(&state.tree).get(key, into)? {
            let is_there = both::decode(into).is_some();
            into.drain(..1);
            return Ok(is_there);
        }
        let run = Arc::clone(&state.run);
        // Nobody has to wait for the disk.
        drop(state);
        let (is_there, read) = run.get(key, into)?;
        self.counts.read.fetch_add(read, Ordering::Relaxed);
        Ok(is_there)
    }

    fn with_cursor(&self, with: &mut dyn FnMut(&mut dyn Cursor) -> Result<()>) -> Result<()> {
        let state = self.state()?;
        let (tree, run) = (Arc::clone(&state.tree), Arc::clone(&state.run));
        let snapshot = exclusive(&tree).snapshot();
        drop(state);
        with(&mut Forward {
            tree,
            snapshot,
            run,
            both: Both::new(),
        })
    }

    fn footprint(&self) -> Result<Option<Footprint>> {
        let state = self.state()?;
        Ok(Some(Footprint {
            index: shared(&state.tree).memory_bytes() + state.run.index_bytes(),
            tables: 1,
            table_bytes: Some(state.run.file().bytes()),
            ..Footprint::default()
        }))
    }

    fn counters(&self) -> Result<Counters> {
        let mut counters = Counters::default();
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counts = &self.counts;
        let bytes_read = value(&counts.read) * PAGE as u64;
        counters.put("gets", value(&counts.gets), "gets");
        counters.put("get_blocks_read", value(&counts.read), "blocks");
        counters.put("get_bytes_read", bytes_read, "B");
        counters.put("merges", value(&counts.merges), "merges");
        counters.put("merged_bytes", value(&counts.merged_bytes), "B");
        counters.put("merge_time", value(&counts.nanoseconds), "ns");
        Ok(counters)
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.settle()?;
        self.in_use.end()
    }
}

/// A cursor over the tree and the run of the moment when it was made; the tree is locked for each step alone.
struct Forward {
    tree: Arc<RwLock<Tree>>,
    snapshot: Arc<Snapshot>,
    run: Arc<Run>,
    both: Both,
}

impl Cursor for Forward {
    fn seek(&mut self, key: &[u8]) -> Result<bool> {
        let tree = shared(&self.tree);
        self.both.seek(&tree, Some(&self.snapshot), &self.run, key)
    }

    fn advance(&mut self) -> Result<bool> {
        let tree = shared(&self.tree);
        self.both.advance(&tree, Some(&self.snapshot), &self.run)
    }

    fn pair(&self) -> (&[u8], &[u8]) {
        self.both.pair(&self.run)
    }
}
