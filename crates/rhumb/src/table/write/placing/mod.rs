//! Places entries by the model: the block of an entry is the model's prediction for its key divided
//! by the entries a cell (docs/format.md, Directory).
//!
//! Entries wait until the model has closed their segment, since the predictions for them are
//! unknown before: about a MiB of them, or the whole table if the model is trained at its end. The
//! first MiB decides how many entries share a cell and how exact the model must be. If the model does
//! not suit the keys, placing ends and the rest of the table is cut by bytes.

mod cells;
mod cost;
mod waiting;

use std::time::Instant;

use rhumb_index::{ClosedSegment, IndexError};

use cells::{Cells, Size};
use waiting::Waiting;

use crate::error::Result;
use crate::table::LARGE_ENTRY_BYTES;
use crate::table::block::{BlockBuilder, NewEntry, Puts};
use crate::table::form::directory::Arrangement;
use crate::table::write::blocks::{BlockWriter, refused};
use crate::table::write::index_choice::IndexChoice;

pub(in crate::table) use cost::TARGET_BYTES;

/// Parameters are chosen after this many bytes of entries. When this many wait later on, the open
/// segment is closed, unless that ends the table.
const LEARN_BYTES: usize = 1 << 20;
/// The most memory for waiting entries, except the last. More of them can only wait if all have one
/// number, so that their segment cannot be closed, or if the model closes once.
const MOST_WAITING_BYTES: usize = 16 * LEARN_BYTES;
/// Where the model closes once, all entries of a table may wait, as long as they take at most this
/// many times the size at which tables end, with their records, and this much memory.
const TIMES_A_TABLE: u64 = 4;
const MOST_WHOLE_BYTES: usize = 256 * LEARN_BYTES;
/// The size of entries in blocks is measured for one stretch of so many out of so many.
const STRETCH_ENTRIES: usize = 256;
const STRETCHES_A_SAMPLE: usize = 4;
/// Entries are passed to the model in batches of this many bytes.
const BATCH_BYTES: usize = 16 << 10;

/// Whether the model continues to place entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::table) enum Placing {
    GoesOn,
    /// The waiting entries and all later ones must be cut by bytes.
    Ended,
}

/// Places entries into the blocks that the model predicts.
#[derive(Debug)]
pub(in crate::table) struct Placer {
    /// As requested; 0 if it is to be chosen.
    entries_per_cell: u32,
    /// The most memory for the entries of a whole table.
    most_whole: usize,
    waiting: Waiting,
    /// The bytes added since the last batch was passed to the model.
    batch: usize,
    /// `None` until parameters are chosen.
    cells: Option<Cells>,
    /// Whether to close the open segment when the number changes.
    close_due: bool,
    /// The last number that was passed to the model.
    last_number: Option<u64>,
    closed: Vec<ClosedSegment>,
    /// The number of user keys placed.
    placed: u64,
    /// The model's prediction for the last of them.
    predicted: u64,
    /// The model's predictions for the keys that are placed together.
    predictions: Vec<u64>,
}

impl Placer {
    /// Places so many predicted ranks a cell, or as many as suit if it is 0. Tables end at about
    /// `table_bytes`.
    pub fn new(entries_per_cell: u32, table_bytes: u64) -> Placer {
        let whole = usize::try_from(table_bytes.saturating_mul(TIMES_A_TABLE));
        Placer {
            entries_per_cell,
            most_whole: whole
                .unwrap_or(usize::MAX)
                .clamp(MOST_WAITING_BYTES, MOST_WHOLE_BYTES),
            waiting: Waiting::default(),
            batch: 0,
            cells: None,
            close_due: false,
            last_number: None,
            closed: Vec::new(),
            placed: 0,
            predicted: 0,
            predictions: Vec::new(),
        }
    }

