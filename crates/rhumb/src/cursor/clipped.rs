//! A cursor over a range of user keys.

use super::Lends;
use crate::entry::{Cursor, Here, MAX_SEQUENCE, Sequence};
use crate::error::Result;
use crate::memory::Pinned;

/// Goes over the entries of another cursor with user keys from `from` on and, if `to` is given, below it.
pub(crate) struct ClippedCursor<'a, C> {
    cursor: C,
    from: &'a [u8],
    to: Option<&'a [u8]>,
    /// Whether the other cursor stands on an entry of the range.
    inside: bool,
}

impl<'a, C: Cursor> ClippedCursor<'a, C> {
    /// A cursor that is not yet positioned.
    pub fn new(cursor: C, from: &'a [u8], to: Option<&'a [u8]>) -> Self {
        ClippedCursor {
            cursor,
            from,
            to,
            inside: false,
        }
    }

    /// Moves on by `go`.
    #[inline]
    fn go_on(&mut self, go: impl FnOnce(&mut C) -> Result<()>) -> Result<()> {
        if !self.inside {
            return Ok(());
        }
        let moved = go(&mut self.cursor);
        // It stands behind the start in any case.
        let here = self.cursor.here().filter(|_| moved.is_ok());
        self.inside = here.is_some_and(|here| self.to.is_none_or(|to| here.key < to));
        moved
    }

    /// Looks where the other cursor stands, after a move.
    #[inline]
    fn look(&mut self, moved: Result<()>) -> Result<()> {
        let (from, to) = (self.from, self.to);
        self.inside = moved.is_ok()
            && (self.cursor.here())
                .is_some_and(|here| from <= here.key && to.is_none_or(|to| here.key < to));
        moved
    }
}

/// It lends nothing: it goes over memtables, which have nothing to lend.
impl<C: Cursor> Lends for ClippedCursor<'_, C> {}

impl<C: Cursor> Cursor for ClippedCursor<'_, C> {
    #[inline]
    fn here(&self) -> Option<Here<'_>> {
        match self.inside {
            true => self.cursor.here(),
            false => None,
        }
    }

    fn value(&mut self) -> Pinned {
        match self.inside {
            true => self.cursor.value(),
            false => Pinned::empty(),
        }
    }

    fn value_bytes(&self) -> &[u8] {
        match self.inside {
            true => self.cursor.value_bytes(),
            false => &[],
        }
    }

    fn seek_first(&mut self) -> Result<()> {
        let moved = self.cursor.seek(self.from, MAX_SEQUENCE);
        self.look(moved)
    }

    fn seek_last(&mut self) -> Result<()> {
        let moved = match self.to {
            Some(to) => self.cursor.seek_before(to),
            None => self.cursor.seek_last(),
        };
        self.look(moved)
    }

    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()> {
        let moved = match key < self.from {
            true => self.cursor.seek(self.from, MAX_SEQUENCE),
            false => self.cursor.seek(key, sequence),
        };
        self.look(moved)
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        let moved = match self.to {
            Some(to) if to < key => self.cursor.seek_before(to),
            _ => self.cursor.seek_before(key),
        };
        self.look(moved)
    }

    fn next(&mut self) -> Result<()> {
        self.go_on(C::next)
    }

    fn next_seen(&mut self, visible: Sequence) -> Result<()> {
        self.go_on(|cursor| cursor.next_seen(visible))
    }

    fn prev(&mut self) -> Result<()> {
        if !self.inside {
            return Ok(());
        }
        let moved = self.cursor.prev();
        self.look(moved)
    }

    fn skip_older(&mut self, to: &[u8], sequence: Sequence) -> Result<()> {
        if !self.inside {
            return Ok(());
        }
        let moved = self.cursor.skip_older(to, sequence);
        self.look(moved)
    }

    fn skip_older_back(&mut self, from: &[u8], sequence: Sequence) -> Result<()> {
        if !self.inside {
            return Ok(());
        }
        let moved = self.cursor.skip_older_back(from, sequence);
        self.look(moved)
    }
}
