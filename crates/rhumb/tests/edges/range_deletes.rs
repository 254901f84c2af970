//! Range deletes: alone, across table boundaries, below later writes, between snapshots.

use crate::kit;

use kit::small;
use rhumb::{Db, Options, WriteBatch};

fn key(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

fn keys(db: &Db) -> Vec<u32> {
    let number = |key: rhumb::Key| u32::from_be_bytes((*key).try_into().unwrap());
    let forward: Vec<u32> = db.iter().unwrap().map(|e| number(e.unwrap().0)).collect();
    let mut backward: Vec<u32> = db
        .iter()
        .unwrap()
        .rev()
        .map(|e| number(e.unwrap().0))
        .collect();
    backward.reverse();
    assert_eq!(forward, backward);
    for n in 0..3000 {
        let found = db.contains_key(key(n)).unwrap();
        assert_eq!(found, forward.binary_search(&n).is_ok(), "key {n}");
    }
    forward
}

fn tables(db: &Db) -> u64 {
    let stats = db.stats().unwrap();
    stats.keyspaces[0].levels.iter().map(|l| l.tables).sum()
}

#[test]
fn a_store_of_range_deletes_only() {
    let options = small();
    let db = Db::open("store", options.clone()).unwrap();
    for n in 0..100 {
        db.delete_range(key(n * 10)..key(n * 10 + 5)).unwrap();
    }
    assert_eq!(keys(&db), []);
    db.flush().unwrap();
    assert_eq!(keys(&db), []);
    db.close().unwrap();
    let db = Db::open("store", options).unwrap();
    assert_eq!(keys(&db), []);
    db.compact_range(None, None).unwrap();
    assert_eq!(keys(&db), []);
    assert_eq!(
        tables(&db),
        0,
        "range deletes with nothing to delete are kept"
    );
}

#[test]
fn a_table_of_range_deletes_only_covers_older_tables() {
    let db = Db::open("store", small()).unwrap();
    for n in 0..2000 {
        db.put(key(n), [1; 40]).unwrap();
    }
    db.flush().unwrap();
    let snapshot = db.snapshot();
    db.delete_range(key(100)..key(1900)).unwrap();
    db.flush().unwrap();
    let expected: Vec<u32> = (0..100).chain(1900..2000).collect();
    assert_eq!(keys(&db), expected);
    assert_eq!(snapshot.iter(&db).unwrap().count(), 2000);
    db.compact_range(None, None).unwrap();
    assert_eq!(keys(&db), expected);
    assert_eq!(snapshot.iter(&db).unwrap().rev().count(), 2000);
    drop(snapshot);
    db.put(key(0), [2; 40]).unwrap();
    db.compact_range(None, None).unwrap();
    assert_eq!(keys(&db), expected);
    assert_eq!(db.stats().unwrap().keyspaces[0].entries, 200);
}

#[test]
fn writes_over_a_range_delete_live_whatever_is_compacted() {
    let db = Db::open("store", small()).unwrap();
    for n in 0..2000 {
        db.put(key(n), [1; 40]).unwrap();
    }
    db.compact_range(None, None).unwrap();
    assert!(tables(&db) > 10, "the range lies over many tables");
    db.delete_range(key(3)..key(1997)).unwrap();
    for n in (0..2000).step_by(7) {
        db.put(key(n), [2; 40]).unwrap();
    }
    let expected: Vec<u32> = (0..2000)
        .filter(|n| n % 7 == 0 || *n < 3 || *n >= 1997)
        .collect();
    assert_eq!(keys(&db), expected);
    db.flush().unwrap();
    assert_eq!(keys(&db), expected);
    for part in 0..10 {
        let (from, to) = (key(part * 200), key(part * 200 + 200));
        db.compact_range(Some(&from), Some(&to)).unwrap();
        assert_eq!(keys(&db), expected, "after part {part}");
    }
    db.compact_range(None, None).unwrap();
    assert_eq!(keys(&db), expected);
    let kept = db.stats().unwrap().keyspaces[0].entries;
    assert_eq!(kept, expected.len() as u64);
}

#[test]
fn each_snapshot_sees_the_range_deletes_before_it() {
    let db = Db::open("store", small()).unwrap();
    for n in 0..1000 {
        db.put(key(n), [1; 40]).unwrap();
    }
    let mut snapshots = vec![(db.snapshot(), 1000)];
    for part in 0..10 {
        let (from, to) = (key(part * 100), key(part * 100 + 50));
        db.delete_range(from..to).unwrap();
        snapshots.push((db.snapshot(), 1000 - 50 * (part as usize + 1)));
        db.put(key(part * 100), [2; 40]).unwrap();
        db.delete_range(from..from).unwrap();
        db.delete_range(to..from).unwrap();
    }
    let check = || {
        for (part, (snapshot, visible)) in snapshots.iter().enumerate() {
            // Each part before the last one has its first key again.
            let expected = visible + part.saturating_sub(1);
            assert_eq!(snapshot.iter(&db).unwrap().count(), expected, "{part}");
            assert_eq!(snapshot.iter(&db).unwrap().rev().count(), expected);
            let middle = snapshot.range(&db, key(40)..key(940)).unwrap();
            let far = snapshot.range(&db, key(40)..key(940)).unwrap();
            assert_eq!(middle.count(), far.rev().count());
        }
        assert_eq!(keys(&db).len(), 510);
    };
    check();
    db.flush().unwrap();
    check();
    db.compact_range(None, Some(&key(500))).unwrap();
    check();
    db.compact_range(None, None).unwrap();
    check();
}

/// Many overlapping range deletes take memory and time in proportion to their number.
#[test]
fn thousands_of_growing_range_deletes() {
    const RANGES: u32 = 3000;
    let db = Db::open("store", Options::in_memory()).unwrap();
    for n in 0..RANGES {
        db.put(key(n), "v").unwrap();
    }
    let mut batch = WriteBatch::new();
    for n in 0..RANGES {
        batch.delete_range(&db, key(0)..key(n)).unwrap();
    }
    db.write(batch).unwrap();
    assert_eq!(keys(&db), [RANGES - 1]);
    db.flush().unwrap();
    assert_eq!(keys(&db), [RANGES - 1]);
    let bytes = db.stats().unwrap().keyspaces[0].range_delete_bytes;
    assert!(
        bytes < 1 << 10,
        "one range would cover them all, not {bytes} bytes"
    );
}

#[test]
fn a_write_buffer_of_many_range_deletes_is_flushed() {
    let db = Db::open("store", Options::in_memory()).unwrap();
    for n in 0..1024 {
        db.delete_range(key(2 * n)..key(2 * n + 1)).unwrap();
    }
    db.settle();
    assert_eq!(db.stats().unwrap().writes.flushes, 0);
    db.delete_range(key(5000)..key(5001)).unwrap();
    db.settle();
    assert_eq!(db.stats().unwrap().writes.flushes, 1);
    assert_eq!(tables(&db), 1);
}

#[test]
fn a_hundred_thousand_range_deletes_in_one_batch() {
    const RANGES: u32 = 100_000;
    let options = Options::in_memory();
    let db = Db::open("store", options.clone()).unwrap();
    for n in (0..2 * RANGES).step_by(1001) {
        db.put(key(n), "v").unwrap();
    }
    let mut batch = WriteBatch::new();
    for n in 0..RANGES {
        batch.delete_range(&db, key(2 * n)..key(2 * n + 1)).unwrap();
    }
    db.write(batch).unwrap();
    let check = |db: &Db| {
        let odd = db.iter().unwrap().map(|e| e.unwrap().0);
        assert!(odd.eq((1001..2 * RANGES).step_by(2002).map(|n| key(n).to_vec())));
        assert!(!db.contains_key(key(2002)).unwrap());
        assert!(db.contains_key(key(1001)).unwrap());
    };
    check(&db);
    db.close().unwrap();
    let db = Db::open("store", options).unwrap();
    check(&db);
    db.flush().unwrap();
    check(&db);
}
