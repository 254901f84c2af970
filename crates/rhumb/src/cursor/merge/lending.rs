//! Entries of one source that are passed without being merged, and sources that are merged by columns.

use super::{Head, MergeCursor};
use crate::cursor::{Lends, Source, TakesRuns};
use crate::entry::Cursor;
use crate::error::Result;
use crate::table::{Limits, PlainEntries, Reach, TableCursor};

impl Lends for MergeCursor<Source> {
    /// Entries of the block of the current entry, as far as they come before the current entries of all other children. Where
    /// children take turns there are few, so none are asked for each time. The merge sets the last limit itself.
    fn lend(&mut self, reach: Reach<'_>, lent: &mut Option<PlainEntries>) {
        let is_due = reach.direction == self.direction
            && self.current().is_some_and(Source::lends)
            && self.lending.is_due();
        if !is_due {
            return;
        }
        if let Some((first, next)) = self.first_and_next() {
            let limits = with_last(reach.limits, next);
            first.lend(Reach { limits, ..reach }, lent);
        }
        match lent {
            None => self.lending.fail(),
            Some(_) => self.lending.succeed(),
        }
    }

    fn extend(&self, plain: &mut PlainEntries, limits: Limits<'_>) -> bool {
        let Some(second) = self.order.get(1) else {
            return plain.extend(limits);
        };
        let next = self.children.get(second.number).and_then(Cursor::here);
        next.is_some_and(|next| plain.extend(with_last(limits, Some(next.key))))
    }

    fn take_back(&mut self, plain: PlainEntries, key: &[u8]) {
        self.take_back_from(plain, key, false);
    }

    fn pass_columns(
        &mut self,
        until: Option<&[u8]>,
        most: u64,
        takes: &mut impl TakesRuns,
    ) -> Result<u64> {
        if !self.columns.is_due() || !self.suits_columns() {
            return Ok(0);
        }
        let Some(mut runs) = self.lend_runs() else {
            self.columns.fail();
            return Ok(0);
        };
        let passed = self.pass_runs(&mut runs, until, most, takes);
        self.take_back_runs(runs);
        match passed {
            Ok(0) => self.columns.fail(),
            Ok(_) => self.columns.succeed(),
            Err(_) => self.order.clear(),
        }
        passed
    }
}

impl MergeCursor<Source> {
    /// Goes on in the next block with what was lent forwards, and whose end was come to; see [`TableCursor::lend_next`].
    ///
    /// # Errors
    /// As [`TableCursor::lend_next`].
    pub fn lend_next(
        &mut self,
        plain: &mut PlainEntries,
        limits: Limits<'_>,
        key: &mut Vec<u8>,
    ) -> Result<bool> {
        match self.first_and_next() {
            Some((first, next)) => first.lend_next(plain, with_last(limits, next), key),
            None => Ok(false),
        }
    }

    /// The child behind the first one: while that has lent entries, its entry comes next among those of others.
    #[inline]
    pub fn beside(&self) -> Option<&Source> {
        self.children.get(self.order.get(1)?.number)
    }

    /// The same, to pin its value.
    pub fn beside_mut(&mut self) -> Option<&mut Source> {
        self.children.get_mut(self.order.get(1)?.number)
    }

    /// Moves behind the entry of that child, forwards. The first child stays where it is.
    ///
    /// # Errors
    /// As [`Cursor::next`].
    pub fn step_beside(&mut self) -> Result<()> {
        self.advance_by(1, Source::next_key)
    }

    /// Goes on with what was lent, behind an entry that lay beside it and was left; see [`PlainEntries::go_on_behind`].
    pub fn go_on_behind(
        &self,
        plain: &mut PlainEntries,
        limits: Limits<'_>,
        key: &mut Vec<u8>,
    ) -> bool {
        let next = self.beside().and_then(Cursor::here).map(|next| next.key);
        plain.go_on_behind(with_last(limits, next), key)
    }

    /// As [`Lends::take_back`]. Where an entry `is_beside` what was lent, and was shown at `key`, the first child moves to its next
    /// one, behind that.
    pub fn take_back_from(&mut self, plain: PlainEntries, key: &[u8], is_beside: bool) {
        let Some(&Head { number, .. }) = self.order.first() else {
            return;
        };
        if !plain.has_moved() {
            self.lending.fail();
        }
        if let Some(child) = self.children.get_mut(number) {
            if let Some(table) = child.table() {
                match is_beside {
                    true => table.take_back_behind(plain, key),
                    false => table.take_back(plain, key),
                }
            }
            // Backwards it is one entry further, which other children may have reached before.
            if let Some(child) = Head::of(number, child) {
                self.resettle(0, child);
            }
        }
    }

    /// The table of the first child, and the key of the current entry of the next one, if there is another.
    fn first_and_next(&mut self) -> Option<(&mut TableCursor, Option<&[u8]>)> {
        match *self.order {
            [] => None,
            [first] => Some((self.children.get_mut(first.number)?.table()?, None)),
            [first, second, ..] => {
                let numbers = [first.number, second.number];
                let [first, second] = self.children.get_disjoint_mut(numbers).ok()?;
                Some((first.table()?, Some(second.here()?.key)))
            }
        }
    }
}

/// Limits with this key as the last one.
fn with_last<'k>([one, other, _]: Limits<'k>, key: Option<&'k [u8]>) -> Limits<'k> {
    [one, other, key]
}
