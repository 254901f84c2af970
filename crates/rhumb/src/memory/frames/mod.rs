//! Blocks of tables in memory, verified and decompressed, in frames that all tables share.
//!
//! A look-up is a load, an addition and a comparison: the table's slot names the block's frame, a
//! pin keeps the frame unchanged, and the frame's tag tells whether it still holds the block
//! (`state.rs`). There is no hash, lock, list or reference count: a hit writes only the pin count
//! and, if the clock cleared it, the reference mark. Everything else is decided under one lock,
//! after a miss, which has waited for the disk anyway (`pool.rs`).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

mod class;
#[cfg(test)]
#[cfg(loom)]
mod loom;
mod pins;
mod pool;
mod region;
mod sizes;
mod slots;
mod space;
mod state;
#[cfg(test)]
#[cfg(not(loom))]
mod tests;
mod written;

pub(super) use pins::{FramePin, PinStock};
pub(crate) use pool::{CacheUse, Room};
pub(crate) use slots::FrameSlots;
pub(crate) use written::WrittenBlocks;

use super::OwnedBytes;
use crate::error::Result;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, lock};
use pool::Pool;
use sizes::Sizes;
use space::FrameSpace;

/// Caches below this keep nothing.
const LEAST_CAPACITY: u64 = 1 << 10;

/// Of the reads of long scans one in eight may evict blocks: those of whose number, mixed, all bits but so many are zero.
const EVICTING_BITS: u32 = 64 - 3;

/// Counts the blocks that got no frame and lie on the heap for their readers, and what was read with them or copied out of
/// them.
#[derive(Debug, Default)]
pub(super) struct Bypass {
    blocks: AtomicU64,
    bytes: AtomicU64,
}

impl Bypass {
    pub fn take(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub fn release(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes as u64, Ordering::Relaxed);
    }
}

/// Blocks kept in memory, up to a number of bytes.
pub(crate) struct BlockCache {
    capacity: u64,
    frames: Option<(Arc<FrameSpace>, Mutex<Pool>)>,
    /// By the id of the table, what its writer kept.
    written: Mutex<HashMap<u64, written::Waiting>>,
    bypass: Arc<Bypass>,
    /// The number of reads of long scans.
    long_reads: AtomicU64,
}

/// The use of a cache, and its counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CacheState {
    /// What takes memory in the cache.
    pub used: CacheUse,
    /// The number of blocks that are pinned in their frames, and their bytes.
    pub pinned_blocks: u64,
    pub pinned_bytes: u64,
    /// The number of blocks so far that got no frame, and the bytes of what was read with those still held and of what
    /// was copied out of them.
    pub bypassed: u64,
    pub bypassed_bytes: u64,
}

impl BlockCache {
    /// A cache of `capacity` bytes. A cache below 1 KiB keeps nothing, and a very large one uses
    /// only as many bytes as frame numbers reach, 512 GiB. Memory is taken as the cache fills.
    ///
    /// # Errors
    /// If the system refuses the address space.
    pub fn new(capacity: u64) -> Result<BlockCache> {
        let frames = match capacity < LEAST_CAPACITY {
            true => None,
            false => {
                let sizes = Sizes::new(capacity);
                let space = Arc::new(FrameSpace::reserve(capacity, &sizes)?);
                let pool = Pool::new(Arc::clone(&space), sizes, capacity);
                Some((space, Mutex::new(pool)))
            }
        };
        Ok(BlockCache {
            capacity,
            frames,
            written: Mutex::default(),
            bypass: Arc::default(),
            long_reads: AtomicU64::new(0),
        })
    }

    /// The most bytes kept, approximately.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The use now. Visits all frames.
    pub fn state(&self) -> CacheState {
        let mut state = CacheState {
            bypassed: self.bypass.blocks.load(Ordering::Relaxed),
            bypassed_bytes: self.bypass.bytes.load(Ordering::Relaxed),
            ..CacheState::default()
        };
        if let Some((_, pool)) = &self.frames {
            state.used = lock(pool).used();
            for slab in 0.. {
                let Some((blocks, bytes)) = lock(pool).pinned_in(slab) else {
                    break;
                };
                state.pinned_blocks += blocks;
                state.pinned_bytes += bytes;
            }
        }
        state
    }

    /// Counts a block that got no frame, and lies in these bytes.
    fn note_bypass(&self, bytes: &OwnedBytes) {
        self.bypass.blocks.fetch_add(1, Ordering::Relaxed);
        bytes.count_in(&self.bypass);
    }

    /// As [`FrameSlots::room_of_long_scan`].
    fn room_of_long_scan(&self) -> Room {
        let count = self.long_reads.fetch_add(1, Ordering::Relaxed) + 1;
        // Mixed, since several runs that are scanned together read in turn.
        match count.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> EVICTING_BITS == 0 {
            true => Room::Any,
            false => Room::Free,
        }
    }

    fn frames(&self) -> Option<&(Arc<FrameSpace>, Mutex<Pool>)> {
        self.frames.as_ref()
    }
}

impl fmt::Debug for BlockCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockCache")
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}
