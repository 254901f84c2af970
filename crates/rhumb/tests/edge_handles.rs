//! What outlives what, and whose batch is whose.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is test code"
)]

use std::time::Duration;

use rhumb::{Db, Error, Levels, Options, Partition, TableSpec, WriteBatch};

#[test]
fn a_batch_of_another_store_is_refused() {
    let first = Db::open("store", Options::in_memory()).unwrap();
    let second = Db::open("store", Options::in_memory()).unwrap();
    let mut batch = WriteBatch::new();
    batch.put(&first, "a", "1").unwrap();
    let refused = |result: rhumb::Result<()>| match result {
        Err(Error::InvalidArgument(why)) => assert!(why.contains("store"), "{why}"),
        other => panic!("{other:?}"),
    };
    refused(second.write(batch.clone()));
    refused(batch.put(&second, "b", "2"));
    refused(batch.delete(&second, "b"));
    refused(batch.delete_range(&second, "b", "c"));
    assert_eq!(batch.len(), 1, "what was refused is not in the batch");
    first.write(batch).unwrap();
    assert_eq!(first.get("a").unwrap().unwrap(), "1");
    assert!(second.get("a").unwrap().is_none());
}

#[test]
fn a_batch_of_an_earlier_opening_is_refused() {
    let options = Options::in_memory();
    let db = Db::open("store", options.clone()).unwrap();
    let mut batch = WriteBatch::new();
    batch.put(&db, "a", "1").unwrap();
    db.close().unwrap();
    let db = Db::open("store", options).unwrap();
    assert!(matches!(db.write(batch), Err(Error::InvalidArgument(_))));
}

#[test]
fn after_close_readers_read_on_and_writers_fail() {
    let options = Options::in_memory();
    let db = Db::open("store", options.clone()).unwrap();
    let other = db.create_keyspace("other").unwrap();
    other.put("a", "1").unwrap();
    let snapshot = db.snapshot();
    other.put("a", "2").unwrap();
    let mut iter = other.iter().unwrap();
    db.close().unwrap();
    assert_eq!(iter.next().unwrap().unwrap().1, "2");
    assert_eq!(other.get("a").unwrap().unwrap(), "2");
    assert_eq!(snapshot.get(&other, "a").unwrap().unwrap(), "1");
    assert!(matches!(other.put("a", "3"), Err(Error::Closed)));
    assert!(matches!(other.flush(), Err(Error::Closed)));
    // They keep the store open, so that nobody else deletes what they read.
    let again = Db::open("store", options.clone());
    assert!(matches!(again, Err(Error::Locked { .. })));
    drop(iter);
    drop((snapshot, other));
    let db = Db::open("store", options).unwrap();
    assert_eq!(
        db.keyspace("other").unwrap().get("a").unwrap().unwrap(),
        "2"
    );
}

#[test]
fn readers_share_a_store_and_exclude_its_writer() {
    let options = Options::in_memory();
    let missing = Db::open_read_only("store", options.clone());
    assert!(matches!(missing, Err(Error::NotFound { .. })));
    let create_if_missing = false;
    let no_create = Options {
        create_if_missing,
        ..options.clone()
    };
    let missing = Db::open("store", no_create);
    assert!(matches!(missing, Err(Error::NotFound { .. })));
    Db::open("store", options.clone())
        .unwrap()
        .put("a", "1")
        .unwrap();
    let readers = [(); 3].map(|()| Db::open_read_only("store", options.clone()).unwrap());
    for reader in &readers {
        assert_eq!(reader.get("a").unwrap().unwrap(), "1");
        let refused = |result: rhumb::Result<()>| {
            assert!(matches!(result, Err(Error::ReadOnly { .. })), "{result:?}");
        };
        refused(reader.put("a", "2"));
        refused(reader.delete("a"));
        refused(reader.delete_range("a", "b"));
        refused(reader.flush());
        refused(reader.compact_range(None, None));
        refused(reader.sync());
        refused(reader.create_keyspace("new").map(drop));
        refused(reader.drop_keyspace("new"));
    }
    let writer = Db::open("store", options.clone());
    assert!(matches!(writer, Err(Error::Locked { .. })));
    drop(readers);
    let writer = Db::open("store", options.clone()).unwrap();
    let reader = Db::open_read_only("store", options);
    assert!(matches!(reader, Err(Error::Locked { .. })));
    writer.put("a", "2").unwrap();
}

