//! Reading memtables and tables in key order: cursors over each of them, their merge, and the cursor
//! that shows the keys visible at a sequence.

mod ahead;
mod clipped;
mod coverage;
mod idle;
mod level;
mod merge;
mod resolved;
mod source;
mod visible;

use crate::entry::Cursor;
use crate::error::Result;
use crate::table::{Limits, PlainEntries, Reach};

pub(crate) use clipped::ClippedCursor;
pub(crate) use idle::IdleCursors;
pub(crate) use level::LevelCursor;
pub(crate) use merge::{MergeCursor, Picked, TakesRuns};
pub(crate) use resolved::ResolvedCursor;
pub(crate) use source::Source;
pub(crate) use visible::VisibleCursor;

/// A cursor that may lend entries, which are then passed one after the other without being merged.
pub(crate) trait Lends: Cursor {
    /// Lends entries of the block of the current entry, if it is worth it; see
    /// [`TableCursor::lend`](crate::table::TableCursor::lend). The cursor must move in their direction. They have to be given
    /// back, or the cursor to be positioned anew, before anything else, but that what is merged with them may be
    /// [passed](MergeCursor::step_beside).
    fn lend(&mut self, reach: Reach<'_>, lent: &mut Option<PlainEntries>) {
        let _ = (reach, lent);
    }

    /// Lends more behind the end of what was lent, if the same limits allow it; returns whether there may be any.
    fn extend(&self, plain: &mut PlainEntries, limits: Limits<'_>) -> bool {
        let _ = (plain, limits);
        false
    }

    /// Takes back what was lent, and moves to where that was left; see
    /// [`TableCursor::take_back`](crate::table::TableCursor::take_back).
    fn take_back(&mut self, plain: PlainEntries, key: &[u8]) {
        let _ = (plain, key);
    }

    /// Passes entries from the current one on by columns, as far as all that is merged lies in blocks of puts, and
    /// their keys are below `until`. They come in order, the newest version of a key first. Moves to the first one that was
    /// not passed. Returns how many were passed, which are at most `most`; where keys have different lengths, some thousands.
    ///
    /// # Errors
    /// If a block cannot be read; those of `takes`.
    fn pass_columns(
        &mut self,
        until: Option<&[u8]>,
        most: u64,
        takes: &mut impl TakesRuns,
    ) -> Result<u64> {
        let _ = (until, most, takes);
        Ok(0)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
