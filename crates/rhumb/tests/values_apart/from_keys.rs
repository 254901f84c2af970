//! Values in files of their own: every way to read them, merges that leave them where they are, files that go when
//! nothing points into them, and what damage to them does.
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

use rhumb::fs::{Access, FileSystem, MemoryFileSystem};
use rhumb::{Compression, Db, KeyspaceOptions, Options, Result, TableSpec, inspect};

type Content = BTreeMap<Vec<u8>, Vec<u8>>;

thread_local! {
    /// The garbage that the stores of a test allow.
    static OVER_PROVISION: Cell<u32> = const { Cell::new(30) };
}

/// Runs a test twice: with so little garbage allowed that values are moved out of the log, and with so much that they
/// stay in it.
fn moved_and_logged(test: impl Fn(bool)) {
    for (over_provision, logged) in [(0, false), (u32::MAX, true)] {
        println!("values stay in the log: {logged}");
        OVER_PROVISION.set(over_provision);
        test(logged);
    }
}

/// Values from 100 bytes on lie apart; no merge begins by itself.
fn options(disk: &MemoryFileSystem) -> Options {
    let mut options = Options {
        file_system: std::sync::Arc::new(disk.clone()),
        ..Options::in_memory()
    };
    options.table.separate_values = Some(100);
    options.levels.level0_tables = 100;
    options.over_provision_percent = OVER_PROVISION.get();
    options
}

fn key(n: u32) -> Vec<u8> {
    format!("key{n:05}").into_bytes()
}

/// A value of 0 to 300 bytes, so that a third of them are short.
fn value(n: u32, round: u32) -> Vec<u8> {
    let len = n.wrapping_mul(2_654_435_761) % 301;
    vec![(n + round) as u8; len as usize]
}

fn fill(db: &Db, content: &mut Content, keys: impl Iterator<Item = u32>, round: u32) {
    for n in keys {
        db.put(key(n), value(n, round)).unwrap();
        content.insert(key(n), value(n, round));
    }
    db.flush().unwrap();
}

fn compare(db: &Db, content: &Content) {
    for n in 0..1_100 {
        let expected = content.get(&key(n)).map(Vec::as_slice);
        assert_eq!(db.get(key(n)).unwrap().as_deref(), expected, "key {n}");
        assert_eq!(db.contains_key(key(n)).unwrap(), expected.is_some());
    }
    let keys: Vec<_> = (0..1_100).rev().map(key).collect();
    let values = db.multi_get(&keys).unwrap();
    for (key, value) in keys.iter().zip(values) {
        assert_eq!(value.as_deref(), content.get(key).map(Vec::as_slice));
    }
    let owned = |entry: Result<(rhumb::Key, rhumb::Value<'_>)>| {
        let (key, value) = entry.unwrap();
        (key.to_vec(), value.to_vec())
    };
    let forwards: Vec<_> = db.iter().unwrap().map(owned).collect();
    let expected: Vec<_> = content.clone().into_iter().collect();
    assert!(forwards == expected, "{} entries forwards", forwards.len());
    let mut backwards: Vec<_> = db.iter().unwrap().rev().map(owned).collect();
    backwards.reverse();
    assert!(
        backwards == expected,
        "{} entries backwards",
        backwards.len()
    );
    let mut lent = db.iter().unwrap();
    for (key, value) in content {
        assert!(lent.advance().unwrap());
        assert_eq!((lent.key(), lent.value()), (&key[..], &value[..]));
    }
    let keys = db.iter().unwrap().keys().map(|key| key.unwrap().to_vec());
    assert!(keys.eq(content.keys().cloned()));
}

fn verify(options: &Options) {
    let report = inspect::verify(Path::new("store"), options, &mut |_| {}).unwrap();
    assert!(report.damage.is_empty(), "{:?}", report.damage);
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
}

fn value_files(disk: &MemoryFileSystem) -> Vec<String> {
    let names = disk.list(Path::new("store")).unwrap();
    names
        .into_iter()
        .filter(|n| n.ends_with(".values"))
        .collect()
}

