//! Which block of a table an entry goes into.

use super::blocks::{BlockWriter, LARGEST_BLOCK_BYTES, MOST_ENTRIES};
use super::index_choice::IndexChoice;
use super::placing::{Placer, TARGET_BYTES};
use crate::error::Result;
use crate::options::{Compression, Partition, TableSpec};
use crate::table::LARGE_ENTRY_BYTES;
use crate::table::block::{NewEntry, Puts};

/// What decides which block an entry goes into.
#[derive(Debug)]
pub(super) enum Cutter {
    /// The size of the block: at most this many raw bytes, and the shortest separators.
    Bytes(usize),
    /// At most this many raw bytes, and the keys that the index admits.
    Dual(usize),
    /// The number of entries.
    Entries(usize),
    /// The number of entries, which are units as long as they have one size.
    Units { entries: u32 },
    /// The model.
    Model(Box<Placer>),
}

impl Cutter {
    pub fn of(spec: &TableSpec, index: &IndexChoice) -> Cutter {
        match spec.partition {
            Partition::Dual(n) if index.gives_slots() => Cutter::Dual(n as usize),
            Partition::Bytes(n) | Partition::Dual(n) => Cutter::Bytes(n as usize),
            Partition::Entries(n) => {
                let entries = n.min(u16::MAX.into());
                match spec.compression {
                    Compression::None => Cutter::Units { entries },
                    _ => Cutter::Entries(entries as usize),
                }
            }
            Partition::Predicted(n) if index.may_place() => {
                let entries_per_cell = n.min(u16::MAX.into());
                Cutter::Model(Box::new(Placer::new(entries_per_cell, spec.table_bytes)))
            }
            Partition::Predicted(_) => Cutter::Bytes(TARGET_BYTES as usize),
        }
    }
}

/// Adds an entry to the open block, or to a new one if the block would then exceed `bytes` raw bytes.
pub(super) fn cut_by_bytes(
    blocks: &mut BlockWriter,
    entry: &NewEntry<'_>,
    bytes: usize,
) -> Result<()> {
    let push = |blocks: &mut BlockWriter| blocks.push_parting(entry, bytes);
    cut(blocks, entry, MOST_ENTRIES, BlockWriter::close, push)
}

/// Adds puts as [`cut_by_bytes`] adds each of them.
pub(super) fn cut_all_by_bytes(
    blocks: &mut BlockWriter,
    puts: &Puts<'_>,
    bytes: usize,
) -> Result<()> {
    let mut rest = *puts;
    loop {
        let early = blocks.open().push_early(&rest, bytes);
        rest = rest.part(early..rest.len());
        let Some(next) = rest.entries().next() else {
            return Ok(());
        };
        cut_by_bytes(blocks, &next, bytes)?;
        rest = rest.part(1..rest.len());
    }
}

/// Adds an entry to the open block, or to a new one if the block would then exceed `bytes` raw bytes. Blocks end before the
/// first key that the index does not admit.
pub(super) fn cut_by_both(
    blocks: &mut BlockWriter,
    entry: &NewEntry<'_>,
    bytes: usize,
) -> Result<()> {
    let close =
        |blocks: &mut BlockWriter, behind: Option<&[u8]>| blocks.close_all_admitted(bytes, behind);
    let push = |blocks: &mut BlockWriter| blocks.push_admitted(entry, bytes);
    cut(blocks, entry, MOST_ENTRIES, close, push)
}

/// Adds an entry to the open block, or to a new one if the block would then exceed so many entries.
pub(super) fn cut_by_entries(
    blocks: &mut BlockWriter,
    entry: &NewEntry<'_>,
    entries: usize,
) -> Result<()> {
    let push = |blocks: &mut BlockWriter| blocks.push(entry, LARGEST_BLOCK_BYTES);
    cut(blocks, entry, entries, BlockWriter::close, push)
}

/// Adds an entry by `push`. A block of its own, or of so many entries, is ended by `close`, which is told the key behind it, if
/// that is known.
fn cut(
    blocks: &mut BlockWriter,
    entry: &NewEntry<'_>,
    entries: usize,
    close: impl Fn(&mut BlockWriter, Option<&[u8]>) -> Result<()>,
    push: impl FnOnce(&mut BlockWriter) -> Result<()>,
) -> Result<()> {
    let large = entry.key.len() + entry.value.len() > LARGE_ENTRY_BYTES;
    if large || blocks.open().count() >= entries {
        close(blocks, Some(entry.key))?;
    }
    push(blocks)?;
    if large { close(blocks, None) } else { Ok(()) }
}
