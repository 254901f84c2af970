//! Measures a store that keeps values apart from their keys, on the disk: bytes written for each byte of the user, space
//! beside live values, how long puts wait, and how fast scattered values are read. Nothing fails because of a figure, so that it is run by hand:
//!
//! ```text
//! RHUMB_KEYS=10000000 RHUMB_OVER_PROVISION=50 cargo test --release -p rhumb --test value_files_measured -- --ignored --nocapture zipf
//! ```
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod kit_values;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kit_values::number;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rhumb::fs::Access;
use rhumb::{Db, Durability, Options};

const VALUE_BYTES: usize = 1016;
/// The bytes of a record: value, key, and what is around them.
const RECORD_BYTES: f64 = (VALUE_BYTES + 8 + 9) as f64;

/// Draws from `0..keys`: all alike, or rank r in proportion to 1 / (r + 1)^0.99.
struct Draw {
    random: StdRng,
    keys: u64,
    /// The constants of Gray's method; `None` for all alike.
    zipf: Option<(f64, f64, f64)>,
}

const SKEW: f64 = 0.99;

impl Draw {
    fn new(keys: u64, is_zipf: bool) -> Self {
        let zeta = |n: u64| (1..=n).map(|i| (i as f64).powf(-SKEW)).sum::<f64>();
        let zipf = is_zipf.then(|| {
            let all = zeta(keys);
            let eta = (1.0 - (2.0 / keys as f64).powf(1.0 - SKEW)) / (1.0 - zeta(2) / all);
            (all, 1.0 / (1.0 - SKEW), eta)
        });
        Draw {
            random: StdRng::seed_from_u64(7),
            keys,
            zipf,
        }
    }

    fn next(&mut self) -> u64 {
        let Some((zeta, alpha, eta)) = self.zipf else {
            return self.random.random_range(0..self.keys);
        };
        let u: f64 = self.random.random();
        if u * zeta < 1.0 {
            return 0;
        }
        if u * zeta < 1.0 + 0.5f64.powf(SKEW) {
            return 1;
        }
        let rank = self.keys as f64 * (eta * u - eta + 1.0).powf(alpha);
        (rank as u64).min(self.keys - 1)
    }
}

