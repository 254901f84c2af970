//! A limit on what merges write a second holds up neither writers nor the end of a store.

use std::path::Path;
use std::thread;
use std::time::Duration;

use rhumb::fs::{FileSystem, MemoryFileSystem};
use rhumb::{Db, Durability, Options};

/// At a byte a second the first merge alone would take a day.
fn options(write_buffer_bytes: u64) -> Options {
    let mut options = Options::in_memory();
    options.durability = Durability::Buffered;
    options.compaction_bytes_per_second = 1;
    options.write_buffer_bytes = write_buffer_bytes;
    options.levels.level0_tables = 2;
    options
}

fn fill(db: &Db, runs: u64) {
    for run in 0..runs {
        for key in 0..1_000u64 {
            let key = key * 7919 % 1_000;
            db.put(key.to_be_bytes(), [run as u8; 100]).unwrap();
        }
        db.flush().unwrap();
    }
}

/// Two runs are merged, and slow no writer down.
#[test]
fn a_merge_that_waits_for_its_turn_does_not_keep_a_store_open() {
    let files = MemoryFileSystem::new();
    let mut options = options(16 << 20);
    options.file_system = std::sync::Arc::new(files.clone());
    let db = Db::open("store", options).unwrap();
    fill(&db, 2);
    let tables = || {
        let names = files.list(Path::new("store")).unwrap().into_iter();
        names.filter(|name| name.ends_with(".table")).count()
    };
    while tables() < 3 {
        thread::sleep(Duration::from_millis(1));
    }
    // The merge has begun its table, and now waits.
    assert_eq!(db.stats().unwrap().writes.compactions, 0);
    db.close().unwrap();
}

/// Level 0 would fill up until writers wait for ever.
#[test]
fn writers_that_are_held_up_lift_the_limit() {
    let db = Db::open("store", options(100_000)).unwrap();
    fill(&db, 60);
    assert!(db.stats().unwrap().writes.compactions > 0);
    for key in 0..1_000u64 {
        assert_eq!(db.get(key.to_be_bytes()).unwrap().unwrap(), [59; 100]);
    }
}
