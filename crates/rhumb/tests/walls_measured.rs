//! Measures where operations wait or cost more than they should, and prints the figures. Nothing fails
//! because of a time, so that they are run by hand, all or one of them by its name:
//!
//! ```text
//! cargo test --release -p rhumb --test walls_measured -- --ignored --nocapture two_keyspaces
//! ```
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod kit;

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use kit::slow::{Delays, Slow};
use kit::{DIR, Random, dir, files};
use rhumb::fs::{FaultyFileSystem, MemoryFileSystem, Plan};
use rhumb::{Db, Durability, Keyspace, Levels, Options, TableSpec, WriteBatch};

/// One measurement at a time. Prints its name and how busy the machine is.
fn alone(name: &str) -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("== {name} (load {})", load.trim());
    guard
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The times of one kind of call.
#[derive(Debug, Default)]
struct Times(Vec<Duration>);

impl Times {
    fn time<T>(&mut self, call: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let result = call();
        self.0.push(started.elapsed());
        result
    }

    fn print(mut self, what: &str) {
        self.0.sort_unstable();
        let at = |permille: usize| self.0[(self.0.len() - 1) * permille / 1000];
        println!(
            "{what}: {} calls, median {:.3} ms, 99.9 % {:.3} ms, longest {:.3} ms",
            self.0.len(),
            millis(at(500)),
            millis(at(999)),
            millis(at(1000)),
        );
    }
}

fn key(n: u64) -> Vec<u8> {
    format!("key{n:09}").into_bytes()
}

fn print_stalls(db: &Db) {
    let writes = db.stats().unwrap().writes;
    println!(
        "by the store's own count: {} stalls, {} slowdowns, longest {:.3} ms, {:?}",
        writes.stalls,
        writes.slowdowns,
        millis(writes.longest_stall),
        writes.stall_reasons
    );
}

/// Settings with buffers, tables and levels of about a megabyte.
fn megabytes(file_system: Arc<dyn rhumb::fs::FileSystem>) -> Options {
    Options {
        durability: Durability::Buffered,
        write_buffer_bytes: 1 << 20,
        log_bytes: 4 << 20,
        cache_bytes: 32 << 20,
        table: TableSpec {
            table_bytes: 1 << 20,
            ..TableSpec::default()
        },
        levels: Levels {
            size_ratio: 4,
            base_bytes: 4 << 20,
            ..Levels::default()
        },
        compaction_threads: 1,
        file_system,
        ..Options::default()
    }
}

/// Three threads write to one keyspace as fast as the store takes it; another keyspace gets a put a
/// millisecond and is flushed now and then. How long the writers of each wait, on a disk that takes all
/// that is written and on one that takes 30 MB/s of merges.
#[test]
#[ignore = "measures"]
fn two_keyspaces() {
    let _alone = alone("two keyspaces");
    for rate in [0, 30_000_000] {
        println!("merges write {rate} bytes/s (0: as fast as they can)");
        write_two_keyspaces(rate, Duration::from_secs(20));
    }
}

fn write_two_keyspaces(rate: u64, time: Duration) {
    let slow = Slow {
        inner: MemoryFileSystem::new(),
        delays: Delays::default(),
    };
    slow.delays.set_merge_rate(rate);
    let mut options = megabytes(Arc::new(slow.clone()));
    options.log_bytes = 2 << 20;
    let db = Db::open(DIR, options).unwrap();
    let light = db.create_keyspace("light").unwrap();
    let end = Instant::now() + time;
    let running = || Instant::now() < end;
    let write_busy = |thread: u64| {
        let (mut random, mut times) = (Random(thread), Times::default());
        while running() {
            let value = kit::script::value(&mut random, 500);
            times.time(|| db.put(key(random.below(1_000_000)), value).unwrap());
        }
        times
    };
    let write_light = || {
        let (mut puts, mut flushes) = (Times::default(), Times::default());
        for n in 0..u64::MAX {
            puts.time(|| light.put(key(n * 7_919 % 10_000), [7; 200]).unwrap());
            if n % 50 == 49 {
                flushes.time(|| light.flush().unwrap());
            }
            thread::sleep(Duration::from_millis(1));
            if !running() {
                break;
            }
        }
        (puts, flushes)
    };
    thread::scope(|scope| {
        let busy: Vec<_> = (1..=3)
            .map(|n| scope.spawn(move || write_busy(n)))
            .collect();
        let light = scope.spawn(write_light);
        let mut most_runs = [0, 0];
        while running() {
            for (most, keyspace) in most_runs.iter_mut().zip(&db.stats().unwrap().keyspaces) {
                *most = keyspace.levels.first().map_or(0, |l| l.runs).max(*most);
            }
            thread::sleep(Duration::from_millis(20));
        }
        let mut times = Times::default();
        for thread in busy {
            times.0.extend(thread.join().unwrap().0);
        }
        times.print("puts to the busy keyspace");
        let (puts, flushes) = light.join().unwrap();
        puts.print("puts to the light keyspace");
        flushes.print("flushes of the light keyspace");
        let [busy, light] = most_runs;
        println!("most runs of level 0: busy {busy}, light {light}");
    });
    print_stalls(&db);
    slow.delays.set_merge_rate(0);
}

