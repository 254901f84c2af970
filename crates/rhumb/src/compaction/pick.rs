//! Which tables are to be merged next.

use std::collections::HashSet;
use std::ops::Bound;

use crate::options;
use crate::sync::Arc;
use crate::version::{LEVELS, Levels, Table};

/// Tables to be merged into one level.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    /// Where the upper tables are.
    pub level: usize,
    /// Where the merged tables go: the next level, or the same one for a rewrite.
    pub target_level: usize,
    /// The tables of `level`, in its order.
    pub upper: Vec<Arc<Table>>,
    /// All tables of the target level that the upper ones reach into; none in a rewrite.
    pub lower: Vec<Arc<Table>>,
    /// Whether the tables need only change their level.
    pub trivial: bool,
}

impl Job {
    /// The tables of both levels, newer ones first.
    pub fn inputs(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.upper.iter().chain(&self.lower)
    }

    /// Bytes of the tables of both levels.
    pub fn bytes(&self) -> u64 {
        self.inputs().map(|t| t.meta.file_bytes).sum()
    }

    /// Whether a running job has one of the tables.
    pub fn conflicts(&self, busy: &HashSet<u64>) -> bool {
        self.inputs().any(|t| busy.contains(&t.meta.number))
    }
}

/// How much each level wants to be merged into the next one: it should be from 1 on. Tables in
/// `busy` are being merged and do not count.
pub(crate) fn scores(
    levels: &Levels,
    shape: &options::Levels,
    busy: &HashSet<u64>,
) -> [f64; LEVELS] {
    let mut scores = [0.0; LEVELS];
    let [level0, deeper @ .., _last] = &mut scores;
    *level0 = levels.level(0).len() as f64 / f64::from(shape.level0_tables.max(1));
    let mut target = shape.base_bytes.max(1) as f64;
    for (i, score) in deeper.iter_mut().enumerate() {
        let idle = levels
            .level(i + 1)
            .iter()
            .filter(|t| !busy.contains(&t.meta.number));
        let bytes: u64 = idle.map(|t| t.meta.file_bytes).sum();
        *score = bytes as f64 / target;
        target *= f64::from(shape.size_ratio.max(2));
    }
    scores
}

/// The job that is needed most, without the tables in `busy`, which running jobs have; `None` if
/// none is needed.
pub(crate) fn pick(levels: &Levels, shape: &options::Levels, busy: &HashSet<u64>) -> Option<Job> {
    let scores = scores(levels, shape, busy);
    let mut full: Vec<usize> = (0..LEVELS)
        .filter(|&l| scores.get(l) >= Some(&1.0))
        .collect();
    full.sort_by(|&a, &b| f64::total_cmp(&score(&scores, b), &score(&scores, a)));
    full.into_iter().find_map(|level| {
        let job = if level == 0 {
            pick_level0(levels, busy)
        } else {
            pick_least_overlap(levels, level, busy)
        };
        job.filter(|job| !job.conflicts(busy))
    })
}

fn score(scores: &[f64; LEVELS], level: usize) -> f64 {
    scores.get(level).copied().unwrap_or_default()
}

/// A job that moves what is in `from..to` (an empty `from` stands for the beginning) down from
/// `level` by one, or rewrites it where it is if nothing is deeper; `None` if there is no more to do.
/// To compact a range, call this for level after level, until there is no job, from level 0 on.
/// `before` is the next file number when that began: tables of level 0 that came later are left
/// alone, and so are rewritten ones. Wait if the job [conflicts](Job::conflicts) with running ones.
///
/// At level 0 and in a rewrite the job is one table (and at level 0 those that overlap it, at any
/// remove); elsewhere it is the first table of the level in the range.
pub(crate) fn pick_range(
    levels: &Levels,
    from: &[u8],
    to: Bound<&[u8]>,
    level: usize,
    before: u64,
) -> Option<Job> {
    let deepest = levels.deepest()?;
    let tables = levels.overlapping(level, from, to);
    if level == 0 || level < deepest {
        let mut job = if level == 0 {
            pick_group(levels, tables.iter().rfind(|t| t.meta.number < before)?)
        } else {
            downward(levels, level, vec![Arc::clone(tables.first()?)])
        };
        // What arrives at the bottom is rewritten at once.
        let arrives = job.target_level >= deepest;
        job.trivial &= !(arrives && job.upper.iter().any(is_stale));
        return Some(job);
    }
    let old = |t: &&Arc<Table>| t.meta.number < before && is_stale(t);
    let table = tables.iter().find(old)?;
    Some(Job {
        level,
        target_level: level,
        upper: vec![Arc::clone(table)],
        lower: Vec::new(),
        trivial: false,
    })
}

