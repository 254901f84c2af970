//! The first step of a scan behind a large range delete: its cost must not grow with the number of
//! keys that are deleted. Work is counted; times are only printed.

use std::time::Instant;

use crate::entry::cursor_checks::visits_of;
use crate::{Compaction, Db, Durability, Levels, Options, Snapshot, TableSpec, WriteBatch};

/// The number of keys, of which all but some at both ends are deleted.
fn keys() -> u32 {
    let deep = std::env::var("RHUMB_DEEP").ok();
    100_000 * deep.and_then(|deep| deep.parse::<u32>().ok()).unwrap_or(1)
}

/// The first keys that are not deleted, and the last ones.
const KEPT: u32 = 10;

/// The most visits of entries, nodes and blocks in the first step behind the deleted keys. Seeks in
/// all sources take some hundreds.
const MOST_VISITS: u64 = 2_000;

fn key(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

fn open(table_bytes: u64) -> Db {
    let options = Options {
        durability: Durability::Buffered,
        levels: Levels {
            base_bytes: 256 << 10,
            size_ratio: 4,
            compaction: Compaction::Leveled,
            ..Levels::default()
        },
        table: TableSpec {
            table_bytes,
            ..TableSpec::default()
        },
        ..Options::in_memory()
    };
    Db::open("store", options).unwrap()
}

const ONE_TABLE: u64 = 1 << 30;
const SMALL_TABLES: u64 = 128 << 10;

/// Puts each key whose number is a multiple of `step`, in an order that is not theirs.
fn put_all(db: &Db, step: u32) {
    let count = keys() / step;
    let mut numbers: Vec<u32> = (0..count).map(|n| n * step).collect();
    // A stride that is prime to the count visits all.
    let stride = (count as usize * 5 / 8) | 1;
    let stride = (stride..).find(|s| gcd(*s, count as usize) == 1).unwrap();
    numbers = (0..count as usize)
        .map(|n| numbers[n * stride % count as usize])
        .collect();
    for some in numbers.chunks(1000) {
        let mut batch = WriteBatch::new();
        for n in some {
            batch.put(db, key(*n), n.to_le_bytes()).unwrap();
        }
        db.write(batch).unwrap();
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn delete_most(db: &Db) {
    db.delete_range(key(KEPT)..key(keys() - KEPT)).unwrap();
}

/// Checks the cost of the steps over the deleted keys, in both directions, and what the scan shows:
/// the kept keys, and `between` among the others.
fn check(name: &str, db: &Db, between: &[u32]) {
    check_within(name, db, between, MOST_VISITS);
}

fn check_within(name: &str, db: &Db, between: &[u32], most: u64) {
    let ends = |numbers: std::ops::Range<u32>| numbers.map(|n| key(n).to_vec()).collect::<Vec<_>>();
    let mut expected = ends(0..KEPT);
    expected.extend(between.iter().map(|n| key(*n).to_vec()));
    expected.extend(ends(keys() - KEPT..keys()));
    // Opens the tables that a scan needs.
    assert_eq!(db.iter().unwrap().count(), expected.len(), "{name}");
    assert_eq!(db.iter().unwrap().rev().count(), expected.len(), "{name}");
    let mut forward = db.iter().unwrap();
    let mut backward = db.iter().unwrap().rev();
    for n in 0..KEPT {
        assert_eq!(*forward.next().unwrap().unwrap().0, key(n), "{name}");
        assert_eq!(
            *backward.next().unwrap().unwrap().0,
            key(keys() - 1 - n),
            "{name}"
        );
    }
    let start = Instant::now();
    let (found, visits) = visits_of(|| forward.next().unwrap().unwrap().0);
    let time = start.elapsed();
    let start = Instant::now();
    let (found_back, visits_back) = visits_of(|| backward.next().unwrap().unwrap().0);
    let time_back = start.elapsed();
    println!("{name}: forwards {visits} visits, {time:?}; backwards {visits_back}, {time_back:?}");
    assert_eq!(*found, *expected[KEPT as usize], "{name}");
    assert_eq!(
        *found_back,
        *expected[expected.len() - 1 - KEPT as usize],
        "{name}"
    );
    let all: Vec<Vec<u8>> = db.iter().unwrap().map(|e| e.unwrap().0.to_vec()).collect();
    assert_eq!(all, expected, "{name}");
    let mut all: Vec<Vec<u8>> = db
        .iter()
        .unwrap()
        .rev()
        .map(|e| e.unwrap().0.to_vec())
        .collect();
    all.reverse();
    assert_eq!(all, expected, "{name} backwards");
    assert!(visits < most, "{name}: {visits} visits forwards");
    assert!(visits_back < most, "{name}: {visits_back} visits backwards");
}

fn all_of(snapshot: &Snapshot, db: &Db) -> usize {
    let forward = snapshot.iter(db).unwrap().count();
    assert_eq!(forward, snapshot.iter(db).unwrap().rev().count());
    forward
}

/// Newer puts inside the deleted range.
fn put_between(db: &Db) -> Vec<u32> {
    let between: Vec<u32> = (1..8).map(|n| keys() / 8 * n).collect();
    for n in &between {
        db.put(key(*n), "newer").unwrap();
    }
    between
}

#[test]
fn keys_and_delete_in_one_write_buffer() {
    let db = open(ONE_TABLE);
    put_all(&db, 1);
    delete_most(&db);
    check("one write buffer", &db, &[]);
    let between = put_between(&db);
    check("one write buffer, newer puts", &db, &between);
    db.flush().unwrap();
    check("one write buffer, flushed", &db, &between);
}

#[test]
fn keys_and_delete_in_one_batch() {
    let db = open(ONE_TABLE);
    let mut batch = WriteBatch::new();
    for n in 0..keys() {
        batch.put(&db, key(n), "v").unwrap();
    }
    batch
        .delete_range(&db, key(KEPT)..key(keys() - KEPT))
        .unwrap();
    db.write(batch).unwrap();
    check("one batch", &db, &[]);
}

#[test]
fn keys_in_tables() {
    for (name, table_bytes) in [("one table", ONE_TABLE), ("many tables", SMALL_TABLES)] {
        let db = open(table_bytes);
        put_all(&db, 1);
        db.flush().unwrap();
        db.compact_range(None, None).unwrap();
        delete_most(&db);
        check(&format!("{name}, delete in the write buffer"), &db, &[]);
        let between = put_between(&db);
        check(
            &format!("{name}, newer puts in the write buffer"),
            &db,
            &between,
        );
        db.flush().unwrap();
        check(&format!("{name}, delete in a table"), &db, &between);
    }
}

#[test]
fn keys_in_many_levels() {
    let db = open(SMALL_TABLES);
    for step in [1, 3, 7, 1, 11] {
        put_all(&db, step);
        db.flush().unwrap();
        db.settle();
    }
    put_all(&db, 13);
    delete_most(&db);
    check("many levels and the write buffer", &db, &[]);
    let between = put_between(&db);
    check("many levels, newer puts", &db, &between);
}

#[test]
fn a_snapshot_keeps_the_deleted_keys() {
    for (name, table_bytes) in [("one table", ONE_TABLE), ("many tables", SMALL_TABLES)] {
        let db = open(table_bytes);
        put_all(&db, 1);
        let snapshot = db.snapshot();
        delete_most(&db);
        check(&format!("{name}, snapshot"), &db, &[]);
        assert_eq!(all_of(&snapshot, &db), keys() as usize);
        db.flush().unwrap();
        check(&format!("{name}, snapshot, flushed"), &db, &[]);
        db.compact_range(None, None).unwrap();
        check(&format!("{name}, snapshot, merged"), &db, &[]);
        assert_eq!(all_of(&snapshot, &db), keys() as usize);
    }
}

/// A merge puts the keys that a snapshot sees and newer ones into the same tables. A step then
/// visits their blocks, but not their entries.
#[test]
fn tables_with_deleted_keys_and_newer_ones() {
    let db = open(ONE_TABLE);
    put_all(&db, 1);
    let snapshot = db.snapshot();
    delete_most(&db);
    let between = put_between(&db);
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    check_within("mixed table", &db, &between, u64::from(keys()) / 16);
    assert_eq!(all_of(&snapshot, &db), keys() as usize);
}

#[test]
fn many_overlapping_deletes() {
    let db = open(SMALL_TABLES);
    put_all(&db, 1);
    db.flush().unwrap();
    put_all(&db, 5);
    let part = keys() / 10;
    for n in [3, 0, 7, 1, 5, 2, 8, 4, 6] {
        let (from, to) = (part * n, part * (n + 2));
        db.delete_range(key(from.max(KEPT))..key(to.min(keys() - KEPT)))
            .unwrap();
    }
    check("nine overlapping deletes", &db, &[]);
    let between = put_between(&db);
    check("nine overlapping deletes, newer puts", &db, &between);
    db.flush().unwrap();
    check("nine overlapping deletes, flushed", &db, &between);
}
