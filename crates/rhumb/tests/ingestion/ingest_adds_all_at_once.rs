//! Ingested entries are the newest ones of their keys, for all who read later and for nobody who read before,
//! whatever the store held and however its tables are made.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use rhumb::{Compaction, Db, Keyspace, Levels, Options, Result, TableSpec, TableWriter};

type Content = BTreeMap<Vec<u8>, Vec<u8>>;

/// Settings with which a thousand entries make tables in several levels.
fn small() -> Options {
    Options {
        write_buffer_bytes: 16 << 10,
        table: TableSpec {
            table_bytes: 4 << 10,
            ..TableSpec::default()
        },
        levels: Levels {
            size_ratio: 3,
            base_bytes: 16 << 10,
            level0_tables: 2,
            ..Levels::default()
        },
        ..Options::in_memory()
    }
}

fn key(n: u32) -> Vec<u8> {
    format!("user/{n:06}").into_bytes()
}

fn entries(numbers: impl IntoIterator<Item = u32>, word: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let numbers = numbers.into_iter();
    numbers
        .map(|n| (key(n), format!("{word} {n}").into_bytes()))
        .collect()
}

/// What a keyspace holds, read in both directions and key by key.
fn content(keyspace: &Keyspace) -> Content {
    let taken = |entry: Result<(rhumb::Key, rhumb::Value<'_>)>| {
        let (key, value) = entry.unwrap();
        (key.to_vec(), value.to_vec())
    };
    let forwards: Vec<_> = keyspace.iter().unwrap().map(taken).collect();
    let mut backwards: Vec<_> = keyspace.iter().unwrap().rev().map(taken).collect();
    backwards.reverse();
    assert_eq!(forwards, backwards);
    for (key, value) in &forwards {
        assert_eq!(keyspace.get(key).unwrap().as_deref(), Some(&value[..]));
    }
    forwards.into_iter().collect()
}

fn tables(db: &Db, level: usize) -> u64 {
    let stats = db.stats().unwrap();
    stats.keyspaces[0]
        .levels
        .get(level)
        .map_or(0, |level| level.tables)
}

/// The number of the deepest level with tables.
fn deepest(db: &Db) -> usize {
    let stats = db.stats().unwrap();
    let levels = &stats.keyspaces[0].levels;
    levels.iter().rposition(|level| level.tables > 0).unwrap()
}

#[test]
fn sorted_entries_go_straight_to_the_level_that_is_large_enough() {
    let options = small();
    let db = Db::open("store", options.clone()).unwrap();
    let all = entries(0..1000, "value");
    let ingested = db.ingest_sorted(all.clone()).unwrap();
    assert_eq!(ingested.entries, 1000);
    assert!(ingested.tables > 3, "{ingested:?}");
    // Level 1 has room for 16 KiB, level 2 for 48 KiB, level 3 for 144 KiB.
    let rooms = [16 << 10, 48 << 10, 144 << 10];
    let level = 1 + rooms
        .iter()
        .position(|room| ingested.bytes <= *room)
        .unwrap();
    assert_eq!(tables(&db, level), ingested.tables, "{ingested:?}");
    assert_eq!(deepest(&db), level);
    let stats = db.stats().unwrap().writes;
    assert_eq!((stats.flushes, stats.compactions), (0, 0));
    assert_eq!(
        (stats.ingested_tables, stats.ingested_bytes),
        (ingested.tables, ingested.bytes)
    );
    let user_bytes: usize = all.iter().map(|(k, v)| k.len() + v.len()).sum();
    assert_eq!(stats.user_bytes, user_bytes as u64);
    let all: Content = all.into_iter().collect();
    assert_eq!(content(&db), all);
    db.close().unwrap();
    let db = Db::open("store", options).unwrap();
    assert_eq!(content(&db), all);
    // Merges take ingested tables like others.
    db.compact_range(None, None).unwrap();
    assert_eq!(content(&db), all);
}

#[test]
fn nothing_is_added_by_an_ingest_without_entries_or_one_that_is_dropped() {
    let options = small();
    let files = options.file_system.clone();
    let db = Db::open("store", options).unwrap();
    assert_eq!(db.ingest_sorted(entries(0..0, "")).unwrap().tables, 0);
    assert_eq!(db.ingest::<&str>(&[]).unwrap().entries, 0);
    let mut ingest = db.sorted_ingest().unwrap();
    for (key, value) in entries(0..1000, "value") {
        ingest.put(key, value).unwrap();
    }
    let written = |ending: &str| {
        let names = files.list("store".as_ref()).unwrap();
        names.iter().filter(|name| name.ends_with(ending)).count()
    };
    assert!(written(".table") > 2);
    drop(ingest);
    assert_eq!(written(".table"), 0);
    assert!(db.is_empty().unwrap());
}

