//! A cursor over the disjoint tables of one run, each of which is opened when the cursor reaches
//! it.

use crate::entry::{Cursor, Here, Sequence};
use crate::error::Result;
use crate::memory::Pinned;
use crate::sync::Arc;
use crate::table::{GetTrace, SliceRef, TableCursor};
use crate::version::{Run, Table};

/// Goes over tables that ascend without overlap, as if they were one.
pub(crate) struct LevelCursor {
    tables: Tables,
    /// The index of the current table; the number of tables before the first seek.
    at: usize,
    // Boxed, since a merge moves its sources when they are made.
    cursor: Option<Box<TableCursor>>,
    /// What reading cost in the tables that the cursor has left.
    left: GetTrace,
    fill_cache: bool,
}

/// The tables of a cursor, which ascend without overlap.
enum Tables {
    /// Some tables of a run.
    Some(Vec<Arc<Table>>),
    /// All tables of a run.
    Run(Arc<Run>),
}

impl Tables {
    fn all(&self) -> &[Arc<Table>] {
        match self {
            Tables::Some(tables) => tables,
            Tables::Run(run) => run.tables(),
        }
    }

    /// The slice that a table has of a model over several.
    fn slice(&self, at: usize) -> Option<SliceRef<'_>> {
        match self {
            Tables::Some(_) => None,
            Tables::Run(run) => run.slice(at),
        }
    }

    /// The number of tables that end before `key`.
    fn ending_before(&self, key: &[u8]) -> usize {
        match self {
            Tables::Some(tables) => tables.partition_point(|t| t.meta.ends_before(key)),
            Tables::Run(run) => run.ending_before(key),
        }
    }
}

impl LevelCursor {
    /// A cursor over `tables`, which ascend and do not overlap. With `fill_cache` its blocks are
    /// kept in the cache; without, they are read ahead and dropped.
    pub fn new(tables: Vec<Arc<Table>>, fill_cache: bool) -> Self {
        Self::over(Tables::Some(tables), fill_cache)
    }

    /// A cursor over all tables of a run. Its blocks are kept in the cache.
    pub fn over_run(run: Arc<Run>) -> Self {
        Self::over(Tables::Run(run), true)
    }

    fn over(tables: Tables, fill_cache: bool) -> Self {
        LevelCursor {
            at: tables.all().len(),
            tables,
            cursor: None,
            left: GetTrace::default(),
            fill_cache,
        }
    }

    /// What reading cost so far, in all tables.
    pub fn trace(&self) -> GetTrace {
        let mut trace = self.left;
        if let Some(cursor) = &self.cursor {
            trace.add(cursor.trace());
        }
        trace
    }

    /// As [`TableCursor::rest`]. The table stays open for a seek that leads to it again.
    pub fn rest(&mut self) {
        self.left = GetTrace::default();
        if let Some(cursor) = &mut self.cursor {
            cursor.rest();
            // A model over several tables may have been renewed.
            cursor.find_by(self.tables.slice(self.at));
        }
    }

    /// The cursor in the current table.
    pub fn table(&mut self) -> Option<&mut TableCursor> {
        self.cursor.as_deref_mut()
    }

    /// Opens the table with index `at`; the cursor becomes invalid if there is none.
    fn enter(&mut self, at: usize) -> Result<Option<&mut TableCursor>> {
        if self.at == at && self.cursor.is_some() {
            return Ok(self.cursor.as_deref_mut());
        }
        let Some(table) = self.tables.all().get(at) else {
            self.leave();
            return Ok(None);
        };
        let reader = match table.reader() {
            Ok(reader) => reader,
            Err(e) => {
                self.leave();
                return Err(e);
            }
        };
        let cursor = match &mut self.cursor {
            Some(cursor) => {
                self.left.add(cursor.trace());
                cursor.go_over(reader);
                cursor
            }
            none => none.insert(Box::new(reader.cursor(self.fill_cache))),
        };
        cursor.find_by(self.tables.slice(at));
        self.at = at;
        Ok(Some(cursor))
    }

    /// Leaves the current table.
    fn leave(&mut self) {
        self.at = self.tables.all().len();
        if let Some(cursor) = self.cursor.take() {
            self.left.add(cursor.trace());
        }
    }

