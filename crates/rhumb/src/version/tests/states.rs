use super::*;

#[test]
fn a_snapshot_edit_gives_the_state_back() {
    let mut state = begun();
    let changes = vec![
        Change::NextFile(70),
        Change::LastSequence(1000),
        Change::Log {
            id: 9,
            valid_end: 4711,
        },
        Change::Log {
            id: 80,
            valid_end: 1,
        },
        Change::RemoveLog(9),
        Change::LowestUnflushed {
            keyspace: 1,
            sequence: 77,
        },
        Change::CreateKeyspace {
            id: 4,
            name: "other".to_string(),
        },
        add(0, table(10, "a", "z")),
        add(0, table(11, "a", "z")),
        add(3, table(12, "a", "c")),
        add(3, table(13, "d", "e")),
        add_at(3, 90, table(14, "b", "d")),
    ];
    state.apply(&changes.into()).unwrap();
    let mut again = State::new(&files());
    again.apply(&state.snapshot_edit()).unwrap();
    assert_eq!(again.snapshot_edit(), state.snapshot_edit());
    // Later runs must get larger numbers too.
    assert_eq!(state.next_file, 91);
    assert_eq!(state.next_keyspace_id, 5);
    assert_eq!(
        state.logs.into_iter().collect::<Vec<_>>(),
        [(80, LogState::Ended(1))]
    );
}

#[test]
fn edits_that_do_not_fit_are_refused() {
    let unfit = [
        vec![Change::DropKeyspace(2)],
        vec![Change::CreateKeyspace {
            id: 1,
            name: "new".to_string(),
        }],
        vec![Change::CreateKeyspace {
            id: 2,
            name: "default".to_string(),
        }],
        vec![Change::CreateKeyspace {
            id: u32::MAX,
            name: "new".to_string(),
        }],
        vec![Change::LowestUnflushed {
            keyspace: 2,
            sequence: 1,
        }],
        vec![add(7, table(5, "a", "b"))],
        vec![add(0, table(1, "a", "b"))],
        vec![add(0, table(u64::MAX, "a", "b"))],
        vec![add(6, table(5, "a", "zz1"))],
        vec![add(6, table(5, "zz2", "zz2"))],
        vec![add(6, table(5, "zz11", "zz12"))],
        vec![add(6, table(5, "a", "zzz"))],
        vec![add(1, table(5, "a", "c")), add(1, table(6, "b", "d"))],
        vec![
            add_at(0, 9, table(5, "a", "c")),
            add_at(0, 9, table(6, "c", "d")),
        ],
        vec![add_at(0, u64::MAX, table(5, "a", "b"))],
        vec![add_at(1, 9, table(1, "a", "b"))],
        vec![remove(6, 2)],
        vec![remove(5, 1)],
        vec![Change::KeyMap {
            keyspace: 1,
            number: 0,
            map: map(&["other"]),
        }],
        vec![Change::KeyMap {
            keyspace: 1,
            number: 3,
            map: vec![200, 1, 1],
        }],
        vec![add(
            0,
            TableMeta {
                map_number: 8,
                ..table(5, "a", "b")
            },
        )],
    ];
    for changes in unfit {
        let mut state = begun();
        // What comes before the unfit change fits.
        let fit = [Change::NextFile(99), Change::DropKeyspace(3), remove(6, 50)];
        let create = Change::CreateKeyspace {
            id: 3,
            name: "third".to_string(),
        };
        state
            .apply(&vec![create, add(6, table(50, "zzz", "zzz"))].into())
            .unwrap();
        let known = state.snapshot_edit();
        let edit = Edit::from([&fit[..], &changes].concat());
        assert!(state.apply(&edit).is_err(), "{edit:?}");
        assert_eq!(state.snapshot_edit(), known, "{edit:?}");
    }
}

#[test]
fn neighbours_that_only_touch_fit() {
    let mut state = begun();
    let before = TableMeta {
        largest_excluded: true,
        ..table(5, "a", "zz1")
    };
    state
        .apply(&vec![add(6, before), add(6, table(6, "zz20", "zz3"))].into())
        .unwrap();
    let over = vec![
        remove(6, 6),
        add(6, table(7, "zz20", "zz3")),
        add(0, table(8, "a", "zzz")),
    ];
    state.apply(&over.into()).unwrap();
    let tables = state.keyspaces[&1]
        .levels
        .tables()
        .map(|(place, t)| (place.level, t.meta.number));
    assert_eq!(tables.collect::<Vec<_>>(), [(0, 8), (6, 5), (6, 1), (6, 7)]);
}

#[test]
fn tables_of_different_runs_may_overlap_and_change_their_runs() {
    let mut state = begun();
    let changes = vec![
        add_at(6, 20, table(5, "zz1", "zz3")),
        add_at(6, 21, table(6, "zz1", "zz3")),
    ];
    state.apply(&changes.into()).unwrap();
    let places = |state: &State| {
        let tables = state.keyspaces[&1].levels.tables();
        let places = tables.map(|(place, t)| (place.run, t.meta.number));
        places.collect::<Vec<_>>()
    };
    assert_eq!(places(&state), [(21, 6), (20, 5), (0, 1)]);
    let moved = vec![
        remove(6, 1),
        remove(6, 5),
        add_at(6, 0, table(5, "zz1", "zz3")),
    ];
    state.apply(&moved.into()).unwrap();
    assert_eq!(places(&state), [(21, 6), (0, 5)]);
    let over = vec![remove(6, 6), add_at(6, 0, table(6, "zz1", "zz3"))];
    assert!(state.apply(&over.into()).is_err());
}

#[test]
fn maps_go_with_the_last_table_and_their_numbers_do_not_come_back() {
    let mut state = begun();
    let moved = vec![
        remove(6, 1),
        Change::KeyMap {
            keyspace: 1,
            number: 1,
            map: map(&["b"]),
        },
        Change::KeyMap {
            keyspace: 1,
            number: 5,
            map: map(&["unused"]),
        },
        add(
            6,
            TableMeta {
                map_number: 1,
                ..table(2, "a", "b")
            },
        ),
    ];
    state.apply(&moved.into()).unwrap();
    let keyspace = &state.keyspaces[&1];
    assert_eq!(
        keyspace
            .maps
            .by_number()
            .keys()
            .copied()
            .collect::<Vec<_>>(),
        [1]
    );
    assert_eq!(keyspace.maps.next(), 6);
    state.apply(&vec![Change::DropKeyspace(1)].into()).unwrap();
    assert!(state.keyspaces.is_empty());
    assert_eq!(state.next_keyspace_id, 2);
}

/// What is kept back by a flush is replayed, and yet it stays known how far the logs were durable.
#[test]
fn a_flush_that_keeps_back_says_how_far_the_logs_reach() {
    let mut state = begun();
    let check = |state: &State, lowest: u64, through: u64| {
        assert_eq!(state.keyspaces[&1].lowest_unflushed, lowest);
        assert_eq!(state.last_flushed(), through);
    };
    for (through, lowest) in [(80, 81), (95, 40), (120, 90), (121, 122)] {
        let changes: Vec<Change> = Change::flushed(1, through, lowest).collect();
        state.apply(&changes.into()).unwrap();
        check(&state, lowest, through);
        let mut again = State::new(&files());
        again.apply(&state.snapshot_edit()).unwrap();
        check(&again, lowest, through);
        assert_eq!(again.snapshot_edit(), state.snapshot_edit());
    }
}
