//! What merges write where writers are faster: levels that are drained, and level 0, which waits for that.

use std::sync::Arc;

use super::pick::{Spec, levels};
use crate::compaction::pick::{full_levels, scores};
use crate::compaction::{Claims, Draining, Job, pick_level};
use crate::options::{self, Compaction};
use crate::version::Levels;

const SHAPE: options::Levels = options::Levels {
    compaction: Compaction::Leveled,
    size_ratio: 4,
    base_bytes: 27_000,
    level0_tables: 4,
    granularity: options::Granularity::Table,
};

fn full(levels: &Levels, draining: &mut Draining) -> Vec<usize> {
    let full = full_levels(levels, &SHAPE, u32::MAX, &Claims::default(), draining);
    full.into_iter().map(|(level, _)| level).collect()
}

#[test]
fn a_level_that_was_too_large_is_drained_to_half() {
    let mut draining = Draining::default();
    let of = |bytes| levels(&[(1, 1, "a", "k", bytes), (2, 2, "a", "z", 100)]);
    // Where tables only moved, it is kept from being too large.
    assert_eq!(full(&of(27_000), &mut draining), [1]);
    assert_eq!(full(&of(26_999), &mut draining), [0; 0]);
    draining.note_merge(1);
    assert_eq!(full(&of(26_999), &mut draining), [0; 0]);
    assert_eq!(full(&of(27_000), &mut draining), [1]);
    assert_eq!(full(&of(13_501), &mut draining), [1]);
    let job = pick_level(&of(13_501), &SHAPE, 1, &Claims::default());
    assert_eq!(job.map(|job| job.target_level), Some(2));
    assert_eq!(full(&of(13_500), &mut draining), [0; 0]);
    assert_eq!(full(&of(20_000), &mut draining), [0; 0]);
    assert_eq!(draining, Draining::default());
}

#[test]
fn level_0_waits_for_a_level_that_is_drained_but_not_for_ever() {
    let mut draining = Draining::default();
    let of = |runs: u64, bytes| {
        let level0 = (0..runs).map(|n| (10 + n, 0, "a", "z", 1_000));
        let below = [(1, 1, "a", "k", bytes), (2, 2, "a", "z", 100)];
        levels(&level0.chain(below).collect::<Vec<Spec<'_>>>())
    };
    draining.note_merge(1);
    assert_eq!(full(&of(4, 26_000), &mut draining), [0]);
    assert_eq!(full(&of(4, 30_000), &mut draining), [1]);
    assert_eq!(full(&of(23, 20_000), &mut draining), [1]);
    assert_eq!(full(&of(24, 20_000), &mut draining), [0]);
    assert_eq!(full(&of(4, 13_000), &mut draining), [0]);
    // Other shapes know nothing of it.
    let whole = options::Levels {
        compaction: Compaction::FullLevel,
        ..SHAPE
    };
    let claims = Claims::default();
    let full = full_levels(&of(4, 30_000), &whole, u32::MAX, &claims, &mut draining);
    assert_eq!(
        full.iter().map(|(level, _)| *level).collect::<Vec<_>>(),
        [1, 0]
    );
    assert_eq!(draining, Draining::default());
}

/// Tables of random keys, without their entries: number, level, smallest and largest key, bytes.
#[derive(Default)]
struct Tables {
    tables: Vec<(u64, usize, u64, u64, u64)>,
    next: u64,
    draining: Draining,
}

impl Tables {
    const BYTES: u64 = 6_800;

    fn add(&mut self, level: usize, (from, to): (u64, u64), bytes: u64) {
        self.next += 1;
        self.tables.push((self.next, level, from, to, bytes));
    }

    fn levels(&self) -> Arc<Levels> {
        let keys = self
            .tables
            .iter()
            .map(|t| [t.2, t.3].map(|key| format!("{key:016x}")));
        let keys: Vec<[String; 2]> = keys.collect();
        let specs = self.tables.iter().zip(&keys);
        let specs = specs.map(|(t, [from, to])| (t.0, t.1, from.as_str(), to.as_str(), t.4));
        levels(&specs.collect::<Vec<Spec<'_>>>())
    }

    /// Does the most urgent merge. Returns how many bytes it writes; `None` if nothing is to be done.
    fn merge(&mut self) -> Option<u64> {
        let (levels, claims) = (self.levels(), Claims::default());
        let full = full_levels(&levels, &SHAPE, u32::MAX, &claims, &mut self.draining);
        // As where level 0 slows writers down.
        let near = levels.runs(0).len() >= 12;
        let urgent = full.iter().position(|(level, _)| *level == 0 && near);
        let order = urgent.into_iter().chain(0..full.len());
        let mut jobs = order.map(|at| pick_level(&levels, &SHAPE, full[at].0, &claims));
        let job: Job = jobs.find_map(|job| job)?;
        let taken: Vec<u64> = job.tables().map(|table| table.meta.number).collect();
        let (taken, rest) = (self.tables.drain(..)).partition(|t| taken.contains(&t.0));
        let taken: Vec<(u64, usize, u64, u64, u64)> = taken;
        self.tables = rest;
        let level = job.target_level;
        if !job.trivial {
            self.draining.note_merge(level);
        } else {
            taken.iter().for_each(|t| self.add(level, (t.2, t.3), t.4));
            return Some(0);
        }
        let from = taken.iter().map(|t| t.2).min()?;
        let to = taken.iter().map(|t| t.3).max()?;
        let bytes: u64 = taken.iter().map(|t| t.4).sum();
        let parts = bytes.div_ceil(Self::BYTES);
        let width = (to - from) / parts;
        for part in 0..parts {
            let start = from + part * width;
            self.add(level, (start, start + width - 1), bytes / parts);
        }
        Some(bytes)
    }
}

/// Merges that write less than five flushes in the time of one fall behind: each byte is written more often than that.
/// When level 0 went first, they wrote more the further they fell behind, and nearly all of it into level 1.
#[test]
fn merges_that_fall_behind_do_not_write_more_for_it() {
    let (mut tables, mut merged, mut budget) = (Tables::default(), 0, 0);
    let (flushes, bytes) = (600, 1_000);
    for _ in 0..flushes {
        tables.add(0, (0, u64::MAX / 2), bytes);
        budget += 5 * bytes as i64;
        // Slowed writers leave more time.
        if tables.levels().runs(0).len() > 20 {
            budget += 10 * bytes as i64;
        }
        while budget > 0 {
            let Some(written) = tables.merge() else {
                budget = 0;
                break;
            };
            merged += written;
            budget -= written as i64;
        }
    }
    let levels = tables.levels();
    assert!(levels.runs(0).len() < 36, "{} runs", levels.runs(0).len());
    let times = merged / (flushes * bytes);
    assert!(
        times < 10,
        "{times} bytes written for each that was flushed"
    );
    assert!(scores(&levels, &SHAPE, &Claims::default())[1] < 3.0);
}