#[test]
fn names_of_keyspaces_are_checked() {
    let db = Db::open("store", Options::in_memory()).unwrap();
    for name in ["", &"n".repeat(256)] {
        let refused = db.create_keyspace(name);
        assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    }
    let longest = "n".repeat(255);
    db.create_keyspace(&longest).unwrap();
    db.create_keyspace("a\0b / ../é").unwrap();
    let twice = db.create_keyspace("a\0b / ../é");
    assert!(matches!(twice, Err(Error::KeyspaceExists(_))));
    assert_eq!(db.keyspaces(), ["a\0b / ../é", "default", &longest]);
    assert!(matches!(
        db.keyspace("no such"),
        Err(Error::NoSuchKeyspace(_))
    ));
}

#[test]
fn settings_out_of_range_are_refused_with_a_remedy() {
    for text in [
        "partition=entries(0)",
        "partition=bytes(0)",
        "partition=bytes(99999999999)",
        "partition=rows(4)",
        "partition=bytes(4096",
        "filter=65",
        "filter=-1",
        "size=1",
        "size=99999999999GiB",
        "size=4EiB",
        "compression=zip",
        "colour=red",
        "size",
    ] {
        let error = text.parse::<TableSpec>().unwrap_err().to_string();
        assert!(error.contains("write "), "{text}: {error}");
    }
    for text in [
        "",
        "fp,",
        "plr:boundary=0",
        "plr:boundary=x",
        "b-tree",
        "fp:boundary=1",
    ] {
        if let Ok(spec) = text.parse::<rhumb::IndexSpec>() {
            panic!("{text:?} is taken for {spec}");
        }
    }
}

#[test]
fn settings_made_without_parsing_are_checked_when_a_store_is_opened() {
    for (partition, filter_bits_per_key) in [
        (Partition::Bytes(0), 0),
        (Partition::Entries(0), 0),
        (Partition::Entries(u32::MAX), 0),
        (Partition::Bytes(4096), 65),
    ] {
        let table = TableSpec {
            partition,
            filter_bits_per_key,
            ..TableSpec::default()
        };
        let options = Options {
            table,
            ..Options::in_memory()
        };
        let refused = Db::open("store", options);
        assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    }
}

/// A block holds up to 65,535 entries, whatever is asked for.
#[test]
fn blocks_of_very_many_entries_end_where_the_format_does() {
    for partition in [Partition::Entries(16 << 20), Partition::Bytes(16 << 20)] {
        let table = TableSpec {
            partition,
            ..TableSpec::default()
        };
        let options = Options {
            table,
            ..Options::in_memory()
        };
        let db = Db::open("store", options).unwrap();
        for chunk in 0..200u32 {
            let mut batch = WriteBatch::new();
            for n in 0..1000 {
                batch
                    .put(&db, (chunk * 1000 + n).to_be_bytes(), "")
                    .unwrap();
            }
            db.write(batch).unwrap();
        }
        db.flush().unwrap();
        for n in (0..200_000u32).step_by(5003).chain(65_530..65_540) {
            assert!(db.contains_key(n.to_be_bytes()).unwrap(), "{n}");
        }
        assert_eq!(db.iter().unwrap().count(), 200_000);
        assert_eq!(db.iter().unwrap().rev().count(), 200_000);
    }
}

/// Extreme settings slow a store down, and do nothing else.
#[test]
fn settings_at_their_ends_work() {
    let base = Options {
        log_bytes: 0,
        cache_bytes: 0,
        ..Options::in_memory()
    };
    let none = Options {
        write_buffer_bytes: 0,
        table: TableSpec {
            table_bytes: 0,
            filter_bits_per_key: 1,
            partition: Partition::Bytes(1),
            ..TableSpec::default()
        },
        levels: Levels {
            size_ratio: 0,
            base_bytes: 0,
            level0_tables: 0,
            ..Levels::default()
        },
        ..base.clone()
    };
    let most = Options {
        write_buffer_bytes: u64::MAX,
        log_bytes: u64::MAX,
        cache_bytes: 1 << 40,
        table: TableSpec {
            table_bytes: u64::MAX,
            filter_bits_per_key: 64,
            partition: Partition::Entries(16 << 20),
            ..TableSpec::default()
        },
        levels: Levels {
            size_ratio: u32::MAX,
            base_bytes: u64::MAX,
            level0_tables: u32::MAX,
            ..Levels::default()
        },
        ..base
    };
    for options in [none, most] {
        let db = Db::open("store", options.clone()).unwrap();
        for n in 0..500u32 {
            db.put(n.to_be_bytes(), [1; 50]).unwrap();
        }
        db.compact_range(None, None).unwrap();
        for n in (0..500u32).step_by(2) {
            db.delete(n.to_be_bytes()).unwrap();
        }
        db.close().unwrap();
        let db = Db::open("store", options).unwrap();
        assert_eq!(db.iter().unwrap().count(), 250);
        db.compact_range(None, None).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(db.iter().unwrap().rev().count(), 250);
        let stats = db.stats().unwrap();
        assert!(stats.writes.compactions < 5000, "compactions for ever");
    }
}