#[test]
fn values_come_back_by_every_read_from_every_place_under_every_codec() {
    moved_and_logged(|_| {
        let codecs = [Compression::None, Compression::Lz4];
        for (codec, partition) in codecs.into_iter().flat_map(|c| {
            let partitions = ["predicted", "bytes(512)", "entries(4)", "predicted(3)"];
            partitions.map(|partition| (c, partition))
        }) {
            let disk = MemoryFileSystem::new();
            let mut options = options(&disk);
            options.table = TableSpec {
                compression: codec,
                separate_values: Some(100),
                ..format!("partition={partition}").parse().unwrap()
            };
            let (db, mut content) = (Db::open("store", options.clone()).unwrap(), Content::new());
            for round in 0..4 {
                fill(&db, &mut content, (round..1_000).step_by(3), round);
            }
            for n in (0..1_000).step_by(7) {
                db.delete(key(n)).unwrap();
                content.remove(&key(n));
            }
            compare(&db, &content);
            db.compact_range(None, None).unwrap();
            compare(&db, &content);
            db.close().unwrap();
            verify(&options);
            let db = Db::open("store", options.clone()).unwrap();
            compare(&db, &content);
            assert!(!value_files(&disk).is_empty());
            // What was written apart stays readable when all values belong beside their keys, and the other way round.
            db.close().unwrap();
            let beside = Options {
                table: TableSpec {
                    separate_values: None,
                    ..options.table.clone()
                },
                ..options.clone()
            };
            let db = Db::open("store", beside).unwrap();
            fill(&db, &mut content, (0..1_000).step_by(11), 9);
            db.compact_range(None, None).unwrap();
            compare(&db, &content);
            db.close().unwrap();
            verify(&options);
        }
    });
}

/// An iterator is ahead of what it returned, and its keys go on behind that.
#[test]
fn keys_go_on_where_entries_ended() {
    moved_and_logged(|_| {
        let disk = MemoryFileSystem::new();
        let (db, mut content) = (Db::open("store", options(&disk)).unwrap(), Content::new());
        fill(&db, &mut content, 0..300, 0);
        let all: Vec<Vec<u8>> = content.into_keys().collect();
        for (front, back) in [(0, 0), (1, 0), (2, 1), (3, 3), (9, 20), (100, 120)] {
            let mut iter = db.iter().unwrap();
            assert_eq!(iter.by_ref().take(front).count(), front);
            assert_eq!(iter.by_ref().rev().take(back).count(), back);
            let left = &all[front..all.len() - back];
            let mut keys = iter.keys();
            let last = keys.next_back().unwrap().unwrap();
            let found: Vec<Vec<u8>> = keys.map(|key| key.unwrap().to_vec()).collect();
            assert_eq!(*last, **left.last().unwrap());
            assert!(found == left[..left.len() - 1], "{front} and {back} before");
        }
    });
}

/// A value that cannot be read is an error where its entry is shown, and none where the bounds leave it out, even if it
/// was read ahead.
#[test]
fn a_damaged_value_beyond_the_bounds_is_not_met() {
    moved_and_logged(|_| {
        let disk = MemoryFileSystem::new();
        let db = Db::open("store", options(&disk)).unwrap();
        for n in 0..40 {
            db.put(key(n), [n as u8; 1_000]).unwrap();
        }
        db.flush().unwrap();
        db.close().unwrap();
        let path = format!("store/{}", value_files(&disk)[0]);
        let bytes = disk.bytes(Path::new(&path)).unwrap();
        let at = bytes.windows(1_000).position(|w| w == [20; 1_000]).unwrap();
        flip(&disk, &path, at);
        let db = Db::open("store", options(&disk)).unwrap();
        let (mut up, mut down) = (db.iter().unwrap(), db.iter().unwrap());
        for n in 0..16 {
            assert!(up.advance().unwrap());
            assert_eq!(up.key(), key(n));
            assert_eq!(&*down.next_back().unwrap().unwrap().0, key(39 - n));
        }
        up.seek_back(key(19));
        down.seek(key(21));
        for n in 16..20 {
            assert!(up.advance().unwrap());
            assert_eq!(up.key(), key(n));
            if n < 19 {
                assert_eq!(&*down.next_back().unwrap().unwrap().0, key(39 - n));
            }
        }
        assert!(!up.advance().unwrap());
        assert!(down.next_back().is_none());
        assert!(db.iter().unwrap().any(|entry| entry.is_err()));
    });
}

