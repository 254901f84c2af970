//! Collection of value files: space comes back without a word from the user, what is read stays what was written,
//! and the faults that public value logs had do not come back.
use crate::kit_values;

use std::path::Path;

use kit_values::{Content, compare, default_keyspace, key, options, seeded, verify};
use rand::RngExt;
use rand::rngs::StdRng;
use rhumb::fs::{Access, FileSystem, MemoryFileSystem};
use rhumb::{Db, Options};

const KEYS: u32 = 1_000;

/// Writes a value of up to 2000 bytes for a random key, or deletes it; small keys come more often.
fn change(db: &Db, content: &mut Content, random: &mut StdRng) {
    let most = random.random_range(1..=KEYS);
    let key = key(random.random_range(0..most));
    if random.random_bool(0.1) {
        db.delete(&key).unwrap();
        content.remove(&key);
        return;
    }
    let value = vec![random.random(); random.random_range(0..2_000)];
    db.put(&key, &value).unwrap();
    content.insert(key, value);
}

fn collections(db: &Db) -> u64 {
    db.stats().unwrap().writes.collections
}

/// The value files on the disk.
fn value_files(disk: &MemoryFileSystem) -> Vec<String> {
    let mut names = disk.list(Path::new("store")).unwrap();
    names.retain(|name| name.ends_with(".values"));
    names
}

