//! A store with a tuner answers as one without, measures the forms of its tables, and takes the one that costs least or that its
//! agent chose.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rhumb::fs::{FileSystem, MemoryFileSystem};
use rhumb::{Db, Options, Tuner, TunerStats, inspect};

const STORE: &str = "store";

fn options(disk: &MemoryFileSystem, tuner: Tuner) -> Options {
    Options {
        table: "size=64KiB".parse().unwrap(),
        write_buffer_bytes: 64 << 10,
        tuner,
        file_system: Arc::new(disk.clone()),
        ..Options::in_memory()
    }
}

fn key(n: u64) -> [u8; 8] {
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

fn value(n: u64) -> Vec<u8> {
    vec![n as u8; 20 + n as usize % 40]
}

/// Writes, overwrites and deletes, and reads some of it between.
fn work(db: &Db, model: &mut BTreeMap<[u8; 8], Vec<u8>>, keys: std::ops::Range<u64>) {
    for n in keys {
        db.put(key(n), value(n)).unwrap();
        model.insert(key(n), value(n));
        if n % 5 == 0 {
            db.delete(key(n / 2)).unwrap();
            model.remove(&key(n / 2));
        }
        let asked = key(n * 7 / 11);
        assert_eq!(
            db.get(asked).unwrap().as_deref(),
            model.get(&asked).map(Vec::as_slice)
        );
    }
}

fn check(db: &Db, model: &BTreeMap<[u8; 8], Vec<u8>>) {
    let mut expected = model.iter();
    for entry in db.iter().unwrap() {
        let (found_key, found) = entry.unwrap();
        let (key, value) = expected.next().unwrap();
        assert_eq!((&found_key[..], &found[..]), (&key[..], &value[..]));
    }
    assert!(expected.next().is_none());
    for (key, value) in model {
        assert_eq!(db.get(key).unwrap().unwrap()[..], value[..]);
    }
}

fn tuner_of(db: &Db) -> TunerStats {
    db.stats().unwrap().keyspaces[0].tuner.clone().unwrap()
}

fn samples(disk: &MemoryFileSystem) -> usize {
    let names = disk.list(Path::new(STORE)).unwrap();
    names
        .iter()
        .filter(|name| name.ends_with(".sample"))
        .count()
}

#[test]
fn it_answers_as_without_and_takes_the_smallest_form_if_memory_alone_counts() {
    let disk = MemoryFileSystem::new();
    let db = Db::open(STORE, options(&disk, Tuner::Cost { nu: 0.0 })).unwrap();
    let mut model = BTreeMap::new();
    work(&db, &mut model, 0..20_000);
    db.compact_range(None, None).unwrap();
    check(&db, &model);
    let tuner = tuner_of(&db);
    assert!(tuner.measured >= 1 && tuner.failure.is_none(), "{tuner:?}");
    let chosen = &tuner.forms[tuner.present];
    let least = tuner
        .forms
        .iter()
        .map(|form| form.memory)
        .fold(f64::INFINITY, f64::min);
    assert!(chosen.memory <= least * 1.04, "{tuner:?}");
    assert!(chosen.tables > 0 && tuner.present > 0, "{tuner:?}");
    assert_eq!(samples(&disk), 0);
    assert!(db.stats().unwrap().to_string().contains(&chosen.form));
    db.close().unwrap();
    let report =
        inspect::verify(Path::new(STORE), &options(&disk, Tuner::Off), &mut |_| {}).unwrap();
    assert!(report.damage.is_empty(), "{report:?}");

    // Whoever opens it next reads the tables, with a tuner or without.
    for tuner in [Tuner::Off, Tuner::Cost { nu: 1.0 }] {
        let db = Db::open(STORE, options(&disk, tuner)).unwrap();
        check(&db, &model);
        work(&db, &mut model, 20_000..26_000);
        check(&db, &model);
    }
}

/// The agent is trained on samples and goes through its forms; what it writes answers like anything else.
#[test]
fn an_agent_learns_from_episodes_of_tables() {
    let disk = MemoryFileSystem::new();
    let tuner = "q-learning:nu=0.5,seed=11".parse().unwrap();
    let options = options(&disk, tuner);
    let db = Db::open(STORE, options.clone()).unwrap();
    let mut model = BTreeMap::new();
    let mut round = 0;
    // Gets are timed where tables are asked, so their number depends on when merges run.
    while tuner_of(&db).episodes < 3 && round < 200 {
        work(&db, &mut model, round * 2_000..(round + 1) * 2_000);
        for (key, value) in model.iter().take(15_000) {
            assert_eq!(db.get(key).unwrap().unwrap()[..], value[..]);
        }
        db.compact_range(None, None).unwrap();
        round += 1;
    }
    let tuner = tuner_of(&db);
    assert!(tuner.episodes >= 3, "{tuner:?}");
    assert_eq!(tuner.forms.len(), 21);
    assert!(tuner.present > 0 && tuner.forms[0].value.is_none());
    assert!(tuner.forms[1..].iter().all(|form| form.value.is_some()));
    check(&db, &model);
    drop(db);
    let db = Db::open(
        STORE,
        Options {
            tuner: Tuner::Off,
            ..options
        },
    )
    .unwrap();
    check(&db, &model);
}

#[test]
fn without_reads_nothing_changes() {
    let disk = MemoryFileSystem::new();
    let db = Db::open(STORE, options(&disk, Tuner::Cost { nu: 0.0 })).unwrap();
    for n in 0..20_000 {
        db.put(key(n), value(n)).unwrap();
    }
    db.compact_range(None, None).unwrap();
    let tuner = tuner_of(&db);
    assert!(tuner.measured >= 1 && tuner.present == 0, "{tuner:?}");
    assert!(tuner.forms[1..].iter().all(|form| form.tables == 0));
}

#[test]
fn a_table_cut_by_entries_and_a_learned_tier_have_no_tuner() {
    let disk = MemoryFileSystem::new();
    let mut fixed = options(&disk, Tuner::Cost { nu: 0.0 });
    fixed.table = "partition=entries(8),size=64KiB".parse().unwrap();
    let db = Db::open(STORE, fixed).unwrap();
    let mut model = BTreeMap::new();
    work(&db, &mut model, 0..8_000);
    db.compact_range(None, None).unwrap();
    assert_eq!(tuner_of(&db).measured, 0);
    check(&db, &model);
    let mut tiered = options(&MemoryFileSystem::new(), Tuner::Cost { nu: 0.0 });
    tiered.levels.compaction = "learned-tier".parse().unwrap();
    let db = Db::open(STORE, tiered).unwrap();
    assert!(db.stats().unwrap().keyspaces[0].tuner.is_none());
}

/// A sample that cannot be written costs nothing but the choice. The next opening deletes samples that a crash left.
#[test]
fn a_sample_that_fails_is_told_and_nothing_else_fails() {
    let disk = MemoryFileSystem::new();
    let options = options(&disk, Tuner::Cost { nu: 0.0 });
    let db = Db::open(STORE, options.clone()).unwrap();
    // Files of these names are there already.
    for number in 0..2_000 {
        let path = Path::new(STORE).join(format!("{number:06}.sample"));
        drop(disk.create(&path).unwrap());
    }
    let mut model = BTreeMap::new();
    work(&db, &mut model, 0..8_000);
    db.compact_range(None, None).unwrap();
    let tuner = tuner_of(&db);
    assert!(tuner.failure.is_some_and(|why| why.contains(".sample")));
    assert!(tuner.measured == 1 && tuner.forms.is_empty());
    assert!(
        db.stats()
            .unwrap()
            .to_string()
            .contains("  tuner: could not be measured")
    );
    check(&db, &model);
    db.close().unwrap();
    assert!(samples(&disk) > 0);
    let report = inspect::verify(Path::new(STORE), &options, &mut |_| {}).unwrap();
    assert!(report.damage.is_empty(), "{report:?}");
    let db = Db::open(STORE, options).unwrap();
    assert_eq!(samples(&disk), 0);
    check(&db, &model);
}

/// Where what is set does not fit the keys, and tables fall back, it is still compared with others.
#[test]
fn keys_that_a_model_cannot_tell_apart_have_a_choice_too() {
    let disk = MemoryFileSystem::new();
    let mut options = options(&disk, Tuner::Cost { nu: 0.0 });
    options.table.table_bytes = 256 << 10;
    let db = Db::open(STORE, options).unwrap();
    // Many keys share all that a model sees of them.
    let key = |n: u64| format!("{}/{:0>9}/{n:05}", "usr/share/doc/".repeat(4), n % 7);
    for n in 0..20_000 {
        db.put(key(n), value(n)).unwrap();
        assert!(db.get(key(n / 2)).unwrap().is_some());
    }
    db.compact_range(None, None).unwrap();
    let stats = db.stats().unwrap();
    let tuner = stats.keyspaces[0].tuner.as_ref().unwrap();
    assert_eq!(tuner.forms[0].form, "plr predicted");
    assert!(
        tuner.present > 0 && tuner.forms[tuner.present].tables > 0,
        "{tuner:?}"
    );
    for n in 0..20_000 {
        assert_eq!(db.get(key(n)).unwrap().unwrap()[..], value(n)[..]);
    }
}

/// Values that are larger than all else have blocks of their own in every form, and are in no sample.
#[test]
fn large_values_are_not_sampled() {
    let disk = MemoryFileSystem::new();
    let mut options = options(&disk, Tuner::Cost { nu: 1.0 });
    options.table.table_bytes = 1 << 30;
    options.write_buffer_bytes = 1 << 30;
    let db = Db::open(STORE, options).unwrap();
    for n in 0..1_500 {
        let len = if n % 10 == 0 { 20 } else { 70_000 };
        db.put(key(n), vec![1; len]).unwrap();
    }
    db.flush().unwrap();
    db.put(key(1), "again").unwrap();
    db.compact_range(None, None).unwrap();
    let tuner = tuner_of(&db);
    assert!(tuner.measured > 0 && tuner.forms.is_empty(), "{tuner:?}");
    assert!(tuner.failure.is_some_and(|why| why.contains("150 entries")));
}

/// Nothing depends on what a tuner remembers: a directory of that name, or a link to nowhere, is in nobody's way.
#[test]
fn a_store_opens_whatever_has_the_name_of_a_tuner() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        tuner: Tuner::Cost { nu: 0.0 },
        ..Options::default()
    };
    let db = Db::open(dir.path(), options.clone()).unwrap();
    db.put("key", "value").unwrap();
    db.close().unwrap();
    std::fs::create_dir(dir.path().join("TUNER-000000")).unwrap();
    std::fs::create_dir(dir.path().join("TUNER-000077")).unwrap();
    std::os::unix::fs::symlink("/nowhere", dir.path().join("TUNER-000078")).unwrap();
    for tuner in [Tuner::Off, Tuner::Cost { nu: 0.0 }] {
        let db = Db::open(
            dir.path(),
            Options {
                tuner,
                ..options.clone()
            },
        )
        .unwrap();
        assert_eq!(db.get("key").unwrap().unwrap(), b"value"[..]);
        db.compact_range(None, None).unwrap();
        let tuner = tuner_of(&db);
        assert!(
            tuner
                .failure
                .is_some_and(|why| why.contains("TUNER-000000"))
        );
        db.close().unwrap();
    }
}
