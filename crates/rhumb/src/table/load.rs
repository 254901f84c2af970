//! Brings blocks into memory: from the cache, or verified from the file.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use super::block::{BlockLayout, BlockView};
use super::reader::TableReader;
use super::stored::{STORED_HEADER_BYTES, load};
use super::trace::GetTrace;
use crate::error::{Error, Result};
use crate::fs::ops;
use crate::memory::{OwnedBytes, Pinned, Pins};

/// The most that a walk reads in one call.
const READ_AHEAD_BYTES: u64 = 256 << 10;

/// As many raw bytes are enough to be read in one call: blocks that are compressed well could bring
/// in a hundred times what is read.
const ENOUGH_RAW_BYTES: u64 = 4 * READ_AHEAD_BYTES;

/// What is read of a block first, about, is its header and the start of its columns: its first line,
/// and the one behind.
const SECOND_LINE: (usize, usize) = (64, 64);

/// A verified block in memory.
#[derive(Debug, Clone)]
pub(super) struct LoadedBlock {
    /// Its place in the table.
    pub number: u64,
    /// Its raw form.
    pub bytes: Pinned,
    layout: BlockLayout,
}

impl LoadedBlock {
    /// A block that was verified when it was brought into memory.
    #[inline]
    fn new(number: u64, bytes: Pinned) -> LoadedBlock {
        LoadedBlock {
            number,
            layout: BlockLayout::of_sound(&bytes),
            bytes,
        }
    }

    /// The block's entries.
    #[inline]
    pub fn view(&self) -> BlockView<'_> {
        BlockView::new(&self.bytes, &self.layout)
    }

    /// Whether the place of a key, by this block alone at `slot`, is there among all blocks too: the
    /// entry there is in this block, and the one before it is as well, or is of a smaller key.
    #[inline]
    pub fn has_place(&self, slot: usize, key: &[u8]) -> bool {
        let view = self.view();
        let starts_here = || !view.continues() && view.compare(0, key) == Ordering::Equal;
        slot < view.count() && (slot > 0 || self.number == 0 || starts_here())
    }

    /// The value at `slot`.
    #[inline]
    pub fn value_bytes(&self, slot: usize) -> &[u8] {
        let (start, len) = self.view().value(slot);
        self.bytes.get(start..start + len).unwrap_or_default()
    }

    /// The value at `slot`, with a pin of its own out of `pins`.
    #[inline]
    pub fn value(&self, slot: usize, pins: &mut Pins) -> Pinned {
        let (start, len) = self.view().value(slot);
        self.bytes.part(start, len, pins)
    }

    /// The value at `slot`, which takes over the block's pin.
    pub fn into_value(self, slot: usize) -> Pinned {
        let (start, len) = self.view().value(slot);
        self.bytes.into_part(start, len)
    }
}

/// Where blocks come from on behalf of one get or cursor.
#[derive(Debug)]
pub(crate) struct BlockSource {
    /// Whether blocks that are read stay in the cache.
    pub fill_cache: bool,
    /// Blocks that were read along with others.
    pub(super) ahead: Vec<(u64, Pinned)>,
    /// A block that may be asked for again: the last of several gets was answered from it, or a search
    /// came to it first.
    pub(super) recent: Option<LoadedBlock>,
    keep_recent: bool,
    /// How often a walk forward has come to a block that was not in memory.
    misses_forward: u32,
    /// The most bytes of the file that a walk forward reads in one call: fewer where they make enough
    /// raw bytes.
    most_forward: u64,
    /// What was done.
    pub trace: GetTrace,
}

impl BlockSource {
    pub fn new(fill_cache: bool) -> BlockSource {
        BlockSource {
            fill_cache,
            ahead: Vec::new(),
            recent: None,
            keep_recent: false,
            misses_forward: 0,
            most_forward: READ_AHEAD_BYTES,
            trace: GetTrace::default(),
        }
    }

    /// A source for several gets of ascending keys from one table.
    pub fn shared() -> BlockSource {
        BlockSource {
            keep_recent: true,
            ..BlockSource::new(true)
        }
    }

    /// The next table is another one: blocks go by their numbers in one table.
    #[inline]
    pub fn leave_table(&mut self) {
        self.ahead.clear();
        self.recent = None;
    }

