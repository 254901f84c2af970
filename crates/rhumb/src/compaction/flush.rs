//! Writing memtables as a table.

use rhumb_index::{KeyMap, KeyMapBuilder};

use super::builder::write_tables;
use super::context::{Context, Outcome};
use super::merge::{Below, Ranges, ranges, survivors};
use crate::cursor::MergeCursor;
use crate::entry::{LARGEST_KEY, Piece};
use crate::error::Result;
use crate::memtable::{Memtable, MemtableCursor};
use crate::sync::Arc;
use crate::version::{LevelChange, Place, TableMeta};

/// Writes `memtables`, newest first, as one table, or as none if nothing survives. Its place is in level 0
/// until [another](super::place_newest) is found for it.
///
/// The keys are read twice: to build the key map of exactly these keys but [`LARGEST_KEY`], and to write
/// them.
///
/// # Errors
/// If the table cannot be written; what was written of it is removed if possible.
pub(crate) fn flush(context: &Context<'_>, memtables: &[Arc<Memtable>]) -> Result<Outcome> {
    let trees: Vec<_> = memtables.iter().filter_map(|m| m.range_deletes()).collect();
    let pieces: Vec<Piece<'_>> = trees.iter().flat_map(|tree| tree.pieces()).collect();
    let ranges = ranges(context, &pieces, &Below::Anything);
    let Some(map) = key_map(context, memtables, &ranges)? else {
        return Ok(Outcome::default());
    };
    let map = context.number_map(map);
    let mut cursor = merged(memtables);
    let tables = write_tables(
        context,
        &mut cursor,
        ranges,
        Below::Anything,
        (map.clone(), u64::MAX),
    )?;
    let place = |table: &TableMeta| Place {
        level: 0,
        run: table.number,
    };
    let adds = tables.into_iter().map(|t| (place(&t), t)).collect();
    let removes = Vec::new();
    Ok(Outcome {
        levels: LevelChange { adds, removes },
        maps: vec![map],
    })
}

/// The key map of the surviving keys but [`LARGEST_KEY`]; `None` if nothing survives.
fn key_map(
    context: &Context<'_>,
    memtables: &[Arc<Memtable>],
    ranges: &Ranges,
) -> Result<Option<KeyMap>> {
    let mut map = KeyMapBuilder::new();
    let mut found = !ranges.kept.is_empty();
    let mut cursor = merged(memtables);
    survivors(context, &mut cursor, ranges, Below::Anything, |entry| {
        found = true;
        if entry.new_key && entry.key != LARGEST_KEY {
            map.push(entry.key);
        }
        Ok(())
    })?;
    Ok(found.then(|| map.build()))
}

fn merged(memtables: &[Arc<Memtable>]) -> MergeCursor<MemtableCursor> {
    MergeCursor::new(memtables.iter().map(Memtable::cursor).collect())
}