/// The first steps of iterators behind a range delete of a million keys.
#[test]
#[ignore = "measures"]
fn first_step_behind_a_range_delete() {
    let _alone = alone("first step behind a range delete of 1M keys");
    let steps = |db: &Db, what: &str| {
        let (mut first, mut last) = (Times::default(), Times::default());
        for _ in 0..9 {
            first.time(|| db.range("b"..).unwrap().next().transpose().unwrap());
            last.time(|| db.range(..="y").unwrap().next_back().transpose().unwrap());
        }
        first.print(&format!("{what}, first step"));
        last.print(&format!("{what}, first step from behind"));
    };
    for merged in [true, false] {
        let mut options = Options {
            durability: Durability::Buffered,
            ..Options::in_memory()
        };
        if !merged {
            options.write_buffer_bytes = 8 << 20;
            options.levels.level0_tables = 1_000;
        }
        let db = Db::open(DIR, options).unwrap();
        let mut n = 0;
        while n < 1_000_000 {
            let mut batch = WriteBatch::new();
            for _ in 0..1000 {
                // Every key once, in a scattered order.
                batch
                    .put(&db, key(n * 7_919 % 1_000_000), "twelve bytes")
                    .unwrap();
                n += 1;
            }
            db.write(batch).unwrap();
        }
        for outside in ["a", "z"] {
            db.put(outside, "not deleted").unwrap();
        }
        db.flush().unwrap();
        if merged {
            db.compact_range(None, None).unwrap();
        }
        let runs: u64 = db.stats().unwrap().keyspaces[0]
            .levels
            .iter()
            .map(|l| l.runs)
            .sum();
        steps(&db, &format!("{runs} runs, nothing deleted"));
        db.delete_range("key".."kez").unwrap();
        steps(&db, &format!("{runs} runs, the delete in the write buffer"));
        db.flush().unwrap();
        steps(&db, &format!("{runs} runs, the delete in a table"));
        db.put(key(1_000_000), "newer").unwrap();
        steps(&db, &format!("{runs} runs, and a newer key at the end"));
    }
}

/// Puts on a full disk: the files they leave, and the calls they cost.
#[test]
#[ignore = "measures"]
fn failed_puts_on_a_full_disk() {
    let _alone = alone("1,000 failed puts on a full disk");
    for durability in [Durability::Immediate, Durability::Buffered] {
        let memory = MemoryFileSystem::new();
        let faulty = FaultyFileSystem::new(Arc::new(memory.clone()), Plan::default());
        let options = Options {
            durability,
            file_system: Arc::new(faulty.clone()),
            ..Options::default()
        };
        let db = Db::open(DIR, options).unwrap();
        db.put("before", "there is room").unwrap();
        faulty.set_budget(Some(0));
        let (logs, all) = (
            files(&memory, dir(), ".log").len(),
            files(&memory, dir(), "").len(),
        );
        let calls = faulty.calls();
        let mut times = Times::default();
        let failed = (0..1000u64)
            .filter(|n| times.time(|| db.put(key(*n), "no room")).is_err())
            .count();
        println!(
            "{durability:?}: {failed} failed; {} more files, {} more logs, {} calls",
            files(&memory, dir(), "").len() - all,
            files(&memory, dir(), ".log").len() - logs,
            faulty.calls() - calls,
        );
        times.print("failed puts");
        faulty.set_budget(None);
        let resumed = Instant::now();
        while db.put("after", "there is room again").is_err() {
            thread::sleep(Duration::from_millis(1));
        }
        println!("writes resume after {:.3} ms", millis(resumed.elapsed()));
    }
}

