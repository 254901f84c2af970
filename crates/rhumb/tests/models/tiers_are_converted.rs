//! A learned tier: what conversions take and leave, where values lie afterwards, and what is read meanwhile.

use std::sync::Arc;

use crate::kit_values::{Content, compare, default_keyspace, key, options, seeded, verify};
use rand::RngExt;
use rand::rngs::StdRng;
use rhumb::fs::{Access, FaultyFileSystem, FileSystem, MemoryFileSystem, Plan};
use rhumb::{Compaction, Db, Options, TierForm, TierSpec};

const FORMS: [TierForm; 3] = [TierForm::Keys, TierForm::Inline, TierForm::Published];
const KEYS: u32 = 1_000;
/// The level of the tier.
const TIER: usize = 6;

/// Ranges of 32 KiB: some ten of them.
fn tier(disk: &MemoryFileSystem, over_provision_percent: u32, form: TierForm) -> Options {
    let mut options = options(disk, over_provision_percent);
    options.levels.compaction = Compaction::LearnedTier(TierSpec {
        form,
        range_bytes: 32 << 10,
        runs: 3,
        ..TierSpec::default()
    });
    options
}

fn put(db: &Db, content: &mut Content, n: u32, random: &mut StdRng) {
    let value = vec![random.random(); random.random_range(0..800)];
    db.put(key(n), &value).unwrap();
    content.insert(key(n), value);
}

fn delete(db: &Db, content: &mut Content, n: u32) {
    db.delete(key(n)).unwrap();
    content.remove(&key(n));
}

/// The tables of each level.
fn tables(db: &Db) -> Vec<u64> {
    let levels = default_keyspace(db).levels;
    levels.iter().map(|level| level.tables).collect()
}

fn load(db: &Db, random: &mut StdRng) -> Content {
    let mut content = Content::new();
    for n in 0..KEYS {
        put(db, &mut content, n, random);
    }
    content
}

/// What is asked for is brought to the tier: values to their keys, or pointers alone.
#[test]
fn conversions_leave_values_where_their_form_says() {
    for form in FORMS {
        let disk = MemoryFileSystem::new();
        let options = tier(&disk, 1_000, form);
        let db = Db::open("store", options.clone()).unwrap();
        let content = load(&db, &mut seeded(1));
        db.compact_range(None, None).unwrap();
        let tables = tables(&db);
        match form {
            TierForm::Published => assert_eq!(tables[TIER], 1),
            _ => assert!(tables[TIER] > 5, "{tables:?}"),
        }
        assert_eq!(tables[..TIER], [0; TIER]);
        let stats = default_keyspace(&db);
        match form {
            TierForm::Inline => assert_eq!(stats.value_files, 0),
            _ => assert!(stats.used_value_bytes > 300_000, "{stats:?}"),
        }
        let pages = stats.index_kinds.get("greedy-plr-plus").copied();
        assert_eq!(pages.is_some(), form == TierForm::Published, "{stats:?}");
        let moved = db.stats().unwrap().writes.moved_value_bytes;
        assert_eq!(moved > 0, form != TierForm::Keys);
        compare(&db, KEYS, &content);
        db.close().unwrap();
        verify(&options);
        compare(&Db::open("store", options).unwrap(), KEYS, &content);
    }
}

/// Conversions in the background may have left values apart, for want of room: one that is asked for brings them back.
#[test]
fn what_is_asked_for_brings_back_values_that_no_update_concerns() {
    let disk = MemoryFileSystem::new();
    let without_room = tier(&disk, 0, TierForm::Keys);
    let db = Db::open("store", without_room).unwrap();
    let content = load(&db, &mut seeded(10));
    db.compact_range(None, None).unwrap();
    assert!(default_keyspace(&db).value_files > 0);
    db.close().unwrap();
    let options = tier(&disk, 1_000, TierForm::Inline);
    let db = Db::open("store", options.clone()).unwrap();
    db.compact_range(None, None).unwrap();
    assert_eq!(default_keyspace(&db).value_files, 0);
    compare(&db, KEYS, &content);
    // And then there is nothing to do.
    let before = db.stats().unwrap().writes.compactions;
    db.compact_range(None, None).unwrap();
    assert_eq!(db.stats().unwrap().writes.compactions, before);
    db.close().unwrap();
    verify(&options);
}

