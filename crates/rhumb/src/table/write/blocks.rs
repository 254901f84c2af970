//! Writes the blocks of a table, and passes on what directory, index and filter need to find them.

mod parts;

use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rhumb_index::{IndexError, KeyMap};

use super::index_choice::IndexChoice;
use crate::error::{Error, Result};
use crate::fs::output::Output;
use crate::memory::WrittenBlocks;
use crate::options::Compression;
use crate::table::block::{BlockBuilder, FRAME_BYTES, NewEntry, encode_empty};
use crate::table::form::directory::{DirectoryBuilder, Stride};
use crate::table::form::filter::hash_key;
use crate::table::form::stored::{STORED_HEADER_BYTES, store, store_unit};
use crate::table::form::units::{UnitShape, Units};

/// The largest raw block with several entries, whatever the partition says.
pub(in crate::table) const LARGEST_BLOCK_BYTES: usize = 16 << 20;
/// The most entries of a block.
pub(in crate::table) const MOST_ENTRIES: usize = u16::MAX as usize;
/// The number of block bytes after which the cost of a fixed stride is judged.
const EVEN_TRIAL_BYTES: usize = 64 << 10;

/// State of blocks that should all take the same number of bytes an entry.
#[derive(Debug)]
struct Even {
    /// The prefix that every key has.
    prefix: Vec<u8>,
    /// Known after the first block with entries.
    stride: Option<Stride>,
    /// The bytes of the blocks so far, and the bytes that they need at least.
    taken: usize,
    least: usize,
}

/// The bytes of a block: in its raw form, and as stored.
#[derive(Debug, Clone, Copy)]
struct Written {
    raw: usize,
    stored: usize,
}

/// The blocks of a table being written.
#[derive(Debug)]
pub(in crate::table) struct BlockWriter {
    output: Output,
    table_id: u64,
    compression: Compression,
    map: Arc<KeyMap>,
    block: BlockBuilder,
    /// The block after it, while entries move there; else it has none.
    next: BlockBuilder,
    /// Where blocks stay in memory.
    pub kept: Option<WrittenBlocks>,
    pub directory: DirectoryBuilder,
    pub index: IndexChoice,
    /// Hashes of the user keys; `None` if the table gets no filter.
    pub hashes: Option<Vec<u64>>,
    ranks: u64,
    /// How many user keys were passed to the index: at least those of closed blocks.
    trained: u64,
    /// The numbers of keys of one block that the index still needs.
    numbers: Vec<u64>,
    /// The slots where the index will expect the keys of a block.
    slots: Vec<u64>,
    /// The last key of the last closed block with entries.
    last_key: Vec<u8>,
    /// The number of blocks without entries since then.
    empty: u64,
    even: Option<Even>,
    /// The units so far, if the table begins with units.
    pub(super) units: Option<Units>,
    /// What the entries of the open block have in common, if it is to be a unit.
    pub(super) unit: Option<UnitShape>,
    /// Whether any block has fence keys: all but units have.
    pub has_fence_keys: bool,
    raw_bytes: u64,
    raw_largest: u64,
}

impl BlockWriter {
    pub fn new(
        output: Output,
        table_id: u64,
        compression: Compression,
        map: Arc<KeyMap>,
        index: IndexChoice,
        with_filter: bool,
    ) -> BlockWriter {
        BlockWriter {
            output,
            table_id,
            compression,
            map,
            block: BlockBuilder::default(),
            next: BlockBuilder::default(),
            kept: None,
            directory: DirectoryBuilder::default(),
            index,
            hashes: with_filter.then(Vec::new),
            ranks: 0,
            trained: 0,
            numbers: Vec::new(),
            slots: Vec::new(),
            last_key: Vec::new(),
            empty: 0,
            even: None,
            units: None,
            unit: None,
            has_fence_keys: false,
            raw_bytes: 0,
            raw_largest: 0,
        }
    }

    #[cfg(test)]
    pub fn set_table_id(&mut self, id: u64) {
        self.table_id = id;
    }

    /// The open block.
    pub fn open(&mut self) -> &mut BlockBuilder {
        &mut self.block
    }

    /// The number of user keys in closed blocks.
    pub fn ranks(&self) -> u64 {
        self.ranks
    }

    /// The end of the file so far, without the open block.
    pub fn offset(&self) -> u64 {
        self.output.end()
    }

    /// The length of the file in bytes so far, including the raw form of the open block; its pointers may take less.
    pub fn estimated_bytes(&mut self) -> u64 {
        let open = match self.unit {
            Some(shape) => shape.unit_bytes(self.block.count() as u32),
            None => self.block.most_bytes() as u64,
        };
        self.offset() + open
    }

    /// The raw bytes of the closed blocks: in total, and of the largest.
    pub fn raw_bytes(&self) -> (u64, u64) {
        (self.raw_bytes, self.raw_largest)
    }

    /// The number of a user key, if the index needs it.
    pub fn number(&self, key: &[u8]) -> u64 {
        match self.index.needs_number() {
            true => self.map.number(key),
            false => 0,
        }
    }

