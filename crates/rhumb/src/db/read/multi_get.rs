//! Gets of many keys at one moment. The memtables and tables are asked one after another, each for
//! all keys in key order, so that no table is visited twice and no block is read twice.

use super::lookup::Lookup;
use super::view::View;
use crate::compaction::is_tier;
use crate::db::stats::counters::ReadCounters;
use crate::entry::{Content, Sequence};
use crate::error::Result;
use crate::memory::Pinned;
use crate::table::{BlockSource, GetTrace};
use crate::tune::Chooser;
use crate::version::Run;
use crate::vlog::unread;

/// The values of `keys` in the keyspace with this id, in the same order, as of sequence `visible`.
pub(in crate::db) fn look_up_all(
    view: &View,
    keyspace: u32,
    keys: &[&[u8]],
    visible: Sequence,
    (reads, tuner): (&ReadCounters, Option<&Chooser>),
) -> Result<Vec<Option<Pinned>>> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by_key(|&place| keys.get(place));
    let sorted = order.iter().filter_map(|&place| keys.get(place));
    let mut lookups: Vec<Lookup<'_>> = sorted.map(|key| Lookup::new(key, visible)).collect();
    for lookup in &mut lookups {
        match view.above(visible).is_none_or(|above| lookup.is_in(above)) {
            true => lookup.ask_memtables(view),
            false => lookup.ask_range_deletes(view)?,
        }
    }
    let mut trace = GetTrace::default();
    for (level, run) in view.levels.all_runs() {
        let is_tier = is_tier(&view.levels, run);
        let asks = |lookup: &&mut Lookup<'_>| is_tier || !lookup.sources.above_negative;
        ask_run(level, run, lookups.iter_mut().filter(asks), &mut trace)?;
    }
    if let Some(tuner) = tuner {
        tuner.note_gets(&trace);
    }
    let mut values = vec![None; keys.len()];
    let mut apart = Vec::new();
    for (&place, lookup) in order.iter().zip(&mut lookups) {
        lookup.note_end();
        reads.count(lookup.sources, &std::mem::take(&mut trace));
        match (lookup.take_answer(), values.get_mut(place)) {
            (Some(Content::Here(value)), Some(into)) => *into = Some(value),
            (Some(Content::Apart(pointer)), _) => apart.push((place, lookup.key(), pointer)),
            _ => {}
        }
    }
    let mut read = unread(apart.len());
    let wanted = apart.iter().enumerate();
    let wanted = wanted.map(|(nth, (_, key, pointer))| (nth, *key, *pointer));
    let files = view.levels.value_files();
    files.read_all(keyspace, wanted, true, &mut read);
    for ((place, ..), value) in apart.iter().zip(read) {
        if let Some(into) = values.get_mut(*place) {
            *into = Some(value?);
        }
    }
    Ok(values)
}

/// Asks the tables of a run, in key order, for the keys whose answers they may change.
fn ask_run<'l, 'k: 'l>(
    level: usize,
    run: &Run,
    lookups: impl Iterator<Item = &'l mut Lookup<'k>>,
    trace: &mut GetTrace,
) -> Result<()> {
    let mut source = BlockSource::shared();
    let mut before = None;
    for lookup in lookups {
        let Some(table) = run.table_for(lookup.key()) else {
            continue;
        };
        if !lookup.may_be_changed_by(level, &table) {
            continue;
        }
        if before.replace(table.meta.number) != Some(table.meta.number) {
            source.leave_table();
        }
        lookup.ask_table(table, &mut source, false)?;
        lookup.note_asked(level);
    }
    trace.add(&source.trace);
    Ok(())
}
