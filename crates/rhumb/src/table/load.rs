//! Brings blocks into memory: from the cache, or verified from the file.

use std::sync::Arc;

use super::block::{BlockLayout, BlockView};
use super::reader::TableReader;
use super::stored::load;
use super::trace::GetTrace;
use crate::error::{Error, Result};
use crate::fs::ops;
use crate::memory::BlockBytes;

/// A verified block in memory.
#[derive(Debug, Clone)]
pub(super) struct LoadedBlock {
    /// Its place in the table.
    pub number: u64,
    /// Its raw form.
    pub bytes: Arc<BlockBytes>,
    layout: BlockLayout,
}

impl LoadedBlock {
    /// The block's entries.
    #[inline]
    pub fn view(&self) -> BlockView<'_> {
        BlockView::new(&self.bytes, &self.layout)
    }
}

/// Where blocks come from on behalf of one get or cursor.
#[derive(Debug)]
pub(crate) struct BlockSource {
    /// Whether blocks that are read stay in the cache.
    pub fill_cache: bool,
    /// Blocks that were read along with others.
    ahead: Vec<(u64, Arc<BlockBytes>)>,
    /// What was done.
    pub trace: GetTrace,
}

impl BlockSource {
    pub fn new(fill_cache: bool) -> BlockSource {
        BlockSource {
            fill_cache,
            ahead: Vec::new(),
            trace: GetTrace::default(),
        }
    }
}

impl TableReader {
    /// The block with this number.
    ///
    /// # Errors
    /// If it cannot be read or is damaged.
    pub(super) fn block(&self, number: u64, source: &mut BlockSource) -> Result<LoadedBlock> {
        match self.block_in_memory(number, source) {
            Some(bytes) => self.lay_out(number, bytes),
            None => self.read_block(number, source),
        }
    }

    /// Reads the block with this number from the file.
    ///
    /// # Errors
    /// If it cannot be read or is damaged.
    pub(super) fn read_block(&self, number: u64, source: &mut BlockSource) -> Result<LoadedBlock> {
        source.ahead.clear();
        self.read_run(number, number, source)?;
        match source.ahead.pop() {
            Some((_, bytes)) => self.lay_out(number, bytes),
            None => Err(self.no_such_block(number)),
        }
    }

    fn block_in_memory(&self, number: u64, source: &mut BlockSource) -> Option<Arc<BlockBytes>> {
        if let Some((_, bytes)) = source.ahead.iter().find(|(n, _)| *n == number) {
            return Some(Arc::clone(bytes));
        }
        let bytes = self.cache.get(self.number, number)?;
        source.trace.blocks_cached += 1;
        Some(bytes)
    }

    /// Reads the blocks from `first` on, up to `last` and up to `most` bytes, in one call, unless
    /// `first` is in memory; they are then ready for [`TableReader::block`].
    ///
    /// # Errors
    /// If they cannot be read or one is damaged.
    pub(super) fn read_ahead(
        &self,
        first: u64,
        last: u64,
        most: u64,
        source: &mut BlockSource,
    ) -> Result<()> {
        if first >= last || self.block_in_memory(first, source).is_some() {
            return Ok(());
        }
        let Some((start, _)) = self.directory.extent(first) else {
            return Err(self.no_such_block(first));
        };
        let fits = |block: u64| {
            let extent = self.directory.extent(block);
            extent.is_some_and(|(offset, len)| offset.saturating_sub(start) + len as u64 <= most)
        };
        let mut end = first;
        while end < last && fits(end + 1) {
            end += 1;
        }
        source.ahead.clear();
        self.read_run(first, end, source)
    }

    /// Reads the blocks `first..=last` in one call into `source.ahead`.
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
        ops::read_exact_at(&*self.file, &self.path, &mut bytes, start)?;
        source.trace.reads += 1;
        source.trace.bytes_read += len;
        if first == last {
            return self.admit(first, bytes, start, source);
        }
        for number in first..=last {
            let (offset, len) = self
                .directory
                .extent(number)
                .ok_or_else(|| self.no_such_block(number))?;
            let at = offset.saturating_sub(start) as usize;
            let stored = bytes.get(at..at.saturating_add(len)).unwrap_or_default();
            self.admit(number, stored.to_vec(), offset, source)?;
        }
        Ok(())
    }

    /// Verifies a block that was read from `offset`.
    fn admit(
        &self,
        number: u64,
        stored: Vec<u8>,
        offset: u64,
        source: &mut BlockSource,
    ) -> Result<()> {
        let raw = load(stored, self.table_id, offset, self.raw_largest);
        let raw = raw.map_err(|d| d.in_file(&self.path, offset))?;
        let checked = BlockLayout::parse(&raw).and_then(|layout| {
            layout.check(&raw)?;
            BlockView::new(&raw, &layout).check_order()
        });
        checked.map_err(|d| d.in_block(&self.path, offset))?;
        let bytes = Arc::new(raw);
        if source.fill_cache {
            self.cache.insert(self.number, number, &bytes);
        }
        source.trace.blocks_read += 1;
        source.ahead.push((number, bytes));
        Ok(())
    }

    fn lay_out(&self, number: u64, bytes: Arc<BlockBytes>) -> Result<LoadedBlock> {
        match BlockLayout::parse(&bytes) {
            Ok(layout) => Ok(LoadedBlock {
                number,
                bytes,
                layout,
            }),
            Err(damage) => {
                let (offset, _) = self.directory.extent(number).unwrap_or_default();
                Err(damage.in_block(&self.path, offset))
            }
        }
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
