//! Bourbon's form of a store: PLR with an error of 8 over blocks of 4 KiB, and values in files of their own.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rhumb::fs::MemoryFileSystem;
use rhumb::{Db, Options, inspect};

const SEED: u64 = 8;

/// Plain, and with values in groups. A boundary of 18 is an error of 8.
fn options(disk: &MemoryFileSystem, table: &str) -> Options {
    let mut options = Options {
        file_system: Arc::new(disk.clone()),
        index: "plr:boundary=18".parse().unwrap(),
        table: table.parse().unwrap(),
        write_buffer_bytes: 256 << 10,
        over_provision_percent: 10,
        ..Options::in_memory()
    };
    options.levels.level0_tables = 2;
    options.levels.base_bytes = 16 << 10;
    options
}

fn key(n: u64) -> [u8; 8] {
    // Gaps that no line fits exactly.
    (n * n * 3 + n * 1_000).to_be_bytes()
}

fn compare(db: &Db, content: &BTreeMap<[u8; 8], Vec<u8>>) {
    for (key, value) in content {
        assert_eq!(db.get(key).unwrap().as_deref(), Some(&value[..]));
    }
    assert_eq!(db.get(1u64.to_be_bytes()).unwrap(), None);
    let mut iter = db.iter().unwrap();
    for (key, value) in content {
        assert!(iter.advance().unwrap());
        assert_eq!((iter.key(), iter.value()), (&key[..], &value[..]));
    }
    assert!(!iter.advance().unwrap());
}

#[test]
fn plr_over_blocks_of_bytes_finds_values_in_their_files() {
    println!("seed {SEED}");
    for groups in ["", ",groups=4"] {
        let disk = MemoryFileSystem::new();
        let table = format!("partition=bytes(4096),values=1KiB{groups},size=256KiB");
        let options = options(&disk, &table);
        let db = Db::open("store", options.clone()).unwrap();
        let (mut content, mut random) = (BTreeMap::new(), StdRng::seed_from_u64(SEED));
        for n in 0..12_000u64 {
            let n = if n < 3_000 {
                n
            } else {
                random.random_range(0..3_000)
            };
            let value = vec![random.random(); random.random_range(900..1_300)];
            db.put(key(n), &value).unwrap();
            content.insert(key(n), value);
        }
        db.flush().unwrap();
        db.settle();
        compare(&db, &content);
        let stats = db.stats().unwrap();
        let keyspace = &stats.keyspaces[0];
        assert!(stats.writes.collections > 0 && keyspace.value_files > 0);
        // Tables of a few blocks have fence pointers, which are smaller.
        assert!(keyspace.index_kinds.contains_key("plr"), "{stats}");
        db.close().unwrap();
        let report = inspect::verify(Path::new("store"), &options, &mut |_| {}).unwrap();
        assert!(report.damage.is_empty(), "{:?}", report.damage);
        compare(&Db::open("store", options).unwrap(), &content);
    }
}
