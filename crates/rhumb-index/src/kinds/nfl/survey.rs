//! The expected cost of a model, counted over runs of neighbouring entries: nothing is timed.
//!
//! The unit is the read of a line that is out of cache. Lines above a large part of the table are
//! read often enough to stay in cache.

use std::ops::Range;

use super::cache_line;
use super::model::{Model, by_slot};

/// Up to this many entries, all are counted; of more, [`RUNS`] runs of [`RUN`] entries.
const ALL: usize = 1 << 14;
const RUNS: usize = 32;
const RUN: usize = 512;

/// A line that more than one in this many look-ups reads is assumed to be in cache.
const NEAR_LINES: usize = 4096;

/// The cost of reading a line in cache.
const NEAR: f64 = 0.2;

/// The cost of the flow: 20 instructions and a cell in cache, all before the first line can be
/// requested. Look-ups without a flow take 75 instructions and a line. Measurements show that it
/// outweighs the reads in cache that it saves.
pub(super) const FLOW: f64 = 0.25;

/// The bytes for each number that are worth as much as one line read less.
const BYTES_FOR_A_LINE: f64 = 64.0;

/// For a node below: the lines read there, and the lines it takes for each full bucket of entries.
const BELOW: (f64, f64) = (1.15, 2.2);

/// The share of slots, in percent, that do not belong to the tail.
const TAIL: usize = 99;

/// Slots for each number over which conflicts are counted, as published: this many halves.
const TAIL_SLOTS: usize = 3;

/// Entries that share a slot; some may lie outside the run that is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    /// The ranks of these entries.
    all: Range<usize>,
    /// How many of them are in the counted run.
    counted: usize,
    /// Whether the first of them is in the counted run.
    is_whole: bool,
}

/// Visits the groups of some runs of entries under a model. Returns how many entries were counted.
fn groups(entries: &[(u64, u64)], model: &impl Model, mut visit: impl FnMut(Group)) -> usize {
    let total = entries.len();
    let (runs, run) = match total {
        ..=ALL => (1, total),
        _ => (RUNS, RUN),
    };
    for i in 0..runs {
        let (start, end) = bounds(i, total);
        let mut at = start;
        for (slot, inside) in by_slot(entries.get(start..end).unwrap_or_default(), model) {
            let mut all = at..at + inside.len();
            at = all.end;
            if all.start == start {
                let before = entries.get(..start).unwrap_or_default();
                all.start = before.partition_point(|entry| model.slot(entry.0) < slot);
            }
            if all.end == end {
                let behind = entries.get(end..).unwrap_or_default();
                all.end += behind.partition_point(|entry| model.slot(entry.0) <= slot);
            }
            visit(Group {
                is_whole: all.start >= start,
                counted: inside.len(),
                all,
            });
        }
    }
    runs * run
}

/// The start and end of run `i` among `total` entries.
fn bounds(i: usize, total: usize) -> (usize, usize) {
    match total {
        ..=ALL => (0, total),
        _ => {
            let start = (total - RUN) / (RUNS - 1) * i;
            (start, start + RUN)
        }
    }
}

/// The expected cost of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cost {
    /// Lines that a look-up reads, on average over the entries.
    pub(super) lines: f64,
    /// Bytes for each entry.
    pub(super) bytes: f64,
}

impl Cost {
    /// The whole cost, in lines.
    pub(super) fn total(&self) -> f64 {
        self.lines + self.bytes / BYTES_FOR_A_LINE
    }
}

/// The expected cost of a node of a table with `table` numbers.
pub(super) fn cost(entries: &[(u64, u64)], model: &impl Model, table: usize) -> Cost {
    let read = |under: usize| match under.saturating_mul(NEAR_LINES) >= table {
        true => NEAR,
        false => 1.0,
    };
    let (mut lines, mut bytes) = (0.0, 0.0);
    let counted = groups(entries, model, |group| {
        let inside = entries.get(group.all).unwrap_or_default();
        let size = inside.len();
        let of_buckets = |buckets: f64| buckets * cache_line::BYTES as f64 / size as f64;
        let (below, bytes_below) = match cache_line::buckets(inside) {
            Some(..=1) => (0.0, 0.0),
            Some(buckets) => (read(size / buckets), of_buckets(buckets as f64)),
            None => {
                let full = cache_line::capacity(inside);
                let buckets = size as f64 / full as f64;
                (BELOW.0 * read(full), of_buckets(buckets * BELOW.1))
            }
        };
        lines += group.counted as f64 * (read(size) + below);
        bytes += group.counted as f64 * bytes_below;
    });
    let own = (model.slots() * cache_line::BYTES) as f64 / entries.len().max(1) as f64;
    let counted = counted.max(1) as f64;
    Cost {
        lines: lines / counted,
        bytes: bytes / counted + own,
    }
}

/// The number of slots over which the tail of conflicts is counted.
pub(super) fn tail_slots(numbers: usize) -> usize {
    numbers * TAIL_SLOTS / 2
}

/// The tail conflict degree: 99 of 100 used slots have at most this many numbers besides the first.
pub(super) fn tail_conflicts(entries: &[(u64, u64)], model: &impl Model) -> usize {
    let mut sizes = Vec::new();
    groups(entries, model, |group| {
        if group.is_whole {
            sizes.push(group.all.len());
        }
    });
    let at = (sizes.len() * TAIL / 100).min(sizes.len().saturating_sub(1));
    if sizes.is_empty() {
        return 0;
    }
    let (_, tail, _) = sizes.select_nth_unstable(at);
    tail.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::super::model::Linear;
    use super::*;
    use crate::kinds::shared::fixed_line::FixedLine;

    #[test]
    fn groups_are_counted_whole() {
        // One number in each slot, then one slot with all others, larger than any run.
        let count = 100_000u64;
        let numbers = (0..count).map(|i| {
            if i < count / 2 {
                i << 40
            } else {
                (count << 39) + i
            }
        });
        let entries: Vec<_> = numbers.zip(0..).collect();
        let model = Linear {
            line: FixedLine {
                base: 0,
                slope: 1 << 24,
            },
            shift: 0,
            lines: u32::MAX,
        };
        let (mut single, mut shared) = (0, 0);
        let counted = groups(&entries, &model, |group| match group.all.len() {
            1 => single += group.counted,
            size => {
                assert_eq!(size, 50_000);
                shared += group.counted;
            }
        });
        assert_eq!(single + shared, counted);
        assert!(single.abs_diff(shared) <= RUN, "{single} {shared}");
        assert_eq!(tail_conflicts(&entries, &model), 0);
        let few = Linear { lines: 1, ..model };
        assert_eq!(tail_conflicts(&entries, &few), 99_999);
        assert_eq!(tail_conflicts(&entries[..2], &model), 0);
    }

    #[test]
    fn conflicts_and_empty_slots_have_a_cost() {
        let entries: Vec<_> = (0..10_000u64).map(|i| (i * 1000, i)).collect();
        let over = |lines| cost(&entries, &Linear::over((0, 9_999_000), lines), 100_000_000);
        // Evenly filled buckets: first full ones, then mostly empty ones.
        assert_eq!(over(1000).lines, 1.0);
        assert!((over(1000).bytes - 6.4).abs() < 0.1);
        assert!(over(5000).total() > over(1000).total());
        // Twenty numbers in a slot need a dense node, a hundred a model.
        assert!((over(500).lines - 2.0).abs() < 0.01);
        assert!(over(100).lines > 2.1 && over(100).bytes > over(500).bytes);
    }
}
