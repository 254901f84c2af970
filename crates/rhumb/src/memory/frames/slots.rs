//! Where the blocks of one table are in memory: a frame number for each.

use std::fmt;
use std::sync::Arc;

use super::BlockCache;
use super::space::{FrameNumber, FrameSpace};
use crate::memory::Pinned;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{OnceLock, lock};

/// The slots of a table's blocks. Only the holder of the pool's lock changes them.
pub(super) struct Slots {
    /// The table's number in the cache, never used again; not 0.
    table: u32,
    slots: Box<[AtomicU32]>,
}

impl Slots {
    /// What a block takes.
    pub const BYTES_A_BLOCK: u64 = size_of::<u32>() as u64;

    /// Empty slots.
    pub fn new(table: u32, blocks: usize) -> Slots {
        Slots {
            table,
            slots: (0..blocks).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// The table's number.
    pub fn table(&self) -> u32 {
        self.table
    }

    /// How many slots there are.
    pub fn blocks(&self) -> usize {
        self.slots.len()
    }

    /// What the header of the frame says that holds a block; `None` for blocks that cannot be told.
    #[inline]
    pub fn tag(&self, block: usize) -> Option<u64> {
        let block = u32::try_from(block).ok()?;
        Some(u64::from(self.table) << 32 | u64::from(block))
    }

    /// Table and block of a tag.
    pub fn of_tag(tag: u64) -> (u32, usize) {
        ((tag >> 32) as u32, tag as u32 as usize)
    }

    /// The frame that a block was in just now.
    #[inline]
    pub fn frame(&self, block: usize) -> Option<FrameNumber> {
        // Relaxed: whatever stands here, or stood once, is a frame's number, and pinning the frame
        // finds out whether it is the right one.
        FrameNumber::from_slot(self.slots.get(block)?.load(Ordering::Relaxed))
    }

    /// All frames with blocks of the table.
    pub fn frames(&self) -> impl Iterator<Item = FrameNumber> + '_ {
        (0..self.slots.len()).filter_map(|block| self.frame(block))
    }

    /// Says where a block is.
    pub fn set(&self, block: usize, frame: FrameNumber) {
        if let Some(slot) = self.slots.get(block) {
            slot.store(frame.to_slot(), Ordering::Relaxed);
        }
    }

    /// Says that a block is nowhere.
    pub fn clear(&self, block: usize) {
        if let Some(slot) = self.slots.get(block) {
            slot.store(0, Ordering::Relaxed);
        }
    }
}

/// The blocks of one open table that are in the cache. Dropping it frees their frames.
pub(crate) struct TableSlots {
    cache: Arc<BlockCache>,
    blocks: u64,
    /// Made when the first block is kept.
    kept: OnceLock<Kept>,
}

struct Kept {
    slots: Arc<Slots>,
    space: Arc<FrameSpace>,
}

impl TableSlots {
    /// For a table of so many blocks; takes no memory yet.
    pub fn new(cache: Arc<BlockCache>, blocks: u64) -> TableSlots {
        TableSlots {
            cache,
            blocks,
            kept: OnceLock::new(),
        }
    }

    /// Pins a block that could not be kept, in memory of its own.
    pub fn bypass(&self, block: Vec<u8>) -> Pinned {
        let len = block.len();
        Pinned::owned(Arc::new(self.cache.bypass(block)), 0, len)
    }

    /// The block, pinned, if it is in memory. Takes no lock and allocates nothing.
    #[inline]
    pub fn get(&self, block: u64) -> Option<Pinned> {
        let kept = self.kept.get()?;
        let block = usize::try_from(block).ok()?;
        let frame = kept.slots.frame(block)?;
        kept.space.pin(frame, kept.slots.tag(block)?)
    }

    /// Whether the block is in memory, or was just now.
    pub fn holds(&self, block: u64) -> bool {
        let kept = self.kept.get().zip(usize::try_from(block).ok());
        kept.is_some_and(|(kept, block)| kept.slots.frame(block).is_some())
    }

    /// If the block is in memory, fetches what [`TableSlots::get`] will ask for, and of the block its
    /// first bytes and those of some ranges (start and length), into the processor's caches, without
    /// waiting for them.
    #[inline]
    pub fn prefetch<const N: usize>(&self, block: u64, ranges: [(usize, usize); N]) {
        if let Some((kept, block)) = self.kept.get().zip(usize::try_from(block).ok())
            && let Some(frame) = kept.slots.frame(block)
        {
            kept.space.prefetch(frame, ranges);
        }
    }

    /// Keeps a block that was read and verified, unless somebody else has just done so, and pins it.
    /// `None` if it cannot be kept: it is too large, or everything is pinned.
    pub fn insert(&self, block: u64, bytes: &[u8]) -> Option<Pinned> {
        let (space, pool) = self.cache.frames()?;
        let at = usize::try_from(block).ok()?;
        let mut pool = lock(pool);
        let kept = match self.kept.get() {
            Some(kept) => kept,
            None => {
                let slots = pool.register(self.blocks)?;
                let space = Arc::clone(space);
                self.kept.get_or_init(|| Kept { slots, space })
            }
        };
        match self.holds(block) {
            // Gone while we hold the lock it cannot be, only pinned too often.
            true => self.get(block),
            false if at < kept.slots.blocks() => pool.insert(&kept.slots, at, bytes),
            false => None,
        }
    }
}

impl Drop for TableSlots {
    fn drop(&mut self) {
        if let Some((kept, (_, pool))) = self.kept.get().zip(self.cache.frames()) {
            lock(pool).forget(&kept.slots);
        }
    }
}

impl fmt::Debug for TableSlots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableSlots")
            .field("blocks", &self.blocks)
            .finish_non_exhaustive()
    }
}