#[test]
fn merges_leave_values_where_they_are() {
    moved_and_logged(|logged| {
        let disk = MemoryFileSystem::new();
        let db = Db::open("store", options(&disk)).unwrap();
        for round in 0..4 {
            for n in (round..1_000).step_by(4) {
                db.put(key(n), vec![n as u8; 2_000]).unwrap();
            }
            db.flush().unwrap();
        }
        let before = value_files(&disk);
        let flushed = db.stats().unwrap().writes.flushed_bytes;
        assert_eq!(flushed < 100_000, logged, "{flushed}");
        db.compact_range(None, None).unwrap();
        let writes = db.stats().unwrap().writes;
        assert!(writes.compactions > 0);
        let merged = writes.compaction_bytes_written;
        assert!(merged < 100_000, "{merged}");
        assert_eq!(value_files(&disk), before);
        let stats = db.stats().unwrap();
        let keyspace = &stats.keyspaces[0];
        assert_eq!(keyspace.value_files, 4);
        // Beside the values there is the header of the file, or of the frame of each put.
        let beside = if logged { 1_000 * 48 + 4 * 48 } else { 4 * 24 };
        assert_eq!(keyspace.used_value_bytes + beside, keyspace.value_bytes);
        assert!(
            stats.to_string().contains("values apart from keys"),
            "{stats}"
        );
    });
}

/// A table of pointers to many values is as large as one that has an eighth of them, so that to rewrite it for a
/// collection does not take long.
#[test]
fn tables_end_for_the_values_that_they_point_to() {
    moved_and_logged(|_| {
        let disk = MemoryFileSystem::new();
        let mut options = options(&disk);
        options.table.table_bytes = 64 << 10;
        let db = Db::open("store", options).unwrap();
        for n in 0..1_000 {
            db.put(key(n), vec![n as u8; 4_000]).unwrap();
            if n % 300 == 7 {
                db.flush().unwrap();
            }
        }
        db.compact_range(None, None).unwrap();
        let stats = db.stats().unwrap();
        let tables: u64 = stats.keyspaces[0]
            .levels
            .iter()
            .map(|level| level.tables)
            .sum();
        assert!((7..=10).contains(&tables), "{tables}");
    });
}

#[test]
fn files_go_when_no_reader_and_no_table_needs_them() {
    moved_and_logged(|_| {
        let disk = MemoryFileSystem::new();
        let db = Db::open("store", options(&disk)).unwrap();
        let mut content = Content::new();
        fill(&db, &mut content, 0..1_000, 0);
        let old = value_files(&disk);
        let (snapshot, then) = (db.snapshot(), content.clone());
        fill(&db, &mut content, 0..1_000, 1);
        db.compact_range(None, None).unwrap();
        for (key, value) in &then {
            assert_eq!(snapshot.get(&db, key).unwrap().as_deref(), Some(&value[..]));
        }
        drop(snapshot);
        let held = db.iter().unwrap();
        // A merge that keeps none of the old versions.
        fill(&db, &mut content, 0..1_000, 2);
        db.compact_range(None, None).unwrap();
        let gone = |disk: &MemoryFileSystem| {
            let left = value_files(disk);
            old.iter().all(|name| !left.contains(name))
        };
        assert!(!gone(&disk), "an iterator reads them");
        assert_eq!(held.count(), 1_000);
        for _ in 0..1_000 {
            if gone(&disk) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(gone(&disk), "{:?}", value_files(&disk));
        compare(&db, &content);
        db.close().unwrap();
        verify(&options(&disk));
    });
}

#[test]
fn dropped_and_cleared_keyspaces_leave_no_values() {
    moved_and_logged(|_| {
        let disk = MemoryFileSystem::new();
        let apart = KeyspaceOptions {
            table: Some("values=100".parse().unwrap()),
            ..KeyspaceOptions::default()
        };
        let mut plain = options(&disk);
        plain.table.separate_values = None;
        let db = Db::open("store", plain.clone()).unwrap();
        for name in ["dropped", "cleared"] {
            let keyspace = db.create_keyspace_with(name, apart.clone()).unwrap();
            for n in 0..100 {
                keyspace.put(key(n), vec![1; 1_000]).unwrap();
            }
            keyspace.flush().unwrap();
        }
        assert_eq!(value_files(&disk).len(), 2);
        db.drop_keyspace("dropped").unwrap();
        let cleared = db.keyspace("cleared").unwrap();
        cleared.clear().unwrap();
        cleared.compact_range(None, None).unwrap();
        drop(cleared);
        db.close().unwrap();
        let db = Db::open("store", plain.clone()).unwrap();
        let cleared = db.keyspace("cleared").unwrap();
        assert!(cleared.is_empty().unwrap());
        assert_eq!(value_files(&disk), Vec::<String>::new());
        cleared.put("again", vec![2; 500]).unwrap();
        cleared.flush().unwrap();
        assert_eq!(cleared.get("again").unwrap().unwrap().len(), 500);
        drop(cleared);
        db.close().unwrap();
        verify(&plain);
    });
}

/// The version of the manifest that is in use.
fn manifest_version(disk: &MemoryFileSystem) -> u32 {
    let names = disk.list(Path::new("store")).unwrap();
    let manifest = names.iter().find(|n| n.ends_with(".manifest")).unwrap();
    let file = disk
        .open(&Path::new("store").join(manifest), Access::Buffered)
        .unwrap();
    let mut bytes = [0; 12];
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), 12);
    u32::from_le_bytes(bytes[8..].try_into().unwrap())
}

