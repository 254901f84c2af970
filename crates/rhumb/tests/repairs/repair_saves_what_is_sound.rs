//! `repair` saves all that checksums vouch for, names the rest, and leaves a store that opens.

use std::path::PathBuf;

use std::fs;

use crate::damage::{self, Contents, Store, flip, truncate};

/// How many keys of `expected` have another value, or none, in `found`.
fn missing(found: &Contents, expected: &Contents) -> usize {
    expected
        .iter()
        .filter(|(key, value)| found.get(*key) != Some(value))
        .count()
}

#[test]
fn a_sound_store_is_left_as_it_is() {
    let store = Store::new();
    let before = store.image();
    let report = store.repair();
    assert!(report.all_saved() && report.notes.is_empty(), "{report:?}");
    assert!(
        report.tables_kept >= 3 && report.tables_rewritten == 0,
        "{report:?}"
    );
    assert!(store.image() == before);
}

#[test]
fn a_damaged_block_costs_only_its_own_keys() {
    let store = Store::new();
    // Threads decide where tables end, and nothing is left of one with a single block.
    let has_many_blocks = |table: &PathBuf| fs::metadata(table).unwrap().len() > 10_000;
    let mut tables = store.files("table").into_iter();
    let table = tables.rfind(has_many_blocks).unwrap();
    flip(&table, 20);
    assert!(!store.verify().unwrap().damage.is_empty());
    let (report, found) = store.repair_and_check();
    assert_eq!(report.lost.len(), 1, "{report:?}");
    assert_eq!((&report.lost[0].path, report.lost[0].offset), (&table, 0));
    assert_eq!(report.tables_rewritten, 1);
    let missing = missing(&found, &store.contents);
    // Some may have newer versions elsewhere.
    assert!(missing <= 60, "{missing} keys are lost");
    let name = table.file_name().unwrap().to_str().unwrap();
    assert_eq!(store.lost_files(), [name]);
}

#[test]
fn damage_behind_the_blocks_costs_nothing() {
    let store = Store::new();
    let image = store.image();
    // Of another one, newer versions elsewhere may hide all: each round writes the same keys.
    let costs = |table: &PathBuf| {
        store.restore(&image);
        truncate(table, 1_000);
        store.repair_and_check().1 != store.contents
    };
    let table = store.files("table").into_iter().rfind(costs).unwrap();
    let bytes = &image[&table];
    let footer = bytes.len() - 48;
    let sections = u64::from_le_bytes(bytes[footer + 8..footer + 16].try_into().unwrap()) as usize;
    let (mut nothing_lost, mut all_lost) = (0, 0);
    for at in (sections..bytes.len()).step_by((bytes.len() - sections) / 40) {
        store.restore(&image);
        flip(&table, at);
        let (report, found) = store.repair_and_check();
        assert_eq!(
            report.lost.is_empty(),
            found == store.contents,
            "a flip at {at}"
        );
        match report.lost.is_empty() {
            true => nothing_lost += 1,
            // Without directory, rows or footer nobody knows where the blocks are.
            false => all_lost += 1,
        }
    }
    println!("{nothing_lost} tables without loss, {all_lost} with");
    assert!(nothing_lost >= 20, "{nothing_lost} and {all_lost}");
}

#[test]
fn a_table_without_end_is_lost_and_the_others_are_not() {
    let store = Store::new();
    let table = store.files("table").pop().unwrap();
    truncate(&table, 1_000);
    let (report, found) = store.repair_and_check();
    assert_eq!(report.lost.len(), 1, "{report:?}");
    assert!(report.lost[0].what.contains("whole table"), "{report:?}");
    assert!(report.tables_kept >= 2);
    assert!(!found.is_empty());
    let table = store.files("table").pop().unwrap();
    fs::remove_file(&table).unwrap();
    let (report, _) = store.repair_and_check();
    assert!(report.lost.iter().any(|l| l.path == table), "{report:?}");
}