/// Whether a table may hold what is not needed at the bottom.
fn is_stale(table: &Arc<Table>) -> bool {
    let m = &table.meta;
    m.deletes > 0 || m.range_deletes > 0 || m.largest_sequence > 0
}

/// A job for level 0: the oldest table that can move by itself, else the oldest one of all with its
/// group.
fn pick_level0(levels: &Levels, busy: &HashSet<u64>) -> Option<Job> {
    let idle = |t: &&Arc<Table>| !busy.contains(&t.meta.number);
    let oldest_first = levels.level(0).iter().rev().filter(idle);
    let mut jobs = oldest_first.map(|t| pick_group(levels, t));
    let first = jobs.next()?;
    if first.trivial {
        return Some(first);
    }
    Some(jobs.find(|job| job.trivial).unwrap_or(first))
}

/// The job for a table of level 0 with all that overlap it, directly or through others, so that no
/// older version stays above a newer one.
fn pick_group(levels: &Levels, seed: &Arc<Table>) -> Job {
    downward(levels, 0, group(levels.level(0), seed))
}

/// `seed` and the tables of level 0 that reach into the hull of those that were taken already, in
/// the level's order.
fn group(tables: &[Arc<Table>], seed: &Arc<Table>) -> Vec<Arc<Table>> {
    let mut taken = vec![Arc::clone(seed)];
    loop {
        let Some((from, to)) = hull(&taken) else {
            return taken;
        };
        let meets = |t: &&Arc<Table>| {
            let behind = match to {
                Bound::Included(to) => &*t.meta.smallest > to,
                Bound::Excluded(to) => &*t.meta.smallest >= to,
                Bound::Unbounded => false,
            };
            !behind && !t.meta.ends_before(from)
        };
        let wider: Vec<Arc<Table>> = tables.iter().filter(meets).cloned().collect();
        if wider.len() <= taken.len() {
            return wider;
        }
        taken = wider;
    }
}

/// The table of the level that brings the fewest bytes of the next level with it, for its size.
fn pick_least_overlap(levels: &Levels, level: usize, busy: &HashSet<u64>) -> Option<Job> {
    let idle = levels
        .level(level)
        .iter()
        .filter(|t| !busy.contains(&t.meta.number));
    let jobs = idle.map(|t| downward(levels, level, vec![Arc::clone(t)]));
    let free = jobs.filter(|job| !job.conflicts(busy));
    let cost = |job: &Job| {
        let lower: u64 = job.lower.iter().map(|t| t.meta.file_bytes).sum();
        lower as f64 / (job.bytes() - lower).max(1) as f64
    };
    free.map(|job| (cost(&job), job))
        .min_by(|(a, _), (b, _)| f64::total_cmp(a, b))
        .map(|(_, job)| job)
}

/// The job that merges `upper` into the next level.
fn downward(levels: &Levels, level: usize, upper: Vec<Arc<Table>>) -> Job {
    let target_level = level + 1;
    let lower = match hull(&upper) {
        Some((from, to)) => levels.overlapping(target_level, from, to),
        None => Vec::new(),
    };
    // Tables of level 0 may hold versions of the same key; one that is alone cannot.
    let trivial = lower.is_empty() && upper.len() == 1;
    Job {
        level,
        target_level,
        upper,
        lower,
        trivial,
    }
}

/// The least range that holds all keys of `tables`.
fn hull(tables: &[Arc<Table>]) -> Option<(&[u8], Bound<&[u8]>)> {
    let from = tables.iter().map(|t| &*t.meta.smallest).min()?;
    let ends = tables
        .iter()
        .map(|t| (&*t.meta.largest, !t.meta.largest_excluded));
    let (to, included) = ends.max()?;
    Some((
        from,
        if included {
            Bound::Included(to)
        } else {
            Bound::Excluded(to)
        },
    ))
}
