//! The number of logs stays small, also in stores that are opened and closed often.

use std::path::Path;

use rhumb::fs::Access;
use rhumb::{Db, Options};

#[test]
fn logs_of_many_short_lives_do_not_pile_up() {
    let options = Options::in_memory();
    for life in 0..40u32 {
        let db = Db::open("db", options.clone()).unwrap();
        db.put(life.to_be_bytes(), "value").unwrap();
        db.close().unwrap();
    }
    let names = options.file_system.list("db".as_ref()).unwrap();
    let logs = names.iter().filter(|name| name.ends_with(".log")).count();
    assert!(logs <= 9, "{logs} logs");
    let db = Db::open("db", options).unwrap();
    assert_eq!(db.iter().unwrap().count(), 40);
}

/// Data in tables needs no log: a requested flush leaves no log behind, unless other keyspaces have
/// unflushed writes in it.
#[test]
fn a_flush_leaves_no_log_that_is_of_no_use() {
    let options = Options::in_memory();
    let db = Db::open("db", options.clone()).unwrap();
    let other = db.create_keyspace("other").unwrap();
    let fs = options.file_system.clone();
    // Those that were begun for the writes to come are empty.
    let logs = || {
        let names = fs.list("db".as_ref()).unwrap();
        let logs = names.iter().filter(|name| name.ends_with(".log"));
        let file = |name: &String| fs.open(&Path::new("db").join(name), Access::Buffered);
        logs.filter(|name| file(name).unwrap().len().unwrap() > 0)
            .count()
    };
    for round in 0..3u32 {
        db.put(round.to_be_bytes(), "value").unwrap();
        db.flush().unwrap();
        db.settle();
        assert_eq!((logs(), db.stats().unwrap().log_bytes), (0, 0));
    }
    other.put("kept", "value").unwrap();
    db.put("flushed", "value").unwrap();
    db.flush().unwrap();
    db.settle();
    assert_eq!(logs(), 1, "the log of the other keyspace");
    drop((other, db));
    let db = Db::open("db", options).unwrap();
    assert_eq!(db.iter().unwrap().count(), 4);
    let other = db.keyspace("other").unwrap();
    assert_eq!(other.get("kept").unwrap().unwrap(), "value");
}
