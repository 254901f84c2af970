//! The smallest and the largest keys and values.

use std::ops::Bound;

use rhumb::{Compression, Db, Error, Options, Partition, TableSpec};

const LONGEST: usize = 65_536;

fn options(partition: Partition, compression: Compression, index: &str) -> Options {
    Options {
        index: index.parse().unwrap(),
        table: TableSpec {
            partition,
            compression,
            ..TableSpec::default()
        },
        ..Options::in_memory()
    }
}

fn shapes() -> impl Iterator<Item = Options> {
    ["fp", "fp-raw", "plr:boundary=16"]
        .into_iter()
        .flat_map(|index| {
            [
                options(Partition::Bytes(4096), Compression::None, index),
                options(Partition::Entries(1), Compression::Lz4, index),
            ]
        })
}

/// Runs `check` on what `write` wrote: in the write buffer, after reopening, in tables, after
/// merging them, and after reopening for reading.
fn everywhere(options: &Options, write: impl Fn(&Db), check: impl Fn(&Db)) {
    let db = Db::open("store", options.clone()).unwrap();
    write(&db);
    check(&db);
    db.close().unwrap();
    let db = Db::open("store", options.clone()).unwrap();
    check(&db);
    db.flush().unwrap();
    check(&db);
    db.compact_range(None, None).unwrap();
    check(&db);
    db.close().unwrap();
    check(&Db::open_read_only("store", options.clone()).unwrap());
}

/// Mostly random bytes, so that LZ4 does not compress them.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut noise = Vec::with_capacity(bytes + 8);
    while noise.len() < bytes {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        noise.extend_from_slice(&(state >> 7).to_le_bytes());
    }
    noise.truncate(bytes);
    noise
}

#[test]
fn an_entry_of_64_mib_is_kept_among_small_ones() {
    let value = noise(64 << 20);
    for options in shapes().skip(4) {
        let write = |db: &Db| {
            db.put("large", &value).unwrap();
            db.put("a", "1").unwrap();
            db.put("z", "").unwrap();
        };
        everywhere(&options, write, |db| {
            assert!(db.get("large").unwrap().unwrap() == value);
            assert_eq!(db.get("a").unwrap().unwrap(), "1");
            assert_eq!(db.get("z").unwrap().unwrap(), "");
            let lengths = |e: rhumb::Result<(rhumb::Key, rhumb::Value)>| e.unwrap().1.len();
            let found: Vec<usize> = db.iter().unwrap().map(lengths).collect();
            assert_eq!(found, [1, 64 << 20, 0]);
            let found: Vec<usize> = db.iter().unwrap().rev().map(lengths).collect();
            assert_eq!(found, [0, 64 << 20, 1]);
        });
    }
}

#[test]
fn the_shortest_and_the_longest_keys_are_found_in_order() {
    let longest = |last: u8| {
        let mut key = vec![b'k'; LONGEST];
        key[LONGEST - 1] = last;
        key
    };
    let mut keys = vec![Vec::new(), vec![0], vec![b'k'], vec![0xff; LONGEST]];
    keys.extend((0..=255).step_by(5).map(longest));
    keys.push(vec![b'k'; LONGEST - 1]);
    keys.sort();
    for options in shapes() {
        let write = |db: &Db| {
            for (i, key) in keys.iter().enumerate() {
                db.put(key, i.to_string()).unwrap();
            }
        };
        everywhere(&options, write, |db| {
            for (i, key) in keys.iter().enumerate() {
                let found = db.get(key).unwrap();
                assert_eq!(found.unwrap(), i.to_string(), "key {i}");
                let after = (Bound::Excluded(key.as_slice()), Bound::Unbounded);
                assert_eq!(
                    db.range::<&[u8]>(after).unwrap().count(),
                    keys.len() - i - 1
                );
                assert_eq!(db.range(..=key.as_slice()).unwrap().rev().count(), i + 1);
            }
            assert!(db.get(longest(1)).unwrap().is_none());
            let found = db.iter().unwrap().map(|e| e.unwrap().0);
            assert!(found.eq(keys.iter().cloned()));
            let found = db.iter().unwrap().rev().map(|e| e.unwrap().0);
            assert!(found.eq(keys.iter().rev().cloned()));
        });
    }
}

