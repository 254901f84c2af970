//! A get that finds its blocks in memory allocates nothing, whether or not the key exists, and a scan only a copy of the key
//! that it seeks.

#![allow(clippy::unwrap_used)]

mod kit_allocator;

use std::time::{Duration, Instant};

use kit_allocator::allocations;
use rhumb::{Db, Options};

const KEYS: u64 = 100_000;

fn key(number: u64) -> [u8; 24] {
    let mut key = *b"user00000000000000000000";
    for (digit, place) in key[4..].iter_mut().rev().zip(0..) {
        *digit += (number / 10u64.pow(place) % 10) as u8;
    }
    key
}

#[test]
fn a_warm_get_allocates_nothing() {
    for table in ["partition=predicted", "partition=entries(8)"] {
        for (tuner, index) in [("off", "plr"), ("cost", "plr"), ("bourbon:wait=0ms", "fp")] {
            check(Options {
                table: table.parse().unwrap(),
                tuner: tuner.parse().unwrap(),
                index: index.parse().unwrap(),
                ..Options::in_memory()
            });
        }
    }
}

fn check(options: Options) {
    let db = Db::open("store", options).unwrap();
    let store = |numbers: &mut dyn Iterator<Item = u64>| {
        for number in numbers {
            db.put(key(2 * number), [number as u8; 100]).unwrap();
        }
    };
    // Tables on several levels, and a memtable.
    store(&mut (0..KEYS));
    db.compact_range(None, None).unwrap();
    store(&mut (0..KEYS).step_by(7));
    db.flush().unwrap();
    store(&mut (0..KEYS).step_by(91));
    // Models are learned of all tables first.
    let models = || {
        db.settle();
        db.stats().unwrap().keyspaces[0].tuner.as_ref()?.models
    };
    let until = Instant::now() + Duration::from_secs(120);
    while models().is_some_and(|models| models.waiting > 0) {
        assert!(Instant::now() < until, "{:?}", models());
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(models().is_none_or(|models| models.tables >= 2));

    let read = |from: u64| {
        let before = allocations();
        for i in 0..10_000 {
            let number = (from + i * 7_919) % (2 * KEYS);
            let value = db.get(key(number)).unwrap();
            assert_eq!(value.is_some(), number.is_multiple_of(2));
            assert!(value.is_none_or(|value| value[..] == [(number / 2) as u8; 100]));
        }
        allocations() - before
    };
    assert!(
        read(0) > 0,
        "allocations for reading blocks are not counted"
    );
    assert_eq!((read(0), read(0)), (0, 0));
}

/// The second of two iterators goes on with the cursor of the first one.
#[test]
fn a_warm_scan_makes_no_cursor() {
    let db = Db::open("store", Options::in_memory()).unwrap();
    let store = |numbers: &mut dyn Iterator<Item = u64>| {
        for number in numbers {
            db.put(key(number), [number as u8; 100]).unwrap();
        }
    };
    store(&mut (0..KEYS));
    db.compact_range(None, None).unwrap();
    store(&mut (0..KEYS).step_by(7));
    db.flush().unwrap();
    store(&mut (0..KEYS).step_by(91));
    db.settle();
    let scan = || {
        let before = allocations();
        for number in (0..1_000).map(|i| i * 7_919 % (KEYS - 10)) {
            let mut entries = db.iter().unwrap();
            entries.seek(key(number));
            for number in number..number + 10 {
                assert!(entries.advance().unwrap());
                assert_eq!(entries.key(), key(number));
                assert_eq!(entries.value(), [number as u8; 100]);
            }
        }
        allocations() - before
    };
    assert!(scan() > 1_000, "allocations are not counted");
    assert_eq!((scan(), scan()), (1_000, 1_000));
    // One that needs no table neither takes that cursor nor leaves its own.
    let mut behind_all = db.range(key(KEYS)..).unwrap();
    assert!(!behind_all.advance().unwrap());
    drop(behind_all);
    assert_eq!(scan(), 1_000);
}

/// Values that lie apart from their keys stay in frames of the block cache, where there is room.
#[test]
fn a_get_of_a_value_apart_that_is_in_memory_allocates_nothing() {
    let db = Db::open(
        "store",
        Options {
            table: "values=100".parse().unwrap(),
            ..Options::in_memory()
        },
    )
    .unwrap();
    for number in 0..1_000 {
        db.put(key(number), [number as u8; 1_000]).unwrap();
    }
    db.compact_range(None, None).unwrap();
    let read = || {
        let before = allocations();
        for number in (0..10_000).map(|i| i * 7_919 % 1_000) {
            let value = db.get(key(number)).unwrap().unwrap();
            assert!(value[..] == [number as u8; 1_000]);
        }
        allocations() - before
    };
    assert!(
        read() > 1_000,
        "allocations for reading values are not counted"
    );
    assert_eq!((read(), read()), (0, 0));
}
