//! The cells of a placed table, in order; each is one block or several.

use super::TARGET_BYTES;
use crate::error::Result;
use crate::table::LARGE_ENTRY_BYTES;
use crate::table::block::{NewEntry, Puts};
use crate::table::write::blocks::{BlockWriter, LARGEST_BLOCK_BYTES, MOST_ENTRIES};

/// A cell continues in another block when its block would exceed this many times the target. Wide
/// enough for cells whose count varies as far as the model's error allows, since each extra block
/// costs memory permanently.
const LARGEST_TIMES: usize = 8;
/// The model is given up if reading the block of a key takes this many times the intended bytes.
const COSTLY_TIMES: u64 = 2;
/// The cost of reads is judged only after this many bytes were placed.
const TRIAL_BYTES: u64 = 256 << 10;
/// The model is also given up if blocks hold less than the intended bytes divided by this, since
/// each block costs memory and headers, however little it holds.
const POOR_TIMES: u64 = 4;
/// The filling of blocks is judged only after this many blocks.
const TRIAL_BLOCKS: u64 = 1_024;

/// Where the size of cells is from, which decides what may be given up for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// Chosen for the entries: reads must not be costly, nor blocks poorly filled.
    Chosen,
    /// Asked for: reads must not be costly.
    Asked,
    /// Asked for in a form that is for comparisons: it is kept.
    Kept,
}

/// The cost of reading the block of each key.
#[derive(Debug, Default)]
struct Reads {
    keys: u64,
    bytes: u64,
    /// Sum over all keys of the bytes of their blocks.
    key_bytes: u128,
}

/// The state of the cells so far.
#[derive(Debug)]
pub(super) struct Cells {
    entries_per_cell: u32,
    /// The most bytes of a raw block with several entries.
    limit: usize,
    /// The intended bytes to read for a key, on average, unless the cells are kept anyway.
    meant: Option<u64>,
    /// The intended bytes of keys and values in a block, if cell sizes were chosen for them.
    filling: Option<u64>,
    /// The bytes of keys and values so far, and the number of blocks, including those of empty
    /// cells.
    filled: u64,
    blocks: u64,
    /// The cell of the open block.
    open: Option<u64>,
    /// The number of user keys that start in the open block.
    keys: u64,
    last_number: u64,
    /// Whether the last entry is alone in its block.
    after_large: bool,
    has_empty: bool,
    thresholds: Vec<u64>,
    reads: Reads,
    too_costly: Option<String>,
}

impl Cells {
    /// `key_bytes` is the average number of bytes to read for a user key with its values, from which
    /// a size that was chosen is derived.
    pub fn new(entries_per_cell: u32, key_bytes: u64, size: Size) -> Cells {
        let cell_bytes = key_bytes.saturating_mul(entries_per_cell.into());
        let target = cell_bytes.max(TARGET_BYTES);
        let limit = usize::try_from(target).unwrap_or(usize::MAX);
        Cells {
            entries_per_cell,
            limit: limit.saturating_mul(LARGEST_TIMES).min(LARGEST_BLOCK_BYTES),
            meant: (size != Size::Kept).then_some(target.saturating_add(key_bytes)),
            filling: (size == Size::Chosen).then_some(cell_bytes.min(TARGET_BYTES)),
            filled: 0,
            blocks: 0,
            open: None,
            keys: 0,
            last_number: 0,
            after_large: false,
            has_empty: false,
            thresholds: Vec::new(),
            reads: Reads::default(),
            too_costly: None,
        }
    }

    pub fn entries_per_cell(&self) -> u32 {
        self.entries_per_cell
    }

    /// The number of the last key before each extra block.
    pub fn thresholds(&self) -> &[u64] {
        &self.thresholds
    }

    /// Whether any cell has no entry.
    pub fn has_empty(&self) -> bool {
        self.has_empty
    }

    /// Puts an entry into its cell; the first of a user key comes with the number of the key. Neither
    /// predictions nor numbers may decrease.
    ///
    /// # Errors
    /// As [`BlockWriter::push`].
    pub fn put(
        &mut self,
        entry: &NewEntry<'_>,
        number: Option<u64>,
        predicted: u64,
        blocks: &mut BlockWriter,
    ) -> Result<()> {
        let n = u64::from(self.entries_per_cell);
        let cell = predicted / n;
        if self.open != Some(cell) {
            self.enter(cell, entry.key, blocks)?;
        }
        let large = entry.key.len() + entry.value.len() > LARGE_ENTRY_BYTES;
        let full = large || self.after_large || blocks.open().count() >= MOST_ENTRIES;
        if full && blocks.open().count() > 0 {
            self.go_on(entry.key, blocks)?;
        }
        if !blocks.open().push_within(entry, self.limit) {
            self.go_on(entry.key, blocks)?;
            blocks.open().push_within(entry, self.limit);
        }
        if let Some(number) = number {
            blocks.open().last_was_expected_in(predicted % n);
            self.keys += 1;
            self.last_number = number;
        }
        self.filled += (entry.key.len() + entry.value.len()) as u64;
        self.after_large = large;
        Ok(())
    }

