//! A cursor over visible keys that brings their values from where they lie.

use std::ops::Bound;
use std::sync::Arc;

use super::VisibleCursor;
use super::ahead::Ahead;
use crate::entry::{Content, EntryKind, Pointer, is_before, is_behind};
use crate::error::Result;
use crate::memory::Pinned;
use crate::table::{GetTrace, Rows};
use crate::version::Levels;

/// Values in value files are read one, then two, then four at a time, and so on up to so many: a scan that goes on
/// gets them in few reads, in the order of their places, and a short one reads few for nothing.
const MOST_AHEAD: usize = 64;
/// What is read ahead has about so many bytes at most.
const MOST_BYTES_AHEAD: u64 = 1 << 20;

/// A [`VisibleCursor`] with values in place of pointers. Where entries point into value files it goes ahead of what it
/// shows, and reads their values together.
pub(crate) struct ResolvedCursor {
    cursor: VisibleCursor,
    levels: Arc<Levels>,
    /// The id of the keyspace, which stands with each value in value files.
    keyspace: u32,
    /// Whether there are pointers to resolve: values are wanted, and some may lie in value files.
    resolves: bool,
    /// What is shown, if it is not what `cursor` shows, and what follows, up to where `cursor` is.
    ahead: Ahead,
    /// Whether `cursor` has moved forwards from its last key without showing another.
    stopped: bool,
    /// How many entries were read together last.
    depth: usize,
}

impl ResolvedCursor {
    /// Brings the values of what a cursor over `levels` shows, in the keyspace with this id. Not `with_values`, it reads and
    /// pins none.
    pub fn new(
        cursor: VisibleCursor,
        levels: &Arc<Levels>,
        keyspace: u32,
        with_values: bool,
    ) -> Self {
        let mut resolved = ResolvedCursor {
            cursor,
            levels: Arc::clone(levels),
            keyspace,
            resolves: false,
            ahead: Ahead::default(),
            stopped: false,
            depth: 1,
        };
        resolved.set_values(with_values);
        resolved
    }

    /// As [`VisibleCursor::rest`].
    pub fn rest(&mut self) {
        self.forget();
        self.cursor.rest();
    }

    /// As [`VisibleCursor::has_all_runs`].
    pub fn has_all_runs(&self) -> bool {
        self.cursor.has_all_runs()
    }

    /// Makes a cursor that rested into another one over the same levels, if `reuse` can make its visible keys those of that one;
    /// see [`VisibleCursor::reuse`]. Returns whether it could.
    pub fn reuse(
        &mut self,
        with_values: bool,
        reuse: impl FnOnce(&mut VisibleCursor) -> bool,
    ) -> bool {
        let is_reused = reuse(&mut self.cursor);
        if is_reused {
            self.set_values(with_values);
        }
        is_reused
    }

    fn set_values(&mut self, with_values: bool) {
        self.resolves = with_values && !self.levels.value_files().is_empty();
        if !with_values {
            self.cursor.leave_values();
        }
    }

    /// Reads and pins no values from now on: moves backwards return empty ones. The next move must be to the first or
    /// last key between some bounds.
    pub fn leave_values(&mut self) {
        self.set_values(false);
    }

    /// Lets the next step see its bound, if that may be nearer than that of the last step.
    pub fn see_bound(&mut self) {
        self.cursor.leave_plain();
    }

    /// Adds the counts of the work in tables so far.
    pub fn add_trace(&self, trace: &mut GetTrace) {
        self.cursor.add_trace(trace);
    }

    /// The key shown last.
    #[inline]
    pub fn key(&self) -> &[u8] {
        match self.ahead.shown() {
            None => self.cursor.key(),
            Some((key, _)) => key,
        }
    }

    /// The value of the key shown last, in place. Only for a cursor that moves forwards.
    #[inline]
    pub fn value(&self) -> &[u8] {
        match self.ahead.shown() {
            None => self.cursor.value(),
            Some((_, value)) => value,
        }
    }

    /// The value of the key shown last, pinned. Only for a cursor that moves forwards.
    pub fn pin_value(&mut self) -> Pinned {
        match self.ahead.shown() {
            None => self.cursor.pin_value(),
            Some((_, value)) => value.clone(),
        }
    }

