//! The way forwards: seeks, steps through the merge, and what hides a key from them.

use std::ops::Bound;

use super::{DEAD_BEFORE_SKIP, STEPS_BEFORE_SEEK, VisibleCursor};
use crate::entry::{Cursor, Direction, EntryKind, is_behind, is_same, set_key, successor};
use crate::error::Result;

impl VisibleCursor {
    /// Shows the first key between the bounds. Returns `false` if there is none.
    pub fn first(&mut self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Result<bool> {
        self.forget();
        match from {
            Bound::Unbounded => self.versions.seek_first()?,
            Bound::Included(key) => self.versions.seek(key, self.visible)?,
            Bound::Excluded(key) => self.versions.seek(&successor(key), self.visible)?,
        }
        self.show_forward(to)
    }

    /// Shows the next key up to a bound. The cursor must have moved forwards to a key before.
    #[inline]
    pub fn next(&mut self, to: Bound<&[u8]>) -> Result<bool> {
        match self.next_plain() {
            true => Ok(true),
            false => self.next_merged(to),
        }
    }

    /// As [`VisibleCursor::next`], from the end of plain entries.
    // Not inlined: most steps are over plain entries.
    #[inline(never)]
    fn next_merged(&mut self, to: Bound<&[u8]>) -> Result<bool> {
        let shown = match self.plain {
            Some(_) if self.beside > 0 => self.next_beside(to)?,
            Some(_) => {
                self.extend_plain(Direction::Forward, to) && self.next_plain()
                    || self.next_plain_block(to)?
                    || self.next_beside(to)?
            }
            // A seek whose entry is the only one that is wanted asks for none.
            None if self.kind == EntryKind::Put => {
                self.enter_plain(Direction::Forward, to) && self.next_plain()
            }
            None => false,
        };
        if shown {
            return Ok(true);
        }
        let was_beside = self.beside > 0;
        self.leave_plain();
        // A key shown beside was left already.
        if !was_beside {
            self.versions.next_key()?;
        }
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

    /// Shows the first key from where the last move forwards, which showed none, has ended.
    pub fn go_on(&mut self, to: Bound<&[u8]>) -> Result<bool> {
        self.show_forward(to)
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
                self.versions.next_seen(self.visible)?;
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
                self.versions.next_key()?;
            }
            if !self.is_on_key() {
                return Ok(());
            }
        }
    }
}