#[test]
fn ingested_entries_replace_what_was_written_wherever_it_lies() {
    for compaction in [
        Compaction::Leveled,
        Compaction::FullLevel,
        Compaction::Tiered,
    ] {
        let mut options = small();
        options.levels.compaction = compaction;
        let db = Db::open("store", options).unwrap();
        let mut expected = Content::new();
        // In deep levels, then in level 0, then in the write buffer.
        for (word, step) in [("deep", 1), ("shallow", 3), ("buffered", 7)] {
            for (key, value) in entries((0..600).step_by(step), word) {
                db.put(&key, &value).unwrap();
                expected.insert(key, value);
            }
            match step {
                1 => db.compact_range(None, None).unwrap(),
                3 => db.flush().unwrap(),
                _ => {}
            }
        }
        db.delete_range(key(100)..key(120)).unwrap();
        expected.retain(|k, _| !(key(100)..key(120)).contains(k));
        let (snapshot, before) = (db.snapshot(), expected.clone());
        let mut iter = db.iter().unwrap();
        let first = iter.next().unwrap().unwrap();
        assert_eq!(first.0, key(0));

        let new = entries((50..400).step_by(2), "ingested");
        let mut ingest = db.sorted_ingest().unwrap();
        for (n, (key, value)) in new.iter().enumerate() {
            match n % 5 {
                0 => {
                    ingest.delete(key).unwrap();
                    expected.remove(key);
                }
                _ => {
                    ingest.put(key, value).unwrap();
                    expected.insert(key.clone(), value.clone());
                }
            }
        }
        assert_eq!(
            content(&db),
            before,
            "{compaction}: nothing is visible before the end"
        );
        ingest.finish().unwrap();
        assert_eq!(content(&db), expected, "{compaction}");

        // Those who read before see what was there.
        let held = snapshot.iter(&db).unwrap().map(|e| e.unwrap());
        let held: Content = held.map(|(k, v)| (k.to_vec(), v.to_vec())).collect();
        assert_eq!(held, before, "{compaction}");
        for n in 0..600 {
            let found = snapshot.get(&db, key(n)).unwrap().map(|v| v.to_vec());
            assert_eq!(found.as_ref(), before.get(&key(n)), "{compaction}: key {n}");
        }
        assert_eq!(iter.count() + 1, before.len(), "{compaction}");

        // Later writes are newer.
        db.put(key(60), "later").unwrap();
        db.delete(key(62)).unwrap();
        db.delete_range(key(300)..key(310)).unwrap();
        expected.insert(key(60), b"later".to_vec());
        expected.remove(&key(62));
        expected.retain(|k, _| !(key(300)..key(310)).contains(k));
        assert_eq!(content(&db), expected, "{compaction}");
        db.compact_range(Some(&key(40)), Some(&key(350))).unwrap();
        assert_eq!(content(&db), expected, "{compaction}");
        drop(snapshot);
        db.compact_range(None, None).unwrap();
        assert_eq!(content(&db), expected, "{compaction}");
    }
}

#[test]
fn each_table_goes_as_deep_as_nothing_overlaps_it() {
    let mut options = small();
    options.levels.level0_tables = 100;
    options.levels.base_bytes = 1 << 20;
    options.table.table_bytes = 1 << 20;
    let db = Db::open("store", options.clone()).unwrap();
    for n in [400, 500] {
        db.put(key(n), "deep").unwrap();
    }
    db.compact_range(None, None).unwrap();
    assert_eq!(deepest(&db), 1);
    for n in [480, 520] {
        db.put(key(n), "shallow").unwrap();
    }
    db.flush().unwrap();
    let mut paths = Vec::new();
    let parts = [0..50, 90..110, 200..300, 450..470, 510..550, 600..700];
    for (n, numbers) in parts.into_iter().enumerate() {
        let path = format!("{n}.outside");
        let mut table = TableWriter::create(&path, &options).unwrap();
        for (key, value) in entries(numbers, "ingested") {
            table.put(key, value).unwrap();
        }
        table.finish().unwrap();
        paths.push(path);
    }
    // The order of the tables means nothing.
    paths.reverse();
    let ingested = db.ingest(&paths).unwrap();
    assert_eq!((ingested.tables, ingested.entries), (6, 330));
    // 450..470 overlaps level 1, 510..550 overlaps level 0: both go to level 0.
    let found: Vec<u64> = (0..7).map(|level| tables(&db, level)).collect();
    assert_eq!(found, [1 + 2, 1 + 4, 0, 0, 0, 0, 0]);
    for (n, value) in [(500, "deep"), (460, "ingested 460"), (520, "ingested 520")] {
        assert_eq!(db.get(key(n)).unwrap().as_deref(), Some(value.as_bytes()));
    }
    assert_eq!(content(&db).len(), 330 + 3);
}

