//! The ranges of keys of a learned tier.

use std::ops::Bound;

use super::job::{Hull, Job};
use crate::entry::is_behind;
use crate::options::{TierForm, TierSpec};
use crate::sync::Arc;
use crate::version::{LEVELS, Levels, Run, Table};

/// The level of the learned tier: the last one, so that nothing is older.
pub(crate) const TIER: usize = LEVELS - 1;

/// The level in which runs stand above the tier that are cut where ranges begin.
pub(super) const ABOVE: usize = 1;

/// The ranges into which the tier divides all keys, in their order: one for each table of its oldest run, up to the next
/// table's smallest key. One without bounds if there are no tables, or if the tier has the published form.
///
/// They are not stored. A table that is written anew may begin at a larger key than before, but what stood above it was
/// cut at the smaller one, and so lies in it or in what was the table before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ranges<'a> {
    /// The tables of all ranges but the first one.
    later: &'a [Arc<Table>],
}

impl<'a> Ranges<'a> {
    pub fn of(levels: &'a Levels, tier: TierSpec) -> Self {
        let run = tier_of(levels).filter(|_| !tier.is_whole());
        let tables = run.map_or(&[][..], |run| run.tables());
        Ranges {
            later: tables.get(1..).unwrap_or_default(),
        }
    }

    /// How many there are, at least one.
    pub fn count(&self) -> usize {
        self.later.len() + 1
    }

    /// The keys, ascending, at which a new range begins.
    pub fn cuts(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.later.iter().map(|table| &*table.meta.smallest)
    }

    /// The numbers of the first and the last range that some keys reach.
    pub fn across(&self, keys: Hull<'_>) -> (usize, usize) {
        let begins = |table: &Arc<Table>| *table.meta.smallest <= *keys.from;
        let first = self.later.partition_point(begins);
        let reached = |table: &Arc<Table>| !is_behind(&table.meta.smallest, keys.to);
        (first, self.later.partition_point(reached).max(first))
    }

    /// The keys of some neighbours.
    pub fn hull(&self, first: usize, last: usize) -> Hull<'a> {
        let begin = |n: usize| self.later.get(n).map(|table| &*table.meta.smallest);
        let from = first.checked_sub(1).and_then(begin);
        Hull {
            from: from.unwrap_or_default(),
            to: begin(last).map_or(Bound::Unbounded, Bound::Excluded),
        }
    }
}

/// The run that is the learned tier, if there is one: the oldest.
pub(crate) fn tier_of(levels: &Levels) -> Option<&Arc<Run>> {
    levels.runs(TIER).last()
}

/// Whether a run of some levels is their learned tier.
pub(crate) fn is_tier(levels: &Levels, run: &Arc<Run>) -> bool {
    tier_of(levels).is_some_and(|tier| Arc::ptr_eq(tier, run))
}

/// All runs but the tier, newest first, those of level 0 among them.
pub(crate) fn runs_above_tier(levels: &Levels) -> impl Iterator<Item = &Arc<Run>> {
    let above = levels.runs_count() - usize::from(tier_of(levels).is_some());
    levels.all_runs().take(above).map(|(_, run)| run)
}

impl Job {
    /// The form of the learned tier, if it converts ranges of one.
    pub fn converts(&self, tier: Option<TierSpec>) -> Option<TierForm> {
        let tier = tier.filter(|_| self.target_level == TIER);
        tier.map(|tier| tier.form)
    }
}