/// The published code loses its largest key at each conversion, and answers absent keys with other keys' values.
#[test]
fn the_smallest_and_the_largest_key_survive_100_conversions_and_absent_keys_stay_absent() {
    for form in FORMS {
        let disk = MemoryFileSystem::new();
        let db = Db::open("store", tier(&disk, 30, form)).unwrap();
        let mut random = seeded(2);
        let mut content = load(&db, &mut random);
        for round in 0..100 {
            for _ in 0..20 {
                let n = random.random_range(1..KEYS - 1);
                put(&db, &mut content, n, &mut random);
            }
            if round % 10 == 0 {
                put(&db, &mut content, 0, &mut random);
                put(&db, &mut content, KEYS - 1, &mut random);
            }
            db.compact_range(None, None).unwrap();
            for n in [0, KEYS - 1] {
                let found = db.get(key(n)).unwrap();
                assert_eq!(found.as_deref(), content.get(&key(n)).map(Vec::as_slice));
            }
        }
        compare(&db, KEYS, &content);
        for n in 0..KEYS {
            let between = [key(n), vec![b'+']].concat();
            assert!(db.get(&between).unwrap().is_none());
        }
    }
}

/// Deletes of keys that stand in the tier alone, and range deletes, hold before, during and after conversions; a range
/// with nothing left goes.
#[test]
fn deletes_reach_the_tier() {
    for form in FORMS {
        let disk = MemoryFileSystem::new();
        let options = tier(&disk, 30, form);
        let db = Db::open("store", options.clone()).unwrap();
        let mut content = load(&db, &mut seeded(3));
        db.compact_range(None, None).unwrap();
        let before = tables(&db)[TIER];
        for n in (0..KEYS).step_by(7) {
            delete(&db, &mut content, n);
        }
        db.delete_range(key(300)..key(800)).unwrap();
        content.retain(|k, _| *k < key(300) || *k >= key(800));
        compare(&db, KEYS, &content);
        db.flush().unwrap();
        compare(&db, KEYS, &content);
        db.settle();
        compare(&db, KEYS, &content);
        db.compact_range(None, None).unwrap();
        let after = tables(&db);
        match form {
            TierForm::Published => assert_eq!((before, after[TIER]), (1, 1)),
            _ => assert!(after[TIER] < before, "{after:?}"),
        }
        assert_eq!(after[..TIER], [0; TIER]);
        assert_eq!(default_keyspace(&db).entries, content.len() as u64);
        compare(&db, KEYS, &content);
        db.close().unwrap();
        verify(&options);
    }
}

/// A snapshot reads what it read before through updates and conversions.
#[test]
fn snapshots_read_through_conversions() {
    for form in FORMS {
        let disk = MemoryFileSystem::new();
        let db = Db::open("store", tier(&disk, 10, form)).unwrap();
        let mut random = seeded(4);
        let mut content = load(&db, &mut random);
        for _ in 0..5 {
            let (snapshot, old) = (db.snapshot(), content.clone());
            for _ in 0..400 {
                let n = random.random_range(0..KEYS);
                match random.random_bool(0.2) {
                    true => delete(&db, &mut content, n),
                    false => put(&db, &mut content, n, &mut random),
                }
            }
            db.compact_range(Some(&key(200)), Some(&key(600))).unwrap();
            db.settle();
            let read = snapshot.iter(&db).unwrap().map(|entry| {
                let (key, value) = entry.unwrap();
                (key.to_vec(), value.to_vec())
            });
            assert!(read.eq(old), "{form:?}");
            compare(&db, KEYS, &content);
        }
    }
}

/// Updates without end: without a word from the user ranges are converted, and space stays within its bound.
#[test]
fn space_stays_within_its_bound_under_updates() {
    for (form, percent) in [
        (TierForm::Keys, 10),
        (TierForm::Keys, 50),
        (TierForm::Inline, 10),
        (TierForm::Inline, 50),
        (TierForm::Published, 30),
    ] {
        let disk = MemoryFileSystem::new();
        let options = tier(&disk, percent, form);
        let db = Db::open("store", options.clone()).unwrap();
        let mut random = seeded(percent.into());
        let mut content = load(&db, &mut random);
        db.compact_range(None, None).unwrap();
        for _ in 0..4 {
            for _ in 0..2_000 {
                let n = random.random_range(0..KEYS);
                put(&db, &mut content, n, &mut random);
            }
            db.flush().unwrap();
            db.settle();
            let stats = default_keyspace(&db);
            let live: usize = content.iter().map(|(k, v)| k.len() + v.len()).sum();
            let tables: u64 = stats.levels.iter().map(|level| level.bytes).sum();
            let space = (stats.value_bytes + tables) as f64 / live as f64;
            // Besides garbage there are keys and pointers, filters and checksums, and what is in two files.
            let most = 1.25 + f64::from(percent) / 100.0;
            println!(
                "{form:?}, {percent} %: {space:.2} of live, {:?}",
                tables_of(&stats)
            );
            assert!(
                space < most,
                "{form:?}, {percent} %: {space:.2} of live bytes"
            );
        }
        compare(&db, KEYS, &content);
        db.close().unwrap();
        verify(&options);
    }
}

