//! A log that was not closed may end early after a crash, but not before what a table proves it had.
// A broken expectation is a failed test.
use crate::damage;

use std::fs;
use std::path::{Path, PathBuf};

use damage::{key, options, truncate};
use rhumb::{Db, inspect};

/// The files of a store whose log was not closed: 100 writes to each of two keyspaces by turns, those of
/// the first in a table, and what `finish` does then. The last write of the first fills its write buffer, so
/// that it is flushed, and its log goes on.
fn crashed(dir: &Path, finish: impl FnOnce(&Db)) -> PathBuf {
    let (live, crashed) = (dir.join("live"), dir.join("crashed"));
    let db = Db::open(&live, options()).unwrap();
    let users = db.create_keyspace("users").unwrap();
    for i in 0..100 {
        let bytes = if i < 99 { 10 } else { 200 << 10 };
        db.put(key(i), vec![7; bytes]).unwrap();
        users.put(key(i), "in the log only").unwrap();
    }
    db.settle();
    finish(&db);
    fs::create_dir(&crashed).unwrap();
    for file in fs::read_dir(&live).unwrap().map(|f| f.unwrap().path()) {
        fs::copy(&file, crashed.join(file.file_name().unwrap())).unwrap();
    }
    crashed
}

/// The only log of a store with writes.
fn log_of(path: &Path) -> PathBuf {
    let files = fs::read_dir(path).unwrap().map(|f| f.unwrap().path());
    let mut logs: Vec<PathBuf> = files
        .filter(|f| f.extension().is_some_and(|e| e == "log"))
        .filter(|f| f.metadata().unwrap().len() > 0)
        .collect();
    assert_eq!(logs.len(), 1, "{logs:?}");
    logs.pop().unwrap()
}

/// Where the frames of a log begin.
fn frames(log: &Path) -> Vec<usize> {
    let mut out = Vec::new();
    inspect::dump(log, &options(), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let frames = text.lines().filter(|line| line.contains("durable below"));
    frames
        .map(|line| line.split_once(':').unwrap().0.parse().unwrap())
        .collect()
}

#[test]
fn a_log_that_ends_before_a_sequence_in_a_table_is_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let path = crashed(dir.path(), |_| {});
    let log = log_of(&path);
    let frames = frames(&log);
    assert_eq!(frames.len(), 200, "one for each write");
    // The last write is of the keyspace that was not flushed, so a crash may cut it off.
    truncate(&log, frames[199]);
    let users = |db: &Db| db.keyspace("users").unwrap().iter().unwrap().count();
    assert_eq!(users(&Db::open_read_only(&path, options()).unwrap()), 99);

    truncate(&log, frames[120]);
    let refused = Db::open_read_only(&path, options())
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("operations up to sequence 199, which were flushed"),
        "{refused}"
    );
    assert!(Db::open(&path, options()).is_err());
    let verified = inspect::verify(&path, &options(), &mut |_| {}).unwrap();
    assert_eq!(verified.damage.len(), 1, "{verified:?}");

    let report = inspect::repair(&path, &options(), &mut |_| {}).unwrap();
    let missing = report.may_be_missing();
    assert_eq!((missing.len(), missing[0].first), (1, 121), "{report:?}");
    let db = Db::open(&path, options()).unwrap();
    assert_eq!((db.iter().unwrap().count(), users(&db)), (100, 60));
}

/// A merge writes sequences that all readers see as 0.
#[test]
fn a_merge_does_not_hide_that_a_log_ends_too_early() {
    let dir = tempfile::tempdir().unwrap();
    let path = crashed(dir.path(), |db| {
        db.compact_range(None, None).unwrap();
        db.settle();
    });
    let log = log_of(&path);
    truncate(&log, frames(&log)[120]);
    assert!(Db::open_read_only(&path, options()).is_err());
    let verified = inspect::verify(&path, &options(), &mut |_| {}).unwrap();
    assert_eq!(verified.damage.len(), 1, "{verified:?}");
}
