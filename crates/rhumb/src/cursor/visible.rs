//! A cursor that turns versions into keys: it shows each visible key once, as of one sequence.

mod backward;
mod beside;
mod forward;
mod plain;

#[cfg(test)]
#[cfg(not(loom))]
pub(super) use beside::shown_beside;

use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;

use super::coverage::Coverage;
use super::{LevelCursor, MergeCursor, Source};
use crate::entry::{Content, Cursor, Direction, EntryKind, Pointer, Sequence, is_same};
use crate::error::{Error, Result};
use crate::memory::Pinned;
use crate::memtable::Memtable;
use crate::table::{GetTrace, PlainEntries};
use crate::version::{Levels, Run};

/// After this many deleted keys in a row, the range delete over them is asked where it ends, and all
/// that it hides is skipped. Fewer are passed faster one by one.
const DEAD_BEFORE_SKIP: u32 = 8;

/// After this many versions of one key, a seek is cheaper than more steps.
const STEPS_BEFORE_SEEK: u32 = 8;

/// Moves over the keys that are visible at a sequence: forwards from a lower bound or backwards
/// from an upper bound, but not both. Each step is given the opposite bound, and reads at most one
/// key beyond it. Before a step whose bound is nearer than that of the last one, the cursor has to
/// [leave plain entries](VisibleCursor::leave_plain).
pub(crate) struct VisibleCursor {
    versions: MergeCursor<Source>,
    /// What `versions` has lent, while keys are shown without it.
    plain: Option<PlainEntries>,
    /// How many keys were shown [beside that](VisibleCursor::next_beside) since the last plain entry was passed; 0: the key shown last
    /// is that of a plain entry.
    beside: u32,
    coverage: Coverage,
    levels: Arc<Levels>,
    visible: Sequence,
    /// Whether values are wanted.
    with_values: bool,
    /// The kind of the entry shown last, for a cursor that moves forwards.
    kind: EntryKind,
    /// The key shown last, or a deleted one behind it: no key between the two is shown.
    key: Vec<u8>,
    /// The key and sequence of the last seek over versions of a key.
    sought: Option<(Vec<u8>, Sequence)>,
}

/// Whether a run may hold keys between two bounds.
fn meets(run: &Run, from: Bound<&[u8]>, to: Bound<&[u8]>) -> bool {
    let from = match from {
        Bound::Included(key) | Bound::Excluded(key) => key,
        Bound::Unbounded => &[],
    };
    !run.overlapping(from, to).is_empty()
}

impl VisibleCursor {
    /// A cursor over `memtables`, newest first, and the runs of `levels` that may hold keys between
    /// two bounds, as of sequence `visible`. It shows nothing outside the bounds.
    pub fn new<'a>(
        memtables: impl Iterator<Item = &'a Arc<Memtable>> + Clone,
        levels: &'a Arc<Levels>,
        visible: Sequence,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<Self> {
        let runs = levels.all_runs().map(|(_, run)| run);
        let runs = runs.filter(|run| meets(run, from, to));
        let most = memtables.clone().count() + levels.runs_count();
        let mut versions = MergeCursor::with_capacity(most);
        for memtable in memtables.clone() {
            versions.push(Source::Memtable(memtable.cursor()));
        }
        for run in runs.clone() {
            versions.push(match run.tables() {
                [table] => Source::Table(Box::new(table.reader()?.cursor(true))),
                _ => Source::Level(LevelCursor::over_run(run.clone())),
            });
        }
        Ok(VisibleCursor {
            versions,
            plain: None,
            beside: 0,
            coverage: Coverage::new(memtables, runs, visible),
            levels: levels.clone(),
            visible,
            with_values: true,
            kind: EntryKind::Put,
            key: Vec::new(),
            sought: None,
        })
    }

    /// Leaves all that it read, and forgets what was counted on the way. It shows nothing until it [is used
    /// again](VisibleCursor::reuse).
    pub fn rest(&mut self) {
        self.forget();
        self.versions.rest(Source::rest);
        self.coverage.rest();
    }

    /// Forgets all that holds for the current entry.
    fn forget(&mut self) {
        (self.plain, self.beside, self.sought) = (None, 0, None);
    }

    /// Whether it is over all that its view holds, so that every other iterator may use it.
    pub fn has_all_runs(&self) -> bool {
        self.versions.children().len() == self.memtables() + self.levels.runs_count()
    }

    /// How many memtables it is over.
    fn memtables(&self) -> usize {
        let sources = self.versions.children();
        sources.filter(|source| !source.lends()).count()
    }

