//! Where tables go that nothing overlaps.

use std::sync::Arc;

use super::pick::{Spec, levels};
use crate::compaction::{Claims, Input, Job, place_newest};
use crate::version::{BASE_RUN, Levels, Place, TableMeta};

const NEW: u64 = 30;

const TABLES: [Spec<'_>; 5] = [
    (1, 0, "d", "f", 10),
    (2, 1, "a", "c", 10),
    (3, 2, "h", "k", 10),
    (4, 2, "r", "t", 10),
    (5, 3, "m", "p", 10),
];

fn table(smallest: &str, largest: &str) -> TableMeta {
    let one = levels(&[(NEW, 0, smallest, largest, 10)]);
    one.level(0).next().unwrap().meta.clone()
}

/// The level of a new table.
fn level(levels: &Levels, claims: &Claims, smallest: &str, largest: &str) -> usize {
    let place = place_newest(levels, claims, &table(smallest, largest));
    let run = match place.level {
        0 => NEW,
        _ => BASE_RUN,
    };
    assert_eq!(place.run, run);
    place.level
}

#[test]
fn a_table_goes_as_deep_as_nothing_overlaps_it() {
    let levels = levels(&TABLES);
    let none = Claims::default();
    for (smallest, largest, deepest) in [
        ("u", "z", 3),
        ("f0", "g", 3),
        ("d0", "e", 0),
        ("b", "b", 0),
        ("i", "i", 1),
        // What is deeper does not matter if something above overlaps it.
        ("j", "n", 1),
        ("n", "n", 2),
        ("a", "z", 0),
    ] {
        let found = level(&levels, &none, smallest, largest);
        assert_eq!(found, deepest, "{smallest} to {largest}");
    }
}

#[test]
fn no_level_below_level_1_is_used_that_was_not() {
    let none = Claims::default();
    assert_eq!(level(&Levels::default(), &none, "a", "z"), 0);
    assert_eq!(level(&levels(&TABLES[..1]), &none, "e", "z"), 0);
    assert_eq!(level(&levels(&TABLES[..1]), &none, "x", "z"), 1);
    assert_eq!(level(&levels(&TABLES[..2]), &none, "x", "z"), 1);
}

/// The end of a range delete is not in the table, but all before it is.
#[test]
fn range_deletes_count_as_far_as_they_reach() {
    let levels = levels(&TABLES);
    for (excluded, level) in [(true, 2), (false, 0)] {
        let mut table = table("n", "r");
        table.largest_excluded = excluded;
        table.smallest = match excluded {
            true => (*b"n").into(),
            false => (*b"c").into(),
        };
        let place = place_newest(&levels, &Claims::default(), &table);
        assert_eq!(place.level, level);
    }
}

fn merge_of(levels: &Arc<Levels>, level: usize, numbers: &[u64], target_level: usize) -> Job {
    let run = &levels.runs(level)[0];
    let tables = run.tables().iter();
    let tables = tables.filter(|t| numbers.contains(&t.meta.number));
    Job {
        inputs: vec![Input::new(level, run, &tables.cloned().collect::<Vec<_>>())],
        target_level,
        target_run: Some(BASE_RUN),
        trivial: false,
    }
}

#[test]
fn merges_under_way_keep_their_ranges() {
    let levels = levels(&TABLES);
    let mut claims = Claims::default();
    // Its result may be one table from h to t.
    let merge = claims.take(&merge_of(&levels, 2, &[3, 4], 3));
    assert_eq!(level(&levels, &claims, "q", "q"), 2);
    assert_eq!(level(&levels, &claims, "u", "u"), 3);
    claims.release(merge);
    assert_eq!(level(&levels, &claims, "q", "q"), 3);
}

#[test]
fn a_claimed_place_keeps_merges_away() {
    let levels = levels(&TABLES);
    let mut claims = Claims::default();
    let job = merge_of(&levels, 2, &[3, 4], 3);
    for (smallest, largest, admitted) in [("q", "q", false), ("u", "u", true)] {
        let new = table(smallest, largest);
        let Place { level, .. } = place_newest(&levels, &claims, &new);
        let place = claims.take_place(level, &new);
        assert_eq!(claims.admits(&job), admitted);
        claims.release(place);
        assert!(claims.admits(&job) && claims.is_empty());
    }
}
