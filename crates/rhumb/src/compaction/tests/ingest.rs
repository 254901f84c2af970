use super::pick::{Spec, levels};
use crate::compaction::ingest::{bottom_for, newest_places};
use crate::compaction::{Claims, pick_level};
use crate::options;
use crate::version::{BASE_RUN, LEVELS, Place, TableMeta};

/// Tables `a` to `c` in level 0, `g` to `i` in level 1, `m` to `o` in level 3 with two tables.
const SPECS: [Spec<'static>; 4] = [
    (1, 0, "a", "c", 10),
    (2, 1, "g", "i", 10),
    (3, 3, "m", "mm", 10),
    (4, 3, "n", "o", 10),
];

fn table(smallest: &str, largest: &str) -> TableMeta {
    let levels = levels(&[(9, 0, smallest, largest, 10)]);
    levels.tables().next().unwrap().1.meta.clone()
}

#[test]
fn tables_over_level_0_share_one_new_run() {
    let (levels, claims) = (levels(&SPECS), Claims::default());
    let tables = [
        table("b", "b"),
        table("d", "e"),
        table("h", "h"),
        table("mn", "p"),
    ];
    let runs = std::cell::Cell::new(0);
    let new_run = || {
        runs.set(runs.get() + 1);
        77
    };
    let places = newest_places(&levels, &claims, &tables, LEVELS - 1, new_run);
    let place = |level, run| Place { level, run };
    let bottom = place(LEVELS - 1, BASE_RUN);
    assert_eq!(
        places,
        [place(0, 77), bottom, place(0, 77), place(2, BASE_RUN)]
    );
    assert_eq!(runs.get(), 1);
}

#[test]
fn tables_go_no_deeper_than_others_unless_they_are_too_large() {
    let shape = options::Levels {
        size_ratio: 10,
        base_bytes: 100,
        ..options::Levels::default()
    };
    let filled = levels(&SPECS);
    let none = levels(&[]);
    for (levels, bytes, expected) in [
        (&none, 1, 1),
        (&none, 100, 1),
        (&none, 101, 2),
        (&none, 100_000, 4),
        (&none, u64::MAX, LEVELS - 1),
        (&filled, 1, 3),
        // Level 3 has 20 bytes of 10,000.
        (&filled, 9_980, 3),
        (&filled, 9_981, 4),
        (&filled, u64::MAX, LEVELS - 1),
    ] {
        assert_eq!(bottom_for(levels, &shape, bytes), expected, "{bytes} bytes");
    }
    let claims = Claims::default();
    let (inside, beside) = (table("mn", "mo"), table("d", "e"));
    for bottom in 0..LEVELS {
        let places = newest_places(&filled, &claims, [&inside, &beside], bottom, || 77);
        assert_eq!(
            places.iter().map(|place| place.level).collect::<Vec<_>>(),
            [bottom, bottom]
        );
    }
}

/// A merge of tables whose sequence is not published yet could drop older versions that are still read.
#[test]
fn new_tables_are_not_merged_while_their_places_are_claimed() {
    let options = options::Levels {
        level0_tables: 1,
        base_bytes: 1,
        ..options::Levels::default()
    };
    for level in 0..2 {
        let before = (9, 2, "a", "z", 10);
        let levels = levels(&[(1, level, "b", "c", 10), before]);
        let mut claims = Claims::default();
        let tables = levels
            .tables()
            .map(|(place, table)| (place, table.meta.clone()));
        let adds: Vec<_> = tables.filter(|(place, _)| place.level == level).collect();
        assert_eq!(adds.len(), 1);
        let places = adds.iter();
        let ids: Vec<u64> = places
            .map(|(place, table)| claims.take_place(place.level, table))
            .collect();
        assert!(pick_level(&levels, &options, level, &claims).is_none());
        ids.into_iter().for_each(|id| claims.release(id));
        assert!(pick_level(&levels, &options, level, &claims).is_some());
    }
}
