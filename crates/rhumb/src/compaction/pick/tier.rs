//! The learned tier: one run at the bottom, each of whose tables is a range of keys, and above it runs that are cut
//! where ranges begin.
//!
//! Runs of level 0 are stacked in level 1. From there on a range is merged for itself: with what stands above it, which
//! is a conversion, or that alone, while it is small beside the range. So nothing waits for the whole tier.

use std::ops::Bound;

use super::super::claims::Claims;
use super::super::job::{Hull, Input, Job, are_disjoint};
use super::super::ranges::{TIER, cuts, ranges};
use super::range::{closure, is_stale};
use crate::entry::is_behind;
use crate::options::{self, TierSpec};
use crate::sync::Arc;
use crate::version::{BASE_RUN, Levels, Run, Table};

/// The level whose score tells how much stands above the tier.
pub(super) const ABOVE: usize = 1;

/// A range, and what stands above it.
struct Above<'a> {
    hull: Hull<'a>,
    runs: usize,
    bytes: u64,
    hides: u64,
    /// The bytes of the tables of the range.
    tier_bytes: u64,
}

impl<'a> Above<'a> {
    fn of(levels: &Levels, hull: Hull<'a>) -> Self {
        let mut above = Above {
            hull,
            runs: 0,
            bytes: 0,
            hides: 0,
            tier_bytes: 0,
        };
        let tier = levels.runs(TIER).last().map(|run| run.number());
        for (level, run) in levels.all_runs().filter(|(level, _)| *level >= ABOVE) {
            let tables = run.overlapping(hull.from, hull.to);
            let bytes: u64 = tables.iter().map(|t| t.meta.file_bytes).sum();
            if level == TIER && Some(run.number()) == tier {
                above.tier_bytes += bytes;
            } else if !tables.is_empty() {
                above.runs += 1;
                above.bytes += bytes;
                above.hides += tables.iter().map(|t| t.meta.hides).sum::<u64>();
            }
        }
        above
    }

    /// Whether the range is to be written together with what stands above it.
    fn is_converted(&self, options: &options::Levels) -> bool {
        self.bytes > 0 && self.share(options) >= 1.0
    }

    /// What stands above as a share of what may.
    fn share(&self, options: &options::Levels) -> f64 {
        let ratio = f64::from(options.size_ratio.max(2));
        self.bytes as f64 * ratio / self.tier_bytes.max(1) as f64
    }

    /// How urgent it is to merge what stands above: at least 1 where it is due.
    fn score(&self, options: &options::Levels, tier: TierSpec) -> f64 {
        let runs = self.runs as f64 / f64::from(tier.runs.max(1));
        runs.max(self.share(options))
    }

    /// How much of what lies apart a conversion shows to be garbage for each byte that it writes.
    fn shows(&self) -> f64 {
        self.hides as f64 / (self.bytes + self.tier_bytes).max(1) as f64
    }
}

/// How full a level is.
pub(super) fn score(
    levels: &Levels,
    options: &options::Levels,
    tier: TierSpec,
    level: usize,
) -> f64 {
    match level {
        0 => levels.runs(0).len() as f64 / f64::from(options.level0_tables.max(1)),
        ABOVE if deepest_above(levels).is_some() => 1.0,
        ABOVE => {
            let above = ranges(levels).map(|hull| Above::of(levels, hull));
            let scores = above.map(|above| above.score(options, tier));
            scores.fold(0.0, f64::max)
        }
        _ => 0.0,
    }
}

/// The best job for a full level that can run beside those in `claims`.
pub(super) fn pick(
    levels: &Levels,
    options: &options::Levels,
    tier: TierSpec,
    level: usize,
    claims: &Claims,
) -> Option<Job> {
    if level == 0 {
        return stack(levels);
    }
    if let Some((level, run)) = deepest_above(levels) {
        return Some(Job {
            inputs: vec![Input::new(level, run, run.tables())],
            target_level: TIER,
            target_run: Some(BASE_RUN),
            trivial: true,
        });
    }
    let mut above: Vec<_> = ranges(levels)
        .map(|hull| Above::of(levels, hull))
        .filter(|above| above.runs > 0)
        .collect();
    let is_due = |above: &Above<'_>| above.score(options, tier) >= 1.0;
    if above.iter().any(is_due) {
        above.retain(is_due);
        above.sort_by(|a, b| f64::total_cmp(&b.score(options, tier), &a.score(options, tier)));
    } else {
        // Something should be shown to be garbage.
        above.sort_by(|a, b| f64::total_cmp(&b.shows(), &a.shows()));
        let jobs = above.iter().map(|above| conversion(levels, above.hull));
        return jobs.into_iter().find(|job| claims.admits(job));
    }
    let jobs = above.iter().map(|above| {
        let united = match above.is_converted(options) {
            true => None,
            false => unite(levels, above.hull),
        };
        united.unwrap_or_else(|| conversion(levels, above.hull))
    });
    jobs.into_iter().find(|job| claims.admits(job))
}

