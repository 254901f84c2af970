//! Reading memtables and tables in key order: cursors over each of them, their merge, and the cursor
//! that shows the keys visible at a sequence.

mod ahead;
mod clipped;
mod coverage;
mod level;
mod merge;
mod resolved;
mod source;
mod visible;

use crate::entry::Cursor;
use crate::table::{Limits, PlainEntries, Reach};

pub(crate) use clipped::ClippedCursor;
pub(crate) use level::LevelCursor;
pub(crate) use merge::MergeCursor;
pub(crate) use resolved::ResolvedCursor;
pub(crate) use source::Source;
pub(crate) use visible::VisibleCursor;

/// A cursor that may lend entries, which are then passed one after the other without being merged.
pub(crate) trait Lends: Cursor {
    /// Lends entries of the block of the current entry, if it is worth it; see
    /// [`TableCursor::lend`](crate::table::TableCursor::lend). The cursor must move in their direction. They have to be given
    /// back, or the cursor to be positioned anew, before anything else.
    fn lend(&mut self, reach: Reach<'_>) -> Option<PlainEntries> {
        let _ = reach;
        None
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
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
