//! A second reader of what concerns value files: field 15 of a manifest, section 8 of a table, and the files, written
//! from docs/format.md alone.

use std::collections::BTreeMap;

use super::decode::{number, stamped, string, varint};

/// What a table uses of a value file: its number and length, the number of entries, and the bytes of their records; and
/// the number of groups, 0 without groups, and the group.
pub type Use = [u64; 6];

/// A table that a manifest names at its end.
#[derive(Debug, Default)]
pub struct NamedTable {
    pub keyspace: u64,
    /// From field 15; none from field 5.
    pub uses: Vec<Use>,
    pub hides: u64,
}

/// Value references: section 8 of a table, or a part of field 15.
pub fn uses(bytes: &mut &[u8]) -> Vec<Use> {
    let count = varint(bytes);
    (0..count)
        .map(|_| {
            let [file, len, entries, used, groups] = [(); 5].map(|()| varint(bytes));
            let group = if groups > 0 { varint(bytes) } else { 0 };
            [file, len, entries, used, groups, group]
        })
        .collect()
}

/// The tables that a manifest names, by number.
pub fn tables(manifest: &[u8], number_of_manifest: u64) -> BTreeMap<u64, NamedTable> {
    assert_eq!(manifest[..12], *b"rhumbMAN\x03\0\0\0");
    let (mut tables, mut at) = (BTreeMap::new(), 16);
    while at < manifest.len() {
        let (head, rest) = manifest[at..].split_at(16);
        let len = number(head, 4, 4) as usize;
        let sum = stamped(
            &manifest[at + 4..at + 16 + len],
            number_of_manifest,
            at as u64,
        );
        assert_eq!(number(head, 0, 4) as u32, sum);
        let mut edit = &rest[..len];
        while !edit.is_empty() {
            field(&mut edit, &mut tables);
        }
        at += 16 + len;
    }
    tables
}

fn field(edit: &mut &[u8], tables: &mut BTreeMap<u64, NamedTable>) {
    let tag = edit[0];
    *edit = &edit[1..];
    let mut varints = |count: usize| numbers(edit, count);
    match tag {
        1 | 2 | 4 | 9 | 11 | 12 | 14 => drop(varints(1)),
        7 | 8 => drop(varints(2)),
        6 => drop(tables.remove(&varints(3)[2]).unwrap()),
        3 | 13 => {
            varints(1);
            string(edit);
        }
        10 => {
            varints(2);
            string(edit);
        }
        5 | 15 => {
            let keyspace = varints(3)[0];
            let file = table(edit);
            let (uses, hides) = match tag {
                5 => (Vec::new(), 0),
                _ => (uses(edit), varint(edit)),
            };
            assert!(tag == 5 || !uses.is_empty() || hides > 0);
            let named = NamedTable {
                keyspace,
                uses,
                hides,
            };
            assert!(tables.insert(file, named).is_none());
        }
        other => panic!("tag {other}"),
    }
}

fn numbers(edit: &mut &[u8], count: usize) -> Vec<u64> {
    (0..count).map(|_| varint(edit)).collect()
}

/// Reads past a table; returns its number.
fn table(edit: &mut &[u8]) -> u64 {
    let file = varint(edit);
    numbers(edit, 2);
    *edit = &edit[8..];
    numbers(edit, 3);
    string(edit);
    string(edit);
    *edit = &edit[1..];
    numbers(edit, 3);
    string(edit);
    file
}

/// Whether a value file is a log under its second name; else its header is checked.
pub fn is_log(file: &[u8], number_of_file: u64) -> bool {
    if !file.starts_with(b"rhumbVAL") {
        assert_eq!(number(file, 16, 8), number_of_file);
        return true;
    }
    assert_eq!(
        (number(file, 8, 4), number(file, 12, 8)),
        (1, number_of_file)
    );
    assert_eq!(number(file, 20, 4) as u32, crc32c::crc32c(&file[..20]));
    false
}

/// The record at an offset of a value file: keyspace, key and value, and its length in bytes.
pub fn record(file: &[u8], number_of_file: u64, offset: u64) -> (u64, Vec<u8>, Vec<u8>, u64) {
    let start = &file[offset as usize..];
    assert_eq!(start[0], 1);
    let mut rest = &start[1..];
    let keyspace = varint(&mut rest);
    let (key, value) = (string(&mut rest).to_vec(), string(&mut rest).to_vec());
    let len = start.len() - rest.len();
    let sum = stamped(&start[..len], number_of_file, offset);
    assert_eq!(number(rest, 0, 4) as u32, sum);
    (keyspace, key, value, len as u64 + 4)
}

/// Checks that records follow each other up to the end of a value file that is no log; returns their number.
pub fn walk(file: &[u8], number_of_file: u64) -> u64 {
    let (mut at, mut count) = (24, 0);
    while at < file.len() as u64 {
        at += record(file, number_of_file, at).3;
        count += 1;
    }
    assert_eq!(at, file.len() as u64);
    count
}
