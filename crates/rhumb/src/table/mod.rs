//! Tables: sorted, immutable files of entries that are found by an index (docs/format.md, Table).
//!
//! [`TableWriter`] writes a table, [`TableReader`] answers gets, [`TableCursor`] iterates over it.
//!
//! An index only tells where to look first. The result of a get or a seek is decided by the entries
//! of the blocks that were read, so a damaged or hostile index makes them slower, never wrong: see
//! `read/search.rs`.

mod block;
mod check;
mod form;
#[cfg(feature = "test-kit")]
pub(crate) mod fuzz;
mod read;
#[cfg(test)]
mod tests;
mod write;

/// An entry whose key and value exceed this together gets a block of its own.
pub(crate) const LARGE_ENTRY_BYTES: usize = 64 << 10;

pub(crate) use block::{EntryEnd, Puts};
pub(crate) use check::salvage::{LostBlock, Salvage};
pub(crate) use check::verify::TableReport;
pub(crate) use form::filter::hash_key;
pub(crate) use form::properties::layout_tag;
pub(crate) use form::summary::TableMeta;
pub(crate) use form::value_uses::ValueUse;
pub(crate) use read::block_run::BlockRun;
pub(crate) use read::cursor::TableCursor;
pub(crate) use read::get::Asked;
pub(crate) use read::learned::LearnedBuilder;
pub(crate) use read::model::{Model, SliceRef};
pub(crate) use read::plain::{Limits, PlainEntries, Reach};
pub(crate) use read::reader::{OpenAs, TableReader};
pub(crate) use read::rows::Rows;
pub(crate) use read::source::BlockSource;
#[cfg(feature = "internals")]
pub(crate) use read::stages::TimedGet;
#[cfg(feature = "internals")]
pub use read::stages::{BlockSize, GetTimes, HeldBlock, Stage};
pub(crate) use read::together::{BegunGet, read_together};
pub(crate) use read::trace::{GetTrace, NumberCache};
pub(crate) use read::training::{Learning, Training};
pub(crate) use write::writer::{TableSettings, TableWriter};
