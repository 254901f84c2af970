//! What a scan reads: nothing beyond its bounds, and nothing twice.

use std::fs;
use std::path::{Path, PathBuf};

use rhumb::{Db, Durability, Error, Iter, Key, Options, Partition, TableSpec, Value};

fn key(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

/// Options for a store on a disk, whose writes are not synced one by one.
fn on_disk() -> Options {
    Options {
        durability: Durability::Buffered,
        ..Options::default()
    }
}

fn tables(dir: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(dir).unwrap().map(|f| f.unwrap().path());
    let mut tables: Vec<PathBuf> = files
        .filter(|f| f.extension().is_some_and(|e| e == "table"))
        .collect();
    tables.sort();
    tables
}

#[test]
fn a_scan_ends_at_its_bounds_though_all_behind_them_is_deleted() {
    let db = Db::open("store", Options::in_memory()).unwrap();
    let behind = |n: u32| [b"k".as_slice(), &key(n)].concat();
    for n in 0..80_000 {
        db.put(behind(n), [7; 100]).unwrap();
        db.delete(behind(n)).unwrap();
    }
    db.flush().unwrap();
    db.settle();
    let before = db.stats().unwrap().cache_bytes;
    for (from, to) in [("j", "k"), ("l", "m"), ("j", "k\0\0\0\x05")] {
        assert!(db.range(from..to).unwrap().next().is_none());
        assert!(db.range(from..to).unwrap().next_back().is_none());
    }
    let read = db.stats().unwrap().cache_bytes - before;
    assert!(
        read < 16 << 10,
        "the scan read {read} bytes, more than a few blocks"
    );
    assert!(db.iter().unwrap().next().is_none());
    let read = db.stats().unwrap().cache_bytes - before;
    assert!(
        read > 100_000,
        "only {read} bytes were counted for all blocks"
    );
}

/// The number of an entry that was returned; checks its value.
fn taken((found, value): &(Key, Value<'_>)) -> u32 {
    let n = u32::from_be_bytes(found[..].try_into().unwrap());
    assert_eq!(*value, format!("v{n}"));
    n
}

/// The number of the next entry that [`Iter::advance`] lends; checks its value.
fn lent(iter: &mut Iter<'_>) -> Option<u32> {
    iter.advance().unwrap().then(|| {
        let n = u32::from_be_bytes(iter.key().try_into().unwrap());
        assert_eq!(iter.value(), format!("v{n}").as_bytes());
        n
    })
}

#[test]
fn both_ends_of_a_scan_meet_within_any_bounds() {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let db = Db::open("store", Options::in_memory()).unwrap();
    for n in 0..40u32 {
        db.put(key(n), format!("v{n}")).unwrap();
        if n % 3 == 0 {
            db.delete(key(n)).unwrap();
        }
        if n == 20 {
            db.flush().unwrap();
        }
    }
    db.delete_range(key(30)..key(33)).unwrap();
    let alive = |n: &u32| !n.is_multiple_of(3) && !(30..33).contains(n);
    let bounds = |n: u32| [Unbounded, Included(key(n)), Excluded(key(n))];
    for (a, b) in [
        (0, 39),
        (1, 38),
        (7, 7),
        (12, 13),
        (29, 34),
        (39, 60),
        (9, 3),
    ] {
        for (from, to) in bounds(a)
            .into_iter()
            .flat_map(|from| bounds(b).map(|to| (from, to)))
        {
            let inside = |n: &u32| {
                let after = match from {
                    Unbounded => true,
                    Included(_) => *n >= a,
                    Excluded(_) => *n > a,
                };
                let before = match to {
                    Unbounded => true,
                    Included(_) => *n <= b,
                    Excluded(_) => *n < b,
                };
                after && before
            };
            let expected: Vec<u32> = (0..40).filter(alive).filter(inside).collect();
            for pattern in 0..32u32 {
                let mut iter = db.range((from, to)).unwrap();
                let (mut front, mut back) = (Vec::new(), Vec::new());
                for turn in 0.. {
                    let at_front = pattern >> (turn % 3) & 1 == 0;
                    let next = match pattern >> (3 + turn % 2) & 1 == 0 {
                        true if at_front => iter.next().map(|entry| taken(&entry.unwrap())),
                        false if at_front => lent(&mut iter),
                        _ => iter.next_back().map(|entry| taken(&entry.unwrap())),
                    };
                    let Some(n) = next else { break };
                    if at_front { &mut front } else { &mut back }.push(n);
                    let last = front.last().map_or(vec![], |n| key(*n).to_vec());
                    assert_eq!(
                        iter.key(),
                        last,
                        "the key must not change while the other end moves"
                    );
                }
                assert!(iter.next().is_none() && iter.next_back().is_none());
                assert!(!iter.advance().unwrap());
                assert_eq!((iter.key(), iter.value()), (&[][..], &[][..]));
                front.extend(back.into_iter().rev());
                assert_eq!(front, expected, "{from:?} {to:?} {pattern}");
            }
        }
    }
}

#[test]
fn a_walk_pins_the_block_that_it_stands_in_and_no_other() {
    let table = TableSpec {
        partition: Partition::Entries(10),
        ..TableSpec::default()
    };
    let options = Options {
        table,
        index: "fp".parse().unwrap(),
        ..Options::in_memory()
    };
    let db = Db::open("store", options).unwrap();
    (0..1_000).for_each(|n| db.put(key(n), [7; 50]).unwrap());
    db.flush().unwrap();
    db.settle();
    let pinned = || db.stats().unwrap().cache.pinned_blocks;
    for n in 0..990 {
        // The search for a key after the last one of a block looks into the wrong block first.
        let from = [key(n).as_slice(), &[0]].concat();
        let mut iter = db.range(from..).unwrap();
        let mut values = Vec::new();
        for _ in 0..3 {
            assert!(iter.advance().unwrap());
            assert_eq!(pinned(), 1, "from after {n}");
        }
        values.extend(iter.next().map(|entry| entry.unwrap().1));
        drop(iter);
        assert_eq!(pinned(), 1, "by a value");
        drop(values);
        assert_eq!(pinned(), 0);
    }
}

#[test]
fn a_scan_opens_no_table_outside_its_bounds() {
    let dir = tempfile::tempdir().unwrap();
    let options = on_disk();
    let db = Db::open(dir.path(), options.clone()).unwrap();
    let fill = |from: u32| {
        for n in from..from + 100 {
            db.put(key(n), "v").unwrap();
        }
        db.delete_range(key(from + 10)..key(from + 20)).unwrap();
        db.flush().unwrap();
    };
    fill(1000);
    let kept = tables(dir.path());
    fill(0);
    fill(2000);
    db.close().unwrap();
    let others: Vec<PathBuf> = tables(dir.path())
        .into_iter()
        .filter(|t| !kept.contains(t))
        .collect();
    assert_eq!((kept.len(), others.len()), (1, 2));
    let db = Db::open_read_only(dir.path(), options).unwrap();
    for table in others {
        fs::remove_file(table).unwrap();
    }
    let range = || db.range(key(1000)..key(1100)).unwrap();
    assert_eq!(range().filter(|e| e.is_ok()).count(), 90);
    assert_eq!(range().rev().filter(|e| e.is_ok()).count(), 90);
    assert!(
        db.iter().unwrap().any(|e| e.is_err()),
        "the other tables are missing"
    );
}

#[test]
fn a_snapshot_is_of_one_store_only() {
    let one = Db::open("one", Options::in_memory()).unwrap();
    let other = Db::open("other", Options::in_memory()).unwrap();
    other.put("key", "value").unwrap();
    let snapshot = one.snapshot();
    let refused = |error: Option<Error>| {
        let error = error.expect("refused");
        assert!(matches!(&error, Error::InvalidArgument(_)), "{error}");
    };
    refused(snapshot.get(&other, "key").err());
    refused(snapshot.iter(&other).err());
    refused(snapshot.range(&other, "a".."z").err());
    refused(snapshot.prefix(&other, "k").err());
    let second = one.create_keyspace("second").unwrap();
    assert!(snapshot.get(&second, "key").unwrap().is_none());
}

/// Writes twelve versions of `k1`, one of `k2` and twelve of `k3` into a table; returns its path.
fn write_versions(dir: &Path, table: TableSpec) -> PathBuf {
    let options = Options { table, ..on_disk() };
    let db = Db::open(dir, options).unwrap();
    let mut snapshots = Vec::new();
    for (key, versions) in [("k1", 12), ("k2", 1), ("k3", 12)] {
        for version in 0..versions {
            db.put(key, format!("{version:02}")).unwrap();
            snapshots.push(db.snapshot());
        }
    }
    db.flush().unwrap();
    drop(snapshots);
    db.close().unwrap();
    tables(dir).pop().unwrap()
}

/// Applies `change` to the last block, and makes its checksum match again.
fn change_last_block(table: &Path, change: impl FnOnce(&mut [u8])) {
    let mut bytes = fs::read(table).unwrap();
    let footer = bytes.len() - 48;
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let (id, end) = (number(footer), number(footer + 8) as usize);
    // Checksum and stamp as in docs/format.md.
    let sum = |bytes: &[u8], offset: usize| {
        let mixed = id ^ (offset as u64).rotate_left(32) ^ offset as u64;
        let stamp = (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32;
        crc32c::crc32c(&bytes[offset + 4..end])
            .wrapping_add(stamp)
            .to_le_bytes()
    };
    let block = (0..end - 4).rfind(|&at| bytes[at..at + 4] == sum(&bytes, at));
    let block = block.expect("a block that ends there");
    change(&mut bytes[block..end]);
    let sum = sum(&bytes, block);
    bytes[block..block + 4].copy_from_slice(&sum);
    fs::write(table, bytes).unwrap();
}

#[test]
fn an_unsorted_block_ends_a_scan_with_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let table = write_versions(dir.path(), TableSpec::default());
    change_last_block(&table, |block| {
        let last_bytes = [vec![b'1'; 12], vec![b'2'], vec![b'3'; 12]].concat();
        let at = block.windows(25).position(|w| w == last_bytes);
        let at = at.expect("the last bytes of the keys in a row");
        block[at + 13..at + 25].fill(b'1');
    });
    let db = Db::open_read_only(dir.path(), on_disk()).unwrap();
    let found: Vec<_> = db.iter().unwrap().take(100).collect();
    assert!(
        matches!(&found[..], [Err(Error::Corruption { path, .. })] if *path == table),
        "{found:?}"
    );
    assert!(db.iter().unwrap().next_back().unwrap().is_err());
    assert!(db.get("k1").is_err());
}

/// Each block is sorted, but the second one starts below the end of the first.
#[test]
fn blocks_out_of_order_end_a_scan_with_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let spec = TableSpec {
        partition: Partition::Entries(13),
        ..TableSpec::default()
    };
    let table = write_versions(dir.path(), spec);
    change_last_block(&table, |block| {
        let at = block.windows(2).position(|w| w == b"k3");
        let at = at.expect("the prefix of all its keys");
        assert!(block.windows(2).all(|w| w != b"k1"), "the second block");
        block[at + 1] = b'1';
    });
    let db = Db::open_read_only(dir.path(), on_disk()).unwrap();
    let found: Vec<_> = db.iter().unwrap().take(100).collect();
    let last = found.last();
    assert!(
        matches!(last, Some(Err(Error::Corruption { path, .. })) if *path == table),
        "{found:?}"
    );
    // It ends at the first key that is met twice: at most one key is out of order.
    let keys: Vec<_> = found.iter().flatten().map(|(key, _)| key).collect();
    let ascending = keys.windows(2).take_while(|pair| pair[0] < pair[1]).count();
    assert!(keys.len() <= ascending + 2, "{found:?}");
    assert!(db.iter().unwrap().rev().take(100).count() < 5);
}