/// All runs of level 0 become one of level 1.
fn stack(levels: &Levels) -> Option<Job> {
    let runs = levels.runs(0).iter();
    let inputs: Vec<Input> = runs.map(|run| Input::new(0, run, run.tables())).collect();
    (!inputs.is_empty()).then(|| stack_of(levels, inputs))
}

/// Some runs of level 0 become one of level 1, which is cut where ranges begin.
fn stack_of(levels: &Levels, inputs: Vec<Input>) -> Job {
    let mut job = Job {
        inputs,
        target_level: ABOVE,
        target_run: None,
        trivial: false,
    };
    let is_cut =
        |hull: Hull<'_>| cuts(levels).any(|cut| hull.from < cut && !is_behind(cut, hull.to));
    let is_cut = job.tables().any(|t| is_cut(Hull::of_one(&t.meta)));
    job.trivial = !is_cut && are_disjoint(job.tables());
    job
}

/// The oldest run of the deepest level, where another shape left it and there is no tier yet: it becomes the tier.
fn deepest_above(levels: &Levels) -> Option<(usize, &Run)> {
    let deepest = levels.deepest().filter(|d| (ABOVE + 1..TIER).contains(d))?;
    Some((deepest, levels.runs(deepest).last()?))
}

/// The conversions of all ranges.
pub(super) fn conversions(levels: &Levels) -> impl Iterator<Item = Job> {
    ranges(levels).map(|hull| conversion(levels, hull))
}

/// The job that converts a range: merges its tables with all that stands above it. With it go all tables that overlap
/// one of these, directly or through others.
pub(super) fn conversion(levels: &Levels, hull: Hull<'_>) -> Job {
    let inputs = closure(levels, (hull.from, hull.to), |level, _| level >= ABOVE);
    let mut job = Job {
        inputs,
        target_level: TIER,
        target_run: Some(levels.oldest_run(TIER)),
        trivial: false,
    };
    let is_delete = |t: &Arc<Table>| t.meta.deletes > 0 || t.meta.range_deletes > 0;
    let deletes = job.tables().any(is_delete);
    let stays = job.inputs.iter().all(|input| input.place.level == TIER);
    job.trivial = !deletes && !stays && are_disjoint(job.tables());
    job
}

/// The job that brings what level 0 holds of a range of keys, and with it all its runs from before file number `before`,
/// where conversions take it; `None` if there is nothing. If the job cannot run beside others, wait.
pub(crate) fn pick_stack(
    levels: &Levels,
    (from, to): (&[u8], Bound<&[u8]>),
    before: u64,
) -> Option<Job> {
    let runs = || levels.runs(0).iter().filter(|run| run.number() < before);
    if runs().all(|run| run.overlapping(from, to).is_empty()) {
        return None;
    }
    let inputs = runs().map(|run| Input::new(0, run, run.tables()));
    Some(stack_of(levels, inputs.collect()))
}

/// The conversion of the first range with keys of `from..to` that has something above it, or that holds what is not
/// needed at the bottom; `None` if there is none. If the job cannot run beside others, wait.
pub(crate) fn pick_conversion(levels: &Levels, (from, to): (&[u8], Bound<&[u8]>)) -> Option<Job> {
    let asked =
        ranges(levels).filter(|hull| !is_behind(from, hull.to) && !is_behind(hull.from, to));
    let due = |job: &Job| {
        let reached = job.tables().any(|t| !t.meta.ends_before(from));
        let above = job.inputs.iter().any(|input| input.place.level < TIER);
        reached && (above || job.inputs.len() > 1 || job.tables().any(is_stale))
    };
    let mut job = asked.map(|hull| conversion(levels, hull)).find(due)?;
    let is_stale = job.tables().any(is_stale);
    job.trivial &= !is_stale;
    Some(job)
}

/// The merge of all runs of level 1 that stand above a range; `None` if there are not several.
fn unite(levels: &Levels, hull: Hull<'_>) -> Option<Job> {
    let inputs = closure(levels, (hull.from, hull.to), |level, _| level == ABOVE);
    // What is newer in the level has none of these keys.
    let newest = inputs.first().map(|input| input.place.run)?;
    (inputs.len() > 1).then_some(Job {
        inputs,
        target_level: ABOVE,
        target_run: Some(newest),
        trivial: false,
    })
}
