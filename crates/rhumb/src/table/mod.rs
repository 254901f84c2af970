//! Tables: sorted, immutable files of entries that are found by an index (docs/format.md, Table).
//!
//! [`TableWriter`] writes a table, [`TableReader`] answers gets, [`TableCursor`] iterates over it.
//!
//! An index only tells where to look first. The result of a get or a seek is decided by the entries
//! of the blocks that were read, so a damaged or hostile index makes them slower, never wrong: see
//! `search.rs`.

mod bits;
mod block;
mod blocks;
mod codec;
mod column;
mod cursor;
mod damage;
mod directory;
mod filter;
mod footer;
mod get;
mod index_choice;
mod likely;
mod load;
mod placing;
mod properties;
mod reader;
mod salvage;
mod search;
mod spread;
#[cfg(feature = "internals")]
mod stages;
mod stored;
mod summary;
#[cfg(test)]
mod tests;
mod trace;
mod verify;
mod writer;

/// An entry whose key and value exceed this together gets a block of its own.
const LARGE_ENTRY_BYTES: usize = 64 << 10;

pub(crate) use cursor::TableCursor;
pub(crate) use filter::hash_key;
pub(crate) use load::BlockSource;
pub(crate) use reader::TableReader;
pub(crate) use salvage::{LostBlock, Salvage};
#[cfg(feature = "internals")]
pub(crate) use stages::TimedGet;
#[cfg(feature = "internals")]
pub use stages::{BlockSize, GetTimes, HeldBlock, Stage};
pub(crate) use summary::TableMeta;
pub(crate) use trace::{GetTrace, NumberCache};
pub(crate) use writer::{TableSettings, TableWriter};