#[test]
fn a_store_without_such_values_keeps_its_manifest_version() {
    let disk = MemoryFileSystem::new();
    let db = Db::open("store", options(&disk)).unwrap();
    db.put("key", vec![0; 99]).unwrap();
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    assert_eq!(manifest_version(&disk), 2);
    db.put("key", vec![0; 100]).unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    assert_eq!(manifest_version(&disk), 3);
}

/// An older version, which is hidden, is not read: its file may be damaged.
#[test]
fn reads_in_both_directions_read_the_visible_version_alone() {
    moved_and_logged(|_| {
        let disk = MemoryFileSystem::new();
        let db = Db::open("store", options(&disk)).unwrap();
        db.put("key", vec![1; 1_000]).unwrap();
        db.flush().unwrap();
        let (old, held) = (value_files(&disk), db.snapshot());
        for version in 2..12 {
            db.put("key", vec![version; 1_000]).unwrap();
            db.flush().unwrap();
        }
        let path = format!("store/{}", old[0]);
        flip(&disk, &path, 100);
        let newest = vec![11; 1_000];
        assert_eq!(&*db.get("key").unwrap().unwrap(), newest);
        assert_eq!(&*db.last().unwrap().unwrap().1, newest);
        assert_eq!(&*db.first().unwrap().unwrap().1, newest);
        assert!(held.get(&db, "key").is_err());
        assert!(held.last(&db).is_err() && held.first(&db).is_err());
        assert!(held.contains_key(&db, "key").unwrap());
        assert_eq!(held.iter(&db).unwrap().keys().count(), 1);
    });
}

/// A closed store with 100 long values in one value file, and the name of this file.
fn store_with_one_file() -> (MemoryFileSystem, String) {
    let disk = MemoryFileSystem::new();
    let db = Db::open("store", options(&disk)).unwrap();
    for n in 0..100 {
        db.put(key(n), vec![n as u8; 1_000]).unwrap();
    }
    db.put("short", "value").unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    let files = value_files(&disk);
    assert_eq!(files.len(), 1);
    (disk, format!("store/{}", files[0]))
}

fn read(disk: &MemoryFileSystem, path: &str) -> Vec<u8> {
    let file = disk.open(Path::new(path), Access::Buffered).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), bytes.len());
    bytes
}

fn replace(disk: &MemoryFileSystem, path: &str, bytes: &[u8]) {
    disk.remove(Path::new(path)).unwrap();
    let file = disk.create(Path::new(path)).unwrap();
    assert_eq!(file.write(bytes).unwrap(), bytes.len());
    file.sync().unwrap();
}

