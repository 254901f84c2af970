//! The way backwards, which meets the oldest version of a key first.

use std::ops::Bound;

use super::{DEAD_BEFORE_SKIP, STEPS_BEFORE_SEEK, VisibleCursor};
use crate::entry::{Content, Cursor, Direction, is_before, set_key, successor};
use crate::error::Result;

impl VisibleCursor {
    /// Shows the last key between the bounds. Returns its value or the pointer to it, or `None` if there is no such
    /// key.
    pub fn last(&mut self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Result<Option<Content>> {
        self.forget();
        match to {
            Bound::Unbounded => self.versions.seek_last()?,
            Bound::Included(key) => self.versions.seek_before(&successor(key))?,
            Bound::Excluded(key) => self.versions.seek_before(key)?,
        }
        self.show_backward(from)
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

    /// The value under the cursor, or the pointer to it, if values are wanted.
    fn pin_here(&mut self) -> Content {
        match self.with_values {
            true => self.content(),
            false => Content::none(),
        }
    }
}
