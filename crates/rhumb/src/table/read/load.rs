//! Loads blocks: from the cache, or from the file, verifying them.

use std::borrow::Cow;
use std::sync::Arc;

use rhumb_index::search::LINE_BYTES;

use super::loaded::LoadedBlock;
use super::reader::TableReader;
use super::source::{BlockSource, Fetched};
use super::verified::{Verified, Verifier};
#[cfg(test)]
use crate::entry::cursor_checks::count_visit;
use crate::error::{Error, Result};
use crate::fs::ops;
use crate::memory::{OwnedBytes, Pinned, Room};
use crate::table::block::BlockView;

/// The most bytes that a scan reads in one call.
const READ_AHEAD_BYTES: u64 = 256 << 10;

/// The second cache line of a block: the header and the start of the columns, which are read first,
/// lie in about the first two lines.
const SECOND_LINE: (usize, usize) = (LINE_BYTES, LINE_BYTES);

/// If so few entries of a block are left to a walk, so many bytes of the next one, behind its first line, are prefetched.
const NEAR_END: usize = 10;
const START_OF_NEXT: usize = 576;
/// So many for a walk that has gone over a whole block before. No range of more is ever prefetched, and twice as much was no faster.
const MUCH_OF_NEXT: usize = 1024;

/// Windows of more than this many times the bytes of one call are not searched for cached blocks.
const WIDEST_TRIMMED: u64 = 4;

/// So many blocks tell how many are in memory.
const BLOCKS_LOOKED_AT: u64 = 64;

impl TableReader {
    /// Prefetches what a search of a block near `slot` will read, if the block is in memory.
    #[inline]
    pub(in crate::table) fn prefetch_block(&self, number: u64, slot: u64) {
        self.frame_slots
            .prefetch(number, self.likely_rows.about(slot));
    }

    /// Prefetches the start of the next block, if that is in memory, for a walk that has few entries of this one left, from `slot`
    /// on.
    #[inline]
    pub(super) fn prefetch_behind(&self, block: &LoadedBlock, slot: usize) {
        if block.view().count() - slot <= NEAR_END {
            let start = (LINE_BYTES, START_OF_NEXT);
            self.frame_slots.prefetch(block.number + 1, [start]);
        }
    }

    /// Prefetches much of a block, if it is in memory, for a walk that has gone over a whole block before.
    #[inline]
    pub(super) fn prefetch_much(&self, number: u64) {
        (self.frame_slots).prefetch(number, [(LINE_BYTES, MUCH_OF_NEXT)]);
    }

    /// About how many of its blocks are in memory.
    pub fn blocks_held(&self) -> u64 {
        let (held, looked_at) = self.frame_slots.held_among(BLOCKS_LOOKED_AT);
        held * self.blocks() / looked_at.max(1)
    }

    /// Notes where rows probably lie, if blocks have been in memory since they were written: in one like the others.
    pub(super) fn note_kept(&self) {
        let (blocks, slots) = (self.directory.blocks(), &self.frame_slots);
        if slots.is_empty() {
            return;
        }
        let inner_first = (1..blocks).chain([0]);
        let mut held =
            inner_first.filter_map(|number| Some(self.loaded(number, slots.get(number)?)));
        if let Some(block) = held.find(|block| block.view().count() > 0) {
            let usual = self.directory.entries_per_cell();
            self.likely_rows
                .note(&block.layout, block.bytes.len(), usual);
        }
    }

    /// A block that was verified when it was loaded, or kept when it was written.
    #[inline]
    pub(super) fn loaded(&self, number: u64, bytes: Pinned) -> LoadedBlock {
        match self.directory.unit_shape(number) {
            None => LoadedBlock::of_block(number, bytes, self.sequence_base),
            Some(shape) => LoadedBlock::of_unit(number, bytes, shape, self.sequence_base),
        }
    }

    /// The block with this number.
    ///
    /// # Errors
    /// If it cannot be read or is damaged.
    pub(in crate::table) fn block(
        &self,
        number: u64,
        source: &mut BlockSource,
    ) -> Result<LoadedBlock> {
        match self.block_at_hand(number, source) {
            Some(block) => Ok(block),
            None => self.read_block(number, source),
        }
    }

