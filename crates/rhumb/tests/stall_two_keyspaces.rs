//! One keyspace is written as fast as the store takes it, another now and then: neither may make writers
//! wait for long.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod kit;

use std::sync::Arc;
use std::time::{Duration, Instant};

use kit::script::{key, value};
use kit::{DIR, Random, deep, seed};
use rhumb::fs::MemoryFileSystem;
use rhumb::{Db, Durability, Levels, Options, TableSpec, WriteBatch};

const LIGHT: &str = "light";
/// The longest time that a write may be delayed.
const LONGEST_STALL: Duration = Duration::from_secs(2);

/// The runs in level 0 of a keyspace.
fn runs(db: &Db, name: &str) -> u64 {
    let stats = db.stats().unwrap();
    let keyspace = stats.keyspaces.iter().find(|k| k.name == name).unwrap();
    keyspace.levels[0].runs
}

#[test]
fn a_busy_keyspace_leaves_merges_to_a_light_one() {
    let options = Options {
        write_buffer_bytes: 64 << 10,
        log_bytes: 1 << 20,
        durability: Durability::Buffered,
        compaction_threads: 1,
        table: TableSpec {
            table_bytes: 128 << 10,
            ..TableSpec::default()
        },
        // Deep levels, so that the busy keyspace always has more to merge.
        levels: Levels {
            size_ratio: 2,
            base_bytes: 64 << 10,
            ..Levels::default()
        },
        file_system: Arc::new(MemoryFileSystem::new()),
        ..Options::default()
    };
    let db = Db::open(DIR, options).unwrap();
    let light = db.create_keyspace(LIGHT).unwrap();
    let total = (48 << 20) * deep();
    let (mut random, started) = (Random(seed()), Instant::now());
    let (mut written, mut longest, mut most, mut batches) = (0, Duration::ZERO, 0, 0u64);
    while written < total {
        let mut batch = WriteBatch::new();
        for _ in 0..8 {
            let value = value(&mut random, 500);
            batch.put(&db, key(random.below(100_000)), value).unwrap();
        }
        batches += 1;
        if batches.is_multiple_of(20) {
            batch.put(&light, key(random.below(1000)), "light").unwrap();
        }
        written += batch.bytes();
        let before = Instant::now();
        db.write(batch).unwrap();
        longest = longest.max(before.elapsed());
        if batches.is_multiple_of(20) {
            light.flush().unwrap();
            most = most.max(runs(&db, LIGHT));
        }
    }
    let writes = db.stats().unwrap().writes;
    let time = started.elapsed().as_secs_f64();
    println!(
        "{} MiB in {time:.1} s, {} slowdowns, {} stalls",
        written >> 20,
        writes.slowdowns,
        writes.stalls
    );
    println!(
        "at most {most} runs in level 0 of the light keyspace, {} of the busy one",
        runs(&db, "default")
    );
    println!(
        "the longest write took {longest:?}, the longest wait {:?}; {:?}",
        writes.longest_stall, writes.stall_reasons
    );
    assert!(longest <= LONGEST_STALL, "a write took {longest:?}");
    db.close().unwrap();
}