fn tables_of(stats: &rhumb::KeyspaceStats) -> Vec<(u64, u64)> {
    let levels = stats.levels.iter();
    levels.map(|level| (level.runs, level.tables)).collect()
}

/// Where values stand beside their keys, a get of the tier reads one block and nothing else.
#[test]
fn a_get_of_an_inline_tier_reads_the_device_once() {
    const MANY: u32 = 5_000;
    let memory = Arc::new(MemoryFileSystem::new());
    let calls = FaultyFileSystem::new(memory, Plan::default());
    let mut options = Options {
        file_system: Arc::new(calls.clone()),
        access: Access::Direct,
        // Too little for any block.
        cache_bytes: 0,
        ..tier(&MemoryFileSystem::new(), 30, TierForm::Inline)
    };
    options.levels.compaction = Compaction::LearnedTier(TierSpec {
        form: TierForm::Inline,
        range_bytes: 256 << 10,
        runs: 3,
        ..TierSpec::default()
    });
    let db = Db::open("store", options).unwrap();
    for n in 0..MANY {
        db.put(key(n), [n as u8; 300]).unwrap();
    }
    db.compact_range(None, None).unwrap();
    db.settle();
    for n in 0..MANY {
        assert!(db.get(key(n)).unwrap().is_some());
    }
    let before = calls.calls();
    for n in 0..MANY {
        let n = (u64::from(n) * 7_919 % u64::from(MANY)) as u32;
        assert_eq!(&*db.get(key(n)).unwrap().unwrap(), [n as u8; 300]);
    }
    assert_eq!(calls.calls() - before, u64::from(MANY));
}

/// New keys of which most are overwritten at once: the garbage is in logs into which level 0 alone points. Regression test: the
/// published form wrote all other values anew without end, and held writers up for ever where level 0 may have many runs.
#[test]
fn garbage_of_level_0_is_collected_once() {
    for (form, level0_tables) in FORMS.into_iter().flat_map(|form| [(form, 4), (form, 40)]) {
        let mut options = Options {
            over_provision_percent: 30,
            write_buffer_bytes: 1 << 20,
            ..Options::in_memory()
        };
        options.table.separate_values = Some(50);
        options.levels.level0_tables = level0_tables;
        options.levels.compaction = tier(&MemoryFileSystem::new(), 30, form).levels.compaction;
        let db = Db::open("store", options).unwrap();
        let put = |n: u32| {
            (0..1 + u8::from(!n.is_multiple_of(5))).for_each(|again| {
                db.put(n.to_be_bytes(), vec![again; 1_000]).unwrap();
            });
        };
        (0..500).for_each(|n| put(5 * n));
        db.compact_range(None, None).unwrap();
        let new = if level0_tables == 4 { 480 } else { 30_000 };
        (10_000..10_000 + new).for_each(put);
        db.flush().unwrap();
        let merges = || db.stats().unwrap().writes.compactions;
        let at_rest = (0..100).any(|_| {
            let before = merges();
            std::thread::sleep(std::time::Duration::from_millis(100));
            before == merges()
        });
        println!("{form:?}, {level0_tables}: {} merges", merges());
        assert!(at_rest, "{form:?}: {} merges and no end", merges());
        assert_eq!(db.iter().unwrap().count(), 500 + new as usize);
    }
}

