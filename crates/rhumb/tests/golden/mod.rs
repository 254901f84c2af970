//! The golden files, and functions to compare with them.

pub mod decode;
pub mod decode_values;
pub mod make;

use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rhumb::fs::{FileSystem, MemoryFileSystem};
use rhumb::{Db, Options, inspect};

/// The contents of a store: keyspaces by name, values by key.
pub type Content = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;

/// The version of the format that this build writes if no keyspace has options; its golden files have a
/// directory.
pub const FORMAT: u32 = 1;

/// The listing shows values up to this length; of longer ones it shows length and hash.
const LISTED_BYTES: usize = 80;

/// The directory of the golden files of a version: `store`, and the expected contents.
pub fn directory(format: impl Display) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/format-{format}"))
}

/// Copies the golden store into memory, as `store`. The files themselves are never opened as a
/// store.
pub fn copy_in_memory(format: impl Display) -> MemoryFileSystem {
    let disk = MemoryFileSystem::new();
    disk.create_dir(Path::new("store")).unwrap();
    for entry in std::fs::read_dir(directory(format).join("store")).unwrap() {
        let entry = entry.unwrap();
        let bytes = std::fs::read(entry.path()).unwrap();
        let path = Path::new("store").join(entry.file_name());
        disk.set_bytes(&path, bytes).unwrap();
    }
    disk
}

/// The files of the store in a file system in memory, by name.
pub fn files(disk: &MemoryFileSystem) -> BTreeMap<String, Vec<u8>> {
    let dir = Path::new("store");
    let names = disk.list(dir).unwrap().into_iter();
    // An empty file, such as the lock, is created where it is missing, so it is left out.
    names
        .map(|name| (name.clone(), disk.bytes(&dir.join(name)).unwrap()))
        .filter(|(_, bytes)| !bytes.is_empty())
        .collect()
}

pub fn options(disk: &MemoryFileSystem) -> Options {
    Options {
        file_system: Arc::new(disk.clone()),
        ..Options::in_memory()
    }
}

/// The contents of a store, read in every way: by scans in both directions, key by key, and by many
/// keys at once.
pub fn read_all(db: &Db) -> rhumb::Result<Content> {
    let mut content = Content::new();
    for name in db.keyspaces() {
        let keyspace = db.keyspace(&name)?;
        let mut forward = Vec::new();
        for entry in keyspace.iter()? {
            let (key, value) = entry?;
            forward.push((key.to_vec(), value.to_vec()));
        }
        let mut backward = Vec::new();
        for entry in keyspace.iter()?.rev() {
            let (key, value) = entry?;
            backward.push((key.to_vec(), value.to_vec()));
        }
        backward.reverse();
        assert_eq!(forward, backward, "{name}");
        let keys: Vec<&[u8]> = forward.iter().map(|(key, _)| key.as_slice()).collect();
        let many = keyspace.multi_get(&keys)?;
        for ((key, value), found) in forward.iter().zip(many) {
            let alone = keyspace.get(key)?;
            assert_eq!(alone.as_deref(), Some(&value[..]), "{name} {key:02x?}");
            assert_eq!(found.as_deref(), Some(&value[..]), "{name} {key:02x?}");
        }
        content.insert(name, forward.into_iter().collect());
    }
    Ok(content)
}

/// The contents as text: a line for each keyspace, followed by a line for each of its keys, with
/// the value after a tab. Bytes that are not printable are escaped as in Rust; a long value is
/// shown by its length and its XXH3-64.
pub fn listing(content: &Content) -> String {
    let mut text = String::new();
    for (name, map) in content {
        writeln!(text, "keyspace {name}, {} keys", map.len()).unwrap();
        for (key, value) in map {
            let key = key.escape_ascii();
            match value.len() <= LISTED_BYTES {
                true => writeln!(text, "\"{key}\"\t\"{}\"", value.escape_ascii()),
                false => writeln!(text, "\"{key}\"\t{}", summary(value)),
            }
            .unwrap();
        }
    }
    text
}

/// The names of files, their lengths and hashes, as text.
pub fn file_list(files: &BTreeMap<String, Vec<u8>>) -> String {
    let line = |(name, bytes): (&String, &Vec<u8>)| format!("{name}\t{}\n", summary(bytes));
    files.iter().map(line).collect()
}

fn summary(bytes: &[u8]) -> String {
    let hash = xxhash_rust::xxh3::xxh3_64(bytes);
    format!("{} bytes, xxh3 {hash:016x}", bytes.len())
}

