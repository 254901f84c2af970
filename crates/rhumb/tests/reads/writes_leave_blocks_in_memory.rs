//! What is flushed and merged stays in memory where the rest of a store is, and takes no memory where nobody reads.

use rhumb::{Db, Options};

const KEYS: u32 = 20_000;

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

/// Writes every `step`th key, and flushes.
fn write(db: &Db, step: usize, value: u8) {
    for number in (0..KEYS).step_by(step) {
        db.put(key(number), [value; 50]).unwrap();
    }
    db.flush().unwrap();
}

/// Reads all keys. Returns how many blocks were read from files for that.
fn read_all(db: &Db) -> u64 {
    let before = db.stats().unwrap().reads.blocks_read;
    for number in 0..KEYS {
        let value = db.get(key(number)).unwrap().unwrap();
        let expected = match number {
            number if number % 6 == 0 => 3,
            number if number % 2 == 0 => 2,
            _ => 1,
        };
        // Later writes are those of larger values, as far as they were made.
        assert!(value[0] <= expected && *value == [value[0]; 50]);
    }
    db.stats().unwrap().reads.blocks_read - before
}

#[test]
fn a_store_in_memory_stays_there() {
    let db = Db::open("store", Options::in_memory()).unwrap();
    write(&db, 1, 1);
    assert!(read_all(&db) > 100, "nobody had read anything before");
    assert_eq!(read_all(&db), 0);
    for (step, value) in [(2, 2), (6, 3)] {
        write(&db, step, value);
        assert_eq!(read_all(&db), 0, "after a flush");
        db.compact_range(None, None).unwrap();
        assert_eq!(read_all(&db), 0, "after a merge");
    }
    assert_eq!(*db.get(key(0)).unwrap().unwrap(), [3; 50]);
    assert_eq!(*db.get(key(2)).unwrap().unwrap(), [2; 50]);
}

#[test]
fn what_nobody_reads_takes_no_memory() {
    let db = Db::open("store", Options::in_memory()).unwrap();
    for (step, value) in [(1, 1), (2, 2), (6, 3)] {
        write(&db, step, value);
        db.compact_range(None, None).unwrap();
    }
    assert_eq!(db.stats().unwrap().cache_bytes, 0);
    assert!(read_all(&db) > 100);
}