    /// Puts one entry after the other into its cell, as [`Cells::put`] does, up to the last one with a prediction, or one that
    /// shows that the model is [too costly](Cells::too_costly). Returns how many. None may be large.
    ///
    /// # Errors
    /// As [`BlockWriter::push`].
    pub fn put_even(
        &mut self,
        puts: &Puts<'_>,
        numbers: &[u64],
        predicted: &[u64],
        blocks: &mut BlockWriter,
    ) -> Result<usize> {
        let n = u64::from(self.entries_per_cell);
        let (mut rest, mut numbers) = (predicted, numbers);
        let mut done = 0;
        while let Some(first) = rest.first()
            && !self.are_too_costly()
        {
            let cell = first / n;
            let here = rest
                .iter()
                .take_while(|p| **p < cell.saturating_add(1).saturating_mul(n));
            let (here, others) = rest.split_at(here.count());
            let (own, behind) = numbers.split_at(here.len().min(numbers.len()));
            let run = puts.part(done..done + here.len());
            done += self.put_into(cell, &run, own, here, blocks)?;
            (rest, numbers) = (others, behind);
        }
        Ok(done)
    }

    /// Puts entries into one cell. Returns how many.
    fn put_into(
        &mut self,
        cell: u64,
        run: &Puts<'_>,
        numbers: &[u64],
        predicted: &[u64],
        blocks: &mut BlockWriter,
    ) -> Result<usize> {
        if self.open != Some(cell) {
            self.enter(cell, run.key(0), blocks)?;
        }
        let whole = !self.after_large && !self.are_too_costly();
        if whole
            && blocks
                .open()
                .push_even_within(run, self.limit, MOST_ENTRIES)
        {
            let first = cell * u64::from(self.entries_per_cell);
            let slots = predicted.iter().map(|p| p - first);
            blocks.open().last_were_expected_in(slots);
            self.keys += run.len() as u64;
            self.last_number = numbers.last().copied().unwrap_or(self.last_number);
            self.filled += run.bytes() as u64;
            return Ok(run.len());
        }
        let entries = run.entries().zip(numbers).zip(predicted);
        for (done, ((entry, number), predicted)) in entries.enumerate() {
            self.put(&entry, Some(*number), *predicted, blocks)?;
            if self.are_too_costly() {
                return Ok(done + 1);
            }
        }
        Ok(run.len())
    }

    /// Ends the open cell and starts another with `key`; the cells between them become empty blocks.
    fn enter(&mut self, cell: u64, key: &[u8], blocks: &mut BlockWriter) -> Result<()> {
        self.close(key, blocks)?;
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

    /// Continues the open cell with `key` in another block.
    fn go_on(&mut self, key: &[u8], blocks: &mut BlockWriter) -> Result<()> {
        self.close(key, blocks)?;
        self.thresholds.push(self.last_number);
        Ok(())
    }

    fn close(&mut self, behind: &[u8], blocks: &mut BlockWriter) -> Result<()> {
        let bytes = blocks.open().raw_bytes() as u64;
        self.reads.bytes += bytes;
        self.reads.keys += self.keys;
        self.reads.key_bytes += u128::from(self.keys) * u128::from(bytes);
        self.keys = 0;
        self.blocks += 1;
        self.judge();
        blocks.close(Some(behind))
    }

    fn judge(&mut self) {
        let reads = &self.reads;
        let mean = reads.key_bytes / u128::from(reads.keys.max(1));
        if reads.bytes >= TRIAL_BYTES
            && let Some(meant) = self.meant
            && mean > u128::from(meant.saturating_mul(COSTLY_TIMES))
        {
            let why = format!("a get would read {mean} bytes on average instead of {meant}");
            self.too_costly = Some(why);
        }
        let held = self.filled / self.blocks.max(1);
        if self.blocks >= TRIAL_BLOCKS
            && let Some(filling) = self.filling
            && held < filling / POOR_TIMES
        {
            let why = format!("its blocks hold {held} bytes on average instead of {filling}");
            self.too_costly = Some(why);
        }
    }

    /// Whether there is a [reason](Cells::too_costly) to give up the model.
    pub fn are_too_costly(&self) -> bool {
        self.too_costly.is_some()
    }

    /// The reason to give up the model, if there is one. If many keys share a number or sizes
    /// differ much, the cells with most keys are large; or cells are too small to be worth a block
    /// each.
    pub fn too_costly(&mut self) -> Option<String> {
        self.too_costly.take()
    }
}
