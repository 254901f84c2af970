//! A small store with values apart from their keys, and what tests about it have in common.
#![allow(dead_code, reason = "each test uses its part")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::StdRng;
use rhumb::fs::MemoryFileSystem;
use rhumb::{Db, KeyspaceStats, Options, inspect};

/// What a keyspace holds.
pub type Content = BTreeMap<Vec<u8>, Vec<u8>>;

/// A small store whose values lie apart from 100 bytes on.
pub fn options(disk: &MemoryFileSystem, over_provision_percent: u32) -> Options {
    let mut options = Options {
        file_system: Arc::new(disk.clone()),
        write_buffer_bytes: 64 << 10,
        over_provision_percent,
        ..Options::in_memory()
    };
    options.table.separate_values = Some(100);
    options.table.table_bytes = 8 << 10;
    options.levels.level0_tables = 2;
    options.levels.base_bytes = 16 << 10;
    options.levels.size_ratio = 4;
    options
}

/// A number from the environment.
pub fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The generator of a test, which prints how to repeat it.
pub fn seeded(test: u64) -> StdRng {
    let seed = number("RHUMB_SEED", test);
    println!("seed {seed}: replay with RHUMB_SEED={seed}");
    StdRng::seed_from_u64(seed)
}

pub fn key(n: u32) -> Vec<u8> {
    format!("key{n:05}").into_bytes()
}

/// Checks the keys below a number, and a scan of all.
pub fn compare(db: &Db, keys: u32, content: &Content) {
    for n in 0..keys {
        let expected = content.get(&key(n)).map(Vec::as_slice);
        assert_eq!(db.get(key(n)).unwrap().as_deref(), expected, "key {n}");
    }
    let entries = db.iter().unwrap().map(|entry| {
        let (key, value) = entry.unwrap();
        (key.to_vec(), value.to_vec())
    });
    assert!(entries.eq(content.clone()), "a scan differs");
}

/// Checks that nothing is wrong with the files.
pub fn verify(options: &Options) {
    let report = inspect::verify(Path::new("store"), options, &mut |_| {}).unwrap();
    assert!(report.damage.is_empty(), "{:?}", report.damage);
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
}

pub fn default_keyspace(db: &Db) -> KeyspaceStats {
    db.stats().unwrap().keyspaces.remove(0)
}
