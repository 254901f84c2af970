//! Measures a learned tier on the disk: space under updates without end, how long reads and writes wait while everything is
//! converted, and what a get reads. Nothing fails because of a figure, so that it is run by hand:
//!
//! ```text
//! RHUMB_SHAPE=learned-tier:form=inline RHUMB_KEYS=10000000 cargo test --release -p rhumb --test measured -- --ignored --nocapture conversion
//! ```

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::kit_measured::{
    Draw, Measured, VALUE_BYTES, key, millis_at, of_process, options, written,
};
use crate::kit_values::number;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rhumb::fs::Access;
use rhumb::{Db, Options};

fn loaded() -> Measured {
    println!("{}", options(30).levels.compaction);
    let store = Measured::loaded(number("RHUMB_OVER_PROVISION", 30) as u32);
    store.db.compact_range(None, None).unwrap();
    store
}

/// Updates without end, by rounds of a tenth of the keys.
#[test]
#[ignore = "measures"]
fn rounds() {
    let store = loaded();
    let is_zipf = number("RHUMB_ZIPF", 0) == 1;
    let mut draw = Draw::new(store.keys, is_zipf);
    let before = written();
    let rounds = number("RHUMB_ROUNDS", 20);
    let each = store.keys / 10;
    for round in 1..=rounds {
        let name = format!("round {round} of {rounds}");
        let puts = (0..each).map(|_| draw.next());
        store.put(&name, Some(store.live()), None, puts);
    }
    let user = (each * rounds) as f64 * (VALUE_BYTES + 8) as f64;
    println!(
        "all rounds: written a user byte {:.2}",
        (written() - before) / user
    );
    memory(&store);
}

/// What the index takes, in memory and on the disk, in bytes a key.
fn memory(store: &Measured) {
    let stats = store.db.stats().unwrap();
    let keyspace = &stats.keyspaces[0];
    let a_key = |bytes: u64| bytes as f64 / store.keys as f64;
    let (tier, above) = keyspace.levels.split_last().unwrap();
    println!(
        "bytes a key: tier {:.2}, above it {:.2} ({} entries); index {:.3}, directory {:.3}, filters {:.3}, \
         filter above the tier {:.3}, key maps {:.4}",
        a_key(tier.bytes),
        a_key(above.iter().map(|level| level.bytes).sum()),
        above.iter().map(|level| level.entries).sum::<u64>(),
        a_key(keyspace.index_bytes),
        a_key(keyspace.directory_bytes),
        a_key(keyspace.filter_bytes),
        a_key(keyspace.above_filter_bytes),
        a_key(keyspace.key_map_bytes),
    );
    println!("memory of the process at most: {:.1} MB", resident("VmHWM"));
}

/// A figure of the memory of this process, in MB.
fn resident(name: &str) -> f64 {
    of_process("status", name) / 1e3
}

/// The nanoseconds of operations of two kinds.
#[derive(Default)]
struct Times {
    gets: Vec<u64>,
    puts: Vec<u64>,
}

impl Times {
    /// Prints the 99.9th percentile and the longest of both kinds, in milliseconds.
    fn print(mut self, name: &str) {
        for (kind, times) in [("gets", &mut self.gets), ("puts", &mut self.puts)] {
            times.sort_unstable();
            let at = |permille| millis_at(times, permille);
            println!(
                "{name}: {} {kind}: median {:.4} ms, 99.9 % {:.3} ms, longest {:.1} ms",
                times.len(),
                at(500),
                at(999),
                at(1000),
            );
        }
    }
}

