use std::path::Path;

use super::*;
use crate::fs::{FileSystem, MemoryFileSystem};
use crate::version::{Files, LookUp, Place, TableMeta};

const WAIT: Duration = Duration::from_millis(50);

fn by_tables(wait: Duration) -> Learner {
    Learner::new(wait, Covers::Table)
}

/// Tables of a level, by their numbers and entries.
fn levels(level: usize, tables: &[(u64, u64)]) -> Arc<Levels> {
    let of_one_map = tables
        .iter()
        .map(|&(number, entries)| (level, number, entries, 0));
    levels_of(&of_one_map.collect::<Vec<_>>())
}

/// Tables by their levels, numbers, entries and key maps.
fn levels_of(tables: &[(usize, u64, u64, u64)]) -> Arc<Levels> {
    let fs: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::default());
    let files = Files::uncached(&fs, Path::new("store")).unwrap();
    let tables = tables.iter().map(|&(level, number, entries, map_number)| {
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
            map_number,
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
        Next::Learn(task) => task.tables[0].meta.number,
        other => panic!("{other:?}"),
    }
}

fn learn(learner: &Learner, levels: &Arc<Levels>, now: Instant) -> u64 {
    let Next::Learn(task) = learner.next(levels, now) else {
        panic!("nothing to learn");
    };
    let time = Duration::from_nanos(task.tables[0].meta.entries);
    learner.note(&task.tables, Learned::Model { time });
    task.tables[0].meta.number
}

#[test]
fn tables_wait_before_they_are_learned() {
    let (learner, start) = (by_tables(WAIT), Instant::now());
    let levels = levels(1, &[(7, 1_000)]);
    assert!(matches!(learner.next(&levels, start), Next::In(wait) if wait == WAIT));
    let next = learner.next(&levels, start + WAIT / 2);
    assert!(matches!(next, Next::In(wait) if wait == WAIT / 2));
    assert_eq!(learn(&learner, &levels, start + WAIT), 7);
    assert!(matches!(learner.next(&levels, start + WAIT), Next::Nothing));
    let (stats, _) = learner.stats(&levels);
    assert_eq!((stats.tables, stats.learned, stats.models), (1, 1, 1));
}

/// Twenty tables that come and go: what models save in them decides on those that follow.
fn behind_twenty(nanos: [u64; 2]) -> (Learner, Instant) {
    let (learner, mut now) = (by_tables(WAIT), Instant::now());
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
    assert_eq!(learner.stats(&levels).0.look_ups, 20 * 200 * 64);
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
    let (learner, start) = (by_tables(WAIT), Instant::now());
    let levels = levels(1, &[(1, 10), (2, 10), (3, 10)]);
    learner.next(&levels, start);
    let second = levels.tables().find(|(_, t)| t.meta.number == 2);
    second.unwrap().1.follow().note_filtered(false);
    assert_eq!(learn(&learner, &levels, start + WAIT), 2);
}

#[test]
fn failures_are_told_and_not_repeated() {
    let (learner, start) = (by_tables(Duration::ZERO), Instant::now());
    let levels = levels(1, &[(1, 10), (2, 10)]);
    for learned in [Learned::Failed(Error::Closed), Learned::Modelled] {
        let Next::Learn(task) = learner.next(&levels, start) else {
            panic!("nothing to learn");
        };
        learner.note(&task.tables, learned);
    }
    assert!(matches!(learner.next(&levels, start), Next::Nothing));
    let (stats, failure) = learner.stats(&levels);
    assert_eq!((stats.failed, stats.modelled, stats.tables), (1, 1, 0));
    assert!(failure.is_some());
}

