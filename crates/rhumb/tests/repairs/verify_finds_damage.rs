//! `verify` finds every flipped byte, truncation and missing file, and reports nothing in a sound
//! store.

use crate::damage::{Store, flip, options, truncate};
use rhumb::{Db, Error, inspect};

#[test]
fn a_sound_store_has_no_damage() {
    let store = Store::new();
    let report = store.verify().unwrap();
    assert!(report.damage.is_empty(), "{report:?}");
    assert!(report.warnings.is_empty(), "{report:?}");
    assert!(
        report.tables >= 3 && report.blocks > report.tables,
        "{report:?}"
    );
    assert!(report.entries as usize >= 1_000, "{report:?}");
    assert!(
        report.logs >= 1 && report.log_operations >= 100,
        "{report:?}"
    );
    assert!(report.bytes > 10_000, "{report:?}");
}

#[test]
fn every_flipped_byte_is_found() {
    let store = Store::new();
    let image = store.image();
    let (mut flips, mut silent) = (0, 0);
    for (path, bytes) in image.iter().filter(|(_, bytes)| !bytes.is_empty()) {
        let step = (bytes.len() / 40).max(1);
        let last = bytes.len().saturating_sub(8);
        for at in (0..bytes.len()).step_by(step).chain([1, 9, last]) {
            flip(path, at);
            let report = store.verify().unwrap();
            // Damage in the last write of a log or manifest cannot be told from a crash.
            let torn = report
                .warnings
                .iter()
                .any(|w| w.contains("has a torn tail"));
            let found = !report.damage.is_empty() || torn;
            assert!(found, "a flip at {at} of {} bytes of {path:?}", bytes.len());
            silent += usize::from(report.damage.is_empty());
            std::fs::write(path, bytes).unwrap();
            flips += 1;
        }
    }
    println!("{flips} flips, {silent} of them taken for the trace of a crash");
    assert!(silent <= 8, "{silent} of {flips}");
    assert!(store.verify().unwrap().damage.is_empty());
}

#[test]
fn cut_and_missing_files_are_found() {
    let store = Store::new();
    for (path, bytes) in store.image().iter().filter(|(_, bytes)| !bytes.is_empty()) {
        // A truncated log may have ended there in a crash.
        if path.extension().is_none_or(|e| e != "log") {
            truncate(path, bytes.len() / 3);
            assert!(!store.verify().unwrap().damage.is_empty(), "{path:?} cut");
        }
        std::fs::remove_file(path).unwrap();
        assert!(
            !store.verify().unwrap().damage.is_empty(),
            "{path:?} missing"
        );
        std::fs::write(path, bytes).unwrap();
    }
}

#[test]
fn files_that_belong_to_nothing_are_warned_of() {
    let store = Store::new();
    for name in [
        "999990.table",
        // Older than those in use.
        "000000.log",
        "999992.manifest",
        "x.tmp",
        "notes",
    ] {
        std::fs::write(store.path().join(name), "x").unwrap();
    }
    let report = store.verify().unwrap();
    assert!(report.damage.is_empty(), "{report:?}");
    assert_eq!(report.warnings.len(), 5, "{report:?}");
}

#[test]
fn a_log_with_writes_that_the_manifest_should_name_is_damage() {
    let store = Store::new();
    let log = store.path().join("999991.log");
    std::fs::write(&log, "").unwrap();
    assert!(store.verify().unwrap().damage.is_empty());
    std::fs::write(&log, "x").unwrap();
    let report = store.verify().unwrap();
    assert_eq!(report.damage.len(), 1, "{report:?}");
    assert!(report.warnings.is_empty(), "{report:?}");
    assert!(Db::open(store.path(), options()).is_err());
}

#[test]
fn a_missing_table_is_named_once() {
    let store = Store::new();
    std::fs::remove_file(store.files("table").pop().unwrap()).unwrap();
    let report = store.verify().unwrap();
    assert_eq!(report.damage.len(), 1, "{report:?}");
}

#[test]
fn an_open_store_is_locked_and_another_directory_is_no_store() {
    let store = Store::new();
    let db = Db::open(store.path(), options()).unwrap();
    assert!(matches!(store.verify(), Err(Error::Locked { .. })));
    let repair = inspect::repair(&store.path(), &options(), &mut |_| {});
    assert!(matches!(repair, Err(Error::Locked { .. })));
    db.close().unwrap();
    let reader = Db::open_read_only(store.path(), options()).unwrap();
    assert!(store.verify().unwrap().damage.is_empty());
    drop(reader);
    let empty = tempfile::tempdir().unwrap();
    for path in [empty.path().to_path_buf(), empty.path().join("missing")] {
        let verify = inspect::verify(&path, &options(), &mut |_| {});
        assert!(matches!(verify, Err(Error::NotFound { .. })), "{verify:?}");
    }
    assert_eq!(std::fs::read_dir(empty.path()).unwrap().count(), 0);
}
