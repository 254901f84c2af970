//! A write that fails because the disk is full leaves nothing behind, and trying again costs no more than
//! a look.

use std::sync::Arc;

use crate::kit::{DIR, LOSSES, dir, files, tiny};
use rhumb::fs::{Fault, FaultAt, FaultyFileSystem, FileCall, FileSystem, MemoryFileSystem, Plan};
use rhumb::{Db, Durability, Error, Options};

const TRIES: u64 = 1_000;

fn options(file_system: &FaultyFileSystem, durability: Durability) -> Options {
    Options {
        durability,
        ..tiny(Arc::new(file_system.clone()))
    }
}

fn failed_puts(durability: Durability) {
    let memory = MemoryFileSystem::new();
    let faulty = FaultyFileSystem::new(Arc::new(memory.clone()), Plan::default());
    let db = Db::open(DIR, options(&faulty, durability)).unwrap();
    db.put("before", "kept").unwrap();
    db.settle();
    let names = faulty.list(dir()).unwrap();
    let log_bytes = || -> usize {
        let logs = files(&memory, dir(), ".log");
        let bytes = logs
            .iter()
            .map(|log| memory.bytes(&dir().join(log)).unwrap().len());
        bytes.sum()
    };
    let (bytes, calls) = (log_bytes(), faulty.calls());
    for tried in 0..TRIES {
        // Part of a frame fits now and then.
        faulty.set_budget(Some(tried % 40));
        let full = db.put("key", [7; 100]);
        assert!(matches!(full, Err(Error::DiskFull { .. })), "{full:?}");
        assert_eq!(log_bytes(), bytes, "after {tried} tries");
    }
    let calls = faulty.calls() - calls;
    println!("{TRIES} failed puts: {calls} calls");
    assert_eq!(faulty.list(dir()).unwrap(), names);
    // A short write, one that fails, and the truncation.
    assert!(calls <= 3 * TRIES, "{calls} calls");

    faulty.set_budget(None);
    db.put("after", "kept").unwrap();
    db.sync().unwrap();
    assert!(db.get("key").unwrap().is_none());
    // Everything is lost that was not synced.
    let found = memory.crash(LOSSES[0], 0);
    drop(db);
    let db = Db::open(DIR, tiny(Arc::new(found))).unwrap();
    assert_eq!(db.iter().unwrap().count(), 2);
    assert_eq!(db.stats().unwrap().recovery.torn_bytes, 0);
}

#[test]
fn a_thousand_failed_buffered_puts_leave_nothing() {
    failed_puts(Durability::Buffered);
}

#[test]
fn a_thousand_failed_immediate_puts_leave_nothing() {
    failed_puts(Durability::Immediate);
}

/// What cannot be cut off the log would be taken for a torn tail, with later writes behind it.
#[test]
fn a_write_that_cannot_be_cut_off_ends_all_writing() {
    let memory = MemoryFileSystem::new();
    let faulty = FaultyFileSystem::new(Arc::new(memory), Plan::default());
    let db = Db::open(DIR, options(&faulty, Durability::Buffered)).unwrap();
    db.put("before", "kept").unwrap();
    faulty.set_budget(Some(20));
    assert!(db.put("key", [7; 100]).is_err());
    let mut sites = faulty.sites().into_keys();
    let site = FaultAt::Site(sites.find(|s| s.call == FileCall::Truncate).unwrap());
    for fault in [Fault::NoSpace, Fault::InputOutput] {
        let memory = MemoryFileSystem::new();
        let faulty = FaultyFileSystem::new(Arc::new(memory.clone()), Plan::default());
        let db = Db::open(DIR, options(&faulty, Durability::Buffered)).unwrap();
        db.put("before", "kept").unwrap();
        faulty.set_plan(Plan {
            budget: Some(20),
            fault: Some((site, fault)),
            ..Plan::default()
        });
        assert!(db.put("key", [7; 100]).is_err());
        // A short write, one that fails, and the truncation.
        assert_eq!(faulty.faults(), 3);
        faulty.set_plan(Plan::default());
        let refused = db.put("key", "value");
        assert!(
            matches!(refused, Err(Error::ReadOnly { .. })),
            "{refused:?}"
        );
        assert_eq!(db.get("before").unwrap().unwrap(), "kept");
        drop(db);
        let db = Db::open(DIR, tiny(Arc::new(memory))).unwrap();
        assert_eq!(db.iter().unwrap().count(), 1);
    }
}

/// Whichever call of replacing a manifest finds the disk full, the files of the try are gone once a later one
/// succeeds.
#[test]
fn a_manifest_that_could_not_be_replaced_leaves_no_file() {
    let mut tried = 0;
    for call in 1.. {
        let memory = MemoryFileSystem::new();
        let faulty = FaultyFileSystem::new(Arc::new(memory.clone()), Plan::default());
        let db = Db::open(DIR, options(&faulty, Durability::Buffered)).unwrap();
        db.put("before", "kept").unwrap();
        // The edit of the first keyspace is torn, so that the next one begins a new manifest.
        faulty.set_budget(Some(5));
        assert!(db.create_keyspace("torn").is_err());
        let faults = faulty.faults();
        faulty.set_plan(Plan {
            fault: Some((FaultAt::Call(faulty.calls() + call), Fault::NoSpace)),
            ..Plan::default()
        });
        let failed = db.create_keyspace("failed").is_err();
        let reached = faulty.faults() > faults;
        faulty.set_plan(Plan::default());
        if db.create_keyspace("made").is_err() {
            // The sync of an edit failed: opening the store again decides whether it counts.
            assert!(failed);
            continue;
        }
        if !reached {
            break;
        }
        // A file that could not be deleted stays until the next opening, and fails no edit.
        if failed {
            let manifests = files(&memory, dir(), ".manifest");
            assert_eq!(manifests.len(), 1, "call {call} failed: {manifests:?}");
            assert!(memory.bytes(&dir().join("CURRENT.tmp")).is_err());
            tried += 1;
        }
    }
    println!("{tried} calls failed");
    assert!(tried > 5);
}
