//! What outlives what, and whose batch is whose.

use crate::kit;

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use kit::{files, small};
use rhumb::{Db, Error, Keyspace, Options, Result, Value, WriteBatch};

#[test]
fn a_batch_of_another_store_is_refused() {
    let first = Db::open("store", Options::in_memory()).unwrap();
    let second = Db::open("store", Options::in_memory()).unwrap();
    let mut batch = WriteBatch::new();
    batch.put(&first, "a", "1").unwrap();
    let refused = |result: Result<()>| match result {
        Err(Error::InvalidArgument(why)) => assert!(why.contains("store"), "{why}"),
        other => panic!("{other:?}"),
    };
    refused(second.write(batch.clone()));
    refused(batch.put(&second, "b", "2"));
    refused(batch.delete(&second, "b"));
    refused(batch.delete_range(&second, "b".."c"));
    assert_eq!(batch.len(), 1, "what was refused is not in the batch");
    first.write(batch).unwrap();
    assert_eq!(first.get("a").unwrap().unwrap(), "1");
    assert!(second.get("a").unwrap().is_none());
}

#[test]
fn a_batch_of_an_earlier_opening_is_refused() {
    let options = Options::in_memory();
    let db = Db::open("store", options.clone()).unwrap();
    let mut batch = WriteBatch::new();
    batch.put(&db, "a", "1").unwrap();
    db.close().unwrap();
    let db = Db::open("store", options).unwrap();
    assert!(matches!(db.write(batch), Err(Error::InvalidArgument(_))));
}

#[test]
fn after_close_readers_read_on_and_writers_fail() {
    let options = Options::in_memory();
    let db = Db::open("store", options.clone()).unwrap();
    let other = db.create_keyspace("other").unwrap();
    other.put("a", "1").unwrap();
    let snapshot = db.snapshot();
    other.put("a", "2").unwrap();
    let mut iter = other.iter().unwrap();
    db.close().unwrap();
    assert_eq!(iter.next().unwrap().unwrap().1, "2");
    assert_eq!(other.get("a").unwrap().unwrap(), "2");
    assert_eq!(snapshot.get(&other, "a").unwrap().unwrap(), "1");
    assert!(matches!(other.put("a", "3"), Err(Error::Closed)));
    assert!(matches!(other.flush(), Err(Error::Closed)));
    // They keep the store open, so that nobody else deletes what they read.
    let again = Db::open("store", options.clone());
    assert!(matches!(again, Err(Error::Locked { .. })));
    drop(iter);
    drop((snapshot, other));
    let db = Db::open("store", options).unwrap();
    assert_eq!(
        db.keyspace("other").unwrap().get("a").unwrap().unwrap(),
        "2"
    );
}

const KEYS: u32 = 600;

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

fn value(round: u8, number: u32) -> Vec<u8> {
    vec![round ^ number as u8; 20 + (number % 180) as usize]
}

/// Writes all keys anew; part of them stay in the write buffer.
fn fill(keyspace: &Keyspace, round: u8) {
    for number in 0..KEYS {
        keyspace.put(key(number), value(round, number)).unwrap();
    }
}

/// Checks all entries of `keyspace`, as they were after a round, in what an iterator has left.
fn check_rest(
    entries: impl Iterator<Item = Result<(rhumb::Key, impl AsRef<[u8]>)>>,
    round: u8,
) -> u32 {
    let mut count = 0;
    for entry in entries {
        let (key, found) = entry.unwrap();
        let number = u32::from_be_bytes((*key).try_into().unwrap());
        assert_eq!(found.as_ref(), value(round, number), "{number}");
        count += 1;
    }
    count
}