/// The disk is full in the middle of a conversion: what it wrote goes, reads and writes go on while there is room for the
/// log, and when there is room it is done.
#[test]
fn a_full_disk_stops_a_conversion_and_nothing_else() {
    for form in FORMS {
        let memory = MemoryFileSystem::new();
        let faulty = FaultyFileSystem::new(Arc::new(memory.clone()), Plan::default());
        let options = Options {
            file_system: Arc::new(faulty.clone()),
            durability: rhumb::Durability::Buffered,
            ..tier(&memory, 1_000, form)
        };
        let db = Db::open("store", options.clone()).unwrap();
        let mut random = seeded(9);
        let mut content = load(&db, &mut random);
        db.compact_range(None, None).unwrap();
        // Too little for a conversion that nobody asks for.
        for n in (0..KEYS).step_by(40) {
            put(&db, &mut content, n, &mut random);
        }
        db.flush().unwrap();
        db.settle();
        let files = || memory.list("store".as_ref()).unwrap().len();
        let before = files();
        let mut stopped = 0;
        for room in [100, 1_000, 2_500] {
            faulty.set_budget(Some(room));
            let full = db.compact_range(Some(&key(0)), Some(&key(KEYS / 4)));
            stopped += u32::from(matches!(full, Err(rhumb::Error::DiskFull { .. })));
            assert_eq!(files(), before, "{form:?}, {room}");
        }
        assert_eq!(stopped, 3, "{form:?}");
        faulty.set_budget(Some(4_000));
        for n in 0..4 {
            put(&db, &mut content, n, &mut random);
        }
        compare(&db, KEYS, &content);
        faulty.set_budget(None);
        db.compact_range(None, None).unwrap();
        assert_eq!(tables(&db)[..TIER], [0; TIER]);
        compare(&db, KEYS, &content);
        db.close().unwrap();
        verify(&options);
        compare(&Db::open("store", options).unwrap(), KEYS, &content);
    }
}

/// Gets under updates that convert one range after the other: where the filter over what stands above the tier answers, less
/// than 5 % of its answers for keys that do not stand there are wrong, and it answers mostly.
#[test]
fn the_filter_above_the_tier_sends_gets_to_the_tier_and_is_seldom_wrong() {
    for form in FORMS {
        let disk = MemoryFileSystem::new();
        let db = Db::open("store", tier(&disk, 50, form)).unwrap();
        let mut random = seeded(7);
        let mut content = load(&db, &mut random);
        db.compact_range(None, None).unwrap();
        db.settle();
        assert!(default_keyspace(&db).above_filter_bytes > 0);
        for _ in 0..60 {
            for _ in 0..50 {
                let n = random.random_range(0..KEYS);
                match random.random_bool(0.1) {
                    true => delete(&db, &mut content, n),
                    false => put(&db, &mut content, n, &mut random),
                }
            }
            compare(&db, KEYS, &content);
        }
        let reads = db.stats().unwrap().reads;
        let (right, wrong) = (reads.above_negative, reads.above_false_positive);
        println!(
            "{form:?}: {right} right, {wrong} wrong of {} gets",
            reads.gets
        );
        assert!(right > reads.gets / 3, "{reads:?}");
        assert!((wrong as f64) < 0.05 * (right + wrong) as f64, "{reads:?}");
        assert!(reads.tier_hits > 0 && reads.tier_hits <= reads.tier_probed);
    }
}

/// Loads a store at a path, updates half of its keys, and reads all of them without a block cache: one block a key, and at most
/// two for each wrong answer of a table's filter. Returns how often the tier was asked meanwhile.
fn asks_ahead(path: &std::path::Path, mut options: Options, concurrent: bool) -> u64 {
    options.levels.compaction = Compaction::LearnedTier(TierSpec {
        form: TierForm::Inline,
        filter_bits_per_key: 0,
        concurrent_probes: concurrent,
        ..TierSpec::default()
    });
    options.cache_bytes = 0;
    let (mut random, db) = (seeded(8), Db::open(path, options).unwrap());
    let mut content = load(&db, &mut random);
    db.compact_range(None, None).unwrap();
    for n in (0..KEYS).step_by(2) {
        put(&db, &mut content, n, &mut random);
    }
    db.flush().unwrap();
    db.settle();
    assert!(tables(&db)[TIER] > 0 && tables(&db)[..TIER] != [0; TIER]);
    compare(&db, KEYS, &content);
    let half = u64::from(KEYS) / 2;
    let asked_ahead = |first| {
        let before = db.stats().unwrap().reads;
        for n in (first..KEYS).step_by(2) {
            let expected = content.get(&key(n)).map(Vec::as_slice);
            assert_eq!(db.get(key(n)).unwrap().as_deref(), expected, "key {n}");
        }
        let after = db.stats().unwrap().reads;
        let blocks = after.blocks_read - before.blocks_read;
        let wrong = after.filter_false_positive - before.filter_false_positive;
        println!("{blocks} blocks of {half} keys, {wrong} false positives");
        assert_eq!(after.read_calls - before.read_calls, blocks);
        assert!(blocks >= half && blocks <= half + 2 * wrong);
        after.tier_ahead - before.tier_ahead
    };
    asked_ahead(1) + asked_ahead(0)
}

