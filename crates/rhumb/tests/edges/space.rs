//! Deleted data takes no space, and files that are not needed are removed.

use crate::kit;

use std::path::Path;
use std::time::{Duration, Instant};

use kit::small;
use rhumb::{Db, Options, WriteBatch};

fn files(options: &Options, ending: &str) -> Vec<String> {
    kit::files(&*options.file_system, Path::new("store"), ending)
}

fn tables(db: &Db) -> usize {
    let stats = db.stats().unwrap();
    let levels = stats.keyspaces.iter().flat_map(|k| &k.levels);
    levels.map(|l| l.tables as usize).sum()
}

/// Waits until the directory holds exactly the tables of the levels.
fn only_live_files_stay(db: &Db, options: &Options) {
    let started = Instant::now();
    while files(options, ".table").len() != tables(db) {
        assert!(
            started.elapsed() < Duration::from_secs(10),
            "{} files for {} tables",
            files(options, ".table").len(),
            tables(db)
        );
        db.compact_range(None, None).unwrap();
    }
}

#[test]
fn tombstones_alone_are_compacted_to_nothing() {
    let options = small();
    let db = Db::open("store", options.clone()).unwrap();
    for n in 0..5000u32 {
        db.delete(n.to_be_bytes()).unwrap();
    }
    assert_eq!(db.iter().unwrap().count(), 0);
    assert_eq!(db.iter().unwrap().rev().count(), 0);
    db.flush().unwrap();
    assert!(db.get(77u32.to_be_bytes()).unwrap().is_none());
    assert_eq!(db.iter().unwrap().count(), 0);
    assert_eq!(db.iter().unwrap().rev().count(), 0);
    db.compact_range(None, None).unwrap();
    assert_eq!(tables(&db), 0);
    only_live_files_stay(&db, &options);
    assert_eq!(db.iter().unwrap().count(), 0);
}

#[test]
fn after_deleting_all_and_compacting_nothing_is_left() {
    let options = small();
    let db = Db::open("store", options.clone()).unwrap();
    for n in 0..5000u32 {
        db.put(n.wrapping_mul(0x9E37_79B9).to_be_bytes(), [3; 30])
            .unwrap();
    }
    for n in 0..5000u32 {
        db.delete(n.wrapping_mul(0x9E37_79B9).to_be_bytes())
            .unwrap();
    }
    db.compact_range(None, None).unwrap();
    let stats = db.stats().unwrap();
    assert!(stats.writes.compactions > 0 && stats.writes.flushes > 3);
    assert_eq!(stats.keyspaces[0].entries, 0);
    assert_eq!(tables(&db), 0);
    only_live_files_stay(&db, &options);
}

#[test]
fn ascending_loads_move_tables_without_reading_them() {
    let options = small();
    let db = Db::open("store", options.clone()).unwrap();
    for chunk in 0..200u32 {
        let mut batch = WriteBatch::new();
        for n in 0..50 {
            batch
                .put(&db, (chunk * 50 + n).to_be_bytes(), [3; 30])
                .unwrap();
        }
        db.write(batch).unwrap();
    }
    db.flush().unwrap();
    let started = Instant::now();
    while db.stats().unwrap().writes.trivial_moves == 0 {
        assert!(started.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(1));
    }
    let writes = db.stats().unwrap().writes;
    assert_eq!(writes.compactions, 0, "{writes:?}");
    assert_eq!(db.iter().unwrap().count(), 10_000);
}

#[test]
fn logs_whose_writes_are_in_tables_are_removed() {
    let options = Options {
        log_bytes: 1 << 20,
        ..small()
    };
    let db = Db::open("store", options.clone()).unwrap();
    let quiet = db.create_keyspace("quiet").unwrap();
    quiet.put("holds back", "the first log").unwrap();
    for n in 0..8000u32 {
        db.put(n.to_be_bytes(), [3; 1000]).unwrap();
    }
    db.flush().unwrap();
    let logs = files(&options, ".log");
    assert!(logs.len() <= 4, "{logs:?} for 8 MB of writes");
    assert_eq!(quiet.get("holds back").unwrap().unwrap(), "the first log");
    // A handle keeps the store open.
    drop(quiet);
    db.close().unwrap();
    let db = Db::open("store", options).unwrap();
    let quiet = db.keyspace("quiet").unwrap();
    assert_eq!(quiet.get("holds back").unwrap().unwrap(), "the first log");
    assert_eq!(db.iter().unwrap().count(), 8000);
}
