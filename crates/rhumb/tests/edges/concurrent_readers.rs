//! Readers and writers at the same time: no partial batches, no lost writes, no changes under an
//! iterator.

use crate::kit;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kit::small;
use rhumb::{Db, Durability, WriteBatch};

/// Stops the readers even if the writer panics, so that a failure is reported and does not hang.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn no_snapshot_sees_half_of_a_batch_over_keyspaces() {
    let db = Db::open("store", small()).unwrap();
    let other = db.create_keyspace("other").unwrap();
    let (done, seen) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for reader in 0..2u32 {
            let (db, other, done, seen) = (&db, &other, &done, &seen);
            scope.spawn(move || {
                let mut last = 0;
                while !done.load(Ordering::Relaxed) {
                    let snapshot = db.snapshot();
                    let number = |value: Option<rhumb::Value>| {
                        value.map_or(0, |v| u32::from_be_bytes(v[..4].try_into().unwrap()))
                    };
                    let here = number(snapshot.get(db, "counter").unwrap());
                    let there = number(snapshot.get(other, "counter").unwrap());
                    assert_eq!(here, there, "reader {reader}");
                    assert!(here >= last, "time goes backwards: {here} after {last}");
                    last = here;
                    // Each batch also moves a key from one keyspace to the other.
                    let keys = snapshot.prefix(db, "moving").unwrap().count();
                    let back = snapshot.prefix(other, "moving").unwrap().rev().count();
                    assert_eq!(keys + back, usize::from(here > 0), "at {here}");
                    seen.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let _done = Done(&done);
        for n in 1..=6000u32 {
            let mut batch = WriteBatch::new();
            let value = [&n.to_be_bytes()[..], &[7; 100]].concat();
            batch.put(&db, "counter", &value).unwrap();
            let (to, from) = if n % 2 == 0 {
                (&other, &*db)
            } else {
                (&*db, &other)
            };
            batch.put(to, format!("moving {n}"), &value).unwrap();
            batch.delete_range(from, "moving".."moving~").unwrap();
            batch.put(&other, "counter", &value).unwrap();
            db.write_with(batch, Durability::Buffered).unwrap();
        }
    });
    println!("{} snapshots read", seen.load(Ordering::Relaxed));
    assert!(seen.into_inner() > 10);
    assert!(db.stats().unwrap().writes.flushes > 10);
}

#[test]
fn writes_of_four_threads_are_all_there_and_share_syncs() {
    let options = small();
    let db = Db::open("store", options.clone()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            let db = &db;
            scope.spawn(move || {
                for n in 0..1500u32 {
                    let key = [thread.to_be_bytes(), n.to_be_bytes()].concat();
                    db.put(&key, [thread as u8; 50]).unwrap();
                    // A thread reads its own writes.
                    assert_eq!(db.get(&key).unwrap().unwrap(), [thread as u8; 50]);
                }
            });
        }
    });
    let check = |db: &Db| {
        assert_eq!(db.iter().unwrap().count(), 6000);
        for thread in 0..4u32 {
            let mine = db.prefix(thread.to_be_bytes()).unwrap();
            let right =
                |e: rhumb::Result<(rhumb::Key, rhumb::Value)>| e.unwrap().1 == [thread as u8; 50];
            assert_eq!(mine.map(right).filter(|right| *right).count(), 1500);
        }
    };
    check(&db);
    db.close().unwrap();
    check(&Db::open("store", options).unwrap());
}

#[test]
fn iterators_stay_still_while_everything_moves() {
    let db = Db::open("store", small()).unwrap();
    let brief = db.create_keyspace("brief").unwrap();
    for n in 0..2000u32 {
        db.put(n.to_be_bytes(), [1; 30]).unwrap();
        brief.put(n.to_be_bytes(), [1; 30]).unwrap();
    }
    let mut forward = db.iter().unwrap();
    let mut backward = db.iter().unwrap().rev();
    let mut ends = brief.iter().unwrap();
    let old = db.snapshot();
    for step in 0..1000u32 {
        let key = |n: u32| n.to_be_bytes().to_vec();
        let (found, value) = forward.next().unwrap().unwrap();
        assert_eq!((found.to_vec(), value.to_vec()), (key(step), vec![1; 30]));
        let (found, value) = backward.next().unwrap().unwrap();
        assert_eq!(
            (found.to_vec(), value.to_vec()),
            (key(1999 - step), vec![1; 30])
        );
        assert_eq!(ends.next().unwrap().unwrap().0, key(step));
        assert_eq!(ends.next_back().unwrap().unwrap().0, key(1999 - step));
        // Write ahead of, at and behind the iterators.
        db.put((step * 2).to_be_bytes(), [2; 30]).unwrap();
        db.delete((step + 1).to_be_bytes()).unwrap();
        match step {
            100 => db.flush().unwrap(),
            200 => db.compact_range(None, None).unwrap(),
            300 => db.drop_keyspace("brief").unwrap(),
            400 => db.delete_range(..[0xff]).unwrap(),
            500 => db.compact_range(None, None).unwrap(),
            _ => {}
        }
    }
    assert!(ends.next().is_none() && ends.next_back().is_none());
    assert_eq!(forward.count(), 1000);
    assert_eq!(backward.count(), 1000);
    assert_eq!(old.iter(&db).unwrap().count(), 2000);
}
