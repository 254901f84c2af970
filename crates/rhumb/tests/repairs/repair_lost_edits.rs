//! The last edit of a manifest is damaged, or missing from its very start, after a crash: the files
//! still show what it said, and nothing that is sound is lost.
// A broken expectation is a failed test.

use std::fs;
use std::path::{Path, PathBuf};

use crate::damage::{self, flip, key, options, truncate};
use rhumb::inspect::{self, RepairReport, VerifyReport};
use rhumb::{Compaction, Db, Options};
use tempfile::TempDir;

/// What a crash left of an open store, without its last edit.
struct Crashed {
    dir: TempDir,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    /// One bit of the edit is wrong.
    Flipped,
    /// Nothing of it is there.
    CutOff,
}

const DAMAGES: [Damage; 2] = [Damage::Flipped, Damage::CutOff];

impl Crashed {
    /// Copies the files while the store is open, as `work` left it.
    fn new(options: Options, damage: Damage, work: impl FnOnce(&Path, Options) -> Db) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let live = dir.path().join("live");
        let db = work(&live, options);
        let crashed = Crashed { dir };
        fs::create_dir(crashed.path()).unwrap();
        for file in fs::read_dir(&live).unwrap().map(|f| f.unwrap().path()) {
            fs::copy(&file, crashed.path().join(file.file_name().unwrap())).unwrap();
        }
        drop(db);
        let manifest = crashed.files("manifest").pop().unwrap();
        match damage {
            Damage::Flipped => flip(&manifest, fs::read(&manifest).unwrap().len() - 1),
            Damage::CutOff => truncate(&manifest, last_edit(&manifest)),
        }
        crashed
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("crashed")
    }

    fn files(&self, extension: &str) -> Vec<PathBuf> {
        let files = fs::read_dir(self.path())
            .unwrap()
            .map(|f| f.unwrap().path());
        // A log without writes is one that was begun for those to come.
        let mut files: Vec<_> = files
            .filter(|f| f.extension().is_some_and(|e| e == extension))
            .filter(|f| f.metadata().unwrap().len() > 0)
            .collect();
        files.sort();
        files
    }

    fn verify(&self) -> VerifyReport {
        inspect::verify(&self.path(), &options(), &mut |_| {}).unwrap()
    }

    /// Repairs what opening and `verify` both call damaged, and checks that it is sound then.
    fn repair(&self) -> RepairReport {
        assert!(Db::open(self.path(), options()).is_err());
        assert!(Db::open_read_only(self.path(), options()).is_err());
        assert!(!self.verify().damage.is_empty());
        let report = inspect::repair(&self.path(), &options(), &mut |_| {}).unwrap();
        let sound = self.verify();
        assert!(sound.damage.is_empty(), "{sound:?} after {report:?}");
        report
    }

    fn open(&self) -> Db {
        Db::open(self.path(), options()).unwrap()
    }
}

