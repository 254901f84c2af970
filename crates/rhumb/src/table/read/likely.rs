//! Where keys and values probably lie in a block, for prefetching before the block is read.

use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};
use crate::table::block::BlockLayout;

/// The numbers of keys and of values that are prefetched to either side of the expected one. Of 2,
/// 3, 4 and 6 values of 64 bytes, 3 made gets fastest, by a small margin.
const KEYS_PREFETCHED: usize = 8;
const VALUES_PREFETCHED: usize = 3;
/// The most bytes of keys of one length that are prefetched, and of values.
const PREFETCHED_BYTES: usize = 512;
/// The most bytes that are prefetched of the front of a block, which holds its keys if they have different lengths: a search
/// reads the first key of each group, and would otherwise wait for memory once more. More, of fronts of 1,390 bytes and longer
/// ones, was no faster.
const PREFETCHED_FRONT: usize = 1024;

/// A row of keys or values of one length in the blocks of a table: the start of the first (32
/// bits), their length (24 bits) and the number to prefetch to either side of the expected one (8
/// bits). With a length of 0, whatever is expected: so many bytes from the start on as the last field says, or with 0 there all
/// before it; 0 if unknown. It is a guess, used only for prefetching.
#[derive(Debug, Default)]
struct LikelyRow(AtomicU64);

impl LikelyRow {
    /// Notes a row; `slots` to either side of the expected one, or fewer, will be prefetched.
    fn note(&self, start: usize, len: usize, slots: usize) {
        let slots = match PREFETCHED_BYTES.checked_div(len) {
            Some(fit @ 1..) => slots.min((fit - 1) / 2) as u64,
            _ => return self.0.store(0, Relaxed),
        };
        let row = (start as u64) << 32 | (len as u64) << 8 | slots;
        self.0.store(row, Relaxed);
    }

    /// Notes that the first `bytes` bytes of a block are always needed.
    fn note_front(&self, bytes: usize) {
        self.0
            .store((bytes.min(PREFETCHED_FRONT) as u64) << 32, Relaxed);
    }

    /// Notes that blocks of about `bytes` bytes end with what will be needed, nobody knows which of it. The last line stands for
    /// all: a block mostly begins in one page of memory and ends in another, and finding a page takes as long as reading it.
    fn note_end(&self, bytes: usize) {
        let last = bytes.saturating_sub(1) as u64;
        self.0.store(last << 32 | 1, Relaxed);
    }

    /// The range to prefetch around `slot`: its start and length in bytes.
    #[inline]
    fn about(&self, slot: u64) -> (usize, usize) {
        let row = self.0.load(Relaxed);
        let (start, len, slots) = (row >> 32, (row >> 8) & 0xff_ffff, row & 0xff);
        match (len, slots) {
            (0, 0) => return (0, start as usize),
            (0, bytes) => return (start as usize, bytes as usize),
            _ => {}
        }
        let first = start + slot.saturating_sub(slots) * len;
        (first as usize, (len * (2 * slots + 1)) as usize)
    }
}

/// Where keys and values probably lie in the blocks of a table, according to the block read last.
#[derive(Debug, Default)]
pub(in crate::table) struct LikelyRows {
    keys: LikelyRow,
    values: LikelyRow,
}

impl LikelyRows {
    /// Notes the layout of a block of `bytes` bytes. Other blocks may have other numbers of entries, but mostly
    /// `usual`.
    pub fn note(&self, layout: &BlockLayout, bytes: usize, usual: u32) {
        let (start, len) = layout.row();
        if len == 0 {
            // What tells where the keys are lies before them, and what tells where the values are too.
            self.keys.note_front(layout.values());
            return self.values.note_end(bytes);
        }
        self.keys.note(start, len, KEYS_PREFETCHED);
        // Without a usual number of entries, the start of the values is unknown.
        let values = match usual == 0 {
            true => 0,
            false => layout.value_len().unwrap_or(0),
        };
        let start = start + usual as usize * len;
        self.values.note(start, values, VALUES_PREFETCHED);
    }

    /// The ranges of keys and of values to prefetch around `slot`: start and length in bytes.
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
        // 512 bytes hold 64, 7 and 1 of these; equally many are prefetched on both sides.
        for (len, slots) in [(8, 8), (72, 3), (500, 0)] {
            row.note(100, len, 8);
            assert_eq!(row.about(0), (100, (2 * slots + 1) * len));
            let first = 100 + (20 - slots) * len;
            assert_eq!(row.about(20), (first, (2 * slots + 1) * len));
        }
        for (front, fetched) in [(0, 0), (1, 1), (64, 64), (1_000, 1_000), (9_000, 1_024)] {
            row.note_front(front);
            assert_eq!([0, 20].map(|slot| row.about(slot)), [(0, fetched); 2]);
        }
        for (bytes, fetched) in [(0, 0), (1, 0), (4_105, 4_104)] {
            row.note_end(bytes);
            assert_eq!([0, 20].map(|slot| row.about(slot)), [(fetched, 1); 2]);
        }
        for len in [0, 513, 1 << 30] {
            row.note(100, len, 8);
            assert_eq!(row.about(20), (0, 0));
        }
    }
}
