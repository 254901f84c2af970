//! Goes over the entries of a table, in both directions.

use std::cmp::Ordering;
use std::sync::Arc;

use super::loaded::LoadedBlock;
use super::model::{Slice, SliceRef};
use super::reader::TableReader;
use super::source::BlockSource;
use super::trace::{GetTrace, NumberCache};
#[cfg(test)]
use crate::entry::cursor_checks::count_visit;
use crate::entry::{Cursor, EntryKind, Here, MAX_SEQUENCE, Pointer, Sequence};
use crate::error::Result;
use crate::memory::{Pinned, Pins};
use crate::table::block::{CopiedRows, Walk};

/// A position in a table.
#[derive(Debug)]
pub(crate) struct TableCursor {
    pub(super) table: Arc<TableReader>,
    /// The table's slice of a model over several tables.
    slice: Option<Slice>,
    pub(in crate::table) source: BlockSource,
    /// The block of the current entry.
    pub(super) here: Option<LoadedBlock>,
    /// The block behind the one that was lent, if it was read, but [could not be gone into](TableCursor::lend_next).
    pub(super) refused: Option<LoadedBlock>,
    /// Pins for the values of its entries.
    pub(super) pins: Pins,
    pub(super) slot: usize,
    /// Where a walk forwards over its entries is.
    pub(super) walk: Option<Walk>,
    pub(super) key: Vec<u8>,
    sequence: Sequence,
    kind: EntryKind,
    /// The current pointer in its encoded form, if the entry is one.
    pointer: [u8; Pointer::BYTES],
    /// Memory for copies of keys that are [lent](TableCursor::lend_run).
    pub(super) spare_rows: Option<Box<CopiedRows>>,
}

impl TableReader {
    /// A cursor over the table. With `fill_cache`, blocks may be kept in the cache, and reads become
    /// larger while the cursor goes forward. Without it, for passes over whole tables, blocks are
    /// not kept, and going forward reads many in one call from the start.
    pub fn cursor(self: &Arc<Self>, fill_cache: bool) -> TableCursor {
        TableCursor {
            table: Arc::clone(self),
            slice: None,
            source: BlockSource::new(fill_cache),
            here: None,
            refused: None,
            pins: Pins::default(),
            slot: 0,
            walk: None,
            key: Vec::new(),
            sequence: 0,
            kind: EntryKind::Delete,
            pointer: [0; Pointer::BYTES],
            spare_rows: None,
        }
    }
}

impl TableCursor {
    /// Seeks by the table's slice of a model over several tables, if there is one.
    pub fn find_by(&mut self, slice: Option<SliceRef<'_>>) {
        self.slice = slice.map(SliceRef::keep);
    }

    /// Leaves the table for another one, as a cursor that was made for that. Keeps the memory of the key, so that a walk from
    /// table to table asks for none.
    pub fn go_over(&mut self, table: &Arc<TableReader>) {
        self.rest();
        self.slice = None;
        self.table = Arc::clone(table);
    }

    /// Leaves the current entry and all that was read or counted on the way, and keeps the memory of the key for the next seek.
    pub fn rest(&mut self) {
        self.leave();
        self.source = BlockSource::new(self.source.fill_cache);
        self.walk = None;
    }

    /// The number of the block of the current entry.
    pub fn block(&self) -> Option<u64> {
        self.here.as_ref().map(|block| block.number)
    }

    /// What reading cost so far.
    pub fn trace(&self) -> &GetTrace {
        &self.source.trace
    }

    /// Moves to `slot` of `block`.
    pub(super) fn stand(&mut self, block: LoadedBlock, slot: usize) {
        self.here = Some(block);
        self.stand_at(slot);
    }

    /// Moves to a slot of the block, whose entries were not visited yet.
    fn stand_at(&mut self, slot: usize) {
        #[cfg(test)]
        count_visit();
        if let Some(block) = &self.here {
            self.walk = block.view().walk_to(slot, &mut self.key);
        }
        self.note(slot);
    }

    /// Moves to another slot of the same block.
    #[inline]
    fn step_to(&mut self, slot: usize) {
        #[cfg(test)]
        count_visit();
        if let Some(block) = &self.here {
            block.view().next_key_into(slot, &mut self.key);
        }
        self.note(slot);
    }

    /// Moves to the next slot of the same block.
    #[inline]
    pub(super) fn step_on(&mut self) {
        #[cfg(test)]
        count_visit();
        if let Some(block) = &self.here {
            (block.view()).next_key(self.slot, &mut self.walk, &mut self.key);
        }
        self.note(self.slot + 1);
    }

    /// Notes the entry at a slot of the block, whose key is known.
    #[inline]
    pub(super) fn note(&mut self, slot: usize) {
        if let Some(block) = &self.here {
            let view = block.view();
            self.sequence = view.sequence(slot);
            self.kind = view.kind(slot);
            if self.kind == EntryKind::Pointer {
                self.pointer = block.pointer(slot).to_bytes();
            }
        }
        self.slot = slot;
    }

    /// Leaves the current entry; the cursor is then invalid.
    fn leave(&mut self) {
        // One by one: as a pair, both would be written whole.
        self.here = None;
        self.refused = None;
        self.pins.let_go();
    }

    /// Goes to the first entry of `block` or of the blocks after it, if there is one.
    fn enter_first(&mut self, block: u64) -> Result<()> {
        let mut refused = self.refused.take();
        self.leave();
        let table = Arc::clone(&self.table);
        for number in block..table.blocks() {
            let block = match refused.take_if(|block| block.number == number) {
                Some(block) => block,
                None => table.block_going_forward(number, &mut self.source)?,
            };
            table.prefetch_behind(&block, 0);
            if block.view().count() > 0 {
                self.stand(block, 0);
                break;
            }
        }
        Ok(())
    }

