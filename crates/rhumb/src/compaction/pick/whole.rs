//! Full-level merges and tiered compaction, which merge whole runs.

use super::super::job::{Input, Job, are_disjoint};
use crate::version::{BASE_RUN, LEVELS, Levels};

fn all_of(levels: &Levels, level: usize) -> impl Iterator<Item = Input> {
    let runs = levels.runs(level).iter();
    runs.map(move |run| Input::new(level, run, run.tables()))
}

/// The classic merge of an LSM-tree, which the EDBT study measures: a whole level with the whole
/// next level.
pub(super) fn merge_down(levels: &Levels, level: usize) -> Option<Job> {
    // Several runs below level 0 come from another shape: they are merged into one in place.
    let target_level = match level > 0 && levels.runs(level).len() > 1 {
        true => level,
        false => level + 1,
    };
    let mut inputs: Vec<Input> = all_of(levels, level).collect();
    if target_level > level {
        inputs.extend(all_of(levels, target_level));
    }
    let stays = target_level == level || levels.runs(target_level).is_empty();
    job(inputs, target_level, Some(BASE_RUN), stays)
}

/// All runs of a level become one new run of the next level; those of the last level, one of their
/// own level. The job waits for merges that use some of them: newer runs must not overtake older
/// ones.
pub(super) fn stack(levels: &Levels, level: usize) -> Option<Job> {
    let target_level = (level + 1).min(LEVELS - 1);
    job(all_of(levels, level).collect(), target_level, None, true)
}

/// The job that merges `inputs`, or only moves them if it `may_move` them and they do not overlap;
/// `None` without inputs.
fn job(
    inputs: Vec<Input>,
    target_level: usize,
    target_run: Option<u64>,
    may_move: bool,
) -> Option<Job> {
    let mut job = Job {
        inputs,
        target_level,
        target_run,
        trivial: false,
    };
    job.trivial = may_move && are_disjoint(job.tables());
    job.tables().next()?;
    Some(job)
}