    /// Shows the first key between the bounds. Returns `false` if there is none.
    pub fn first(&mut self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Result<bool> {
        self.forget();
        let shown = self.cursor.first(from, to)?;
        self.resolve_shown(shown)
    }

    /// Shows the last key between the bounds. Returns its value, or `None` if there is no such key.
    pub fn last(&mut self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Result<Option<Pinned>> {
        self.forget();
        let found = self.cursor.last(from, to)?;
        match self.resolves {
            true => self.resolve_found(found),
            false => Ok(found.map(Content::into_value)),
        }
    }

    /// Shows the next key up to a bound. The cursor must have moved forwards to a key before.
    #[inline]
    pub fn next(&mut self, to: Bound<&[u8]>) -> Result<bool> {
        match self.resolves {
            true => self.next_resolved(to),
            false => self.cursor.next(to),
        }
    }

    /// Shows the next key, if that needs no merge; otherwise does nothing, and returns `false`.
    #[inline]
    pub fn next_plain(&mut self) -> bool {
        !self.resolves && self.cursor.next_plain()
    }

    /// Moves over up to `most` keys that need no merge, up to a bound, and sets `rows` to them, maybe to none; their values are
    /// ranges of [the values at hand](ResolvedCursor::values_at_hand).
    pub fn next_many(&mut self, most: usize, to: Bound<&[u8]>, rows: &mut Rows) {
        match self.resolves {
            true => rows.clear(),
            false => self.cursor.next_many(most, to, rows),
        }
    }

    /// Sets `rows` to the key shown last by a move forwards and up to `most` behind it that need no merge, up to a bound.
    pub fn with_plain_behind(&mut self, most: usize, to: Bound<&[u8]>, rows: &mut Rows) {
        if self.resolves {
            rows.clear();
            rows.push(self.key(), (0, self.value().len()));
            return;
        }
        self.cursor.with_plain_behind(most, to, rows);
    }

    /// What the values of entries added to rows are ranges of.
    #[inline]
    pub fn values_at_hand(&self) -> &[u8] {
        match self.resolves {
            true => self.value(),
            false => self.cursor.values_at_hand(),
        }
    }

    /// Shows the key before, down to a bound. The cursor must have moved backwards to a key before.
    #[inline]
    pub fn prev(&mut self, from: Bound<&[u8]>) -> Result<Option<Pinned>> {
        match self.resolves {
            true => self.prev_resolved(from),
            false => Ok(self.cursor.prev(from)?.map(Content::into_value)),
        }
    }

    fn forget(&mut self) {
        self.ahead.clear();
        self.stopped = false;
        self.depth = 1;
    }

    /// Brings the value of what `cursor` shows by a move forwards, if it shows something.
    fn resolve_shown(&mut self, shown: bool) -> Result<bool> {
        if shown && self.resolves && self.cursor.kind() == EntryKind::Pointer {
            let content = self.cursor.content();
            self.resolve_found(Some(content))?;
        }
        Ok(shown)
    }

    /// Brings the value of what `cursor` shows by a move backwards: this, or where a pointer leads.
    fn resolve_found(&mut self, found: Option<Content>) -> Result<Option<Pinned>> {
        match found {
            Some(Content::Apart(pointer)) => self.show_apart(pointer).map(Some),
            Some(Content::Here(value)) => Ok(Some(value)),
            None => Ok(None),
        }
    }

    /// Shows the key of `cursor` with the value that a pointer leads to.
    fn show_apart(&mut self, pointer: Pointer) -> Result<Pinned> {
        let key = self.cursor.key();
        let files = self.levels.value_files();
        let value = files.read(self.keyspace, key, pointer)?;
        self.ahead.clear();
        self.ahead.push(key, Content::Here(value.clone()));
        Ok(value)
    }

    /// Shows the next key, whose value may have been read ahead.
    // Kept out of scans over tables without value files, which it would slow down.
    #[cold]
    fn next_resolved(&mut self, to: Bound<&[u8]>) -> Result<bool> {
        if self.ahead.shown().is_none() {
            let shown = self.cursor.next(to)?;
            return self.resolve_shown(shown);
        }
        if self.ahead.is_at_end() {
            let mut stopped = self.stopped;
            self.go_ahead(|cursor| {
                let shown = match stopped {
                    // There was no more up to the bound then, which may have been another.
                    true => cursor.go_on(to)?,
                    false => cursor.next(to)?,
                };
                stopped = !shown;
                Ok(shown.then(|| cursor.content()))
            });
            self.stopped = stopped;
        }
        self.ahead.show_next(|key| is_behind(key, to))
    }

    /// Shows the key before, whose value may have been read ahead.
    // As above.
    #[cold]
    fn prev_resolved(&mut self, from: Bound<&[u8]>) -> Result<Option<Pinned>> {
        if self.ahead.shown().is_none() {
            let found = self.cursor.prev(from)?;
            return self.resolve_found(found);
        }
        if self.ahead.is_at_end() {
            self.go_ahead(|cursor| cursor.prev(from));
        }
        let shown = self.ahead.show_next(|key| is_before(key, from))?;
        let value = self.ahead.shown().filter(|_| shown);
        Ok(value.map(|(_, value)| value.clone()))
    }

    /// Takes steps of `cursor` while they find something, more than the last time, and reads the values together.
    fn go_ahead(&mut self, mut step: impl FnMut(&mut VisibleCursor) -> Result<Option<Content>>) {
        self.depth = (2 * self.depth).min(MOST_AHEAD);
        self.ahead.leave_but_shown();
        let mut bytes = 0;
        for _ in 0..self.depth {
            match step(&mut self.cursor) {
                Ok(None) => break,
                Ok(Some(content)) => {
                    bytes += length(&content);
                    self.ahead.push(self.cursor.key(), content);
                }
                Err(e) => {
                    self.ahead.failed = Some(e);
                    break;
                }
            }
            if bytes >= MOST_BYTES_AHEAD {
                break;
            }
        }
        self.ahead.resolve(self.levels.value_files(), self.keyspace);
    }
}

/// The length of a value, or of the one that a pointer leads to.
fn length(content: &Content) -> u64 {
    match content {
        Content::Here(value) => value.len() as u64,
        Content::Apart(pointer) => pointer.len.into(),
    }
}
