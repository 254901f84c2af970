//! Where the blocks of one table are in memory: a frame number for each block.

use std::fmt;
use std::sync::Arc;

use rhumb_index::{BlockRows, search};

use super::pool::Room;
use super::space::{FrameNumber, FrameSpace};
use super::{BlockCache, OwnedBytes};
use crate::memory::Pinned;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{OnceLock, lock};

/// So many zeros. They take no memory before they are touched, as most of the slots of a large cache never are: 12 s and 8 GiB
/// for those of values in a cache of 512 GiB.
#[cfg(not(loom))]
fn zeros(count: usize) -> Box<[AtomicU32]> {
    let zeros = Box::into_raw(vec![0_u32; count].into_boxed_slice());
    // SAFETY: `zeros` is the only pointer to a box of integers, and an atomic has the size, the alignment and the bits of its
    // integer.
    unsafe { Box::from_raw(zeros as *mut [AtomicU32]) }
}

#[cfg(loom)]
fn zeros(count: usize) -> Box<[AtomicU32]> {
    (0..count).map(|_| AtomicU32::new(0)).collect()
}

/// The slots of a table's blocks. They change only under the pool's lock.
pub(super) struct Slots {
    /// The table's number in the cache, never reused; not 0.
    table: u32,
    slots: Box<[AtomicU32]>,
}

impl Slots {
    /// Bytes of memory for the slot of one block.
    pub const BYTES_A_BLOCK: u64 = size_of::<u32>() as u64;

    /// Slots for a table of `blocks` blocks, none of which is in memory.
    pub fn new(table: u32, blocks: usize) -> Slots {
        Slots {
            table,
            slots: zeros(blocks),
        }
    }

    /// The table's number.
    pub fn table(&self) -> u32 {
        self.table
    }

    /// The number of slots.
    pub fn blocks(&self) -> usize {
        self.slots.len()
    }

    /// The tag of a frame that holds the block; `None` if the block's number is too large for a
    /// tag.
    #[inline]
    pub fn tag(&self, block: usize) -> Option<u64> {
        Self::tag_of(self.table, block)
    }

    /// The tag of a block of a table.
    #[inline]
    pub fn tag_of(table: u32, block: usize) -> Option<u64> {
        let block = u32::try_from(block).ok()?;
        Some(u64::from(table) << 32 | u64::from(block))
    }

    /// Table and block of a tag.
    pub fn of_tag(tag: u64) -> (u32, usize) {
        ((tag >> 32) as u32, tag as u32 as usize)
    }

    /// The frame that held the block at the time of the load.
    #[inline]
    pub fn frame(&self, block: usize) -> Option<FrameNumber> {
        // Relaxed: any value that was ever in the slot is the number of a frame, and pinning the
        // frame checks whether it still holds the block.
        FrameNumber::from_slot(self.slots.get(block)?.load(Ordering::Relaxed))
    }

    /// All frames that hold blocks of the table.
    pub fn frames(&self) -> impl Iterator<Item = FrameNumber> + '_ {
        (0..self.slots.len()).filter_map(|block| self.frame(block))
    }

    /// Notes that a block is in a frame.
    pub fn set(&self, block: usize, frame: FrameNumber) {
        if let Some(slot) = self.slots.get(block) {
            slot.store(frame.to_slot(), Ordering::Relaxed);
        }
    }

    /// Notes that a block is in no frame.
    pub fn clear(&self, block: usize) {
        if let Some(slot) = self.slots.get(block) {
            slot.store(0, Ordering::Relaxed);
        }
    }
}

/// The slots of one open table in the cache. Dropping it frees the frames of its blocks.
pub(crate) struct FrameSlots {
    cache: Arc<BlockCache>,
    blocks: u64,
    /// Made when the first block is kept.
    kept: OnceLock<Kept>,
}

struct Kept {
    slots: Arc<Slots>,
    space: Arc<FrameSpace>,
}

impl FrameSlots {
    /// For a table of `blocks` blocks; allocates nothing yet.
    pub fn new(cache: Arc<BlockCache>, blocks: u64) -> FrameSlots {
        FrameSlots {
            cache,
            blocks,
            kept: OnceLock::new(),
        }
    }

    /// For the table with this id, whose blocks may have been kept when they were written.
    pub fn of_table(cache: Arc<BlockCache>, blocks: u64, table_id: u64) -> FrameSlots {
        let slots = FrameSlots::new(cache, blocks);
        let written = slots.cache.take_written(table_id);
        if let Some((waiting, (space, pool))) = written.zip(slots.cache.frames()) {
            let mut pool = lock(pool);
            if waiting.frames.len() as u64 != blocks {
                pool.free_written(&waiting);
            } else if let Some(adopted) = pool.adopt(&waiting) {
                let space = Arc::clone(space);
                let _ = slots.kept.set(Kept {
                    slots: adopted,
                    space,
                });
            }
        }
        slots
    }

