use std::ops::Bound;

use super::super::levels_draft::LevelsDraft;
use super::*;
use crate::fs::{Access, ops};

fn numbers<'a>(tables: impl IntoIterator<Item = &'a Arc<Table>>) -> Vec<u64> {
    tables.into_iter().map(|t| t.meta.number).collect()
}

fn at(level: usize, run: u64) -> Place {
    Place { level, run }
}

/// New levels, and the tables that are not part of them any more.
type Changed = (Arc<Levels>, Vec<Arc<Table>>);

fn change(
    levels: &Arc<Levels>,
    adds: &[(Place, TableMeta)],
    removes: &[(usize, u64)],
) -> Result<Changed, String> {
    let (mut draft, files) = (LevelsDraft::of(Arc::clone(levels)), files());
    for &(level, number) in removes {
        draft.remove(level, number)?;
    }
    for (place, table) in adds {
        draft.add(&files, *place, table)?;
    }
    let drafted = draft.finish();
    Ok((drafted.levels, drafted.gone))
}

/// Level 2: a..c, d..f (f excluded), f..f, h..k. Level 0: two runs that overlap.
fn levels(files: &Arc<Files>) -> Arc<Levels> {
    let tables = vec![
        (at(2, 0), table(4, "h", "k")),
        (
            at(2, 0),
            TableMeta {
                largest_excluded: true,
                ..table(2, "d", "f")
            },
        ),
        (at(0, 7), table(7, "b", "d")),
        (at(2, 0), table(1, "a", "c")),
        (at(2, 0), table(3, "f", "f")),
        (at(0, 9), table(9, "a", "z")),
    ];
    Levels::new(files, tables).unwrap()
}

#[test]
fn levels_are_in_order_and_found_by_key() {
    let levels = levels(&files());
    assert_eq!(numbers(levels.level(0)), [9, 7]);
    assert_eq!(numbers(levels.level(2)), [1, 2, 3, 4]);
    assert_eq!(levels.deepest(), Some(2));
    let holders = [
        ("", None),
        ("a", Some(1)),
        ("c", Some(1)),
        ("cc", None),
        ("d", Some(2)),
        ("e~", Some(2)),
        ("f", Some(3)),
        ("f0", None),
        ("g", None),
        ("k", Some(4)),
        ("k0", None),
    ];
    for (key, expected) in holders {
        let run = &levels.runs(2)[0];
        let found = run.table_for(key.as_bytes()).map(|t| t.meta.number);
        assert_eq!(found, expected, "{key:?}");
    }
}

#[test]
fn ranges_find_what_they_overlap() {
    let levels = levels(&files());
    let check = |level, from: &str, to: Bound<&str>, expected: &[u64]| {
        let to = to.map(str::as_bytes);
        assert_eq!(
            levels
                .runs(level)
                .iter()
                .flat_map(|run| numbers(run.overlapping(from.as_bytes(), to)))
                .collect::<Vec<_>>(),
            expected
        );
    };
    check(2, "", Bound::Unbounded, &[1, 2, 3, 4]);
    check(2, "c", Bound::Included("d"), &[1, 2]);
    check(2, "c", Bound::Excluded("d"), &[1]);
    check(2, "c0", Bound::Excluded("d"), &[]);
    check(2, "f", Bound::Included("f"), &[3]);
    check(2, "k", Bound::Unbounded, &[4]);
    check(2, "l", Bound::Unbounded, &[]);
    check(0, "c", Bound::Included("c"), &[9, 7]);
    check(0, "e", Bound::Unbounded, &[9]);
    check(9, "", Bound::Unbounded, &[]);
}

#[test]
fn changes_that_do_not_fit_are_refused() {
    let levels = levels(&files());
    let change = |adds: &[_], removes: &[_]| change(&levels, adds, removes);
    assert!(change(&[(at(2, 0), table(10, "c", "c"))], &[]).is_err());
    assert!(change(&[(at(7, 0), table(10, "c", "c"))], &[]).is_err());
    assert!(change(&[(at(3, 0), table(1, "a", "c"))], &[]).is_err());
    assert!(change(&[], &[(2, 9)]).is_err());
    assert!(change(&[], &[(8, 1)]).is_err());
    assert!(change(&[], &[(2, 1), (2, 1)]).is_err());
    let (merged, gone) = change(&[(at(2, 0), table(10, "a", "e"))], &[(2, 1), (2, 2)]).unwrap();
    assert_eq!(numbers(merged.level(2)), [10, 3, 4]);
    assert_eq!(numbers(&gone), [1, 2]);
    assert_eq!(numbers(levels.level(2)), [1, 2, 3, 4]);
}

