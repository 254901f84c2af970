//! Merges that a user asked for: a range of keys, down to the level of its oldest versions.

use std::ops::Bound;

use super::super::job::{Hull, Input, Job, are_disjoint};
use super::leveled::{downward, group};
use crate::options::Compaction;
use crate::sync::Arc;
use crate::version::{LEVELS, Levels, Place, Table};

/// A job that moves part of `from..to` (an empty `from` stands for no lower bound) from `level`
/// down by one level, or rewrites it in place if no deeper level has tables; `None` if nothing is
/// left to do.
///
/// To compact a range where each level is one run, call this for each level from 0 on until it
/// returns `None`. `before` is the next file number at the start: runs of level 0 that were
/// flushed later are left alone, and so are tables that were already rewritten. If the job cannot
/// run beside others, wait.
///
/// At level 0 the job takes the oldest table in the range with all that overlap it, directly or
/// through others; at deeper levels the first table in the range with what it overlaps below; in a
/// rewrite one table alone. A merge passes [several levels](through) at once if they are small.
pub(crate) fn pick_step(
    levels: &Levels,
    from: &[u8],
    to: Bound<&[u8]>,
    level: usize,
    before: u64,
) -> Option<Job> {
    if is_stacked(levels) {
        return None;
    }
    let deepest = levels.deepest()?;
    let table = |wanted: &dyn Fn(u64, &Arc<Table>) -> bool| {
        // The oldest first at level 0, in key order elsewhere.
        levels.runs(level).iter().rev().find_map(|run| {
            let mut tables = run.overlapping(from, to).iter();
            let table = tables.find(|t| wanted(run.number(), t))?;
            Some((Input::one(level, run, table), table))
        })
    };
    if level == 0 || level < deepest {
        let mut job = match level {
            0 => group(levels, table(&|run, _| run < before)?.1),
            _ => downward(levels, vec![table(&|_, _| true)?.0]),
        };
        // Tables that reach the bottom are rewritten at once.
        let arrives = job.target_level >= deepest;
        job.trivial &= !(arrives && job.tables().any(is_stale));
        return Some(match job.trivial {
            true => job,
            false => through(levels, job, deepest),
        });
    }
    let (input, _) = table(&|_, t| t.meta.number < before && is_stale(t))?;
    Some(Job {
        target_run: Some(input.place.run),
        inputs: vec![input],
        target_level: level,
        trivial: false,
    })
}

/// A merge that goes on to deeper levels, down to `deepest`, as long as it takes from a level no more than from
/// all above: what it would write at each level on the way is written once. So it needs at most twice the room on
/// the disk for each level that it passes, and never takes a large level whole for the sake of a small one.
fn through(levels: &Levels, mut job: Job, deepest: usize) -> Job {
    for level in job.target_level + 1..=deepest {
        let (Some(hull), runs) = (job.hull(), levels.runs(level)) else {
            break;
        };
        let lower = runs.last().map(|run| {
            let tables = run.overlapping(hull.from, hull.to);
            Input::new(level, run, tables)
        });
        let lower = lower.filter(|input| !input.tables.is_empty());
        if lower.as_ref().map_or(0, Input::bytes) > job.bytes() {
            break;
        }
        job.inputs.extend(lower);
        job.target_level = level;
        job.target_run = Some(levels.oldest_run(level));
    }
    job
}

/// Whether a table may hold something that is not needed at the bottom.
pub(super) fn is_stale(table: &Arc<Table>) -> bool {
    let m = &table.meta;
    m.deletes > 0 || m.range_deletes > 0 || m.largest_sequence > 0
}

/// Whether a level below level 0 has several runs.
fn is_stacked(levels: &Levels) -> bool {
    (1..LEVELS).any(|level| levels.runs(level).len() > 1)
}

/// The job that merges everything in a range, and everything that overlaps it directly or through
/// others, into the oldest run of the last level with tables. `None` if everything is there and
/// nothing can be dropped, or if leveled compaction can do it in [steps](pick_step). Runs of level
/// 0 from file number `before` on are left alone. If the job cannot run beside others, wait.
pub(crate) fn pick_whole(
    levels: &Levels,
    compaction: Compaction,
    from: &[u8],
    to: Bound<&[u8]>,
    before: u64,
) -> Option<Job> {
    if compaction == Compaction::Leveled && !is_stacked(levels) {
        return None;
    }
    let level = levels.deepest()?.max(1);
    let run = levels.oldest_run(level);
    let target = Place { level, run };
    let older = |level: usize, run: u64| level > 0 || run < before;
    let inputs = closure(levels, (from, to), older);
    let due = inputs.iter().any(|input| {
        let mut tables = input.tables.iter();
        input.place != target || tables.any(is_stale)
    });
    let mut job = Job {
        inputs,
        target_level: level,
        target_run: Some(run),
        trivial: false,
    };
    job.trivial = are_disjoint(job.tables()) && !job.tables().any(is_stale);
    due.then_some(job)
}

/// The tables that may hold keys of a range, and all that overlap these directly or through others:
/// one list for each run that is `wanted`, newer runs first.
pub(super) fn closure(
    levels: &Levels,
    (from, to): (&[u8], Bound<&[u8]>),
    wanted: impl Fn(usize, u64) -> bool,
) -> Vec<Input> {
    let runs = || levels.all_runs().filter(|(l, r)| wanted(*l, r.number()));
    let mut hull: Option<Hull<'_>> = None;
    let mut taken = 0;
    loop {
        let (from, to) = hull.map_or((from, to), |hull| (hull.from, hull.to));
        let found: Vec<Input> = runs()
            .map(|(level, run)| Input::new(level, run, run.overlapping(from, to)))
            .filter(|input| !input.tables.is_empty())
            .collect();
        let count: usize = found.iter().map(|input| input.tables.len()).sum();
        if count <= taken {
            return found;
        }
        taken = count;
        let tables = runs().flat_map(|(_, run)| run.overlapping(from, to));
        hull = Hull::of(tables);
    }
}
