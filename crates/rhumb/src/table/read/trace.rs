//! Statistics of one get or one cursor.

use std::time::Duration;

/// The counts of one get over all the tables that it asked, or of one cursor. Plain numbers, not
/// atomics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GetTrace {
    /// Tables that were asked for the key.
    pub tables_probed: u32,
    /// Tables whose filter excluded the key.
    pub filter_negative: u32,
    /// Tables whose filter did not exclude the key.
    pub filter_positive: u32,
    /// Those of the latter that did not hold it.
    pub filter_false_positive: u32,
    /// Tables behind the filter in which a model over several tables said where to look.
    pub model_probes: u32,
    /// Ranks in the windows that indexes returned.
    pub window_ranks: u32,
    /// Blocks read from storage.
    pub blocks_read: u32,
    /// Read calls for them.
    pub reads: u32,
    /// Bytes read from storage.
    pub bytes_read: u64,
    /// Blocks found in the cache.
    pub blocks_cached: u32,
    /// The time of the read calls, if they were timed.
    pub read_time: Duration,
}

impl GetTrace {
    /// Counts a window of so many ranks.
    #[inline]
    pub(super) fn count_window(&mut self, ranks: u32) {
        self.window_ranks = self.window_ranks.saturating_add(ranks);
    }

    /// Counts a call that reads blocks.
    pub(super) fn count_read(&mut self, blocks: u64, bytes: u64) {
        let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
        self.blocks_read = self.blocks_read.saturating_add(blocks);
        self.reads = self.reads.saturating_add(1);
        self.bytes_read += bytes;
    }

    /// Adds another trace's counts.
    pub fn add(&mut self, other: &GetTrace) {
        self.tables_probed = self.tables_probed.saturating_add(other.tables_probed);
        self.filter_negative = self.filter_negative.saturating_add(other.filter_negative);
        self.filter_positive = self.filter_positive.saturating_add(other.filter_positive);
        self.filter_false_positive = self
            .filter_false_positive
            .saturating_add(other.filter_false_positive);
        self.model_probes = self.model_probes.saturating_add(other.model_probes);
        self.window_ranks = self.window_ranks.saturating_add(other.window_ranks);
        self.blocks_read = self.blocks_read.saturating_add(other.blocks_read);
        self.reads = self.reads.saturating_add(other.reads);
        self.bytes_read += other.bytes_read;
        self.blocks_cached = self.blocks_cached.saturating_add(other.blocks_cached);
        self.read_time += other.read_time;
    }
}

/// For how many maps a get remembers its key's number.
const REMEMBERED: usize = 4;

/// The numbers of one key under the key maps that a get uses, so that it is mapped once for each
/// map.
#[derive(Debug, Clone, Default)]
pub(crate) struct NumberCache {
    /// Map numbers, with the key's number under each map; the most recent ones.
    known: [(u64, u64); REMEMBERED],
    /// The number of maps used so far.
    met: usize,
}

impl NumberCache {
    /// The key's number under the map with this number; `make` is called if it is not remembered.
    #[inline]
    pub fn number(&mut self, map: u64, make: impl FnOnce() -> u64) -> u64 {
        for (known_map, number) in self.known.iter().take(self.met) {
            if *known_map == map {
                return *number;
            }
        }
        let number = make();
        if let Some(slot) = self.known.get_mut(self.met % REMEMBERED) {
            *slot = (map, number);
        }
        self.met = self.met.wrapping_add(1);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_mapped_once_a_map() {
        let mut numbers = NumberCache::default();
        for map in [3, 3, 9, 9, 3] {
            let mut made = 0;
            let number = numbers.number(map, || {
                made += 1;
                map * 10
            });
            assert_eq!(number, map * 10);
        }
        assert_eq!(numbers.number(3, || 77), 30);
        for map in 100..110 {
            numbers.number(map, || 1);
        }
        assert_eq!(numbers.number(3, || 77), 77);
    }
}