fn flip(disk: &MemoryFileSystem, path: &str, at: usize) {
    let mut bytes = read(disk, path);
    bytes[at] ^= 1;
    replace(disk, path, &bytes);
}

#[test]
fn a_damaged_value_is_an_error_that_names_its_place_and_repair_saves_the_others() {
    moved_and_logged(|_| {
        let (disk, path) = store_with_one_file();
        flip(&disk, &path, 5_000);
        let db = Db::open("store", options(&disk)).unwrap();
        let damaged: Vec<u32> = (0..100).filter(|n| db.get(key(*n)).is_err()).collect();
        assert_eq!(damaged.len(), 1);
        let error = db.get(key(damaged[0])).unwrap_err().to_string();
        assert!(error.contains(&path) && error.contains("offset"), "{error}");
        assert!(db.contains_key(key(damaged[0])).unwrap());
        db.close().unwrap();
        let report = inspect::verify(Path::new("store"), &options(&disk), &mut |_| {}).unwrap();
        assert_eq!(report.damage.len(), 1, "{:?}", report.damage);
        let report = inspect::repair(Path::new("store"), &options(&disk), &mut |_| {}).unwrap();
        assert_eq!(report.lost.len(), 1, "{:?}", report.lost);
        verify_but_for_strays(&options(&disk));
        let db = Db::open("store", options(&disk)).unwrap();
        for n in 0..100 {
            let value = db.get(key(n)).unwrap().map(|v| v.to_vec());
            let expected = (!damaged.contains(&n)).then(|| vec![n as u8; 1_000]);
            assert!(value == expected, "key {n}");
        }
        assert_eq!(&*db.get("short").unwrap().unwrap(), b"value");
    });
}

fn verify_but_for_strays(options: &Options) {
    let report = inspect::verify(Path::new("store"), options, &mut |_| {}).unwrap();
    assert!(report.damage.is_empty(), "{:?}", report.damage);
}

#[test]
fn a_cut_or_missing_value_file_is_refused_and_repaired() {
    moved_and_logged(|_| {
        for cut in [true, false] {
            let (disk, path) = store_with_one_file();
            let bytes = read(&disk, &path);
            match cut {
                true => replace(&disk, &path, &bytes[..bytes.len() / 2]),
                false => disk.remove(Path::new(&path)).unwrap(),
            }
            let opened = Db::open("store", options(&disk)).and_then(|db| {
                db.get(key(0))?;
                db.close()
            });
            let error = opened.unwrap_err().to_string();
            assert!(error.contains(&path), "{error}");
            let report = inspect::verify(Path::new("store"), &options(&disk), &mut |_| {}).unwrap();
            assert!(!report.damage.is_empty());
            let report = inspect::repair(Path::new("store"), &options(&disk), &mut |_| {}).unwrap();
            assert!(!report.lost.is_empty(), "{report:?}");
            verify_but_for_strays(&options(&disk));
            let db = Db::open("store", options(&disk)).unwrap();
            let saved = (0..100).filter(|n| {
                let value = db.get(key(*n)).unwrap();
                assert!(value.as_deref().is_none_or(|v| v == vec![*n as u8; 1_000]));
                value.is_some()
            });
            let expected = if cut { 45..52 } else { 0..1 };
            let saved = saved.count();
            assert!(expected.contains(&saved), "{saved} of 100");
            assert_eq!(&*db.get("short").unwrap().unwrap(), b"value");
        }
    });
}

#[test]
fn a_dump_shows_values_and_pointers() {
    moved_and_logged(|logged| {
        let (disk, path) = store_with_one_file();
        let first = if logged { 48 } else { 24 };
        let dump = |path: &str| {
            let mut text = Vec::new();
            inspect::dump(Path::new(path), &options(&disk), &mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        let values = dump(&path);
        assert!(values.contains("\"key00000\" = "), "{values}");
        let names = disk.list(Path::new("store")).unwrap();
        let table = names.iter().find(|n| n.ends_with(".table")).unwrap();
        let table = dump(&format!("store/{table}"));
        assert!(
            table.contains(&format!("= 1000 bytes at {first} of value file")),
            "{table}"
        );
        assert!(table.contains("100 values"), "{table}");
    });
}