    /// Lets go of the block that a search came to first, unless more gets follow.
    #[inline]
    pub(super) fn forget_unless_shared(&mut self) {
        if !self.keep_recent {
            self.recent = None;
        }
    }

    /// Keeps the block that a get was answered from, if more gets follow.
    #[inline]
    pub(super) fn keep(&mut self, block: &LoadedBlock) {
        let kept = self.recent.as_ref().map(|recent| recent.number);
        if self.keep_recent && kept != Some(block.number) {
            self.recent = Some(block.clone());
        }
    }

    /// The walk goes elsewhere, so that nothing is known of what it will read next.
    pub fn stop_forward(&mut self) {
        self.misses_forward = 0;
    }

    /// How many blocks a walk forward is to read at once, one of which is missing now: 1, 1, 2, 4,
    /// so that one that soon ends reads little in vain; all that fit in one call, if it is a pass
    /// over the whole table.
    fn blocks_forward(&mut self) -> u64 {
        let doublings = self.misses_forward.saturating_sub(1);
        self.misses_forward = self.misses_forward.saturating_add(1);
        match self.fill_cache {
            true => 1u64.checked_shl(doublings).unwrap_or(u64::MAX),
            false => u64::MAX,
        }
    }
}

impl TableReader {
    /// Asks for what a search of a block near `slot` will read, if the block is in memory.
    #[inline]
    pub(super) fn prefetch_block(&self, number: u64, slot: u64) {
        self.slots.prefetch(number, self.likely_rows.about(slot));
    }

    /// The block with this number.
    ///
    /// # Errors
    /// If it cannot be read or is damaged.
    #[inline]
    pub(super) fn block(&self, number: u64, source: &mut BlockSource) -> Result<LoadedBlock> {
        if let Some(recent) = source
            .recent
            .as_ref()
            .filter(|recent| recent.number == number)
        {
            return Ok(recent.clone());
        }
        match self.block_in_memory(number, source) {
            Some(bytes) => Ok(LoadedBlock::new(number, bytes)),
            None => self.read_block(number, source),
        }
    }

    /// The block with this number for one who comes from the block before it, and will perhaps go on.
    ///
    /// # Errors
    /// If it is damaged, or it, or one that is read along with it, cannot be read.
    pub(super) fn block_going_forward(
        &self,
        number: u64,
        source: &mut BlockSource,
    ) -> Result<LoadedBlock> {
        self.slots.prefetch(number + 1, [SECOND_LINE]);
        if let Some(bytes) = self.block_in_memory(number, source) {
            return Ok(LoadedBlock::new(number, bytes));
        }
        let blocks = source.blocks_forward();
        let last = number.saturating_add(blocks - 1);
        let last = last.min(self.directory.blocks().saturating_sub(1));
        let end = self.run_end(number, last, source.most_forward, source.fill_cache)?;
        source.ahead.clear();
        // It grows again slowly, since what is too much is read in vain.
        let more = source.most_forward + source.most_forward / 8;
        source.most_forward = more.min(READ_AHEAD_BYTES);
        self.read_run(number, end, source)?;
        self.block(number, source)
    }

    /// Reads the block with this number from the file.
    ///
    /// # Errors
    /// If it cannot be read or is damaged.
    #[cold]
    pub(super) fn read_block(&self, number: u64, source: &mut BlockSource) -> Result<LoadedBlock> {
        source.ahead.clear();
        self.read_run(number, number, source)?;
        match source.ahead.pop() {
            Some((_, bytes)) => Ok(LoadedBlock::new(number, bytes)),
            None => Err(self.no_such_block(number)),
        }
    }

    #[inline]
    fn block_in_memory(&self, number: u64, source: &mut BlockSource) -> Option<Pinned> {
        if let Some(at) = source.ahead.iter().position(|(n, _)| *n == number) {
            return Some(source.ahead.swap_remove(at).1);
        }
        let bytes = self.slots.get(number)?;
        source.trace.blocks_cached += 1;
        Some(bytes)
    }

    /// Reads the blocks from `first` on, up to `last` and up to `most` bytes, in one call, unless
    /// `first` is in memory; they are then ready for [`TableReader::block`].
    ///
    /// # Errors
    /// If they cannot be read or the first is damaged.
    pub(super) fn read_ahead(
        &self,
        first: u64,
        last: u64,
        most: u64,
        source: &mut BlockSource,
    ) -> Result<()> {
        let is_ahead = source.ahead.iter().any(|(number, _)| *number == first);
        if first >= last || is_ahead || self.slots.holds(first) {
            return Ok(());
        }
        let end = self.run_end(first, last, most, source.fill_cache)?;
        source.ahead.clear();
        self.read_run(first, end, source)
    }