    /// If the current table has no more entries, moves to the first entry of a later table.
    fn settle_forward(&mut self) -> Result<()> {
        while self.cursor.as_ref().is_some_and(|c| !c.valid()) {
            if let Some(cursor) = self.enter(self.at + 1)? {
                cursor.seek_first()?;
            }
        }
        Ok(())
    }

    /// If the current table has no more entries, moves to the last entry of an earlier table.
    fn settle_backward(&mut self) -> Result<()> {
        while self.cursor.as_ref().is_some_and(|c| !c.valid()) {
            let Some(before) = self.at.checked_sub(1) else {
                self.leave();
                return Ok(());
            };
            if let Some(cursor) = self.enter(before)? {
                cursor.seek_last()?;
            }
        }
        Ok(())
    }
}

impl Cursor for LevelCursor {
    #[inline]
    fn here(&self) -> Option<Here<'_>> {
        self.cursor.as_ref()?.here()
    }

    #[inline]
    fn value(&mut self) -> Pinned {
        let cursor = self.cursor.as_deref_mut();
        cursor.map_or_else(Pinned::empty, TableCursor::value)
    }

    #[inline]
    fn value_bytes(&self) -> &[u8] {
        let cursor = self.cursor.as_deref();
        cursor.map_or(&[], TableCursor::value_bytes)
    }

    fn seek_first(&mut self) -> Result<()> {
        if let Some(cursor) = self.enter(0)? {
            cursor.seek_first()?;
        }
        self.settle_forward()
    }

    fn seek_last(&mut self) -> Result<()> {
        let Some(last) = self.tables.all().len().checked_sub(1) else {
            return Ok(());
        };
        if let Some(cursor) = self.enter(last)? {
            cursor.seek_last()?;
        }
        self.settle_backward()
    }

    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()> {
        let at = self.tables.ending_before(key);
        let tables = self.tables.all();
        let starts_behind = tables.get(at).is_some_and(|t| &*t.meta.smallest > key);
        if let Some(cursor) = self.enter(at)? {
            // A key between two tables needs no search.
            match starts_behind {
                true => cursor.seek_first()?,
                false => cursor.seek(key, sequence)?,
            }
        }
        self.settle_forward()
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        let behind = self
            .tables
            .all()
            .partition_point(|t| &*t.meta.smallest < key);
        let Some(at) = behind.checked_sub(1) else {
            self.leave();
            return Ok(());
        };
        if let Some(cursor) = self.enter(at)? {
            cursor.seek_before(key)?;
        }
        self.settle_backward()
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        if let Some(cursor) = &mut self.cursor {
            cursor.next()?;
            if cursor.here().is_some() {
                return Ok(());
            }
        }
        self.settle_forward()
    }

    fn skip_older(&mut self, to: &[u8], sequence: Sequence) -> Result<()> {
        while let Some(cursor) = &mut self.cursor {
            // Tables that are hidden as a whole are neither opened nor searched.
            let is_hidden = |t: &&Arc<Table>| t.meta.is_older(sequence) && t.meta.ends_before(to);
            let rest = self.tables.all().get(self.at..).unwrap_or_default();
            let mut hidden = rest.iter().take_while(is_hidden).count();
            if hidden == 0 {
                cursor.skip_older(to, sequence)?;
                if cursor.valid() {
                    break;
                }
                hidden = 1;
            }
            if let Some(cursor) = self.enter(self.at + hidden)? {
                cursor.seek_first()?;
            }
        }
        self.settle_forward()
    }

    fn skip_older_back(&mut self, from: &[u8], sequence: Sequence) -> Result<()> {
        while let Some(cursor) = &mut self.cursor {
            let is_hidden =
                |t: &&Arc<Table>| t.meta.is_older(sequence) && &*t.meta.smallest >= from;
            let rest = self.tables.all().get(..self.at + 1).unwrap_or_default();
            let mut hidden = rest.iter().rev().take_while(is_hidden).count();
            if hidden == 0 {
                cursor.skip_older_back(from, sequence)?;
                if cursor.valid() {
                    break;
                }
                hidden = 1;
            }
            let Some(at) = self.at.checked_sub(hidden) else {
                self.leave();
                break;
            };
            if let Some(cursor) = self.enter(at)? {
                cursor.seek_last()?;
            }
        }
        Ok(())
    }

    fn prev(&mut self) -> Result<()> {
        if let Some(cursor) = &mut self.cursor {
            cursor.prev()?;
        }
        self.settle_backward()
    }
}
