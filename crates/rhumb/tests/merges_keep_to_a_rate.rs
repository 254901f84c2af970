//! A limit on what merges write a second holds up neither writers nor the end of a store.
#![allow(clippy::unwrap_used)]

use rhumb::{Compaction, Db, Durability, Options};

/// At a byte a second the first merge alone would take a day.
fn options() -> Options {
    let mut options = Options::in_memory();
    options.durability = Durability::Buffered;
    options.compaction_bytes_per_second = 1;
    options.write_buffer_bytes = 100_000;
    options.table.table_bytes = 1 << 20;
    options.levels.compaction = Compaction::Leveled;
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

#[test]
fn a_merge_that_waits_for_its_turn_does_not_keep_a_store_open() {
    let db = Db::open("store", options()).unwrap();
    fill(&db, 3);
    assert_eq!(db.stats().unwrap().writes.compactions, 0);
    db.close().unwrap();
}

/// Level 0 would fill up until writers wait for ever.
#[test]
fn writers_that_are_held_up_lift_the_limit() {
    let db = Db::open("store", options()).unwrap();
    fill(&db, 60);
    let merged = db.stats().unwrap().writes.compactions;
    assert!(merged > 0);
    for key in 0..1_000u64 {
        assert_eq!(db.get(key.to_be_bytes()).unwrap().unwrap(), [59; 100]);
    }
}
