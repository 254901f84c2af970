use std::path::Path;

use super::*;
use crate::fs::{FileSystem, MemoryFileSystem};
use crate::version::{Files, LookUp, Place, TableMeta};

const WAIT: Duration = Duration::from_millis(50);

/// Tables of a level, by their numbers and entries.
fn levels(level: usize, tables: &[(u64, u64)]) -> Arc<Levels> {
    let fs: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::default());
    let files = Files::uncached(&fs, Path::new("store")).unwrap();
    let tables = tables.iter().map(|&(number, entries)| {
        let key: Box<[u8]> = number.to_be_bytes().into();
        let meta = TableMeta {
            number,
            file_bytes: 1000,
            sections_offset: 900,
            table_id: number,
            entries,
            deletes: 0,
            range_deletes: 0,
            smallest: key.clone(),
            largest: key,
            largest_excluded: false,
            smallest_sequence: 1,
            largest_sequence: 1,
            map_number: 0,
            index_kind: "fp".to_string(),
            values: Vec::new(),
            hides: 0,
        };
        (Place { level, run: 0 }, meta)
    });
    Levels::new(&files, tables).unwrap()
}

/// Asks every table so often with a model and without, which take these times.
fn ask(levels: &Levels, gets: usize, [without, with]: [u64; 2]) {
    for (_, table) in levels.tables() {
        for (by_model, nanos) in [(false, without), (true, with)] {
            for serves in [false, true] {
                let has_read = false;
                let look_up = LookUp {
                    serves,
                    by_model,
                    has_read,
                };
                (0..gets).for_each(|_| table.follow().note(look_up, nanos));
            }
        }
    }
}

fn numbered(next: Next) -> u64 {
    match next {
        Next::Learn { table, .. } => table.meta.number,
        other => panic!("{other:?}"),
    }
}

fn learn(learner: &Learner, levels: &Arc<Levels>, now: Instant) -> u64 {
    let Next::Learn { table, .. } = learner.next(levels, now) else {
        panic!("nothing to learn");
    };
    let time = Duration::from_nanos(table.meta.entries);
    learner.note(&table, Learned::Model { bytes: 100, time });
    table.meta.number
}

#[test]
fn tables_wait_before_they_are_learned() {
    let (learner, start) = (Learner::new(WAIT), Instant::now());
    let levels = levels(1, &[(7, 1_000)]);
    assert!(matches!(learner.next(&levels, start), Next::In(wait) if wait == WAIT));
    let next = learner.next(&levels, start + WAIT / 2);
    assert!(matches!(next, Next::In(wait) if wait == WAIT / 2));
    assert_eq!(learn(&learner, &levels, start + WAIT), 7);
    assert!(matches!(learner.next(&levels, start + WAIT), Next::Nothing));
    let (stats, _) = learner.stats();
    assert_eq!((stats.tables, stats.learned, stats.bytes), (1, 1, 100));
}

/// Twenty tables that come and go: what models save in them decides on those that follow.
fn behind_twenty(nanos: [u64; 2]) -> (Learner, Instant) {
    let (learner, mut now) = (Learner::new(WAIT), Instant::now());
    for number in 0..20 {
        let levels = levels(1, &[(number, 1_000)]);
        learner.next(&levels, now);
        now += 2 * WAIT;
        assert_eq!(learn(&learner, &levels, now), number);
        ask(&levels, 100, nanos);
    }
    learner.next(&levels(1, &[]), now);
    (learner, now)
}

#[test]
fn the_table_that_gains_most_is_learned_first() {
    let (learner, start) = behind_twenty([400, 300]);
    let levels = levels(1, &[(100, 1_000), (101, 3_000), (102, 2_000)]);
    learner.next(&levels, start);
    let now = start + WAIT;
    let order = [(); 3].map(|()| learn(&learner, &levels, now));
    assert_eq!(order, [101, 102, 100]);
    // Twenty before, each of which was asked by models 200 times of which one in 64 was timed.
    assert_eq!(learner.stats().0.look_ups, 20 * 200 * 64);
}