/// Values that come from the write buffer, from blocks in the cache and from others, by each way there is.
fn hold(keyspace: &Keyspace) -> Vec<(u32, Value<'_>)> {
    let all: Vec<[u8; 4]> = (0..KEYS).map(key).collect();
    let got = (0..KEYS).map(|n| keyspace.get(key(n)).unwrap().unwrap());
    let many = keyspace.multi_get(&all).unwrap().into_iter().flatten();
    let next = keyspace.iter().unwrap().map(|entry| entry.unwrap().1);
    let back = keyspace.iter().unwrap().rev().map(|entry| entry.unwrap().1);
    let mut held: Vec<(u32, Value<'_>)> = Vec::new();
    held.extend((0..).zip(got));
    held.extend((0..).zip(many));
    held.extend((0..).zip(next));
    held.extend((0..KEYS).rev().zip(back));
    assert_eq!(held.len(), 4 * KEYS as usize);
    held
}

#[test]
fn values_stay_as_they_are_whatever_becomes_of_their_store() {
    for cache_bytes in [0, 32 << 10, 1 << 20] {
        let options = Options {
            cache_bytes,
            ..small()
        };
        let db = Db::open("store", options.clone()).unwrap();
        let other = db.create_keyspace("other").unwrap();
        fill(&other, 1);
        let held = hold(&other);
        let stay = |after: &str| {
            for (number, held) in &held {
                assert_eq!(*held, value(1, *number), "{number} after {after}");
            }
        };
        fill(&other, 2);
        stay("overwriting");
        other.delete_range(key(0)..key(KEYS)).unwrap();
        other.compact_range(None, None).unwrap();
        stay("a compaction");
        // Other blocks come into the cache.
        fill(&db, 3);
        db.compact_range(None, None).unwrap();
        assert_eq!(check_rest(db.iter().unwrap(), 3), KEYS);
        stay("reads of others");
        db.drop_keyspace("other").unwrap();
        fill(&db.create_keyspace("other").unwrap(), 4);
        stay("the drop of the keyspace");
        db.close().unwrap();
        stay("close");
        assert!(matches!(
            Db::open("store", options.clone()),
            Err(Error::Locked { .. })
        ));
        let copies: Vec<(u32, Vec<u8>)> = held.iter().map(|(n, v)| (*n, v.to_vec())).collect();
        drop(held);
        drop(other);
        let db = Db::open("store", options).unwrap();
        assert_eq!(
            check_rest(db.keyspace("other").unwrap().iter().unwrap(), 4),
            KEYS
        );
        assert!(
            copies
                .iter()
                .all(|(number, copy)| *copy == value(1, *number))
        );
    }
}

/// Iterators that were made before, during and after what changes the files, and not yet moved, so that
/// tables are still to be opened.
#[test]
fn iterators_and_snapshots_go_on_after_close() {
    let options = small();
    let db = Db::open("store", options.clone()).unwrap();
    let other = db.create_keyspace("other").unwrap();
    fill(&other, 1);
    other.flush().unwrap();
    db.close().unwrap();
    drop(other);

    let db = Db::open("store", options.clone()).unwrap();
    let other = db.keyspace("other").unwrap();
    let snapshot = db.snapshot();
    let untouched = other.iter().unwrap();
    let mut begun = other.iter().unwrap();
    assert_eq!(*begun.next().unwrap().unwrap().0, key(0));
    assert_eq!(*begun.next_back().unwrap().unwrap().0, key(KEYS - 1));
    let mut lending = other.range(key(10)..key(20)).unwrap();
    fill(&other, 2);
    other.compact_range(None, None).unwrap();
    db.close().unwrap();

    assert_eq!(check_rest(begun, 1), KEYS - 2);
    assert_eq!(check_rest(untouched.rev(), 1), KEYS);
    let mut lent = 10;
    while lending.advance().unwrap() {
        assert_eq!(
            (lending.key(), lending.value()),
            (&key(lent)[..], &value(1, lent)[..])
        );
        lent += 1;
    }
    assert_eq!(lent, 20);
    drop(lending);
    assert_eq!(check_rest(snapshot.iter(&other).unwrap(), 1), KEYS);
    assert_eq!(check_rest(snapshot.iter(&other).unwrap().rev(), 1), KEYS);
    assert_eq!(snapshot.get(&other, key(5)).unwrap().unwrap(), value(1, 5));
    assert_eq!(check_rest(other.iter().unwrap(), 2), KEYS);
    assert_eq!(other.get(key(5)).unwrap().unwrap(), value(2, 5));
    assert!(other.explain_get(key(5)).is_ok());
    drop(snapshot);
    drop(other);

    // What only they read is gone with them.
    let table_files = || files(&*options.file_system, Path::new("store"), ".table").len();
    let left = table_files();
    let db = Db::open_read_only("store", options.clone()).unwrap();
    let levels = db.stats().unwrap().keyspaces;
    let named: u64 = levels
        .iter()
        .flat_map(|k| &k.levels)
        .map(|l| l.tables)
        .sum();
    assert_eq!(left as u64, named);
}

#[test]
fn a_store_is_open_as_long_as_it_has_handles() {
    let options = small();
    let db = Db::open("store", options.clone()).unwrap();
    let other = db.create_keyspace("other").unwrap();
    let snapshot = db.snapshot();
    drop(db);
    // Nobody closed it: it takes writes, and its threads work.
    fill(&other, 1);
    other.compact_range(None, None).unwrap();
    assert_eq!(check_rest(other.iter().unwrap(), 1), KEYS);
    assert!(snapshot.get(&other, key(5)).unwrap().is_none());
    for last in [
        Box::new(other) as Box<dyn std::any::Any>,
        Box::new(snapshot),
    ] {
        assert!(matches!(
            Db::open("store", options.clone()),
            Err(Error::Locked { .. })
        ));
        drop(last);
    }
    let db = Db::open("store", options).unwrap();
    assert_eq!(
        check_rest(db.keyspace("other").unwrap().iter().unwrap(), 1),
        KEYS
    );
}

type Call = fn(&Keyspace) -> Result<()>;

/// Calls of other threads end with [`Error::Closed`] or go on reading; none of them hangs.
#[test]
fn calls_that_are_under_way_at_close_end() {
    for _ in 0..20 {
        let options = small();
        let db = Db::open("store", options.clone()).unwrap();
        fill(&db.create_keyspace("other").unwrap(), 1);
        let (sender, ended) = mpsc::channel();
        let calls: [(&str, Call); 6] = [
            ("put", |k| k.put(key(1), value(1, 1))),
            ("delete_range", |k| k.delete_range(key(KEYS)..key(KEYS + 1))),
            ("flush", |k| {
                k.put(key(2), value(1, 2)).and_then(|()| k.flush())
            }),
            ("compact_range", |k| k.compact_range(None, None)),
            ("iter", |k| {
                assert_eq!(check_rest(k.iter()?, 1), KEYS);
                k.put(key(3), value(1, 3))
            }),
            ("ingest", |k| {
                k.ingest_sorted([(key(4), value(1, 4))]).map(drop)
            }),
        ];
        for (name, call) in calls {
            let (other, sender) = (db.keyspace("other").unwrap(), sender.clone());
            std::thread::spawn(move || {
                let failed = loop {
                    if let Err(e) = call(&other) {
                        break e;
                    }
                };
                drop(other);
                sender.send((name, failed)).unwrap();
            });
        }
        std::thread::sleep(Duration::from_millis(10));
        db.close().unwrap();
        for _ in calls {
            let (name, failed) = ended.recv_timeout(Duration::from_secs(60)).unwrap();
            assert!(matches!(failed, Error::Closed), "{name}: {failed}");
        }
        let db = Db::open("store", options).unwrap();
        assert_eq!(
            check_rest(db.keyspace("other").unwrap().iter().unwrap(), 1),
            KEYS
        );
    }
}

#[test]
fn readers_share_a_store_and_exclude_its_writer() {
    let options = Options::in_memory();
    let missing = Db::open_read_only("store", options.clone());
    assert!(matches!(missing, Err(Error::NotFound { .. })));
    let create_if_missing = false;
    let no_create = Options {
        create_if_missing,
        ..options.clone()
    };
    let missing = Db::open("store", no_create);
    assert!(matches!(missing, Err(Error::NotFound { .. })));
    Db::open("store", options.clone())
        .unwrap()
        .put("a", "1")
        .unwrap();
    let readers = [(); 3].map(|()| Db::open_read_only("store", options.clone()).unwrap());
    for reader in &readers {
        assert_eq!(reader.get("a").unwrap().unwrap(), "1");
        let refused = |result: Result<()>| {
            assert!(matches!(result, Err(Error::ReadOnly { .. })), "{result:?}");
        };
        refused(reader.put("a", "2"));
        refused(reader.delete("a"));
        refused(reader.delete_range("a".."b"));
        refused(reader.flush());
        refused(reader.compact_range(None, None));
        refused(reader.sync());
        refused(reader.create_keyspace("new").map(drop));
        refused(reader.drop_keyspace("new"));
    }
    let writer = Db::open("store", options.clone());
    assert!(matches!(writer, Err(Error::Locked { .. })));
    drop(readers);
    let writer = Db::open("store", options.clone()).unwrap();
    let reader = Db::open_read_only("store", options);
    assert!(matches!(reader, Err(Error::Locked { .. })));
    writer.put("a", "2").unwrap();
}

#[test]
fn names_of_keyspaces_are_checked() {
    let db = Db::open("store", Options::in_memory()).unwrap();
    for name in ["", &"n".repeat(256)] {
        let refused = db.create_keyspace(name);
        assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    }
    let longest = "n".repeat(255);
    db.create_keyspace(&longest).unwrap();
    db.create_keyspace("a\0b / ../é").unwrap();
    let twice = db.create_keyspace("a\0b / ../é");
    assert!(matches!(twice, Err(Error::KeyspaceExists(_))));
    assert_eq!(db.keyspaces(), ["a\0b / ../é", "default", &longest]);
    assert!(matches!(
        db.keyspace("no such"),
        Err(Error::NoSuchKeyspace(_))
    ));
}
