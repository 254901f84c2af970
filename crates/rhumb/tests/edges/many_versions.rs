//! One key with a hundred thousand versions.

use rhumb::{Db, Durability, Iter, Options, Partition, Snapshot, TableSpec, WriteBatch};

const VERSIONS: u32 = 100_000;
/// The number of versions between two snapshots.
const STEP: u32 = 1_000;

fn put_buffered(db: &Db, key: &str, value: u32) {
    let mut batch = WriteBatch::new();
    batch.put(db, key, value.to_be_bytes()).unwrap();
    db.write_with(batch, Durability::Buffered).unwrap();
}

fn entries(iter: Iter<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
    iter.map(|e| e.map(|(k, v)| (k.to_vec(), v.to_vec())).unwrap())
        .collect()
}

/// Checks that a snapshot sees this version of the key, between its two neighbours, from either
/// end.
fn sees(db: &Db, snapshot: &Snapshot, version: u32) {
    let found = snapshot.get(db, "key").unwrap();
    assert_eq!(found.unwrap(), version.to_be_bytes(), "get of {version}");
    let pair = |key: &str, value: u32| (key.as_bytes().to_vec(), value.to_be_bytes().to_vec());
    let mut expected = vec![pair("a", 1), pair("key", version), pair("z", 2)];
    assert_eq!(entries(snapshot.iter(db).unwrap()), expected);
    let last_two = entries(snapshot.range(db, "b"..).unwrap());
    assert_eq!(last_two, expected[1..]);
    let mut ends = snapshot.iter(db).unwrap();
    let back = ends.next_back().unwrap().unwrap();
    assert_eq!((back.0.to_vec(), back.1.to_vec()), expected[2]);
    let front = ends.next().unwrap().unwrap();
    assert_eq!((front.0.to_vec(), front.1.to_vec()), expected[0]);
    let middle = ends.next_back().unwrap().unwrap();
    assert_eq!((middle.0.to_vec(), middle.1.to_vec()), expected[1]);
    assert!(ends.next().is_none() && ends.next_back().is_none());
    let mut from_back = snapshot.iter(db).unwrap().rev();
    expected.reverse();
    for expected in expected {
        let (key, value) = from_back.next().unwrap().unwrap();
        assert_eq!((key.to_vec(), value.to_vec()), expected);
    }
    assert!(from_back.next().is_none());
}

fn options(write_buffer_bytes: u64) -> Options {
    Options {
        write_buffer_bytes,
        table: TableSpec {
            partition: Partition::Bytes(1024),
            table_bytes: 64 << 10,
            ..TableSpec::default()
        },
        ..Options::in_memory()
    }
}

fn begin(db: &Db) {
    put_buffered(db, "a", 1);
    put_buffered(db, "z", 2);
}

#[test]
fn a_hundred_snapshots_each_see_their_version() {
    for write_buffer_bytes in [64 << 20, 64 << 10] {
        let db = Db::open("store", options(write_buffer_bytes)).unwrap();
        begin(&db);
        let mut snapshots = Vec::new();
        for version in 0..VERSIONS {
            put_buffered(&db, "key", version);
            if version % STEP == STEP - 1 {
                snapshots.push((db.snapshot(), version));
            }
        }
        let check = || snapshots.iter().for_each(|(s, v)| sees(&db, s, *v));
        check();
        db.flush().unwrap();
        check();
        db.compact_range(None, None).unwrap();
        check();
        let kept = db.stats().unwrap().keyspaces[0].entries;
        assert!((102..=103).contains(&kept), "{kept} entries are kept");
        drop(snapshots);
        put_buffered(&db, "key", 7);
        db.compact_range(None, None).unwrap();
        assert_eq!(db.stats().unwrap().keyspaces[0].entries, 3);
    }
}

#[test]
fn a_hundred_thousand_snapshots_keep_every_version_over_many_blocks() {
    let db = Db::open("store", options(1 << 20)).unwrap();
    begin(&db);
    let mut snapshots = Vec::new();
    for version in 0..VERSIONS {
        put_buffered(&db, "key", version);
        snapshots.push(db.snapshot());
    }
    db.compact_range(None, None).unwrap();
    let stats = db.stats().unwrap();
    assert_eq!(stats.keyspaces[0].entries, u64::from(VERSIONS) + 2);
    for (version, snapshot) in (0u32..).zip(&snapshots) {
        let found = snapshot.get(&db, "key").unwrap();
        assert_eq!(found.unwrap(), version.to_be_bytes());
        if version % 997 == 0 {
            sees(&db, snapshot, version);
        }
    }
}