/// Waits until the files that no table points into are gone: they go in the background, when readers have ended.
fn await_deletions(disk: &MemoryFileSystem, db: &Db) {
    for _ in 0..2_000 {
        if value_files(disk).len() as u64 == default_keyspace(db).value_files {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("files are left: {:?}", value_files(disk));
}

/// Space doubled in other stores, since no merge took up what garbage was in (RocksDB #9235), or the garbage was
/// counted wrongly (RocksDB #10296).
#[test]
fn garbage_stays_within_its_room() {
    for over_provision in [0, 10, 30, 100] {
        let disk = MemoryFileSystem::new();
        let options = options(&disk, over_provision);
        let mut db = Db::open("store", options.clone()).unwrap();
        let (mut content, mut random) = (Content::new(), seeded(over_provision.into()));
        let mut moved = 0;
        for _ in 0..4 {
            for _ in 0..5_000 {
                change(&db, &mut content, &mut random);
            }
            db.flush().unwrap();
            db.settle();
            let stats = default_keyspace(&db);
            let headers = 24 * stats.value_files;
            let garbage = stats.value_bytes - stats.used_value_bytes - headers;
            let most = stats.used_value_bytes * u64::from(over_provision) / 100;
            assert!(garbage <= most, "{garbage} of {stats:?}");
            await_deletions(&disk, &db);
            compare(&db, KEYS, &content);
            moved += collections(&db);
            db.close().unwrap();
            verify(&options);
            db = Db::open("store", options.clone()).unwrap();
            compare(&db, KEYS, &content);
        }
        println!("{over_provision} %: {moved} collections");
        assert!(moved > 0);
    }
}

/// Collection by writing values anew brought deleted keys back (Badger #2286) or dropped new ones (Titan #93, where
/// a file that a flush was about to point into was taken for an empty one).
#[test]
fn a_delete_beside_collections_stays() {
    let disk = MemoryFileSystem::new();
    let db = Db::open("store", options(&disk, 0)).unwrap();
    let (mut content, mut random) = (Content::new(), seeded(5));
    for _ in 0..KEYS {
        change(&db, &mut content, &mut random);
    }
    for n in 0..10_000 {
        let doomed = key(random.random_range(0..KEYS));
        db.delete(&doomed).unwrap();
        content.remove(&doomed);
        change(&db, &mut content, &mut random);
        if n % 50 == 0 {
            db.flush().unwrap();
        }
        if n % 500 == 0 {
            db.settle();
        }
        let asked = key(random.random_range(0..KEYS));
        for key in [&doomed, &asked] {
            let expected = content.get(key).map(Vec::as_slice);
            assert_eq!(db.get(key).unwrap().as_deref(), expected, "try {n}");
        }
    }
    db.settle();
    println!("{} collections", collections(&db));
    assert!(collections(&db) > 0);
    compare(&db, KEYS, &content);
}

#[test]
fn a_held_snapshot_reads_every_value_through_ten_collections() {
    let disk = MemoryFileSystem::new();
    let options = options(&disk, 10);
    let db = Db::open("store", options.clone()).unwrap();
    let (mut content, mut random) = (Content::new(), seeded(7));
    for _ in 0..2 * KEYS {
        change(&db, &mut content, &mut random);
    }
    let (snapshot, mut iter, then) = (db.snapshot(), db.iter().unwrap(), content.clone());
    let before = collections(&db);
    for _ in 0..1_000 {
        if collections(&db) >= before + 10 {
            break;
        }
        for _ in 0..100 {
            change(&db, &mut content, &mut random);
        }
        db.flush().unwrap();
        db.settle();
    }
    assert!(collections(&db) >= before + 10);
    for n in 0..KEYS {
        let value = snapshot.get(&db, key(n)).unwrap();
        assert_eq!(value.as_deref(), then.get(&key(n)).map(Vec::as_slice));
    }
    for (key, value) in &then {
        assert!(iter.advance().unwrap());
        assert_eq!((iter.key(), iter.value()), (&key[..], &value[..]));
    }
    assert!(!iter.advance().unwrap());
    drop((iter, snapshot));
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    db.settle();
    await_deletions(&disk, &db);
    compare(&db, KEYS, &content);
    db.close().unwrap();
    verify(&options);
}

/// Moved values were not found after a reopening under compression elsewhere (lsm-tree #301).
#[test]
fn moved_values_are_found_under_every_codec_and_go_back_to_their_keys() {
    for table in [
        "compression=none",
        "compression=lz4",
        "partition=entries(4)",
    ] {
        let disk = MemoryFileSystem::new();
        let mut apart = options(&disk, 0);
        apart.table = format!("{table},values=100,size=8KiB").parse().unwrap();
        let db = Db::open("store", apart.clone()).unwrap();
        let (mut content, mut random) = (Content::new(), seeded(9));
        for _ in 0..10 * KEYS {
            change(&db, &mut content, &mut random);
        }
        db.settle();
        assert!(collections(&db) > 0);
        db.close().unwrap();
        // From now on no value lies apart. What is left in files with garbage goes back.
        let beside = Options {
            table: format!("{table},size=8KiB").parse().unwrap(),
            ..apart.clone()
        };
        let db = Db::open("store", beside.clone()).unwrap();
        compare(&db, KEYS, &content);
        let (before, part) = (default_keyspace(&db).used_value_bytes, 2 * KEYS);
        for _ in 0..part {
            change(&db, &mut content, &mut random);
        }
        db.flush().unwrap();
        db.compact_range(None, None).unwrap();
        db.settle();
        let after = default_keyspace(&db);
        assert!(
            before > 0 && after.used_value_bytes < before / 2,
            "{before}, {after:?}"
        );
        assert_eq!(
            after.used_value_bytes + 24 * after.value_files,
            after.value_bytes
        );
        compare(&db, KEYS, &content);
        db.close().unwrap();
        verify(&beside);
    }
}

/// A value that is damaged is not moved as if it were sound: the store stops writing and says where.
#[test]
fn a_damaged_value_is_not_moved() {
    let disk = MemoryFileSystem::new();
    let options = options(&disk, 10);
    let quiet = Options {
        over_provision_percent: u32::MAX,
        ..options.clone()
    };
    let db = Db::open("store", quiet).unwrap();
    for n in 0..20 {
        db.put(key(n), vec![n as u8; 1_000]).unwrap();
    }
    db.flush().unwrap();
    let file = format!("store/{}", value_files(&disk)[0]);
    for n in 0..15 {
        db.put(key(n), vec![n as u8 + 100; 1_000]).unwrap();
    }
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    db.close().unwrap();
    flip(&disk, &file, 24 + 17 * 1_020);
    let db = Db::open("store", options).unwrap();
    db.settle();
    let error = db.put("other", "value").unwrap_err().to_string();
    assert!(error.contains(&file) && error.contains("offset"), "{error}");
    let read = (0..20).filter(|n| db.get(key(*n)).is_ok());
    assert_eq!(read.count(), 19);
}

fn flip(disk: &MemoryFileSystem, path: &str, at: usize) {
    let path = Path::new(path);
    let file = disk.open(path, Access::Buffered).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), bytes.len());
    bytes[at] ^= 1;
    disk.remove(path).unwrap();
    let file = disk.create(path).unwrap();
    assert_eq!(file.write(&bytes).unwrap(), bytes.len());
    file.sync().unwrap();
}

