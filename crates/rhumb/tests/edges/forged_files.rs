//! Forged bytes cost time that grows as the file does, and memory that grows no faster.
// A broken expectation is a failed test.
use crate::damage;
use crate::kit_watchdog;

use std::fs;
use std::path::Path;

use damage::{Store, options};
use kit_watchdog::Watchdog;
use rhumb::{Db, inspect};

/// Looked through piece by piece, as long as each claims to be, so many bytes take an hour.
const FORGED_BYTES: usize = 16 << 20;

/// What claims, every 16 bytes, to be a record of half of them.
fn records() -> Vec<u8> {
    let mut forged = Vec::with_capacity(FORGED_BYTES);
    while forged.len() < FORGED_BYTES {
        forged.extend(0xFEED_u32.to_le_bytes());
        forged.extend((FORGED_BYTES as u32 / 2).to_le_bytes());
        forged.extend(0u64.to_le_bytes());
    }
    forged
}

/// What claims, every 48 bytes, to be a frame of log `id` of half of them.
fn frames(id: u64, from: usize) -> Vec<u8> {
    let mut forged = Vec::with_capacity(FORGED_BYTES);
    while forged.len() < FORGED_BYTES {
        let at = (from + forged.len()) as u64;
        forged.extend(0xFEED_u32.to_le_bytes());
        forged.extend((FORGED_BYTES as u32 / 2).to_le_bytes());
        forged.extend([1, 0, 0, 0, 1, 0, 0, 0]);
        for number in [id, at, 1 << 40, 0] {
            forged.extend(number.to_le_bytes());
        }
    }
    forged
}

fn append(path: &Path, bytes: &[u8]) {
    let mut all = fs::read(path).unwrap();
    all.extend(bytes);
    fs::write(path, all).unwrap();
}

/// Nothing is lost, but it is looked for in all that is there.
fn use_it(store: &Store, forged: &Path, watchdog: &Watchdog) {
    let name = forged.file_name().unwrap().to_str().unwrap().to_string();
    watchdog.now(format!("verify, {name}"));
    assert!(store.verify().unwrap().damage.is_empty());
    watchdog.now(format!("dump, {name}"));
    inspect::dump(forged, &options(), &mut std::io::sink()).unwrap();
    watchdog.now(format!("repair, {name}"));
    store.repair();
    watchdog.now(format!("open, {name}"));
    drop(Db::open(store.path(), options()).unwrap());
    assert!(store.read() == store.contents);
}

#[test]
fn a_forged_manifest_is_read_in_linear_time() {
    let watchdog = Watchdog::new("a manifest");
    let store = Store::new();
    let manifest = store.files("manifest").pop().unwrap();
    append(&manifest, &records());
    use_it(&store, &manifest, &watchdog);
}

#[test]
fn a_forged_log_is_read_in_linear_time() {
    let watchdog = Watchdog::new("a log");
    let store = Store::new();
    let log = store.files("log").pop().unwrap();
    let id = log.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    let from = fs::read(&log).unwrap().len();
    append(&log, &frames(id, from));
    use_it(&store, &log, &watchdog);
}