#[test]
fn a_log_is_kept_up_to_the_damage() {
    let store = Store::new();
    let (image, log) = (store.image(), store.files("log").pop().unwrap());
    let bytes = image[&log].len();
    let mut before = 0;
    for at in [5, bytes / 3, bytes / 2] {
        store.restore(&image);
        flip(&log, at);
        let (report, found) = store.repair_and_check();
        let loss = report
            .lost
            .iter()
            .find(|l| l.path == log)
            .expect("the log is named");
        assert!(loss.offset as usize <= at, "{report:?}");
        assert!(loss.what.contains("are not replayed"), "{report:?}");
        assert!(
            report.operations_saved >= before,
            "more of the log is more operations"
        );
        before = report.operations_saved;
        assert!(missing(&found, &store.contents) > 0);
        let name = log.file_name().unwrap().to_str().unwrap();
        assert_eq!(store.lost_files(), [name]);
        let kept = fs::read(store.path().join("lost").join(name)).unwrap();
        assert_eq!(kept.len(), bytes, "the damaged log is kept whole");
    }
    assert!(before > 0);
}

#[test]
fn a_missing_log_is_named() {
    let store = Store::new();
    let log = store.files("log").pop().unwrap();
    fs::remove_file(&log).unwrap();
    let (report, _) = store.repair_and_check();
    assert!(report.lost.iter().any(|l| l.path == log), "{report:?}");
}

#[test]
fn a_table_that_nothing_names_outlives_the_repair() {
    let store = Store::new();
    let table = store.files("table").pop().unwrap();
    let stray = store.path().join("000999.table");
    // Read now: the store may merge the table when it is written to.
    let bytes = fs::read(&table).unwrap();
    fs::write(&stray, &bytes).unwrap();
    flip(&store.files("log").pop().unwrap(), 5);
    store.repair_and_check();
    assert!(!stray.exists());
    let kept = fs::read(store.path().join("lost/000999.table")).unwrap();
    assert_eq!(kept, bytes);
}

#[test]
fn tables_beside_those_they_were_merged_into_do_no_harm() {
    use rhumb::Db;
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(dir.path(), damage::options()).unwrap();
    for value in ["old", "new"] {
        for i in 0..300 {
            db.put(damage::key(i), value).unwrap();
        }
        db.delete(damage::key(7)).unwrap();
        db.flush().unwrap();
    }
    let tables = || -> Vec<_> {
        let files = fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().path());
        let tables = files.filter(|f| f.extension().is_some_and(|e| e == "table"));
        tables.map(|f| (f.clone(), fs::read(f).unwrap())).collect()
    };
    let before = tables();
    db.compact_range(None, None).unwrap();
    db.close().unwrap();
    assert!(
        tables()
            .iter()
            .all(|(path, _)| !before.iter().any(|(b, _)| b == path))
    );
    for (path, bytes) in before {
        fs::write(path, bytes).unwrap();
    }
    for file in fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().path()) {
        let name = file.file_name().unwrap().to_str().unwrap();
        if name.ends_with("manifest") || name == "CURRENT" {
            fs::remove_file(file).unwrap();
        }
    }
    let report = rhumb::inspect::repair(dir.path(), &damage::options(), &mut |_| {}).unwrap();
    assert!(
        report.lost.is_empty() && report.tables_rewritten >= 3,
        "{report:?}"
    );
    let db = Db::open(dir.path(), damage::options()).unwrap();
    let found: Vec<_> = db.iter().unwrap().map(|e| e.unwrap()).collect();
    assert_eq!(found.len(), 299);
    assert!(found.iter().all(|(_, value)| value[..] == *b"new"));
}

#[test]
fn without_current_nothing_is_lost() {
    let store = Store::new();
    let (image, current) = (store.image(), store.path().join("CURRENT"));
    for damage in 0..3 {
        store.restore(&image);
        match damage {
            0 => flip(&current, 13),
            1 => truncate(&current, 7),
            _ => fs::remove_file(&current).unwrap(),
        }
        let (report, found) = store.repair_and_check();
        assert!(report.lost.is_empty(), "{report:?}");
        assert!(
            !report.doubts.is_empty(),
            "a newer manifest may be gone: {report:?}"
        );
        assert!(found == store.contents);
    }
}

