//! A burst of writes faster than tables can be written: memory and stalls stay bounded.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod kit;

use std::sync::Arc;
use std::time::{Duration, Instant};

use kit::script::{key, value};
use kit::{DIR, Random, deep, seed, tiny};
use rhumb::fs::MemoryFileSystem;
use rhumb::{Db, Durability, Options, TableSpec, WriteBatch};

/// The most write buffers at a time: one being filled, four waiting to be flushed.
const BUFFERS: u64 = 5;
/// How far the last write may exceed a full buffer, in bytes.
const OVERSHOOT: u64 = 64 << 10;
/// The longest time that a write may be delayed.
const LONGEST_STALL: Duration = Duration::from_secs(2);

#[test]
fn memory_and_stalls_are_bounded_in_a_burst() {
    let write_buffer_bytes = 256 << 10;
    let file_system = Arc::new(MemoryFileSystem::new());
    let options = Options {
        write_buffer_bytes,
        log_bytes: 4 << 20,
        durability: Durability::Buffered,
        table: TableSpec {
            table_bytes: 128 << 10,
            ..TableSpec::default()
        },
        ..tiny(file_system)
    };
    let db = Db::open(DIR, options).unwrap();
    let total = 24 * (1 << 20) * deep();
    let (mut random, started) = (Random(seed()), Instant::now());
    let (mut written, mut most_memory, mut longest) = (0, 0, Duration::ZERO);
    while written < total {
        let mut batch = WriteBatch::new();
        for _ in 0..8 {
            let value = value(&mut random, 500);
            batch.put(&db, key(random.below(40_000)), value).unwrap();
        }
        written += batch.bytes();
        let before = Instant::now();
        db.write(batch).unwrap();
        longest = longest.max(before.elapsed());
        let stats = db.stats().unwrap();
        most_memory = most_memory.max(stats.keyspaces[0].memtable_bytes);
    }
    let writes = db.stats().unwrap().writes;
    let (mib, time) = (written >> 20, started.elapsed().as_secs_f64());
    println!(
        "{mib} MiB in {time:.1} s, at most {} KiB of write buffers",
        most_memory >> 10
    );
    println!("{} slowdowns, {} stalls", writes.slowdowns, writes.stalls);
    println!(
        "the longest write took {longest:?}; {:?}",
        writes.stall_reasons
    );
    let bound = (write_buffer_bytes + OVERSHOOT) * BUFFERS;
    assert!(
        most_memory <= bound,
        "{most_memory} bytes of write buffers, bound {bound}"
    );
    assert!(longest <= LONGEST_STALL, "a write took {longest:?}");
    db.close().unwrap();
}
