//! A pointer that leads anywhere but to the value of its key gives an error that says where, by every way to read, and
//! never another value; nor does it take more memory than there is file. The pointers are forged into tables, and records
//! into value files, with right checksums.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code, reason = "this test uses a part of it")]
mod golden;
mod kit_allocator;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use golden::decode::stamped;
use rhumb::fs::{FileSystem, MemoryFileSystem};
use rhumb::{Db, Error, Options, Result, inspect};

type Content = BTreeMap<Vec<u8>, Vec<u8>>;

const KEYS: u32 = 12;
/// The key whose pointer is forged.
const DOOMED: u32 = 5;
const VALUE_BYTES: usize = 1_000;
/// What reading may take in memory, whatever a pointer says: a cache, tables, and the few values that there are.
const MOST_MEMORY: u64 = 64 << 20;

/// What is changed in a record before it gets its checksum.
type Change<'a> = &'a dyn Fn(&mut [u8]);

/// Where a value lies: the number of the file, the offset of the record, the length of the value.
type Pointer = (u64, u64, u32);

/// Each entry has a block of its own, and values lie apart.
fn options(disk: &MemoryFileSystem, over_provision_percent: u32) -> Options {
    Options {
        file_system: Arc::new(disk.clone()),
        over_provision_percent,
        cache_bytes: 1 << 20,
        table: "partition=bytes(1),compression=none,values=100"
            .parse()
            .unwrap(),
        ..Options::in_memory()
    }
}

fn key(n: u32) -> Vec<u8> {
    format!("key{n:05}").into_bytes()
}

/// A closed store with two keyspaces that have the same keys and values of the same length, which a flush has moved out of the
/// log, or left there.
struct Store {
    disk: MemoryFileSystem,
    over_provision: u32,
    content: Content,
    /// The tables of the two keyspaces.
    tables: [PathBuf; 2],
}

fn moved_and_logged() -> [Store; 2] {
    [0, u32::MAX].map(|over_provision| {
        let disk = MemoryFileSystem::new();
        let db = Db::open("store", options(&disk, over_provision)).unwrap();
        let other = db.create_keyspace("other").unwrap();
        let mut content = Content::new();
        for n in 0..KEYS {
            let value = vec![n as u8; VALUE_BYTES];
            db.put(key(n), &value).unwrap();
            other.put(key(n), [100 + n as u8; VALUE_BYTES]).unwrap();
            content.insert(key(n), value);
        }
        db.flush().unwrap();
        other.flush().unwrap();
        db.close().unwrap();
        let tables = named(&disk, ".table").try_into().unwrap();
        Store {
            disk,
            over_provision,
            content,
            tables,
        }
    })
}

fn named(disk: &MemoryFileSystem, ending: &str) -> Vec<PathBuf> {
    let mut names = disk.list(Path::new("store")).unwrap();
    names.retain(|name| name.ends_with(ending));
    names
        .iter()
        .map(|name| Path::new("store").join(name))
        .collect()
}

fn value_file(number: u64) -> PathBuf {
    PathBuf::from(format!("store/{number:06}.values"))
}

impl Store {
    fn fork(&self) -> Store {
        Store {
            disk: self.disk.fork(),
            over_provision: self.over_provision,
            content: self.content.clone(),
            tables: self.tables.clone(),
        }
    }

    fn options(&self) -> Options {
        options(&self.disk, self.over_provision)
    }