/// Where the edits of a manifest start.
fn edits(manifest: &Path) -> Vec<usize> {
    let mut out = Vec::new();
    inspect::dump(manifest, &options(), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let edits = text.lines().filter(|l| l.contains(": edit, durable"));
    let offset = |line: &str| line.split_once(':').unwrap().0.parse().unwrap();
    edits.map(offset).collect()
}

/// Where the last edit of a manifest starts.
fn last_edit(manifest: &Path) -> usize {
    edits(manifest).pop().unwrap()
}

/// The number of entries, all of which must have this value.
fn count(db: &rhumb::Keyspace, value: &str) -> usize {
    let entries = db.iter().unwrap().map(|e| e.unwrap());
    entries
        .inspect(|(key, found)| assert_eq!(&found[..], value.as_bytes(), "{key:?}"))
        .count()
}

/// Merges the tables of the default keyspace and of another one, of which the latter is last.
fn merge_tables(path: &Path, options: Options) -> Db {
    let db = Db::open(path, options.clone()).unwrap();
    let users = db.create_keyspace("users").unwrap();
    for value in ["old", "new"] {
        for i in 0..300 {
            db.put(key(i), "default").unwrap();
            users.put(key(i), value).unwrap();
        }
        db.flush().unwrap();
        users.flush().unwrap();
    }
    db.settle();
    drop(users);
    db.close().unwrap();
    let db = Db::open(path, options).unwrap();
    let users = db.keyspace("users").unwrap();
    users.compact_range(None, None).unwrap();
    db.settle();
    db
}

#[test]
fn a_merge_whose_edit_is_lost_keeps_its_table() {
    for damage in DAMAGES {
        let crashed = Crashed::new(options(), damage, merge_tables);
        let report = crashed.repair();
        let lost = usize::from(damage == Damage::Flipped);
        assert_eq!(report.lost.len(), lost, "only the edit itself: {report:?}");
        for _ in 0..2 {
            let db = crashed.open();
            assert_eq!(count(&db, "default"), 300, "{damage:?}: {report:?}");
            let users = db.keyspace("users").unwrap();
            assert_eq!(count(&users, "new"), 300, "{damage:?}: {report:?}");
            assert_eq!(db.keyspaces().len(), 2);
        }
    }
}

#[test]
fn a_log_whose_removal_is_lost_costs_no_later_log() {
    let keys = std::cell::Cell::new(0);
    // Several logs for one buffer.
    let large = Options {
        write_buffer_bytes: 4 << 20,
        log_bytes: 4 << 20,
        ..options()
    };
    for damage in DAMAGES {
        let crashed = Crashed::new(large.clone(), damage, |path, options| {
            let db = Db::open(path, options).unwrap();
            // Until a full buffer has become a table: the removal of its logs is the last edit then.
            let mut written = 0;
            while db.stats().unwrap().writes.flushes == 0 {
                db.put(key(written), "v".repeat(1_000)).unwrap();
                written += 1;
                db.settle();
            }
            for i in 0..50 {
                db.put(format!("late{i}"), "w").unwrap();
            }
            db.sync().unwrap();
            assert!((3_000..5_000).contains(&written), "{written}");
            keys.set(written as usize + 50);
            db
        });
        let report = crashed.repair();
        assert!(report.operations_saved >= 50, "{damage:?}: {report:?}");
        if damage == Damage::CutOff {
            assert!(report.lost.is_empty(), "{report:?}");
            assert!(!report.notes.is_empty(), "{report:?}");
        }
        let found = crashed.open().iter().unwrap().count();
        assert_eq!(found, keys.get(), "{damage:?}");
    }
}

#[test]
fn a_flush_whose_edits_are_lost_keeps_its_table() {
    let crashed = Crashed::new(options(), Damage::CutOff, |path, options| {
        let db = Db::open(path, options).unwrap();
        for i in 0..100 {
            db.put(key(i), "flushed").unwrap();
        }
        db.sync().unwrap();
        db.close().unwrap();
        let db = Db::open(path, damage::options()).unwrap();
        db.flush().unwrap();
        db.settle();
        db
    });
    assert!(crashed.files("log").is_empty());
    // The removal of the log is cut off; now what put the table there, too.
    let manifest = crashed.files("manifest").pop().unwrap();
    truncate(&manifest, last_edit(&manifest));
    let report = crashed.repair();
    assert_eq!(report.lost.len(), 1, "the log: {report:?}");
    assert_eq!(count(&crashed.open(), "flushed"), 100, "{report:?}");
}

/// The first edit of a manifest describes a store in itself, so only the table tells of the edits behind it.
#[test]
fn a_manifest_cut_behind_its_first_edit_does_not_pass_for_a_new_store() {
    // At the end of the first edit, and inside the second.
    for behind in [0, 5] {
        let crashed = Crashed::new(options(), Damage::CutOff, |path, options| {
            let db = Db::open(path, options).unwrap();
            for i in 0..100 {
                db.put(key(i), "flushed").unwrap();
            }
            db.flush().unwrap();
            db.settle();
            db
        });
        assert!(crashed.files("log").is_empty());
        assert_eq!(crashed.files("table").len(), 1);
        let manifest = crashed.files("manifest").pop().unwrap();
        truncate(&manifest, edits(&manifest)[1] + behind);
        let report = crashed.repair();
        assert!(!report.all_saved(), "{report:?}");
        assert_eq!(count(&crashed.open(), "flushed"), 100, "{report:?}");
    }
}

/// A crash between a flush and its edit leaves such a table too: the log has all of it.
#[test]
fn a_table_that_no_edit_names_is_deleted_where_the_log_has_its_writes() {
    let crashed = Crashed::new(options(), Damage::CutOff, |path, options| {
        let db = Db::open(path, options).unwrap();
        let users = db.create_keyspace("users").unwrap();
        for i in 0..100 {
            db.put(key(i), "flushed").unwrap();
            users.put(key(i), "in the log only").unwrap();
        }
        // The log stays, since only it has the writes of the other keyspace.
        db.flush().unwrap();
        db.settle();
        db
    });
    assert_eq!(crashed.files("log").len(), 1);
    assert!(crashed.verify().damage.is_empty());
    assert_eq!(count(&crashed.open(), "flushed"), 100);
}

#[test]
fn a_missing_log_that_may_be_needed_is_lost_and_cuts_what_follows() {
    let several = Options {
        write_buffer_bytes: 4 << 20,
        ..options()
    };
    let crashed = Crashed::new(several, Damage::CutOff, |path, options| {
        let db = Db::open(path, options.clone()).unwrap();
        for i in 0..100 {
            db.put(key(i), "first life").unwrap();
        }
        db.close().unwrap();
        let db = Db::open(path, options).unwrap();
        for i in 0..100 {
            db.put(key(i + 50), "second life").unwrap();
        }
        db.sync().unwrap();
        // The edit that is cut off.
        db.create_keyspace("users").unwrap();
        db
    });
    let logs = crashed.files("log");
    assert!(logs.len() >= 2, "{logs:?}");
    fs::remove_file(&logs[0]).unwrap();
    let report = crashed.repair();
    assert!(report.lost.iter().any(|l| l.path == logs[0]), "{report:?}");
    assert_eq!(crashed.open().iter().unwrap().count(), 0);
    let name = logs[1].file_name().unwrap();
    assert!(crashed.path().join("lost").join(name).exists());
}

#[test]
fn a_log_whose_begin_is_damaged_is_found() {
    for damage in DAMAGES {
        let crashed = Crashed::new(options(), damage, |path, options| {
            let db = Db::open(path, options).unwrap();
            for i in 0..100 {
                db.put(key(i), "v").unwrap();
            }
            db.sync().unwrap();
            db
        });
        let report = crashed.repair();
        assert_eq!(report.operations_saved, 100, "{damage:?}: {report:?}");
        assert_eq!(count(&crashed.open(), "v"), 100);
    }
}

#[test]
fn a_keyspace_whose_creation_is_lost_keeps_what_is_in_logs() {
    for damage in DAMAGES {
        let crashed = Crashed::new(options(), damage, |path, options| {
            let db = Db::open(path, options).unwrap();
            db.put("a", "1").unwrap();
            let users = db.create_keyspace("users").unwrap();
            users.put("b", "2").unwrap();
            db.sync().unwrap();
            db
        });
        let report = crashed.repair();
        assert_eq!(report.operations_saved, 2, "{damage:?}: {report:?}");
        let db = crashed.open();
        assert_eq!(count(&db, "1"), 1);
        let users = db.keyspace("recovered-keyspace-1").unwrap();
        assert_eq!(count(&users, "2"), 1);
    }
}

#[test]
fn without_manifest_the_tables_of_a_dropped_keyspace_stay_out_of_others() {
    // The edit that drops the keyspace is whole; its tables are still there.
    let dir = tempfile::tempdir().unwrap();
    let db = Db::open(dir.path(), options()).unwrap();
    let users = db.create_keyspace("users").unwrap();
    for i in 0..300 {
        db.put(key(i), "default").unwrap();
        users.put(key(i), "users").unwrap();
    }
    users.flush().unwrap();
    let tables = || -> Vec<(PathBuf, Vec<u8>)> {
        let files = fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().path());
        let tables = files.filter(|f| f.extension().is_some_and(|e| e == "table"));
        tables.map(|f| (f.clone(), fs::read(f).unwrap())).collect()
    };
    let dropped = tables();
    drop(users);
    db.drop_keyspace("users").unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    // The manifest of the next life names the keyspace no more.
    Db::open(dir.path(), options()).unwrap().close().unwrap();
    let live = tables();
    for (path, bytes) in &dropped {
        fs::write(path, bytes).unwrap();
    }
    // A table that is gone makes repair look for others.
    let gone = live
        .iter()
        .find(|(path, _)| !dropped.iter().any(|(d, _)| d == path));
    fs::remove_file(&gone.unwrap().0).unwrap();
    let report = inspect::repair(dir.path(), &options(), &mut |_| {}).unwrap();
    assert!(
        report.lost.iter().any(|l| l.path == gone.unwrap().0),
        "{report:?}"
    );
    let db = Db::open(dir.path(), options()).unwrap();
    assert_eq!(db.keyspaces(), ["default"]);
    assert_eq!(db.iter().unwrap().count(), 0);
    for (path, _) in &dropped {
        assert!(
            dir.path()
                .join("lost")
                .join(path.file_name().unwrap())
                .exists()
        );
    }
}

