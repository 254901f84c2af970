//! Value files by the hashes of keys: each holds keys of one group, groups are collected whole, and the number of groups
//! may be another one at each opening.
use crate::kit_values;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use kit_values::{Content, compare, default_keyspace, key, seeded, verify};
use rand::RngExt;
use rand::rngs::StdRng;
use rhumb::fs::{
    Access, DataLoss, DirectoryLoss, FaultyFileSystem, FileSystem, Loss, MemoryFileSystem, Plan,
};
use rhumb::{Db, KeyspaceOptions, Options, TableSpec, inspect};

const KEYS: u32 = 600;

/// A small store whose values from 100 bytes on lie apart, in so many groups.
fn options(disk: &MemoryFileSystem, groups: Option<u16>) -> Options {
    let mut options = kit_values::options(disk, 10);
    options.table.value_groups = groups;
    options
}

/// The group that a key has in docs/format.md.
fn group_of(key: &[u8], groups: u16) -> u64 {
    let hash = u128::from(xxhash_rust::xxh3::xxh3_64(key));
    ((hash * u128::from(groups)) >> 64) as u64
}

/// Writes a value of up to 2000 bytes for a random key, deletes one, or a few neighbours.
fn change(db: &Db, content: &mut Content, random: &mut StdRng) {
    let most = random.random_range(1..=KEYS);
    let n = random.random_range(0..most);
    match random.random_range(0..100) {
        0 => {
            let (from, to) = (key(n), key(n + random.random_range(1..10)));
            db.delete_range(from.as_slice()..to.as_slice()).unwrap();
            content.retain(|key, _| *key < from || *key >= to);
        }
        1..10 => {
            db.delete(key(n)).unwrap();
            content.remove(&key(n));
        }
        _ => {
            let value = vec![random.random(); random.random_range(0..2_000)];
            db.put(key(n), &value).unwrap();
            content.insert(key(n), value);
        }
    }
}

fn read(disk: &MemoryFileSystem, name: &str) -> Vec<u8> {
    let file = disk
        .open(&Path::new("store").join(name), Access::Buffered)
        .unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), bytes.len());
    bytes
}

fn files(disk: &MemoryFileSystem, ending: &str) -> BTreeSet<String> {
    let names = disk.list(Path::new("store")).unwrap();
    names.into_iter().filter(|n| n.ends_with(ending)).collect()
}

/// The keys of the records of a value file, by its format: a kind, and three numbers and strings; 24 bytes before the
/// first.
fn keys_of(disk: &MemoryFileSystem, name: &str) -> Vec<Vec<u8>> {
    let bytes = read(disk, name);
    assert_eq!(&bytes[..8], b"rhumbVAL", "{name} is a log");
    let (mut at, mut keys) = (24, Vec::new());
    while at < bytes.len() {
        at += 1;
        varint(&bytes, &mut at);
        let len = varint(&bytes, &mut at);
        keys.push(bytes[at..at + len].to_vec());
        at += len;
        at += varint(&bytes, &mut at) + 4;
    }
    keys
}

fn varint(bytes: &[u8], at: &mut usize) -> usize {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = bytes[*at];
        *at += 1;
        number |= usize::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return number;
        }
        shift += 7;
    }
}

/// The group of each value file, which all of its keys have. Files of a store in use may be gone meanwhile, so it must
/// have settled.
fn groups_of_files(disk: &MemoryFileSystem, groups: u16) -> BTreeMap<String, u64> {
    let names = files(disk, ".values").into_iter();
    let of_file = names.map(|name| {
        let keys = keys_of(disk, &name);
        let found: BTreeSet<u64> = keys.iter().map(|key| group_of(key, groups)).collect();
        assert_eq!(found.len(), 1, "{name} holds keys of {found:?}");
        (name, found.into_iter().next().unwrap())
    });
    of_file.collect()
}

