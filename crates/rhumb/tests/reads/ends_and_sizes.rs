//! The first and the last key, whether there is any, about how many, and deletes by prefix.

use rhumb::{Db, Error, Keyspace, KeyspaceStats, Options, WriteBatch};

fn open() -> Db {
    Db::open("store", Options::in_memory()).unwrap()
}

/// First and last key, as text, and whether `is_empty` and the values agree.
fn ends(keyspace: &Keyspace) -> Option<(String, String)> {
    let (first, last) = (keyspace.first().unwrap(), keyspace.last().unwrap());
    assert_eq!(keyspace.is_empty().unwrap(), first.is_none());
    assert_eq!(first.is_none(), last.is_none());
    let text = |(key, value): (rhumb::Key, rhumb::Value<'_>)| {
        let key = String::from_utf8(key.to_vec()).unwrap();
        assert_eq!(value, format!("value of {key}"));
        key
    };
    Some((text(first?), text(last?)))
}

fn put(keyspace: &Keyspace, key: &str) {
    keyspace.put(key, format!("value of {key}")).unwrap();
}

fn pair(first: &str, last: &str) -> Option<(String, String)> {
    Some((first.to_string(), last.to_string()))
}

/// The same in the write buffer, in tables of level 0 and in merged ones.
#[test]
fn ends_are_found_behind_deletes_of_all_kinds() {
    for stage in 0..3 {
        let db = open();
        let settle = || match stage {
            0 => {}
            1 => db.flush().unwrap(),
            _ => db.compact_range(None, None).unwrap(),
        };
        assert_eq!(ends(&db), None);
        settle();
        assert_eq!(ends(&db), None);
        for n in 0..500 {
            put(&db, &format!("{n:03}"));
        }
        settle();
        assert_eq!(ends(&db), pair("000", "499"));
        let before = db.snapshot();
        for key in ["000", "001", "499"] {
            db.delete(key).unwrap();
        }
        settle();
        assert_eq!(ends(&db), pair("002", "498"));
        db.delete_range(.."100").unwrap();
        db.delete_prefix("4").unwrap();
        settle();
        assert_eq!(ends(&db), pair("100", "399"));
        put(&db, "450");
        put(&db, "050");
        settle();
        assert_eq!(ends(&db), pair("050", "450"));
        db.clear().unwrap();
        settle();
        assert_eq!(ends(&db), None);
        let (first, last) = (before.first(&db).unwrap(), before.last(&db).unwrap());
        assert_eq!(first.unwrap().0, "000");
        assert_eq!(last.unwrap().0, "499");
        assert!(!before.is_empty(&db).unwrap());
        drop(before);
        put(&db, "200");
        settle();
        assert_eq!(ends(&db), pair("200", "200"));
    }
}

#[test]
fn prefixes_without_an_end_reach_the_largest_key() {
    let largest = vec![0xFF; 65_536];
    for prefix in [&[][..], &[0xFF], &[0xFF, 0xFF], &largest] {
        let db = open();
        let keys = [
            &[][..],
            b"a",
            &[0xFE, 0xFF],
            &[0xFF],
            &[0xFF, 0xFF, 1],
            &largest[1..],
            &largest,
        ];
        for key in keys {
            db.put(key, "1").unwrap();
        }
        db.flush().unwrap();
        db.delete_prefix(prefix).unwrap();
        let left: Vec<&[u8]> = keys
            .into_iter()
            .filter(|k| !k.starts_with(prefix))
            .collect();
        let check = |db: &Db| {
            let found = db.iter().unwrap().map(|e| e.unwrap().0.to_vec());
            assert!(
                found.eq(left.iter().map(|k| k.to_vec())),
                "{}",
                prefix.len()
            );
            let got = |key: &&[u8]| db.get(key).unwrap().is_some();
            assert_eq!(keys.iter().filter(|k| got(k)).count(), left.len());
        };
        check(&db);
        db.flush().unwrap();
        check(&db);
        db.compact_range(None, None).unwrap();
        check(&db);
        let levels = &db.stats().unwrap().keyspaces[0].levels;
        assert_eq!(
            levels.iter().map(|l| l.entries).sum::<u64>(),
            left.len() as u64
        );
    }
    let db = open();
    let too_long = db.delete_prefix(vec![0; 65_537]).unwrap_err();
    assert!(matches!(too_long, Error::InvalidArgument(_)), "{too_long}");
}

