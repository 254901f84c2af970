//! A get from a table that ends early, so that what each stage costs can be told by differences.
//!
//! Every stage is the production code of that stage; nothing here is a copy of it.

use super::filter::hash_key;
use super::load::{BlockSource, LoadedBlock};
use super::reader::TableReader;
use super::trace::NumberCache;
use crate::entry::MAX_SEQUENCE;
use crate::error::Result;

/// How far a get goes; each stage contains the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Nothing is done: what the timing costs.
    Nothing,
    /// The view of the keyspace and the last published sequence.
    View,
    /// The write buffer is asked.
    WriteBuffer,
    /// The table of the first level that may hold the key is found.
    Table,
    /// The key is hashed and the filter asked.
    Filter,
    /// The key becomes a number.
    KeyMap,
    /// The index and the directory name the block.
    Index,
    /// The block is found in memory, or read.
    Block,
    /// The entry is found in it, in another block where the index named the wrong one.
    Search,
    /// The key is compared and the value pinned.
    Pin,
    /// The whole get, as a user calls it.
    Get,
}

impl Stage {
    /// All stages in their order.
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

/// What one block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockSize {
    /// Entries, old versions and deletes included.
    pub entries: u64,
    /// Bytes in memory.
    pub raw_bytes: u64,
    /// Bytes in the file, header included.
    pub stored_bytes: u64,
}

/// A block held in memory, to search in it again and again.
#[derive(Debug)]
pub struct HeldBlock(LoadedBlock);

impl HeldBlock {
    /// The first slot at or after the newest version of `key`.
    #[inline]
    pub fn search(&self, key: &[u8]) -> usize {
        self.0.view().lower_bound_near(key, MAX_SEQUENCE, None)
    }

    /// How many entries the block has.
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
    /// Goes on with a get up to `stage`, from [`Stage::Filter`] to [`Stage::Pin`]. Gives a number that
    /// depends on all that was done.
    ///
    /// # Errors
    /// If a block cannot be read or is damaged.
    pub(crate) fn get_until(&self, stage: Stage, key: &[u8]) -> Result<u64> {
        let hash = hash_key(key);
        let mut numbers = NumberCache::default();
        if stage == Stage::Pin {
            let mut source = BlockSource::new(true);
            let found = self.get(key, hash, MAX_SEQUENCE, &mut numbers, &mut source, true)?;
            return Ok(found.map_or(0, |version| version.sequence));
        }
        let may_hold = self.filter.as_ref().is_none_or(|f| f.may_contain(hash));
        if !may_hold {
            return Ok(0);
        }
        if stage <= Stage::Filter {
            return Ok(hash);
        }
        let mut source = BlockSource::new(true);
        Ok(match stage {
            Stage::KeyMap => self.key_map.number(key),
            Stage::Index => self.expected_block(key, &mut numbers),
            Stage::Block => {
                let block = self.expected_block(key, &mut numbers);
                self.block(block, &mut source)?.view().count() as u64
            }
            _ => {
                let found = self.lower_bound(key, MAX_SEQUENCE, &mut numbers, &mut source)?;
                found.map_or(0, |(_, slot)| slot as u64)
            }
        })
    }

    /// The block that a search for `key` looks into first.
    fn expected_block(&self, key: &[u8], numbers: &mut NumberCache) -> u64 {
        let expected = self.expected_blocks(key, numbers);
        expected.first + (expected.last - expected.first) / 2
    }

    /// The block that holds the first entry at or after `key`, and its number.
    ///
    /// # Errors
    /// If a block cannot be read or is damaged.
    pub(crate) fn hold_block(&self, key: &[u8]) -> Result<Option<(u64, HeldBlock)>> {
        let mut numbers = NumberCache::default();
        let mut source = BlockSource::new(true);
        let found = self.lower_bound(key, MAX_SEQUENCE, &mut numbers, &mut source)?;
        Ok(found.map(|(block, _)| (block.number, HeldBlock(block))))
    }

    /// Brings a block into memory or finds it there, and gives what it holds.
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
