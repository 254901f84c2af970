//! The stores that are compared, behind one trait.

#[cfg(feature = "peers")]
mod fjall;
#[cfg(feature = "peer-lmdb")]
mod lmdb;
#[cfg(test)]
pub mod model;
mod pages;
mod peer;
#[cfg(feature = "peers")]
mod redb;
mod rhumb;
#[cfg(feature = "peers")]
mod rocksdb;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

pub use self::pages::Pages;
pub use self::peer::Peer;
pub use self::rhumb::{Rhumb, Settings, block_sizes};
use crate::data::Pairs;
#[cfg(feature = "peers")]
use crate::error::Error;
use crate::error::Result;
use ::rhumb::internals::BlockSize;

/// An open store. What it finds is copied into the caller's memory in every store alike: a caller
/// who looks at the value pays for fetching it anyway. Many threads use it at once.
pub trait Store: Send + Sync {
    /// Writes a batch at once, handed to the operating system and not synced; B-trees, which have no
    /// log to hand over, without durability.
    fn write(&self, batch: &Pairs) -> Result<()>;

    /// Brings everything written into its final place, and waits for it.
    fn settle(&self) -> Result<()>;

    /// Makes `into` the key's value; false if there is no such key.
    fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool>;

    /// Makes `into` the first `count` pairs from `start` on, ascending.
    fn scan(&self, start: &[u8], count: usize, into: &mut Pairs) -> Result<()>;

    /// Makes what a store that was opened cold has read come from the device again. Nothing to do for
    /// stores that read past the page cache; the others keep what they have in a cache of their own.
    fn cool(&self) -> Result<()> {
        Ok(())
    }

    /// What the store holds in memory; `None` where it cannot say.
    fn footprint(&self) -> Result<Option<Footprint>> {
        Ok(None)
    }

    /// How entries and bytes are spread over blocks, each of which is brought into memory; `None`
    /// where it cannot say.
    fn blocks(&self) -> Result<Option<Vec<BlockSize>>> {
        Ok(None)
    }

    /// What gets have done since the store was opened; `None` where it is not counted.
    fn reads(&self) -> Result<Option<Reads>> {
        Ok(None)
    }

    /// What writes have done since the store was opened; `None` where it is not counted.
    fn writes(&self) -> Result<Option<Writes>> {
        Ok(None)
    }

    /// Whether the operating system can count what the store writes: not through a memory map.
    fn counts_writes(&self) -> bool {
        true
    }

    /// Ends the store.
    fn close(self: Box<Self>) -> Result<()>;
}

/// Bytes that serve finding keys, and the tables they belong to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Bytes of indexes; of a B-tree's branch pages.
    pub index: u64,
    /// Bytes of directories.
    pub directory: u64,
    /// Bytes of filters.
    pub filter: u64,
    /// Bytes of key maps.
    pub key_map: u64,
    /// How many tables there are.
    pub tables: u64,
    /// How many of them fell back to fence pointers.
    pub fallbacks: u64,
    /// Bytes of blocks in a cache of the store's own; `None` where it has none or cannot say.
    pub cache: Option<u64>,
}

impl Footprint {
    /// The share of tables that fell back.
    pub fn fallback_share(&self) -> f64 {
        self.fallbacks as f64 / self.tables.max(1) as f64
    }
}

/// Counters of gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reads {
    /// Gets.
    pub gets: u64,
    /// Tables that a filter did not rule out.
    pub probes: u64,
    /// Blocks looked into, from the cache or from a file.
    pub blocks: u64,
    /// Blocks read from a file.
    pub blocks_read: u64,
    /// Bytes of these.
    pub bytes_read: u64,
    /// Ranks in the windows that indexes gave.
    pub window_ranks: u64,
}

impl Reads {
    /// Adds what was counted between two moments.
    pub fn add(&mut self, before: &Reads, after: &Reads) {
        self.gets += after.gets - before.gets;
        self.probes += after.probes - before.probes;
        self.blocks += after.blocks - before.blocks;
        self.blocks_read += after.blocks_read - before.blocks_read;
        self.bytes_read += after.bytes_read - before.bytes_read;
        self.window_ranks += after.window_ranks - before.window_ranks;
    }
}

/// Counters of writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writes {
    /// Bytes written to files.
    pub bytes: u64,
    /// How often writers were slowed down.
    pub slowdowns: u64,
    /// How often writers had to wait.
    pub stalls: u64,
    /// The longest such wait.
    pub longest_stall: Duration,
}

/// How a store is opened for reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Temperature {
    /// Everything fits in memory.
    Warm,
    /// Past the page cache, with a cache of [`COLD_CACHE_BYTES`].
    Cold,
}

/// The cache of a cold store: far below the data, above the blocks that every get needs.
pub const COLD_CACHE_BYTES: u64 = 8 << 20;

/// A store to compare, with its settings.
#[derive(Debug, Clone)]
pub enum Candidate {
    /// Our own.
    Rhumb(Settings),
    /// Another, with what our own settings become in it.
    Peer(Peer, Settings),
}

impl Candidate {
    /// Its name in tables and results: the index for our own store.
    pub fn label(&self) -> String {
        match self {
            Candidate::Rhumb(settings) => settings.index.to_string(),
            Candidate::Peer(peer, _) => peer.to_string(),
        }
    }

    /// Opens or creates it in a directory that exists.
    ///
    /// # Errors
    /// Whatever the store says.
    pub fn open(&self, directory: &Path, temperature: Temperature) -> Result<Box<dyn Store>> {
        match self {
            Candidate::Rhumb(settings) => settings.open(directory, temperature),
            Candidate::Peer(peer, settings) => peer.open(directory, settings, temperature),
        }
    }
}

/// What a peer said when it failed.
#[cfg(feature = "peers")]
fn failed(store: &'static str, error: impl std::fmt::Display) -> Error {
    Error::Peer {
        store,
        error: error.to_string(),
    }
}

#[cfg(feature = "peers")]
fn no_zstd(store: &str) -> Error {
    Error::Usage(format!(
        "{store} is built without zstd here: compare under compression=lz4 or compression=none"
    ))
}
