//! Ingested tables are as old after a repair as the manifest says, although nothing in them says so.

#[allow(dead_code, reason = "this test uses a part of it")]
use std::path::Path;

use crate::golden::{Content, copy_in_memory, decode, files, options, read_all};
use rhumb::fs::{FileSystem, MemoryFileSystem};
use rhumb::{Db, inspect};

/// A stored store with ingested tables of all forms, above and below others.
const FORMAT: &str = "2-ingested";

/// The section that says that the manifest gives the sequence.
const GIVEN: u64 = 7;

fn read(disk: &MemoryFileSystem) -> Content {
    let db = Db::open_read_only("store", options(disk)).unwrap();
    read_all(&db).unwrap()
}

/// Repairs the store, checks that it is sound then, and returns what it holds, before and after merges.
fn repaired(disk: &MemoryFileSystem) -> (inspect::RepairReport, Content) {
    let report = inspect::repair(Path::new("store"), &options(disk), &mut |_| {}).unwrap();
    let sound = inspect::verify(Path::new("store"), &options(disk), &mut |_| {}).unwrap();
    assert!(sound.damage.is_empty(), "{:?}", sound.damage);
    let db = Db::open("store", options(disk)).unwrap();
    let content = read_all(&db).unwrap();
    for name in content.keys() {
        let keyspace = db.keyspace(name).unwrap();
        keyspace.compact_range(None, None).unwrap();
        keyspace.put("new", "1").unwrap();
        keyspace.delete("new").unwrap();
    }
    assert_eq!(read_all(&db).unwrap(), content);
    (report, content)
}

fn flip(disk: &MemoryFileSystem, name: &str, at: usize) {
    let path = Path::new("store").join(name);
    let mut bytes = disk.bytes(&path).unwrap();
    bytes[at] ^= 1;
    disk.remove(&path).unwrap();
    disk.create(&path).unwrap().write(&bytes).unwrap();
}

#[test]
fn a_damaged_block_of_an_ingested_table_costs_only_its_own_entries() {
    let before = read(&copy_in_memory(FORMAT));
    let mut rewritten = 0;
    for (name, bytes) in files(&copy_in_memory(FORMAT)) {
        if !name.ends_with(".table") || !decode::table(&bytes).sections.contains_key(&GIVEN) {
            continue;
        }
        let first = decode::table(&bytes).blocks[0].entries.len();
        let disk = copy_in_memory(FORMAT);
        flip(&disk, &name, 20);
        let (report, after) = repaired(&disk);
        assert_eq!(report.lost.len(), 1, "{name}: {report:?}");
        rewritten += report.tables_rewritten;
        let mut changed = 0;
        for (keyspace, entries) in &before {
            let found = &after[keyspace];
            let other = |(key, value): &(&Vec<u8>, &Vec<u8>)| found.get(*key) != Some(*value);
            changed += entries.iter().filter(other).count();
            changed += found
                .keys()
                .filter(|key| !entries.contains_key(*key))
                .count();
        }
        // Some have newer versions elsewhere.
        assert!(changed <= first, "{name}: {changed} of {first}");
    }
    assert!(rewritten >= 3, "{rewritten} tables had more than one block");
}

#[test]
fn damage_behind_the_blocks_of_an_ingested_table_costs_nothing() {
    let before = read(&copy_in_memory(FORMAT));
    let mut saved = 0;
    for (name, bytes) in files(&copy_in_memory(FORMAT)) {
        if !name.ends_with(".table") || !decode::table(&bytes).sections.contains_key(&GIVEN) {
            continue;
        }
        // The properties, which end where the rows begin: the section that says so is empty.
        let footer = bytes.len() - 48;
        let rows = u64::from_le_bytes(bytes[footer + 16..footer + 24].try_into().unwrap());
        let disk = copy_in_memory(FORMAT);
        flip(&disk, &name, rows as usize - 2);
        let (report, after) = repaired(&disk);
        assert_eq!(report.tables_rewritten, 1, "{name}: {report:?}");
        assert_eq!(after, before, "{name}");
        saved += 1;
    }
    assert!(saved > 4);
}

#[test]
fn without_current_ingested_tables_are_as_old_as_before() {
    let disk = copy_in_memory(FORMAT);
    let before = read(&disk);
    disk.remove("store/CURRENT".as_ref()).unwrap();
    let (report, after) = repaired(&disk);
    assert!(report.lost.is_empty(), "{report:?}");
    assert_eq!(after, before);
}