/// What newer entries in upper tables hide is estimated, also after another opening, so that it counts as garbage before
/// merges find it.
#[test]
fn hidden_values_are_estimated() {
    let disk = MemoryFileSystem::new();
    let mut options = options(&disk, u32::MAX);
    options.write_buffer_bytes = 64 << 20;
    options.table.table_bytes = 64 << 20;
    options.levels.level0_tables = 100;
    let db = Db::open("store", options.clone()).unwrap();
    let value = [7; 1_000];
    let put = |db: &Db, keys: &mut dyn Iterator<Item = u32>| {
        keys.for_each(|n| db.put(key(n), value).unwrap());
        db.flush().unwrap();
    };
    put(&db, &mut (0..5_000));
    let hidden = |db: &Db| db.stats().unwrap().keyspaces[0].hidden_value_bytes;
    assert_eq!(hidden(&db), 0);
    // A fifth of the keys, and some of these and as many new ones.
    put(&db, &mut (0..5_000).step_by(5));
    put(&db, &mut (0..500).step_by(5).chain(9_000..9_100));
    for n in (0..5_000).step_by(50) {
        db.delete(key(n + 1)).unwrap();
    }
    db.flush().unwrap();
    let near = |found: u64| {
        let record = 1_000 + 8 + 9;
        let expected = (1_000 + 100 + 100) * record;
        assert!(
            found.abs_diff(expected) < expected / 10,
            "{found} for {expected}"
        );
    };
    near(hidden(&db));
    db.close().unwrap();
    let db = Db::open("store", options).unwrap();
    near(hidden(&db));
    db.compact_range(None, None).unwrap();
    let stats = &db.stats().unwrap().keyspaces[0];
    assert_eq!(stats.hidden_value_bytes, 0);
    assert_eq!(stats.entries, 5_000 + 100 - 100);
}

/// However fast values are overwritten, value files stay within what the option allows, four write buffers, and what one
/// flush and one job add.
#[test]
fn writers_wait_before_value_files_are_too_large() {
    for (over_provision, skewed) in [(10, false), (30, false), (30, true)] {
        let disk = MemoryFileSystem::new();
        let mut options = options(&disk, over_provision);
        // As many levels as a store of some million values has.
        options.levels.base_bytes = 1 << 20;
        let db = Db::open("store", options.clone()).unwrap();
        let mut random = seeded(u64::from(over_provision) + u64::from(skewed));
        let keys = 4_000;
        (0..keys).for_each(|n| db.put(key(n), [1; 1_000]).unwrap());
        let mut most = 0.0f64;
        for n in 0..30_000 {
            let upto = if skewed {
                random.random_range(1..=keys)
            } else {
                keys
            };
            let key = key(random.random_range(0..upto));
            db.put(key, [n as u8; 1_000]).unwrap();
            if n % 64 == 0 {
                let stats = default_keyspace(&db);
                let live = (stats.used_value_bytes - stats.hidden_value_bytes) as f64;
                let over =
                    stats.value_bytes as f64 - live * (1.0 + f64::from(over_provision) / 100.0);
                most = most.max(over);
            }
        }
        let table = stats_of_largest_table(&options) as f64 * 1_020.0;
        let allowed = 5.0 * options.write_buffer_bytes as f64 + table;
        println!(
            "{over_provision} %, skewed: {skewed}: {most:.0} bytes over, {allowed:.0} allowed"
        );
        assert!(collections(&db) >= 20, "{} collections", collections(&db));
        assert!(most <= allowed);
    }
}

/// About how many pointers a table has, at most: a rewritten one may have twice the bytes of others.
fn stats_of_largest_table(options: &Options) -> u64 {
    2 * options.table.table_bytes / 28
}