#[test]
fn tables_that_are_not_worth_it_are_left() {
    let (learner, start) = behind_twenty([300, 300]);
    let levels = levels(1, &[(100, 1_000)]);
    learner.next(&levels, start);
    assert!(matches!(learner.next(&levels, start + WAIT), Next::Nothing));
    // Nothing is known of other levels yet.
    let other = super::tests::levels(2, &[(200, 1_000)]);
    learner.next(&other, start);
    assert_eq!(numbered(learner.next(&other, start + WAIT)), 200);
}

/// Of tables of which nothing is known, that one is first which is asked most.
#[test]
fn look_ups_decide_as_long_as_nothing_is_known() {
    let (learner, start) = (Learner::new(WAIT), Instant::now());
    let levels = levels(1, &[(1, 10), (2, 10), (3, 10)]);
    learner.next(&levels, start);
    let second = levels.tables().find(|(_, t)| t.meta.number == 2);
    second.unwrap().1.follow().note_filtered(false);
    assert_eq!(learn(&learner, &levels, start + WAIT), 2);
}

#[test]
fn failures_are_told_and_not_repeated() {
    let (learner, start) = (Learner::new(Duration::ZERO), Instant::now());
    let levels = levels(1, &[(1, 10), (2, 10)]);
    for learned in [Learned::Failed(Error::Closed), Learned::Modelled] {
        let Next::Learn { table, .. } = learner.next(&levels, start) else {
            panic!("nothing to learn");
        };
        learner.note(&table, learned);
    }
    assert!(matches!(learner.next(&levels, start), Next::Nothing));
    let (stats, failure) = learner.stats();
    assert_eq!((stats.failed, stats.modelled, stats.tables), (1, 1, 0));
    assert!(failure.is_some());
}

/// Keys that are numbered alike are likely to be as unfit as those of the tables before.
#[test]
fn tables_are_not_tried_behind_three_in_a_row_that_are_unfit() {
    let (learner, now) = (Learner::new(Duration::ZERO), Instant::now());
    let note = |levels: &Arc<Levels>, learned| {
        let Next::Learn { table, .. } = learner.next(levels, now) else {
            panic!("nothing to learn");
        };
        learner.note(&table, learned);
    };
    let (bytes, time) = (100, Duration::from_nanos(10));
    let six = levels(1, &[1, 2, 3, 4, 5, 6].map(|number| (number, 10)));
    note(&six, Learned::Unfit);
    note(&six, Learned::Unfit);
    note(&six, Learned::Model { bytes, time });
    note(&six, Learned::Unfit);
    note(&six, Learned::Unfit);
    note(&six, Learned::Unfit);
    let seven = levels(1, &[1, 2, 3, 4, 5, 6, 7].map(|number| (number, 10)));
    assert!(matches!(learner.next(&seven, now), Next::Nothing));
    let (stats, failure) = learner.stats();
    assert_eq!((stats.tables, stats.unfit, stats.waiting), (1, 6, 0));
    assert!(stats.failed == 0 && failure.is_none());
    // Once all of them are gone, others are tried.
    learner.next(&levels(1, &[]), now);
    note(&levels(1, &[(8, 10)]), Learned::Model { bytes, time });
}

/// Tables that did not live for as long as others wait say nothing of those that do.
#[test]
fn short_lives_do_not_count() {
    let (learner, mut now) = (Learner::new(WAIT), Instant::now());
    for number in 0..100 {
        let levels = levels(1, &[(number, 1_000)]);
        learner.next(&levels, now);
        ask(&levels, 100, [300, 400]);
        now += WAIT / 2;
    }
    let levels = levels(1, &[(100, 1_000)]);
    learner.next(&levels, now);
    assert_eq!(learn(&learner, &levels, now + WAIT), 100);
}
