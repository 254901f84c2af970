//! Where a table goes that is not merged with others: one that is newer than all others, or one that only
//! moves.

use super::claims::Claims;
use super::job::Hull;
use crate::version::{Levels, Place, TableMeta};

/// The place of a table that a flush wrote: the [deepest](deepest_place) level in use, or level 1 if only
/// level 0 is. Where something in level 0 overlaps it, or nothing is there at all, that is a run of its own in
/// level 0.
pub(crate) fn place_newest(levels: &Levels, claims: &Claims, table: &TableMeta) -> Place {
    let bottom = deepest_in_use(levels);
    match deepest_place(levels, claims, Hull::of_one(table), bottom) {
        // Memtables are flushed oldest first, so file numbers are in order of age.
        0 => Place {
            level: 0,
            run: table.number,
        },
        level => Place {
            level,
            run: levels.oldest_run(level),
        },
    }
}

/// The deepest level down to `bottom` for a table that is newer than all others: where nothing overlaps its
/// range of keys, there or above, and where no running merge writes keys of the range; 0 if there is none.
///
/// The place stays right until the table is installed if it is [claimed](Claims::take_place) before
/// `claims` change, since every other table of these keys is in a deeper level, and only goes deeper.
/// Takes a time that is logarithmic in the tables of each run.
pub(crate) fn deepest_place(
    levels: &Levels,
    claims: &Claims,
    hull: Hull<'_>,
    bottom: usize,
) -> usize {
    if !is_clear(levels, 0, hull) {
        return 0;
    }
    let clear = deepest_clear(levels, 0, hull, bottom);
    let mut deeper = (1..=clear).rev();
    let admitted = deeper.find(|level| claims.admits_at(*level, hull));
    admitted.unwrap_or(0)
}

/// The deepest level down to `bottom` that a table of these keys can go to from `level`, passing over no table
/// that overlaps it; `level` itself if there is none.
pub(super) fn deepest_clear(levels: &Levels, level: usize, hull: Hull<'_>, bottom: usize) -> usize {
    let clear = (level + 1..=bottom).take_while(|level| is_clear(levels, *level, hull));
    clear.last().unwrap_or(level)
}

/// The deepest level with tables, but level 1 if that is level 0: tables that overlap nothing would add up there
/// until what overlaps all of them is merged with all. 0 without any tables.
pub(super) fn deepest_in_use(levels: &Levels) -> usize {
    levels.deepest().map_or(0, |deepest| deepest.max(1))
}

/// Whether no table of a level may hold keys of a range.
fn is_clear(levels: &Levels, level: usize, hull: Hull<'_>) -> bool {
    let mut runs = levels.runs(level).iter();
    runs.all(|run| run.overlapping(hull.from, hull.to).is_empty())
}
