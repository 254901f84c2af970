//! Steps over plain entries, which the merge has lent.

use std::ops::Bound;

use super::VisibleCursor;
use crate::cursor::Lends;
use crate::entry::Direction;
use crate::error::Result;
use crate::table::{PlainEntries, Reach, Rows};

impl VisibleCursor {
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
            Some(plain) if self.beside == 0 => plain.next_many(true, most, &mut self.key, rows),
            _ => {
                rows.clear();
                rows.push(&self.key, (0, self.value().len()));
            }
        }
    }

    /// What the values of entries added to rows are ranges of.
    #[inline]
    pub fn values_at_hand(&self) -> &[u8] {
        match &self.plain {
            Some(plain) if self.beside == 0 => plain.bytes(),
            _ => self.value(),
        }
    }

    /// Goes on with the plain entries of the current block, as far as they come before a bound, all entries of other runs, and
    /// the next range delete. Returns whether there are any.
    pub(super) fn enter_plain(&mut self, direction: Direction, bound: Bound<&[u8]>) -> bool {
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
    pub(super) fn extend_plain(&mut self, direction: Direction, bound: Bound<&[u8]>) -> bool {
        let Some(plain) = self.plain.as_mut().filter(|plain| plain.goes_on()) else {
            return false;
        };
        let limits = self.coverage.limits(direction, bound);
        limits.is_some_and(|limits| self.versions.extend(plain, limits))
    }

    /// Shows the first key of the next block, if its entry is plain as those are that were lent.
    pub(super) fn next_plain_block(&mut self, to: Bound<&[u8]>) -> Result<bool> {
        let Some(plain) = self.plain.as_mut().filter(|plain| plain.ends_block()) else {
            return Ok(false);
        };
        match self.coverage.limits(Direction::Forward, to) {
            Some(limits) => self.versions.lend_next(plain, limits, &mut self.key),
            None => Ok(false),
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
        let is_beside = std::mem::take(&mut self.beside) > 0;
        if let Some(plain) = self.plain.take() {
            self.versions.take_back_from(plain, &self.key, is_beside);
        }
    }
}