/// Keys that are numbered alike are likely to be as unfit as those of the tables before.
#[test]
fn tables_are_not_tried_behind_three_in_a_row_that_are_unfit() {
    let (learner, now) = (by_tables(Duration::ZERO), Instant::now());
    let note = |levels: &Arc<Levels>, learned| {
        let Next::Learn(task) = learner.next(levels, now) else {
            panic!("nothing to learn");
        };
        learner.note(&task.tables, learned);
    };
    let time = Duration::from_nanos(10);
    let six = levels(1, &[1, 2, 3, 4, 5, 6].map(|number| (number, 10)));
    note(&six, Learned::Unfit { alone: true });
    note(&six, Learned::Unfit { alone: true });
    note(&six, Learned::Model { time });
    note(&six, Learned::Unfit { alone: true });
    note(&six, Learned::Unfit { alone: true });
    note(&six, Learned::Unfit { alone: true });
    let seven = levels(1, &[1, 2, 3, 4, 5, 6, 7].map(|number| (number, 10)));
    assert!(matches!(learner.next(&seven, now), Next::Nothing));
    let (stats, failure) = learner.stats(&seven);
    assert_eq!((stats.tables, stats.unfit, stats.waiting), (1, 6, 0));
    assert!(stats.failed == 0 && failure.is_none());
    // Once all of them are gone, others are tried.
    learner.next(&levels(1, &[]), now);
    note(&levels(1, &[(8, 10)]), Learned::Model { time });
}

/// Tables that did not live for as long as others wait say nothing of those that do.
#[test]
fn short_lives_do_not_count() {
    let (learner, mut now) = (by_tables(WAIT), Instant::now());
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

fn task(learner: &Learner, levels: &Arc<Levels>, now: Instant) -> (Task, Vec<u64>) {
    let Next::Learn(task) = learner.next(levels, now) else {
        panic!("nothing to learn");
    };
    let numbers = task.tables.iter().map(|table| table.meta.number).collect();
    (task, numbers)
}

/// The tables of a run are learned together once all of them are old enough; those that have a model keep it.
#[test]
fn a_level_is_learned_as_one() {
    let (learner, start) = (Learner::new(WAIT, Covers::Level), Instant::now());
    let two = levels(1, &[(1, 10), (2, 10)]);
    learner.next(&two, start);
    let (first, numbers) = task(&learner, &two, start + WAIT);
    assert_eq!(numbers, [1, 2]);
    let run = first.run.as_ref().unwrap();
    assert_eq!(run.tables().len(), 2);
    let time = Duration::from_nanos(10);
    learner.note(&first.tables, Learned::Model { time });
    // The others wait for the youngest.
    let three = levels(1, &[(1, 10), (2, 10), (3, 10)]);
    learner.next(&three, start + WAIT);
    let four = levels(1, &[(1, 10), (2, 10), (3, 10), (4, 10)]);
    let later = start + WAIT + WAIT / 2;
    assert!(matches!(learner.next(&four, later), Next::In(left) if left == WAIT));
    assert!(matches!(learner.next(&four, later + WAIT / 2), Next::In(left) if left == WAIT / 2));
    let (second, numbers) = task(&learner, &four, later + WAIT);
    assert_eq!(numbers, [3, 4]);
    learner.note(&second.tables, Learned::GivenUp { time });
    let (stats, _) = learner.stats(&four);
    assert_eq!((stats.tables, stats.models, stats.given_up), (2, 1, 1));
    assert_eq!(stats.learning_time, 2 * time);
    learner.note(&second.tables, Learned::Model { time });
    let (stats, _) = learner.stats(&four);
    assert_eq!((stats.tables, stats.models, stats.learned), (4, 2, 4));
    assert!(matches!(learner.next(&four, later + WAIT), Next::Nothing));
}

/// Tables of other runs, and those that number their keys in another way, are learned apart. One that is unfit leaves the others.
#[test]
fn a_model_covers_tables_with_one_key_map_alone() {
    let (learner, now) = (Learner::new(Duration::ZERO, Covers::Level), Instant::now());
    let levels = levels_of(&[
        (1, 1, 10, 7),
        (1, 2, 10, 7),
        (1, 3, 10, 8),
        (1, 4, 10, 8),
        (1, 5, 10, 8),
        (2, 6, 10, 7),
    ]);
    let mut learned = Vec::new();
    for _ in 0..4 {
        let (task, numbers) = task(&learner, &levels, now);
        let (tables, outcome) = match numbers[..] {
            [3, 4, 5] => (&task.tables[1..2], Learned::Unfit { alone: false }),
            _ => (&task.tables[..], Learned::Model { time: WAIT }),
        };
        learner.note(tables, outcome);
        learned.push(numbers);
    }
    learned.sort();
    assert_eq!(learned, [vec![1, 2], vec![3, 4, 5], vec![3, 5], vec![6]]);
    assert!(matches!(learner.next(&levels, now), Next::Nothing));
}