    /// The block with this number, if it is the last one of the source or in the cache.
    // Inlined by force: each get calls it once, and the block is written where the get wants it.
    #[inline(always)]
    pub(super) fn block_at_hand(
        &self,
        number: u64,
        source: &mut BlockSource,
    ) -> Option<LoadedBlock> {
        #[cfg(test)]
        count_visit();
        if let Some(recent) = source.recent(number) {
            return Some(recent.clone());
        }
        let bytes = self.block_in_memory(number, source)?;
        Some(self.loaded(number, bytes))
    }

    #[inline]
    pub(super) fn block_in_memory(&self, number: u64, source: &mut BlockSource) -> Option<Pinned> {
        let bytes = self.frame_slots.get(number)?;
        let cached = &mut source.trace.blocks_cached;
        *cached = cached.saturating_add(1);
        Some(bytes)
    }

    /// The block with this number, for a scan that comes from the block before it and may go on.
    ///
    /// # Errors
    /// If it is damaged, or if it cannot be read (in a pass, together with the blocks after it).
    pub(in crate::table) fn block_going_forward(
        &self,
        number: u64,
        source: &mut BlockSource,
    ) -> Result<LoadedBlock> {
        #[cfg(test)]
        count_visit();
        self.frame_slots.prefetch(number + 1, [SECOND_LINE]);
        let fetched = source.has_fetched(number);
        // A pass does not ask the cache for blocks it has read: that would mark them as used.
        if (source.fill_cache || !fetched)
            && let Some(bytes) = self.block_in_memory(number, source)
        {
            return Ok(self.loaded(number, bytes));
        }
        if !fetched {
            let blocks = source.blocks_forward();
            let last = number.saturating_add(blocks - 1);
            let last = last.min(self.directory.blocks().saturating_sub(1));
            let end = self.end_forward(number, last, source.fill_cache)?;
            let room = match source.spares_others() {
                true => Some(self.frame_slots.room_of_long_scan()),
                false => source.room(),
            };
            source.read_forward = source.read_forward.saturating_add(end - number + 1);
            match self.fetch((number, end), room, source) {
                // The blocks after it may be unreadable and never be needed, except in a pass.
                Err(_) if source.fill_cache && number < end => {
                    self.fetch((number, number), room, source)?;
                }
                fetched => fetched?,
            }
        }
        let block = self.read_block(number, source)?;
        let fetched = &mut source.held_mut().fetched;
        fetched.take_if(|fetched| fetched.last == number);
        Ok(block)
    }

    /// The last block, up to `last`, that is read in one call with `first`. If `missing`, the read
    /// ends before the first block that is in memory.
    fn end_forward(&self, first: u64, last: u64, missing: bool) -> Result<u64> {
        let Some((start, _)) = self.directory.extent(first) else {
            return Err(self.no_such_block(first));
        };
        let fits = |block: u64| {
            let extent = self.directory.extent(block);
            extent.is_some_and(|(offset, len)| {
                offset.saturating_sub(start) + len as u64 <= READ_AHEAD_BYTES
            })
        };
        let mut end = first;
        while end < last && fits(end + 1) && !(missing && self.frame_slots.holds(end + 1)) {
            end += 1;
        }
        Ok(end)
    }

    /// A block that is not in the cache, from the last read call or from the file.
    ///
    /// # Errors
    /// If it cannot be read or is damaged.
    #[cold]
    pub(in crate::table) fn read_block(
        &self,
        number: u64,
        source: &mut BlockSource,
    ) -> Result<LoadedBlock> {
        if !source.has_fetched(number) {
            self.fetch((number, number), source.room(), source)?;
        }
        let Some(fetched) = source.held_mut().fetched.take() else {
            return Err(self.no_such_block(number));
        };
        if fetched.first != fetched.last {
            // Others of these blocks are probably next.
            source.held_mut().fetched = Some(fetched.clone());
        }
        self.admit(number, fetched)
    }

    /// Prepares a search in the blocks `first..=last` that begins at `probe`. If `probe` is not in
    /// memory, the blocks are read in one call, unless they exceed the table's limit for windows.
    pub(in crate::table) fn read_window(
        &self,
        window: (u64, u64),
        probe: u64,
        source: &mut BlockSource,
    ) {
        let is_there = source.has_fetched(probe) || source.has_recent(probe);
        if is_there || self.frame_slots.holds(probe) {
            return;
        }
        if let Some(missing) = self.missing_of(window, probe) {
            // If they cannot be read together, each is read when it is searched: the one that has
            // the key may be readable, and an error must name the one that is not.
            let _ = self.fetch(missing, source.room(), source);
        }
    }