    /// Passes the next user keys to the index by their numbers, before the blocks that hold them are
    /// closed.
    ///
    /// # Errors
    /// If numbers do not ascend.
    pub fn train(&mut self, numbers: &[u64]) -> Result<(), IndexError> {
        self.trained += numbers.len() as u64;
        self.index.push_numbers(numbers)
    }

    /// Adds an entry to the open block, or to a new one if it does not fit into `limit` bytes.
    ///
    /// # Errors
    /// If a write fails, or the index refuses the keys.
    pub fn push(&mut self, entry: &NewEntry<'_>, limit: usize) -> Result<()> {
        if !self.block.push_within(entry, limit) {
            self.close(Some(entry.key))?;
            self.block.push_within(entry, limit);
        }
        Ok(())
    }

    /// Whether the open block begins with the last key of the block before it.
    fn continues(&self) -> bool {
        self.ranks > 0 && self.block.first_key() == &self.last_key[..]
    }

    /// From now on makes all blocks take the same number of bytes an entry, as long as the entries
    /// allow it. Call it before the first block; `key` is any key of the table.
    pub fn begin_even(&mut self, key: &[u8]) {
        let shared = self.map.shared_prefix_bytes().min(usize::from(u16::MAX));
        let prefix = key.get(..shared).unwrap_or(key).to_vec();
        self.block.set_even(Some(prefix.len()));
        self.even = Some(Even {
            prefix,
            stride: None,
            taken: 0,
            least: 0,
        });
    }

    /// From the next block on, makes blocks as compact as possible.
    pub fn end_even(&mut self) {
        self.even = None;
    }

    /// The size of each entry, if it was the same in all blocks.
    pub fn stride(&self) -> Option<Stride> {
        self.even.as_ref()?.stride
    }

    /// Ends the open block, if it has entries. `behind` is the first key behind it, if that is known.
    ///
    /// # Errors
    /// As [`BlockWriter::push`].
    pub fn close(&mut self, behind: Option<&[u8]>) -> Result<()> {
        self.close_numbered(&[], behind)
    }

    /// As [`BlockWriter::close`]; `numbers` are those of the first user keys that start in the block.
    fn close_numbered(&mut self, numbers: &[u64], behind: Option<&[u8]>) -> Result<()> {
        if self.block.count() == 0 {
            return Ok(());
        }
        let first = self.ranks == 0;
        let continues = self.continues();
        self.directory.offsets.push(self.offset());
        let known = self.ranks;
        self.directory
            .first_ranks
            .push(known - u64::from(continues));
        // An empty block gets the same separators as the next block with entries: one cut for each.
        let cuts = self.empty + u64::from(!first);
        self.empty = 0;
        let trained = self.count_keys(continues, numbers);
        self.train_block(cuts, trained).map_err(refused)?;
        if self.index.gives_slots() {
            self.slots.clear();
            self.index.expected_slots(&mut self.slots);
            self.block.expect(usize::from(continues), &self.slots);
        }
        self.train_fences(cuts);
        let mut last_key = mem::take(&mut self.last_key);
        let written = match self.unit {
            Some(shape) => self.store_unit(shape),
            None => self.store_block((!first).then_some(&last_key[..]), behind),
        };
        self.judge_even(written, (self.ranks - known) as usize);
        last_key.clear();
        last_key.extend_from_slice(self.block.last_key());
        self.last_key = last_key;
        self.block.clear();
        self.block
            .set_even(self.even.as_ref().map(|even| even.prefix.len()));
        self.output.write_pieces()
    }

    /// Counts and hashes the user keys that start in the open block, and maps those that the index
    /// does not have yet to numbers, as far as these are not known. Returns how many keys of the block come before the latter.
    fn count_keys(&mut self, continues: bool, known: &[u64]) -> usize {
        let (block, skip) = (&self.block, usize::from(continues));
        let keys = block.distinct() - skip;
        let (trained, hashes) = (self.trained.saturating_sub(self.ranks), &mut self.hashes);
        let trained = trained.min(keys as u64) as usize;
        self.ranks += keys as u64;
        if let Some(hashes) = hashes {
            hashes.reserve(keys);
            let keys = block.distinct_keys().skip(skip);
            keys.for_each(|key| hashes.push(hash_key(key)));
        }
        let mut numbers = mem::take(&mut self.numbers);
        numbers.clear();
        if self.index.needs_number() {
            numbers.extend(known.iter().take(keys).skip(trained));
            let new = block.distinct_keys().skip(skip + trained + numbers.len());
            new.for_each(|key| numbers.push(self.map.number(key)));
        } else {
            numbers.resize(keys - trained, 0);
        }
        self.numbers = numbers;
        self.trained += self.numbers.len() as u64;
        skip + trained
    }