/// As many gets as puts, so many a second in all, while something goes on.
fn half_and_half(store: &Measured, draw: &mut Draw, goes_on: &dyn Fn() -> bool) -> Times {
    let rate = number("RHUMB_RATE", 10_000) as f64;
    let (mut times, mut value) = (Times::default(), [0; VALUE_BYTES]);
    let begun = Instant::now();
    let mut done = 0u64;
    while goes_on() {
        let due = Duration::from_secs_f64(done as f64 / rate);
        while begun.elapsed() < due {
            thread::sleep(Duration::from_micros(100));
        }
        done += 1;
        let key = key(draw.next());
        let started = Instant::now();
        if done.is_multiple_of(2) {
            assert!(store.db.get(key).unwrap().is_some());
            times.gets.push(started.elapsed().as_nanos() as u64);
        } else {
            value[..8].copy_from_slice(&done.to_le_bytes());
            store.db.put(key, value).unwrap();
            times.puts.push(started.elapsed().as_nanos() as u64);
        }
    }
    times
}

/// How long gets and puts wait while all ranges are converted, and before.
#[test]
#[ignore = "measures"]
fn conversion() {
    let store = loaded();
    let mut draw = Draw::new(store.keys, true);
    let seconds = Duration::from_secs(number("RHUMB_SECONDS", 30));
    let started = Instant::now();
    let before = half_and_half(&store, &mut draw, &|| started.elapsed() < seconds);
    before.print("before");
    let running = AtomicBool::new(true);
    let written_before = written();
    // From here on the highest memory is that of the conversion.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let memory_before = resident("VmRSS");
    thread::scope(|scope| {
        scope.spawn(|| {
            let started = Instant::now();
            store.db.compact_range(None, None).unwrap();
            println!("converted in {:.1} s", started.elapsed().as_secs_f64());
            running.store(false, Ordering::Relaxed);
        });
        let during = half_and_half(&store, &mut draw, &|| running.load(Ordering::Relaxed));
        during.print("during");
    });
    println!(
        "{:.1} MB of memory before, {:.1} MB more meanwhile",
        memory_before,
        resident("VmHWM") - memory_before
    );
    let writes = store.db.stats().unwrap().writes;
    println!(
        "{:.2} GB written meanwhile; {} slowdowns and {} stalls, {:?}; the longest {:.1?} ({})",
        (written() - written_before) / 1e9,
        writes.slowdowns,
        writes.stalls,
        writes.stall_reasons,
        writes.longest_stall,
        writes.longest_stall_reason,
    );
    memory(&store);
}

/// The calls that read, of this process.
fn read_calls() -> f64 {
    of_process("io", "syscr")
}

/// The calls that random gets of present and of absent keys make, past the page cache, with a small block cache.
#[test]
#[ignore = "measures"]
fn gets() {
    let store = loaded();
    let mut draw = Draw::new(store.keys, false);
    let updates = (0..number("RHUMB_UPDATES", 0)).map(|_| draw.next());
    store.put("updates", None, None, updates);
    let Measured {
        db,
        directory,
        keys,
    } = store;
    db.settle();
    db.close().unwrap();
    let options = Options {
        access: Access::Direct,
        cache_bytes: number("RHUMB_CACHE", 1 << 20),
        ..options(30)
    };
    let db = Db::open(directory.path(), options).unwrap();
    let mut random = StdRng::seed_from_u64(3);
    let gets = number("RHUMB_GETS", 1_000_000);
    for is_present in [true, false] {
        // Tables are opened by the first gets.
        for n in 0..keys.min(100_000) {
            db.get(key(n)).unwrap();
        }
        let (calls, before, started) = (read_calls(), db.stats().unwrap().reads, Instant::now());
        for _ in 0..gets {
            let n = random.random_range(0..keys);
            let found = db.get(key(if is_present { n } else { n + keys })).unwrap();
            assert_eq!(found.is_some(), is_present);
        }
        let (took, reads) = (started.elapsed(), db.stats().unwrap().reads);
        println!(
            "{gets} gets, present {is_present}: {} calls that read, {} for {} blocks of {} bytes each, {} asked ahead; {:.1} us a get",
            read_calls() - calls,
            reads.read_calls - before.read_calls,
            reads.blocks_read - before.blocks_read,
            (reads.bytes_read - before.bytes_read)
                / (reads.blocks_read - before.blocks_read).max(1),
            reads.tier_ahead - before.tier_ahead,
            took.as_secs_f64() * 1e6 / gets as f64,
        );
    }
}
