//! Measures a store that keeps values apart from their keys, on the disk: bytes written for each byte of the user, space
//! beside live values, how long puts wait, and how fast scattered values are read. Nothing fails because of a figure, so that it is run by hand:
//!
//! ```text
//! RHUMB_KEYS=10000000 RHUMB_OVER_PROVISION=50 cargo test --release -p rhumb --test measured -- --ignored --nocapture zipf
//! ```

use std::time::{Duration, Instant};

use crate::kit_measured::{Draw, Measured, VALUE_BYTES, key, options, written};
use crate::kit_values::number;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rhumb::fs::Access;
use rhumb::{Db, Options};

/// Loads all keys in random order, and updates half as many as there are three times.
fn update(is_zipf: bool) {
    let store = Measured::loaded(number("RHUMB_OVER_PROVISION", 30) as u32);
    let mut draw = Draw::new(store.keys, is_zipf);
    let before = written();
    for part in 1..=3 {
        let puts = (0..store.keys / 2).map(|_| draw.next());
        store.put(
            &format!("updates {part} of 3"),
            Some(store.live()),
            None,
            puts,
        );
    }
    let user = (store.keys / 2 * 3) as f64 * (VALUE_BYTES + 8) as f64;
    println!(
        "all updates: written a user byte {:.2}",
        (written() - before) / user
    );
    let stats = store.db.stats().unwrap();
    let tables: u64 = stats.keyspaces[0]
        .levels
        .iter()
        .map(|level| level.bytes)
        .sum();
    println!(
        "tables: {:.1} bytes a key",
        tables as f64 / store.keys as f64
    );
}

#[test]
#[ignore = "measures"]
fn zipf() {
    update(true);
}

#[test]
#[ignore = "measures"]
fn uniform() {
    update(false);
}

/// How long puts wait while values are collected, and in a store that collects none: as fast as it takes them, and so
/// many a second that collections keep up.
#[test]
#[ignore = "measures"]
fn waits() {
    for over_provision in [30, u32::MAX] {
        let store = Measured::loaded(over_provision);
        let mut draw = Draw::new(store.keys, false);
        for rate in [None, Some(number("RHUMB_RATE", 20_000) as f64)] {
            let puts = (0..store.keys / 2).map(|_| draw.next());
            let name = rate.map_or("at full speed".into(), |rate| format!("{rate} a second"));
            store.put(&name, None, rate, puts);
        }
    }
}

/// Scans of 500 values that updates scattered, past the page cache: by an iterator, and one value after another.
#[test]
#[ignore = "measures"]
fn scans() {
    let store = Measured::loaded(30);
    let mut draw = Draw::new(store.keys, false);
    let puts = (0..store.keys).map(|_| draw.next());
    store.put("updates", None, None, puts);
    let Measured {
        db,
        directory,
        keys,
    } = store;
    db.close().unwrap();
    let options = Options {
        access: Access::Direct,
        cache_bytes: 8 << 20,
        ..options(30)
    };
    let db = Db::open(directory.path(), options).unwrap();
    let mut random = StdRng::seed_from_u64(3);
    let (mut together, mut alone) = (Duration::ZERO, Duration::ZERO);
    for n in 0..40 {
        let start = key(random.random_range(0..keys));
        let started = Instant::now();
        if n % 2 == 0 {
            let found = db.range(&start[..]..).unwrap().take(500);
            assert_eq!(
                found.map(|entry| entry.unwrap().1.len()).sum::<usize>() % VALUE_BYTES,
                0
            );
            together += started.elapsed();
        } else {
            let mut found = db.range(&start[..]..).unwrap().keys();
            for key in found.by_ref().take(500) {
                assert_eq!(db.get(key.unwrap()).unwrap().unwrap().len(), VALUE_BYTES);
            }
            alone += started.elapsed();
        }
    }
    println!(
        "500 values: {:.1} ms by an iterator, {:.1} ms one after another: {:.1} times",
        together.as_secs_f64() * 50.0,
        alone.as_secs_f64() * 50.0,
        alone.as_secs_f64() / together.as_secs_f64(),
    );
}