    /// The pointer of a key, as a dump shows it.
    fn pointer(&self, table: &Path, n: u32) -> Pointer {
        let mut text = Vec::new();
        inspect::dump(table, &self.options(), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let start = format!("  \"{}\" @", key(n).escape_ascii());
        let line = text.lines().find(|line| line.starts_with(&start)).unwrap();
        let numbers: Vec<u64> = line
            .split(' ')
            .filter_map(|word| word.parse().ok())
            .collect();
        let [len, offset, file] = numbers[..] else {
            panic!("{line}")
        };
        (file, offset, len as u32)
    }

    /// Puts another pointer into the block of the key whose pointer is forged.
    fn forge(&self, to: Pointer) {
        let table = &self.tables[0];
        let from = self.pointer(table, DOOMED);
        let mut bytes = self.disk.bytes(table).unwrap();
        let id = u64::from_le_bytes(bytes[bytes.len() - 48..][..8].try_into().unwrap());
        let (old, new) = (columns(from), columns(to));
        let at = bytes.windows(old.len()).position(|w| w == old).unwrap();
        bytes[at..at + old.len()].copy_from_slice(&new);
        // The block ends with its fence keys.
        let end = at + old.len() + 8;
        let is_start = |start: &usize| {
            let raw_bytes = bytes[*start + 5..][..4].try_into().unwrap();
            bytes[*start + 4] == 0 && u32::from_le_bytes(raw_bytes) as usize == end - start - 9
        };
        let start = (0..at - 9).rev().find(is_start).unwrap();
        let sum = stamped(&bytes[start + 4..end], id, start as u64);
        bytes[start..start + 4].copy_from_slice(&sum.to_le_bytes());
        self.disk.set_bytes(table, bytes).unwrap();
    }
}

/// The columns of one pointer, alone in its block (docs/format.md, Pointers).
fn columns((file, offset, len): Pointer) -> Vec<u8> {
    let mut bytes = file.to_le_bytes()[..6].to_vec();
    bytes.extend([1, 0]);
    bytes.extend(offset.to_le_bytes());
    bytes.extend(len.to_le_bytes());
    bytes.extend([1, 0, 0, 0, 0, 0, 0, 0]);
    bytes
}

fn check_error(error: &Error, what: &str) {
    check_place(error, what);
    assert!(matches!(error, Error::Corruption { .. }), "{what}: {error}");
}

/// Checks that an error names file and offset; it may be the reason why a store takes no writes.
fn check_place(error: &Error, what: &str) {
    let text = error.to_string();
    let path = [".values", ".table"].iter().any(|kind| text.contains(kind));
    assert!(path && text.contains("offset"), "{what}: {text}");
}

/// What an iterator shows up to its first error, which there must be.
fn shown(entries: impl Iterator<Item = Result<(Vec<u8>, Vec<u8>)>>, what: &str) -> Content {
    let mut content = Content::new();
    for entry in entries {
        match entry {
            Ok((key, value)) => assert_eq!(content.insert(key, value), None),
            Err(error) => {
                check_error(&error, what);
                return content;
            }
        }
    }
    panic!("{what}: no error of an iterator");
}

/// Reads the doomed key in every way, and the others: these are what they were, or damaged too.
fn read(db: &Db, content: &Content, what: &str) {
    let doomed = key(DOOMED);
    check_error(&db.get(&doomed).unwrap_err(), what);
    let snapshot = db.snapshot();
    check_error(&snapshot.get(db, &doomed).unwrap_err(), what);
    check_error(&db.multi_get(&[key(1), doomed.clone()]).unwrap_err(), what);
    assert!(db.contains_key(&doomed).unwrap());
    let owned = |entry: Result<(rhumb::Key, rhumb::Value<'_>)>| {
        entry.map(|(key, value)| (key.to_vec(), value.to_vec()))
    };
    let passes = [
        shown(db.iter().unwrap().map(owned), what),
        shown(db.iter().unwrap().rev().map(owned), what),
        shown(snapshot.iter(db).unwrap().map(owned), what),
    ];
    for found in passes {
        assert!(!found.contains_key(&doomed), "{what}");
        assert!(
            found
                .iter()
                .all(|(key, value)| content.get(key) == Some(value)),
            "{what}"
        );
    }
    let mut lent = db.iter().unwrap();
    let error = loop {
        match lent.advance() {
            Ok(true) => assert_eq!(
                content.get(lent.key()).map(Vec::as_slice),
                Some(lent.value())
            ),
            Ok(false) => panic!("{what}: no error of an iterator that lends"),
            Err(error) => break error,
        }
    };
    check_error(&error, what);
    for (key, value) in content.iter().filter(|(key, _)| **key != doomed) {
        match db.get(key) {
            Ok(found) => assert_eq!(found.as_deref(), Some(&value[..]), "{what}"),
            Err(error) => check_error(&error, what),
        }
    }
}

/// Checks what the store does that was forged.
fn check(store: &Store, what: &str) {
    let before = kit_allocator::allocated();
    let options = store.options();
    {
        let db = Db::open_read_only("store", options.clone()).unwrap();
        read(&db, &store.content, what);
    }
    let report = inspect::verify(Path::new("store"), &options, &mut |_| {}).unwrap();
    assert!(!report.damage.is_empty(), "{what}");
    report
        .damage
        .iter()
        .for_each(|error| check_error(error, what));

    // Merges carry the pointer along, move what it leads to, or stop.
    for over_provision_percent in [u32::MAX, 0] {
        let disk = store.disk.fork();
        let db = Db::open(
            "store",
            Options {
                over_provision_percent,
                ..options_of(&disk, &options)
            },
        )
        .unwrap();
        let mut content = store.content.clone();
        for n in (0..KEYS).filter(|n| *n != DOOMED && n % 2 == 0) {
            db.put(key(n), [200; VALUE_BYTES]).unwrap();
            content.insert(key(n), vec![200; VALUE_BYTES]);
        }
        let merged = db.flush().and_then(|()| db.compact_range(None, None));
        db.settle();
        if let Err(error) = merged {
            check_place(&error, what);
        }
        read(&db, &content, what);
    }
    let taken = kit_allocator::allocated() - before;
    assert!(taken < MOST_MEMORY, "{what}: {taken} bytes");
}

fn options_of(disk: &MemoryFileSystem, options: &Options) -> Options {
    Options {
        file_system: Arc::new(disk.clone()),
        ..options.clone()
    }
}

#[test]
fn forged_pointers_lead_to_errors() {
    let _alone = kit_allocator::alone();
    for store in moved_and_logged() {
        let [own, other] = &store.tables;
        let (file, offset, len) = store.pointer(own, DOOMED);
        let end = store.disk.bytes(&value_file(file)).unwrap().len() as u64;
        let most = (1 << 48) - 1;
        let forged = [
            ("one byte on", (file, offset + 1, len)),
            ("at the beginning", (file, 0, len)),
            ("behind the header", (file, 24, len)),
            ("at the last byte", (file, end - 1, len)),
            ("at the end", (file, end, len)),
            ("behind the end", (file, end + 1_000_000, len)),
            ("at the largest offset", (file, most, len)),
            ("at the largest offset, without a value", (file, most, 0)),
            (
                "the record of the key before",
                store.pointer(own, DOOMED - 1),
            ),
            (
                "the record of the key behind",
                store.pointer(own, DOOMED + 1),
            ),
            (
                "the same key of another keyspace",
                store.pointer(other, DOOMED),
            ),
            ("a shorter value", (file, offset, len - 1)),
            ("a longer value", (file, offset, len + 1)),
            ("no value", (file, offset, 0)),
            ("the longest value", (file, offset, u32::MAX)),
            ("the longest value, at the end", (file, end - 1, u32::MAX)),
            ("a missing file", (999, offset, len)),
            ("file 0", (0, offset, len)),
            ("the largest file number", (most, offset, len)),
        ];
        for (what, to) in forged {
            let store = store.fork();
            store.forge(to);
            check(&store, what);
        }
    }
}

/// A value file whose records were written anew, with their checksums, for other keys, keyspaces or lengths.
#[test]
fn forged_records_are_not_taken() {
    let _alone = kit_allocator::alone();
    for store in moved_and_logged() {
        let (file, offset, len) = store.pointer(&store.tables[0], DOOMED);
        let record = 1 + 1 + 1 + key(0).len() + 2 + len as usize;
        let (at, path) = (offset as usize, value_file(file));
        let forge = |change: Change<'_>| {
            let forged = store.fork();
            let mut bytes = forged.disk.bytes(&path).unwrap();
            change(&mut bytes[at..at + record]);
            let sum = stamped(&bytes[at..at + record], file, offset);
            bytes[at + record..][..4].copy_from_slice(&sum.to_le_bytes());
            forged.disk.set_bytes(&path, bytes).unwrap();
            forged
        };
        // Unchanged, it is sound: so only what is forged is refused below.
        let sound = forge(&|_| {});
        let db = Db::open_read_only("store", sound.options()).unwrap();
        assert_eq!(
            db.get(key(DOOMED)).unwrap().as_deref(),
            Some(&store.content[&key(DOOMED)][..])
        );
        drop(db);
        let forged: [(&str, Change<'_>); 6] = [
            ("another key", &|record| record[3 + 7] += 1),
            ("another keyspace", &|record| record[1] += 1),
            ("a delete", &|record| record[0] = 0),
            ("a longer key", &|record| record[2] += 1),
            ("a shorter value", &|record| record[3 + 8] -= 1),
            ("a value of 4 GiB", &|record| {
                record[11..16].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0x0f])
            }),
        ];
        for (what, change) in forged {
            let forged = forge(change);
            // A log under a second name is checked as a log, too, while it is there.
            check(&forged, what);
        }
    }
}

