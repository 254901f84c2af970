//! What stands above the ranges of a learned tier.

use super::super::job::{Hull, Input, bytes_apart};
use super::super::ranges::{ABOVE, Ranges, is_tier};
use crate::options::{self, TierSpec};
use crate::sync::Arc;
use crate::version::{Levels, Run, Table};

/// A range delete counts as deletes of one in so many entries of its range.
const RANGE_DELETES: u64 = 100;

/// A group whose data takes less than one in so many parts of what a range may hold is converted with a neighbour,
const SMALL: u64 = 4;
/// which takes at most one in so many.
const NEIGHBOUR: u64 = 2;

/// Neighbouring ranges that are converted together, and what stands above them. Mostly that is one range. There are more
/// where a table above reaches from one into the next, since it was cut before that began.
pub(super) struct Above<'a> {
    pub hull: Hull<'a>,
    /// The runs above.
    pub runs: usize,
    bytes: u64,
    hides: u64,
    /// The deletes above, and what range deletes count as.
    deletes: u64,
    /// The bytes and entries of the tables of the ranges.
    tier_bytes: u64,
    tier_entries: u64,
    /// All bytes, with those of the values that tables point to.
    data_bytes: u64,
}

/// All groups of ranges, in the order of their keys. Takes a time that is logarithmic in the ranges for each table above
/// and each run of each range.
pub(super) fn groups(levels: &Levels, tier: TierSpec) -> Vec<Above<'_>> {
    let ranges = Ranges::of(levels, tier);
    // How many more tables reach behind a range than behind the one before.
    let mut joins = vec![0_i64; ranges.count()];
    for (_, _, table) in tables_above(levels) {
        let (first, last) = ranges.across(Hull::of_one(&table.meta));
        for (range, change) in [(first, 1), (last, -1)] {
            if let Some(joins) = joins.get_mut(range) {
                *joins += change;
            }
        }
    }
    let (mut reach, mut first) = (0, 0);
    let mut groups = Vec::new();
    for (range, change) in joins.into_iter().enumerate() {
        reach += change;
        if reach == 0 {
            groups.push(Above::of(levels, ranges.hull(first, range)));
            first = range + 1;
        }
    }
    groups
}

/// The tables that stand above the tier, with their levels and runs.
pub(super) fn tables_above(levels: &Levels) -> impl Iterator<Item = (usize, &Run, &Arc<Table>)> {
    let above = runs_from_above(levels).filter(|(_, run)| !is_tier(levels, run));
    above.flat_map(|(level, run)| {
        let tables = run.tables().iter();
        tables.map(move |table| (level, &**run, table))
    })
}

/// The tables of some keys in the tier and above it, newer runs first.
pub(super) fn inputs(levels: &Levels, hull: Hull<'_>) -> Vec<Input> {
    let inputs = runs_from_above(levels).map(|(level, run)| {
        let tables = run.overlapping(hull.from, hull.to);
        Input::new(level, run, tables)
    });
    inputs.filter(|input| !input.tables.is_empty()).collect()
}

fn runs_from_above(levels: &Levels) -> impl Iterator<Item = (usize, &Arc<Run>)> {
    levels.all_runs().filter(|(level, _)| *level >= ABOVE)
}

impl<'a> Above<'a> {
    fn of(levels: &Levels, hull: Hull<'a>) -> Self {
        let mut above = Above {
            hull,
            runs: 0,
            bytes: 0,
            hides: 0,
            deletes: 0,
            tier_bytes: 0,
            tier_entries: 0,
            data_bytes: 0,
        };
        let mut range_deletes = 0;
        for (_, run) in runs_from_above(levels) {
            let tables = run.overlapping(hull.from, hull.to);
            let is_tier = is_tier(levels, run);
            above.runs += usize::from(!is_tier && !tables.is_empty());
            for table in tables.iter().map(|table| &table.meta) {
                above.data_bytes += table.file_bytes + bytes_apart(table);
                if is_tier {
                    above.tier_bytes += table.file_bytes;
                    above.tier_entries += table.entries;
                } else {
                    above.bytes += table.file_bytes;
                    above.hides += table.hides;
                    above.deletes += table.deletes;
                    range_deletes += table.range_deletes;
                }
            }
        }
        above.deletes += range_deletes * (above.tier_entries / RANGE_DELETES);
        above
    }

    /// Whether the ranges are to be written together with what stands above them.
    pub fn is_converted(&self, options: &options::Levels, tier: TierSpec) -> bool {
        self.bytes > 0 && self.share(options, tier) >= 1.0
    }

    /// What stands above as a share of what may: in bytes, or in entries that are deleted.
    fn share(&self, options: &options::Levels, tier: TierSpec) -> f64 {
        let ratio = match tier.is_whole() {
            // As published, what stands above is converted for the sake of garbage, before it is as large as the tier.
            true => 1.0,
            false => f64::from(options.size_ratio.max(2)),
        };
        let bytes = self.bytes as f64 / self.tier_bytes.max(1) as f64;
        let deletes = self.deletes as f64 / self.tier_entries.max(1) as f64;
        bytes.max(deletes) * ratio
    }

    /// How urgent it is to merge what stands above: at least 1 where it is due.
    pub fn score(&self, options: &options::Levels, tier: TierSpec) -> f64 {
        let runs = self.runs as f64 / f64::from(tier.runs.max(1));
        runs.max(self.share(options, tier))
    }

    /// How much of what lies apart a conversion shows to be garbage for each byte that it writes.
    pub fn shows(&self) -> f64 {
        self.hides as f64 / (self.bytes + self.tier_bytes).max(1) as f64
    }

    /// Whether its data takes less than one in so many parts of what a range may hold.
    fn is_within(&self, tier: TierSpec, parts: u64) -> bool {
        self.data_bytes < tier.most_range_bytes() / parts
    }
}

/// The keys of a group, and with them those of a neighbour if both are small: otherwise ranges from which much is deleted
/// would stay small.
pub(super) fn widened<'a>(groups: &[Above<'a>], at: usize, tier: TierSpec) -> Option<Hull<'a>> {
    let group = groups.get(at)?;
    if !group.is_within(tier, SMALL) {
        return None;
    }
    let neighbours = [at.checked_sub(1), at.checked_add(1)];
    let neighbours = neighbours.into_iter().flatten();
    let mut neighbours = neighbours.filter_map(|at| groups.get(at));
    let joined = neighbours.find(|other| other.is_within(tier, NEIGHBOUR))?;
    Some(group.hull.and(joined.hull))
}
