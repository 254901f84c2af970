//! What is read in one call while a cursor goes from block to block.

use super::*;
use crate::entry::{Cursor, MAX_SEQUENCE};
use crate::error::Error;
use crate::fs::OsFileSystem;
use crate::table::{OpenAs, TableCursor};

const ENTRIES: u64 = 30_000;
const CALL_BYTES: u64 = 256 << 10;

fn value(number: u64) -> Vec<u8> {
    vec![number as u8; 100]
}

/// Entries of about 900 blocks of 4 KiB.
fn model() -> Model {
    let entry = |n: u64| {
        let place = (n.to_be_bytes().to_vec(), std::cmp::Reverse(n + 1));
        (place, (EntryKind::Put, value(n)))
    };
    (0..ENTRIES).map(entry).collect()
}

fn table() -> TestTable {
    let model = model();
    let settings = settings("plr", "partition=bytes(4096)", &model);
    TestTable::new(&settings, &model, &RangeDeletes::default())
}

fn walk(cursor: &mut TableCursor, entries: u64) {
    for n in 0..entries {
        assert_eq!(
            (cursor.key().to_vec(), cursor.value_bytes().to_vec()),
            (n.to_be_bytes().to_vec(), value(n).to_vec())
        );
        cursor.next().unwrap();
    }
}

#[test]
fn a_walk_reads_more_and_more_at_once() {
    let table = table().open(32 << 20).unwrap();
    let (blocks, mut cursor) = (table.blocks(), table.cursor(true));
    cursor.seek_first().unwrap();
    let mut calls = vec![0];
    for n in 0..ENTRIES {
        assert_eq!(cursor.key(), n.to_be_bytes());
        let trace = &cursor.source.trace;
        if trace.reads as usize >= calls.len() {
            calls.push(trace.blocks_read);
        }
        cursor.next().unwrap();
    }
    let calls: Vec<u32> = calls.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(calls[..8], [1, 1, 2, 4, 8, 16, 32, calls[7]]);
    let mean = table.sections_offset / blocks;
    let most = (CALL_BYTES / mean) as u32;
    assert!(
        calls[7..calls.len() - 1]
            .iter()
            .all(|call| (most - 3..=most + 3).contains(call))
    );
    assert_eq!(calls.iter().sum::<u32>(), blocks as u32);

    let mut again = table.cursor(true);
    again.seek_first().unwrap();
    walk(&mut again, ENTRIES);
    assert_eq!(
        (again.source.trace.reads, again.source.trace.blocks_cached),
        (0, blocks as u32)
    );
}

#[test]
fn what_is_in_memory_is_not_read_again() {
    let table = table().open(32 << 20).unwrap();
    for n in (0..ENTRIES).step_by(1_000) {
        assert!(
            get(&table, &n.to_be_bytes(), MAX_SEQUENCE)
                .unwrap()
                .is_some()
        );
    }
    let mut cursor = table.cursor(true);
    cursor.seek_first().unwrap();
    walk(&mut cursor, ENTRIES);
    let trace = &cursor.source.trace;
    assert_eq!(u64::from(trace.blocks_cached), ENTRIES / 1_000);
    assert_eq!(
        u64::from(trace.blocks_cached + trace.blocks_read),
        table.blocks()
    );
}

/// The numbers of the blocks in memory.
fn kept(table: &TableReader) -> Vec<u64> {
    let all = 0..table.blocks();
    all.filter(|block| table.frame_slots.holds(*block))
        .collect()
}

#[test]
fn a_long_scan_leaves_in_memory_what_is_read_often() {
    // A quarter of the table.
    let table = table().open(1 << 20).unwrap();
    let scan = || {
        let mut cursor = table.cursor(true);
        cursor.seek_first().unwrap();
        walk(&mut cursor, ENTRIES);
        cursor.source.trace.blocks_cached
    };
    for n in (ENTRIES / 6..ENTRIES / 2).step_by(20) {
        let found = get(&table, &n.to_be_bytes(), MAX_SEQUENCE).unwrap();
        assert!(found.is_some());
    }
    let before = kept(&table);
    assert!(
        (230..=262).contains(&before.len()),
        "{} blocks",
        before.len()
    );
    scan();
    let after = kept(&table);
    let left = before.iter().filter(|block| after.contains(block)).count();
    assert!(
        2 * left >= before.len(),
        "{left} of {} blocks",
        before.len()
    );
    // What nothing but scans reads is in memory after some of them.
    let cached: Vec<u32> = (0..40).map(|_| scan()).collect();
    assert!(
        cached[30..].iter().all(|cached| *cached > 100),
        "{cached:?}"
    );
}

