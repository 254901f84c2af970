//! Tables that are given their sequence when they are added to a keyspace: how they are written, and where they
//! go.

use rhumb_index::KeyMap;

use super::claims::Claims;
use super::context::{Context, NumberedMap};
use super::job::Hull;
use super::pick::target_bytes;
use super::place::deepest_place;
use super::ranges::TIER;
use crate::error::Result;
use crate::fs::names::FileKind;
use crate::options;
use crate::table::{TableSettings, TableWriter};
use crate::version::{LEVELS, Levels, Place, TableMeta};

/// A table without a place, whose file is durable and whose name is not, with its key map.
#[derive(Debug, Clone)]
pub(crate) struct NewTable {
    /// Its description. The sequences in it are 0 until it is given one.
    pub meta: TableMeta,
    /// Its key map.
    pub map: NumberedMap,
    /// The bytes of its keys and values.
    pub user_bytes: u64,
}

impl NewTable {
    /// A table for the keyspace, with its key map, which gets a number there.
    pub fn with_map(
        context: &Context<'_>,
        mut meta: TableMeta,
        map: KeyMap,
        user_bytes: u64,
    ) -> Self {
        let map = context.number_map(map);
        meta.map_number = map.0;
        NewTable {
            meta,
            map,
            user_bytes,
        }
    }
}

/// Writes a table whose keys have this map: `fill` adds entries of sequence 0, of `user_bytes` together, and ends
/// it.
///
/// # Errors
/// If the work is not wanted any more, the file cannot be created, or those of `fill`; the file is then removed
/// if possible.
pub(crate) fn write_new_table(
    context: &Context<'_>,
    map: KeyMap,
    user_bytes: u64,
    fill: impl FnOnce(TableWriter) -> Result<TableMeta>,
) -> Result<NewTable> {
    (context.go_on)()?;
    let files = context.files;
    let map = context.number_map(map);
    let settings = TableSettings {
        given_sequence: true,
        ..context.table_settings(map.clone())
    };
    let number = files.new_number();
    let writer = TableWriter::create(&files.fs, &files.dir, number, &settings)?;
    let meta = fill(writer).inspect_err(|_| files.delete(FileKind::Table, number))?;
    Ok(NewTable {
        meta,
        map,
        user_bytes,
    })
}

/// The deepest level for new tables of so many bytes: the deepest one with tables or, if they are too large for
/// that, the first whose target they do not exceed. Far below the other tables, they would hardly ever be merged with
/// what replaces their entries.
pub(crate) fn bottom_for(levels: &Levels, shape: &options::Levels, bytes: u64) -> usize {
    if shape.compaction.tier().is_some() {
        return TIER;
    }
    let fits = |level: &usize| {
        let bytes = levels.bytes(*level).saturating_add(bytes);
        bytes as f64 <= target_bytes(shape, *level)
    };
    let first = (1..LEVELS).find(fits).unwrap_or(LEVELS - 1);
    first.max(levels.deepest().unwrap_or(0))
}

/// The places of tables that share no keys and are newer than everything in `levels`: the [deepest](deepest_place)
/// level down to `bottom`. Those that stay in level 0 form one new run there, with the number from `new_run`.
pub(crate) fn newest_places<'a>(
    levels: &Levels,
    claims: &Claims,
    tables: impl IntoIterator<Item = &'a TableMeta>,
    bottom: usize,
    new_run: impl Fn() -> u64,
) -> Vec<Place> {
    let mut run = None;
    let places = tables.into_iter().map(|table| {
        match deepest_place(levels, claims, Hull::of_one(table), bottom) {
            0 => Place {
                level: 0,
                run: *run.get_or_insert_with(&new_run),
            },
            level => Place {
                level,
                run: levels.oldest_run(level),
            },
        }
    });
    places.collect()
}