#[test]
fn tables_of_every_form_can_be_ingested() {
    let specs = [
        "partition=predicted",
        "partition=predicted(4),filter=0",
        "partition=bytes(512),compression=lz4",
        "partition=entries(1)",
        "partition=entries(16)",
    ];
    for index in [
        "fp",
        "fp-raw",
        "plr",
        "pgm:boundary=8",
        "rmi",
        "alex",
        "lits",
    ] {
        for spec in specs {
            let mut options = small();
            (options.index, options.table) = (index.parse().unwrap(), spec.parse().unwrap());
            options.table.table_bytes = 2 << 10;
            let other = Options {
                index: "plr".parse().unwrap(),
                ..options.clone()
            };
            let db = Db::open("store", other).unwrap();
            for (key, value) in entries((0..300).step_by(2), "old") {
                db.put(key, value).unwrap();
            }
            let snapshot = db.snapshot();
            // Of one size, which units need, and of many.
            let same = (0..100).map(|n| (key(n), b"12345678".to_vec()));
            let all: Vec<_> = same.chain(entries(100..200, "ingested")).collect();
            let mut table = TableWriter::create("outside", &options).unwrap();
            for (key, value) in &all {
                table.put(key, value).unwrap();
            }
            assert_eq!(table.entries(), 200);
            table.finish().unwrap();
            db.ingest(&["outside"]).unwrap();
            let mut expected: Content = entries((0..300).step_by(2), "old").into_iter().collect();
            let before = expected.clone();
            expected.extend(all);
            let what = format!("{index}, {spec}");
            assert_eq!(content(&db), expected, "{what}");
            let held: Vec<Vec<u8>> = snapshot
                .iter(&db)
                .unwrap()
                .map(|e| e.unwrap().1.to_vec())
                .collect();
            assert_eq!(held, before.into_values().collect::<Vec<_>>(), "{what}");
            let keys: Vec<Vec<u8>> = (0..300).map(key).collect();
            let found = db.multi_get(&keys).unwrap();
            for (key, value) in keys.iter().zip(found) {
                assert_eq!(
                    value.as_deref(),
                    expected.get(key).map(|v| &v[..]),
                    "{what}"
                );
            }
            drop(snapshot);
            db.close().unwrap();
            let report = rhumb::inspect::verify("store".as_ref(), &options, &mut |_| {}).unwrap();
            assert!(report.damage.is_empty(), "{what}: {:?}", report.damage);
            let db = Db::open("store", options).unwrap();
            db.compact_range(None, None).unwrap();
            assert_eq!(content(&db), expected, "{what}");
        }
    }
}

#[test]
fn the_smallest_and_the_largest_key_and_empty_values_can_be_ingested() {
    let largest = vec![0xFF; 65_536];
    for keys in [vec![vec![]], vec![largest.clone()], vec![vec![], largest]] {
        for finished in [false, true] {
            let options = small();
            let db = Db::open("store", options.clone()).unwrap();
            db.put(&keys[0], "older").unwrap();
            match finished {
                false => {
                    db.ingest_sorted(keys.iter().map(|key| (key, ""))).unwrap();
                }
                true => {
                    let mut table = TableWriter::create("outside", &options).unwrap();
                    keys.iter().for_each(|key| table.put(key, "").unwrap());
                    table.finish().unwrap();
                    db.ingest(&["outside"]).unwrap();
                }
            }
            let expected: Content = keys.iter().map(|key| (key.clone(), vec![])).collect();
            assert_eq!(content(&db), expected);
            db.compact_range(None, None).unwrap();
            db.close().unwrap();
            let db = Db::open("store", options).unwrap();
            assert_eq!(content(&db), expected);
            db.delete_range::<Vec<u8>>(..).unwrap();
            assert!(db.is_empty().unwrap());
        }
    }
}

