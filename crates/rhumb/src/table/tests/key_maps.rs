//! A table has a key map only if its index needs numbers.

use super::*;
use crate::entry::MAX_SEQUENCE;
use crate::entry::checksum::crc;
use crate::error::Error;
use crate::table::form::footer::{self, FOOTER_BYTES, SectionKind, Sections};

fn model() -> Model {
    let entry = |n: u64| {
        let key = format!("user{:09}", n * n).into_bytes();
        let place = (key, std::cmp::Reverse(n + 1));
        (place, (EntryKind::Put, vec![n as u8; 30]))
    };
    (0..2_000).map(entry).collect()
}

fn built(index: &str) -> TestTable {
    let model = model();
    let settings = settings(index, "partition=bytes(4096)", &model);
    TestTable::new(&settings, &model, &RangeDeletes::default())
}

fn version(bytes: &[u8]) -> u8 {
    bytes[bytes.len() - FOOTER_BYTES + 32]
}

/// The table with the sections that `change` leaves.
fn with_sections(test: &TestTable, change: impl FnOnce(&mut Vec<(SectionKind, Vec<u8>)>)) {
    let (bytes, start) = (test.bytes(), test.summary.sections_offset);
    let (blocks, tail) = bytes.split_at(start as usize);
    let sections = Sections::decode(tail, start).unwrap();
    let known = [
        SectionKind::Directory,
        SectionKind::Index,
        SectionKind::Filter,
        SectionKind::KeyMap,
        SectionKind::Properties,
        SectionKind::FenceKeys,
    ];
    let some = known.map(|kind| Some((kind, sections.get(kind)?.1.to_vec())));
    let mut some: Vec<_> = some.into_iter().flatten().collect();
    change(&mut some);
    let mut bytes = blocks.to_vec();
    footer::encode(&some, test.summary.table_id, start, &mut bytes);
    test.set_bytes(&bytes);
}

fn check_gets(table: &TableReader) {
    let model = model();
    for (key, _) in model.keys() {
        let answer = get(table, key, MAX_SEQUENCE).unwrap();
        assert_eq!(answer, expected(&model, key, MAX_SEQUENCE));
    }
}

#[test]
fn kinds_that_need_no_number_store_and_count_none() {
    let mut without = 0;
    for index in KINDS {
        let test = built(index);
        let table = test.open(0).unwrap();
        let needed = table.own().unwrap().index.needs_number();
        without += u32::from(!needed);
        assert_eq!(table.key_map().unwrap().is_some(), needed, "{index}");
        assert_eq!(table.memory().key_map > 0, needed, "{index}");
        assert_eq!(version(&test.bytes()), 2 - u8::from(needed), "{index}");
        table.verify(&mut |_, _| {}).unwrap();
        check_gets(&table);
    }
    assert!(without >= 2, "{without}");
}

#[test]
fn fence_pointers_with_a_key_map_are_read_as_before() {
    let test = built("fp");
    let map = settings("fp", "", &model()).map.to_bytes();
    let shorter = test.bytes().len();
    with_sections(&test, |sections| {
        sections.insert(3, (SectionKind::KeyMap, map.clone()));
    });
    let bytes = test.bytes();
    assert_eq!(
        (version(&bytes), bytes.len()),
        (1, shorter + map.len() + 32)
    );
    let table = test.open_any().unwrap();
    assert_eq!(table.memory().key_map, 0);
    table.verify(&mut |_, _| {}).unwrap();
    check_gets(&table);
}

#[test]
fn a_key_map_that_is_missing_is_damage() {
    let test = built("plr");
    with_sections(&test, |sections| {
        sections.retain(|(kind, _)| *kind != SectionKind::KeyMap);
    });
    assert_eq!(version(&test.bytes()), 2);
    let error = test.open_any().unwrap_err();
    assert!(matches!(error, Error::Corruption { .. }), "{error}");
    assert!(
        error.to_string().contains("an index of kind plr"),
        "{error}"
    );

    // Tables of version 1 have a key map whatever their index.
    let test = built("fp");
    let mut bytes = test.bytes();
    let footer = bytes.len() - FOOTER_BYTES;
    bytes[footer + 32] = 1;
    let sum = crc(&bytes[footer..footer + 36]);
    bytes[footer + 36..footer + 40].copy_from_slice(&sum.to_le_bytes());
    test.set_bytes(&bytes);
    let error = test.open_any().unwrap_err().to_string();
    assert!(error.contains("a section with the key map"), "{error}");
}

#[test]
fn fence_keys_without_their_section_are_refused() {
    let test = built("fp");
    with_sections(&test, |sections| {
        sections.retain(|(kind, _)| *kind != SectionKind::FenceKeys);
    });
    let table = test.open_any().unwrap();
    let error = table.verify(&mut |_, _| {}).unwrap_err().to_string();
    assert!(
        error.contains("no fence keys in a table without the section"),
        "{error}"
    );
}