    /// How many of up to `most` blocks, spread evenly, are in memory at the time of the call, and how many were looked at.
    pub fn held_among(&self, most: u64) -> (u64, u64) {
        let stride = self.blocks.div_ceil(most.max(1)).max(1) as usize;
        let looked_at = (0..self.blocks).step_by(stride);
        let held = looked_at.clone().filter(|block| self.holds(*block));
        (held.count() as u64, looked_at.count() as u64)
    }

    /// Counts a block that could not be kept, and lies in these bytes until they are dropped.
    pub fn note_bypass(&self, bytes: &OwnedBytes) {
        self.cache.note_bypass(bytes);
    }

    /// The room for what a scan reads that has read much already: one call of eight may evict blocks. So a scan
    /// leaves the cache nearly as it was, and what is scanned over and over is there after some time (bimodal
    /// insertion, Qureshi et al., ISCA 2007).
    pub fn room_of_long_scan(&self) -> Room {
        self.cache.room_of_long_scan()
    }

    /// The block, pinned, if it is in memory. Takes no lock and allocates nothing.
    #[inline]
    pub fn get(&self, block: u64) -> Option<Pinned> {
        let kept = self.kept.get()?;
        let block = usize::try_from(block).ok()?;
        let frame = kept.slots.frame(block)?;
        kept.space.pin(frame, kept.slots.tag(block)?)
    }

    /// What [`FrameSlots::get`] reads first of each block, for an index that counts the table's first block as `first`.
    #[inline]
    pub fn beside(&self, first: u64) -> BlockRows {
        let kept = self.kept.get();
        kept.map_or(BlockRows::NONE, |kept| {
            BlockRows::new(&kept.slots.slots, first)
        })
    }

    /// Whether no block was ever in memory.
    pub fn is_empty(&self) -> bool {
        self.kept.get().is_none()
    }

    /// Whether the block was in memory at the time of the call.
    pub fn holds(&self, block: u64) -> bool {
        let kept = self.kept.get().zip(usize::try_from(block).ok());
        kept.is_some_and(|(kept, block)| kept.slots.frame(block).is_some())
    }

    /// Prefetches what tells whether the block is in memory.
    #[inline]
    pub fn prefetch_slot(&self, block: u64) {
        if let Some((kept, block)) = self.kept.get().zip(usize::try_from(block).ok()) {
            search::prefetch(&kept.slots.slots, block..block.saturating_add(1));
        }
    }

    /// If the block is in memory, prefetches into the processor's caches what [`FrameSlots::get`]
    /// will read, the block's first bytes, and some of its ranges (start and length).
    #[inline]
    pub fn prefetch<const N: usize>(&self, block: u64, ranges: [(usize, usize); N]) {
        if let Some((kept, block)) = self.kept.get().zip(usize::try_from(block).ok())
            && let Some(frame) = kept.slots.frame(block)
        {
            kept.space.prefetch(frame, ranges);
        }
    }

    /// Keeps a block that was read and verified, unless another thread has just kept it, and pins
    /// it. `None` if it cannot be kept: it is too large, or there is no such room, or everything is pinned.
    pub fn insert(&self, block: u64, bytes: &[u8], room: Room) -> Option<Pinned> {
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
            // The block cannot go while the lock is held: `None` here means that it has too many
            // pins.
            true => self.get(block),
            false if at < kept.slots.blocks() => pool.insert((&kept.slots, at), bytes, room),
            false => None,
        }
    }
}

impl Drop for FrameSlots {
    fn drop(&mut self) {
        if let Some((kept, (_, pool))) = self.kept.get().zip(self.cache.frames()) {
            lock(pool).forget(&kept.slots);
        }
    }
}

impl fmt::Debug for FrameSlots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameSlots")
            .field("blocks", &self.blocks)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    /// Would crash, or find frames, if the slots were not so many zeros in memory of their own.
    #[test]
    fn slots_begin_empty_and_keep_what_is_set() {
        for count in [0, 1, 3, 100_000] {
            let slots: Vec<Slots> = (1..4).map(|table| Slots::new(table, count)).collect();
            for (table, slots) in slots.iter().enumerate() {
                assert_eq!((slots.blocks(), slots.frames().count()), (count, 0));
                for block in (0..count).step_by(7) {
                    let frame = FrameNumber::from_slot((block + table) as u32 + 1);
                    slots.set(block, frame.unwrap());
                }
            }
            for (table, slots) in slots.iter().enumerate() {
                for block in 0..count {
                    let frame = FrameNumber::from_slot((block + table) as u32 + 1);
                    let expected = frame.filter(|_| block % 7 == 0);
                    assert_eq!(
                        slots.frame(block).map(FrameNumber::to_slot),
                        expected.map(FrameNumber::to_slot)
                    );
                }
                assert!(slots.frame(count).is_none());
            }
        }
    }
}