#[test]
fn one_finished_table_can_be_ingested_by_many_keyspaces_and_again() {
    let options = small();
    let db = Db::open("store", options.clone()).unwrap();
    let mut table = TableWriter::create("outside", &options).unwrap();
    for (key, value) in entries(0..50, "ingested") {
        table.put(key, value).unwrap();
    }
    table.finish().unwrap();
    let other = db.create_keyspace("other").unwrap();
    other.put(key(7), "old").unwrap();
    db.ingest(&["outside"]).unwrap();
    other.ingest(&["outside"]).unwrap();
    db.put(key(3), "new").unwrap();
    db.ingest(&["outside"]).unwrap();
    let expected: Content = entries(0..50, "ingested").into_iter().collect();
    assert_eq!(content(&db), expected);
    assert_eq!(content(&other), expected);
    db.drop_keyspace("other").unwrap();
    assert!(matches!(
        other.ingest(&["outside"]),
        Err(rhumb::Error::NoSuchKeyspace(_))
    ));
    drop(other);
    db.close().unwrap();
    let db = Db::open("store", options).unwrap();
    assert_eq!(content(&db), expected);
}

/// Writers go on beside ingests; who sees one entry of an ingest sees all of it.
#[test]
fn readers_see_all_of_an_ingest_or_nothing() {
    let db = Db::open("store", small()).unwrap();
    let done = AtomicBool::new(false);
    let keys: Vec<Vec<u8>> = (0..400).map(key).collect();
    db.ingest_sorted(keys.iter().map(|key| (key, 0u32.to_be_bytes())))
        .unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut count = 0u32;
            while !done.load(Ordering::Relaxed) {
                db.put(key(1_000 + count % 500), count.to_be_bytes())
                    .unwrap();
                count += 1;
            }
            count
        });
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut last = 0;
                    while !done.load(Ordering::Relaxed) {
                        let snapshot = db.snapshot();
                        let seen: Vec<Vec<u8>> = snapshot
                            .range(&db, key(0)..key(400))
                            .unwrap()
                            .map(|entry| entry.unwrap().1.to_vec())
                            .collect();
                        assert_eq!(seen.len(), 400);
                        assert!(seen.windows(2).all(|pair| pair[0] == pair[1]));
                        let again = db.multi_get(&keys).unwrap();
                        let round = again[0].as_deref().unwrap().to_vec();
                        assert!(again.iter().all(|v| v.as_deref() == Some(&round[..])));
                        let held = snapshot.get(&db, &keys[399]).unwrap().unwrap().to_vec();
                        assert_eq!(held, seen[0]);
                        let round = u32::from_be_bytes(round.try_into().unwrap());
                        assert!(round >= last);
                        last = round;
                    }
                })
            })
            .collect();
        for round in 1..=60u32 {
            let all = keys.iter().map(|key| (key, round.to_be_bytes()));
            db.ingest_sorted(all).unwrap();
            assert_eq!(
                db.get(&keys[7]).unwrap().as_deref(),
                Some(&round.to_be_bytes()[..])
            );
        }
        done.store(true, Ordering::Relaxed);
        readers
            .into_iter()
            .for_each(|reader| reader.join().unwrap());
        let written = writer.join().unwrap();
        println!("{written} writes beside 60 ingests");
        for n in written.saturating_sub(500)..written {
            let found = db.get(key(1_000 + n % 500)).unwrap();
            assert_eq!(found.as_deref(), Some(&n.to_be_bytes()[..]));
        }
    });
}

/// Several ingests at the same time come one after the other.
#[test]
fn ingests_of_several_threads_come_one_after_the_other() {
    let db = Db::open("store", small()).unwrap();
    std::thread::scope(|scope| {
        for word in ["a", "b", "c"] {
            let db = &db;
            scope.spawn(move || {
                for round in 0..15 {
                    let all = entries(0..150, &format!("{word}{round}"));
                    db.ingest_sorted(all).unwrap();
                }
            });
        }
    });
    let found = content(&db);
    assert_eq!(found.len(), 150);
    let word = |value: &Vec<u8>| value.split(|b| *b == b' ').next().unwrap().to_vec();
    let first = word(&found[&key(0)]);
    assert!(found.values().all(|value| word(value) == first));
}