/// A file as `dump` shows it.
pub fn dumped(disk: &MemoryFileSystem, name: &str) -> String {
    let mut text = Vec::new();
    inspect::dump(&Path::new("store").join(name), &options(disk), &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Checks that the tables are as the reader says that was written from docs/format.md alone.
pub fn check_tables(disk: &MemoryFileSystem) {
    for (name, bytes) in files(disk) {
        if !name.ends_with(".table") {
            continue;
        }
        let text = dumped(disk, &name);
        let (_, listed) = text.split_once("entries:\n").unwrap();
        let mut listed = listed.lines();
        let entries = decode::table(&bytes).blocks.into_iter();
        for entry in entries.flat_map(|block| block.entries) {
            let line = listed.next().unwrap();
            let (key, sequence) = (entry.key.escape_ascii(), entry.sequence);
            let start = format!("  \"{key}\" @{sequence} ");
            let rest = line.strip_prefix(&start).expect(line);
            match (entry.kind, entry.value.get(..64)) {
                (0, _) => assert_eq!(rest, "deleted"),
                (1, Some(shown)) if entry.value.len() > 64 => {
                    let (shown, len) = (shown.escape_ascii(), entry.value.len());
                    assert_eq!(rest, format!("= \"{shown}\"... ({len} bytes)"));
                }
                (1, _) => assert_eq!(rest, format!("= \"{}\"", entry.value.escape_ascii())),
                (2, _) => {
                    let (file, offset, len) = entry.pointer.unwrap();
                    let expected = format!("= {len} bytes at {offset} of value file {file}");
                    assert_eq!(rest, expected);
                }
                (other, _) => panic!("{name}: kind {other}"),
            }
        }
        assert_eq!(listed.next(), None, "{name}");
    }
}

/// Writes the golden files of a format.
pub fn write(format: impl Display, disk: &MemoryFileSystem, content: &Content) {
    let (dir, files) = (directory(format), files(disk));
    // Golden files are never overwritten.
    match std::fs::create_dir(&dir) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return println!("{} is there already", dir.display());
        }
        made => made.unwrap(),
    }
    std::fs::create_dir(dir.join("store")).unwrap();
    std::fs::write(dir.join("expected.tsv"), listing(content)).unwrap();
    std::fs::write(dir.join("files.tsv"), file_list(&files)).unwrap();
    for (name, bytes) in &files {
        std::fs::write(dir.join("store").join(name), bytes).unwrap();
    }
    let total: usize = files.values().map(Vec::len).sum();
    println!("wrote {total} bytes to {}", dir.display());
}

/// A stored list of a format: `expected.tsv` or `files.tsv`.
pub fn expected(format: impl Display, name: &str) -> String {
    std::fs::read_to_string(directory(format).join(name)).unwrap()
}

/// Checks a store that was just made and its tables, and that all forms are there; writes it as golden files if asked to.
pub fn check_made(
    format: impl Display + Copy,
    (disk, content): &(MemoryFileSystem, Content),
    check_forms: impl Fn(&MemoryFileSystem),
) {
    let db = Db::open_read_only("store", options(disk)).unwrap();
    assert_eq!(&read_all(&db).unwrap(), content);
    db.close().unwrap();
    check_tables(disk);
    check_forms(disk);
    if std::env::var("RHUMB_WRITE_GOLDEN").as_deref() == Ok("1") {
        write(format, disk, content);
    }
}

/// Checks that golden files are those that were written, and that all forms are there.
pub fn check_unchanged(format: impl Display + Copy, check_forms: impl Fn(&MemoryFileSystem)) {
    let disk = copy_in_memory(format);
    assert_eq!(file_list(&files(&disk)), expected(format, "files.tsv"));
    check_forms(&disk);
    check_tables(&disk);
}

/// Checks that a store of golden files is read, written and merged, and sound before and after.
pub fn check_written_on(format: impl Display + Copy) {
    let disk = copy_in_memory(format);
    let db = Db::open("store", options(&disk)).unwrap();
    let mut content = read_all(&db).unwrap();
    assert_eq!(listing(&content), expected(format, "expected.tsv"));
    for (name, map) in &mut content {
        let keyspace = db.keyspace(name).unwrap();
        keyspace.put("new", "1").unwrap();
        keyspace.compact_range(None, None).unwrap();
        map.insert(b"new".to_vec(), b"1".to_vec());
    }
    assert_eq!(read_all(&db).unwrap(), content);
    db.close().unwrap();
    for disk in [copy_in_memory(format), disk] {
        let with = options(&disk);
        let report = inspect::verify(Path::new("store"), &with, &mut |_| {}).unwrap();
        assert!(report.damage.is_empty(), "{:?}", report.damage);
    }
}
