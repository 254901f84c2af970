//! A cursor that turns versions into keys: it shows each visible key once, as of one sequence.

use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;

use super::coverage::Coverage;
use super::{Lends, LevelCursor, MergeCursor, Source};
use crate::entry::{
    Content, Cursor, Direction, EntryKind, Pointer, Sequence, is_before, is_behind, is_same,
    set_key, successor,
};
use crate::error::{Error, Result};
use crate::memory::Pinned;
use crate::memtable::Memtable;
use crate::table::{GetTrace, PlainEntries, Reach, Rows};
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
        (self.plain, self.sought) = (None, None);
        self.versions.rest(Source::rest);
        self.coverage.rest();
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
            Some(plain) => plain.value_bytes(),
            None => self.versions.value_bytes(),
        }
    }

    /// The value of the key shown last, pinned; empty for a pointer. Only for a cursor that moves forwards.
    pub fn pin_value(&mut self) -> Pinned {
        match &mut self.plain {
            Some(plain) => plain.value(),
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

    /// Shows the first key between the bounds. Returns `false` if there is none.
    pub fn first(&mut self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Result<bool> {
        (self.sought, self.plain) = (None, None);
        match from {
            Bound::Unbounded => self.versions.seek_first()?,
            Bound::Included(key) => self.versions.seek(key, self.visible)?,
            Bound::Excluded(key) => self.versions.seek(&successor(key), self.visible)?,
        }
        self.show_forward(to)
    }

    /// Shows the last key between the bounds. Returns its value or the pointer to it, or `None` if there is no such
    /// key.
    pub fn last(&mut self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Result<Option<Content>> {
        (self.sought, self.plain) = (None, None);
        match to {
            Bound::Unbounded => self.versions.seek_last()?,
            Bound::Included(key) => self.versions.seek_before(&successor(key))?,
            Bound::Excluded(key) => self.versions.seek_before(key)?,
        }
        self.show_backward(from)
    }

    /// Shows the next key up to a bound. The cursor must have moved forwards to a key before.
    #[inline]
    pub fn next(&mut self, to: Bound<&[u8]>) -> Result<bool> {
        match self.next_plain() {
            true => Ok(true),
            false => self.next_merged(to),
        }
    }

    /// Shows the next key, if it is that of a plain entry; otherwise does nothing, and returns `false`.
    #[inline]
    pub fn next_plain(&mut self) -> bool {
        let plain = self.plain.as_mut();
        plain.is_some_and(|plain| plain.next(&mut self.key))
    }

    /// Moves over up to `most` plain entries up to a bound, and sets `rows` to them; their values are ranges of [the values at
    /// hand](VisibleCursor::values_at_hand).
    pub fn next_many(&mut self, most: usize, to: Bound<&[u8]>, rows: &mut Rows) {
        self.extend_plain_to(most, to);
        match &mut self.plain {
            Some(plain) => plain.next_many(false, most, &mut self.key, rows),
            None => rows.clear(),
        }
    }

    /// Sets `rows` to the key shown last by a move forwards and up to `most` plain entries behind it, up to a bound.
    pub fn with_plain_behind(&mut self, most: usize, to: Bound<&[u8]>, rows: &mut Rows) {
        self.extend_plain_to(most, to);
        match &mut self.plain {
            Some(plain) => plain.next_many(true, most, &mut self.key, rows),
            None => {
                rows.clear();
                rows.push(&self.key, (0, self.versions.value_bytes().len()));
            }
        }
    }

    /// What the values of entries added to rows are ranges of.
    #[inline]
    pub fn values_at_hand(&self) -> &[u8] {
        match &self.plain {
            Some(plain) => plain.bytes(),
            None => self.versions.value_bytes(),
        }
    }

    /// As [`VisibleCursor::next`], from the end of plain entries.
    // Not inlined: most steps are over plain entries.
    #[inline(never)]
    fn next_merged(&mut self, to: Bound<&[u8]>) -> Result<bool> {
        let more = match self.plain {
            Some(_) => self.extend_plain(Direction::Forward, to),
            // A seek whose entry is the only one that is wanted asks for none.
            None if self.kind == EntryKind::Put => self.enter_plain(Direction::Forward, to),
            None => false,
        };
        if more && self.next_plain() || self.next_plain_block(to)? {
            return Ok(true);
        }
        self.leave_plain();
        self.versions.next()?;
        match self.versions.here() {
            None => Ok(false),
            // Most entries are the newest and visible version of another key, and nothing deletes it.
            Some(here)
                if self.coverage.is_empty()
                    && here.sequence <= self.visible
                    && here.kind.has_value()
                    && !is_behind(here.key, to)
                    && !is_same(here.key, &self.key) =>
            {
                self.kind = here.kind;
                set_key(&mut self.key, here.key);
                Ok(true)
            }
            Some(here) => {
                if is_same(here.key, &self.key) {
                    self.skip_key_forward()?;
                }
                self.show_forward(to)
            }
        }
    }

    /// Goes on with the plain entries of the current block, as far as they come before a bound, all entries of other runs, and
    /// the next range delete. Returns whether there are any.
    fn enter_plain(&mut self, direction: Direction, bound: Bound<&[u8]>) -> bool {
        if let Some(limits) = self.coverage.limits(direction, bound) {
            let reach = Reach {
                direction,
                limits,
                visible: self.visible,
                with_values: self.with_values,
            };
            self.versions.lend(reach, &mut self.plain);
        }
        self.plain.is_some()
    }

    /// Has more plain entries of the same block, up to the same limits, at the end of those there are. Returns whether there may
    /// be any.
    fn extend_plain(&mut self, direction: Direction, bound: Bound<&[u8]>) -> bool {
        match (self.coverage.limits(direction, bound), &mut self.plain) {
            (Some(limits), Some(plain)) => self.versions.extend(plain, limits),
            _ => false,
        }
    }

    /// Shows the first key of the next block, if its entry is plain as those are that were lent.
    fn next_plain_block(&mut self, to: Bound<&[u8]>) -> Result<bool> {
        let limits = self.coverage.limits(Direction::Forward, to);
        match (limits, &mut self.plain) {
            (Some(limits), Some(plain)) => self.versions.lend_next(plain, limits, &mut self.key),
            _ => Ok(false),
        }
    }

    /// Has `most` plain entries forwards, or all that there are in the block up to a bound.
    fn extend_plain_to(&mut self, most: usize, to: Bound<&[u8]>) {
        let falls_short = |plain: &PlainEntries| plain.falls_short_of(most);
        while self.plain.as_ref().is_some_and(falls_short)
            && self.extend_plain(Direction::Forward, to)
        {}
    }

    /// Ends the way over plain entries, so that the next step sees a bound that may have moved towards the cursor.
    pub fn leave_plain(&mut self) {
        if let Some(plain) = self.plain.take() {
            self.versions.take_back(plain, &self.key);
        }
    }

    /// Shows the first key from where the last move forwards, which showed none, has ended.
    pub fn go_on(&mut self, to: Bound<&[u8]>) -> Result<bool> {
        self.show_forward(to)
    }

    /// Shows the key before, down to a bound. The cursor must have moved backwards to a key before.
    pub fn prev(&mut self, from: Bound<&[u8]>) -> Result<Option<Content>> {
        match self.prev_plain() {
            None => self.prev_merged(from),
            shown => Ok(shown),
        }
    }

    /// As [`VisibleCursor::next_plain`], backwards.
    #[inline]
    fn prev_plain(&mut self) -> Option<Content> {
        let plain = self.plain.as_mut()?;
        plain.prev(&mut self.key).then(|| match self.with_values {
            true => Content::Here(plain.value()),
            false => Content::none(),
        })
    }

    /// As [`VisibleCursor::prev`], from the end of plain entries.
    #[inline(never)]
    fn prev_merged(&mut self, from: Bound<&[u8]>) -> Result<Option<Content>> {
        self.extend_plain(Direction::Backward, from);
        if let Some(shown) = self.prev_plain() {
            return Ok(Some(shown));
        }
        self.leave_plain();
        let shown = self.show_backward(from)?;
        if shown.is_some() {
            self.enter_plain(Direction::Backward, from);
        }
        Ok(shown)
    }

    /// Whether `versions` stands on a version of `self.key`.
    #[inline]
    fn is_on_key(&self) -> bool {
        let here = self.versions.here();
        here.is_some_and(|here| is_same(here.key, &self.key))
    }

    /// Shows the first visible key from here on. The cursor is on the first version of a key.
    #[inline]
    fn show_forward(&mut self, to: Bound<&[u8]>) -> Result<bool> {
        let mut dead = 0;
        while let Some(here) = self.versions.here() {
            if is_behind(here.key, to) {
                return Ok(false);
            }
            set_key(&mut self.key, here.key);
            if here.sequence <= self.visible || self.skip_invisible()? {
                if self.is_alive()? {
                    return Ok(true);
                }
                dead += 1;
                if dead < DEAD_BEFORE_SKIP || !self.skip_deleted_forward(to)? {
                    self.skip_key_forward()?;
                }
            }
        }
        Ok(false)
    }

    /// Moves past all that is hidden by the newest range delete over `self.key`, if it hides the
    /// version under the cursor. Returns whether it does.
    #[cold]
    fn skip_deleted_forward(&mut self, to: Bound<&[u8]>) -> Result<bool> {
        let covered = self.coverage.over(&self.key)?;
        if self.versions.sequence() >= covered {
            return Ok(false);
        }
        self.note_seek(0, Direction::Forward)?;
        let end = self.coverage.end(to)?;
        self.versions.skip_older(&end, covered)?;
        Ok(true)
    }

    /// Moves backwards past all that is hidden by the newest range delete over the key under the
    /// cursor.
    #[cold]
    fn skip_deleted_backward(&mut self, from: Bound<&[u8]>) -> Result<()> {
        // A key before the bound is not passed, so it must not become the key passed last: it may have newer
        // versions that are not deleted.
        let Some(here) = self
            .versions
            .here()
            .filter(|here| !is_before(here.key, from))
        else {
            return Ok(());
        };
        let covered = self.coverage.over(here.key)?;
        if here.sequence >= covered {
            return Ok(());
        }
        set_key(&mut self.key, here.key);
        self.note_seek(0, Direction::Backward)?;
        let start = self.coverage.start(from)?;
        self.versions.skip_older_back(&start, covered)
    }

    /// Moves past the versions of `self.key` that are too new to be visible. Returns whether a
    /// visible one follows.
    fn skip_invisible(&mut self) -> Result<bool> {
        let mut steps = 0;
        while self.versions.sequence() > self.visible {
            steps += 1;
            if steps == STEPS_BEFORE_SEEK {
                self.note_seek(self.visible, Direction::Forward)?;
                self.versions.seek_on(&self.key, self.visible)?;
            } else {
                self.versions.next()?;
            }
            if !self.is_on_key() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Moves from a version of `self.key` to the first version of a later key.
    #[inline]
    fn skip_key_forward(&mut self) -> Result<()> {
        let mut steps = 0;
        loop {
            steps += 1;
            if steps == STEPS_BEFORE_SEEK {
                self.note_seek(0, Direction::Forward)?;
                self.versions.seek_on(&self.key, 0)?;
            } else {
                self.versions.next()?;
            }
            if !self.is_on_key() {
                return Ok(());
            }
        }
    }

    /// Shows the first visible key from here backwards. The cursor is on the last version of a key.
    fn show_backward(&mut self, from: Bound<&[u8]>) -> Result<Option<Content>> {
        let mut dead = 0;
        while let Some(here) = self.versions.here() {
            if is_before(here.key, from) {
                return Ok(None);
            }
            set_key(&mut self.key, here.key);
            match self.newest_visible_backward() {
                Ok(None) => {}
                found_or_failed => return found_or_failed,
            }
            dead += 1;
            if dead >= DEAD_BEFORE_SKIP {
                self.skip_deleted_backward(from)?;
            }
        }
        Ok(None)
    }

    /// Moves backwards over all versions of `self.key`, from the oldest one. Returns the newest visible
    /// version if it is not deleted.
    fn newest_visible_backward(&mut self) -> Result<Option<Content>> {
        let mut newest = None;
        let mut steps = 0;
        loop {
            if self.versions.sequence() <= self.visible {
                newest = match self.is_alive()? {
                    true => Some(self.pin_here()),
                    false => None,
                };
            }
            self.versions.prev()?;
            if !self.is_on_key() {
                return Ok(newest);
            }
            steps += 1;
            if steps == STEPS_BEFORE_SEEK {
                return self.newest_visible_by_seek();
            }
        }
    }

    fn newest_visible_by_seek(&mut self) -> Result<Option<Content>> {
        self.note_seek(self.visible, Direction::Backward)?;
        self.versions.seek(&self.key, self.visible)?;
        let alive = self.is_on_key() && self.is_alive()?;
        let newest = alive.then(|| self.pin_here());
        self.versions.seek_before(&self.key)?;
        Ok(newest)
    }

    /// The value under the cursor, or the pointer to it, if values are wanted.
    fn pin_here(&mut self) -> Content {
        match self.with_values {
            true => self.content(),
            false => Content::none(),
        }
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
