//! `Buffered` writers do not wait for the disk: not while logs are replaced, memtables flushed or keyspaces
//! made. Where a writer has to wait for a sync all the same, the wait is counted, with its cause.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::kit::slow::{Delays, Slow};
use crate::kit::{DIR, Random, seed, tiny};
use rhumb::fs::MemoryFileSystem;
use rhumb::{Db, Durability, KeyspaceOptions, Options, WriteBatch};

/// A test whose writer waits longer than this has failed.
const PATIENCE: Duration = Duration::from_secs(30);

const KIB: u64 = 1 << 10;

/// A store whose logs have 64 KiB each, on a disk that may be slow.
fn options() -> (Delays, Options) {
    let delays = Delays::default();
    let slow = Slow {
        inner: MemoryFileSystem::new(),
        delays: delays.clone(),
    };
    let options = Options {
        // A round puts 100 KiB: they fill one buffer at most, so that with one that is flushed by request
        // two wait. Writers wait for the third.
        write_buffer_bytes: 128 * KIB,
        log_bytes: 256 * KIB,
        durability: Durability::Buffered,
        ..tiny(Arc::new(slow))
    };
    (delays, options)
}

/// Does something in another thread.
struct Task {
    done: mpsc::Receiver<()>,
    thread: JoinHandle<()>,
}

impl Task {
    fn start(work: impl FnOnce() + Send + 'static) -> Task {
        let (send, done) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            work();
            let _ = send.send(());
        });
        Task { done, thread }
    }

    fn is_done(&self, within: Duration) -> bool {
        self.done.recv_timeout(within).is_ok()
    }

    /// Waits until it is done.
    fn returns(self, delays: &Delays, what: &str) {
        if !self.is_done(PATIENCE) {
            // Otherwise the store would wait for ever when it is dropped.
            delays.hold_syncs(false);
            panic!("{what} waits for a sync");
        }
        self.thread.join().unwrap();
    }
}

fn put(db: &Db, key: u64, bytes: usize) {
    db.put(key.to_be_bytes(), vec![7; bytes]).unwrap();
}

#[test]
fn puts_return_while_no_sync_does() {
    let (delays, options) = options();
    let db = Arc::new(Db::open(DIR, options.clone()).unwrap());
    let mut keys = 0u64;
    for round in 0..12u64 {
        delays.hold_syncs(true);
        // One log is replaced, the next becomes longer than usual; memtables wait to be flushed.
        let own = db.clone();
        let first = Task::start(move || put(&own, keys, 1000));
        first.returns(&delays, "the first put");
        // Each of these waits for a sync, with other work of the store.
        let own = db.clone();
        let other = Task::start(move || match round % 6 {
            0 => drop(own.create_keyspace(&format!("made in {round}")).unwrap()),
            1 => own.sync().unwrap(),
            2 => own.flush().unwrap(),
            3 => own
                .set_options(KeyspaceOptions {
                    index: ["pgm", "plr"][round as usize / 6].parse().ok(),
                    table: None,
                })
                .unwrap(),
            4 => own
                .drop_keyspace(&format!("made in {}", round - 4))
                .unwrap(),
            _ => {
                let mut batch = WriteBatch::new();
                batch.put(&own, [0xff], "value").unwrap();
                own.write(batch).unwrap();
            }
        });
        if round % 6 < 5 {
            delays.wait_for_a_sync();
        }
        let own = db.clone();
        let puts = Task::start(move || (keys + 1..keys + 100).for_each(|k| put(&own, k, 1000)));
        keys += 100;
        puts.returns(&delays, "a put");
        delays.wait_for_a_sync();
        delays.hold_syncs(false);
        other.returns(&delays, "the other call");
        db.settle();
    }
    let reasons = db.stats().unwrap().writes.stall_reasons;
    let disk = reasons
        .keys()
        .find(|r| r.contains("sync") || r.contains("log"));
    assert_eq!(disk, None, "{reasons:?}");
    Arc::into_inner(db).unwrap().close().unwrap();
    let db = Db::open(DIR, options).unwrap();
    assert_eq!(db.iter().unwrap().count() as u64, keys + 1);
    assert_eq!(db.keyspaces().len(), 1);
}

