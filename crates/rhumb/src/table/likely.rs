//! Where the keys and values of a block lie, mostly: what a get fetches before it has seen the block.

use super::block::BlockLayout;
use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Keys to either side of the expected one that are prefetched, and values. Of 2, 3, 4 and 6 values of
/// 64 bytes, 3 made gets fastest, by little.
const KEYS_PREFETCHED: usize = 8;
const VALUES_PREFETCHED: usize = 3;
/// The most bytes of either that are prefetched.
const PREFETCHED_BYTES: usize = 512;

/// A row of keys or values of one length in the blocks of a table: the start of the first (32 bits), the
/// length of one (24) and how many to fetch to either side of the expected one (8); 0 if nothing is
/// known. It is a guess, used to prefetch only.
#[derive(Debug, Default)]
struct LikelyRow(AtomicU64);

impl LikelyRow {
    /// Notes a row, of which `slots` to either side of the expected one are fetched, or fewer.
    fn note(&self, start: usize, len: usize, slots: usize) {
        let slots = match PREFETCHED_BYTES.checked_div(len) {
            Some(fit @ 1..) => slots.min((fit - 1) / 2) as u64,
            _ => return self.0.store(0, Relaxed),
        };
        let row = (start as u64) << 32 | (len as u64) << 8 | slots;
        self.0.store(row, Relaxed);
    }

    /// The bytes about `slot`: where they start, and how many.
    #[inline]
    fn about(&self, slot: u64) -> (usize, usize) {
        let row = self.0.load(Relaxed);
        let (start, len, slots) = (row >> 32, (row >> 8) & 0xff_ffff, row & 0xff);
        let first = start + slot.saturating_sub(slots) * len;
        (first as usize, (len * (2 * slots + 1)) as usize)
    }
}

/// Where keys and values lie in the blocks of a table, as far as the last block that was read tells.
#[derive(Debug, Default)]
pub(super) struct LikelyRows {
    keys: LikelyRow,
    values: LikelyRow,
}

impl LikelyRows {
    /// Notes how a block is laid out. Others may have fewer or more entries: `usual` ones, mostly.
    pub fn note(&self, layout: &BlockLayout, usual: u32) {
        let (start, len) = layout.row();
        self.keys.note(start, len, KEYS_PREFETCHED);
        // Where nobody knows how many keys there are, nobody knows where the values start.
        let values = match usual == 0 || len == 0 {
            true => 0,
            false => layout.value_len().unwrap_or(0),
        };
        let start = start + usual as usize * len;
        self.values.note(start, values, VALUES_PREFETCHED);
    }

    /// Keys and values about `slot`: where their bytes start in a block, and how many there are.
    #[inline]
    pub fn about(&self, slot: u64) -> [(usize, usize); 2] {
        [self.keys.about(slot), self.values.about(slot)]
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn as_many_rows_are_fetched_as_fit() {
        let row = LikelyRow::default();
        assert_eq!(row.about(5), (0, 0));
        // 512 bytes hold 64, 7, 1 and 0 of these; both sides get as many.
        for (len, slots) in [(8, 8), (72, 3), (500, 0)] {
            row.note(100, len, 8);
            assert_eq!(row.about(0), (100, (2 * slots + 1) * len));
            let first = 100 + (20 - slots) * len;
            assert_eq!(row.about(20), (first, (2 * slots + 1) * len));
        }
        for len in [0, 513, 1 << 30] {
            row.note(100, len, 8);
            assert_eq!(row.about(20), (0, 0));
        }
    }
}
