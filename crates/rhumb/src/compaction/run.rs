//! A compaction: tables are merged into the next level.

use rhumb_index::KeyMapBuilder;

use super::builder::write_tables;
use super::context::{Context, Counters, NumberedMap, Outcome};
use super::merge::{Below, ranges};
use super::pick::Job;
use super::source::Source;
use crate::entry::{MergeCursor, Piece};
use crate::error::{Error, Result};
use crate::sync::Arc;
use crate::table::TableReader;
use crate::version::{LevelChange, LevelCursor, Levels, TableMeta};

/// Does a job that was picked from `levels`.
///
/// # Errors
/// If an input cannot be read or an output cannot be written; [`Error::Closed`] if the work was
/// cancelled. What was written is removed if possible.
pub(crate) fn run(context: &Context<'_>, job: &Job, levels: &Levels) -> Result<Outcome> {
    let upper = job.upper.iter().map(|t| (job.level, t.meta.number));
    let lower = job.lower.iter().map(|t| (job.target_level, t.meta.number));
    let removes = upper.chain(lower).collect();
    if job.trivial {
        let moved = job.upper.iter().map(|t| (job.target_level, t.meta.clone()));
        let adds = moved.collect();
        let maps = job.upper.iter().map(|t| known_map(context, &t.meta));
        let maps = maps.collect::<Result<_>>()?;
        return Ok(Outcome {
            levels: LevelChange { adds, removes },
            maps,
        });
    }
    let map = union_of_maps(context, job)?;
    let tables = merge(context, job, levels, map.clone())?;
    Counters::add(&context.counters.bytes_read, job.bytes());
    let maps = if tables.is_empty() {
        Vec::new()
    } else {
        vec![map]
    };
    let adds = tables
        .into_iter()
        .map(|table| (job.target_level, table))
        .collect();
    Ok(Outcome {
        levels: LevelChange { adds, removes },
        maps,
    })
}

fn merge(
    context: &Context<'_>,
    job: &Job,
    levels: &Levels,
    map: NumberedMap,
) -> Result<Vec<TableMeta>> {
    let readers = job.inputs().map(|t| t.reader().map(Arc::clone));
    let readers: Vec<Arc<TableReader>> = readers.collect::<Result<_>>()?;
    let pieces = readers.iter().flat_map(|r| r.range_deletes().pieces());
    let pieces: Vec<Piece<'_>> = pieces.collect();
    let below = Below::level(levels, job.target_level);
    let ranges = ranges(context, &pieces, &below);
    // Blocks that are read once are not worth a place in the cache.
    let mut cursor = MergeCursor::new(cursors(job)?);
    let table_bytes = context.table.table_bytes;
    write_tables(context, &mut cursor, ranges, below, (map, table_bytes))
}

/// Cursors over the inputs, newer ones first: one a table of level 0, one for each other level.
fn cursors(job: &Job) -> Result<Vec<Source>> {
    let mut cursors = Vec::new();
    if job.level == 0 {
        for table in &job.upper {
            cursors.push(Source::Table(Box::new(table.reader()?.cursor(false))));
        }
    } else {
        let upper = LevelCursor::new(job.upper.clone(), false);
        cursors.push(Source::Level(Box::new(upper)));
    }
    let lower = LevelCursor::new(job.lower.clone(), false);
    cursors.push(Source::Level(Box::new(lower)));
    Ok(cursors)
}

/// The map of all keys of the inputs, which is known before the first key is read.
fn union_of_maps(context: &Context<'_>, job: &Job) -> Result<NumberedMap> {
    let mut maps = job
        .inputs()
        .map(|t| known_map(context, &t.meta))
        .collect::<Result<Vec<_>>>()?;
    maps.sort_unstable_by_key(|(number, _)| *number);
    maps.dedup_by_key(|(number, _)| *number);
    if let [map] = maps.as_slice() {
        return Ok(map.clone());
    }
    let mut union = KeyMapBuilder::new();
    for (_, map) in &maps {
        union.absorb(map);
    }
    Ok(context.number_map(union.build()))
}

fn known_map(context: &Context<'_>, table: &TableMeta) -> Result<NumberedMap> {
    let number = table.map_number;
    let map = context.maps.get(&number).ok_or_else(|| {
        let path = context.files.table_path(table.number);
        Error::corruption(
            &path,
            0,
            format!("key map {number} in the manifest"),
            "none",
        )
    })?;
    Ok((number, Arc::clone(map)))
}
