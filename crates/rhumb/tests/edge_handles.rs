//! What outlives what, and whose batch is whose.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is test code"
)]

use rhumb::{Db, Error, Options, WriteBatch};

#[test]
fn a_batch_of_another_store_is_refused() {
    let first = Db::open("store", Options::in_memory()).unwrap();
    let second = Db::open("store", Options::in_memory()).unwrap();
    let mut batch = WriteBatch::new();
    batch.put(&first, "a", "1").unwrap();
    let refused = |result: rhumb::Result<()>| match result {
        Err(Error::InvalidArgument(why)) => assert!(why.contains("store"), "{why}"),
        other => panic!("{other:?}"),
    };
    refused(second.write(batch.clone()));
    refused(batch.put(&second, "b", "2"));
    refused(batch.delete(&second, "b"));
    refused(batch.delete_range(&second, "b", "c"));
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
        let refused = |result: rhumb::Result<()>| {
            assert!(matches!(result, Err(Error::ReadOnly { .. })), "{result:?}");
        };
        refused(reader.put("a", "2"));
        refused(reader.delete("a"));
        refused(reader.delete_range("a", "b"));
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
