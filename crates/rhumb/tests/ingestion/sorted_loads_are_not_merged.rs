//! What arrives in order of keys is written to tables once, and these go where they stay.

use rhumb::{Db, Durability, Levels, Options, WriteStats};

const KEYS: u32 = 40_000;

fn options() -> Options {
    Options {
        write_buffer_bytes: 32 << 10,
        durability: Durability::Buffered,
        levels: Levels {
            size_ratio: 4,
            base_bytes: 64 << 10,
            level0_tables: 2,
            ..Levels::default()
        },
        ..Options::in_memory()
    }
}

/// A store into which keys were put in the order in which they are given.
fn load(options: &Options, keys: impl Iterator<Item = u32>) -> Db {
    let db = Db::open("store", options.clone()).unwrap();
    for (number, key) in keys.enumerate() {
        db.put(key.to_be_bytes(), key.to_le_bytes()).unwrap();
        // Background work never lags behind, so the counts do not depend on time.
        if number % 200 == 0 {
            db.settle();
        }
    }
    db.flush().unwrap();
    db.settle();
    db
}

/// Checks that all keys are there, once each, with their values.
fn check(db: &Db) {
    let mut count = 0;
    for (number, entry) in (0..KEYS).zip(db.iter().unwrap()) {
        let (key, value) = entry.unwrap();
        assert_eq!(*key, number.to_be_bytes());
        assert_eq!(*value, number.to_le_bytes());
        count += 1;
    }
    assert_eq!(count, KEYS);
    for key in (0..KEYS).step_by(97) {
        let value = db.get(key.to_be_bytes()).unwrap().unwrap();
        assert_eq!(value, key.to_le_bytes());
    }
}

fn writes(db: &Db) -> WriteStats {
    db.stats().unwrap().writes
}

#[test]
fn tables_of_a_sorted_load_go_to_the_last_level_at_once() {
    let options = options();
    let db = load(&options, 0..KEYS);
    let stats = writes(&db);
    assert_eq!(stats.compactions, 0, "{stats:?}");
    assert!(stats.flushes > 30, "{stats:?}");
    // The first ones came before a level below level 0 was in use.
    assert!(stats.direct_placements + 3 > stats.flushes, "{stats:?}");
    // A level that is full gives a table to the next, which then is the last one.
    assert!(stats.trivial_moves < 8, "{stats:?}");
    check(&db);
    db.close().unwrap();
    check(&Db::open("store", options).unwrap());
}

/// Descending keys are as good as ascending ones for where tables go.
#[test]
fn tables_of_a_load_in_descending_order_go_there_too() {
    let db = load(&options(), (0..KEYS).rev());
    let stats = writes(&db);
    assert_eq!(stats.compactions, 0, "{stats:?}");
    assert!(stats.direct_placements + 3 > stats.flushes, "{stats:?}");
    check(&db);
}

/// Keys that were written before stay below the newer versions.
#[test]
fn a_second_load_of_the_same_keys_replaces_the_first() {
    let db = load(&options(), 0..KEYS);
    for key in 0..KEYS {
        db.put(key.to_be_bytes(), "older").unwrap();
    }
    for key in 0..KEYS {
        db.put(key.to_be_bytes(), key.to_le_bytes()).unwrap();
    }
    db.flush().unwrap();
    check(&db);
    db.settle();
    check(&db);
    db.compact_range(None, None).unwrap();
    check(&db);
    assert_eq!(db.stats().unwrap().keyspaces[0].entries, u64::from(KEYS));
}