    /// Makes a cursor that rested and has all runs into one over the same levels and `memtables` of the same view, as
    /// [`VisibleCursor::new`] would. Returns `false` if that has other sources.
    pub fn reuse<'a>(
        &mut self,
        memtables: impl Iterator<Item = &'a Arc<Memtable>> + Clone,
        visible: Sequence,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> bool {
        let is_whole = matches!((from, to), (Bound::Unbounded, Bound::Unbounded));
        let mut runs = self.levels.all_runs();
        // A memtable that has entries keeps them, so as many filled ones of a view are the same ones.
        let has_its_sources = memtables.clone().count() == self.memtables()
            && (is_whole || runs.all(|(_, run)| meets(run, from, to)));
        if has_its_sources {
            (self.visible, self.with_values) = (visible, true);
            self.coverage.reuse(memtables, visible);
        }
        has_its_sources
    }

    /// Reads and pins no values from now on: moves backwards return empty ones.
    pub fn leave_values(&mut self) {
        self.with_values = false;
    }

    /// Adds the counts of the work in tables so far.
    pub fn add_trace(&self, trace: &mut GetTrace) {
        let sources = self.versions.children();
        sources.for_each(|source| trace.add(&source.trace()));
    }

    /// The key shown last.
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The kind of the entry of the key shown last.
    pub fn kind(&self) -> EntryKind {
        self.kind
    }

    /// The value of the key shown last, or the pointer to it, in place. Only for a cursor that moves forwards.
    #[inline]
    pub fn value(&self) -> &[u8] {
        match &self.plain {
            Some(plain) if self.beside == 0 => plain.value_bytes(),
            Some(_) => (self.versions.beside()).map_or(&[], Cursor::value_bytes),
            None => self.versions.value_bytes(),
        }
    }

    /// The value of the key shown last, pinned; empty for a pointer. Only for a cursor that moves forwards.
    pub fn pin_value(&mut self) -> Pinned {
        match &mut self.plain {
            Some(plain) if self.beside == 0 => plain.value(),
            Some(_) => (self.versions.beside_mut()).map_or_else(Pinned::empty, Cursor::value),
            None => self.versions.value(),
        }
    }

    /// The value of the entry under the cursor, whose kind was noted, pinned, or the pointer to it. That is the one
    /// shown last, for a cursor that moves forwards.
    pub fn content(&mut self) -> Content {
        match self.kind {
            EntryKind::Pointer => Content::Apart(Pointer::of_encoded(self.versions.value_bytes())),
            _ => Content::Here(self.pin_value()),
        }
    }

    /// Whether `versions` stands on a version of `self.key`.
    #[inline]
    fn is_on_key(&self) -> bool {
        let here = self.versions.here();
        here.is_some_and(|here| is_same(here.key, &self.key))
    }

    /// Whether the version under the cursor, the newest visible one of the key, is a value that is not deleted.
    /// Notes its kind.
    #[inline]
    fn is_alive(&mut self) -> Result<bool> {
        let covered = self.coverage.over(&self.key)?;
        let Some(here) = self.versions.here() else {
            return Ok(false);
        };
        let alive = here.kind.has_value() && here.sequence >= covered;
        self.kind = here.kind;
        Ok(alive)
    }

    /// Checks a seek past the versions of `self.key` to `sequence`. Each such seek must go further
    /// than the last one in the same direction; otherwise the tables are out of order, and the
    /// iteration might never end.
    fn note_seek(&mut self, sequence: Sequence, direction: Direction) -> Result<()> {
        let (last_key, last_sequence) = match &mut self.sought {
            Some(sought) => sought,
            none => {
                *none = Some((self.key.clone(), sequence));
                return Ok(());
            }
        };
        let order = (self.key.cmp(last_key)).then(sequence.cmp(last_sequence).reverse());
        let goes_on = match direction {
            Direction::Forward => order.is_gt(),
            Direction::Backward => order.is_lt(),
        };
        if !goes_on {
            return Err(out_of_order(&self.levels, &self.key));
        }
        last_key.clone_from(&self.key);
        *last_sequence = sequence;
        Ok(())
    }
}

/// The error for a key that was met twice. It names the first table that may hold the key; only
/// `verify` finds out which one is out of order.
fn out_of_order(levels: &Levels, key: &[u8]) -> Error {
    let table = levels.tables().find(|(_, t)| t.meta.may_hold(key));
    let path = table.map_or_else(PathBuf::new, |(_, t)| t.path());
    let expected = "ascending keys in this table and in those that overlap it";
    Error::corruption(&path, 0, expected, format!("the key {key:02x?} twice"))
}
