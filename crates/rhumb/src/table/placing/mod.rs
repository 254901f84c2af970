//! Places entries by the model: an entry's block is what the model predicts for its key, divided by the
//! entries a cell (docs/format.md, Directory).
//!
//! Entries wait until the model's segment over them is closed, since only then it is known what will be
//! predicted for them. The first MiB decides how many entries share a cell and how exact the model is to
//! be. Where the model does not serve the keys, placing ends: the rest of the table is cut by bytes.

mod cells;
mod cost;
mod waiting;

use std::time::Instant;

use rhumb_index::{ClosedSegment, IndexError};

use cells::Cells;
use waiting::Waiting;

use super::LARGE_ENTRY_BYTES;
use super::block::{BlockBuilder, NewEntry};
use super::blocks::{BlockWriter, refused};
use super::directory::Arrangement;
use crate::error::Result;

pub(super) use cost::TARGET_BYTES;

/// As many bytes of entries are looked at before anything is chosen, and wait for a segment to close by
/// itself.
const LEARN_BYTES: usize = 1 << 20;
/// The most that is kept for entries whose segment cannot be closed, beside the last of them: then one
/// number has them all.
const MOST_WAITING_BYTES: usize = 16 * LEARN_BYTES;
/// Entries are handed to the model when so many bytes of them came in.
const BATCH_BYTES: usize = 16 << 10;

/// Whether a model goes on placing entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placing {
    GoesOn,
    /// What waits, and what comes, is to be cut by bytes.
    Ended,
}

/// Entries on their way to the blocks that the model predicts.
#[derive(Debug)]
pub(super) struct Placer {
    /// As wanted; 0: to be chosen.
    entries_per_cell: u32,
    waiting: Waiting,
    /// Bytes that came in since the model got the last batch.
    batch: usize,
    /// `None` until the first entries were looked at.
    cells: Option<Cells>,
    /// Whether to close the open segment where the number changes.
    close_due: bool,
    /// The last number that the model got.
    last_number: Option<u64>,
    closed: Vec<ClosedSegment>,
    /// User keys that were placed.
    placed: u64,
    /// What the model predicts for the last of them.
    predicted: u64,
}

impl Placer {
    pub fn new(entries_per_cell: u32) -> Placer {
        Placer {
            entries_per_cell,
            waiting: Waiting::default(),
            batch: 0,
            cells: None,
            close_due: false,
            last_number: None,
            closed: Vec::new(),
            placed: 0,
            predicted: 0,
        }
    }

