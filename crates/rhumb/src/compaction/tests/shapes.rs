//! What is picked for full-level merges and tiered compaction, also where another shape left
//! several runs, and which merges can run side by side.

use std::ops::Bound;
use std::sync::Arc;

use super::background::pick;
use super::pick::{Spec, levels_of};
use crate::compaction::{Claims, Job, pick_level, pick_step, pick_whole};
use crate::options::{self, Compaction};
use crate::sync::atomic::Ordering;
use crate::version::{LEVELS, Levels};

/// Number, level, run, smallest and largest key, bytes.
type Placed<'a> = (u64, usize, u64, &'a str, &'a str, u64);

fn levels(placed: &[Placed<'_>]) -> Arc<Levels> {
    let runs: Vec<u64> = placed.iter().map(|p| p.2).collect();
    let specs: Vec<Spec<'_>> = placed.iter().map(|p| (p.0, p.1, p.3, p.4, p.5)).collect();
    levels_of(&specs, |n| runs[n], |_| {})
}

fn shape(compaction: Compaction) -> options::Levels {
    options::Levels {
        compaction,
        size_ratio: 3,
        base_bytes: 1000,
        level0_tables: 2,
        granularity: options::Granularity::Table,
    }
}

/// The inputs (level and table numbers), target level, target run, whether trivial.
type Form = (Vec<(usize, Vec<u64>)>, usize, Option<u64>, bool);

fn form(job: &Job) -> Form {
    let inputs = job.inputs.iter().map(|input| {
        let numbers = input.tables.iter().map(|t| t.meta.number);
        (input.place.level, numbers.collect())
    });
    (
        inputs.collect(),
        job.target_level,
        job.target_run,
        job.trivial,
    )
}

fn picked(levels: &Levels, compaction: Compaction) -> Option<Form> {
    let job = pick(levels, &shape(compaction), &Claims::default());
    job.as_ref().map(form)
}

const LAST: usize = LEVELS - 1;

#[test]
fn a_full_level_goes_down_whole() {
    use Compaction::FullLevel;
    let next = [
        (4, 2, 0, "a", "b", 10),
        (5, 2, 0, "x", "z", 10),
        (6, 3, 0, "a", "z", 10),
    ];
    let full = [(2, 1, 0, "a", "c", 600), (3, 1, 0, "d", "e", 600)];
    let both = levels(&[&full[..], &next[..]].concat());
    let inputs = vec![(1, vec![2, 3]), (2, vec![4, 5])];
    assert_eq!(picked(&both, FullLevel), Some((inputs, 2, Some(0), false)));
    // With nothing below, the tables move unchanged.
    let alone = levels(&[&full[..], &next[2..]].concat());
    let inputs = vec![(1, vec![2, 3])];
    assert_eq!(picked(&alone, FullLevel), Some((inputs, 2, Some(0), true)));
    let level0 = [(7, 0, 7, "a", "c", 10), (8, 0, 8, "c", "e", 10)];
    let flushed = levels(&[&level0[..], &full[..1]].concat());
    let inputs = vec![(0, vec![8]), (0, vec![7]), (1, vec![2])];
    assert_eq!(
        picked(&flushed, FullLevel),
        Some((inputs, 1, Some(0), false))
    );
    // Runs of level 0 can move too, if they do not overlap.
    let apart = levels(&[(7, 0, 7, "a", "b", 10), (8, 0, 8, "c", "e", 10)]);
    let inputs = vec![(0, vec![8]), (0, vec![7])];
    assert_eq!(picked(&apart, FullLevel), Some((inputs, 1, Some(0), true)));
    assert_eq!(picked(&levels(&next), FullLevel), None);
}

#[test]
fn a_level_full_of_runs_becomes_a_run_of_the_next() {
    use Compaction::Tiered;
    let below = [(1, 2, 0, "a", "z", 1 << 40), (9, 2, 12, "a", "z", 10)];
    let runs = [
        (2, 1, 10, "a", "c", 10),
        (3, 1, 11, "a", "b", 10),
        (4, 1, 11, "c", "d", 10),
        (5, 1, 15, "b", "b", 10),
    ];
    let full = levels(&[&runs[..], &below[..]].concat());
    let inputs = vec![(1, vec![5]), (1, vec![3, 4]), (1, vec![2])];
    assert_eq!(picked(&full, Tiered), Some((inputs, 2, None, false)));
    // Two runs are allowed, whatever their sizes.
    let two = levels(&[&runs[1..], &below[..]].concat());
    assert_eq!(picked(&two, Tiered), None);
    // Runs of different keys become one run without a merge.
    let apart = levels(&[(7, 0, 7, "a", "b", 10), (8, 0, 8, "c", "e", 10)]);
    let inputs = vec![(0, vec![8]), (0, vec![7])];
    assert_eq!(picked(&apart, Tiered), Some((inputs, 1, None, true)));
    // The runs of the last level become one of their own level.
    let last = runs.map(|(n, _, run, from, to, bytes)| (n, LAST, run, from, to, bytes));
    let inputs = vec![(LAST, vec![5]), (LAST, vec![3, 4]), (LAST, vec![2])];
    assert_eq!(
        picked(&levels(&last), Tiered),
        Some((inputs, LAST, None, false))
    );
}

#[test]
fn several_runs_become_one_where_another_shape_left_them() {
    let stacked = levels(&[
        (1, 0, 40, "a", "z", 10),
        (2, 0, 41, "a", "z", 10),
        (3, 1, 30, "a", "k", 10),
        (4, 1, 20, "a", "c", 10),
        (5, 1, 20, "g", "h", 10),
        (6, 1, 10, "b", "f", 10),
        (7, 2, 0, "a", "z", 10),
    ]);
    // A table of the second oldest run joins the oldest run, the cheapest first: table 5 by itself.
    // Level 0 is full too, but has to wait: whoever asks for its merge gets what it waits for.
    let inputs = vec![(1, vec![5])];
    let first = Some((inputs, 1, Some(10), true));
    assert_eq!(picked(&stacked, Compaction::Leveled), first);
    let leveled = shape(Compaction::Leveled);
    let for_level0 = pick_level(&stacked, &leveled, 0, &Claims::default());
    assert_eq!(for_level0.as_ref().map(form), first);
    let inputs = vec![(1, vec![3]), (1, vec![4, 5]), (1, vec![6])];
    let first = Some((inputs, 1, Some(0), false));
    assert_eq!(picked(&stacked, Compaction::FullLevel), first);
    let then = levels(&[
        (3, 1, 30, "a", "k", 10),
        (4, 1, 20, "a", "c", 10),
        (5, 1, 10, "g", "h", 10),
        (6, 1, 10, "b", "f", 10),
    ]);
    let inputs = vec![(1, vec![4]), (1, vec![6])];
    let second = Some((inputs, 1, Some(10), false));
    assert_eq!(picked(&then, Compaction::Leveled), second);
}

#[test]
fn everything_of_a_range_is_merged_with_all_that_overlaps_it() {
    let all = levels(&[
        (90, 0, 90, "a", "z", 10),
        (50, 0, 50, "b", "c", 10),
        (3, 1, 30, "c", "d", 10),
        (4, 1, 30, "p", "q", 10),
        (5, 1, 20, "a", "a", 10),
        (6, 2, 12, "d", "e", 10),
        (7, 2, 12, "f", "g", 10),
        (8, 2, 0, "a", "b", 10),
        (9, 2, 0, "e", "f", 10),
    ]);
    let range = |from: &str, to: Bound<&str>, before| {
        let to = to.map(str::as_bytes);
        pick_whole(&all, Compaction::Leveled, from.as_bytes(), to, before)
    };
    // From b on through c, d, e and f to g, and through table 8 to a; table 90 came later.
    let job = range("b", Bound::Excluded("c"), 60).unwrap();
    let inputs = vec![
        (0, vec![50]),
        (1, vec![3]),
        (1, vec![5]),
        (2, vec![6, 7]),
        (2, vec![8, 9]),
    ];
    assert_eq!(form(&job), (inputs, 2, Some(0), false));
    assert!(pick_step(&all, b"", Bound::Unbounded, 1, 60).is_none());
    let job = range("p", Bound::Unbounded, 60).unwrap();
    assert_eq!(form(&job).0, [(1, vec![4])]);
    assert!(range("h", Bound::Excluded("p"), 60).is_none());
    // Where each level is one run, leveled compaction proceeds in steps.
    let one = levels(&[(1, 1, 0, "a", "z", 10), (2, 2, 0, "a", "z", 10)]);
    let whole = |compaction| pick_whole(&one, compaction, b"", Bound::Unbounded, 60);
    assert!(whole(Compaction::Leveled).is_none());
    let inputs = vec![(1, vec![1]), (2, vec![2])];
    assert_eq!(
        form(&whole(Compaction::FullLevel).unwrap()),
        (inputs, 2, Some(0), false)
    );
}

fn job(levels: &Levels, numbers: &[u64], target_level: usize, target_run: Option<u64>) -> Job {
    let mut job = Job {
        inputs: Vec::new(),
        target_level,
        target_run,
        trivial: false,
    };
    for (level, run) in levels.all_runs() {
        let tables = run.tables().iter();
        let tables = tables.filter(|t| numbers.contains(&t.meta.number)).cloned();
        let tables: Vec<_> = tables.collect();
        job.inputs
            .push(crate::compaction::Input::new(level, run, &tables));
    }
    job
}

#[test]
fn merges_run_side_by_side_if_neither_tables_nor_keys_meet() {
    let all = levels(&[
        (1, 1, 0, "a", "c", 10),
        (2, 1, 0, "d", "f", 10),
        (3, 1, 0, "k", "m", 10),
        (4, 2, 0, "c", "e", 10),
        (5, 2, 0, "l", "n", 10),
        (6, 3, 0, "a", "z", 10),
    ]);
    let mut claims = Claims::default();
    let first = claims.take(&job(&all, &[1, 4], 2, Some(0)));
    let admits = |claims: &Claims, numbers: &[u64], level, run| {
        claims.admits(&job(&all, numbers, level, run))
    };
    assert!(claims.has(4) && !claims.has(5));
    assert!(!admits(&claims, &[2, 4], 2, Some(0)), "table 4");
    assert!(!admits(&claims, &[2], 2, Some(0)), "keys from d to e");
    assert!(admits(&claims, &[2], 3, Some(0)));
    assert!(admits(&claims, &[3, 5], 2, Some(0)));
    assert!(admits(&claims, &[5, 6], 3, Some(0)));
    // New runs of a level are created one after the other.
    assert!(!admits(&claims, &[3, 5], 2, None));
    assert!(admits(&claims, &[5], 3, None));
    let second = claims.take(&job(&all, &[5], 3, None));
    assert!(!admits(&claims, &[2], 3, Some(0)));
    claims.release(first);
    assert!(admits(&claims, &[2, 4], 2, Some(0)));
    claims.release(second);
    assert!(admits(&claims, &[2], 3, None));
    assert!(claims.is_empty());
}

#[test]
fn tiers_wait_for_older_runs_that_are_being_merged() {
    let all = levels(&[
        (7, 0, 7, "a", "c", 10),
        (8, 0, 8, "a", "e", 10),
        (9, 0, 9, "g", "h", 10),
    ]);
    let tiered = shape(Compaction::Tiered);
    let mut claims = Claims::default();
    let id = claims.take(&job(&all, &[7], 3, Some(0)));
    assert!(pick(&all, &tiered, &claims).is_none());
    claims.release(id);
    assert!(pick(&all, &tiered, &claims).is_some());
}

/// A merge that somebody asks for writes anew what a running one writes of the same tables.
#[test]
fn merges_are_given_up_for_those_that_take_more() {
    let all = levels(&[
        (7, 0, 7, "a", "c", 10),
        (8, 0, 8, "a", "e", 10),
        (9, 1, 0, "a", "h", 10),
    ]);
    let begin = |claims: &mut Claims, may| {
        let given_up = Arc::default();
        let id = claims.take(&job(&all, &[7, 9], 1, Some(0)));
        if may {
            claims.allow_to_give_up(id, &given_up);
        }
        given_up
    };
    for (asked, may, expected) in [
        (&[7, 8, 9][..], true, true),
        (&[7, 8, 9], false, false),
        (&[7, 9], true, false),
        (&[7, 8], true, false),
    ] {
        let mut claims = Claims::default();
        let given_up = begin(&mut claims, may);
        claims.give_up_parts_of(&job(&all, asked, 1, Some(0)));
        assert_eq!(given_up.load(Ordering::Relaxed), expected, "{asked:?}");
    }
}
