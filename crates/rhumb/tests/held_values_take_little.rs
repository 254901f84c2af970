//! Values that are held take little more memory than their own bytes, and the cache.

#![allow(clippy::unwrap_used)]

mod kit_allocator;

use kit_allocator::{alone, held_bytes};
use rhumb::{Db, Durability, Options, Value, WriteBatch};

const VALUES: u64 = 100_000;
const VALUE_BYTES: u64 = 100;
const CACHE_BYTES: u64 = 1 << 20;

/// What a value that is held may take beside its bytes: the handle, and what an allocation needs.
const OVERHEAD: u64 = 100;

fn key(number: u64) -> [u8; 8] {
    // Neighbouring numbers lie far apart, so that each get needs another block.
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

fn value(number: u64) -> [u8; VALUE_BYTES as usize] {
    [number as u8; VALUE_BYTES as usize]
}

/// A store of [`VALUES`] keys in one table, of which nearly nothing fits into the cache.
fn store(cache_bytes: u64) -> Db {
    let options = Options {
        cache_bytes,
        durability: Durability::Buffered,
        ..Options::in_memory()
    };
    let db = Db::open("store", options).unwrap();
    for start in (0..VALUES).step_by(1_000) {
        let mut batch = WriteBatch::new();
        for number in start..start + 1_000 {
            batch.put(&db, key(number), value(number)).unwrap();
        }
        db.write(batch).unwrap();
    }
    db.compact_range(None, None).unwrap();
    db.settle();
    // Opens the table.
    db.get(key(0)).unwrap().unwrap();
    db
}

/// Reads all values and holds them, and says what that took.
fn bytes_to_hold<'db>(read: impl FnOnce(&mut dyn FnMut(Value<'db>))) -> (Vec<Value<'db>>, u64) {
    let before = held_bytes();
    let mut held = Vec::with_capacity(VALUES as usize);
    read(&mut |value| held.push(value));
    let after = held_bytes();
    (held, (after - before).try_into().unwrap())
}

fn check(way: &str, db: &Db, (held, taken): (Vec<Value<'_>>, u64)) {
    assert_eq!(held.len() as u64, VALUES, "{way}");
    let values: u64 = held.iter().map(|value| value.len() as u64).sum();
    let most = 2 * values + OVERHEAD * VALUES;
    assert!(
        taken <= most,
        "{way}: {taken} bytes to hold {values}, more than {most}"
    );
    let cache = db.stats().unwrap().cache;
    assert!(cache.pinned_bytes <= CACHE_BYTES + CACHE_BYTES / 32);
    assert!(
        cache.bypassed_bytes <= 2 * values,
        "{way}: {} bytes are counted for {values}",
        cache.bypassed_bytes
    );
    assert!(cache.pinned_bytes + cache.bypassed_bytes >= values, "{way}");
    drop(held);
    let cache = db.stats().unwrap().cache;
    assert_eq!((cache.pinned_bytes, cache.bypassed_bytes), (0, 0), "{way}");
}

#[test]
fn values_of_blocks_that_found_no_frame_are_copied() {
    let _alone = alone();
    for cache_bytes in [0, CACHE_BYTES] {
        let db = store(cache_bytes);
        let snapshot = db.snapshot();
        let keys: Vec<_> = (0..VALUES).map(key).collect();
        let got = bytes_to_hold(|hold| {
            for number in 0..VALUES {
                let found = db.get(key(number)).unwrap().unwrap();
                assert_eq!(found, value(number));
                hold(found);
            }
        });
        check("get", &db, got);
        let got = bytes_to_hold(|hold| {
            for key in &keys {
                hold(snapshot.get(&db, key).unwrap().unwrap());
            }
        });
        check("snapshot", &db, got);
        let got = bytes_to_hold(|hold| {
            for value in db.multi_get(&keys).unwrap() {
                hold(value.unwrap());
            }
        });
        check("multi_get", &db, got);
        let got = bytes_to_hold(|hold| db.iter().unwrap().for_each(|entry| hold(entry.unwrap().1)));
        check("next", &db, got);
        let got = bytes_to_hold(|hold| {
            let backwards = db.iter().unwrap().rev();
            backwards.for_each(|entry| hold(entry.unwrap().1));
        });
        check("next_back", &db, got);
    }
}

/// Of each read of a long scan, 256 KiB, about one value is held.
#[test]
fn a_value_of_a_long_scan_does_not_keep_what_was_read_with_it() {
    let _alone = alone();
    for cache_bytes in [0, CACHE_BYTES] {
        let db = store(cache_bytes);
        let before = held_bytes();
        let mut all = db.iter().unwrap();
        let every: Vec<_> = all.by_ref().step_by(2_000).map(Result::unwrap).collect();
        drop(all);
        let taken = held_bytes() - before;
        assert_eq!(every.len() as u64, VALUES / 2_000);
        // The cache may have grown meanwhile.
        let most = (cache_bytes + every.len() as u64 * 10 * OVERHEAD) as i64;
        assert!(taken <= most, "{taken} bytes, more than {most}");
        let outside = db.stats().unwrap().cache.bypassed_bytes;
        assert!(
            outside <= every.len() as u64 * VALUE_BYTES,
            "{outside} bytes"
        );
    }
}

/// The largest chunk of a write buffer's memory, in bytes.
const CHUNK_BYTES: u64 = 256 << 10;

#[test]
fn a_value_of_the_write_buffer_keeps_one_chunk_of_it() {
    let _alone = alone();
    let options = Options {
        durability: Durability::Buffered,
        ..Options::in_memory()
    };
    let db = Db::open("store", options).unwrap();
    let mut held = Vec::new();
    for buffer in 0..10 {
        for start in (0..20_000).step_by(1_000) {
            let mut batch = WriteBatch::new();
            for number in start..start + 1_000 {
                batch.put(&db, key(number), value(buffer)).unwrap();
            }
            db.write(batch).unwrap();
        }
        held.push(db.get(key(1)).unwrap().unwrap());
        held.push(db.iter().unwrap().next().unwrap().unwrap().1);
        assert!(db.stats().unwrap().keyspaces[0].memtable_bytes > 10 * CHUNK_BYTES);
        db.flush().unwrap();
    }
    db.settle();
    for (at, held) in held.iter().enumerate() {
        assert_eq!(*held, value(at as u64 / 2));
    }
    let before = held_bytes();
    let values = held.len() as u64;
    drop(held);
    let kept = (before - held_bytes()) as u64;
    let most = values * (CHUNK_BYTES + OVERHEAD);
    assert!(
        kept <= most,
        "{values} values kept {kept} bytes, more than {most}"
    );
}
