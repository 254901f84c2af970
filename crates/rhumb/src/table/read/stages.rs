//! A get from a table that ends early, so that differences tell the cost of each stage, and one
//! that reads the clock between its parts.
//!
//! Every stage and part runs production code; nothing here is a copy.

use std::time::{Duration, Instant};

use super::get::Asked;
use super::loaded::LoadedBlock;
use super::reader::TableReader;
use super::search::Expected;
use super::source::BlockSource;
use super::trace::NumberCache;
use crate::entry::{MAX_SEQUENCE, Version};
use crate::error::Result;

/// How far a get goes; each stage contains the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Nothing is done; measures the cost of timing.
    Nothing,
    /// The view of the keyspace and the last published sequence.
    View,
    /// The write buffers are asked.
    WriteBuffer,
    /// The table of the first level that may hold the key is found.
    Table,
    /// The key is hashed and the filter asked.
    Filter,
    /// The key is mapped to its number.
    KeyMap,
    /// The index and the directory give the block.
    Index,
    /// The block is found in memory, or read; if the index gives several, with the others.
    Block,
    /// The entry is found in the block, or in another one if the index gave a wrong block.
    Search,
    /// The key is compared and the value pinned.
    Pin,
    /// The whole get, as called by a user.
    Get,
}

impl Stage {
    /// All stages in order.
    pub const ALL: [Stage; 11] = [
        Stage::Nothing,
        Stage::View,
        Stage::WriteBuffer,
        Stage::Table,
        Stage::Filter,
        Stage::KeyMap,
        Stage::Index,
        Stage::Block,
        Stage::Search,
        Stage::Pin,
        Stage::Get,
    ];
}

/// The times of the parts of one get, over all the tables that it asked. Each part includes one
/// reading of the clock for each table or run that it handled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GetTimes {
    /// Whether the key has a value.
    pub found: bool,
    /// The view of the keyspace, the last published sequence, the key's hash and the write buffers.
    pub write_buffers: Duration,
    /// Finding in each sorted run the table that may hold the key.
    pub tables: Duration,
    /// The number of these runs.
    pub runs: u32,
    /// Asking the range deletes and filters of tables.
    pub filters: Duration,
    /// The number of these tables, including those without a filter.
    pub filters_asked: u32,
    /// In each table that is searched: mapping the key to its number.
    pub key_map: Duration,
    /// In each table that is searched: the index and the directory, which give the blocks.
    pub index: Duration,
    /// In each table that is searched: calls that read blocks, with one more reading of the clock a
    /// call.
    pub reads: Duration,
    /// In each table that is searched, the rest: finding blocks in memory, or verifying and keeping
    /// them, finding the entry, comparing its key and pinning its value.
    pub search: Duration,
    /// The number of tables searched: their filters did not exclude the key, or they have none.
    pub tables_searched: u32,
}

/// A timed get in progress.
#[derive(Debug)]
pub(crate) struct TimedGet {
    /// The times of its parts so far.
    pub times: GetTimes,
    /// Where its blocks come from.
    pub source: BlockSource,
    last: Instant,
}

impl TimedGet {
    /// Starts the clock.
    pub fn start() -> TimedGet {
        let mut source = BlockSource::new(true);
        source.timed = true;
        TimedGet {
            times: GetTimes::default(),
            source,
            last: Instant::now(),
        }
    }

    /// Ends a part of the get and adds its time.
    pub fn lap(&mut self, part: fn(&mut GetTimes) -> &mut Duration) {
        let now = Instant::now();
        *part(&mut self.times) += now - std::mem::replace(&mut self.last, now);
    }
}

/// The size of one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockSize {
    /// The number of entries, including old versions and deletes.
    pub entries: u64,
    /// Bytes in memory.
    pub raw_bytes: u64,
    /// Bytes in the file, including the header.
    pub stored_bytes: u64,
}

/// A block held in memory, for repeated searches.
#[derive(Debug)]
pub struct HeldBlock(LoadedBlock);

impl HeldBlock {
    /// The first slot at or after the newest version of `key`.
    #[inline]
    pub fn search(&self, key: &[u8]) -> usize {
        self.0.view().lower_bound_near(key, MAX_SEQUENCE, None)
    }

    /// The number of entries.
    pub fn entries(&self) -> usize {
        self.0.view().count()
    }

    /// The key at a slot.
    pub fn key(&self, slot: usize) -> Vec<u8> {
        let mut key = Vec::new();
        self.0.view().key_into(slot, &mut key);
        key
    }
}