/// Buffered puts, about 1 MB/s of them, while buffers are flushed and logs begun on a disk whose syncs
/// take 50 ms.
#[test]
#[ignore = "measures"]
fn longest_buffered_put() {
    let _alone = alone("longest buffered put with syncs of 50 ms");
    for others in [false, true] {
        let slow = Slow {
            inner: MemoryFileSystem::new(),
            delays: Delays::default(),
        };
        let db = Db::open(DIR, megabytes(Arc::new(slow.clone()))).unwrap();
        slow.delays.set_sync(Duration::from_millis(50));
        let mut times = Times::default();
        let running = AtomicBool::new(true);
        thread::scope(|scope| {
            let stop = stop_behind(&running);
            if others {
                scope.spawn(|| {
                    let mut n = 0u32;
                    while running.load(Ordering::Relaxed) {
                        let name = format!("keyspace{n}");
                        drop(db.create_keyspace(&name).unwrap());
                        db.drop_keyspace(&name).unwrap();
                        db.flush().unwrap();
                        db.sync().unwrap();
                        n += 1;
                    }
                });
            }
            let mut random = Random(3);
            for n in 0..10_000u64 {
                let value = kit::script::value(&mut random, 1000);
                times.time(|| db.put(key(n % 5_000), value).unwrap());
                thread::sleep(Duration::from_millis(1));
            }
            drop(stop);
        });
        let above = |ms| {
            times
                .0
                .iter()
                .filter(|t| **t > Duration::from_millis(ms))
                .count()
        };
        println!("above 20 ms: {}, above 45 ms: {}", above(20), above(45));
        let what = match others {
            false => "buffered puts",
            true => {
                "buffered puts while another thread creates and drops keyspaces, flushes and syncs"
            }
        };
        times.print(what);
        print_stalls(&db);
        slow.delays.set_sync(Duration::ZERO);
    }
}

/// Ends what runs while the flag is set, also when the test fails.
fn stop_behind(running: &AtomicBool) -> impl Drop + '_ {
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(false, Ordering::Relaxed);
        }
    }
    Stop(running)
}

/// What a keyspace, a put and a flush, and a merge of two tables cost in a store of many tables.
#[test]
#[ignore = "measures"]
fn put_and_flush_by_tables() {
    let _alone = alone("put and flush by number of tables");
    for tables in [100, 1_000, 5_000, 20_000] {
        let file_system = Arc::new(MemoryFileSystem::new());
        let mut options = Options {
            durability: Durability::Buffered,
            file_system,
            ..Options::default()
        };
        options.levels.level0_tables = 1_000;
        let mut tiny = options.clone();
        // One table a key.
        tiny.table.table_bytes = 1;
        let db = Db::open(DIR, tiny).unwrap();
        for n in 0..tables {
            db.put(key(n), "value").unwrap();
        }
        db.compact_range(None, None).unwrap();
        db.close().unwrap();
        let mut opening = Times::default();
        let db = opening.time(|| Db::open(DIR, options).unwrap());
        let levels = db.stats().unwrap().keyspaces.remove(0).levels;
        println!("{} tables:", levels.iter().map(|l| l.tables).sum::<u64>());
        opening.print("open");
        let (mut creates, mut flushes, mut drops) =
            (Times::default(), Times::default(), Times::default());
        for n in 0..40u64 {
            let name = format!("keyspace{n}");
            creates.time(|| drop(db.create_keyspace(&name).unwrap()));
            drops.time(|| db.drop_keyspace(&name).unwrap());
            flushes.time(|| {
                db.put(key(n * 7 % tables), "another value").unwrap();
                db.flush().unwrap();
            });
        }
        creates.print("create_keyspace");
        drops.print("drop_keyspace");
        flushes.print("put and flush");
    }
}

/// A manifest with a tail that claims, every few bytes, to be a record of half of it.
#[test]
#[ignore = "measures"]
fn crafted_tail() {
    let _alone = alone("the crafted tail of 2 MiB");
    for length in [256 << 10, 1 << 20, 2 << 20] {
        let memory = MemoryFileSystem::new();
        let options = Options {
            file_system: Arc::new(memory.clone()),
            ..Options::default()
        };
        let db = Db::open(DIR, options.clone()).unwrap();
        db.put("key", "value").unwrap();
        db.close().unwrap();
        let manifest = files(&memory, dir(), ".manifest").pop().unwrap();
        let path = dir().join(manifest);
        let mut bytes = memory.bytes(&path).unwrap();
        let whole = bytes.len() + length;
        while bytes.len() < whole {
            bytes.extend(0xFEED_u32.to_le_bytes());
            bytes.extend((length as u32 / 2).to_le_bytes());
            bytes.extend(0u64.to_le_bytes());
        }
        memory.set_bytes(&path, bytes).unwrap();
        let kib = length >> 10;
        let mut verified = Times::default();
        let report =
            verified.time(|| rhumb::inspect::verify(dir(), &options, &mut |_| {}).unwrap());
        assert!(report.damage.is_empty());
        verified.print(&format!("verify with a tail of {kib} KiB"));
        let mut opened = Times::default();
        let db = opened.time(|| Db::open(DIR, options.clone()).unwrap());
        assert_eq!(db.get("key").unwrap().as_deref(), Some(&b"value"[..]));
        db.close().unwrap();
        opened.print(&format!("open with a tail of {kib} KiB"));
    }
}

