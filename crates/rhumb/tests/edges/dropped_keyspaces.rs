//! Keyspaces can be dropped during any other work, and leave no files behind.

use crate::kit;

use std::path::Path;
use std::time::{Duration, Instant};

use kit::{files, small};
use rhumb::{Db, Durability, Error, Options, WriteBatch};

/// Every write becomes a table at once, so that flushes and compactions always run.
fn busy() -> Options {
    let mut options = small();
    options.write_buffer_bytes = 1;
    options.table.table_bytes = 1 << 10;
    options.levels.base_bytes = 1;
    options
}

fn tables(options: &Options) -> usize {
    files(&*options.file_system, Path::new("store"), ".table").len()
}

#[test]
fn dropping_a_keyspace_under_background_work_does_no_harm() {
    let db = Db::open("store", busy()).unwrap();
    for round in 0..20_000u32 {
        let keyspace = db.create_keyspace("brief").unwrap();
        let mut batch = WriteBatch::new();
        batch.put(&keyspace, "a", [7; 300]).unwrap();
        db.write_with(batch, Durability::Buffered).unwrap();
        // Wait until the flush has started or is about to.
        for _ in 0..round % 100 * 20 {
            std::hint::spin_loop();
        }
        db.drop_keyspace("brief").unwrap();
    }
    db.put("round", "last").unwrap();
    db.flush().unwrap();
    assert_eq!(db.get("round").unwrap().unwrap(), "last");
    assert_eq!(db.keyspaces(), ["default"]);
}

#[test]
fn a_dropped_keyspaces_files_go_when_its_last_reader_does() {
    let options = busy();
    let db = Db::open("store", options.clone()).unwrap();
    let keyspace = db.create_keyspace("brief").unwrap();
    for i in 0..200u32 {
        keyspace.put(i.to_be_bytes(), [7; 300]).unwrap();
    }
    keyspace.flush().unwrap();
    assert!(tables(&options) > 0);
    let mut reader = keyspace.iter().unwrap();
    assert_eq!(reader.next().unwrap().unwrap().0, 0u32.to_be_bytes());
    db.drop_keyspace("brief").unwrap();
    assert_eq!(reader.count(), 199, "an iterator keeps what it sees");
    let started = Instant::now();
    while tables(&options) > 0 {
        assert!(
            started.elapsed() < Duration::from_secs(10),
            "the files are not removed"
        );
        db.put("a", "b").unwrap();
        db.delete("a").unwrap();
        db.compact_range(None, None).unwrap();
    }
}

#[test]
fn handles_to_a_dropped_keyspace_fail_clearly() {
    let db = Db::open("store", Options::in_memory()).unwrap();
    let old = db.create_keyspace("old").unwrap();
    old.put("a", "1").unwrap();
    let mut batch = WriteBatch::new();
    batch.put(&db, "in default", "1").unwrap();
    batch.put(&old, "b", "2").unwrap();
    let snapshot = db.snapshot();
    db.drop_keyspace("old").unwrap();
    let young = db.create_keyspace("old").unwrap();

    let gone = |result: Result<(), Error>| match result {
        Err(Error::NoSuchKeyspace(name)) => assert_eq!(name, "old"),
        other => panic!("{other:?}"),
    };
    gone(old.get("a").map(drop));
    gone(old.multi_get(&["a"]).map(drop));
    gone(old.contains_key("a").map(drop));
    gone(old.iter().map(drop));
    gone(old.prefix("a").map(drop));
    gone(old.explain_get("a").map(drop));
    gone(snapshot.get(&old, "a").map(drop));
    gone(snapshot.iter(&old).map(drop));
    gone(old.put("a", "2"));
    gone(old.delete("a"));
    gone(old.delete_range("a".."b"));
    gone(old.flush());
    gone(old.compact_range(None, None));
    gone(db.write(batch));
    assert!(
        db.get("in default").unwrap().is_none(),
        "part of a refused batch was written"
    );
    assert_eq!(young.iter().unwrap().count(), 0);
    assert_eq!(snapshot.iter(&young).unwrap().count(), 0);

    gone(
        db.drop_keyspace("old")
            .and_then(|()| db.drop_keyspace("old")),
    );
    assert!(matches!(
        db.drop_keyspace(rhumb::DEFAULT_KEYSPACE),
        Err(Error::InvalidArgument(_))
    ));
}
