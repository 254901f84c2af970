//! The learned tier: one run at the bottom, each of whose tables is a range of keys, and above it runs that are cut
//! where ranges begin.
//!
//! Runs of level 0 are stacked in level 1. From there on a range is merged for itself: with what stands above it, which
//! is a conversion, or that alone, while it is small beside the range. So nothing waits for the whole tier.

use std::ops::Bound;

use super::super::claims::Claims;
use super::super::job::{Hull, Input, Job, are_disjoint};
use super::super::ranges::{ABOVE, Ranges, TIER};
use super::above::{Above, groups, inputs, tables_above, widened};
use super::draining::level0_may_wait;
use super::range::is_stale;
use crate::entry::is_behind;
use crate::options::{self, TierSpec};
use crate::sync::Arc;
use crate::version::{BASE_RUN, Levels, Run, Table};

/// A table above the tier that reaches more ranges is cut before any of them is converted. Fewer are converted together.
const MOST_RANGES: usize = 3;

/// Conversions wait for level 0 until so many times what may stand above the tier does.
const OVERDUE: f64 = 2.0;

/// How full a level is.
pub(super) fn score(
    levels: &Levels,
    options: &options::Levels,
    tier: TierSpec,
    level: usize,
    claims: &Claims,
) -> f64 {
    match level {
        // The next runs are stacked when these are.
        0 if levels.level(0).any(|table| claims.has(table.meta.number)) => 0.0,
        0 => levels.runs(0).len() as f64 / f64::from(options.level0_tables.max(1)),
        ABOVE => {
            let above = groups(levels, tier).into_iter();
            let scores = above.map(|above| above.score(options, tier));
            let score = scores.fold(0.0, f64::max);
            match deepest_above(levels).is_some() || cuts(levels, tier).next().is_some() {
                true => score.max(1.0),
                false => score,
            }
        }
        _ => 0.0,
    }
}

/// Whether a conversion goes before a full level 0, which makes way for new runs and takes less time.
pub(super) fn goes_before_level0(
    levels: &Levels,
    options: &options::Levels,
    tier: TierSpec,
    score: f64,
    claims: &Claims,
) -> bool {
    let is_overdue = score >= OVERDUE && level0_may_wait(levels, options);
    let begins = || pick(levels, options, tier, ABOVE, claims).filter(|job| claims.admits(job));
    is_overdue && begins().is_some()
}

/// The most runs that stand above a range.
pub(crate) fn most_runs_above(levels: &Levels, tier: TierSpec) -> usize {
    let runs = groups(levels, tier).into_iter().map(|above| above.runs);
    runs.max().unwrap_or(0)
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
        return stack(levels, tier, u64::MAX);
    }
    if let Some((level, run)) = deepest_above(levels) {
        return Some(Job {
            inputs: vec![Input::new(level, run, run.tables())],
            target_level: TIER,
            target_run: Some(BASE_RUN),
            trivial: true,
        });
    }
    if let Some(cut) = cuts(levels, tier).find(|job| claims.admits(job)) {
        return Some(cut);
    }
    let groups = groups(levels, tier);
    let mut above: Vec<_> = groups.iter().enumerate().collect();
    above.retain(|(_, above)| above.runs > 0);
    let score = |above: &Above<'_>| above.score(options, tier);
    let is_due = above.iter().any(|(_, above)| score(above) >= 1.0);
    above.retain(|(_, above)| !is_due || score(above) >= 1.0);
    let urgency = |above: &Above<'_>| match is_due {
        true => score(above),
        // Something should be shown to be garbage.
        false => above.shows(),
    };
    above.sort_by(|(_, a), (_, b)| f64::total_cmp(&urgency(b), &urgency(a)));
    let mut jobs = above.into_iter().map(|(at, above)| {
        let is_united = is_due && !above.is_converted(options, tier);
        let united = is_united.then(|| unite(levels, above.hull));
        united.flatten().unwrap_or_else(|| {
            let widened = widened(&groups, at, tier).map(|hull| Job {
                trivial: false,
                ..conversion(levels, hull)
            });
            widened.unwrap_or_else(|| conversion(levels, above.hull))
        })
    });
    jobs.find(|job| claims.admits(job))
}

