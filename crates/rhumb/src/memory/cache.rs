//! The cache of blocks that were read from tables: verified and decompressed, shared by all tables.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::Pin;

/// What a cached block takes beside its bytes, about: entry, key, reference counts.
const OVERHEAD_BYTES: u64 = 96;

/// The raw form of a block. The bytes before it are the head of the stored form, kept so that a
/// block that was not compressed need not be copied.
pub(crate) struct BlockBytes {
    bytes: Box<[u8]>,
    raw_start: usize,
}

impl BlockBytes {
    /// The raw form starts at `raw_start` of `bytes`.
    pub fn new(bytes: Vec<u8>, raw_start: usize) -> Self {
        BlockBytes {
            bytes: bytes.into_boxed_slice(),
            raw_start,
        }
    }
}

impl Deref for BlockBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.bytes.get(self.raw_start..).unwrap_or_default()
    }
}

impl Pin for BlockBytes {
    fn bytes(&self, start: u64, len: usize) -> &[u8] {
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        self.get(start..start.saturating_add(len))
            .unwrap_or_default()
    }
}

impl fmt::Debug for BlockBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockBytes")
            .field("bytes", &self.len())
            .finish()
    }
}

/// A block by the number of its table's file and its own number in the table.
type Place = (u64, u64);

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<Place, Arc<BlockBytes>> for ByBytes {
    fn weight(&self, _: &Place, block: &Arc<BlockBytes>) -> u64 {
        block.bytes.len() as u64 + OVERHEAD_BYTES
    }
}

/// Blocks kept in memory, up to a number of bytes. File numbers are never used again, so blocks of
/// removed tables just age out.
pub(crate) struct BlockCache {
    blocks: Cache<Place, Arc<BlockBytes>, ByBytes>,
}

impl BlockCache {
    /// A cache of `capacity` bytes; 0 keeps nothing.
    pub fn new(capacity: u64) -> Self {
        // Blocks of 4 KiB, about, and never too few to be spread over shards.
        let items = usize::try_from(capacity / 4096).unwrap_or(usize::MAX);
        let items = items.clamp(128, 1 << 24);
        BlockCache {
            blocks: Cache::with_weighter(items, capacity, ByBytes),
        }
    }

    /// The block, if it is there.
    #[inline]
    pub fn get(&self, table: u64, block: u64) -> Option<Arc<BlockBytes>> {
        self.blocks.get(&(table, block))
    }

    /// Keeps a block, perhaps in place of others.
    pub fn insert(&self, table: u64, block: u64, bytes: &Arc<BlockBytes>) {
        self.blocks.insert((table, block), Arc::clone(bytes));
    }

    /// Bytes kept now.
    pub fn bytes(&self) -> u64 {
        self.blocks.weight()
    }

    /// The most bytes kept.
    pub fn capacity(&self) -> u64 {
        self.blocks.capacity()
    }
}

impl fmt::Debug for BlockCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockCache")
            .field("bytes", &self.bytes())
            .field("capacity", &self.capacity())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(len: usize) -> Arc<BlockBytes> {
        Arc::new(BlockBytes::new(vec![7; len + 9], 9))
    }

    #[test]
    fn the_raw_form_is_what_is_pinned() {
        let mut bytes = vec![0; 9];
        bytes.extend_from_slice(b"raw form");
        let block = BlockBytes::new(bytes, 9);
        assert_eq!(&*block, b"raw form");
        assert_eq!(block.bytes(4, 4), b"form");
        assert_eq!(block.bytes(4, 5), b"");
        assert_eq!(block.bytes(u64::MAX, usize::MAX), b"");
    }

    #[test]
    fn bytes_stay_within_the_capacity() {
        let cache = BlockCache::new(1 << 20);
        for number in 0..2_000 {
            cache.insert(1, number, &block(4096));
            assert!(cache.bytes() <= cache.capacity());
        }
        let kept = (0..2_000).filter(|n| cache.get(1, *n).is_some()).count();
        assert!((150..=256).contains(&kept), "{kept} blocks are kept");
        assert!(cache.get(2, 1_999).is_none());
    }

    #[test]
    fn no_capacity_keeps_nothing() {
        let cache = BlockCache::new(0);
        cache.insert(1, 1, &block(10));
        assert!(cache.get(1, 1).is_none());
        assert_eq!(cache.bytes(), 0);
    }
}
