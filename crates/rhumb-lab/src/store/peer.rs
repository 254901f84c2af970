//! The other stores that rhumb is compared with.

use std::fmt;
use std::path::Path;

use clap::ValueEnum;

use super::{Settings, Store, Temperature, pointers};
use crate::error::{Error, Result};

/// Another store, with the index of its tables if it has a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Peer {
    /// RocksDB with its default index: a binary search over separators.
    Rocksdb,
    /// RocksDB with interpolation search in all index blocks.
    RocksdbInterpolation,
    /// RocksDB with interpolation search in the index blocks whose keys are evenly spaced.
    RocksdbAuto,
    /// RocksDB with its succinct trie as the index.
    RocksdbTrie,
    /// fjall, an LSM-tree in Rust.
    Fjall,
    /// redb, a copy-on-write B-tree in Rust.
    Redb,
    /// LMDB, a memory-mapped copy-on-write B-tree.
    Lmdb,
    /// A B+-tree of the lab on disk, for pointers.
    #[value(skip)]
    BtreeDisk,
    /// A B+-tree of the lab in memory over a run with a PGM-index, for pointers.
    #[value(skip)]
    HybridPgm,
    /// The same over a run with compressed bounds of pages.
    #[value(skip)]
    HybridLeco,
}

/// Opens or creates a store in a directory that exists.
type Open = fn(&Path, &Settings, Temperature) -> Result<Box<dyn Store>>;

impl Peer {
    /// The lab's own indexes of pointers. No program needs them but the experiments on value logs, so they are not
    /// among those that are compared by default.
    pub const OF_POINTERS: [Peer; 3] = [Peer::BtreeDisk, Peer::HybridPgm, Peer::HybridLeco];

    /// The peers that this build can open, without those of the lab.
    pub fn built_in() -> impl Iterator<Item = Peer> {
        let all = Peer::value_variants().iter().copied();
        all.filter(|peer| peer.is_built_in())
    }

    /// The peer with a name.
    pub fn named(name: &str) -> Option<Peer> {
        let all = Peer::value_variants().iter().copied();
        all.chain(Peer::OF_POINTERS)
            .find(|peer| peer.to_string() == name)
    }

    /// Whether this build can open it.
    pub fn is_built_in(self) -> bool {
        self.opener().is_ok()
    }

    /// Whether the sizes of its levels can be set.
    pub fn has_levels(self) -> bool {
        use Peer::{Rocksdb, RocksdbAuto, RocksdbInterpolation, RocksdbTrie};
        matches!(
            self,
            Rocksdb | RocksdbInterpolation | RocksdbAuto | RocksdbTrie
        )
    }

    /// Whether it can write values into files of their own.
    pub fn has_value_files(self) -> bool {
        // All that have levels are RocksDB.
        self.has_levels()
    }

    /// Whether a part of it in memory takes all writes until that is full.
    pub fn is_hybrid(self) -> bool {
        matches!(self, Peer::HybridPgm | Peer::HybridLeco)
    }

    /// The function that opens it, or the cargo feature that is missing.
    fn opener(self) -> Result<Open, &'static str> {
        #[cfg(feature = "peers")]
        use super::rocksdb::{self, Index};
        match self {
            #[cfg(feature = "peers")]
            Peer::Rocksdb => Ok(|at, with, how| rocksdb::open(Index::Binary, at, with, how)),
            #[cfg(feature = "peers")]
            Peer::RocksdbInterpolation => {
                Ok(|at, with, how| rocksdb::open(Index::Interpolation, at, with, how))
            }
            #[cfg(feature = "peers")]
            Peer::RocksdbAuto => Ok(|at, with, how| rocksdb::open(Index::Auto, at, with, how)),
            #[cfg(feature = "peers")]
            Peer::RocksdbTrie => Ok(|at, with, how| rocksdb::open(Index::Trie, at, with, how)),
            #[cfg(feature = "peers")]
            Peer::Fjall => Ok(super::fjall::open),
            #[cfg(feature = "peers")]
            Peer::Redb => Ok(super::redb::open),
            #[cfg(feature = "peer-lmdb")]
            Peer::Lmdb => Ok(super::lmdb::open),
            #[cfg(not(feature = "peer-lmdb"))]
            Peer::Lmdb => Err("peer-lmdb"),
            Peer::BtreeDisk => Ok(pointers::open_btree),
            Peer::HybridPgm => Ok(pointers::open_pgm),
            Peer::HybridLeco => Ok(pointers::open_leco),
            #[cfg(not(feature = "peers"))]
            _ => Err("peers"),
        }
    }

    /// Opens or creates it in a directory that exists, with the settings of our own store as far as
    /// it has them; `docs/peers.md` has a table of the settings.
    ///
    /// # Errors
    /// Any error of the store; [`Error::Usage`] for a store that is not in this build and for
    /// compression that the store does not have.
    pub fn open(
        self,
        directory: &Path,
        settings: &Settings,
        temperature: Temperature,
    ) -> Result<Box<dyn Store>> {
        let missing = |feature| {
            Error::Usage(format!(
                "{self} is not in this build: build rhumb-lab with --features {feature}"
            ))
        };
        let open = self.opener().map_err(missing)?;
        open(directory, settings, temperature)
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Peer::Rocksdb => "rocksdb",
            Peer::RocksdbInterpolation => "rocksdb-interpolation",
            Peer::RocksdbAuto => "rocksdb-auto",
            Peer::RocksdbTrie => "rocksdb-trie",
            Peer::Fjall => "fjall",
            Peer::Redb => "redb",
            Peer::Lmdb => "lmdb",
            Peer::BtreeDisk => "btree-disk",
            Peer::HybridPgm => "hybrid-pgm",
            Peer::HybridLeco => "hybrid-leco",
        })
    }
}