    /// Goes to the last entry of the blocks before `block`, if there is one.
    fn enter_last_before(&mut self, block: u64) -> Result<()> {
        self.leave();
        self.source.stop_forward();
        for number in (0..block).rev() {
            let block = self.table.block(number, &mut self.source)?;
            if let Some(last) = block.view().count().checked_sub(1) {
                self.stand(block, last);
                break;
            }
        }
        Ok(())
    }

    /// Whether every entry of the table is older than the range delete of a sequence, in this table or
    /// in another.
    fn all_older(&self, sequence: Sequence) -> bool {
        // No entry has the sequence of a range delete.
        self.table.largest_sequence <= sequence
    }

    /// Goes to the block of the first entry at or after `(key, sequence)`, and returns its slot. Leaves the table if there is
    /// none.
    fn find(&mut self, key: &[u8], sequence: Sequence) -> Result<Option<usize>> {
        self.leave();
        self.source.stop_forward();
        self.source.trace.tables_probed += 1;
        let mut numbers = NumberCache::default();
        self.table.lower_bound(
            key,
            sequence,
            self.slice.as_ref().map(Slice::as_ref),
            &mut numbers,
            &mut self.source,
            &mut self.here,
        )
    }
}

impl Cursor for TableCursor {
    #[inline]
    fn here(&self) -> Option<Here<'_>> {
        self.here.is_some().then_some(Here {
            key: &self.key,
            sequence: self.sequence,
            kind: self.kind,
        })
    }

    #[inline]
    fn value(&mut self) -> Pinned {
        match &self.here {
            Some(block) => {
                let value = block.value(self.slot, self.walk.as_ref(), &mut self.pins);
                self.source.note_pinned(value.len());
                value
            }
            None => Pinned::empty(),
        }
    }

    #[inline]
    fn value_bytes(&self) -> &[u8] {
        match &self.here {
            Some(_) if self.kind == EntryKind::Pointer => &self.pointer,
            Some(block) => block.value_bytes(self.slot, self.walk.as_ref()),
            None => &[],
        }
    }

    fn seek_first(&mut self) -> Result<()> {
        self.source.stop_forward();
        self.enter_first(0)
    }

    fn seek_last(&mut self) -> Result<()> {
        self.enter_last_before(self.table.blocks())
    }

    fn seek(&mut self, key: &[u8], sequence: Sequence) -> Result<()> {
        let found = self.find(key, sequence)?;
        if let Some(slot) = found {
            self.stand_at(slot);
            if let Some(block) = &self.here {
                block.prefetch_values(slot, self.walk.as_ref());
            }
        }
        Ok(())
    }

    fn seek_before(&mut self, key: &[u8]) -> Result<()> {
        let found = self.find(key, MAX_SEQUENCE)?;
        match found.zip(self.block()) {
            None => self.seek_last(),
            Some((0, block)) => self.enter_last_before(block),
            Some((slot, _)) => {
                self.stand_at(slot - 1);
                Ok(())
            }
        }
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        let Some(block) = &self.here else {
            return Ok(());
        };
        if self.slot + 1 < block.view().count() {
            self.step_on();
            return Ok(());
        }
        self.enter_first(block.number + 1)
    }

    fn skip_older(&mut self, to: &[u8], sequence: Sequence) -> Result<()> {
        let mut slot = self.slot;
        while let Some(block) = &self.here {
            let view = block.view();
            let count = view.count();
            let ends_here = view.compare(count.saturating_sub(1), to) != Ordering::Less;
            let end = match ends_here {
                true => view.lower_bound_near(to, MAX_SEQUENCE, None),
                false => count,
            };
            if !self.all_older(sequence) && !view.has_only_older(sequence) {
                let newer = (slot..end).find(|slot| view.sequence(*slot) >= sequence);
                slot = newer.unwrap_or(end.max(slot));
            } else {
                slot = end.max(slot);
            }
            if slot < count {
                self.step_to(slot);
                return Ok(());
            }
            if self.all_older(sequence) {
                return self.seek(to, MAX_SEQUENCE);
            }
            let next = block.number + 1;
            self.enter_first(next)?;
            slot = 0;
        }
        Ok(())
    }

    fn skip_older_back(&mut self, from: &[u8], sequence: Sequence) -> Result<()> {
        while let Some(block) = &self.here {
            let view = block.view();
            let first = view.lower_bound_near(from, MAX_SEQUENCE, None);
            let here = 0..self.slot + 1;
            let mut older = first.min(here.end)..here.end;
            let newer = match self.all_older(sequence) || view.has_only_older(sequence) {
                true => None,
                false => older.rfind(|slot| view.sequence(*slot) >= sequence),
            };
            if let Some(slot) = newer.or(first.min(here.end).checked_sub(1)) {
                self.step_to(slot);
                return Ok(());
            }
            if self.all_older(sequence) {
                return self.seek_before(from);
            }
            let number = block.number;
            self.enter_last_before(number)?;
        }
        Ok(())
    }

    fn prev(&mut self) -> Result<()> {
        let Some(block) = &self.here else {
            return Ok(());
        };
        if self.slot > 0 {
            self.step_to(self.slot - 1);
            return Ok(());
        }
        self.enter_last_before(block.number)
    }
}
