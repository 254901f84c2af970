//! Blocks of tables in memory: verified and decompressed, in frames that all tables share.
//!
//! A look-up is a load, an addition and a comparison: the table's slot says which frame the block is
//! in, a pin keeps the frame as it is, its tag says whether it is still the right one (`state.rs`).
//! No hash, no lock, no list, no reference count to drop: on a hit nothing is written but the count
//! of pins, and a mark where the clock took it off. Everything else is decided under one lock by
//! those who just waited for the disk (`pool.rs`).

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

pub(super) use pins::{FramePin, PinStock};
pub(crate) use pool::CacheUse;
pub(crate) use slots::TableSlots;

use super::OwnedBytes;
use crate::error::Result;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, lock};
use pool::Pool;
use sizes::Sizes;
use space::FrameSpace;

/// Caches below this keep nothing.
const LEAST_CAPACITY: u64 = 1 << 10;

/// Blocks that found no frame, and lie on the heap for those who read them.
#[derive(Debug, Default)]
pub(super) struct Bypass {
    blocks: AtomicU64,
    bytes: AtomicU64,
}

impl Bypass {
    pub fn release(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes as u64, Ordering::Relaxed);
    }
}

/// Blocks kept in memory, up to a number of bytes.
pub(crate) struct BlockCache {
    capacity: u64,
    frames: Option<(Arc<FrameSpace>, Mutex<Pool>)>,
    bypass: Arc<Bypass>,
}

/// What a cache did and does beside keeping blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CacheState {
    /// What takes memory.
    pub used: CacheUse,
    /// Blocks that are pinned in their frames, and their bytes.
    pub pinned_blocks: u64,
    pub pinned_bytes: u64,
    /// How many blocks found no frame so far, and the bytes of those that are still read.
    pub bypassed: u64,
    pub bypassed_bytes: u64,
}

impl BlockCache {
    /// A cache of `capacity` bytes, of which as many are used as can be numbered, 512 GiB for a
    /// large one; very small ones, and 0, keep nothing. Memory is taken as it fills.
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
            bypass: Arc::default(),
        })
    }

    /// The most bytes kept, about.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// What is used now. Goes over all frames.
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

    /// Memory for a block that found no frame; it is counted until it is dropped.
    pub fn bypass(&self, bytes: Vec<u8>) -> OwnedBytes {
        self.bypass.blocks.fetch_add(1, Ordering::Relaxed);
        let len = bytes.len() as u64;
        self.bypass.bytes.fetch_add(len, Ordering::Relaxed);
        OwnedBytes::counted(bytes, Arc::clone(&self.bypass))
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
