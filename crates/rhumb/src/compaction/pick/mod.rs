//! Choosing the tables to merge next.
//!
//! A level's [score](scores) tells how full it is; with a score of at least 1 it should be merged, and leveled
//! compaction [drains](Draining) it further. How depends on the [shape](crate::options::Compaction) of the store's options. The levels may
//! have another shape, since a store can be opened with any: each picker accepts them as they are,
//! and its jobs bring them into its own shape step by step.
//!
//! Apart from all levels, tables are rewritten to [empty value files](Victims) that hold much garbage.

mod above;
mod collect;
mod draining;
mod emptying;
mod groups;
mod leveled;
mod range;
mod small;
mod tier;
mod whole;

use super::claims::Claims;
use super::job::Job;
use super::ranges::ABOVE;
use crate::options::{self, Compaction};
use crate::version::{LEVELS, Levels};

use collect::hiding;
pub(crate) use collect::{Room, Victims};
pub(crate) use draining::Draining;
use draining::First;
pub(crate) use emptying::{Collection, brings_back, pick_collection};
pub(crate) use range::{pick_step, pick_whole};
pub(crate) use tier::{most_runs_above, pick_conversion, pick_stack};

/// How many bytes a level should hold at most, from level 1 on.
pub(crate) fn target_bytes(options: &options::Levels, level: usize) -> f64 {
    let ratio = f64::from(options.size_ratio.max(2));
    let below = i32::try_from(level).unwrap_or(i32::MAX).saturating_sub(1);
    options.base_bytes.max(1) as f64 * ratio.powi(below)
}

/// How full each level is; a level with a score of at least 1 should be merged. Tables that are
/// being merged do not count towards the bytes of a level.
pub(crate) fn scores(levels: &Levels, options: &options::Levels, claims: &Claims) -> [f64; LEVELS] {
    let mut scores = [0.0; LEVELS];
    let ratio = f64::from(options.size_ratio.max(2));
    for (level, score) in scores.iter_mut().enumerate() {
        let runs = levels.runs(level).len() as f64;
        *score = match options.compaction {
            Compaction::LearnedTier(tier) => tier::score(levels, options, tier, level, claims),
            _ if level == 0 => small::score(levels, options),
            Compaction::Tiered => runs / ratio,
            // Several runs are of another shape and should become one.
            _ if runs > 1.0 => runs,
            _ if level + 1 == LEVELS => 0.0,
            _ => idle_bytes(levels, level, claims) as f64 / target_bytes(options, level),
        };
    }
    scores
}

/// Between a merge's installation and its end this is too low, and the level is looked at again.
fn idle_bytes(levels: &Levels, level: usize, claims: &Claims) -> u64 {
    levels.bytes(level).saturating_sub(claims.bytes(level))
}

/// The levels that should be merged, the fullest first, with their [scores]: those with a score of at least 1,
/// those that are drained, of which `draining` takes note, and one that hides too many values. Level 0 and a level 1 that is drained do not go
/// together: one of them waits for the other, and is left out.
pub(crate) fn full_levels(
    levels: &Levels,
    options: &options::Levels,
    over_provision_percent: u32,
    claims: &Claims,
    draining: &mut Draining,
) -> Vec<(usize, f64)> {
    let mut scores = scores(levels, options, claims);
    if options.compaction == Compaction::Leveled {
        draining.update(levels, options, &scores);
    }
    if let Some((level, urgency)) =
        hiding(levels, over_provision_percent, options.compaction.tier())
    {
        let level = match options.compaction {
            Compaction::LearnedTier(_) => level.min(ABOVE),
            _ => level,
        };
        if let Some(score) = scores.get_mut(level) {
            *score = score.max(urgency);
        }
    }
    let mut is_full: [bool; LEVELS] =
        std::array::from_fn(|level| scores[level] >= 1.0 || draining.has(level));
    if let Some(tier) = options.compaction.tier().filter(|_| is_full[0]) {
        match tier::goes_before_level0(levels, options, tier, scores[ABOVE], claims) {
            true => is_full[0] = false,
            // The runs that it makes way for should not wait for a conversion.
            false => is_full[ABOVE] = false,
        }
    }
    if is_full[0] {
        match draining.first(levels, options) {
            First::Fullest => {}
            First::Level0 => is_full[1] = false,
            First::Level1 => {
                is_full[0] = false;
                scores[1] = scores[1].max(scores[0]);
            }
        }
    }
    let full = (0..LEVELS).filter(|level| is_full[*level]);
    let mut full: Vec<(usize, f64)> = full.map(|level| (level, scores[level])).collect();
    full.sort_by(|(_, a), (_, b)| f64::total_cmp(b, a));
    full
}

/// The best job for a full level that can run beside those in `claims`; `None` if there is none.
pub(crate) fn pick_level(
    levels: &Levels,
    options: &options::Levels,
    level: usize,
    claims: &Claims,
) -> Option<Job> {
    let job = match options.compaction {
        Compaction::Leveled => {
            let down = leveled::pick(levels, level, claims);
            let small = || small::unite_newest(levels, options).filter(|_| level == 0);
            match down.as_ref().is_some_and(|job| job.trivial) {
                true => down,
                false => small().or(down),
            }
        }
        Compaction::FullLevel => whole::merge_down(levels, level),
        Compaction::Tiered => whole::stack(levels, level),
        Compaction::LearnedTier(tier) => tier::pick(levels, options, tier, level, claims),
    };
    job.filter(|job| claims.admits(job))
}