    /// The last of the blocks from `first` on, up to `last`, that take at most `most` bytes in all,
    /// and of which, if `missing`, only `first` may be in memory.
    fn run_end(&self, first: u64, last: u64, most: u64, missing: bool) -> Result<u64> {
        let Some((start, _)) = self.directory.extent(first) else {
            return Err(self.no_such_block(first));
        };
        let fits = |block: u64| {
            let extent = self.directory.extent(block);
            extent.is_some_and(|(offset, len)| offset.saturating_sub(start) + len as u64 <= most)
        };
        let mut end = first;
        while end < last && fits(end + 1) && !(missing && self.slots.holds(end + 1)) {
            end += 1;
        }
        Ok(end)
    }

    /// Reads the blocks `first..=last` in one call into `source.ahead`: those behind the first as far
    /// as they are sound, and until it is enough.
    fn read_run(&self, first: u64, last: u64, source: &mut BlockSource) -> Result<()> {
        let extents = self
            .directory
            .extent(first)
            .zip(self.directory.extent(last));
        let Some(((start, _), (last_start, last_len))) = extents else {
            return Err(self.no_such_block(first));
        };
        // Extents are inside the blocks of the file, of which the footer is the witness.
        let len = last_start.saturating_sub(start) + last_len as u64;
        let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
        let mut read = || ops::read_exact_at(&*self.file, &self.path, &mut bytes, start);
        match source.fill_cache {
            true => read()?,
            false => ops::timed(&mut source.trace.read_time, read)?,
        }
        source.trace.reads += 1;
        source.trace.bytes_read += len;
        let read = Arc::new(OwnedBytes::new(bytes));
        let mut raw_bytes = 0;
        for number in first..=last {
            let (offset, len) = self
                .directory
                .extent(number)
                .ok_or_else(|| self.no_such_block(number))?;
            if raw_bytes >= ENOUGH_RAW_BYTES {
                source.most_forward = offset.saturating_sub(start);
                break;
            }
            let at = offset.saturating_sub(start) as usize;
            match self.admit(number, &read, at, len, offset, source.fill_cache) {
                Ok(bytes) => {
                    raw_bytes += bytes.len() as u64;
                    source.ahead.push((number, bytes));
                }
                // Told when somebody asks for it, which may never be.
                Err(_) if number > first => break,
                Err(error) => return Err(error),
            }
            source.trace.blocks_read += 1;
        }
        Ok(())
    }

    /// Verifies a block that was read from `offset` and lies in `read`, `len` bytes from `at` on. If
    /// it is to be kept, it is in the cache then; else it stays where it is.
    fn admit(
        &self,
        number: u64,
        read: &Arc<OwnedBytes>,
        at: usize,
        len: usize,
        offset: u64,
        keep: bool,
    ) -> Result<Pinned> {
        let stored = read.bytes().get(at..at.saturating_add(len));
        let stored = stored.unwrap_or_default();
        let raw = load(stored, self.table_id, offset, self.raw_largest);
        let raw = raw.map_err(|d| d.in_file(&self.path, offset))?;
        let checked = BlockLayout::parse(&raw).and_then(|layout| {
            layout.check(&raw)?;
            let usual = self.directory.entries_per_cell();
            self.likely_rows.note(&layout, usual);
            BlockView::new(&raw, &layout).check_order()
        });
        checked.map_err(|d| d.in_block(&self.path, offset))?;
        if keep {
            let kept = self.slots.insert(number, &raw);
            return Ok(kept.unwrap_or_else(|| self.slots.bypass(raw.into_owned())));
        }
        Ok(match raw {
            Cow::Borrowed(raw) => {
                Pinned::owned(Arc::clone(read), at + STORED_HEADER_BYTES, raw.len())
            }
            Cow::Owned(raw) => Pinned::from(raw),
        })
    }

    fn no_such_block(&self, number: u64) -> Error {
        let expected = format!("an extent of block {number} inside the blocks of the table");
        Error::corruption(
            &self.path,
            self.sections_offset,
            expected,
            "a directory without",
        )
    }
}
