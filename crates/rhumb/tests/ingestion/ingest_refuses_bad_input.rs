//! Entries out of order, and tables that are damaged, overlap or are of another kind, are one clear error each,
//! and nothing is changed.

use std::sync::Arc;

use crc32c::crc32c;
use rhumb::fs::{FileSystem, MemoryFileSystem};
use rhumb::{Db, Error, Ingested, Options, Result, TableWriter};

fn options(files: &MemoryFileSystem) -> Options {
    Options {
        table: "partition=bytes(256),size=4KiB".parse().unwrap(),
        file_system: Arc::new(files.clone()),
        ..Options::default()
    }
}

/// A store with one entry.
fn store(files: &MemoryFileSystem) -> Db {
    let db = Db::open("store", options(files)).unwrap();
    db.put("before", "1").unwrap();
    db
}

/// Writes a finished table with these keys.
fn finish(files: &MemoryFileSystem, path: &str, keys: &[&str]) {
    let mut table = TableWriter::create(path, &options(files)).unwrap();
    for key in keys {
        table.put(key, format!("value of {key}")).unwrap();
    }
    table.finish().unwrap();
}

/// Checks that an ingest failed and changed nothing; returns its message.
fn refused(db: &Db, files: &MemoryFileSystem, ingested: Result<Ingested>) -> String {
    let error = ingested.expect_err("what is bad is refused");
    // The store is not damaged.
    assert!(!matches!(error, Error::Corruption { .. }), "{error}");
    let error = error.to_string();
    assert!(!error.is_empty() && !error.contains('\n'), "{error}");
    let entries: Vec<_> = db.iter().unwrap().map(|e| e.unwrap().0).collect();
    assert_eq!(entries, ["before"], "{error}");
    let names = files.list("store".as_ref()).unwrap();
    assert!(
        names.iter().all(|name| !name.ends_with(".table")),
        "{error}: {names:?}"
    );
    error
}

/// Checks that the store still takes writes and ingests.
fn goes_on(db: Db, files: &MemoryFileSystem) {
    db.put("later", "2").unwrap();
    finish(files, "sound", &["a", "b"]);
    db.ingest(&["sound"]).unwrap();
    db.ingest_sorted([("c", "3")]).unwrap();
    db.close().unwrap();
    let db = Db::open("store", options(files)).unwrap();
    let keys: Vec<_> = db.iter().unwrap().map(|e| e.unwrap().0).collect();
    assert_eq!(keys, ["a", "b", "before", "c", "later"]);
}

#[test]
fn entries_out_of_order_are_refused() {
    let files = MemoryFileSystem::new();
    let db = store(&files);
    let many = || (0..2000u32).map(|n| n.to_be_bytes().to_vec());
    for wrong in [0u32, 1999, 1000] {
        // Tables were written before the wrong key comes.
        let keys = many().chain([wrong.to_be_bytes().to_vec()]);
        let ingested = db.ingest_sorted(keys.map(|key| (key, "value")));
        let error = refused(&db, &files, ingested);
        assert!(error.contains("entry 2001"), "{error}");
        assert_eq!(error.contains("each key once"), wrong == 1999, "{error}");
    }
    let long = vec![b'k'; 70_000];
    let error = refused(&db, &files, db.ingest_sorted([(&long, "")]));
    assert!(error.contains("70000 bytes is too long"), "{error}");
    let mut table = TableWriter::create("outside", &options(&files)).unwrap();
    table.put("b", "").unwrap();
    for key in ["a", "b"] {
        assert!(matches!(table.put(key, ""), Err(Error::InvalidArgument(_))));
        assert!(matches!(table.delete(key), Err(Error::InvalidArgument(_))));
    }
    table.put("c", "").unwrap();
    table.finish().unwrap();
    goes_on(db, &files);
}

#[test]
fn tables_without_entries_or_over_other_files_are_not_written() {
    let files = MemoryFileSystem::new();
    let empty = TableWriter::create("outside", &options(&files)).unwrap();
    assert!(matches!(empty.finish(), Err(Error::InvalidArgument(_))));
    assert!(files.bytes("outside".as_ref()).is_err());
    finish(&files, "outside", &["a"]);
    let before = files.bytes("outside".as_ref()).unwrap();
    let mut again = TableWriter::create("outside", &options(&files)).unwrap();
    again.put("b", "").unwrap();
    assert!(again.finish().unwrap_err().to_string().contains("outside"));
    assert_eq!(files.bytes("outside".as_ref()).unwrap(), before);
}

#[test]
fn tables_that_overlap_each_other_are_refused() {
    let files = MemoryFileSystem::new();
    let db = store(&files);
    finish(&files, "one", &["b", "d"]);
    finish(&files, "inside", &["c"]);
    finish(&files, "ends alike", &["d", "e"]);
    finish(&files, "beside", &["x"]);
    for others in [
        vec!["inside"],
        vec!["ends alike"],
        vec!["one"],
        vec!["beside", "inside"],
    ] {
        for first in [true, false] {
            let mut paths = others.clone();
            paths.insert(if first { 0 } else { others.len() }, "one");
            let error = refused(&db, &files, db.ingest(&paths));
            assert!(
                error.contains("one") && error.contains("overlap"),
                "{error}"
            );
        }
    }
    goes_on(db, &files);
}