/// With concurrent probes as many blocks are used, whether the system reads those of the tier or a thread, and the tier is asked
/// for keys that it does not answer.
#[test]
fn the_tier_is_asked_while_what_stands_above_it_is_searched() {
    let disk = || tier(&MemoryFileSystem::new(), 1_000, TierForm::Inline);
    let half = u64::from(KEYS) / 2;
    assert_eq!(asks_ahead("store".as_ref(), disk(), false), 0);
    asks_ahead("store".as_ref(), disk(), true);
    for access in [Access::Buffered, Access::Direct] {
        let directory = tempfile::tempdir().unwrap();
        let options = Options {
            access,
            file_system: Options::default().file_system,
            ..disk()
        };
        let asked = asks_ahead(directory.path(), options, true);
        println!("{access:?}: asked ahead {asked}");
        // Threads, which read past the page cache and in memory, may have too much to do.
        assert!(asked >= half || access == Access::Direct);
    }
}

/// Readers of a batch see all of it or nothing while filters are renewed: one that has not the key of a write any more does
/// not answer those who can see the write.
#[test]
fn batches_are_whole_while_filters_are_renewed() {
    let disk = MemoryFileSystem::new();
    let db = Db::open("store", tier(&disk, 50, TierForm::Keys)).unwrap();
    load(&db, &mut seeded(8));
    let write = |round: u64| {
        let mut batch = rhumb::WriteBatch::new();
        for n in 0..40 {
            batch.put(&db, key(n * 20), round.to_be_bytes()).unwrap();
        }
        db.write(batch).unwrap();
    };
    write(0);
    let keys: Vec<Vec<u8>> = (0..40).map(|n| key(n * 20)).collect();
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut last = 0;
                    while last < 2_000 {
                        let found = db.multi_get(&keys).unwrap();
                        let found: Vec<Option<&[u8]>> =
                            found.iter().map(|v| v.as_deref()).collect();
                        assert!(found.iter().all(|value| *value == found[0]), "{found:?}");
                        let round = u64::from_be_bytes(found[0].unwrap().try_into().unwrap());
                        assert!(round >= last, "{round} after {last}");
                        last = round;
                    }
                })
            })
            .collect();
        for round in 1..=2_000 {
            write(round);
            if round % 50 == 0 {
                db.compact_range(None, None).unwrap();
            }
        }
        readers
            .into_iter()
            .for_each(|reader| reader.join().unwrap());
    });
    let reads = db.stats().unwrap().reads;
    println!("{reads:?}");
    assert!(reads.above_negative + reads.above_false_positive > 100);
}

/// A store takes this shape and leaves it again at any opening.
#[test]
fn a_store_takes_the_shape_and_leaves_it() {
    let disk = MemoryFileSystem::new();
    let shapes = [
        options(&disk, 30),
        tier(&disk, 30, TierForm::Keys),
        tier(&disk, 30, TierForm::Inline),
        tier(&disk, 30, TierForm::Published),
        options(&disk, 30),
        tier(&disk, 30, TierForm::Published),
        tier(&disk, 30, TierForm::Inline),
        tier(&disk, 30, TierForm::Keys),
    ];
    let (mut content, mut random) = (Content::new(), seeded(6));
    for options in shapes {
        let db = Db::open("store", options.clone()).unwrap();
        compare(&db, KEYS, &content);
        for _ in 0..2_000 {
            let n = random.random_range(0..KEYS);
            match random.random_bool(0.1) {
                true => delete(&db, &mut content, n),
                false => put(&db, &mut content, n, &mut random),
            }
        }
        db.flush().unwrap();
        db.settle();
        compare(&db, KEYS, &content);
        db.close().unwrap();
        verify(&options);
    }
}