    /// The blocks of `first..=last` to read together with `probe`, without those at either end that are in memory. `None` if
    /// they exceed the table's limit for windows.
    pub(super) fn missing_of(
        &self,
        (mut first, mut last): (u64, u64),
        probe: u64,
    ) -> Option<(u64, u64)> {
        let (_, len) = self.stretch(first, last)?;
        // So wide a window would not shrink enough, and checking all of its blocks would take long.
        if len > WIDEST_TRIMMED * self.window_bytes {
            return None;
        }
        while first < probe && self.frame_slots.holds(first) {
            first += 1;
        }
        while last > probe && self.frame_slots.holds(last) {
            last -= 1;
        }
        let (_, len) = self.stretch(first, last)?;
        (len <= self.window_bytes).then_some((first, last))
    }

    /// The offset and length of the blocks `first..=last` in the file. Extents never leave the
    /// block area, whose end the footer gives.
    pub(super) fn stretch(&self, first: u64, last: u64) -> Option<(u64, u64)> {
        let (start, _) = self.directory.extent(first)?;
        let (last_start, last_len) = self.directory.extent(last)?;
        Some((start, last_start.checked_sub(start)? + last_len as u64))
    }

    /// Reads the blocks `first..=last` in one call, for [`TableReader::read_block`].
    fn fetch(
        &self,
        (first, last): (u64, u64),
        room: Option<Room>,
        source: &mut BlockSource,
    ) -> Result<()> {
        source.held_mut().fetched = None;
        let stretch = self.stretch(first, last);
        let (start, len) = stretch.ok_or_else(|| self.no_such_block(first))?;
        let bytes = match self.take_ahead((first, last), source) {
            Some(bytes) => bytes,
            None => {
                let read = || ops::read_range(&*self.file, &self.path, start, len);
                match source.timed {
                    true => ops::timed(&mut source.trace.read_time, read)?,
                    false => read()?,
                }
            }
        };
        source.trace.count_read(last - first + 1, len);
        source.held_mut().fetched = Some(Fetched::new((first, last), start, bytes, room));
        Ok(())
    }

    /// Verifies a block that was read. If there is room for it, it is put into the cache, otherwise it
    /// stays where it was read.
    fn admit(&self, number: u64, fetched: Fetched) -> Result<LoadedBlock> {
        let extent = self.directory.extent(number);
        let (offset, len) = extent.ok_or_else(|| self.no_such_block(number))?;
        let at = offset.saturating_sub(fetched.start) as usize;
        let stored = fetched.bytes.bytes().get(at..at.saturating_add(len));
        let stored = stored.unwrap_or_default();
        let Verified { raw, layout, start } = self.verifier().open(number, offset, stored)?;
        let usual = self.directory.entries_per_cell();
        self.likely_rows.note(&layout, raw.len(), usual);
        let ascends = BlockView::new(&raw, &layout).check_order();
        ascends.map_err(|d| d.in_block(&self.path, offset))?;
        let slots = &self.frame_slots;
        let kept = fetched
            .room
            .and_then(|room| slots.insert(number, &raw, room));
        let layout = layout.above(self.sequence_base);
        let loaded = |bytes| LoadedBlock {
            number,
            bytes,
            layout,
        };
        if let Some(kept) = kept {
            return Ok(loaded(kept));
        }
        let len = raw.len();
        let decompressed = match raw {
            Cow::Borrowed(_) => None,
            Cow::Owned(raw) => Some(Arc::new(OwnedBytes::new(raw))),
        };
        let (bytes, start) = match decompressed {
            Some(bytes) => (bytes, 0),
            None => (fetched.bytes, at + start),
        };
        if fetched.room.is_some() {
            slots.note_bypass(&bytes);
        }
        Ok(loaded(Pinned::owned(bytes, start, len)))
    }

    fn verifier(&self) -> Verifier<'_> {
        Verifier {
            path: &self.path,
            directory: &self.directory,
            table_id: self.table_id,
            raw_largest: self.raw_largest,
            with_pointers: !self.values.is_empty(),
            with_fence_keys: self.has_fence_keys,
        }
    }

    fn no_such_block(&self, number: u64) -> Error {
        let expected = format!("an extent of block {number} inside the blocks of the table");
        Error::corruption(&self.path, self.sections_offset, expected, "none")
    }
}
