//! How many calls it takes to read values that lie apart from their keys: of 20,000 keys, or of `RHUMB_KEYS`.
use crate::kit_values;

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use kit_values::number;
use rhumb::fs::{Access, FaultyFileSystem, MemoryFileSystem, Plan};
use rhumb::{Db, Options};

static KEYS: LazyLock<u32> = LazyLock::new(|| number("RHUMB_KEYS", 20_000) as u32);

fn key(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

fn value(n: u32) -> Vec<u8> {
    n.to_le_bytes().repeat(25)
}

/// A store with all keys and values in tables and value files, every tenth value in another file, and what counts
/// the calls of its file system.
fn store(access: Access) -> (Db, FaultyFileSystem) {
    let memory = Arc::new(MemoryFileSystem::new());
    let calls = FaultyFileSystem::new(memory, Plan::default());
    let options = Options {
        file_system: Arc::new(calls.clone()),
        table: "values=100".parse().unwrap(),
        access,
        // So much that few values compete for a place.
        cache_bytes: u64::from(*KEYS) * 3_300,
        ..Options::in_memory()
    };
    let db = Db::open("store", options).unwrap();
    for step in [1, 10] {
        for n in (0..*KEYS).step_by(step) {
            db.put(key(n), value(n)).unwrap();
        }
        db.flush().unwrap();
    }
    db.compact_range(None, None).unwrap();
    // Nothing works in the background from now on.
    db.settle();
    for n in 0..*KEYS {
        assert!(db.contains_key(key(n)).unwrap());
    }
    // The files are open and the blocks in memory.
    for n in opening() {
        assert!(db.get(key(n)).unwrap().is_some());
    }
    (db, calls)
}

/// Keys whose values lie all over the files.
fn opening() -> BTreeSet<u32> {
    (0..200).map(|n| n * (*KEYS / 200) + n % 10).collect()
}

#[test]
fn a_get_reads_its_record_alone_and_the_second_one_nothing() {
    for access in [Access::Buffered, Access::Direct] {
        let (db, calls) = store(access);
        let (opened, mut read) = (opening(), 0);
        for round in 0..2 {
            let before = calls.calls();
            let others = (0..*KEYS).map(|n| (u64::from(n) * 7_919 % u64::from(*KEYS)) as u32);
            for n in others.filter(|n| !opened.contains(n)) {
                assert_eq!(&*db.get(key(n)).unwrap().unwrap(), value(n));
            }
            match round {
                0 => assert_eq!(calls.calls() - before, u64::from(*KEYS) - 200),
                _ => read = calls.calls() - before,
            }
        }
        // Some compete for the same places in memory.
        assert!(
            read < u64::from(*KEYS) / 50,
            "{read} of {} read again",
            *KEYS
        );
    }
}

#[test]
fn scans_and_gets_of_many_keys_read_neighbours_together() {
    for access in [Access::Buffered, Access::Direct] {
        // Blocks stay in memory; values do not, since scans do not keep them.
        let (db, calls) = store(access);
        let counted = |read: &dyn Fn() -> usize| {
            let before = calls.calls();
            assert_eq!(read(), *KEYS as usize);
            calls.calls() - before
        };
        let forwards = counted(&|| {
            let all = db.iter().unwrap().zip(0..);
            all.filter(|(entry, n)| *entry.as_ref().unwrap().1 == *value(*n))
                .count()
        });
        let backwards = counted(&|| {
            let all = db.iter().unwrap().rev().zip((0..*KEYS).rev());
            all.filter(|(entry, n)| *entry.as_ref().unwrap().1 == *value(*n))
                .count()
        });
        let keys: Vec<_> = (0..*KEYS).rev().map(key).collect();
        let many = counted(&|| {
            let values = db
                .multi_get(&keys)
                .unwrap()
                .into_iter()
                .zip((0..*KEYS).rev());
            values
                .filter(|(found, n)| **found.as_ref().unwrap() == *value(*n))
                .count()
        });
        println!("{access:?}: {forwards} and {backwards} calls for scans, {many} for gets");
        // Two files, 64 values at a time.
        let most = u64::from(*KEYS) / 64 * 3;
        assert!(forwards.max(backwards).max(many) < most, "at most {most}");
    }
}
