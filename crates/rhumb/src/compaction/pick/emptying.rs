//! Which job comes next to make room: one that empties value files, or that converts a range which hides much.

use super::super::claims::Claims;
use super::super::job::{Input, Job};
use super::super::ranges::TIER;
use super::collect::{Room, Victims};
use super::tier::conversions;
use crate::options::{Compaction, TierForm, TierSpec};
use crate::version::Levels;

/// A job that makes room.
#[derive(Debug)]
pub(crate) struct Collection {
    pub job: Job,
    /// Whether it brings all values back to their keys, rather than those alone that lie in files which are emptied.
    pub brings_back: bool,
}

/// That job, of those that can run now, which frees the most bytes for each byte that it writes: the rewrite of a table
/// that points into `victims` or, in a store with a learned tier, the conversion of a range, which keeps nothing of what is
/// hidden. `None` if there is none. The tables of some levels are left to a merge that waits for its turn.
pub(crate) fn pick_collection(
    levels: &Levels,
    victims: &Victims,
    (compaction, over_provision_percent): (Compaction, u32),
    claims: &Claims,
    is_awaited: impl Fn(usize) -> bool,
) -> Option<Collection> {
    let tier = compaction.tier();
    let costs = Costs::of(levels, victims, (tier, over_provision_percent), claims);
    // Where conversions bring values back, it can be better to empty files of what is above the tier alone.
    let deepest = match tier {
        None => TIER,
        Some(tier) if tier.is_inline() => TIER - 1,
        Some(_) => 0,
    };
    let is_rewritten = |level| !is_awaited(level) && level <= deepest;
    let runs = levels.all_runs().filter(|(level, _)| is_rewritten(*level));
    let rewrites = runs.flat_map(|(level, run)| {
        let tables = run.tables().iter();
        tables.map(move |table| Job {
            inputs: vec![Input::one(level, run, table)],
            target_level: level,
            target_run: Some(run.number()),
            trivial: false,
        })
    });
    let conversions = tier.map(|tier| conversions(levels, tier));
    let conversions = conversions.into_iter().flatten();
    let conversions = conversions.map(|job| Job {
        trivial: false,
        ..job
    });
    let jobs = rewrites.chain(conversions);
    let jobs = jobs.map(|job| (costs.of_job(&job), job));
    let jobs = jobs.filter(|((gain, _), job)| *gain > 0.0 && claims.admits(job));
    let best = jobs.max_by(|((a, _), _), ((b, _), _)| f64::total_cmp(a, b));
    best.map(|((_, brings_back), job)| Collection { job, brings_back })
}

/// Whether a conversion brings all values back to their keys: where its tables hold values, and there is room for them.
pub(crate) fn brings_back(
    levels: &Levels,
    job: &Job,
    (compaction, over_provision_percent): (Compaction, u32),
    claims: &Claims,
) -> bool {
    let (victims, tier) = (Victims::default(), compaction.tier());
    let costs = || Costs::of(levels, &victims, (tier, over_provision_percent), claims);
    job.converts(tier) == Some(TierForm::Inline) && costs().of_job(job).1
}

/// What jobs free and write.
struct Costs<'a> {
    victims: &'a Victims,
    /// How many bytes of victims go with each byte that is moved out of them.
    freed_a_byte: f64,
    /// The room, where the tables of the tier hold values,
    room: Option<Room>,
    /// and the mean bytes of an entry that is hidden then.
    entry_bytes: f64,
    /// The bytes that running merges write a second time.
    copies: f64,
}

impl<'a> Costs<'a> {
    fn of(
        levels: &Levels,
        victims: &'a Victims,
        (tier, over_provision_percent): (Option<TierSpec>, u32),
        claims: &Claims,
    ) -> Self {
        let files = levels.value_files();
        let emptied = victims.files().iter().filter_map(|n| files.get(*n));
        let (mut used, mut garbage) = (0.0, 0.0);
        for file in emptied {
            used += file.used_bytes as f64;
            garbage += file.garbage_bytes() as f64;
        }
        let inline = tier.filter(|tier| tier.is_inline());
        let room = inline.map(|_| Room::of(levels, over_provision_percent, tier));
        let hides: u64 = levels.all_runs().map(|(_, run)| run.hides()).sum();
        let hidden = room.as_ref().map_or(0.0, Room::hidden);
        Costs {
            victims,
            // Tables may have come to point to what was garbage when they were chosen. Others are chosen only when they
            // are gone, so something has to empty them.
            freed_a_byte: f64::max(garbage, 1.0) / used.max(1.0),
            room,
            entry_bytes: hidden / hides.max(1) as f64,
            copies: claims.copies() as f64,
        }
    }

    /// The bytes that a job frees for each byte that it writes, 0 if it is not worth it; and whether it brings values
    /// back. It does if there is room for them beside the files that they lie in, which go with the last range that points
    /// into them.
    fn of_job(&self, job: &Job) -> (f64, bool) {
        let uses = job.tables().flat_map(|table| &table.meta.values);
        let emptied = uses.filter(|used| self.victims.files().contains(&used.file));
        let emptied: f64 = emptied.map(|used| used.bytes as f64).sum();
        let tables = job.bytes() as f64;
        let Some(room) = &self.room else {
            return (emptied / (emptied + tables), false);
        };
        let freed = emptied * self.freed_a_byte;
        if job.target_level != TIER {
            return (freed / (tables + emptied).max(1.0), false);
        }
        let hides: u64 = job.tables().map(|table| table.meta.hides).sum();
        let hidden = hides as f64 * self.entry_bytes;
        let apart = job.bytes_apart() as f64;
        let brings_back = room.has_room_for(self.copies + apart - hidden);
        let moved = if brings_back { apart } else { emptied };
        let written = (tables + moved - hidden).max(1.0);
        ((freed + hidden) / written, brings_back)
    }
}