/// Waits until the files that no table points into are gone: they go in the background, when readers have ended.
fn await_deletions(disk: &MemoryFileSystem, db: &Db) {
    for _ in 0..2_000 {
        if files(disk, ".values").len() as u64 == default_keyspace(db).value_files {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("files are left: {:?}", files(disk, ".values"));
}

#[test]
fn each_file_holds_keys_of_one_group_through_flushes_and_collections() {
    for groups in [1, 3, 16] {
        let disk = MemoryFileSystem::new();
        let options = options(&disk, Some(groups));
        let mut db = Db::open("store", options.clone()).unwrap();
        let (mut content, mut random) = (Content::new(), seeded(groups.into()));
        let mut collections = 0;
        for _ in 0..4 {
            for _ in 0..3_000 {
                change(&db, &mut content, &mut random);
            }
            db.flush().unwrap();
            db.settle();
            await_deletions(&disk, &db);
            let found: BTreeSet<u64> = groups_of_files(&disk, groups).into_values().collect();
            assert_eq!(found, (0..groups.into()).collect());
            assert_eq!(default_keyspace(&db).value_groups, groups.into());
            compare(&db, KEYS, &content);
            collections += db.stats().unwrap().writes.collections;
            db.close().unwrap();
            verify(&options);
            db = Db::open("store", options.clone()).unwrap();
            compare(&db, KEYS, &content);
        }
        println!("{groups} groups: {collections} collections");
        assert!(collections > 0);
    }
}

/// Only keys of one group are overwritten, so that only this group has garbage: all its files go, old ones and those
/// without garbage, and no other file does.
#[test]
fn a_collection_empties_all_files_of_the_group_with_the_most_garbage() {
    const GROUPS: u16 = 4;
    let disk = MemoryFileSystem::new();
    let quiet = Options {
        over_provision_percent: u32::MAX,
        ..options(&disk, Some(GROUPS))
    };
    let mut db = Db::open("store", quiet.clone()).unwrap();
    let mut content = Content::new();
    let mut put = |db: &Db, keys: &mut dyn Iterator<Item = u32>, byte: u8| {
        for n in keys {
            db.put(key(n), [byte; 1_000]).unwrap();
            content.insert(key(n), vec![byte; 1_000]);
        }
        db.flush().unwrap();
    };
    put(&db, &mut (0..400), 1);
    // The last of its files: all of it is in use.
    put(&db, &mut (400..KEYS), 2);
    // Two of three, so that their old files stay in use.
    let is_doomed = |n: &u32| !n.is_multiple_of(3) && group_of(&key(*n), GROUPS) == 2;
    put(&db, &mut (0..400).filter(is_doomed), 3);
    db.compact_range(None, None).unwrap();
    db.settle();
    await_deletions(&disk, &db);
    let before = groups_of_files(&disk, GROUPS);
    db.close().unwrap();
    db = Db::open("store", options(&disk, Some(GROUPS))).unwrap();
    db.settle();
    await_deletions(&disk, &db);
    let after = groups_of_files(&disk, GROUPS);
    for (name, group) in &before {
        assert_eq!(after.contains_key(name), *group != 2, "{name} of {group}");
    }
    let new = after.iter().filter(|(name, _)| !before.contains_key(*name));
    assert!(new.clone().count() > 0 && new.clone().all(|(_, group)| *group == 2));
    compare(&db, KEYS, &content);
    db.close().unwrap();
    verify(&quiet);
}

#[test]
fn the_number_of_groups_may_be_another_one_at_each_opening() {
    let disk = MemoryFileSystem::new();
    let (mut content, mut random) = (Content::new(), seeded(11));
    let mut collections = 0;
    for groups in [
        None,
        Some(4),
        Some(3),
        None,
        Some(1_024),
        Some(4),
        Some(1),
        None,
    ] {
        let mut options = options(&disk, groups);
        let db = Db::open("store", options.clone()).unwrap();
        compare(&db, KEYS, &content);
        for _ in 0..2_000 {
            change(&db, &mut content, &mut random);
        }
        db.settle();
        compare(&db, KEYS, &content);
        collections += db.stats().unwrap().writes.collections;
        db.close().unwrap();
        verify(&options);
        // What lies in groups goes back beside its keys, too.
        options.table.value_groups = None;
        options.table.separate_values = None;
        let db = Db::open("store", options.clone()).unwrap();
        for _ in 0..200 {
            change(&db, &mut content, &mut random);
        }
        db.flush().unwrap();
        db.settle();
        compare(&db, KEYS, &content);
        db.close().unwrap();
        verify(&options);
    }
    assert!(collections > 0);
}

#[test]
fn groups_are_a_setting_of_each_keyspace_and_change_while_it_is_open() {
    let disk = MemoryFileSystem::new();
    let options = options(&disk, None);
    let db = Db::open("store", options.clone()).unwrap();
    let table = |groups| {
        let table: TableSpec = format!("values=100,groups={groups},size=8KiB")
            .parse()
            .unwrap();
        KeyspaceOptions {
            index: None,
            table: Some(table),
        }
    };
    let other = db.create_keyspace_with("other", table("3")).unwrap();
    let mut contents = [Content::new(), Content::new()];
    let value = |n: u32| vec![n as u8; 500];
    for groups in ["3", "5", "off", "2"] {
        other.set_options(table(groups)).unwrap();
        for n in 0..200 {
            db.put(key(n), value(n)).unwrap();
            other.put(key(n), value(n + 1)).unwrap();
            contents[0].insert(key(n), value(n));
            contents[1].insert(key(n), value(n + 1));
        }
        other.flush().unwrap();
        db.flush().unwrap();
    }
    db.compact_range(None, None).unwrap();
    db.settle();
    for (n, expected) in contents.iter().enumerate() {
        let keyspace = db.keyspace(["default", "other"][n]).unwrap();
        for (key, value) in expected {
            assert_eq!(keyspace.get(key).unwrap().as_deref(), Some(&value[..]));
        }
    }
    drop(other);
    db.close().unwrap();
    verify(&options);
}

#[test]
fn a_snapshot_reads_what_it_saw_through_collections_of_groups() {
    let disk = MemoryFileSystem::new();
    let options = options(&disk, Some(3));
    let db = Db::open("store", options.clone()).unwrap();
    let (mut content, mut random) = (Content::new(), seeded(7));
    for _ in 0..2 * KEYS {
        change(&db, &mut content, &mut random);
    }
    let (snapshot, then) = (db.snapshot(), content.clone());
    let collections = || db.stats().unwrap().writes.collections;
    let before = collections();
    for _ in 0..200 {
        if collections() >= before + 5 {
            break;
        }
        for _ in 0..200 {
            change(&db, &mut content, &mut random);
        }
        db.flush().unwrap();
        db.settle();
    }
    assert!(collections() >= before + 5);
    for n in 0..KEYS {
        let value = snapshot.get(&db, key(n)).unwrap();
        assert_eq!(value.as_deref(), then.get(&key(n)).map(Vec::as_slice));
    }
    drop(snapshot);
    db.compact_range(None, None).unwrap();
    db.settle();
    compare(&db, KEYS, &content);
    db.close().unwrap();
    verify(&options);
}

/// The power fails at each change that a flush makes on the disk: afterwards all writes are there, and no value file but those in use.
#[test]
fn a_flush_that_is_cut_short_leaves_no_file() {
    let cut = |cut_at: Option<u64>| {
        let memory = MemoryFileSystem::new();
        let plan = Plan {
            cut_at,
            ..Plan::default()
        };
        let faulty = FaultyFileSystem::new(Arc::new(memory.clone()), plan);
        let at_first = Options {
            file_system: Arc::new(faulty.clone()),
            ..options(&memory, Some(3))
        };
        let db = Db::open("store", at_first).unwrap();
        (0..40).for_each(|n| db.put(key(n), [n as u8; 300]).unwrap());
        db.sync().unwrap();
        let before = faulty.mutating_calls();
        let flushed = db.flush();
        assert!(flushed.is_ok() || cut_at.is_some(), "{flushed:?}");
        let calls = before..faulty.mutating_calls();
        drop(db);
        let loss = Loss {
            data: DataLoss::Lost,
            directory: DirectoryLoss::Kept,
        };
        let disk = memory.crash(loss, 0);
        let options = options(&disk, Some(3));
        let db = Db::open("store", options.clone()).unwrap();
        await_deletions(&disk, &db);
        compare(
            &db,
            KEYS,
            &(0..40).map(|n| (key(n), vec![n as u8; 300])).collect(),
        );
        db.close().unwrap();
        verify(&options);
        calls
    };
    let calls = cut(None);
    println!("calls {calls:?}");
    assert!(calls.clone().count() > 10);
    for call in calls {
        cut(Some(call + 1));
    }
}

/// A dump of a manifest and of tables says of which group a file is.
#[test]
fn dumps_tell_the_groups_of_files() {
    let disk = MemoryFileSystem::new();
    let options = options(&disk, Some(2));
    let db = Db::open("store", options.clone()).unwrap();
    for n in 0..50 {
        db.put(key(n), [1; 200]).unwrap();
    }
    db.flush().unwrap();
    db.close().unwrap();
    for ending in [".table", ".manifest"] {
        let name = files(&disk, ending).pop_last().unwrap();
        let mut text = Vec::new();
        inspect::dump(&Path::new("store").join(name), &options, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        for group in ["(group 0 of 2)", "(group 1 of 2)"] {
            assert!(text.contains(group), "{text}");
        }
    }
}