    /// Bytes of the entries that wait.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting.bytes()
    }

    /// User keys that wait.
    pub fn waiting_keys(&self) -> u64 {
        self.waiting.keys()
    }

    /// Takes an entry; `new_key` says that it is the first of its user key.
    ///
    /// # Errors
    /// As [`BlockWriter::push`].
    pub fn add(
        &mut self,
        entry: &NewEntry<'_>,
        new_key: bool,
        blocks: &mut BlockWriter,
    ) -> Result<Placing> {
        let number = match new_key {
            true => blocks.number(entry.key),
            false => 0,
        };
        self.waiting.push(entry, number, new_key);
        self.batch += entry.key.len() + entry.value.len();
        let learning = self.cells.is_none() && self.waiting.bytes() < LEARN_BYTES;
        if learning || self.batch < BATCH_BYTES {
            return Ok(Placing::GoesOn);
        }
        self.advance(blocks, false)
    }

    /// Places what waits, at the end of the table.
    ///
    /// # Errors
    /// As [`BlockWriter::push`].
    pub fn finish(&mut self, blocks: &mut BlockWriter) -> Result<Placing> {
        match self.waiting.keys() {
            0 => Ok(Placing::GoesOn),
            _ => self.advance(blocks, true),
        }
    }

    fn advance(&mut self, blocks: &mut BlockWriter, finishing: bool) -> Result<Placing> {
        self.batch = 0;
        if self.cells.is_none() {
            self.cells = Some(self.choose(blocks).map_err(refused)?);
        }
        let started = Instant::now();
        let closed_here = self.train(blocks, finishing).map_err(refused)?;
        blocks.index.trained_since(started);
        if !blocks.index.is_fit() {
            return Ok(Placing::Ended);
        }
        blocks.index.take_closed(&mut self.closed);
        if closed_here && self.closed.is_empty() {
            // A kind that has no segments predicts no ranks before it is finished.
            return Ok(Placing::Ended);
        }
        let placing = self.place(blocks)?;
        let waiting = self.waiting.memory_before_last();
        if placing == Placing::GoesOn && waiting > MOST_WAITING_BYTES {
            let why = format!("{waiting} bytes wait for the end of the keys with one number");
            blocks.index.fall_back(why);
            return Ok(Placing::Ended);
        }
        self.close_due = self.waiting.bytes() >= LEARN_BYTES;
        Ok(placing)
    }

    /// Chooses the size of cells and the boundary for keys like those that wait.
    fn choose(&self, blocks: &mut BlockWriter) -> Result<Cells, IndexError> {
        let stored = self.stored_bytes();
        let key_bytes = (stored / self.waiting.keys().max(1)).max(1);
        let entry_bytes = stored / self.waiting.entries().max(1);
        let n = match self.entries_per_cell {
            0 => cost::entries_per_cell(key_bytes),
            n => n,
        };
        let boundary = cost::boundary(n, LEARN_BYTES as u64 / key_bytes);
        blocks.index.choose_boundary(boundary)?;
        if let Some(first) = self.waiting.front() {
            blocks.begin_even(first.key);
        }
        // Many versions of a key go on over blocks, so that a get reads the newest only.
        let read_bytes = key_bytes.min(entry_bytes.max(TARGET_BYTES));
        Ok(Cells::new(n, read_bytes, self.entries_per_cell == 0))
    }

    /// About what the entries that wait will take in blocks: keys may share much with their neighbours.
    fn stored_bytes(&self) -> u64 {
        let (mut block, mut stored) = (BlockBuilder::default(), 0);
        for waiting in self.waiting.iter() {
            let entry = waiting.entry();
            let bytes = entry.key.len() + entry.value.len();
            if bytes > LARGE_ENTRY_BYTES {
                stored += bytes;
                continue;
            }
            if !block.push_within(&entry, TARGET_BYTES as usize) {
                stored += block.raw_bytes();
                block.clear();
                block.push_within(&entry, TARGET_BYTES as usize);
            }
        }
        // Headers are not what is asked for.
        (stored + block.raw_bytes()).min(self.waiting.bytes()) as u64
    }

    /// Gives the model what it does not have yet. Returns whether a segment was closed on the way.
    fn train(&mut self, blocks: &mut BlockWriter, finishing: bool) -> Result<bool, IndexError> {
        let mut closed = false;
        while let Some((key, number)) = self.waiting.untrained() {
            if self.close_due && self.last_number != Some(number) {
                blocks.index.close_segment();
                (self.close_due, closed) = (false, true);
            }
            self.last_number = Some(number);
            blocks.train(key, number)?;
        }
        if finishing {
            blocks.index.close_segment();
        }
        Ok(closed || finishing)
    }

    /// Places the entries of the closed segments.
    fn place(&mut self, blocks: &mut BlockWriter) -> Result<Placing> {
        let Some(cells) = &mut self.cells else {
            return Ok(Placing::GoesOn);
        };
        let ends = self.closed.drain(..).map(|s| s.first_rank + s.ranks);
        let end = ends.max().unwrap_or(0);
        while let Some(waiting) = self.waiting.front() {
            if waiting.new_key {
                if self.placed >= end {
                    break;
                }
                match blocks.index.predict(waiting.number) {
                    Some(predicted) if predicted >= self.predicted => self.predicted = predicted,
                    predicted => {
                        let before = self.predicted;
                        let why = format!("it predicts {predicted:?} behind {before}");
                        blocks.index.fall_back(why);
                        return Ok(Placing::Ended);
                    }
                }
            }
            cells.put(&waiting, self.predicted, blocks)?;
            self.placed += u64::from(waiting.new_key);
            self.waiting.pop();
            if let Some(why) = cells.too_dear() {
                blocks.index.fall_back(why);
                return Ok(Placing::Ended);
            }
        }
        self.waiting.compact();
        Ok(Placing::GoesOn)
    }

    /// Shows the entries that wait, in order, and forgets them.
    ///
    /// # Errors
    /// What `take` fails with.
    pub fn drain(&mut self, mut take: impl FnMut(&NewEntry<'_>) -> Result<()>) -> Result<()> {
        while let Some(waiting) = self.waiting.front() {
            take(&waiting.entry())?;
            self.waiting.pop();
        }
        Ok(())
    }

    /// Entries a cell; 0 if nothing was placed.
    pub fn entries_per_cell(&self) -> u32 {
        self.cells.as_ref().map_or(0, Cells::entries_per_cell)
    }

    /// How the blocks are found if placing went on to the end.
    pub fn arrangement(&self, blocks: &BlockWriter) -> Arrangement<'_> {
        Arrangement::Placed {
            entries_per_cell: self.entries_per_cell(),
            thresholds: self.cells.as_ref().map_or(&[], Cells::thresholds),
            stride: blocks.stride(),
        }
    }

    /// How the blocks are found if the model does not find them.
    pub fn given_up(&self) -> Arrangement<'static> {
        let with_empty = self.cells.as_ref().filter(|cells| cells.has_empty());
        Arrangement::Ranked {
            entries_per_cell: with_empty.map_or(0, Cells::entries_per_cell),
        }
    }
}
