//! A large store on the disk that is measured: bytes written for each byte of the user, space beside live values, how long
//! puts wait.
#![allow(dead_code, reason = "no test uses all of it")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rhumb::{Db, Durability, Options};

use crate::kit_values::number;

pub const VALUE_BYTES: usize = 1016;
/// The bytes of a record: value, key, and what is around them.
pub const RECORD_BYTES: f64 = (VALUE_BYTES + 8 + 9) as f64;

/// Draws from `0..keys`: all alike, or rank r in proportion to 1 / (r + 1)^0.99.
pub struct Draw {
    random: StdRng,
    keys: u64,
    /// The constants of Gray's method; `None` for all alike.
    zipf: Option<(f64, f64, f64)>,
}

const SKEW: f64 = 0.99;

impl Draw {
    pub fn new(keys: u64, is_zipf: bool) -> Self {
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

    pub fn next(&mut self) -> u64 {
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
pub fn key(n: u64) -> [u8; 8] {
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

/// A number that the system tells of this process, in a file about it.
pub fn of_process(file: &str, name: &str) -> f64 {
    let text = fs::read_to_string(format!("/proc/self/{file}")).unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The bytes that this process has handed to the system.
pub fn written() -> f64 {
    of_process("io", "wchar")
}

/// The time, in milliseconds, below which so many in a thousand of sorted nanoseconds are; 0 for none.
pub fn millis_at(sorted: &[u64], permille: usize) -> f64 {
    let at = sorted.get(sorted.len().saturating_sub(1) * permille / 1000);
    at.map_or(0.0, |nanos| *nanos as f64 / 1e6)
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
pub struct Measured {
    pub db: Db,
    pub directory: tempfile::TempDir,
    pub keys: u64,
}

impl Measured {
    /// A store with all keys, loaded in random order.
    pub fn loaded(over_provision_percent: u32) -> Self {
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

    pub fn live(&self) -> f64 {
        self.keys as f64 * RECORD_BYTES
    }

    /// Puts, with what is measured of them: so many a second, or as fast as the store takes them. `live` is what values
    /// take all the time.
    pub fn put(
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
        let at = |permille| millis_at(&times, permille);
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

pub fn options(over_provision_percent: u32) -> Options {
    let mut options = Options {
        durability: Durability::Buffered,
        over_provision_percent,
        ..Options::default()
    };
    options.table.separate_values = Some(512);
    if let Ok(shape) = std::env::var("RHUMB_SHAPE") {
        options.levels.compaction = shape.parse().unwrap();
        options.levels.size_ratio = 4;
    }
    options
}
