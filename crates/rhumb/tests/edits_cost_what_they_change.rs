//! A change of the manifest costs what it changes, not what the store holds.

// A broken expectation is a failed test.
#![allow(clippy::unwrap_used)]

mod kit_allocator;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kit_allocator::{allocated, alone};
use rhumb::fs::{FileSystem, MemoryFileSystem};
use rhumb::{Db, Options};

const ROUNDS: u32 = 20;

/// What a step took.
#[derive(Debug)]
struct Cost {
    /// The bytes allocated, on the average of all rounds.
    bytes: u64,
    /// The median and the longest time.
    time: (Duration, Duration),
}

fn cost(mut step: impl FnMut(u32)) -> Cost {
    let before = allocated();
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|round| {
            let started = Instant::now();
            step(round);
            started.elapsed()
        })
        .collect();
    let bytes = allocated() - before;
    times.sort();
    Cost {
        bytes: bytes / u64::from(ROUNDS),
        time: (times[times.len() / 2], times[times.len() - 1]),
    }
}

/// A store with one run of so many tables, of a key each.
fn store(tables: u32, mut options: Options) -> Db {
    options.table.table_bytes = 1;
    // Nothing but the run's own merge is due.
    options.levels.level0_tables = 1_000;
    let db = Db::open("store", options).unwrap();
    for number in 0..tables {
        db.put(number.to_be_bytes(), "value").unwrap();
    }
    db.compact_range(None, None).unwrap();
    let levels = &db.stats().unwrap().keyspaces[0].levels;
    assert_eq!(levels.iter().map(|l| l.tables).max(), Some(tables.into()));
    db
}

/// The costs of making a keyspace, and of a put with its flush, in a store of so many tables.
fn costs(tables: u32) -> (Cost, Cost) {
    let db = store(tables, Options::in_memory());
    let create = cost(|round| drop(db.create_keyspace(&round.to_string()).unwrap()));
    let flush = cost(|round| {
        db.put(round.to_be_bytes(), "newer").unwrap();
        db.flush().unwrap();
    });
    println!("{tables} tables: create_keyspace {:?}", create.time);
    println!("{tables} tables: put and flush {:?}", flush.time);
    (create, flush)
}

#[test]
fn edits_allocate_no_more_in_a_store_of_many_tables() {
    let _alone = alone();
    let (create, flush) = costs(100);
    let (create_in_many, flush_in_many) = costs(2_000);
    assert!(create_in_many.bytes < 2 * create.bytes);
    assert!(flush_in_many.bytes < 2 * flush.bytes);
}

/// A new manifest says all that the store holds, so it takes the place of the old one only when that has
/// grown by as much again, however small the write buffers are.
#[test]
fn manifests_are_replaced_when_they_doubled() {
    let _alone = alone();
    let file_system = Arc::new(MemoryFileSystem::new());
    let mut options = Options {
        file_system: file_system.clone(),
        ..Options::in_memory()
    };
    store(2_000, options.clone()).close().unwrap();
    options.write_buffer_bytes = 4 << 10;
    let db = Db::open("store", options).unwrap();
    let mut manifests = BTreeSet::new();
    for number in 0..600 {
        db.create_keyspace(&format!("keyspace {number}")).unwrap();
        let names = file_system.list(Path::new("store")).unwrap();
        manifests.extend(names.into_iter().filter(|n| n.ends_with(".manifest")));
    }
    // Less than what the first one says was added to it.
    assert_eq!(manifests.len(), 1, "{manifests:?}");
}

/// Prints figures to compare, which decide nothing.
#[test]
#[ignore = "a measure"]
fn edits_take_time() {
    let _alone = alone();
    for tables in [100, 1_000, 5_000, 20_000] {
        costs(tables);
    }
}
