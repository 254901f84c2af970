//! Cursors over the sorted runs that are merged into the view of a keyspace.

use super::LevelCursor;
use crate::entry::{Cursor, Here, Sequence};
use crate::error::Result;
use crate::memory::Pinned;
use crate::memtable::MemtableCursor;
use crate::table::{GetTrace, TableCursor};

/// A cursor over one sorted run of any kind. A merge calls it for every entry, so calls are
/// dispatched by a branch, not through a pointer.
pub(crate) enum Source {
    /// A memtable.
    Memtable(MemtableCursor),
    /// One table.
    Table(Box<TableCursor>),
    /// The disjoint tables of a run.
    Level(LevelCursor),
}

/// Calls a method of the inner cursor.
macro_rules! each {
    ($source:expr, $cursor:ident => $call:expr) => {
        match $source {
            Source::Memtable($cursor) => $call,
            Source::Table($cursor) => $call,
            Source::Level($cursor) => $call,
        }
    };
}

impl Source {
    /// What reading tables cost so far.
    pub fn trace(&self) -> GetTrace {
        match self {
            Source::Memtable(_) => GetTrace::default(),
            Source::Table(cursor) => *cursor.trace(),
            Source::Level(cursor) => cursor.trace(),
        }
    }

    /// As [`TableCursor::rest`].
    pub fn rest(&mut self) {
        each!(self, cursor => cursor.rest());
    }

    /// Whether it ever lends entries: memtables do not.
    pub fn lends(&self) -> bool {
        !matches!(self, Source::Memtable(_))
    }

    /// The cursor in the table where it stands, which may lend entries.
    pub fn table(&mut self) -> Option<&mut TableCursor> {
        match self {
            Source::Memtable(_) => None,
            Source::Table(cursor) => Some(cursor),
            Source::Level(cursor) => cursor.table(),
        }
    }
}

impl Cursor for Source {
    #[inline]
    fn here(&self) -> Option<Here<'_>> {
        each!(self, cursor => cursor.here())
    }

    #[inline]
    fn value(&mut self) -> Pinned {
        each!(self, cursor => cursor.value())
    }

    #[inline]
    fn value_bytes(&self) -> &[u8] {
        each!(self, cursor => cursor.value_bytes())
    }

    fn seek_first(&mut self) -> Result<()> {
        each!(self, cursor => cursor.seek_first())
    }

    fn seek_last(&mut self) -> Result<()> {
        each!(self, cursor => cursor.seek_last())
    }

    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()> {
        each!(self, cursor => cursor.seek(key, sequence))
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        each!(self, cursor => cursor.seek_before(key))
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        each!(self, cursor => cursor.next())
    }

    #[inline]
    fn next_seen(&mut self, visible: Sequence) -> Result<()> {
        each!(self, cursor => cursor.next_seen(visible))
    }

    fn skip_older(&mut self, to: &[u8], sequence: Sequence) -> Result<()> {
        each!(self, cursor => cursor.skip_older(to, sequence))
    }

    fn skip_older_back(&mut self, from: &[u8], sequence: Sequence) -> Result<()> {
        each!(self, cursor => cursor.skip_older_back(from, sequence))
    }

    fn prev(&mut self) -> Result<()> {
        each!(self, cursor => cursor.prev())
    }
}
