//! Blocks that stay in memory from the time when they are written: before there is a table to read.

use std::fmt;
use std::mem;
use std::sync::Arc;

use super::BlockCache;
use crate::sync::lock;

/// The blocks of a table that is being written, as far as there was memory left for them. Dropping it frees their frames.
pub(crate) struct WrittenBlocks {
    cache: Arc<BlockCache>,
    waiting: Waiting,
}

/// Where blocks are, until their table is opened.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// The number of the table in the cache.
    pub table: u32,
    /// Block by block, its frame, as in a slot; 0 for none.
    pub frames: Vec<u32>,
}

impl WrittenBlocks {
    /// Of a new table; `None` if the cache keeps nothing.
    pub fn new(cache: &Arc<BlockCache>) -> Option<Self> {
        let (_, pool) = cache.frames()?;
        let table = lock(pool).number_table()?;
        let cache = Arc::clone(cache);
        let frames = Vec::new();
        Some(WrittenBlocks {
            cache,
            waiting: Waiting { table, frames },
        })
    }

    /// Keeps the next block, if there is memory left: no other block makes room for it.
    pub fn push(&mut self, block: &[u8]) {
        let Some((_, pool)) = self.cache.frames() else {
            return;
        };
        let number = self.waiting.frames.len();
        let frame = lock(pool).keep(self.waiting.table, number, block);
        self.waiting.frames.push(frame.map_or(0, |f| f.to_slot()));
    }

    /// Leaves them to the first reader of the table with this id, or to [`BlockCache::forget_written`].
    pub fn hand_over(mut self, table_id: u64) {
        let waiting = mem::take(&mut self.waiting);
        lock(&self.cache.written).insert(table_id, waiting);
    }
}

impl Drop for WrittenBlocks {
    fn drop(&mut self) {
        self.cache.free_written(&self.waiting);
    }
}

impl BlockCache {
    /// The number of tables whose blocks wait for a reader.
    #[cfg(test)]
    pub fn written_tables(&self) -> usize {
        lock(&self.written).len()
    }

    /// What was written of a table, and that nobody has asked for yet.
    pub(super) fn take_written(&self, table_id: u64) -> Option<Waiting> {
        lock(&self.written).remove(&table_id)
    }

    /// Frees what was written of a table that nobody will read.
    pub fn forget_written(&self, table_id: u64) {
        if let Some(waiting) = self.take_written(table_id) {
            self.free_written(&waiting);
        }
    }

    fn free_written(&self, waiting: &Waiting) {
        if let Some((_, pool)) = self.frames() {
            lock(pool).free_written(waiting);
        }
    }
}

impl fmt::Debug for WrittenBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WrittenBlocks")
            .field("waiting", &self.waiting)
            .finish_non_exhaustive()
    }
}
