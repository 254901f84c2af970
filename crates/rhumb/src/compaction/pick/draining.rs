//! How far a full level is emptied under leveled compaction.

use super::target_bytes;
use crate::options;
use crate::version::Levels;

/// A level that has grown too large is merged down until this share of its size is left. What comes from the
/// level above is merged with all that a level holds. So a level which is only kept from being too large costs
/// about its whole size each time, and one that is drained to half costs three quarters of that.
const LEFT: f64 = 0.5;

/// Level 0 waits for a level 1 that is drained, or for an overdue conversion of a learned tier, while it has fewer runs than
/// this many times those that start a merge: more than slow writers down, and fewer than hold them up.
const MOST_WAITING: usize = 6;

/// The levels of a keyspace that are drained: each was larger than it should be after a merge into it, and is
/// not down to [`LEFT`] of that size yet. Where tables only moved or were placed, nothing is gained.
///
/// Level 0 waits for level 1 meanwhile. It would be merged with a level that is too large, which costs more the
/// larger that is, and makes it larger still: where writers are faster than merges, level 0 would take all their
/// time, and level 1 would come to hold nearly everything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Draining {
    /// A bit for each level that is drained.
    levels: u32,
    /// A bit for each level into which something was merged since it was last drained, or down to [`LEFT`].
    merged: u32,
}

/// Which of levels 0 and 1 goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    /// That with the higher score.
    Fullest,
    /// Level 1, as urgently as level 0, which waits for it.
    Level1,
    /// Level 0, which has waited long enough. Level 1 begins nothing that would be in its way.
    Level0,
}

impl Draining {
    /// Notes that something was merged into a level.
    pub(crate) fn note_merge(&mut self, level: usize) {
        self.merged |= bit(level);
    }

    /// Notes how full the levels are, with and without what is being merged.
    pub(super) fn update(&mut self, levels: &Levels, options: &options::Levels, scores: &[f64]) {
        for (level, score) in scores.iter().enumerate().skip(1) {
            let all = levels.bytes(level) as f64 / target_bytes(options, level);
            // Several runs of a level come from another shape, and their score is not about bytes.
            if all <= LEFT || levels.runs(level).len() != 1 {
                self.levels &= !bit(level);
                self.merged &= !bit(level);
            } else if *score >= 1.0 && self.merged & bit(level) != 0 {
                self.levels |= bit(level);
                self.merged &= !bit(level);
            }
        }
    }

    /// Whether a level is drained.
    pub(super) fn has(self, level: usize) -> bool {
        self.levels & bit(level) != 0
    }

    /// Which of levels 0 and 1 goes first, if level 0 is full.
    pub(super) fn first(self, levels: &Levels, options: &options::Levels) -> First {
        match (self.has(1), level0_may_wait(levels, options)) {
            (false, _) => First::Fullest,
            (true, true) => First::Level1,
            (true, false) => First::Level0,
        }
    }
}

/// Whether level 0 has few enough runs to wait for what goes before it.
pub(super) fn level0_may_wait(levels: &Levels, options: &options::Levels) -> bool {
    levels.runs(0).len() < MOST_WAITING * options.level0_tables.max(1) as usize
}

fn bit(level: usize) -> u32 {
    1 << level
}
