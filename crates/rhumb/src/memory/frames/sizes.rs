//! The sizes of slabs and frames.

use rhumb_index::search::LINE_BYTES;

/// The smallest frame.
pub(super) const MIN_FRAME_BYTES: usize = 2 * LINE_BYTES;

/// The approximate number of slabs of a cache. Each frame size owns whole slabs: with 64 slabs, a
/// few dozen sizes would leave an eighth of the cache unused, which cost 2 points of the hit rate.
const SLABS: u64 = 256;
const LEAST_SLAB_BYTES: u64 = 64 << 10;
const MOST_SLAB_BYTES: u64 = 2 << 20;

/// Caches with fewer slabs have fewer frame sizes, so that one size does not own half of the cache.
const MANY_SLABS: u64 = 32;

/// Down to this many frames in a slab, frame sizes divide the slab evenly.
const FEW_FRAMES: usize = 16;

/// Frames of more lines than this have an odd number of them. If they all had 64 lines, the starts
/// of all blocks would compete for the same few sets of the processor's caches.
const EVEN_LINES: usize = 16;

/// How a cache is divided.
#[derive(Debug)]
pub(super) struct Sizes {
    slab_bytes: usize,
    /// Ascending.
    frame_bytes: Vec<u32>,
}

impl Sizes {
    /// The sizes for a cache of `capacity` bytes, which is at least [`MIN_FRAME_BYTES`].
    pub fn new(capacity: u64) -> Sizes {
        // A small cache has fewer slabs, since slabs that are too small hold no block.
        let part = (capacity / SLABS).clamp(LEAST_SLAB_BYTES, MOST_SLAB_BYTES);
        let slab = part.min((capacity / 4).max(8 << 10)).min(capacity);
        let slab = slab.checked_ilog2().map_or(0, |bits| 1 << bits);
        let few = capacity / slab.max(1) < MANY_SLABS;
        let steps = if few { 2 } else { 8 };
        Sizes {
            slab_bytes: slab as usize,
            frame_bytes: frame_sizes(slab as usize, steps),
        }
    }

    /// Bytes of a slab, a power of two.
    pub fn slab_bytes(&self) -> usize {
        self.slab_bytes
    }

    /// The number of frame sizes.
    pub fn count(&self) -> usize {
        self.frame_bytes.len()
    }

    /// Bytes of a frame of the size with this index.
    pub fn frame_bytes(&self, size: usize) -> u32 {
        self.frame_bytes.get(size).copied().unwrap_or(0)
    }

    /// The index of the smallest frame size that holds a block; `None` if the block exceeds a slab.
    pub fn of_block(&self, bytes: usize) -> Option<usize> {
        let size = self.frame_bytes.partition_point(|b| (*b as usize) < bytes);
        (size < self.frame_bytes.len()).then_some(size)
    }
}

/// The frame sizes for slabs of `slab` bytes: `steps` to each doubling, as far as whole lines
/// allow.
fn frame_sizes(slab: usize, steps: usize) -> Vec<u32> {
    let lines = slab / LINE_BYTES;
    let mut sizes: Vec<usize> = Vec::new();
    for frames in (1..=FEW_FRAMES).filter(|n| steps > 2 || n.is_power_of_two()) {
        sizes.push(lines / frames);
    }
    let most = lines / FEW_FRAMES;
    for doubling in 0..most.max(1).ilog2() {
        for step in steps..2 * steps {
            let lines = (step << doubling) / steps;
            let lines = if lines > EVEN_LINES { lines | 1 } else { lines };
            sizes.push(lines.min(most));
        }
    }
    sizes.retain(|lines| lines * LINE_BYTES >= MIN_FRAME_BYTES);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
        .iter()
        .map(|lines| (lines * LINE_BYTES) as u32)
        .collect()
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn frames_waste_little_and_begin_in_different_lines() {
        let sizes = Sizes::new(256 << 20);
        assert_eq!(sizes.slab_bytes(), 1 << 20);
        let (mut blocks, mut wasted) = (0.0, 0.0);
        for bytes in (1000..60_000).step_by(100) {
            let frame = sizes.frame_bytes(sizes.of_block(bytes).unwrap()) as usize;
            assert!(
                (bytes..bytes * 9 / 8 + 2 * LINE_BYTES).contains(&frame),
                "{bytes}: {frame}"
            );
            assert!(frame < 1100 || !frame.is_multiple_of(2 * LINE_BYTES));
            blocks += 1.0;
            wasted += frame as f64 / bytes as f64 - 1.0;
        }
        assert!(wasted / blocks < 0.07, "{}", wasted / blocks);
        for bytes in [4096, 8192, 16 << 10] {
            let frame = sizes.frame_bytes(sizes.of_block(bytes).unwrap()) as usize;
            assert_eq!(frame, bytes + LINE_BYTES);
        }
    }

    #[test]
    fn every_capacity_has_sizes_up_to_its_slab() {
        for bits in 7..45 {
            for capacity in [1u64 << bits, (1 << bits) + 4097, (3 << bits) / 2] {
                let sizes = Sizes::new(capacity);
                let slab = sizes.slab_bytes();
                assert!(slab.is_power_of_two() && slab as u64 <= capacity);
                assert!(capacity < 16 << 10 || capacity / slab as u64 >= 2);
                let mut before = 0;
                for size in 0..sizes.count() {
                    let bytes = sizes.frame_bytes(size) as usize;
                    assert!(bytes > before && bytes >= MIN_FRAME_BYTES);
                    assert!(bytes.is_multiple_of(LINE_BYTES));
                    assert_eq!(sizes.of_block(bytes), Some(size));
                    assert_eq!(sizes.of_block(before + 1), Some(size));
                    before = bytes;
                }
                assert_eq!(before, slab);
                assert_eq!(sizes.of_block(slab + 1), None);
            }
        }
    }
}
