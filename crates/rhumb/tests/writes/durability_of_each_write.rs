//! Each write is as durable as the handle says that it goes through, whatever the store's option.

use std::sync::Arc;

use rhumb::fs::{DataLoss, DirectoryLoss, Loss, MemoryFileSystem};
use rhumb::{Db, Durability, Keyspace, Options, WriteBatch};

type Write = fn(&Keyspace);

/// Each changes the keys of a store that has `a` and `b`.
const WRITES: [(&str, Write); 7] = [
    ("put", |k| k.put("c", "1").unwrap()),
    ("delete", |k| k.delete("a").unwrap()),
    ("delete_range", |k| k.delete_range("a".."b").unwrap()),
    ("delete_range, no end", |k| k.delete_range("b"..).unwrap()),
    ("delete_prefix", |k| k.delete_prefix("b").unwrap()),
    ("clear", |k| k.clear().unwrap()),
    ("compare_and_swap", |k| {
        let swapped = k.compare_and_swap("b", Some(b"1"), None).unwrap();
        assert_eq!(swapped, Ok(()));
    }),
];

/// Opens a store with the keys `a` and `b`, which survive a loss of power.
fn open(file_system: &MemoryFileSystem, durability: Durability) -> Db {
    let options = Options {
        file_system: Arc::new(file_system.clone()),
        durability,
        ..Options::default()
    };
    let db = Db::open("/store", options).unwrap();
    db.put("a", "1").unwrap();
    db.put("b", "1").unwrap();
    db.sync().unwrap();
    db
}

fn keys(keyspace: &Keyspace) -> Vec<String> {
    let text = |key: rhumb::Key| String::from_utf8(key.into()).unwrap();
    let entries = keyspace.iter().unwrap();
    entries.map(|entry| text(entry.unwrap().0)).collect()
}

/// The keys that are found if the power fails now and nothing is kept that was not synced.
fn keys_after_power_loss(file_system: &MemoryFileSystem) -> Vec<String> {
    let loss = Loss {
        data: DataLoss::Lost,
        directory: DirectoryLoss::Lost,
    };
    let options = Options {
        file_system: Arc::new(file_system.crash(loss, 1)),
        ..Options::default()
    };
    keys(&Db::open("/store", options).unwrap())
}

#[test]
fn a_handle_says_how_durable_its_writes_are() {
    let all = [Durability::Immediate, Durability::Buffered];
    for (name, write) in WRITES {
        for (store, handle) in all.iter().flat_map(|s| all.map(|h| (*s, h))) {
            let file_system = MemoryFileSystem::new();
            let db = open(&file_system, store);
            let before = keys(&db);
            write(&db.with_durability(handle));
            let after = keys(&db);
            assert_ne!(before, after, "{name}");
            let kept = match handle {
                Durability::Immediate => &after,
                _ => &before,
            };
            let found = keys_after_power_loss(&file_system);
            assert_eq!(&found, kept, "{name}: {store:?}, then {handle:?}");
        }
    }
}

#[test]
fn handles_of_one_keyspace_differ_and_clones_agree() {
    let file_system = MemoryFileSystem::new();
    let db = open(&file_system, Durability::Immediate);
    let buffered = db.with_durability(Durability::Buffered);
    buffered.clone().put("c", "1").unwrap();
    assert_eq!(keys_after_power_loss(&file_system), ["a", "b"]);
    // A durable write makes durable what came before.
    let durable = buffered.with_durability(Durability::Immediate);
    durable.put("d", "1").unwrap();
    assert_eq!(keys_after_power_loss(&file_system), ["a", "b", "c", "d"]);
    buffered.put("e", "1").unwrap();
    db.keyspace("default").unwrap().put("f", "1").unwrap();
    assert_eq!(keys_after_power_loss(&file_system).len(), 6);
}

#[test]
fn a_batch_has_the_durability_that_it_is_written_with() {
    let file_system = MemoryFileSystem::new();
    let db = open(&file_system, Durability::Immediate);
    let mut batch = WriteBatch::new();
    let buffered = db.with_durability(Durability::Buffered);
    batch.put(&buffered, "c", "1").unwrap();
    db.write(&batch).unwrap();
    assert_eq!(keys_after_power_loss(&file_system), ["a", "b", "c"]);
    batch.clear();
    batch.put(&db, "d", "1").unwrap();
    db.write_with(&batch, Durability::Buffered).unwrap();
    assert_eq!(keys_after_power_loss(&file_system), ["a", "b", "c"]);
}