#[test]
fn files_that_are_no_finished_tables_are_refused() {
    let files = MemoryFileSystem::new();
    let db = store(&files);
    finish(&files, "sound", &["c", "d"]);
    let error = refused(&db, &files, db.ingest(&["sound", "missing"]));
    assert!(error.contains("missing"), "{error}");
    for (name, bytes) in [
        ("empty", &b""[..]),
        ("text", b"no table at all\n"),
        ("zeros", &[0; 5000]),
    ] {
        files.create(name.as_ref()).unwrap().write(bytes).unwrap();
        let error = refused(&db, &files, db.ingest(&["sound", name]));
        assert!(error.contains(name), "{error}");
    }
    // A table that another store wrote for itself.
    let other = Db::open("other", options(&files)).unwrap();
    other.put("a", "1").unwrap();
    other.flush().unwrap();
    let names = files.list("other".as_ref()).unwrap();
    let table = names.iter().find(|name| name.ends_with(".table")).unwrap();
    let error = refused(&db, &files, db.ingest(&[format!("other/{table}")]));
    assert!(error.contains("TableWriter"), "{error}");
    files.remove("sound".as_ref()).unwrap();
    goes_on(db, &files);
}

#[test]
fn tables_of_another_format_or_order_of_keys_are_refused() {
    let files = MemoryFileSystem::new();
    let db = store(&files);
    finish(&files, "good", &["c", "d", "e"]);
    let good = files.bytes("good".as_ref()).unwrap();
    let put = |name: &str, bytes: &[u8]| {
        files.create(name.as_ref()).unwrap().write(bytes).unwrap();
    };
    // The version is in the footer of 48 bytes, whose checksum covers 36.
    let mut newer = good.clone();
    let footer = newer.len() - 48;
    newer[footer + 32] = 9;
    let crc = crc32c(&newer[footer..footer + 36]).to_le_bytes();
    newer[footer + 36..footer + 40].copy_from_slice(&crc);
    put("newer", &newer);
    let ingested = db.ingest(&["newer"]);
    assert!(
        matches!(ingested, Err(Error::Unsupported { .. })),
        "{ingested:?}"
    );
    refused(&db, &files, ingested);
    // The order of keys is a property.
    let mut ordered = good.clone();
    let order = b"comparator\x05bytes";
    let at = ordered
        .windows(order.len())
        .position(|w| w == order)
        .unwrap()
        + 11;
    ordered[at..at + 5].copy_from_slice(b"other");
    reseal(&mut ordered);
    put("ordered", &ordered);
    let ingested = db.ingest(&["ordered"]);
    assert!(
        matches!(ingested, Err(Error::Unsupported { .. })),
        "{ingested:?}"
    );
    let error = refused(&db, &files, ingested);
    assert!(error.contains("comparator"), "{error}");
    // The same with nothing changed is taken.
    let mut same = good;
    reseal(&mut same);
    put("same", &same);
    db.ingest(&["same"]).unwrap();
    assert_eq!(db.iter().unwrap().count(), 4);
}

#[test]
fn damaged_and_truncated_tables_are_refused() {
    let files = MemoryFileSystem::new();
    let db = store(&files);
    let keys: Vec<String> = (0..60).map(|n| format!("key {n:04}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    finish(&files, "good", &keys);
    let good = files.bytes("good".as_ref()).unwrap();
    let mut number = 0;
    let mut try_bytes = |bytes: &[u8]| {
        number += 1;
        let name = format!("bad {number}");
        files.create(name.as_ref()).unwrap().write(bytes).unwrap();
        let error = refused(&db, &files, db.ingest(&[&name]));
        assert!(error.contains(&name), "{error}");
        files.remove(name.as_ref()).unwrap();
    };
    for length in 0..good.len() {
        try_bytes(&good[..length]);
    }
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        try_bytes(&bytes);
    }
    println!("{number} damaged tables of {} bytes refused", good.len());
    goes_on(db, &files);
}

#[test]
fn a_store_opened_for_reading_takes_no_ingest() {
    let files = MemoryFileSystem::new();
    store(&files).close().unwrap();
    finish(&files, "outside", &["a"]);
    let db = Db::open_read_only("store", options(&files)).unwrap();
    for ingested in [db.ingest(&["outside"]), db.ingest_sorted([("a", "1")])] {
        assert!(
            matches!(ingested, Err(Error::ReadOnly { .. })),
            "{ingested:?}"
        );
    }
}

/// The stamp of a piece of a table (docs/format.md).
fn stamp(id: u64, offset: u64) -> u32 {
    ((id ^ offset.rotate_left(32) ^ offset).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
}

/// Makes the checksums of sections, rows and footer of a table match its bytes again.
fn reseal(table: &mut [u8]) {
    let number =
        |table: &[u8], at: usize| u64::from_le_bytes(table[at..at + 8].try_into().unwrap());
    let footer = table.len() - 48;
    let (id, rows) = (number(table, footer), number(table, footer + 16) as usize);
    for row in (rows..footer).step_by(32) {
        let (start, length) = (
            number(table, row + 8) as usize,
            number(table, row + 16) as usize,
        );
        let crc = crc32c(&table[start..start + length]).wrapping_add(stamp(id, start as u64));
        table[row + 4..row + 8].copy_from_slice(&crc.to_le_bytes());
    }
    let crc = crc32c(&table[rows..footer]).wrapping_add(stamp(id, rows as u64));
    table[footer + 28..footer + 32].copy_from_slice(&crc.to_le_bytes());
    let crc = crc32c(&table[footer..footer + 36]);
    table[footer + 36..footer + 40].copy_from_slice(&crc.to_le_bytes());
}
