//! Models over several tables answer as the tables' own indexes do, while merges replace some of the tables.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::kit::{brief, deep, seed};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rhumb::fs::{FileSystem, MemoryFileSystem};
use rhumb::{Compaction, Db, Granularity, Levels, Options, Stats};

const STORE: &str = "store";

fn options(
    disk: &MemoryFileSystem,
    (index, table): (&str, &str),
    granularity: Granularity,
) -> Options {
    Options {
        index: index.parse().unwrap(),
        table: table.parse().unwrap(),
        write_buffer_bytes: 32 << 10,
        levels: Levels {
            base_bytes: 64 << 10,
            size_ratio: 4,
            granularity,
            ..Levels::default()
        },
        file_system: Arc::new(disk.clone()),
        ..Options::in_memory()
    }
}

const JOINED: Granularity = Granularity::Joined { boundary: 128 };

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// A key: a number, or one behind one of several prefixes, whose tables number their keys by different maps.
fn key(number: u64, is_text: bool) -> Vec<u8> {
    let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    match is_text {
        false => mixed.to_be_bytes().to_vec(),
        true => format!(
            "{}/{mixed:x}",
            ["alpha", "beta/gamma", "delta"][number as usize % 3]
        )
        .into(),
    }
}

fn write(db: &Db, model: &mut Model, rng: &mut StdRng, range: u64, is_text: bool) {
    for _ in 0..2_000 {
        let key = key(rng.random_range(0..range), is_text);
        if rng.random_range(0..12) == 0 {
            db.delete(&key).unwrap();
            model.remove(&key);
        } else {
            let value = vec![rng.random(); rng.random_range(0..40)];
            db.put(&key, &value).unwrap();
            model.insert(key, value);
        }
    }
}

/// Gets and seeks of keys that are there and others.
fn probe(db: &Db, model: &Model, rng: &mut StdRng, range: u64, is_text: bool, count: u64) {
    for at in 0..count {
        let mut key = key(rng.random_range(0..range + range / 4), is_text);
        if rng.random_range(0..8) == 0 {
            key.pop();
        }
        let found = db.get(&key).unwrap();
        assert_eq!(found.as_deref(), model.get(&key).map(Vec::as_slice));
        if at % 16 == 0 {
            let next = db.range(key.clone()..).unwrap().next();
            let next = next.map(|entry| entry.unwrap().0.to_vec());
            assert_eq!(next.as_ref(), model.range(key..).next().map(|(k, _)| k));
        }
    }
}

fn in_models(stats: &Stats) -> (u64, u64) {
    (
        stats.keyspaces[0].tables_in_models,
        stats.reads.model_probes,
    )
}

/// Writes and probes a store whose tables change between, and opens it again and again. Returns the statistics at the end.
fn write_and_probe(
    options: impl Fn(&MemoryFileSystem) -> Options,
    is_text: bool,
    has_models: bool,
    seed: u64,
) -> Stats {
    let mut rng = StdRng::seed_from_u64(seed);
    let disk = MemoryFileSystem::new();
    let mut db = Db::open(STORE, options(&disk)).unwrap();
    let mut model = Model::new();
    let range = 20_000;
    for round in 0..(25 * deep() / brief()).max(9) {
        write(&db, &mut model, &mut rng, range, is_text);
        probe(&db, &model, &mut rng, range, is_text, 5_000);
        if round % 8 == 7 {
            db.close().unwrap();
            db = Db::open(STORE, options(&disk)).unwrap();
        }
    }
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    // A model that was not trained by a merge is trained in the background.
    let deadline = Instant::now() + Duration::from_secs(60);
    while has_models && in_models(&db.stats().unwrap()).0 == 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    probe(&db, &model, &mut rng, range, is_text, 5_000);
    let found = db.iter().unwrap().map(|entry| entry.unwrap().0.to_vec());
    assert!(found.eq(model.keys().cloned()));
    db.stats().unwrap()
}

/// An index, a form of tables, whether keys are texts, and whether tables have models in common then.
type Case<'a> = (&'a str, &'a str, bool, bool);

