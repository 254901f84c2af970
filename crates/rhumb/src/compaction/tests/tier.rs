//! What is picked over a learned tier, and where its tables end.

use std::ops::Bound;
use std::sync::Arc;

use super::background::pick;
use super::fixture::{KEYS, Operation, Store, key, memory, small_tables};
use super::pick::{Spec, levels_of};
use crate::compaction::ranges::{Ranges, TIER};
use crate::compaction::{
    Claims, Job, Victims, full_levels, pick_collection, pick_conversion, pick_level, pick_stack,
};
use crate::options::{self, Compaction, TierForm, TierSpec};
use crate::table::ValueUse;
use crate::version::{BASE_RUN, Levels, TableMeta};
use crate::vlog::{HEADER_BYTES, ValueFileMeta};

const TIER_SPEC: TierSpec = TierSpec {
    form: TierForm::Keys,
    range_bytes: 1_000,
    runs: 3,
    filter_bits_per_key: 10,
    concurrent_probes: false,
};
const SHAPE: options::Levels = options::Levels {
    compaction: Compaction::LearnedTier(TIER_SPEC),
    size_ratio: 4,
    base_bytes: 1,
    level0_tables: 2,
    granularity: options::Granularity::Table,
};

/// Tables of the tier are in one run, those of other levels are runs of their numbers.
fn levels(specs: &[Spec<'_>]) -> Arc<Levels> {
    levels_with(specs, |_| {})
}

fn levels_with(specs: &[Spec<'_>], change: impl Fn(&mut TableMeta)) -> Arc<Levels> {
    let run = |n: usize| match specs[n] {
        (_, TIER, ..) => BASE_RUN,
        (number, level, ..) => match level {
            // Runs of two tables.
            1 => number / 2 * 2,
            _ => number,
        },
    };
    levels_of(specs, run, change)
}

/// Its inputs' numbers with their levels, its target level and run, and whether the tables only move.
type Form = (Vec<(usize, u64)>, usize, Option<u64>, bool);

fn form(job: &Job) -> Form {
    let inputs = job.inputs.iter().flat_map(|input| {
        let tables = input.tables.iter();
        tables.map(|t| (input.place.level, t.meta.number))
    });
    (
        inputs.collect(),
        job.target_level,
        job.target_run,
        job.trivial,
    )
}

fn picked(levels: &Levels) -> Option<Form> {
    pick(levels, &SHAPE, &Claims::default()).map(|job| form(&job))
}

/// Three ranges: up to `g`, up to `n`, and from there on.
const RANGES: [Spec<'static>; 3] = [
    (1, TIER, "b", "f", 1_000),
    (2, TIER, "g", "m", 1_000),
    (3, TIER, "n", "y", 1_000),
];

#[test]
fn a_range_is_converted_alone() {
    let above = |bytes| {
        let first = [(10, 1, "a", "c", bytes), (11, 1, "g", "h", 10)];
        let second = [(12, 1, "d", "f", 10), (13, 1, "o", "p", 10)];
        levels(&[&RANGES[..], &first, &second].concat())
    };
    assert_eq!(picked(&above(230)), None);
    let inputs = vec![(1, 12), (1, 10), (TIER, 1)];
    assert_eq!(
        picked(&above(240)),
        Some((inputs, TIER, Some(BASE_RUN), false))
    );
}

/// What stands above is small beside the range: it becomes one run, and nothing of the tier is written.
#[test]
fn runs_above_a_large_range_are_merged_with_each_other() {
    let runs = [
        (10, 1, "g", "h", 10),
        (12, 1, "h", "m", 10),
        (14, 1, "i", "k", 10),
        (15, 1, "n", "o", 10),
    ];
    let two = levels(&[&RANGES[..], &runs[..2]].concat());
    assert_eq!(picked(&two), None);
    let three = levels(&[&RANGES[..], &runs].concat());
    let inputs = vec![(1, 14), (1, 12), (1, 10)];
    assert_eq!(picked(&three), Some((inputs, 1, Some(14), false)));
}

/// A table that reaches many ranges is cut first, so that no conversion takes all of these.
#[test]
fn a_table_over_many_ranges_is_cut_before_they_are_converted() {
    let mut specs = RANGES.to_vec();
    specs.push((4, TIER, "z", "zz", 1_000));
    specs.extend([(10, 3, "f", "zzz", 900), (12, 1, "b", "c", 900)]);
    let wide = levels(&specs);
    let cut = Some((vec![(3, 10)], 3, Some(10), false));
    assert_eq!(picked(&wide), cut);
    // Over three ranges it goes with them.
    let specs: Vec<_> = specs.into_iter().filter(|spec| spec.0 != 4).collect();
    let inputs = vec![(1, 12), (3, 10), (TIER, 1), (TIER, 2), (TIER, 3)];
    assert_eq!(
        picked(&levels(&specs)),
        Some((inputs, TIER, Some(BASE_RUN), false))
    );
}

/// Deletes take few bytes, and what they hide may be much.
#[test]
fn deletes_are_brought_to_the_tier_however_small_they_are() {
    let above = |deletes, range_deletes| {
        let specs = [&RANGES[..], &[(10, 1, "h", "i", 1)]].concat();
        levels_with(&specs, |meta| match meta.number {
            10 => (meta.deletes, meta.range_deletes) = (deletes, range_deletes),
            _ => meta.entries = 1_000,
        })
    };
    let converted = Some((vec![(1, 10), (TIER, 2)], TIER, Some(BASE_RUN), false));
    assert_eq!(picked(&above(249, 0)), None);
    assert_eq!(picked(&above(250, 0)), converted);
    assert_eq!(picked(&above(0, 24)), None);
    assert_eq!(picked(&above(0, 25)), converted);
}

/// Where a range and its neighbour are small they become one.
#[test]
fn small_ranges_are_joined() {
    let ranges = |first, second| {
        let specs = [
            (1, TIER, "b", "f", first),
            (2, TIER, "g", "m", second),
            (3, TIER, "n", "y", 1_000),
            (10, 1, "b", "c", 60),
        ];
        picked(&levels(&specs)).map(|job| job.0)
    };
    assert_eq!(ranges(189, 499), Some(vec![(1, 10), (TIER, 1), (TIER, 2)]));
    assert_eq!(ranges(189, 500), Some(vec![(1, 10), (TIER, 1)]));
    assert_eq!(ranges(190, 499), Some(vec![(1, 10), (TIER, 1)]));
}

/// Files that are to be emptied may come to hold no garbage, while others do. They are emptied all the same: others are
/// chosen only when they are gone, and writers may wait for that. Regression test: with values beside their keys, nothing was picked.
#[test]
fn files_that_came_into_full_use_are_emptied() {
    let compaction = Compaction::LearnedTier(TierSpec {
        form: TierForm::Inline,
        ..TIER_SPEC
    });
    let with_values = |first: u64, second: u64| {
        levels_with(&RANGES, |meta| {
            let values = |file, bytes| ValueUse {
                file,
                meta: ValueFileMeta {
                    bytes: 1_000 + HEADER_BYTES as u64,
                    group: None,
                },
                entries: 1,
                bytes,
            };
            meta.values = match meta.number {
                1 => vec![values(50, first)],
                2 => vec![values(51, second)],
                _ => Vec::new(),
            };
        })
    };
    let mut victims = Victims::default();
    let tier = compaction.tier();
    let before = with_values(900, 1_000);
    assert!(victims.update(&before, 0, tier, None).is_some());
    let after = with_values(1_000, 900);
    assert!(victims.update(&after, 0, tier, None).is_some());
    assert!(victims.files().iter().eq(&[50]));
    let claims = Claims::default();
    let picked = pick_collection(&after, &victims, (compaction, 0), &claims, |_| false);
    assert_eq!(form(&picked.unwrap().job).0, [(TIER, 1)]);
}

/// Level 0 goes first, but conversions do not wait for ever, nor for runs that are being stacked.
#[test]
fn conversions_are_not_starved_by_level_0() {
    let full = |bytes, runs: u64, claims: &Claims| {
        let mut specs = [&RANGES[..], &[(10, 1, "b", "c", bytes)]].concat();
        specs.extend((20..20 + runs).map(|n| (n, 0, "a", "z", 10)));
        let levels = levels(&specs);
        let full = full_levels(&levels, &SHAPE, 30, claims, &mut Default::default());
        full.iter().map(|(level, _)| *level).collect::<Vec<_>>()
    };
    let none = Claims::default();
    assert_eq!(full(300, 2, &none), [0]);
    assert_eq!(full(500, 11, &none), [1]);
    assert_eq!(full(500, 12, &none), [0]);
    let specs = [(20, 0, "a", "z", 10), (21, 0, "a", "z", 10)];
    let stack = pick_level(&levels(&specs), &SHAPE, 0, &none).unwrap();
    let mut claims = Claims::default();
    claims.take(&stack);
    assert_eq!(full(300, 3, &claims), [1]);
}

/// Level 0 waits only for a conversion that can begin.
#[test]
fn level_0_does_not_wait_for_conversions_that_wait_themselves() {
    let mut specs = [&RANGES[..], &[(10, 1, "b", "c", 900)]].concat();
    let mut claims = Claims::default();
    claims.take(&pick(&levels(&specs), &SHAPE, &claims).unwrap());
    specs.extend((20..25).map(|n| (n, 0, "a", "z", 10)));
    let full = |claims: &Claims| {
        let full = full_levels(&levels(&specs), &SHAPE, 30, claims, &mut Default::default());
        full.iter().map(|(level, _)| *level).collect::<Vec<_>>()
    };
    assert_eq!(full(&Claims::default()), [1]);
    assert_eq!(full(&claims), [0]);
}

const PUBLISHED: TierSpec = TierSpec {
    form: TierForm::Published,
    ..TIER_SPEC
};

/// As published, the store is one range, which is converted when what stands above is as large.
#[test]
fn the_published_form_converts_the_whole_store() {
    let shape = options::Levels {
        compaction: Compaction::LearnedTier(PUBLISHED),
        ..SHAPE
    };
    let above = |bytes| {
        let specs = [
            &RANGES[..],
            &[(10, 1, "a", "z", bytes), (12, 1, "a", "c", 10)],
        ];
        let job = pick(&levels(&specs.concat()), &shape, &Claims::default());
        job.map(|job| form(&job))
    };
    assert_eq!(above(2_989), None);
    let inputs = vec![(1, 12), (1, 10), (TIER, 1), (TIER, 2), (TIER, 3)];
    assert_eq!(above(2_990), Some((inputs, TIER, Some(BASE_RUN), false)));
}

/// As published, garbage makes all values move, but those that were written since.
#[test]
fn the_published_form_empties_all_files_below_level_0() {
    let compaction = Compaction::LearnedTier(PUBLISHED);
    let specs = [&RANGES[..], &[(10, 1, "a", "c", 10), (20, 0, "a", "c", 10)]];
    let all = levels_with(&specs.concat(), |meta| {
        let file = 50 + meta.number;
        let values = ValueUse {
            file,
            meta: ValueFileMeta {
                bytes: 1_000 + HEADER_BYTES as u64,
                group: None,
            },
            entries: 1,
            bytes: 800,
        };
        meta.values = vec![values];
    });
    let mut victims = Victims::default();
    let tier = compaction.tier();
    assert!(victims.update(&all, 100, tier, None).is_none());
    assert!(victims.update(&all, 20, tier, None).is_some());
    assert!(victims.files().iter().eq(&[51, 52, 53, 60]));
    let claims = Claims::default();
    let picked = pick_collection(&all, &victims, (compaction, 20), &claims, |_| false);
    let picked = form(&picked.unwrap().job);
    let inputs = vec![(1, 10), (TIER, 1), (TIER, 2), (TIER, 3)];
    assert_eq!(picked, (inputs, TIER, Some(BASE_RUN), false));
}

/// Two ranges are converted at once, and a third job stacks what was flushed.
#[test]
fn ranges_do_not_wait_for_each_other() {
    let mut specs = RANGES.to_vec();
    specs.extend([(10, 1, "b", "c", 300), (11, 1, "n", "o", 400)]);
    specs.extend([(20, 0, "a", "z", 10), (21, 0, "a", "z", 10)]);
    let levels = levels(&specs);
    let mut claims = Claims::default();
    // Level 0 goes first.
    let full = full_levels(&levels, &SHAPE, 30, &claims, &mut Default::default());
    assert_eq!(
        full.iter().map(|(level, _)| *level).collect::<Vec<_>>(),
        [0]
    );
    for (level, inputs) in [
        (1, vec![(1, 11), (TIER, 3)]),
        (1, vec![(1, 10), (TIER, 1)]),
        (0, vec![(0, 21), (0, 20)]),
    ] {
        let job = pick_level(&levels, &SHAPE, level, &claims).unwrap();
        assert_eq!(form(&job).0, inputs);
        claims.take(&job);
    }
    assert!(pick_level(&levels, &SHAPE, 1, &claims).is_none());
}

/// The deepest run of another shape becomes the tier as it is.
#[test]
fn a_store_of_another_shape_begins_with_its_deepest_run() {
    let other = levels(&[
        (5, 4, "a", "f", 900),
        (6, 2, "a", "c", 10),
        (7, 1, "a", "f", 10),
    ]);
    assert_eq!(
        picked(&other),
        Some((vec![(4, 5)], TIER, Some(BASE_RUN), true))
    );
    // A second run of the tier counts as above it.
    let run = |n: usize| [0, 4][n];
    let two = levels_of(
        &[(1, TIER, "a", "f", 100), (4, TIER, "b", "c", 50)],
        run,
        |_| {},
    );
    let inputs = vec![(TIER, 4), (TIER, 1)];
    assert_eq!(picked(&two), Some((inputs, TIER, Some(BASE_RUN), false)));
}

#[test]
fn what_is_asked_for_is_stacked_and_then_converted_range_by_range() {
    let mut specs = RANGES.to_vec();
    specs.extend([(10, 1, "h", "i", 1)]);
    specs.extend([(20, 0, "a", "z", 10), (22, 0, "a", "z", 10)]);
    let levels = levels(&specs);
    let all = (&b""[..], Bound::Unbounded);
    let stack = |before| pick_stack(&levels, TIER_SPEC, all, before).map(|job| form(&job));
    assert_eq!(stack(22), Some((vec![(0, 20)], 1, None, false)));
    assert_eq!(stack(20), None);
    // The tables have sequences, so all are due.
    let converted = |from: &[u8]| {
        let job = pick_conversion(&levels, TIER_SPEC, (from, Bound::Unbounded))?;
        let next = job.hull()?.next_key();
        Some((form(&job).0, next))
    };
    assert_eq!(
        converted(b""),
        Some((vec![(TIER, 1)], Some(b"f\0".to_vec())))
    );
    let second = Some((vec![(1, 10), (TIER, 2)], Some(b"m\0".to_vec())));
    assert_eq!(converted(b"f\0"), second);
    assert_eq!(converted(b"y\0"), None);
}

#[test]
fn tables_above_the_tier_end_where_ranges_end() {
    let mut store = Store::new(memory(), small_tables());
    store.tier = Some(TierSpec {
        range_bytes: 600,
        ..TIER_SPEC
    });
    let all = (&b""[..], Bound::Unbounded);
    let stack = |store: &mut Store| {
        store.flush().unwrap();
        let job = pick_stack(&store.levels, TIER_SPEC, all, u64::MAX).unwrap();
        assert!(!job.trivial || Ranges::of(&store.levels, TIER_SPEC).count() == 1);
        let outcome = store.run(&job).unwrap();
        store.install(&outcome);
    };
    for number in 0..KEYS {
        store.write(Operation::Put(key(number), vec![7; 50]));
    }
    stack(&mut store);
    while let Some(job) = pick_conversion(&store.levels, TIER_SPEC, all) {
        let outcome = store.run(&job).unwrap();
        store.install(&outcome);
    }
    let ranges = store.levels.runs(TIER)[0].tables().len();
    assert!(ranges > 3, "{ranges}");
    for number in (0..KEYS).step_by(3) {
        store.write(Operation::Put(key(number), vec![8; 50]));
    }
    store.write(Operation::DeleteRange(key(3), key(70)));
    store.write(Operation::Put(key(40), vec![9; 50]));
    stack(&mut store);
    let above = store.levels.runs(1)[0].tables();
    for table in above {
        let m = &table.meta;
        let inside = |cut: &&[u8]| &*m.smallest < *cut && !m.ends_before(cut);
        assert_eq!(
            Ranges::of(&store.levels, TIER_SPEC)
                .cuts()
                .filter(inside)
                .count(),
            0
        );
    }
    assert!(above.len() > 3, "{}", above.len());
    store.check();
    store.check_files();
}