#[test]
fn a_seek_or_a_step_back_starts_anew() {
    let table = table().open(32 << 20).unwrap();
    let mut cursor = table.cursor(true);
    for start in [0, 10_000, 20_000u64] {
        cursor.seek(&start.to_be_bytes(), MAX_SEQUENCE).unwrap();
        let before = cursor.source.trace.blocks_read;
        (0..100).for_each(|_| cursor.next().unwrap());
        assert!(cursor.source.trace.blocks_read - before <= 5);
    }
    cursor.seek_last().unwrap();
    let before = cursor.source.trace.reads;
    (0..1_000).for_each(|_| cursor.prev().unwrap());
    assert!(cursor.source.trace.reads - before > 20);
}

#[test]
fn a_pass_reads_much_at_once_and_keeps_nothing() {
    let table = table().open(32 << 20).unwrap();
    let mut cursor = table.cursor(false);
    cursor.seek_first().unwrap();
    walk(&mut cursor, ENTRIES);
    let trace = &cursor.source.trace;
    assert_eq!(u64::from(trace.blocks_read), table.blocks());
    let calls = u64::from(trace.reads);
    assert!(
        calls <= table.sections_offset / (CALL_BYTES - 8_192) + 1,
        "{calls} calls"
    );
    assert!((0..table.blocks()).all(|block| table.frame_slots.get(block).is_none()));
}

/// Blocks of 64 KiB that take a hundredth of that in the file: one call reads many of them, and
/// only those in use are decompressed.
#[test]
fn what_is_compressed_well_is_read_much_at_once_and_nothing_in_vain() {
    let model: Model = (0..3_000u64)
        .map(|n| {
            let place = (n.to_be_bytes().to_vec(), std::cmp::Reverse(n + 1));
            (place, (EntryKind::Put, vec![n as u8; 8_000]))
        })
        .collect();
    let spec = "partition=bytes(65536),compression=lz4";
    let made = TestTable::new(
        &settings("plr", spec, &model),
        &model,
        &RangeDeletes::default(),
    );
    for (capacity, fill_cache) in [(0, false), (0, true), (64 << 20, true)] {
        let table = made.open(capacity).unwrap();
        assert!(table.sections_offset * 50 < 3_000 * 8_000);
        let mut cursor = table.cursor(fill_cache);
        cursor.seek_first().unwrap();
        let mut entries = 0;
        while cursor.valid() {
            entries += 1;
            cursor.next().unwrap();
        }
        assert_eq!(entries, 3_000);
        let trace = &cursor.source.trace;
        assert_eq!(u64::from(trace.blocks_read), table.blocks());
        assert_eq!(trace.bytes_read, table.sections_offset);
        assert!(u64::from(trace.reads) * 8 < table.blocks());
    }
}

#[test]
fn damage_ahead_is_told_by_those_who_come_to_it() {
    let made = table();
    let sound = made.open(0).unwrap();
    let (offset, _) = sound.directory.extent(20).unwrap();
    let entries = sound.directory.first_rank(20).unwrap();
    let mut bytes = made.bytes();
    bytes[offset as usize + 1_000] ^= 1;
    made.set_bytes(&bytes);
    for fill_cache in [false, true] {
        let table = made.open(32 << 20).unwrap();
        let mut cursor = table.cursor(fill_cache);
        cursor.seek_first().unwrap();
        walk(&mut cursor, entries - 1);
        let error = cursor.next().unwrap_err();
        assert!(
            matches!(error, Error::Corruption { offset: at, .. } if at == offset),
            "{error}"
        );
    }
}

#[test]
fn files_are_walked_through_the_page_cache_and_past_it() {
    let made = table();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("7.table");
    std::fs::write(&path, made.bytes()).unwrap();
    for access in [Access::Buffered, Access::Direct] {
        for fill_cache in [false, true] {
            let open_as = OpenAs {
                access,
                ..OpenAs::buffered(Arc::new(BlockCache::new(1 << 20).unwrap()))
            };
            let fs = OsFileSystem::new();
            let table = TableReader::open_any(&fs, &path, 7, open_as).map(Arc::new);
            let mut cursor = table.unwrap().cursor(fill_cache);
            cursor.seek_first().unwrap();
            walk(&mut cursor, ENTRIES);
            assert!(!cursor.valid());
        }
    }
}