fn answers_as_tables(cases: &[Case<'_>], options: fn(&MemoryFileSystem, (&str, &str)) -> Options) {
    let seed = seed();
    for &(index, table, is_text, has_models) in cases {
        println!("seed {seed}: {index}, {table}");
        let options = |disk: &MemoryFileSystem| options(disk, (index, table));
        let (tables, used) = in_models(&write_and_probe(options, is_text, has_models, seed));
        match has_models {
            true => assert!(tables > 20 && used > 100, "{tables} tables, {used} probes"),
            false => assert_eq!((tables, used), (0, 0)),
        }
    }
}

/// Merges of a few tables between the probes: half a million of them at full length, more with `RHUMB_DEEP`.
#[test]
fn joined_models_answer_as_tables_do_while_merges_replace_some() {
    answers_as_tables(
        &[
            (
                "plr:boundary=16",
                "partition=bytes(512),size=4KiB",
                false,
                true,
            ),
            (
                "pgm:boundary=8",
                "partition=entries(1),size=4KiB",
                false,
                true,
            ),
            (
                "radix-spline:boundary=16",
                "partition=entries(8),size=4KiB,filter=0",
                false,
                true,
            ),
            (
                "plex:boundary=16",
                "partition=bytes(1024),size=4KiB",
                true,
                true,
            ),
            (
                "fiting-tree:boundary=64",
                "partition=bytes(300),size=4KiB,values=24",
                true,
                true,
            ),
            // These are found by their own indexes.
            ("plr", "partition=predicted,size=4KiB", false, false),
            ("alex", "partition=bytes(512),size=4KiB", false, false),
            ("fp", "partition=bytes(512),size=4KiB", true, false),
        ],
        |disk, layout| options(disk, layout, JOINED),
    );
}

fn trained(disk: &MemoryFileSystem, layout: (&str, &str)) -> Options {
    let options = options(disk, layout, Granularity::Trained);
    Options {
        levels: Levels {
            compaction: Compaction::FullLevel,
            ..options.levels
        },
        // Where values are moved, single tables change, and a model is made again in the background.
        over_provision_percent: u32::MAX,
        // Two threads that have nothing to do may both find a model that was lost.
        compaction_threads: 3,
        ..options
    }
}

#[test]
fn trained_models_answer_as_tables_do_while_merges_replace_them() {
    answers_as_tables(
        &[
            (
                "plr:boundary=64",
                "partition=bytes(512),size=4KiB",
                false,
                true,
            ),
            (
                "rmi:boundary=64",
                "partition=entries(4),size=4KiB",
                false,
                true,
            ),
            ("alex", "partition=bytes(512),size=4KiB", false, true),
            ("lits", "partition=entries(1),size=4KiB", true, true),
            ("fp", "partition=bytes(512),size=4KiB", true, true),
            (
                "fp-raw:boundary=16",
                "partition=bytes(512),size=4KiB",
                false,
                true,
            ),
            (
                "plex:boundary=32",
                "partition=bytes(1024),size=4KiB,values=24",
                false,
                true,
            ),
            // These are found by their own indexes.
            ("plr", "partition=predicted,size=4KiB", false, false),
            (
                "pla:error=16",
                "partition=dual(512),size=4KiB",
                false,
                false,
            ),
        ],
        trained,
    );
}

/// The names of the files with trained models.
fn files(disk: &MemoryFileSystem) -> Vec<PathBuf> {
    let names = disk.list(Path::new(STORE)).unwrap();
    let models = names.iter().filter(|name| name.ends_with(".model"));
    models.map(|name| Path::new(STORE).join(name)).collect()
}

#[test]
fn a_trained_model_that_is_lost_damaged_or_of_other_tables_is_trained_again() {
    let disk = MemoryFileSystem::new();
    let layout = ("pgm:boundary=16", "partition=bytes(512),size=4KiB");
    let open = || {
        let mut options = trained(&disk, layout);
        // No merges but those that are asked for: of one level.
        options.levels.level0_tables = 100;
        Db::open(STORE, options).unwrap()
    };
    let (mut model, mut rng) = (Model::new(), StdRng::seed_from_u64(3));
    let db = open();
    write(&db, &mut model, &mut rng, 20_000, false);
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    let [older] = &*files(&disk) else {
        panic!("{:?}", files(&disk))
    };
    let of_older_tables = disk.bytes(older).unwrap();
    for _ in 0..5 {
        write(&db, &mut model, &mut rng, 20_000, false);
    }
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    db.close().unwrap();
    // Another opening deletes what this one did not.
    drop(open());
    let [path] = &*files(&disk) else {
        panic!("{:?}", files(&disk))
    };
    let sound = disk.bytes(path).unwrap();
    assert_ne!(sound, of_older_tables);
    let mut hurt = vec![
        Vec::new(),
        sound[..sound.len() - 1].to_vec(),
        of_older_tables,
    ];
    for _ in 0..12 {
        let mut bytes = sound.clone();
        bytes[rng.random_range(0..sound.len())] ^= 1 << rng.random_range(0..8);
        hurt.push(bytes);
    }
    for bytes in std::iter::once(None).chain(hurt.into_iter().map(Some)) {
        match bytes {
            None => disk.remove(path).unwrap(),
            Some(bytes) => disk.set_bytes(path, bytes).unwrap(),
        }
        let db = open();
        probe(&db, &model, &mut rng, 20_000, false, 1_000);
        let deadline = Instant::now() + Duration::from_secs(60);
        while db.stats().unwrap().writes.renewed_models == 0 {
            assert!(Instant::now() < deadline, "it was not trained again");
            std::thread::sleep(Duration::from_millis(5));
        }
        probe(&db, &model, &mut rng, 20_000, false, 1_000);
        assert!(in_models(&db.stats().unwrap()).0 > 20);
        db.close().unwrap();
        assert!(disk.bytes(path).unwrap() == sound);
        // One that is sound is used as it is.
        let db = open();
        probe(&db, &model, &mut rng, 20_000, false, 1_000);
        let stats = db.stats().unwrap();
        assert!(in_models(&stats).1 > 100 && stats.writes.renewed_models == 0);
    }
    // Where nobody asks for such models, those that are there are not used, and go with their first table.
    let db = Db::open(STORE, options(&disk, layout, Granularity::Table)).unwrap();
    probe(&db, &model, &mut rng, 20_000, false, 1_000);
    assert_eq!(in_models(&db.stats().unwrap()), (0, 0));
    write(&db, &mut model, &mut rng, 20_000, false);
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    db.close().unwrap();
    drop(open());
    assert!(!files(&disk).contains(path));
}

/// They take a fraction of the memory at eight times the boundary, and what they take away is not kept beside them.
#[test]
fn they_take_the_place_of_tables_indexes_in_memory() {
    let memory = |granularity| {
        let disk = MemoryFileSystem::new();
        let layout = ("pgm:boundary=16", "partition=bytes(1024),size=64KiB");
        let db = Db::open(STORE, options(&disk, layout, granularity)).unwrap();
        let mut rng = StdRng::seed_from_u64(7);
        for _ in 0..100_000 {
            db.put(rng.random::<u64>().to_be_bytes(), [7; 8]).unwrap();
        }
        db.flush().unwrap();
        db.compact_range(None, None).unwrap();
        for _ in 0..10_000 {
            assert_eq!(db.get(rng.random::<u64>().to_be_bytes()).unwrap(), None);
        }
        let stats = db.stats().unwrap();
        let keyspace = &stats.keyspaces[0];
        assert!(stats.writes.modelled_tables > 0 || granularity == Granularity::Table);
        (keyspace.index_bytes, keyspace.key_map_bytes)
    };
    // Where chunks begin is random: some three for these tables, and one in a million times twelve, which would take half.
    let own = memory(Granularity::Table);
    let joined = memory(JOINED);
    assert!(2 * joined.0 < own.0, "{joined:?} of {own:?} bytes");
    assert!(2 * joined.1 < own.1, "{joined:?} of {own:?} bytes");
}

/// A merge of a few tables makes the models of these and some neighbours anew.
#[test]
fn an_update_costs_what_it_changes() {
    let disk = MemoryFileSystem::new();
    let layout = ("plr:boundary=16", "partition=bytes(512),size=2KiB");
    let db = Db::open(STORE, options(&disk, layout, JOINED)).unwrap();
    let put = |number: u64| db.put(number.to_be_bytes(), [7; 8]).unwrap();
    (0..100_000).for_each(|number| put(number * 1_000));
    db.flush().unwrap();
    db.compact_range(None, None).unwrap();
    let before = db.stats().unwrap();
    let tables = before.keyspaces[0].tables_in_models;
    assert!(tables > 500, "{tables} tables");
    (0..20).for_each(|number| put(50_000_000 + number));
    db.flush().unwrap();
    let [from, to] = [50_000_000u64, 50_000_100].map(u64::to_be_bytes);
    db.compact_range(Some(&from), Some(&to)).unwrap();
    let made = db.stats().unwrap().writes.modelled_tables - before.writes.modelled_tables;
    assert!(made > 0 && made < tables / 4, "{made} of {tables} tables");
}
