//! Many look-ups at one moment: source after source, and within a source in the order of the keys, so
//! that no table is visited twice and no block read twice.

use super::counters::ReadCounters;
use super::read::Lookup;
use super::view::View;
use crate::entry::Sequence;
use crate::error::Result;
use crate::memory::Pinned;
use crate::sync::Arc;
use crate::table::{BlockSource, GetTrace};
use crate::version::{LEVELS, Table};

/// The values of `keys` in their order, as of `visible`.
pub(super) fn look_up_all(
    view: &View,
    keys: &[&[u8]],
    visible: Sequence,
    reads: &ReadCounters,
) -> Result<Vec<Option<Pinned>>> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by_key(|&place| keys.get(place));
    let sorted = order.iter().filter_map(|&place| keys.get(place));
    let mut lookups: Vec<Lookup<'_>> = sorted.map(|key| Lookup::new(key, visible)).collect();
    for lookup in &mut lookups {
        lookup.ask_memtables(view);
    }
    let mut trace = GetTrace::default();
    for table in view.levels.level(0) {
        ask_table(table, &mut lookups, &mut trace)?;
    }
    for level in 1..LEVELS {
        ask_level(view.levels.level(level), &mut lookups, &mut trace)?;
    }
    let mut values = vec![None; keys.len()];
    for (&place, lookup) in order.iter().zip(&lookups) {
        reads.count(lookup.memtable_hit, &std::mem::take(&mut trace));
        if let Some(value) = values.get_mut(place) {
            *value = lookup.answer();
        }
    }
    Ok(values)
}

/// Asks one table of level 0 for the keys that it may tell something of.
fn ask_table(table: &Arc<Table>, lookups: &mut [Lookup<'_>], trace: &mut GetTrace) -> Result<()> {
    let mut source = BlockSource::new(true);
    for lookup in lookups {
        if lookup.may_be_changed_by(table) && table.meta.may_hold(lookup.key()) {
            lookup.probe_from(table, &mut source)?;
        }
    }
    trace.add(&source.trace);
    Ok(())
}

/// Asks the disjoint tables of a level for the keys that newer sources say nothing of.
fn ask_level(
    tables: &[Arc<Table>],
    lookups: &mut [Lookup<'_>],
    trace: &mut GetTrace,
) -> Result<()> {
    let mut rest = tables;
    let mut source = BlockSource::new(true);
    for lookup in lookups.iter_mut().filter(|lookup| !lookup.decided()) {
        let passed = rest.partition_point(|table| table.meta.ends_before(lookup.key()));
        if passed > 0 {
            rest = rest.get(passed..).unwrap_or_default();
            trace.add(&std::mem::replace(&mut source, BlockSource::new(true)).trace);
        }
        match rest.first() {
            Some(table) if *table.meta.smallest <= *lookup.key() => {
                lookup.probe_from(table, &mut source)?;
            }
            _ => {}
        }
    }
    trace.add(&source.trace);
    Ok(())
}
