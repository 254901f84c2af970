use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;

use super::background::pick;
use crate::compaction::pick::scores;
use crate::compaction::{Claims, Input, Job, pick_step};
use crate::fs::{Access, MemoryFileSystem};
use crate::memory::BlockCache;
use crate::options::{self, Compaction};
use crate::version::{BASE_RUN, Files, Levels, Place, TableMeta};

const SHAPE: options::Levels = options::Levels {
    compaction: Compaction::Leveled,
    size_ratio: 10,
    base_bytes: 1000,
    level0_tables: 2,
    granularity: options::Granularity::Table,
};

/// Number, level, smallest and largest key, bytes.
pub(super) type Spec<'a> = (u64, usize, &'a str, &'a str, u64);

pub(super) fn levels(specs: &[Spec<'_>]) -> Arc<Levels> {
    levels_with(specs, |_| {})
}

fn levels_with(specs: &[Spec<'_>], change: impl Fn(&mut TableMeta)) -> Arc<Levels> {
    let run = |n: usize| match specs[n].1 {
        0 => specs[n].0,
        _ => BASE_RUN,
    };
    levels_of(specs, run, change)
}

/// Levels of tables; `run` maps a table's index in the list to its run.
pub(super) fn levels_of(
    specs: &[Spec<'_>],
    run: impl Fn(usize) -> u64,
    change: impl Fn(&mut TableMeta),
) -> Arc<Levels> {
    let fs = Arc::new(MemoryFileSystem::default());
    let cache = Arc::new(BlockCache::new(1 << 20).unwrap());
    let files = Files::new(fs, PathBuf::from("/store"), Access::Buffered, cache);
    let tables = specs.iter().enumerate().map(|(n, spec)| {
        let &(number, level, smallest, largest, file_bytes) = spec;
        let mut meta = TableMeta {
            number,
            file_bytes,
            sections_offset: 0,
            table_id: number,
            entries: 1,
            deletes: 0,
            range_deletes: 0,
            smallest: smallest.as_bytes().into(),
            largest: largest.as_bytes().into(),
            largest_excluded: false,
            smallest_sequence: number,
            largest_sequence: number,
            map_number: 0,
            index_kind: "fp".to_string(),
            values: Vec::new(),
            hides: 0,
        };
        change(&mut meta);
        (Place { level, run: run(n) }, meta)
    });
    Levels::new(&Arc::new(files), tables).unwrap()
}

/// Level, target level, upper tables, lower tables, whether trivial.
type Form = (usize, usize, Vec<u64>, Vec<u64>, bool);

fn form(job: Option<Job>) -> Option<Form> {
    job.map(|j| {
        let level = j.inputs[0].place.level;
        let (upper, lower): (Vec<&Input>, Vec<&Input>) =
            j.inputs.iter().partition(|i| i.place.level == level);
        let numbers = |inputs: Vec<&Input>| {
            let tables = inputs.iter().flat_map(|i| &i.tables);
            tables.map(|t| t.meta.number).collect()
        };
        (
            level,
            j.target_level,
            numbers(upper),
            numbers(lower),
            j.trivial,
        )
    })
}

/// A claim on these tables that conflicts with no other job's output.
fn claims(levels: &Levels, busy: &[u64]) -> Claims {
    let mut claims = Claims::default();
    let taken = levels.all_runs().map(|(level, run)| {
        let tables = run.tables().iter();
        let tables = tables.filter(|t| busy.contains(&t.meta.number));
        Input::new(level, run, &tables.cloned().collect::<Vec<_>>())
    });
    claims.take(&Job {
        inputs: taken.collect(),
        target_level: usize::MAX,
        target_run: Some(BASE_RUN),
        trivial: false,
    });
    claims
}

fn picked(levels: &Levels, busy: &[u64]) -> Option<Form> {
    form(pick(levels, &SHAPE, &claims(levels, busy)))
}

#[test]
fn nothing_is_picked_where_no_level_is_full() {
    let levels = levels(&[
        (1, 0, "a", "z", 99_999),
        (2, 1, "a", "z", 999),
        (3, 6, "a", "z", 1 << 60),
    ]);
    assert_eq!(picked(&levels, &[]), None);
    assert!(
        scores(&levels, &SHAPE, &Claims::default())
            .iter()
            .all(|s| *s < 1.0)
    );
}

#[test]
fn the_fullest_level_is_first_and_a_busy_one_gives_way() {
    let levels = levels(&[
        (1, 0, "a", "b", 150),
        (2, 0, "b", "c", 150),
        (3, 1, "a", "d", 1500),
        (4, 2, "b", "c", 30_000),
        (5, 3, "a", "z", 1),
    ]);
    let scores = scores(&levels, &SHAPE, &Claims::default());
    assert_eq!(scores[..3], [1.0, 1.5, 3.0]);
    assert_eq!(picked(&levels, &[]), Some((2, 3, vec![4], vec![5], false)));
    // The job of level 2 would need table 4, which is in use, so level 0 is next.
    assert_eq!(
        picked(&levels, &[4, 5]),
        Some((0, 1, vec![2, 1], vec![3], false))
    );
    assert_eq!(picked(&levels, &[4, 5, 1, 2, 3]), None);
}

#[test]
fn the_least_overlap_for_its_size_is_picked() {
    let levels = levels(&[
        (1, 1, "a", "c", 500),
        (2, 1, "d", "f", 400),
        (3, 1, "g", "i", 300),
        (4, 2, "a", "b", 1000),
        (5, 2, "c", "d", 500),
        (6, 2, "e", "f", 200),
        (7, 2, "h", "j", 600),
    ]);
    // 1500 / 500, 700 / 400, 600 / 300.
    assert_eq!(
        picked(&levels, &[]),
        Some((1, 2, vec![2], vec![5, 6], false))
    );
    // Tables in use do not count, so the rest of the level may be small enough.
    assert_eq!(picked(&levels, &[2, 5, 6]), None);
}

#[test]
fn a_table_over_nothing_moves_and_the_end_of_a_range_delete_is_not_in_it() {
    let specs = [
        (1, 1, "a", "c", 5000),
        (2, 2, "c", "d", 10),
        (3, 2, "e", "f", 10),
    ];
    assert_eq!(
        picked(&levels(&specs), &[]),
        Some((1, 2, vec![1], vec![2], false))
    );
    let excluded = levels_with(&specs, |m| m.largest_excluded = m.number == 1);
    assert_eq!(picked(&excluded, &[]), Some((1, 2, vec![1], vec![], true)));
}

#[test]
fn a_table_moves_past_levels_in_which_nothing_overlaps_it() {
    let below = [
        (2, 2, "x", "z", 10),
        (3, 3, "d", "f", 10),
        (4, 5, "d", "f", 10),
    ];
    for (upper, target) in [
        ((1, 1, "g", "h", 5000), 5),
        ((1, 1, "e", "e", 5000), 2),
        ((1, 0, "g", "h", 5000), 5),
        ((1, 0, "y", "y", 5000), 1),
    ] {
        // A second run makes level 0 full.
        let specs = [&[upper, (9, 0, "0", "0", 10)], &below[..]].concat();
        let expected = Some((upper.1, target, vec![1], vec![], true));
        assert_eq!(picked(&levels(&specs), &[]), expected, "{upper:?}");
    }
}

#[test]
fn level_0_takes_all_that_overlap_or_moves_a_lone_table() {
    // 1 and 3 overlap through 2, which is newer than both.
    let chained = [
        (1, 0, "a", "c", 10),
        (2, 0, "c", "f", 10),
        (3, 0, "e", "g", 10),
    ];
    let below = [(8, 1, "b", "b", 10), (9, 1, "h", "h", 10)];
    let all = levels(&[&chained[..], &below[..]].concat());
    assert_eq!(
        picked(&all, &[]),
        Some((0, 1, vec![3, 2, 1], vec![8], false))
    );
    // A table of the group or of the next level that is in use makes it wait.
    for busy in [1, 2, 3, 8] {
        assert_eq!(picked(&all, &[busy]), None, "{busy}");
    }
    // A lone table moves without a merge: table 5, with nothing below, but not 4, above table 9.
    let lone = [(4, 0, "h", "i", 10), (5, 0, "k", "l", 10)];
    let all = levels(&[&chained[..], &below[..], &lone[..]].concat());
    assert_eq!(picked(&all, &[]), Some((0, 1, vec![5], vec![], true)));
    assert_eq!(
        picked(&all, &[5]),
        Some((0, 1, vec![3, 2, 1], vec![8], false))
    );
    // A newer table above it makes it stay, so that the order of versions is kept.
    let covered = [(4, 0, "h", "k", 10), (5, 0, "k", "l", 10)];
    let all = levels(&[&covered[..], &below[..]].concat());
    assert_eq!(picked(&all, &[]), Some((0, 1, vec![5, 4], vec![9], false)));
}

/// Merged with level 1 each time, a few small tables would cost all of that.
#[test]
fn a_small_level_0_becomes_larger_runs_before_it_goes_down() {
    let bottom = (1, 1, "a", "z", 900);
    let small = [
        (2, 0, "a", "z", 60),
        (3, 0, "a", "z", 10),
        (4, 0, "b", "x", 12),
    ];
    let with = |more: &[Spec<'_>]| levels(&[&[bottom], &small[..], more].concat());
    // The newest two are of a size, and become one run, which is older than what comes meanwhile.
    let united = (0, 0, vec![4, 3], vec![], false);
    assert_eq!(picked(&with(&[]), &[]), Some(united));
    // One that is claimed is waited for.
    assert_eq!(picked(&with(&[]), &[3]), None);
    // A third makes level 0 no more urgent, but when there are many of all sizes they go down together.
    let down = levels(&[
        bottom,
        (2, 0, "a", "z", 60),
        (3, 0, "a", "z", 28),
        (4, 0, "a", "z", 13),
        (5, 0, "a", "z", 6),
        (6, 0, "a", "z", 2),
        (7, 0, "a", "z", 0),
    ]);
    let all = (2..=7).rev().collect();
    assert_eq!(picked(&down, &[]), Some((0, 1, all, vec![1], false)));
    // What overlaps nothing moves.
    let apart = levels(&[
        (1, 1, "a", "k", 900),
        (2, 0, "l", "m", 10),
        (3, 0, "n", "o", 10),
    ]);
    assert_eq!(picked(&apart, &[]), Some((0, 1, vec![2], vec![], true)));
    // Level 0 is no longer small.
    let large = with(&[(5, 0, "a", "z", 60)]);
    let down = Some((0, 1, vec![5, 4, 3, 2], vec![1], false));
    assert_eq!(picked(&large, &[]), down);
}

#[test]
fn a_range_goes_down_level_by_level_and_is_rewritten_at_the_bottom() {
    let specs = [
        (1, 0, "a", "c", 10),
        (9, 0, "b", "c", 10),
        (20, 0, "a", "a", 10),
        (3, 1, "a", "c", 10),
        (4, 1, "x", "z", 10),
        (5, 2, "a", "b", 90),
        (6, 2, "c", "d", 90),
        (7, 2, "y", "z", 90),
    ];
    let levels = levels_with(&specs, |m| {
        // Nothing of table 5 can be dropped.
        (m.smallest_sequence, m.largest_sequence) = if m.number == 5 {
            (0, 0)
        } else {
            (m.number, m.number)
        };
    });
    let range = |from: &str, to, level, before| {
        let to = Bound::map(to, str::as_bytes);
        form(pick_step(&levels, from.as_bytes(), to, level, before))
    };
    let to_d = Bound::Included("d");
    assert_eq!(
        range("b", to_d, 0, 20),
        Some((0, 1, vec![20, 9, 1], vec![3], false))
    );
    assert_eq!(range("b", to_d, 0, 1), None);
    assert_eq!(range("e", Bound::Unbounded, 0, 99), None);
    assert_eq!(
        range("b", to_d, 1, 20),
        Some((1, 2, vec![3], vec![5, 6], false))
    );
    assert_eq!(range("d", Bound::Excluded("x"), 1, 20), None);
    assert_eq!(
        range("", Bound::Unbounded, 2, 20),
        Some((2, 2, vec![6], vec![], false))
    );
    assert_eq!(
        range("d0", Bound::Unbounded, 2, 20),
        Some((2, 2, vec![7], vec![], false))
    );
    assert_eq!(range("d0", Bound::Unbounded, 2, 7), None);
    assert_eq!(range("", Bound::Unbounded, 3, 99), None);
}

/// What a user asks for is written at most once where levels are no larger than what comes from above.
#[test]
fn a_merge_of_a_range_passes_levels_that_are_small() {
    let upper = [
        (1, 0, "a", "m", 10),
        (2, 0, "k", "z", 10),
        (3, 1, "a", "m", 30),
        (4, 2, "a", "f", 20),
        (5, 2, "g", "m", 30),
        // Level 3 holds nothing of these keys.
        (6, 3, "zz", "zz", 1 << 40),
    ];
    let step = |specs: &[Spec<'_>], level| {
        let levels = levels(specs);
        let job = pick_step(&levels, b"", Bound::Unbounded, level, 99).unwrap();
        assert_eq!(job.target_run, Some(BASE_RUN));
        form(Some(job)).unwrap()
    };
    for (bytes, target, lower) in [(100, 4, vec![3, 4, 5, 7]), (101, 3, vec![3, 4, 5])] {
        let specs = [&upper[..], &[(7, 4, "b", "l", bytes)]].concat();
        assert_eq!(step(&specs, 0), (0, target, vec![2, 1], lower, false));
    }
    // A table that overlaps nothing below is moved only as far as it can be.
    let specs = [(1, 0, "a", "m", 10), (2, 2, "a", "m", 10)];
    assert_eq!(step(&specs, 0), (0, 1, vec![1], vec![], true));
}
