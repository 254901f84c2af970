//! Which block of a table an entry goes into.

use super::blocks::{BlockWriter, LARGEST_BLOCK_BYTES};
use super::index_choice::IndexChoice;
use super::placing::{Placer, TARGET_BYTES};
use crate::error::Result;
use crate::options::{Compression, Partition, TableSpec};
use crate::table::LARGE_ENTRY_BYTES;
use crate::table::block::NewEntry;

/// What decides which block an entry goes into.
#[derive(Debug)]
pub(super) enum Cutter {
    /// The size of the block: at most this many raw bytes and entries.
    Full { bytes: usize, entries: usize },
    /// The number of entries, which are units as long as they have one size.
    Units { entries: u32 },
    /// The model.
    Model(Box<Placer>),
}

impl Cutter {
    pub fn of(spec: &TableSpec, index: &IndexChoice) -> Cutter {
        match spec.partition {
            Partition::Bytes(n) => Cutter::bytes(n as usize),
            Partition::Entries(n) => {
                let entries = n.min(u16::MAX.into());
                match spec.compression {
                    Compression::None => Cutter::Units { entries },
                    _ => Cutter::entries(entries),
                }
            }
            Partition::Predicted(n) if index.may_place() => {
                Cutter::Model(Box::new(Placer::new(n.min(u16::MAX.into()))))
            }
            Partition::Predicted(_) => Cutter::bytes(TARGET_BYTES as usize),
        }
    }

    pub fn entries(entries: u32) -> Cutter {
        Cutter::Full {
            bytes: LARGEST_BLOCK_BYTES,
            entries: entries as usize,
        }
    }

    pub fn bytes(bytes: usize) -> Cutter {
        Cutter::Full {
            bytes,
            entries: u16::MAX.into(),
        }
    }
}

/// Adds an entry to the open block, or to a new one if the block would then exceed `bytes` raw
/// bytes or `entries` entries.
pub(super) fn cut(
    blocks: &mut BlockWriter,
    entry: &NewEntry<'_>,
    bytes: usize,
    entries: usize,
) -> Result<()> {
    let large = entry.key.len() + entry.value.len() > LARGE_ENTRY_BYTES;
    if large || blocks.open().count() >= entries {
        blocks.close()?;
    }
    blocks.push(entry, bytes)?;
    if large { blocks.close() } else { Ok(()) }
}
