//! Executing a compaction, which merges tables into one run.

use rhumb_index::{IndexError, IndexSpec, KeyMapBuilder};

use super::builder::{Ends, Written, write_tables};
use super::context::{Context, Counters, NumberedMap, Outcome};
use super::job::{Job, older_tables};
use super::merge::{Below, ranges};
use super::ranges::{ABOVE, Ranges, TIER};
use crate::cursor::{LevelCursor, MergeCursor, Source};
use crate::entry::Piece;
use crate::error::{Error, Result};
use crate::options::{Compression, Partition, TableSpec, TierForm, TierSpec};
use crate::sync::Arc;
use crate::table::TableReader;
use crate::version::{LevelChange, Levels, Place, Table, TableMeta};

/// A page of the published key list holds as many keys of 8 bytes as fit into 4 KiB, and its index counts such pages.
const PAGE_ENTRIES: u32 = 512;
const PAGE_INDEX: &str = "greedy-plr-plus";

/// Executes a job that was picked from `levels`.
///
/// # Errors
/// If an input cannot be read or an output cannot be written; what [`Context::go_on`] returns. What was
/// written is removed as far as possible.
pub(crate) fn execute(context: &Context<'_>, job: &Job, levels: &Levels) -> Result<Outcome> {
    let inputs = job.inputs.iter();
    let removes = inputs.flat_map(|input| {
        let tables = input.tables.iter();
        tables.map(|t| (input.place.level, t.meta.number))
    });
    let removes = removes.collect();
    let place = Place {
        level: job.target_level,
        // Later runs get larger numbers.
        run: job.target_run.unwrap_or_else(|| context.files.new_number()),
    };
    let (written, maps) = match job.trivial {
        true => moved(context, job)?,
        false => merge(context, job, levels)?,
    };
    let tables = written.tables.into_iter();
    let adds = tables.map(|table| (place, table)).collect();
    Ok(Outcome {
        levels: LevelChange { adds, removes },
        maps,
        value_files: written.value_files,
    })
}

/// The tables unchanged, and their maps.
fn moved(context: &Context<'_>, job: &Job) -> Result<(Written, Vec<NumberedMap>)> {
    let written = Written {
        tables: job.tables().map(|t| t.meta.clone()).collect(),
        value_files: Vec::new(),
    };
    let mut maps = job
        .tables()
        .map(|t| known_map(context, &t.meta))
        .collect::<Result<Vec<_>>>()?;
    sort_maps(&mut maps);
    Ok((written, maps))
}

/// New tables with what survives, and their map.
fn merge(context: &Context<'_>, job: &Job, levels: &Levels) -> Result<(Written, Vec<NumberedMap>)> {
    let map = union_of_maps(context, job)?;
    let readers = job.tables().map(|t| t.reader().map(Arc::clone));
    let readers: Vec<Arc<TableReader>> = readers.collect::<Result<_>>()?;
    let pieces = readers.iter().flat_map(|r| r.range_deletes().pieces());
    let pieces: Vec<Piece<'_>> = pieces.collect();
    let older = older_tables(levels, job);
    let below = Below::runs(older.clone());
    let counts = counts_hidden(levels, context.table, context.tier);
    let (table, index) = layout_of(context, job)?;
    let context = &Context {
        keeps_blocks: are_in_memory(job.tables()),
        older: if counts { &older } else { &[] },
        table: &table,
        index: &index,
        ..*context
    };
    let ranges = ranges(context, &pieces, &below);
    let mut cursor = MergeCursor::new(cursors(job)?);
    let cuts: Vec<&[u8]> = match context.tier {
        Some(tier) if (ABOVE..TIER).contains(&job.target_level) => {
            Ranges::of(levels, tier).cuts().collect()
        }
        _ => Vec::new(),
    };
    let layout = (map.clone(), ends(context, job, &cuts));
    let written = write_tables(context, &mut cursor, ranges, below, layout)?;
    for source in cursor.children() {
        Counters::add_time(&context.counters.read_nanos, source.trace().read_time);
    }
    let maps = match written.tables.is_empty() {
        true => Vec::new(),
        false => vec![map],
    };
    Ok((written, maps))
}

/// Whether most blocks of some tables are in memory, since they are read: then what comes beside them or is made of them is
/// wanted there too.
pub(crate) fn are_in_memory<'a>(tables: impl Iterator<Item = &'a Arc<Table>>) -> bool {
    let (mut held, mut all) = (0, 0);
    for reader in tables.filter_map(|table| table.open_reader()) {
        held += reader.blocks_held();
        all += reader.blocks();
    }
    held > all / 2
}

/// The layout and index of the tables that a job writes. Where values stand beside their keys in the tier, none leaves
/// them again.
fn layout_of(context: &Context<'_>, job: &Job) -> Result<(TableSpec, IndexSpec)> {
    let (mut table, mut index) = (context.table.clone(), context.index.clone());
    match job.converts(context.tier) {
        Some(TierForm::Inline) => table.separate_values = None,
        Some(TierForm::Published) => {
            table.partition = Partition::Entries(PAGE_ENTRIES);
            table.compression = Compression::None;
            index = PAGE_INDEX
                .parse()
                .map_err(|error: IndexError| Error::InvalidArgument(error.to_string()))?;
        }
        Some(TierForm::Keys) | None => {}
    }
    Ok((table, index))
}

/// Whether tables say how many older values their entries hide.
pub(crate) fn counts_hidden(levels: &Levels, table: &TableSpec, tier: Option<TierSpec>) -> bool {
    let come_back = tier.is_some_and(TierSpec::is_inline) && table.separate_values.is_some();
    come_back || !levels.value_files().is_empty()
}

/// Where the tables of a job end, which are cut before some keys.
fn ends<'a>(context: &Context<'_>, job: &Job, cuts: &'a [&'a [u8]]) -> Ends<'a> {
    let ends = match context.tier {
        // A table of the tier is a range.
        Some(tier) if job.target_level == TIER => Ends {
            values_a_byte: 1,
            ..Ends::at(tier.most_range_bytes())
        },
        _ => Ends::at(context.table.table_bytes),
    };
    let table_bytes = match job.is_rewrite() {
        // It would otherwise be cut into one of this size and a small rest.
        true => ends.table_bytes.saturating_mul(2),
        false => ends.table_bytes,
    };
    Ends {
        table_bytes,
        cuts,
        ..ends
    }
}

/// Cursors over the inputs, newer ones first. Their blocks are read once, so they are not cached.
fn cursors(job: &Job) -> Result<Vec<Source>> {
    let each = job
        .inputs
        .iter()
        .map(|input| match input.tables.as_slice() {
            [table] => Ok(Source::Table(Box::new(table.reader()?.cursor(false)))),
            tables => {
                let cursor = LevelCursor::new(tables.to_vec(), false);
                Ok(Source::Level(cursor))
            }
        });
    each.collect()
}

/// A map of all keys of the inputs, built from their maps before any key is read.
fn union_of_maps(context: &Context<'_>, job: &Job) -> Result<NumberedMap> {
    let mut maps = job
        .tables()
        .map(|t| known_map(context, &t.meta))
        .collect::<Result<Vec<_>>>()?;
    sort_maps(&mut maps);
    if let [map] = maps.as_slice() {
        return Ok(map.clone());
    }
    let mut union = KeyMapBuilder::new();
    for (_, map) in &maps {
        union.absorb(map);
    }
    Ok(context.number_map(union.build()))
}

fn sort_maps(maps: &mut Vec<NumberedMap>) {
    maps.sort_unstable_by_key(|(number, _)| *number);
    maps.dedup_by_key(|(number, _)| *number);
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
