//! A level 0 that is small beside level 1: its runs are merged with each other first.
//!
//! A merge of level 0 writes again what it meets of level 1. Where that is many times as much, as with tables of
//! pointers to values, little is gained by it: newest runs of a size become one instead, until level 0 is worth a
//! merge with level 1.

use super::super::job::{Input, Job};
use crate::options::{self, Compaction};
use crate::sync::Arc;
use crate::version::{Levels, Run};

/// Level 0 is small if it has fewer than one in so many bytes of level 1, or of the bytes that level 1 should have at
/// most.
const SMALL: u64 = 8;
/// The same where tables point to values: reads of these cost more than one more run does.
const SMALL_OF_POINTERS: u64 = 4;
/// Runs are of a size if the larger one has at most so many times the bytes of the smaller.
const ALIKE: u64 = 2;
/// A small level 0 is merged down all the same when it has this many times the runs that start a merge: fewer than
/// slow writers down.
const MOST_RUNS: f64 = 2.75;

/// How full level 0 is.
pub(super) fn score(levels: &Levels, options: &options::Levels) -> f64 {
    let trigger = f64::from(options.level0_tables.max(1));
    let runs = levels.runs(0).len() as f64 / trigger;
    match is_small(levels, options) && options.compaction == Compaction::Leveled {
        true => (newest_alike(levels).len() as f64 / trigger).max(runs / MOST_RUNS),
        false => runs,
    }
}

/// The merge of the newest runs of level 0 into one, if it is small and they are enough.
pub(super) fn unite_newest(levels: &Levels, options: &options::Levels) -> Option<Job> {
    let newest = newest_alike(levels);
    let enough = newest.len() >= options.level0_tables.max(2) as usize;
    let inputs = newest.iter().map(|run| Input::new(0, run, run.tables()));
    (is_small(levels, options) && enough).then(|| Job {
        inputs: inputs.collect(),
        target_level: 0,
        // Everything that is newer stays newer, and everything else in the level is older.
        target_run: newest.first().map(|run| run.number()),
        trivial: false,
    })
}

fn is_small(levels: &Levels, options: &options::Levels) -> bool {
    let level1 = levels.bytes(1).min(options.base_bytes);
    let small = |part| levels.bytes(0).saturating_mul(part) < level1;
    let files = levels.value_files();
    if files.is_empty() {
        return small(SMALL);
    }
    // A merge with level 1 shows which values are garbage, and most of it is not known yet.
    small(SMALL_OF_POINTERS) && levels.hidden_value_bytes() <= files.totals().garbage_bytes
}

/// The newest runs of level 0, as far as they are of a size.
fn newest_alike(levels: &Levels) -> &[Arc<Run>] {
    let runs = levels.runs(0);
    let (mut least, mut most) = (u64::MAX, 0);
    let alike = runs.iter().take_while(|run| {
        (least, most) = (least.min(run.bytes()), most.max(run.bytes()));
        most <= least.saturating_mul(ALIKE)
    });
    let count = alike.count();
    runs.get(..count).unwrap_or_default()
}
