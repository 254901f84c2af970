//! The pairs of a tree in memory and of the run below it, as one.

use std::cmp::Ordering;

use super::nodes::Snapshot;
use super::run::Run;
use super::run_walk::RunWalk;
use super::tree::Tree;
use super::walk::Walk;
use crate::error::Result;

/// What stands before each value in memory.
const VALUE: u8 = 1;

/// The value in memory of a key that was deleted.
pub const DELETED: &[u8] = &[0];

/// Sets `into` to the form of a value in memory.
pub fn encode(value: &[u8], into: &mut Vec<u8>) {
    into.clear();
    into.push(VALUE);
    into.extend_from_slice(value);
}

/// The value of a form in memory; none if the key was deleted.
pub fn decode(bytes: &[u8]) -> Option<&[u8]> {
    bytes.strip_prefix(&[VALUE])
}

/// A place in both, moved forwards. What is in memory hides what is in the run.
pub struct Both {
    memory: Walk,
    run: RunWalk,
    is_in_memory: bool,
    is_in_run: bool,
}

impl Both {
    /// A walk that begins with [`Both::seek`].
    pub fn new() -> Both {
        Both {
            memory: Walk::new(),
            run: RunWalk::new(1),
            is_in_memory: false,
            is_in_run: false,
        }
    }

    /// Moves to the first pair whose key is `key` or greater. Returns false if there is none.
    ///
    /// # Errors
    /// If a page cannot be read.
    pub fn seek(
        &mut self,
        tree: &Tree,
        snapshot: Option<&Snapshot>,
        run: &Run,
        key: &[u8],
    ) -> Result<bool> {
        self.is_in_memory = self.memory.seek(tree, snapshot, key)?;
        self.is_in_run = self.run.seek(run, key)?;
        self.skip_deleted(tree, snapshot, run)
    }

    /// Moves to the next pair. Returns false if there is none.
    ///
    /// # Errors
    /// If a page cannot be read.
    pub fn advance(&mut self, tree: &Tree, snapshot: Option<&Snapshot>, run: &Run) -> Result<bool> {
        self.step(tree, snapshot, run)?;
        self.skip_deleted(tree, snapshot, run)
    }

    /// The present pair; empty if there is none.
    pub fn pair<'a>(&'a self, run: &Run) -> (&'a [u8], &'a [u8]) {
        match self.nearer(run) {
            None => (&[], &[]),
            Some(Ordering::Greater) => self.run.pair(run.file()),
            Some(_) => {
                let (key, value) = self.memory.pair();
                (key, decode(value).unwrap_or_default())
            }
        }
    }

    /// How the key in memory compares to that in the run.
    fn nearer(&self, run: &Run) -> Option<Ordering> {
        match (self.is_in_memory, self.is_in_run) {
            (false, false) => None,
            (true, false) => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            (true, true) => Some(self.memory.pair().0.cmp(self.run.pair(run.file()).0)),
        }
    }

    fn step(&mut self, tree: &Tree, snapshot: Option<&Snapshot>, run: &Run) -> Result<()> {
        let nearer = self.nearer(run);
        if matches!(nearer, Some(Ordering::Less | Ordering::Equal)) {
            self.is_in_memory = self.memory.advance(tree, snapshot)?;
        }
        if matches!(nearer, Some(Ordering::Greater | Ordering::Equal)) {
            self.is_in_run = self.run.advance(run.file())?;
        }
        Ok(())
    }

    fn skip_deleted(
        &mut self,
        tree: &Tree,
        snapshot: Option<&Snapshot>,
        run: &Run,
    ) -> Result<bool> {
        loop {
            match self.nearer(run) {
                None => return Ok(false),
                Some(Ordering::Less | Ordering::Equal)
                    if decode(self.memory.pair().1).is_none() =>
                {
                    self.step(tree, snapshot, run)?;
                }
                Some(_) => return Ok(true),
            }
        }
    }
}

/// Calls `with` with all pairs of both, in the order of their keys. Nothing may change meanwhile.
///
/// # Errors
/// If a page cannot be read; any error of `with`.
pub fn for_pairs(
    tree: &Tree,
    run: &Run,
    mut with: impl FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<()> {
    let mut both = Both::new();
    let mut more = both.seek(tree, None, run, b"")?;
    while more {
        let (key, value) = both.pair(run);
        with(key, value)?;
        more = both.advance(tree, None, run)?;
    }
    Ok(())
}