/// Where the disk takes no log for long, writers wait, and it is told why.
#[test]
fn a_wait_for_the_next_log_is_counted() {
    let (delays, mut options) = options();
    options.write_buffer_bytes = 8 << 20;
    let db = Arc::new(Db::open(DIR, options.clone()).unwrap());
    delays.hold_syncs(true);
    let own = db.clone();
    // A log of 64 KiB, and one of four times that.
    let puts = Task::start(move || (0..300).for_each(|key| put(&own, key, 1000)));
    assert!(puts.is_done(PATIENCE), "the next log has room");
    let own = db.clone();
    let puts = Task::start(move || (300..400).for_each(|key| put(&own, key, 1000)));
    assert!(
        !puts.is_done(Duration::from_millis(200)),
        "a log without end"
    );
    delays.hold_syncs(false);
    puts.thread.join().unwrap();
    let writes = db.stats().unwrap().writes;
    assert_eq!(
        writes.stall_reasons.get("the next log is not ready"),
        Some(&1)
    );
    assert!(
        writes.longest_stall >= Duration::from_millis(100),
        "{writes:?}"
    );
    drop(db);
    let db = Db::open(DIR, options).unwrap();
    assert_eq!(db.iter().unwrap().count(), 400);
}

/// A buffered write behind one that is synced becomes visible after it, so it has to wait.
#[test]
fn a_wait_for_the_sync_of_others_is_counted() {
    let (delays, options) = options();
    let db = Arc::new(Db::open(DIR, options).unwrap());
    let counted = |db: &Db| {
        let writes = db.stats().unwrap().writes;
        writes
            .stall_reasons
            .contains_key("writes of others are synced")
    };
    // The second writer may come too late to have to wait.
    for round in 0..100 {
        delays.hold_syncs(true);
        let own = db.clone();
        let first = Task::start(move || {
            let mut batch = WriteBatch::new();
            batch.put(&own, "immediate", "value").unwrap();
            own.write_with(batch, Durability::Immediate).unwrap();
        });
        delays.wait_for_a_sync();
        let own = db.clone();
        let second = Task::start(move || put(&own, round, 10));
        assert!(!second.is_done(Duration::from_millis(20)));
        delays.hold_syncs(false);
        first.thread.join().unwrap();
        second.thread.join().unwrap();
        if counted(&db) {
            return;
        }
    }
    panic!("no wait was counted");
}

/// Prints how long puts take where a sync takes 50 ms.
#[test]
fn the_longest_put_with_slow_syncs() {
    let (delays, mut options) = options();
    // A flush takes several syncs: with smaller write buffers it would lag behind.
    options.write_buffer_bytes = 1024 * KIB;
    options.log_bytes = 4096 * KIB;
    let db = Db::open(DIR, options.clone()).unwrap();
    delays.set_sync(Duration::from_millis(50));
    let (mut random, mut longest, started) = (Random(seed()), Duration::ZERO, Instant::now());
    let count = 1_500;
    for key in 0..count {
        let length = 1500 + random.below(1000) as usize;
        let before = Instant::now();
        put(&db, key, length);
        longest = longest.max(before.elapsed());
        std::thread::sleep(Duration::from_millis(1));
    }
    let (writes, time) = (db.stats().unwrap().writes, started.elapsed());
    let (flushes, reasons) = (writes.flushes, &writes.stall_reasons);
    println!(
        "{count} puts in {time:.1?}, {flushes} flushes, syncs of 50 ms: the longest put took {longest:?}"
    );
    println!("longest_stall {:?}, {reasons:?}", writes.longest_stall);
    assert!(flushes > 1, "{flushes} flushes");
    drop(db);
    assert_eq!(
        Db::open(DIR, options).unwrap().iter().unwrap().count() as u64,
        count
    );
}