#[test]
fn files_that_are_cut_or_missing_are_named() {
    let _alone = kit_allocator::alone();
    for store in moved_and_logged() {
        let (file, offset, _) = store.pointer(&store.tables[0], DOOMED);
        let path = value_file(file);
        for cut in [0, 10, 24, offset as usize, offset as usize + 500] {
            let forged = store.fork();
            let bytes = forged.disk.bytes(&path).unwrap();
            forged.disk.set_bytes(&path, bytes[..cut].to_vec()).unwrap();
            refuse(&forged, &format!("cut to {cut} bytes"));
        }
        let forged = store.fork();
        forged.disk.remove(&path).unwrap();
        refuse(&forged, "removed");
    }
}

/// The store is not opened, or the key has an error.
fn refuse(store: &Store, what: &str) {
    let options = store.options();
    for read_only in [true, false] {
        let disk = store.disk.fork();
        let options = options_of(&disk, &options);
        let opened = match read_only {
            true => Db::open_read_only("store", options),
            false => Db::open("store", options),
        };
        match opened {
            Ok(db) => read(&db, &store.content, what),
            Err(error) => check_error(&error, what),
        }
    }
    let verified = inspect::verify(Path::new("store"), &options, &mut |_| {});
    let found = verified.map(|report| report.damage);
    assert!(
        found.is_err() || found.is_ok_and(|damage| !damage.is_empty()),
        "{what}"
    );
}