/// What the threads of a store that nobody uses do: their time on a core and how often they run.
#[test]
#[ignore = "measures"]
fn idle_store() {
    let _alone = alone("idle CPU and context switches");
    for (threads, keyspaces) in [(1, 1), (4, 1), (4, 1000)] {
        let memory = Arc::new(MemoryFileSystem::new());
        let options = Options {
            compaction_threads: threads,
            durability: Durability::Buffered,
            file_system: memory,
            ..Options::default()
        };
        let before = Activity::now();
        let db = Db::open(DIR, options).unwrap();
        let mut held: Vec<Keyspace> = Vec::new();
        for n in 1..keyspaces {
            let keyspace = db.create_keyspace(&format!("keyspace{n}")).unwrap();
            keyspace.put("key", "value").unwrap();
            held.push(keyspace);
        }
        db.put("key", "value").unwrap();
        db.settle();
        thread::sleep(Duration::from_millis(500));
        let (from, seconds) = (Activity::now(), 10.0);
        thread::sleep(Duration::from_secs_f64(seconds));
        let to = Activity::now();
        println!(
            "{threads} merge threads, {keyspaces} keyspaces, {} threads of the store: {:.1} context \
             switches/s, {:.4} % of a core",
            to.threads - before.threads,
            (to.switches - from.switches) as f64 / seconds,
            (to.nanos - from.nanos) as f64 / 1e9 / seconds * 100.0,
        );
    }
}

/// What all threads of this process did, except for the one that measures.
struct Activity {
    threads: u64,
    switches: u64,
    nanos: u64,
}

impl Activity {
    fn now() -> Activity {
        let mut sum = Activity {
            threads: 0,
            switches: 0,
            nanos: 0,
        };
        let own = fs::read_link("/proc/thread-self").unwrap();
        for task in fs::read_dir("/proc/self/task").unwrap() {
            let task = task.unwrap().path();
            if task.file_name() == own.file_name() {
                continue;
            }
            sum.threads += 1;
            let status = fs::read_to_string(task.join("status")).unwrap_or_default();
            let switches = status.lines().filter(|line| line.contains("ctxt_switches"));
            sum.switches += switches.filter_map(last_number).sum::<u64>();
            let times = fs::read_to_string(task.join("schedstat")).unwrap_or_default();
            let ran = times.split(' ').next().and_then(|n| n.parse::<u64>().ok());
            sum.nanos += ran.unwrap_or(0);
        }
        sum
    }
}

fn last_number(line: &str) -> Option<u64> {
    line.split_whitespace().last()?.parse().ok()
}

/// A batch of 64 MiB is written while writers are slowed down most. What others pay for it later, when
/// writers are slowed down again for another reason.
#[test]
#[ignore = "measures"]
fn throttle_debt() {
    let _alone = alone("throttle debt");
    for large in [false, true] {
        let slow = Slow {
            inner: MemoryFileSystem::new(),
            delays: Delays::default(),
        };
        let mut options = Options {
            durability: Durability::Buffered,
            write_buffer_bytes: 256 << 20,
            compaction_threads: 1,
            file_system: Arc::new(slow.clone()),
            ..Options::default()
        };
        // Slow from 3 runs of level 0 on, stalled at 9.
        options.levels.level0_tables = 1;
        let db = Db::open(DIR, options).unwrap();
        slow.delays.hold_merges(true);
        let runs = |runs: u64| {
            while db.stats().unwrap().keyspaces[0].levels[0].runs < runs {
                // Overlapping, so that they are merged and not moved.
                for n in [0, 1_000_000] {
                    db.put(key(n), "value").unwrap();
                }
                db.flush().unwrap();
            }
        };
        runs(8);
        if large {
            let mut batch = WriteBatch::new();
            for n in 0..64u64 {
                batch.put(&db, key(n), vec![7; 1 << 20]).unwrap();
            }
            let mut own = Times::default();
            own.time(|| db.write(batch).unwrap());
            own.print("the batch of 64 MiB, at the strongest slowdown");
        }
        slow.delays.hold_merges(false);
        db.settle();
        println!(
            "nothing to do: {} runs",
            db.stats().unwrap().keyspaces[0].levels[0].runs
        );
        slow.delays.hold_merges(true);
        runs(3);
        let (mut times, all) = (Times::default(), Instant::now());
        for n in 0..500u64 {
            times.time(|| db.put(key(n), "small").unwrap());
        }
        println!(
            "500 puts of some bytes at the weakest slowdown: {:.1} ms",
            millis(all.elapsed())
        );
        times.print(if large {
            "puts after the batch"
        } else {
            "puts without a batch"
        });
        print_stalls(&db);
        slow.delays.hold_merges(false);
    }
}