/// A key whose place among the others has nothing to do with its number.
fn key(n: u64) -> [u8; 8] {
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

/// The bytes that this process has handed to the system.
fn written() -> f64 {
    let io = fs::read_to_string("/proc/self/io").unwrap();
    let line = io.lines().find(|line| line.starts_with("wchar")).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

/// The space of the files of a store; a file with two names counts once.
fn space(directory: &Path) -> f64 {
    let mut seen = BTreeSet::new();
    let files = fs::read_dir(directory).unwrap().flatten();
    let about = files.filter_map(|file| file.metadata().ok());
    let new = about.filter(|about| seen.insert(about.ino()));
    new.map(|about| about.blocks() as f64 * 512.0).sum()
}

/// The largest figures of many samples.
#[derive(Debug, Default)]
struct Peaks {
    samples: u64,
    space: f64,
    value_files: f64,
    /// The largest error of the store's own estimate of live bytes, as a share of them.
    estimate: f64,
}

impl Peaks {
    fn sample(&mut self, db: &Db, directory: &Path, live: Option<f64>) {
        self.samples += 1;
        self.space = self.space.max(space(directory));
        let stats = &db.stats().unwrap().keyspaces[0];
        self.value_files = self.value_files.max(stats.value_bytes as f64);
        if let Some(live) = live {
            let estimated = stats.used_value_bytes as f64 - stats.hidden_value_bytes as f64;
            self.estimate = self.estimate.max((estimated / live - 1.0).abs());
        }
    }
}

/// A store that is measured.
struct Measured {
    db: Db,
    directory: tempfile::TempDir,
    keys: u64,
}

impl Measured {
    /// A store with all keys, loaded in random order.
    fn loaded(over_provision_percent: u32) -> Self {
        let keys = number("RHUMB_KEYS", 1_000_000);
        let directory = tempfile::tempdir().unwrap();
        println!("{keys} keys, over-provision {over_provision_percent} %");
        let options = options(over_provision_percent);
        let db = Db::open(directory.path(), options).unwrap();
        let store = Measured {
            db,
            directory,
            keys,
        };
        let mut order: Vec<u64> = (0..keys).collect();
        let mut random = StdRng::seed_from_u64(42);
        for last in (1..order.len()).rev() {
            order.swap(last, random.random_range(0..=last));
        }
        store.put("load", None, None, order.into_iter());
        store
    }

    fn live(&self) -> f64 {
        self.keys as f64 * RECORD_BYTES
    }

    /// Puts, with what is measured of them: so many a second, or as fast as the store takes them. `live` is what values
    /// take all the time.
    fn put(
        &self,
        name: &str,
        live: Option<f64>,
        rate: Option<f64>,
        puts: impl Iterator<Item = u64>,
    ) {
        let (before, moved_before) = (written(), self.db.stats().unwrap().writes);
        let (started, running) = (Instant::now(), AtomicBool::new(true));
        let (mut times, peaks) = thread::scope(|scope| {
            let sampler = scope.spawn(|| self.sample_while(&running, live));
            let times = self.put_all(rate, puts);
            running.store(false, Ordering::Relaxed);
            (times, sampler.join().unwrap())
        });
        let took = started.elapsed().as_secs_f64();
        self.db.flush().unwrap();
        self.db.settle();
        let writes = self.db.stats().unwrap().writes;
        let user = times.len() as f64 * (VALUE_BYTES + 8) as f64;
        let moved = writes.moved_value_bytes - moved_before.moved_value_bytes;
        times.sort_unstable();
        let at = |permille: usize| times[(times.len() - 1) * permille / 1000] as f64 / 1e6;
        println!(
            "{name}: {} puts in {took:.1} s; written a user byte {:.2}, {:.2} of it moved by {} collections; \
             put: median {:.4} ms, 99.9 % {:.3} ms, longest {:.1} ms",
            times.len(),
            (written() - before) / user,
            moved as f64 / user,
            writes.collections - moved_before.collections,
            at(500),
            at(999),
            at(1000),
        );
        if let Some(live) = live {
            println!(
                "    at most, of live: space {:.3}, value files {:.3}, estimate off by {:.3} ({} samples)",
                peaks.space / live,
                peaks.value_files / live,
                peaks.estimate,
                peaks.samples,
            );
        }
        let (longest, why) = (writes.longest_stall, &writes.longest_stall_reason);
        println!(
            "    so far {} slowdowns and {} stalls, {:?}; the longest {longest:.1?} ({why})",
            writes.slowdowns, writes.stalls, writes.stall_reasons
        );
    }

    /// The nanoseconds of each put. With a rate each begins at its time, or when the one before it ends.
    fn put_all(&self, rate: Option<f64>, puts: impl Iterator<Item = u64>) -> Vec<u64> {
        let (mut times, mut value) = (Vec::new(), [0; VALUE_BYTES]);
        let begun = Instant::now();
        for n in puts {
            let due = rate.map(|rate| Duration::from_secs_f64(times.len() as f64 / rate));
            while due.is_some_and(|due| begun.elapsed() < due) {
                thread::sleep(Duration::from_micros(100));
            }
            value[..8].copy_from_slice(&(times.len() as u64).to_le_bytes());
            let started = Instant::now();
            self.db.put(key(n), value).unwrap();
            times.push(started.elapsed().as_nanos() as u64);
        }
        times
    }

    fn sample_while(&self, running: &AtomicBool, live: Option<f64>) -> Peaks {
        let mut peaks = Peaks::default();
        while running.load(Ordering::Relaxed) {
            peaks.sample(&self.db, self.directory.path(), live);
            thread::sleep(Duration::from_millis(100));
        }
        peaks
    }
}

fn options(over_provision_percent: u32) -> Options {
    let mut options = Options {
        durability: Durability::Buffered,
        over_provision_percent,
        ..Options::default()
    };
    options.table.separate_values = Some(512);
    options
}

/// Loads all keys in random order, and updates half as many as there are three times.
fn update(is_zipf: bool) {
    let store = Measured::loaded(number("RHUMB_OVER_PROVISION", 30) as u32);
    let mut draw = Draw::new(store.keys, is_zipf);
    let before = written();
    for part in 1..=3 {
        let puts = (0..store.keys / 2).map(|_| draw.next());
        store.put(
            &format!("updates {part} of 3"),
            Some(store.live()),
            None,
            puts,
        );
    }
    let user = (store.keys / 2 * 3) as f64 * (VALUE_BYTES + 8) as f64;
    println!(
        "all updates: written a user byte {:.2}",
        (written() - before) / user
    );
    let stats = store.db.stats().unwrap();
    let tables: u64 = stats.keyspaces[0]
        .levels
        .iter()
        .map(|level| level.bytes)
        .sum();
    println!(
        "tables: {:.1} bytes a key",
        tables as f64 / store.keys as f64
    );
}

#[test]
#[ignore = "measures"]
fn zipf() {
    update(true);
}

#[test]
#[ignore = "measures"]
fn uniform() {
    update(false);
}

/// How long puts wait while values are collected, and in a store that collects none: as fast as it takes them, and so
/// many a second that collections keep up.
#[test]
#[ignore = "measures"]
fn waits() {
    for over_provision in [30, u32::MAX] {
        let store = Measured::loaded(over_provision);
        let mut draw = Draw::new(store.keys, false);
        for rate in [None, Some(number("RHUMB_RATE", 20_000) as f64)] {
            let puts = (0..store.keys / 2).map(|_| draw.next());
            let name = rate.map_or("at full speed".into(), |rate| format!("{rate} a second"));
            store.put(&name, None, rate, puts);
        }
    }
}

/// Scans of 500 values that updates scattered, past the page cache: by an iterator, and one value after another.
#[test]
#[ignore = "measures"]
fn scans() {
    let store = Measured::loaded(30);
    let mut draw = Draw::new(store.keys, false);
    let puts = (0..store.keys).map(|_| draw.next());
    store.put("updates", None, None, puts);
    let Measured {
        db,
        directory,
        keys,
    } = store;
    db.close().unwrap();
    let options = Options {
        access: Access::Direct,
        cache_bytes: 8 << 20,
        ..options(30)
    };
    let db = Db::open(directory.path(), options).unwrap();
    let mut random = StdRng::seed_from_u64(3);
    let (mut together, mut alone) = (Duration::ZERO, Duration::ZERO);
    for n in 0..40 {
        let start = key(random.random_range(0..keys));
        let started = Instant::now();
        if n % 2 == 0 {
            let found = db.range(&start[..]..).unwrap().take(500);
            assert_eq!(
                found.map(|entry| entry.unwrap().1.len()).sum::<usize>() % VALUE_BYTES,
                0
            );
            together += started.elapsed();
        } else {
            let mut found = db.range(&start[..]..).unwrap().keys();
            for key in found.by_ref().take(500) {
                assert_eq!(db.get(key.unwrap()).unwrap().unwrap().len(), VALUE_BYTES);
            }
            alone += started.elapsed();
        }
    }
    println!(
        "500 values: {:.1} ms by an iterator, {:.1} ms one after another: {:.1} times",
        together.as_secs_f64() * 50.0,
        alone.as_secs_f64() * 50.0,
        alone.as_secs_f64() / together.as_secs_f64(),
    );
}
