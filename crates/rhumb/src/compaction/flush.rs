//! Writing memtables as tables.

use rhumb_index::{KeyMap, KeyMapBuilder};

use super::builder::{Ends, write_tables};
use super::context::{Context, NumberedMap, Outcome};
use super::logged::{LogUse, LoggedFile};
use super::merge::{Below, Ranges, Survivor, ranges, survivors};
use super::parts::{KeyRange, Parts};
use crate::cursor::{ClippedCursor, MergeCursor};
use crate::entry::{LARGEST_KEY, Piece};
use crate::error::Result;
use crate::memtable::{Memtable, MemtableCursor};
use crate::sync::Arc;
use crate::version::{Place, TableMeta};

/// The result of a flush.
#[derive(Debug, Default)]
pub(crate) struct Flushed {
    /// The new tables. Their places are in level 0 until [others](super::place_newest) are found for them.
    pub outcome: Outcome,
    /// The entries that are kept back; `None` if there are none.
    pub held: Option<Arc<Memtable>>,
}

/// Writes `memtables`, newest first: each of the ranges of `parts` that are to be written as one table, or as
/// none if nothing of it survives. The others are copied into a new memtable. All is written as one table if
/// that would take more than `most_held` bytes. Memtables with range deletes must be written whole.
///
/// The keys are read twice: to build the key map of exactly these keys but [`LARGEST_KEY`], and to write
/// them; and once before, where values lie in logs, to find out how much of these stays in use.
///
/// # Errors
/// If a table cannot be written; what was written is removed if possible.
pub(crate) fn flush(
    context: &Context<'_>,
    memtables: &[Arc<Memtable>],
    parts: &Parts,
    most_held: u64,
) -> Result<Flushed> {
    let held = hold_back(context, memtables, &parts.keep)?;
    if held.as_ref().is_some_and(|m| m.bytes() as u64 > most_held) {
        return flush(context, memtables, &Parts::whole(), most_held);
    }
    let kept = keep_logs(context, memtables, parts)?;
    let linked = kept.iter().map(|log| (log.number, 0));
    let mut outcome = Outcome {
        value_files: linked.collect(),
        ..Outcome::default()
    };
    let context = &Context {
        logged: &kept,
        ..*context
    };
    for range in &parts.write {
        if let Err(e) = write(context, memtables, range, &mut outcome) {
            outcome.delete(context.files);
            return Err(e);
        }
    }
    Ok(Flushed { outcome, held })
}

/// The logs in which the values stay that are to be written, since they take most of the log. None, if values are divided
/// among groups: a log holds those of all.
fn keep_logs(
    context: &Context<'_>,
    memtables: &[Arc<Memtable>],
    parts: &Parts,
) -> Result<Vec<LoggedFile>> {
    let table = context.table;
    let leaves = table.separate_values.is_some() && table.groups().is_none();
    if context.logged.is_empty() || !leaves {
        return Ok(Vec::new());
    }
    let mut log_use = LogUse::default();
    let ranges = range_deletes(context, memtables);
    for range in &parts.write {
        let mut cursor = merged(memtables, range);
        let mut count = |entry: &Survivor<'_>| {
            log_use.count(context, entry);
            Ok(())
        };
        survivors(context, &mut cursor, &ranges, Below::Anything, &mut count)?;
    }
    Ok(log_use.link(context))
}

fn range_deletes(context: &Context<'_>, memtables: &[Arc<Memtable>]) -> Ranges {
    let trees: Vec<_> = memtables.iter().filter_map(|m| m.range_deletes()).collect();
    let pieces: Vec<Piece<'_>> = trees.iter().flat_map(|tree| tree.pieces()).collect();
    ranges(context, &pieces, &Below::Anything)
}

/// Writes the entries of a range as one table.
fn write(
    context: &Context<'_>,
    memtables: &[Arc<Memtable>],
    range: &KeyRange,
    outcome: &mut Outcome,
) -> Result<()> {
    let ranges = range_deletes(context, memtables);
    let Some(map) = key_map(context, memtables, range, &ranges)? else {
        return Ok(());
    };
    let map = number(context, map, &mut outcome.maps);
    let mut cursor = merged(memtables, range);
    let layout = (map, Ends::at(u64::MAX));
    let written = write_tables(context, &mut cursor, ranges, Below::Anything, layout)?;
    let place = |table: &TableMeta| Place {
        level: 0,
        run: table.number,
    };
    let adds = written.tables.into_iter().map(|t| (place(&t), t));
    outcome.levels.adds.extend(adds);
    outcome.value_files.extend(written.value_files);
    Ok(())
}

/// A memtable of what survives of some ranges; `None` if nothing does. Like a table it has no versions that no
/// reader can distinguish.
fn hold_back(
    context: &Context<'_>,
    memtables: &[Arc<Memtable>],
    keep: &[KeyRange],
) -> Result<Option<Arc<Memtable>>> {
    let none = ranges(context, &[], &Below::Anything);
    let prefix = memtables.first().map(|m| m.common_prefix());
    let held = Arc::new(Memtable::with_prefix(prefix.unwrap_or_default()));
    for range in keep {
        let mut cursor = merged(memtables, range);
        let mut writer = held.writer();
        let mut insert = |entry: &Survivor<'_>| {
            writer.insert(entry.key, entry.sequence, entry.kind, entry.value)
        };
        survivors(context, &mut cursor, &none, Below::Anything, &mut insert)?;
    }
    held.begin_index(held.bytes() as u64);
    Ok((!held.is_empty()).then_some(held))
}

/// The key map of the surviving keys of a range but [`LARGEST_KEY`]; `None` if nothing survives.
fn key_map(
    context: &Context<'_>,
    memtables: &[Arc<Memtable>],
    range: &KeyRange,
    ranges: &Ranges,
) -> Result<Option<KeyMap>> {
    let mut map = KeyMapBuilder::new();
    let mut found = !ranges.kept.is_empty();
    let mut cursor = merged(memtables, range);
    let mut push = |entry: &Survivor<'_>| {
        found = true;
        if entry.new_key && entry.key != LARGEST_KEY {
            map.push(entry.key);
        }
        Ok(())
    };
    survivors(context, &mut cursor, ranges, Below::Anything, &mut push)?;
    Ok(found.then(|| map.build()))
}

/// The map with its number: that of another table of this flush, or of the keyspace, if these number keys
/// alike.
fn number(context: &Context<'_>, map: KeyMap, made: &mut Vec<NumberedMap>) -> NumberedMap {
    let known = made.iter().find(|(_, known)| known.numbers_like(&map));
    if let Some(known) = known {
        return known.clone();
    }
    let map = context.number_map(map);
    made.push(map.clone());
    map
}

fn merged<'a>(
    memtables: &[Arc<Memtable>],
    range: &'a KeyRange,
) -> ClippedCursor<'a, MergeCursor<MemtableCursor>> {
    let merge = MergeCursor::new(memtables.iter().map(Memtable::cursor).collect());
    ClippedCursor::new(merge, &range.from, range.to.as_deref())
}
