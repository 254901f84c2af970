//! Leveled compaction: merges a table with what it overlaps in the next level, the cheapest first.

use super::super::claims::Claims;
use super::super::job::{Hull, Input, Job};
use super::super::place::{deepest_clear, deepest_in_use};
use crate::sync::Arc;
use crate::version::{Levels, Run, Table};

/// The best job for a full level; `None` if the level has to wait.
pub(super) fn pick(levels: &Levels, level: usize, claims: &Claims) -> Option<Job> {
    if level > 0 && levels.runs(level).len() > 1 {
        return unite(levels, level, claims);
    }
    if levels.runs(level + 1).len() > 1 {
        // The next level must become one run first, and whatever waits for this level waits for that.
        return unite(levels, level + 1, claims);
    }
    if level == 0 {
        return pick_level0(levels, claims);
    }
    let run = levels.runs(level).first()?;
    let jobs = idle(run, claims).map(|table| downward(levels, vec![Input::one(level, run, table)]));
    cheapest(jobs, claims)
}

fn idle<'a>(run: &'a Run, claims: &Claims) -> impl Iterator<Item = &'a Arc<Table>> {
    let tables = run.tables().iter();
    tables.filter(move |t| !claims.has(t.meta.number))
}

/// The job with the fewest bytes from the lower run for each byte of its own table.
fn cheapest(jobs: impl Iterator<Item = Job>, claims: &Claims) -> Option<Job> {
    let cost = |job: &Job| {
        let upper = job.inputs.first().into_iter().flat_map(|i| &i.tables);
        let upper: u64 = upper.map(|t| t.meta.file_bytes).sum();
        (job.bytes() - upper) as f64 / upper.max(1) as f64
    };
    jobs.filter(|job| claims.admits(job))
        .map(|job| (cost(&job), job))
        .min_by(|(a, _), (b, _)| f64::total_cmp(a, b))
        .map(|(_, job)| job)
}

/// The job that merges `upper`, tables of a level that overlap none of its others, into the next
/// level, which has at most one run. A single table that overlaps nothing there moves on, to the deepest
/// level in use that it can reach.
pub(super) fn downward(levels: &Levels, upper: Vec<Input>) -> Job {
    let next_level = upper.first().map_or(0, |input| input.place.level) + 1;
    let hull = Hull::of(upper.iter().flat_map(|input| &input.tables));
    let lower = match (levels.runs(next_level).last(), hull) {
        (Some(run), Some(hull)) => Some(Input::new(
            next_level,
            run,
            run.overlapping(hull.from, hull.to),
        )),
        _ => None,
    };
    let lower = lower.filter(|input| !input.tables.is_empty());
    // Several tables of level 0 may hold versions of the same key, so only a single one can move.
    let trivial = lower.is_none() && upper.len() == 1;
    let target_level = match hull {
        Some(hull) if trivial => deepest_clear(levels, next_level, hull, deepest_in_use(levels)),
        _ => next_level,
    };
    Job {
        inputs: upper.into_iter().chain(lower).collect(),
        target_level,
        target_run: Some(levels.oldest_run(target_level)),
        trivial,
    }
}

/// A job for level 0: the oldest table that can move by itself, else the oldest table with its
/// group.
fn pick_level0(levels: &Levels, claims: &Claims) -> Option<Job> {
    let oldest_first = levels.level(0).rev();
    let idle = oldest_first.filter(|t| !claims.has(t.meta.number));
    let jobs = idle.map(|t| group(levels, t));
    let mut jobs = jobs.filter(|job| claims.admits(job));
    let first = jobs.next()?;
    if first.trivial {
        return Some(first);
    }
    Some(jobs.find(|job| job.trivial).unwrap_or(first))
}

/// The job for a table of level 0 and all tables that overlap it, directly or through others, so
/// that no older version stays above a newer one.
pub(super) fn group(levels: &Levels, seed: &Arc<Table>) -> Job {
    let mut hull = Hull::of([seed].into_iter());
    let mut taken = Vec::new();
    while let Some(Hull { from, to }) = hull {
        let meets = |t: &&Arc<Table>| !t.meta.starts_behind(to) && !t.meta.ends_before(from);
        let runs = levels.runs(0).iter();
        let tables = runs.flat_map(|run| {
            let tables = run.tables().iter().filter(meets);
            tables.map(|table| Input::one(0, run, table))
        });
        let wider: Vec<Input> = tables.collect();
        if wider.len() <= taken.len() {
            break;
        }
        taken = wider;
        hull = Hull::of(levels.level(0).filter(meets));
    }
    downward(levels, taken)
}

/// A step towards a single run, where tiered compaction left several: merges a table of the second
/// oldest run into the oldest.
fn unite(levels: &Levels, level: usize, claims: &Claims) -> Option<Job> {
    let [.., newer, oldest] = levels.runs(level) else {
        return None;
    };
    let jobs = idle(newer, claims).map(|table| {
        let lower = oldest.overlapping(&table.meta.smallest, table.meta.end());
        let lower = (!lower.is_empty()).then(|| Input::new(level, oldest, lower));
        let trivial = lower.is_none();
        let upper = Input::one(level, newer, table);
        Job {
            inputs: [upper].into_iter().chain(lower).collect(),
            target_level: level,
            target_run: Some(oldest.number()),
            trivial,
        }
    });
    cheapest(jobs, claims)
}