#[test]
fn prefixes_go_with_a_batch() {
    let db = open();
    let other = db.create_keyspace("other").unwrap();
    for key in ["a1", "a2", "b1"] {
        put(&db, key);
        put(&other, key);
    }
    let mut batch = WriteBatch::new();
    batch.delete_prefix(&db, "a").unwrap();
    batch.delete_prefix(&other, "b").unwrap();
    batch.put(&db, "a3", "value of a3").unwrap();
    assert_eq!(batch.len(), 3);
    db.write(batch).unwrap();
    assert_eq!(ends(&db), pair("a3", "b1"));
    assert_eq!(ends(&other), pair("a1", "a2"));
}

#[test]
fn the_estimate_is_never_too_small_and_exact_once_merged() {
    let db = open();
    let estimate = || db.approximate_len().unwrap();
    assert_eq!((estimate(), db.disk_space().unwrap()), (0, 0));
    for n in 0..1000u64 {
        db.put(n.to_be_bytes(), "value").unwrap();
    }
    assert_eq!(estimate(), 1000);
    db.flush().unwrap();
    assert_eq!(estimate(), 1000);
    let once = db.disk_space().unwrap();
    assert!(once > 1000);
    // Older values count, and deletes until they are in a table.
    for n in 0..100u64 {
        db.put(n.to_be_bytes(), "again").unwrap();
        db.delete((n + 500).to_be_bytes()).unwrap();
    }
    assert_eq!(estimate(), 1200);
    db.flush().unwrap();
    assert_eq!(estimate(), 1100);
    assert!(db.disk_space().unwrap() > once);
    db.delete_range(0u64.to_be_bytes()..50u64.to_be_bytes())
        .unwrap();
    assert_eq!(estimate(), 1100);
    db.compact_range(None, None).unwrap();
    assert_eq!(estimate(), db.iter().unwrap().count() as u64);
    assert_eq!(estimate(), 850);
    let keyspace = db.create_keyspace("dropped").unwrap();
    db.drop_keyspace("dropped").unwrap();
    for error in [
        keyspace.approximate_len().unwrap_err(),
        keyspace.disk_space().unwrap_err(),
        keyspace.first().map(|_| ()).unwrap_err(),
        keyspace.is_empty().unwrap_err(),
        keyspace.clear().unwrap_err(),
    ] {
        assert!(matches!(error, Error::NoSuchKeyspace(_)), "{error}");
    }
}

fn stats(db: &Db) -> KeyspaceStats {
    db.stats().unwrap().keyspaces.swap_remove(0)
}

/// The delete of the largest key, which is part of `clear`, must not enter the key maps: no prefix would
/// be shared then, and no keys would all have 8 bytes.
#[test]
fn tables_after_clear_are_as_in_a_fresh_keyspace() {
    type Shape = (&'static str, fn(u64) -> Vec<u8>);
    let shapes: [Shape; 3] = [
        ("8 bytes", |n| (n * n * 1_000_003).to_be_bytes().to_vec()),
        ("long prefix", |n| format!("{:0>90}", n * 17).into_bytes()),
        ("below 0xFF", |n| {
            let mut key = vec![u8::MAX; 20];
            key.extend((n * 13).to_be_bytes());
            key
        }),
    ];
    for (name, key) in shapes {
        let load = |db: &Db| {
            for n in 0..3000 {
                db.put(key(n), b"value").unwrap();
            }
            db.flush().unwrap();
        };
        let fresh = open();
        load(&fresh);
        let flushed = stats(&fresh);
        fresh.compact_range(None, None).unwrap();
        let merged = stats(&fresh);
        assert_eq!((flushed.fallbacks, merged.fallbacks), (0, 0), "{name}");

        for clear_alone in [false, true] {
            for prefix in [&b""[..], b"\xFF"] {
                let db = open();
                db.put(key(1), "old").unwrap();
                db.delete_prefix(prefix).unwrap();
                if clear_alone {
                    db.flush().unwrap();
                }
                load(&db);
                let now = stats(&db);
                let case = format!("{name}, prefix {prefix:?}, clear flushed alone: {clear_alone}");
                assert_eq!(now.fallbacks, 0, "{case}");
                if !clear_alone {
                    assert_eq!(now.index_kinds, flushed.index_kinds, "{case}");
                    assert_eq!(now.key_map_bytes, flushed.key_map_bytes, "{case}");
                }
                db.compact_range(None, None).unwrap();
                let now = stats(&db);
                assert_eq!(now.fallbacks, 0, "{case}");
                assert_eq!(now.index_kinds, merged.index_kinds, "{case}");
                // Of maps that number alike, the first is kept, which may be smaller.
                assert!(now.key_map_bytes <= merged.key_map_bytes, "{case}");
                assert_eq!(now.index_bytes, merged.index_bytes, "{case}");
                assert_eq!(db.iter().unwrap().count(), 3000, "{case}");
            }
        }
    }
}
