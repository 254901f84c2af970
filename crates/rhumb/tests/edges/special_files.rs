//! What is no file stands in the place of a file of the store, or a file claims a length that was
//! never written: opening and each tool refuse it at once, by name and kind, and change nothing.
// A broken expectation is a failed test.
use crate::damage;
use crate::kit_watchdog;
use crate::special;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use damage::{Store, options};
use kit_watchdog::Watchdog;
use rhumb::{Db, TableWriter, inspect};
use special::{KINDS, TERABYTE, remove};

/// What each way to reach the store says.
fn answers(store: &Store, file: &Path) -> [(&'static str, Result<(), String>); 5] {
    let path = store.path();
    let said = |result: rhumb::Result<()>| result.map_err(|e| e.to_string());
    let quiet = &mut |_: inspect::VerifyProgress<'_>| {};
    [
        ("open", said(Db::open(&path, options()).map(drop))),
        (
            "open read-only",
            said(Db::open_read_only(&path, options()).map(drop)),
        ),
        (
            "verify",
            said(inspect::verify(&path, &options(), quiet).map(drop)),
        ),
        (
            "repair",
            said(inspect::repair(&path, &options(), quiet).map(drop)),
        ),
        (
            "dump",
            said(inspect::dump(file, &options(), &mut Vec::new())),
        ),
    ]
}

#[test]
fn what_is_no_file_is_refused_by_name_and_kind() {
    let _watchdog = Watchdog::new("special files");
    let store = Store::new();
    let image = store.image();
    let files = ["manifest", "log", "table"].map(|kind| store.files(kind).pop().unwrap());
    let names = ["LOCK", "CURRENT"].map(|name| store.path().join(name));
    for file in names.iter().chain(&files) {
        let away = store.path().with_extension("away");
        let name = file.file_name().unwrap().to_str().unwrap();
        // A lock file is not read, and of a table only what the manifest says is there.
        let never_read_whole = name == "LOCK" || name.ends_with("table");
        for (kind, make) in KINDS {
            if kind == "a sparse file" && never_read_whole {
                continue;
            }
            fs::rename(file, &away).unwrap();
            make(file);
            for (way, answer) in answers(&store, file) {
                let said = answer.expect_err(&format!("{way} takes {kind} for {name}"));
                let clear = said.contains(name) && said.contains(kind);
                assert!(clear, "{way}, {kind} in the place of {name}: {said}");
            }
            remove(file);
            fs::rename(&away, file).unwrap();
        }
    }
    assert!(store.image() == image, "something was changed");
    assert!(store.read() == store.contents);
}

#[test]
fn what_is_no_file_is_not_ingested() {
    let _watchdog = Watchdog::new("special files to ingest");
    let dir = tempfile::tempdir().unwrap();
    let (store, path) = (dir.path().join("store"), dir.path().join("outside"));
    let db = Db::open(&store, options()).unwrap();
    for (kind, make) in KINDS {
        make(&path);
        let said = db.ingest(&[&path]).expect_err(kind).to_string();
        // Of a sparse file it looks at the end first.
        let clear = said.contains("outside") && (said.contains(kind) || kind == "a sparse file");
        assert!(clear, "{kind}: {said}");
        remove(&path);
    }
    let names = fs::read_dir(&store)
        .unwrap()
        .map(|file| file.unwrap().file_name());
    let mut names = names.map(|name| name.into_string().unwrap());
    assert!(names.all(|name| !name.ends_with(".table")));
    let mut table = TableWriter::create(&path, &options()).unwrap();
    table.put("a", "1").unwrap();
    table.finish().unwrap();
    db.ingest(&[&path]).unwrap();
    assert_eq!(db.get("a").unwrap().as_deref(), Some(&b"1"[..]));
}

#[test]
fn special_files_that_the_store_does_not_know_are_left_alone() {
    let _watchdog = Watchdog::new("unknown special files");
    let store = Store::new();
    let theirs = ["pipe", "socket", "zero", "directory", "dangling", "loop"];
    for (name, (_, make)) in theirs.iter().zip(KINDS) {
        make(&store.path().join(name));
    }
    assert!(store.verify().unwrap().damage.is_empty());
    assert!(store.repair().lost.is_empty());
    drop(Db::open(store.path(), options()).unwrap());
    assert!(store.read() == store.contents);
    for name in theirs {
        assert!(
            fs::symlink_metadata(store.path().join(name)).is_ok(),
            "{name} is gone"
        );
    }
}

#[test]
fn a_link_to_a_file_serves_as_the_file() {
    let store = Store::new();
    let elsewhere = tempfile::tempdir().unwrap();
    for kind in ["table", "log", "manifest"] {
        let file = store.files(kind).pop().unwrap();
        let moved: PathBuf = elsewhere.path().join(file.file_name().unwrap());
        fs::copy(&file, &moved).unwrap();
        fs::remove_file(&file).unwrap();
        symlink(&moved, &file).unwrap();
    }
    assert!(store.verify().unwrap().damage.is_empty());
    assert!(store.read() == store.contents);
}

#[test]
fn a_table_that_claims_a_terabyte_is_damaged() {
    let _watchdog = Watchdog::new("a long table");
    let store = Store::new();
    let table = store.files("table").pop().unwrap();
    let file = fs::OpenOptions::new().write(true).open(&table).unwrap();
    file.set_len(TERABYTE).unwrap();
    let damage = store.verify().unwrap().damage;
    assert!(
        damage.iter().any(|d| d.to_string().contains("damaged")),
        "{damage:?}"
    );
    let report = store.repair();
    assert!(report.lost.iter().any(|l| l.path == table), "{report:?}");
    assert!(store.verify().unwrap().damage.is_empty());
}