    /// The bytes of the waiting entries.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting.bytes()
    }

    /// The number of user keys that wait.
    pub fn waiting_keys(&self) -> u64 {
        self.waiting.keys()
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// As [`BlockWriter::push`].
    pub fn add(&mut self, entry: &NewEntry<'_>, blocks: &mut BlockWriter) -> Result<Placing> {
        let number = match entry.new_key {
            true => blocks.number(entry.key),
            false => 0,
        };
        self.waiting.push(entry, number);
        self.batch += entry.key.len() + entry.value.len();
        match self.bytes_until_advance() {
            0 => self.advance(blocks, false),
            _ => Ok(Placing::GoesOn),
        }
    }

    /// Adds puts, as [`Placer::add`] does, up to the one with which placing ends, if it does. Returns how many.
    ///
    /// # Errors
    /// As [`BlockWriter::push`].
    pub fn add_puts(
        &mut self,
        puts: &Puts<'_>,
        blocks: &mut BlockWriter,
    ) -> Result<(usize, Placing)> {
        let mut done = 0;
        while done < puts.len() {
            let rest = puts.part(done..puts.len());
            let until = self.bytes_until_advance().saturating_sub(1);
            let part = rest.part(0..rest.count_within(until, 0) + 1);
            let numbers = part.entries().map(|entry| blocks.number(entry.key));
            self.waiting.push_puts(&part, numbers);
            self.batch += part.bytes();
            done += part.len();
            if self.bytes_until_advance() == 0 && self.advance(blocks, false)? == Placing::Ended {
                return Ok((done, Placing::Ended));
            }
        }
        Ok((done, Placing::GoesOn))
    }

    /// After how many more bytes of entries the model is trained with them.
    fn bytes_until_advance(&self) -> usize {
        let learns = match self.cells {
            None => LEARN_BYTES.saturating_sub(self.waiting.bytes()),
            Some(_) => 0,
        };
        learns.max(BATCH_BYTES.saturating_sub(self.batch))
    }

    /// Places the waiting entries at the end of the table.
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
            // A kind without segments predicts no ranks before it is finished.
            return Ok(Placing::Ended);
        }
        let placing = self.place(blocks)?;
        let closes_once = blocks.index.closes_once();
        if placing == Placing::GoesOn
            && let Some(why) = self.too_many_wait(closes_once)
        {
            blocks.index.fall_back(why);
            return Ok(Placing::Ended);
        }
        self.close_due = !closes_once && self.waiting.bytes() >= LEARN_BYTES;
        Ok(placing)
    }

    /// The reason to give up the model if more entries wait than memory is meant for.
    fn too_many_wait(&self, closes_once: bool) -> Option<String> {
        let waiting = self.waiting.memory_before_last();
        if !closes_once {
            let why = || format!("{waiting} bytes of entries have keys with one number");
            return (waiting > MOST_WAITING_BYTES).then(why);
        }
        let most = self.most_whole;
        let why = || {
            format!(
                "{waiting} bytes of entries wait for the end of the table, where the model is trained, \
                 more than {most}: write smaller tables"
            )
        };
        (waiting > most).then(why)
    }

    /// Chooses the size of cells and the boundary for keys like the waiting ones.
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
        if let Some(first) = self.waiting.iter().next() {
            blocks.begin_even(first.key);
        }
        // A key with many versions continues over several blocks, so that a get reads only the
        // newest.
        let read_bytes = key_bytes.min(entry_bytes.max(TARGET_BYTES));
        let size = match self.entries_per_cell {
            0 => Size::Chosen,
            _ if self.is_kept(&blocks.index) => Size::Kept,
            _ => Size::Asked,
        };
        Ok(Cells::new(n, read_bytes, size))
    }

    /// Whether model and cells are kept whatever memory they take and however much a get reads: cells of a size that was asked
    /// for, by a model of the whole table, are the published form of TridentKV and for comparisons (decision 0022).
    pub fn is_kept(&self, index: &IndexChoice) -> bool {
        self.entries_per_cell > 0 && index.closes_once()
    }

    /// About the bytes that the waiting entries will take in blocks, where keys may share much with
    /// their neighbours: measured for some stretches of them.
    fn stored_bytes(&self) -> u64 {
        let mut block = BlockBuilder::default();
        let (mut seen, mut stored) = (0, 0);
        for (at, entry) in self.waiting.iter().enumerate() {
            let (stretch, within) = (at / STRETCH_ENTRIES, at % STRETCH_ENTRIES);
            if !stretch.is_multiple_of(STRETCHES_A_SAMPLE) {
                continue;
            }
            if within == 0 {
                stored += block.raw_bytes();
                block.clear();
            }
            let bytes = entry.key.len() + entry.value.len();
            seen += bytes;
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
        // The size should not include headers.
        let stored = (stored + block.raw_bytes()).min(seen) as u128;
        let all = self.waiting.bytes() as u128;
        match seen {
            0 => all as u64,
            seen => (stored * all / seen as u128) as u64,
        }
    }

    /// Passes new keys to the model. Returns whether a segment was closed.
    fn train(&mut self, blocks: &mut BlockWriter, finishing: bool) -> Result<bool, IndexError> {
        let mut numbers = self.waiting.untrained();
        let mut closed = false;
        if self.close_due {
            // A segment may not end between keys that share a number.
            let repeats = |number: &&u64| Some(**number) == self.last_number;
            let same = numbers.iter().take_while(repeats).count();
            let (same, others) = numbers.split_at(same);
            blocks.train(same)?;
            if !others.is_empty() {
                blocks.index.close_segment();
                (self.close_due, closed) = (false, true);
            }
            numbers = others;
        }
        blocks.train(numbers)?;
        self.last_number = numbers.last().copied().or(self.last_number);
        self.waiting.all_trained();
        if finishing {
            blocks.index.close_segment();
        }
        Ok(closed || finishing)
    }

    /// Places the entries of the closed segments.
    fn place(&mut self, blocks: &mut BlockWriter) -> Result<Placing> {
        let ends = self.closed.drain(..).map(|s| s.first_rank + s.ranks);
        let keys = ends.max().unwrap_or(0).saturating_sub(self.placed) as usize;
        if let Err(why) = self.predict(keys, blocks) {
            blocks.index.fall_back(why);
            return Ok(Placing::Ended);
        }
        let Some(cells) = &mut self.cells else {
            return Ok(Placing::GoesOn);
        };
        let puts = self.waiting.even_puts(self.predictions.len());
        if let Some(puts) = puts {
            let predicted = self.predictions.get(..puts.len()).unwrap_or_default();
            let put = cells.put_even(&puts, self.waiting.numbers(), predicted, blocks)?;
            self.placed += put as u64;
            let last = put.checked_sub(1).and_then(|last| predicted.get(last));
            self.predicted = last.copied().unwrap_or(self.predicted);
            self.predictions.drain(..put);
            self.waiting.remove(put);
        }
        self.place_one_by_one(blocks)?;
        let too_costly = self.cells.as_mut().and_then(Cells::too_costly);
        Ok(match too_costly {
            Some(why) => {
                blocks.index.fall_back(why);
                Placing::Ended
            }
            None => Placing::GoesOn,
        })
    }

    /// Places the entries of predicted keys.
    fn place_one_by_one(&mut self, blocks: &mut BlockWriter) -> Result<()> {
        let Some(cells) = &mut self.cells else {
            return Ok(());
        };
        let mut predictions = self.predictions.iter();
        let (placed, predicted) = (&mut self.placed, &mut self.predicted);
        self.waiting.drain(|entry, number| {
            if cells.are_too_costly() {
                return Ok(false);
            }
            // Older versions of a key stay where it is.
            if number.is_some() {
                match predictions.next() {
                    Some(next) => *predicted = *next,
                    None => return Ok(false),
                }
                *placed += 1;
            }
            cells.put(entry, number, *predicted, blocks)?;
            Ok(true)
        })
    }

    /// Asks the model for the predictions for the next `keys` keys.
    fn predict(&mut self, keys: usize, blocks: &BlockWriter) -> Result<(), String> {
        let numbers = self.waiting.numbers();
        let numbers = numbers.get(..keys).unwrap_or(numbers);
        self.predictions.clear();
        blocks.index.predict(numbers, &mut self.predictions);
        let mut before = self.predicted;
        for &predicted in &self.predictions {
            if predicted < before {
                return Err(format!("it predicts {predicted} after {before}"));
            }
            before = predicted;
        }
        let (known, keys) = (self.predictions.len(), numbers.len());
        if known < keys {
            return Err(format!("it predicts {known} of {keys} keys"));
        }
        Ok(())
    }

    /// Passes the waiting entries to `take`, in order, and removes them.
    ///
    /// # Errors
    /// The errors of `take`.
    pub fn drain(&mut self, mut take: impl FnMut(&NewEntry<'_>) -> Result<()>) -> Result<()> {
        self.waiting.drain(|entry, _| take(entry).map(|()| true))
    }

    /// The entries a cell; 0 if nothing was placed.
    pub fn entries_per_cell(&self) -> u32 {
        self.cells.as_ref().map_or(0, Cells::entries_per_cell)
    }

    /// The arrangement of the blocks if the model places them up to the end.
    pub fn arrangement(&self, blocks: &BlockWriter) -> Arrangement<'_> {
        Arrangement::Placed {
            entries_per_cell: self.entries_per_cell(),
            thresholds: self.cells.as_ref().map_or(&[], Cells::thresholds),
            stride: blocks.stride(),
        }
    }

    /// The entries a cell if there are cells without entries; else 0.
    pub fn left_cells(&self) -> u32 {
        let with_empty = self.cells.as_ref().filter(|cells| cells.has_empty());
        with_empty.map_or(0, Cells::entries_per_cell)
    }
}