impl TableReader {
    /// Runs a get up to `stage`, from [`Stage::Filter`] to [`Stage::Pin`]. Returns a number that
    /// depends on everything that was done.
    ///
    /// # Errors
    /// If a block cannot be read or is damaged.
    pub(crate) fn get_until(&self, stage: Stage, key: &[u8]) -> Result<u64> {
        self.get_until_by(stage, key, &mut BlockSource::new(true))
    }

    /// As [`TableReader::get_until`], with blocks from `source`.
    ///
    /// # Errors
    /// As [`TableReader::get_until`].
    pub(in crate::table) fn get_until_by(
        &self,
        stage: Stage,
        key: &[u8],
        source: &mut BlockSource,
    ) -> Result<u64> {
        let asked = Asked::alone(key, MAX_SEQUENCE);
        let mut numbers = NumberCache::default();
        if stage == Stage::Pin {
            let found = self.get(&asked, &mut numbers, source)?;
            return Ok(found.map_or(0, |version| version.sequence));
        }
        let may_hold = (self.filter.as_ref()).is_none_or(|f| f.may_contain(asked.hash));
        if !may_hold {
            return Ok(0);
        }
        if stage <= Stage::Filter {
            return Ok(asked.hash);
        }
        Ok(match stage {
            Stage::KeyMap => self.own()?.number_of(key),
            Stage::Index => self.expected_blocks(key, None, &mut numbers)?.first,
            Stage::Block => {
                let expected = self.expected_blocks(key, None, &mut numbers)?;
                let block = self.first_probe(&expected, source)?;
                block.view().count() as u64
            }
            _ => {
                let (sequence, mut block) = (MAX_SEQUENCE, None);
                let found =
                    self.lower_bound(key, sequence, None, &mut numbers, source, &mut block)?;
                found.map_or(0, |slot| slot as u64)
            }
        })
    }

    /// Loads the block in which a search looks first, together with the others of its window if the
    /// search would read them too.
    fn first_probe(&self, expected: &Expected, source: &mut BlockSource) -> Result<LoadedBlock> {
        let (first, last) = (expected.first, expected.last);
        let probe = expected.probe();
        if first < last {
            self.read_window((first, last), probe, source);
        }
        self.block(probe, source)
    }

    /// [`TableReader::get`] with a reading of the clock after each part. What a get does while it
    /// waits for memory, such as asking the index before the filter arrives, is done one after the
    /// other here.
    ///
    /// # Errors
    /// If a block cannot be read or is damaged.
    pub(crate) fn get_timed(
        &self,
        asked: &Asked<'_>,
        numbers: &mut NumberCache,
        get: &mut TimedGet,
    ) -> Result<Option<Version>> {
        let may_hold = (self.filter.as_ref()).is_none_or(|f| f.may_contain(asked.hash));
        get.lap(|times| &mut times.filters);
        get.times.filters_asked += 1;
        if !may_hold {
            return Ok(None);
        }
        let (key, finder) = (asked.key, self.finder(asked.slice)?);
        let model = finder.model;
        model.number_by(key, numbers);
        get.lap(|times| &mut times.key_map);
        let expected = self.expected_by(finder, key, numbers);
        get.lap(|times| &mut times.index);
        let before = get.source.trace.read_time;
        self.prefetch_expected(&expected);
        let mut found = None;
        self.find(&expected, asked, &mut get.source, &mut found)?;
        let read = get.source.trace.read_time - before;
        get.lap(|times| &mut times.search);
        get.times.search = get.times.search.saturating_sub(read);
        get.times.reads += read;
        get.times.tables_searched += 1;
        Ok(found)
    }

    /// The block that holds the first entry at or after `key`, and its number.
    ///
    /// # Errors
    /// If a block cannot be read or is damaged.
    pub(crate) fn hold_block(&self, key: &[u8]) -> Result<Option<(u64, HeldBlock)>> {
        let mut numbers = NumberCache::default();
        let mut source = BlockSource::new(true);
        let (sequence, mut block) = (MAX_SEQUENCE, None);
        self.lower_bound(key, sequence, None, &mut numbers, &mut source, &mut block)?;
        Ok(block.map(|block| (block.number, HeldBlock(block))))
    }

    /// Loads a block and returns its size.
    ///
    /// # Errors
    /// If it cannot be read or is damaged.
    pub(crate) fn block_size(&self, block: u64, fill_cache: bool) -> Result<BlockSize> {
        let (_, stored) = self.directory.extent(block).unwrap_or_default();
        let block = self.block(block, &mut BlockSource::new(fill_cache))?;
        Ok(BlockSize {
            entries: block.view().count() as u64,
            raw_bytes: block.bytes.len() as u64,
            stored_bytes: stored as u64,
        })
    }
}