/// A run that only moves changes no file, so that nothing but its edit says that newer ones passed it.
#[test]
fn newer_runs_stay_newer_whichever_edit_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let live = dir.path().join("live");
    let mut tiered = options();
    tiered.levels.compaction = Compaction::Tiered;
    tiered.levels.level0_tables = 1;
    let db = Db::open(&live, tiered).unwrap();
    for value in ["old", "newer", "new"] {
        for i in 0..300 {
            db.put(key(i), value).unwrap();
        }
        db.flush().unwrap();
        db.settle();
    }
    let stats = db.stats().unwrap();
    assert_eq!(
        (
            stats.writes.trivial_moves,
            stats.keyspaces[0].levels[1].runs
        ),
        (3, 3)
    );
    db.close().unwrap();
    let files = fs::read_dir(&live).unwrap().map(|f| f.unwrap().path());
    let files: Vec<PathBuf> = files.collect();
    let manifest = files
        .iter()
        .find(|f| f.extension().is_some_and(|e| e == "manifest"));
    let manifest = manifest.unwrap();
    let edits = edits(manifest);
    let mut repaired = 0;
    for (n, at) in edits.iter().enumerate().skip(1) {
        let damaged = dir.path().join(format!("without-{n}"));
        fs::create_dir(&damaged).unwrap();
        for file in &files {
            fs::copy(file, damaged.join(file.file_name().unwrap())).unwrap();
        }
        flip(&damaged.join(manifest.file_name().unwrap()), at + 4);
        if Db::open_read_only(&damaged, options()).is_err() {
            inspect::repair(&damaged, &options(), &mut |_| {}).unwrap();
            repaired += 1;
        }
        let db = Db::open_read_only(&damaged, options()).unwrap();
        assert_eq!(count(&db, "new"), 300, "without edit {n}");
    }
    assert!(repaired > 5, "{repaired} of {}", edits.len());
}

#[test]
fn a_damaged_last_edit_leaves_a_doubt() {
    let crashed = Crashed::new(options(), Damage::Flipped, |path, options| {
        let db = Db::open(path, options).unwrap();
        db.put("a", "1").unwrap();
        db.sync().unwrap();
        db.create_keyspace("users").unwrap();
        db
    });
    // It may have been cut short by the crash, so the store opens, without the keyspace.
    assert_eq!(
        Db::open_read_only(crashed.path(), options())
            .unwrap()
            .keyspaces(),
        ["default"]
    );
    let report = inspect::repair(&crashed.path(), &options(), &mut |_| {}).unwrap();
    let manifest = crashed
        .files("manifest")
        .pop()
        .unwrap()
        .display()
        .to_string();
    let doubted = report
        .doubts
        .iter()
        .any(|doubt| doubt.what.starts_with(&manifest));
    assert!(report.lost.is_empty() && doubted, "{report:?}");
}
