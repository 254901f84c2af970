use std::ops::Bound;
use std::path::{Path, PathBuf};

use super::*;
use crate::fs::{Access, FileSystem, MemoryFileSystem, ops};
use crate::memory::BlockCache;

fn files() -> Arc<Files> {
    let fs = MemoryFileSystem::default();
    fs.create_dir(Path::new("/store")).unwrap();
    let cache = Arc::new(BlockCache::new(1 << 20));
    let fs: Arc<dyn FileSystem> = Arc::new(fs);
    Arc::new(Files::new(
        fs,
        PathBuf::from("/store"),
        Access::Buffered,
        cache,
    ))
}

fn numbers(tables: &[Arc<Table>]) -> Vec<u64> {
    tables.iter().map(|t| t.meta.number).collect()
}

/// Level 2: a..c, d..f (f excluded), f..f, h..k. Level 0: two that overlap.
fn levels(files: &Arc<Files>) -> Levels {
    let tables = vec![
        (2, table(4, "h", "k")),
        (
            2,
            TableMeta {
                largest_excluded: true,
                ..table(2, "d", "f")
            },
        ),
        (0, table(7, "b", "d")),
        (2, table(1, "a", "c")),
        (2, table(3, "f", "f")),
        (0, table(9, "a", "z")),
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
        let found = levels.table_for(2, key.as_bytes()).map(|t| t.meta.number);
        assert_eq!(found, expected, "{key:?}");
    }
}

#[test]
fn ranges_find_what_they_overlap() {
    let levels = levels(&files());
    let check = |level, from: &str, to: Bound<&str>, expected: &[u64]| {
        let to = to.map(str::as_bytes);
        assert_eq!(
            numbers(&levels.overlapping(level, from.as_bytes(), to)),
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
    let files = files();
    let levels = levels(&files);
    let change = |adds, removes| levels.change(&files, &LevelChange { adds, removes });
    assert!(change(vec![(2, table(10, "c", "c"))], vec![]).is_err());
    assert!(change(vec![(7, table(10, "c", "c"))], vec![]).is_err());
    assert!(change(vec![], vec![(2, 9)]).is_err());
    assert!(change(vec![], vec![(8, 1)]).is_err());
    let merged = change(vec![(2, table(10, "a", "e"))], vec![(2, 1), (2, 2)]).unwrap();
    assert_eq!(numbers(merged.level(2)), [10, 3, 4]);
    assert_eq!(numbers(levels.level(2)), [1, 2, 3, 4]);
}

#[test]
fn obsolete_files_are_deleted_when_nobody_holds_them() {
    let files = files();
    let exists = |number| {
        let opened = ops::open(&*files.fs, &files.table_path(number), Access::Buffered);
        ops::if_found(opened).unwrap().is_some()
    };
    for number in 1..10 {
        ops::create(&*files.fs, &files.table_path(number)).unwrap();
    }
    let older = levels(&files);
    let reader = older.clone();
    let adds = vec![(3, table(1, "a", "c"))];
    let removes = vec![(2, 1), (2, 2), (0, 7)];
    let newer = older
        .change(&files, &LevelChange { adds, removes })
        .unwrap();
    // Table 1 moves and is the same table in both.
    assert!(Arc::ptr_eq(&older.level(2)[0], &newer.level(3)[0]));
    older.retire(&newer);
    drop(older);
    assert_eq!(files.delete_garbage().unwrap(), 0);
    assert!(exists(2) && exists(7));
    let table2 = Arc::clone(&reader.level(2)[1]);
    drop(reader);
    // The reader deleted nothing itself.
    assert!(exists(7));
    assert_eq!(files.delete_garbage().unwrap(), 1);
    assert!(exists(2) && !exists(7));
    drop(table2);
    assert_eq!(files.delete_garbage().unwrap(), 1);
    assert!(!exists(2) && exists(1));
    newer.retire(&Levels::default());
    drop(newer);
    // A file that is gone already is no failure.
    ops::remove(&*files.fs, &files.table_path(4)).unwrap();
    assert_eq!(files.delete_garbage().unwrap(), 3);
    assert!(!exists(1));
}