    /// Passes to the wanted index the `cuts` before the open block, and its numbered keys: all but
    /// the first `trained`. Only this counts as training time; the clock is read twice a block.
    fn train_block(&mut self, cuts: u64, trained: usize) -> Result<(), IndexError> {
        let cuts = if self.index.is_cut() { cuts } else { 0 };
        if !self.index.is_wanted() || (cuts == 0 && self.numbers.is_empty()) {
            return Ok(());
        }
        let started = Instant::now();
        for _ in 0..cuts {
            self.index.cut(&self.last_key, self.block.first_key());
        }
        if self.index.needs_number() {
            self.index.push_numbers(&self.numbers)?;
        } else if !self.index.push_unseen(self.numbers.len() as u64) {
            let keys = self.block.distinct_keys().skip(trained);
            for (key, number) in keys.zip(&self.numbers) {
                self.index.push(key, *number)?;
            }
        }
        self.index.trained_since(started);
        Ok(())
    }

    /// Passes the `cuts` before the open block to the fence pointers kept as a fallback.
    fn train_fences(&mut self, cuts: u64) {
        if let Some(fences) = self.index.fences() {
            for _ in 0..cuts {
                fences.cut(&self.last_key, self.block.first_key());
            }
        }
    }

    /// Writes a block without entries. The open block must be closed.
    ///
    /// # Errors
    /// If the write fails.
    pub fn write_empty(&mut self) -> Result<()> {
        self.directory.offsets.push(self.offset());
        self.directory.first_ranks.push(self.ranks);
        self.empty += 1;
        let even = self.even.take();
        let prefix = even.as_ref().map_or(&[][..], |even| &even.prefix);
        let compression = self.compression;
        let written = self.append(|_, see, id, offset, pending| {
            store(
                |into| encode_empty(prefix, into),
                see,
                compression,
                id,
                offset,
                pending,
            )
        });
        self.even = even.filter(|_| written.stored == STORED_HEADER_BYTES + written.raw);
        self.output.write_pieces()
    }

    /// Appends the open block, with the last key in front of it and the first one behind it.
    fn store_block(&mut self, before: Option<&[u8]>, behind: Option<&[u8]>) -> Written {
        let compression = self.compression;
        self.has_fence_keys = true;
        self.append(|block, see, id, offset, pending| {
            let encode = |into: &mut Vec<u8>| block.encode(before, behind, into);
            store(encode, see, compression, id, offset, pending)
        })
    }

    /// Appends the open block as a unit.
    fn store_unit(&mut self, shape: UnitShape) -> Written {
        if let Some(units) = &mut self.units {
            units.push(self.block.count() as u32, shape.width);
        }
        self.append(|block, see, id, offset, pending| {
            store_unit(
                |into| block.encode_unit(shape.width, into),
                see,
                shape,
                id,
                offset,
                pending,
            )
        })
    }

    /// Appends what `store` makes of the open block, the table's id and the offset; it returns the raw
    /// bytes.
    fn append(
        &mut self,
        store: impl FnOnce(&mut BlockBuilder, &mut dyn FnMut(&[u8]), u64, u64, &mut Vec<u8>) -> usize,
    ) -> Written {
        let offset = self.offset();
        let kept = &mut self.kept;
        let mut keep = |raw: &[u8]| {
            if let Some(kept) = kept {
                kept.push(raw);
            }
        };
        let raw = store(
            &mut self.block,
            &mut keep,
            self.table_id,
            offset,
            self.output.pending(),
        );
        let stored = (self.output.end() - offset) as usize;
        self.raw_bytes += raw as u64;
        self.raw_largest = self.raw_largest.max(raw as u64);
        Written { raw, stored }
    }

    /// Ends equal entry sizes if the stored block, in which `keys` user keys start, does not keep
    /// to the stride, or if they cost too much: keys stored whole may take more bytes than keys
    /// that share.
    fn judge_even(&mut self, written: Written, keys: usize) {
        let Some(even) = &mut self.even else { return };
        let stored = written.stored;
        even.taken += written.raw;
        // What keys share is not asked where it cannot matter.
        let least = self.block.least_possible_bytes();
        even.least += match written.raw > least + least / 8 {
            true => self.block.least_bytes(),
            false => least,
        };
        let overhead = STORED_HEADER_BYTES + FRAME_BYTES + even.prefix.len();
        let stride = self
            .block
            .stride()
            .filter(|stride| keys == self.block.count() && stored == overhead + keys * stride);
        let stride = stride.and_then(|stride| {
            Some(Stride {
                overhead: overhead.try_into().ok()?,
                stride: stride.try_into().ok()?,
            })
        });
        let alike = stride.is_some() && even.stride.is_none_or(|known| Some(known) == stride);
        let costly = even.taken > EVEN_TRIAL_BYTES && even.taken > even.least + even.least / 8;
        if alike && !costly {
            even.stride = stride;
        } else {
            self.even = None;
        }
    }

    /// Writes what `append` adds after the blocks, all of which are closed, and syncs the file.
    ///
    /// # Errors
    /// If a write or the sync fails.
    pub fn finish(&mut self, append: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        append(self.output.pending());
        self.output.sync()?;
        if let Some(kept) = self.kept.take() {
            kept.hand_over(self.table_id);
        }
        Ok(())
    }

    /// The time spent creating, writing and syncing the file.
    pub fn write_time(&self) -> Duration {
        self.output.time
    }
}

pub(in crate::table) fn refused(error: IndexError) -> Error {
    Error::InvalidArgument(format!("the index of a table cannot be built: {error}"))
}