#[test]
fn a_damaged_manifest_costs_no_entry() {
    let store = Store::new();
    let (image, manifest) = (store.image(), store.files("manifest").pop().unwrap());
    let bytes = image[&manifest].len();
    for at in [2, 14, 20, bytes / 4, bytes / 2, 3 * bytes / 4, bytes - 3] {
        store.restore(&image);
        flip(&manifest, at);
        let refused = !store.verify().unwrap().damage.is_empty();
        let (report, found) = store.repair_and_check();
        assert_eq!(refused, !report.lost.is_empty(), "{report:?}");
        // Values that were overwritten may come back, and so may deleted keys; none may be missing.
        let gone = store
            .contents
            .keys()
            .filter(|k| !found.contains_key(*k))
            .count();
        assert_eq!(gone, 0, "a flip at {at} of {bytes}: {report:?}");
    }
}

#[test]
fn without_any_manifest_tables_and_logs_are_put_together() {
    let store = Store::new();
    for manifest in store.files("manifest") {
        fs::remove_file(manifest).unwrap();
    }
    fs::remove_file(store.path().join("CURRENT")).unwrap();
    let (report, found) = store.repair_and_check();
    assert!(report.lost.is_empty() && !report.all_saved(), "{report:?}");
    assert!(report.tables_rewritten > 0, "{report:?}");
    assert_eq!(missing(&found, &store.contents), 0);
}

#[test]
fn without_any_manifest_tables_go_back_to_their_keyspaces() {
    use rhumb::Db;
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(dir.path(), damage::options()).unwrap();
    let users = db.create_keyspace("users").unwrap();
    for i in 0..500 {
        db.put(damage::key(i), "default").unwrap();
        users.put(damage::key(i), "users").unwrap();
    }
    db.flush().unwrap();
    users.flush().unwrap();
    users.put("late", "in the log").unwrap();
    drop(users);
    db.close().unwrap();
    for file in fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().path()) {
        let name = file.file_name().unwrap().to_str().unwrap();
        if name.ends_with("manifest") || name == "CURRENT" {
            fs::remove_file(file).unwrap();
        }
    }
    rhumb::inspect::repair(dir.path(), &damage::options(), &mut |_| {}).unwrap();
    let db = Db::open(dir.path(), damage::options()).unwrap();
    assert_eq!(db.keyspaces(), ["default", "recovered-keyspace-1"]);
    for (name, value) in [("default", "default"), ("recovered-keyspace-1", "users")] {
        let entries = db.keyspace(name).unwrap();
        let found = entries.iter().unwrap().map(|e| e.unwrap());
        let late = |(key, _): &(rhumb::Key, _)| key == b"late";
        let (late, found): (Vec<_>, Vec<_>) = found.partition(late);
        assert_eq!(
            (late.len(), found.len()),
            (usize::from(value == "users"), 500)
        );
        assert!(
            found.iter().all(|(_, v)| v[..] == *value.as_bytes()),
            "{name}"
        );
    }
}

#[test]
fn range_deletes_outlive_the_rewriting_of_their_table() {
    use rhumb::Db;
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(dir.path(), damage::options()).unwrap();
    for i in 0..300 {
        db.put(damage::key(i), "old").unwrap();
    }
    db.flush().unwrap();
    db.delete_range(damage::key(100)..damage::key(200)).unwrap();
    for i in 250..500 {
        db.put(damage::key(i), "new").unwrap();
    }
    db.flush().unwrap();
    db.close().unwrap();
    let mut tables: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|f| f.unwrap().path())
        .collect();
    tables.retain(|f| f.extension().is_some_and(|e| e == "table"));
    tables.sort();
    assert_eq!(tables.len(), 2, "no compaction was due");
    flip(&tables[1], 50);
    let report = rhumb::inspect::repair(dir.path(), &damage::options(), &mut |_| {}).unwrap();
    assert_eq!(
        (report.tables_rewritten, report.lost.len()),
        (1, 1),
        "{report:?}"
    );
    let db = Db::open_read_only(dir.path(), damage::options()).unwrap();
    for i in 0..250 {
        let found = db.get(damage::key(i)).unwrap();
        assert_eq!(found.is_none(), (100..200).contains(&i), "key {i}");
    }
}