/// All runs of level 0 from before file number `before` become one of level 1, which is cut where ranges begin; `None` if
/// there are none.
fn stack(levels: &Levels, tier: TierSpec, before: u64) -> Option<Job> {
    let runs = runs_before(levels, before);
    let mut job = Job {
        inputs: runs.map(|run| Input::new(0, run, run.tables())).collect(),
        target_level: ABOVE,
        target_run: None,
        trivial: false,
    };
    let ranges = Ranges::of(levels, tier);
    let is_cut = |table: &Arc<Table>| {
        let (first, last) = ranges.across(Hull::of_one(&table.meta));
        first < last
    };
    job.trivial = !job.tables().any(is_cut) && are_disjoint(job.tables());
    (!job.inputs.is_empty()).then_some(job)
}

fn runs_before(levels: &Levels, before: u64) -> impl Iterator<Item = &Arc<Run>> {
    let runs = levels.runs(0).iter();
    runs.filter(move |run| run.number() < before)
}

/// The oldest run of the deepest level, where another shape left it and there is no tier yet: it becomes the tier.
fn deepest_above(levels: &Levels) -> Option<(usize, &Run)> {
    let deepest = levels.deepest().filter(|d| (ABOVE + 1..TIER).contains(d))?;
    Some((deepest, levels.runs(deepest).last()?))
}

/// The jobs that cut tables which reach many ranges: another shape left them, or they came from elsewhere. Otherwise a
/// conversion of one range would take all of these with it.
fn cuts(levels: &Levels, tier: TierSpec) -> impl Iterator<Item = Job> {
    let ranges = Ranges::of(levels, tier);
    let is_wide = move |table: &Table| {
        let (first, last) = ranges.across(Hull::of_one(&table.meta));
        last - first >= MOST_RANGES
    };
    // Those of the tier itself would be ends of ranges.
    let above = tables_above(levels).filter(|(level, ..)| *level < TIER);
    let wide = above.filter(move |(_, _, table)| is_wide(table));
    wide.map(|(level, run, table)| Job {
        inputs: vec![Input::one(level, run, table)],
        target_level: level,
        target_run: Some(run.number()),
        trivial: false,
    })
}

/// The conversions of all ranges.
pub(super) fn conversions(levels: &Levels, tier: TierSpec) -> impl Iterator<Item = Job> {
    let groups = groups(levels, tier).into_iter();
    groups.map(|above| conversion(levels, above.hull))
}

/// The job that converts some ranges: merges their tables with all that stands above them.
fn conversion(levels: &Levels, hull: Hull<'_>) -> Job {
    let mut job = Job {
        inputs: inputs(levels, hull),
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
/// where conversions take it, or that cuts a table which would make them large; `None` if there is nothing. If the job
/// cannot run beside others, wait.
pub(crate) fn pick_stack(
    levels: &Levels,
    tier: TierSpec,
    (from, to): (&[u8], Bound<&[u8]>),
    before: u64,
) -> Option<Job> {
    let mut runs = runs_before(levels, before);
    match runs.any(|run| !run.overlapping(from, to).is_empty()) {
        true => stack(levels, tier, before),
        false => cuts(levels, tier).next(),
    }
}

/// The conversion of the first range with keys of `from..to` that has something above it, that holds what is not needed at
/// the bottom, or that points to values which it [moves](TierSpec::frees_hidden); `None` if there is none. If the job cannot
/// run beside others, wait.
pub(crate) fn pick_conversion(
    levels: &Levels,
    tier: TierSpec,
    (from, to): (&[u8], Bound<&[u8]>),
) -> Option<Job> {
    let is_asked = |hull: &Hull<'_>| !is_behind(from, hull.to) && !is_behind(hull.from, to);
    let is_written = |job: &Job| {
        let apart = tier.frees_hidden() && job.tables().any(|t| !t.meta.values.is_empty());
        apart || job.tables().any(is_stale)
    };
    let asked = groups(levels, tier).into_iter().map(|above| above.hull);
    let due = |job: &Job| {
        let reached = job.tables().any(|t| !t.meta.ends_before(from));
        let above = job.inputs.iter().any(|input| input.place.level < TIER);
        reached && (above || job.inputs.len() > 1 || is_written(job))
    };
    let mut jobs = asked.filter(is_asked).map(|hull| conversion(levels, hull));
    let mut job = jobs.find(due)?;
    job.trivial &= !is_written(&job);
    Some(job)
}

/// The merge of all runs of level 1 that stand above some ranges; `None` if there are not several.
fn unite(levels: &Levels, hull: Hull<'_>) -> Option<Job> {
    let mut inputs = inputs(levels, hull);
    inputs.retain(|input| input.place.level == ABOVE);
    // What is newer in the level has none of these keys.
    let newest = inputs.first().map(|input| input.place.run)?;
    (inputs.len() > 1).then_some(Job {
        inputs,
        target_level: ABOVE,
        target_run: Some(newest),
        trivial: false,
    })
}