#[test]
fn a_longer_key_is_refused_and_writes_nothing() {
    let db = Db::open("store", Options::in_memory()).unwrap();
    let key = vec![b'k'; LONGEST + 1];
    let refused = |result: rhumb::Result<()>| match result {
        Err(Error::InvalidArgument(why)) => assert!(why.contains("65537"), "{why}"),
        other => panic!("{other:?}"),
    };
    refused(db.put(&key, ""));
    refused(db.delete(&key));
    refused(db.delete_range(..&key[..]));
    refused(db.delete_range(&key[..]..));
    assert!(db.get(&key).unwrap().is_none());
    assert_eq!(db.range(key.as_slice()..).unwrap().count(), 0);
    assert_eq!(db.prefix(&key).unwrap().rev().count(), 0);
    assert_eq!(db.iter().unwrap().count(), 0);
}

#[test]
fn keys_of_0xff_bytes_end_the_order_and_have_prefixes() {
    let keys: Vec<Vec<u8>> = (0..40).map(|n| vec![0xff; n]).collect();
    for options in shapes() {
        let write = |db: &Db| {
            for key in &keys {
                db.put(key, [key.len() as u8]).unwrap();
                db.put([key.as_slice(), &[0xfe]].concat(), "below").unwrap();
            }
        };
        everywhere(&options, write, |db| {
            for (n, key) in keys.iter().enumerate() {
                assert_eq!(db.get(key).unwrap().unwrap(), [n as u8]);
                // The key itself and the longer ones, each with its neighbour.
                let expected = 2 * (keys.len() - n);
                assert_eq!(db.prefix(key).unwrap().count(), expected);
                assert_eq!(db.prefix(key).unwrap().rev().count(), expected);
                assert_eq!(db.range(key.as_slice()..).unwrap().count(), expected);
            }
            let last = db.iter().unwrap().next_back().unwrap().unwrap();
            assert_eq!(last.0, [&[0xff; 39][..], &[0xfe]].concat());
            assert_eq!(db.prefix([0xff; 41]).unwrap().count(), 0);
        });
    }
}

#[test]
fn a_range_delete_up_to_0xff_leaves_what_is_behind() {
    for options in shapes() {
        let write = |db: &Db| {
            for key in [
                &b"\xfe"[..],
                b"\xff",
                b"\xff\0",
                b"\xff\xff",
                b"\xff\xff\xff",
            ] {
                db.put(key, "1").unwrap();
            }
            db.delete_range(..&b"\xff\xff"[..]).unwrap();
        };
        everywhere(&options, write, |db| {
            let found: Vec<Vec<u8>> = db.iter().unwrap().map(|e| e.unwrap().0.to_vec()).collect();
            assert_eq!(found, [b"\xff\xff".to_vec(), b"\xff\xff\xff".to_vec()]);
        });
    }
}

/// Tables are cut by what their keys take in them, also within the first block.
#[test]
fn tables_of_long_keys_that_share_much_are_not_too_small() {
    let mut options = options(Partition::Bytes(4096), Compression::None, "fp");
    options.table.table_bytes = 256 << 10;
    let db = Db::open("store", options).unwrap();
    for n in 0..20_000 {
        let key = format!("{:x>980}{n:020}", "");
        db.put(key, "").unwrap();
    }
    db.compact_range(None, None).unwrap();
    let stats = db.stats().unwrap();
    let levels = || stats.keyspaces[0].levels.iter();
    let tables: u64 = levels().map(|l| l.tables).sum();
    let bytes: u64 = levels().map(|l| l.bytes).sum();
    assert!(
        tables <= bytes / (128 << 10) + 1,
        "{tables} of {bytes} bytes"
    );
}