#[test]
fn tables_are_found_by_number_also_while_they_change() {
    let levels = levels(&files());
    let found = |levels: &Levels, number| levels.find(number).map(|(place, _)| place);
    assert_eq!(found(&levels, 3), Some(at(2, 0)));
    assert_eq!(found(&levels, 9), Some(at(0, 9)));
    assert_eq!(found(&levels, 5), None);
    assert_eq!(
        (levels.bytes(2), levels.bytes(0), levels.bytes(1)),
        (4000, 2000, 0)
    );
    let mut draft = LevelsDraft::of(levels);
    // A table may move, be removed again, and come back.
    for level in [3, 4, 5] {
        draft.remove(level - 1, 3).err();
        draft.remove(2, 3).err();
        draft
            .add(&files(), at(level, 0), &table(3, "f", "f"))
            .unwrap();
        assert!(draft.add(&files(), at(6, 0), &table(3, "f", "f")).is_err());
    }
    let drafted = draft.finish();
    let (moved, gone) = (drafted.levels, drafted.gone);
    assert_eq!(found(&moved, 3), Some(at(5, 0)));
    assert_eq!(numbers(moved.level(2)), [1, 2, 4]);
    assert!(gone.is_empty());
}

#[test]
fn runs_are_newest_first_and_go_with_their_last_table() {
    let levels = levels(&files());
    let order = |levels: &Levels| {
        let runs = levels.all_runs().map(|(level, run)| (level, run.number()));
        runs.collect::<Vec<_>>()
    };
    assert_eq!(order(&levels), [(0, 9), (0, 7), (2, 0)]);
    let change = |levels: &_, adds: &[_], removes: &[_]| change(levels, adds, removes).unwrap().0;
    let adds = [
        (at(2, 12), table(11, "a", "z")),
        (at(2, 30), table(12, "a", "z")),
    ];
    let stacked = change(&levels, &adds, &[(0, 7)]);
    assert_eq!(order(&stacked), [(0, 9), (2, 30), (2, 12), (2, 0)]);
    assert_eq!(stacked.oldest_run(2), 0);
    assert_eq!(stacked.oldest_run(3), BASE_RUN);
    let united = change(
        &stacked,
        &[(at(2, 0), table(13, "l", "m"))],
        &[(2, 11), (2, 12)],
    );
    assert_eq!(order(&united), [(0, 9), (2, 0)]);
    assert_eq!(numbers(united.level(2)), [1, 2, 3, 4, 13]);
    assert!(!united.runs(2)[0].has_range_deletes());
    let deleting = TableMeta {
        range_deletes: 1,
        ..table(14, "o", "p")
    };
    let deletes = change(&united, &[(at(2, 0), deleting)], &[]);
    assert!(deletes.runs(2)[0].has_range_deletes());
    assert!(!change(&deletes, &[], &[(2, 14)]).runs(2)[0].has_range_deletes());
}

#[test]
fn a_change_copies_only_the_runs_that_it_changes() {
    let levels = levels(&files());
    let same = change(&levels, &[], &[]).unwrap().0;
    assert!(Arc::ptr_eq(&levels, &same));
    let flushed = change(&levels, &[(at(0, 15), table(15, "a", "z"))], &[])
        .unwrap()
        .0;
    assert!(Arc::ptr_eq(&levels.runs(2)[0], &flushed.runs(2)[0]));
    assert!(Arc::ptr_eq(&levels.runs(0)[0], &flushed.runs(0)[1]));
    // The other tables of a run that changes are shared.
    let merged = change(&levels, &[], &[(2, 2), (0, 7)]).unwrap().0;
    assert!(Arc::ptr_eq(
        &levels.runs(2)[0].tables()[2],
        &merged.runs(2)[0].tables()[1]
    ));
    assert!(Arc::ptr_eq(&levels.runs(0)[0], &merged.runs(0)[0]));
}

#[test]
fn obsolete_files_are_deleted_when_no_reader_holds_them() {
    let files = files();
    let exists = |number| {
        let opened = ops::open(&*files.fs, &files.table_path(number), Access::Buffered);
        ops::if_found(opened).unwrap().is_some()
    };
    for number in 1..10 {
        ops::create(&*files.fs, &files.table_path(number)).unwrap();
    }
    let older = levels(&files);
    let reader = Arc::clone(&older);
    let retire = |gone: Vec<Arc<Table>>| gone.iter().for_each(|table| table.mark_obsolete());
    let removes = [(2, 1), (2, 2), (0, 7)];
    let (newer, gone) = change(&older, &[(at(3, 0), table(1, "a", "c"))], &removes).unwrap();
    // Table 1 moved, and is shared by both.
    assert!(Arc::ptr_eq(
        &older.runs(2)[0].tables()[0],
        &newer.runs(3)[0].tables()[0]
    ));
    retire(gone);
    drop(older);
    files.delete_garbage();
    assert!(exists(2) && exists(7));
    let table2 = Arc::clone(&reader.runs(2)[0].tables()[1]);
    drop(reader);
    // Dropping the reader deleted nothing.
    assert!(exists(7));
    files.delete_garbage();
    assert!(exists(2) && !exists(7));
    drop(table2);
    files.delete_garbage();
    assert!(!exists(2) && exists(1));
    retire(newer.tables().map(|(_, table)| Arc::clone(table)).collect());
    drop(newer);
    // A file that is missing already is no failure.
    ops::remove(&*files.fs, &files.table_path(4)).unwrap();
    files.delete_garbage();
    assert!(!exists(1));
}
