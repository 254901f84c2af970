//! The stores that are compared, behind one trait.

mod answer;
mod counters;
mod cursor;
#[cfg(feature = "peers")]
mod fjall;
#[cfg(feature = "peer-lmdb")]
mod lmdb;
#[cfg(test)]
pub mod model;
mod pages;
mod peer;
mod pointers;
#[cfg(feature = "peers")]
mod redb;
mod rhumb;
#[cfg(feature = "peers")]
mod rocksdb;
#[cfg(any(test, feature = "peers"))]
mod rocksdb_events;
mod system;
#[cfg(test)]
mod tests;
mod valuelog;
mod values;

pub use self::answer::{Answer, Part};
pub use self::counters::Counters;
pub use self::cursor::Cursor;
pub use self::pages::Pages;
pub use self::peer::Peer;
pub use self::rhumb::{Settings, block_sizes};
pub use self::system::System;
pub use self::values::Values;
use crate::data::Pairs;
#[cfg(feature = "peers")]
use crate::error::Error;
use crate::error::Result;
use ::rhumb::TunerStats;
use ::rhumb::internals::{BlockSize, GetTimes};

/// An open store, which many threads use at once. Every store copies what it finds into the
/// caller's memory: a caller that reads the value has to fetch it anyway.
pub trait Store: Send + Sync {
    /// Writes a batch atomically. Unless [`Settings::sync`] asks for it, the write reaches the operating
    /// system and is not synced; in B-trees, which have no log, it has no durability.
    fn write(&self, batch: &Pairs) -> Result<()>;

    /// Writes pairs while the store is filled. If their keys ascend from pair to pair and from call to call, an index
    /// of pointers of the lab writes them in place at once.
    fn load(&self, batch: &Pairs) -> Result<()> {
        self.write(batch)
    }

    /// Deletes a key, which may be absent; as durable as a write.
    #[cfg_attr(
        not(test),
        allow(
            dead_code,
            reason = "no workload deletes, but a store that could not would be none"
        )
    )]
    fn delete(&self, key: &[u8]) -> Result<()>;

    /// Writes everything buffered to tables, and waits for the merges that are due then. Does
    /// nothing for B-trees.
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    /// Moves everything written to its final place, and waits until this is done.
    fn settle(&self) -> Result<()>;

    /// Sets `into` to the key's value; returns false if the key is absent.
    fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool>;

    /// Sets `into` to the values of the keys, in their order. A store without such a call gets one key after the other.
    fn get_many(&self, keys: &[&[u8]], into: &mut Values) -> Result<()> {
        let mut value = Vec::new();
        into.clear();
        for key in keys {
            let found = self.get(key, &mut value)?;
            into.push(found.then_some(&value));
        }
        Ok(())
    }

    /// The time of the parts of a get; `None` if the store does not measure them.
    fn get_timed(&self, _key: &[u8]) -> Result<Option<GetTimes>> {
        Ok(None)
    }

    /// Looks a key up and says which part of the store has it; `None` if the store does not tell.
    fn answer(&self, _key: &[u8]) -> Result<Option<Answer>> {
        Ok(None)
    }

    /// Makes a cursor and calls `with` with it. Some stores keep a read transaction open meanwhile.
    fn with_cursor(&self, with: &mut dyn FnMut(&mut dyn Cursor) -> Result<()>) -> Result<()>;

    /// Sets `into` to the first `count` pairs from `start` on, ascending.
    fn scan(&self, start: &[u8], count: usize, into: &mut Pairs) -> Result<()> {
        cursor::scan(self, start, count, into)
    }

    /// Drops the page cache of a store that was opened cold, so that it reads from the device
    /// again. Does nothing for stores that bypass the page cache. A store's own cache is kept.
    fn cool(&self) -> Result<()> {
        Ok(())
    }

    /// The store's memory for finding keys; `None` if the store does not report it.
    fn footprint(&self) -> Result<Option<Footprint>> {
        Ok(None)
    }

    /// The entries and bytes of each block; all blocks are read into memory. `None` if the store
    /// does not report them.
    fn blocks(&self) -> Result<Option<Vec<BlockSize>>> {
        Ok(None)
    }

    /// What the store knows of the forms that its tables can take; `None` if it does not choose among any.
    fn tuner(&self) -> Result<Option<TunerStats>> {
        Ok(None)
    }

    /// The store's own counters; empty if it has none.
    fn counters(&self) -> Result<Counters> {
        Ok(Counters::default())
    }

    /// Whether the operating system counts the store's writes; it does not count writes through a
    /// memory map.
    fn counts_writes(&self) -> bool {
        true
    }

    /// Closes the store.
    fn close(self: Box<Self>) -> Result<()>;
}

/// Bytes in memory for finding keys, and the tables they belong to.
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
    /// The number of tables.
    pub tables: u64,
    /// Bytes of the files of tables; `None` if the store does not report them.
    pub table_bytes: Option<u64>,
    /// The number of levels with tables; `None` if the store does not report it.
    pub levels: Option<u64>,
    /// The number of tables that fell back to fence pointers.
    pub fallbacks: u64,
    /// Bytes of blocks in the store's own cache; `None` if it has none or does not report them.
    pub cache: Option<u64>,
}

impl Footprint {
    /// The share of tables that fell back.
    pub fn fallback_share(&self) -> f64 {
        self.fallbacks as f64 / self.tables.max(1) as f64
    }
}

/// How a store is opened for reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Temperature {
    /// Everything fits in memory.
    Warm,
    /// Reads bypass the page cache, and the store's cache has [`COLD_CACHE_BYTES`].
    Cold,
}

/// The cache of a cold store: much smaller than the data, larger than the blocks that every get
/// needs.
pub const COLD_CACHE_BYTES: u64 = 8 << 20;

/// The error of a peer.
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
        "{store} is built without zstd here: compare with compression=lz4 or compression=none"
    ))
}
