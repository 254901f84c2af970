//! The cells of a placed table, one after the other, each a block or several.

use super::super::blocks::{BlockWriter, LARGEST_BLOCK_BYTES};
use super::TARGET_BYTES;
use super::waiting::Front;
use crate::error::Result;
use crate::table::LARGE_ENTRY_BYTES;

/// A cell goes on in another block beyond so many times the target. Wide enough for cells whose count
/// strays as far as the model's error lets it: each extra block costs memory for ever.
const LARGEST_TIMES: usize = 8;
/// The model is given up if reading the block of a key takes so many times what is meant.
const DEAR_TIMES: u64 = 2;
/// Not before so many bytes were placed.
const TRIAL_BYTES: u64 = 256 << 10;
/// It is given up too if cells hold so many times less than is meant: each block costs memory and its
/// headers, however little is in it.
const POOR_TIMES: u64 = 4;
/// Not before there were so many blocks.
const TRIAL_BLOCKS: u64 = 1_024;

/// What reading the block of each key would take.
#[derive(Debug, Default)]
struct Reads {
    keys: u64,
    bytes: u64,
    /// Sum over all keys of the bytes of their blocks.
    key_bytes: u128,
}

/// The cells so far.
#[derive(Debug)]
pub(super) struct Cells {
    entries_per_cell: u32,
    /// Bytes of a raw block of several entries.
    limit: usize,
    /// Bytes that reading the block of a key is to take on average.
    meant: u64,
    /// Bytes of keys and values that a block is to hold, if that is what cells were chosen for.
    filling: Option<u64>,
    /// Bytes of keys and values so far, and blocks with those of cells without entries.
    filled: u64,
    blocks: u64,
    /// The cell of the open block.
    open: Option<u64>,
    /// User keys that begin in the open block.
    keys: u64,
    last_number: u64,
    /// Whether the last entry stands alone in its block.
    after_large: bool,
    has_empty: bool,
    thresholds: Vec<u64>,
    reads: Reads,
    too_dear: Option<String>,
}

impl Cells {
    /// `key_bytes` is what is to be read of a user key and its values, on average; `chosen` says that the size of
    /// cells follows from it, and was not asked for.
    pub fn new(entries_per_cell: u32, key_bytes: u64, chosen: bool) -> Cells {
        let cell_bytes = key_bytes.saturating_mul(entries_per_cell.into());
        let target = cell_bytes.max(TARGET_BYTES);
        let limit = usize::try_from(target).unwrap_or(usize::MAX);
        Cells {
            entries_per_cell,
            limit: limit.saturating_mul(LARGEST_TIMES).min(LARGEST_BLOCK_BYTES),
            meant: target.saturating_add(key_bytes),
            filling: chosen.then_some(cell_bytes.min(TARGET_BYTES)),
            filled: 0,
            blocks: 0,
            open: None,
            keys: 0,
            last_number: 0,
            after_large: false,
            has_empty: false,
            thresholds: Vec::new(),
            reads: Reads::default(),
            too_dear: None,
        }
    }

    pub fn entries_per_cell(&self) -> u32 {
        self.entries_per_cell
    }

    /// The number of the last key before each extra block.
    pub fn thresholds(&self) -> &[u64] {
        &self.thresholds
    }

    /// Whether a cell has no entry.
    pub fn has_empty(&self) -> bool {
        self.has_empty
    }

    /// Puts an entry into its cell. Neither predictions nor numbers may descend.
    ///
    /// # Errors
    /// As [`BlockWriter::push`].
    pub fn put(
        &mut self,
        front: &Front<'_>,
        predicted: u64,
        blocks: &mut BlockWriter,
    ) -> Result<()> {
        let n = u64::from(self.entries_per_cell);
        let (cell, entry) = (predicted / n, front.entry());
        if self.open != Some(cell) {
            self.enter(cell, blocks)?;
        }
        let large = entry.key.len() + entry.value.len() > LARGE_ENTRY_BYTES;
        let full = large || self.after_large || blocks.open().count() >= usize::from(u16::MAX);
        if full && blocks.open().count() > 0 {
            self.go_on(blocks)?;
        }
        if !blocks.open().push_within(&entry, self.limit) {
            self.go_on(blocks)?;
            blocks.open().push_within(&entry, self.limit);
        }
        if front.new_key {
            blocks.open().last_was_expected_in(predicted % n);
            self.keys += 1;
            self.last_number = front.number;
        }
        self.filled += (entry.key.len() + entry.value.len()) as u64;
        self.after_large = large;
        Ok(())
    }

    /// Ends the open cell and begins another, with blocks for those between.
    fn enter(&mut self, cell: u64, blocks: &mut BlockWriter) -> Result<()> {
        self.close(blocks)?;
        let next = self.open.map_or(0, |open| open + 1);
        for _ in next..cell {
            blocks.write_empty()?;
            self.has_empty = true;
            self.blocks += 1;
        }
        self.open = Some(cell);
        self.after_large = false;
        Ok(())
    }

    /// Continues the open cell in another block.
    fn go_on(&mut self, blocks: &mut BlockWriter) -> Result<()> {
        self.close(blocks)?;
        self.thresholds.push(self.last_number);
        Ok(())
    }

    fn close(&mut self, blocks: &mut BlockWriter) -> Result<()> {
        let bytes = blocks.open().raw_bytes() as u64;
        self.reads.bytes += bytes;
        self.reads.keys += self.keys;
        self.reads.key_bytes += u128::from(self.keys) * u128::from(bytes);
        self.keys = 0;
        self.blocks += 1;
        self.judge();
        blocks.close()
    }

    fn judge(&mut self) {
        let (reads, meant) = (&self.reads, self.meant);
        let mean = reads.key_bytes / u128::from(reads.keys.max(1));
        if reads.bytes >= TRIAL_BYTES && mean > u128::from(meant.saturating_mul(DEAR_TIMES)) {
            let why =
                format!("a get would read {mean} bytes on average, and is meant to read {meant}");
            self.too_dear = Some(why);
        }
        let held = self.filled / self.blocks.max(1);
        if self.blocks >= TRIAL_BLOCKS
            && let Some(filling) = self.filling
            && held < filling / POOR_TIMES
        {
            let why =
                format!("its blocks hold {held} bytes on average, and are meant to hold {filling}");
            self.too_dear = Some(why);
        }
    }

    /// Why the model does not serve these keys, if it does not: where many keys share a number, or sizes
    /// differ much, cells are large where the keys are, or too small to be worth a block each.
    pub fn too_dear(&mut self) -> Option<String> {
        self.too_dear.take()
    }
}
