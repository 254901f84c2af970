//! Clocks, histograms and counters of the operating system.

mod control_group;
mod memory;
mod round_trip;
mod space;
mod throttled;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::time::{ClockId, clock_gettime};

pub use self::control_group::{ControlGroup, DeviceGroup, DeviceLimits};
pub use self::memory::MemoryWatch;
pub use self::round_trip::round_trip;
pub use self::space::SpaceWatch;
pub use self::throttled::{Disk, ThrottledFs};
use crate::error::{Error, Result};

/// The latencies of operations of one kind, in nanoseconds. Each operation is timed alone, and its
/// latency includes the cost of reading the clock, [`clock_cost`].
#[derive(Debug)]
pub struct Latencies {
    histogram: Histogram<u64>,
    total: Duration,
}

impl Latencies {
    /// An empty histogram. It keeps three significant digits, up to one hour.
    ///
    /// # Errors
    /// None with these bounds.
    pub fn new() -> Result<Latencies> {
        let histogram = Histogram::new_with_max(3_600_000_000_000, 3)
            .map_err(|e| Error::Usage(format!("cannot make a histogram: {e}")))?;
        Ok(Latencies {
            histogram,
            total: Duration::ZERO,
        })
    }

    /// Adds one operation.
    pub fn record(&mut self, took: Duration) {
        self.total += took;
        self.histogram.saturating_record(took.as_nanos() as u64);
    }

    /// Adds the operations of another histogram.
    pub fn add(&mut self, other: &Latencies) {
        self.total += other.total;
        // This cannot fail, since both have the same bounds.
        let _ = self.histogram.add(&other.histogram);
    }

    /// The number of operations.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The mean in nanoseconds, from the exact sum.
    pub fn mean(&self) -> f64 {
        self.total.as_nanos() as f64 / self.count().max(1) as f64
    }

    /// The latency in nanoseconds that the given share of the operations did not exceed.
    pub fn quantile(&self, share: f64) -> f64 {
        self.histogram.value_at_quantile(share) as f64
    }

    /// The mean in nanoseconds of the operations from one share of all to another, by ascending
    /// latency: `0.95, 1.0` for the slowest 5 %. Exact to three digits.
    pub fn mean_between(&self, from: f64, to: f64) -> f64 {
        let count = self.count() as f64;
        let (from, to) = (from * count, to * count);
        let (mut passed, mut sum) = (0.0, 0.0);
        for bucket in self.histogram.iter_recorded() {
            let next = passed + bucket.count_at_value() as f64;
            let inside = (next.min(to) - f64::max(passed, from)).max(0.0);
            let middle = self.histogram.median_equivalent(bucket.value_iterated_to());
            sum += inside * middle as f64;
            passed = next;
        }
        sum / (to - from).max(f64::MIN_POSITIVE)
    }

    /// The histogram as bytes: the largest latency in nanoseconds and the count of each non-empty
    /// bucket, both as little-endian `u64`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for bucket in self.histogram.iter_recorded() {
            bytes.extend_from_slice(&bucket.value_iterated_to().to_le_bytes());
            bytes.extend_from_slice(&bucket.count_at_value().to_le_bytes());
        }
        bytes
    }

    /// The bytes of [`Latencies::to_bytes`] for the operations of two histograms together.
    pub fn add_bytes(one: &[u8], other: &[u8]) -> Vec<u8> {
        let mut sum = BTreeMap::<u64, u64>::new();
        for (latency, count) in Latencies::buckets(one).chain(Latencies::buckets(other)) {
            *sum.entry(latency).or_default() += count;
        }
        let words = sum.iter().flat_map(|(latency, count)| [latency, count]);
        words.flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Reads the bytes of [`Latencies::to_bytes`]: the largest latency of each bucket in
    /// nanoseconds, and its count.
    pub fn buckets(bytes: &[u8]) -> impl Iterator<Item = (u64, u64)> {
        let (words, _) = bytes.as_chunks::<8>();
        let (pairs, _) = words.as_chunks::<2>();
        pairs
            .iter()
            .map(|[latency, count]| (u64::from_le_bytes(*latency), u64::from_le_bytes(*count)))
    }
}

/// Minimum, median and maximum of some figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The minimum.
    pub min: f64,
    /// The median; the mean of the middle two if their number is even; NaN if there are none.
    pub median: f64,
    /// The maximum.
    pub max: f64,
}

impl Spread {
    /// The spread of figures in any order.
    pub fn of(figures: &[f64]) -> Spread {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |place: usize| sorted.get(place).copied().unwrap_or(f64::NAN);
        let middle = sorted.len() / 2;
        Spread {
            min: at(0),
            median: if sorted.len().is_multiple_of(2) {
                (at(middle.wrapping_sub(1)) + at(middle)) / 2.0
            } else {
                at(middle)
            },
            max: at(sorted.len().wrapping_sub(1)),
        }
    }
}

/// The median time in nanoseconds that two readings of the clock measure with nothing in between.
pub fn clock_cost() -> u64 {
    let mut costs: Vec<u128> = (0..10_001)
        .map(|_| Instant::now().elapsed().as_nanos())
        .collect();
    costs.sort_unstable();
    costs[costs.len() / 2] as u64
}

/// Measures time, reads and written bytes of the whole process from its start on.
#[derive(Debug)]
pub struct Meter {
    started: Instant,
    cpu: Duration,
    io: Option<Io>,
}

/// The counts of a [`Meter`].
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// Wall-clock time in seconds.
    pub wall: f64,
    /// CPU time of all threads, the kernel's included, in seconds.
    pub cpu: f64,
    /// Bytes passed to write calls; `None` if the operating system does not count them.
    pub written: Option<u64>,
    /// Read calls.
    pub read_calls: Option<u64>,
    /// Bytes read from the device.
    pub device_bytes: Option<u64>,
}

impl Meter {
    /// Starts counting.
    pub fn start() -> Meter {
        Meter {
            started: Instant::now(),
            cpu: process_cpu_time(),
            io: Io::now(),
        }
    }

    /// The counts since the start.
    pub fn read(&self) -> Cost {
        let io = Io::now().zip(self.io.as_ref());
        let since = |of: fn(&Io) -> u64| io.as_ref().map(|(now, then)| of(now) - of(then));
        Cost {
            wall: self.started.elapsed().as_secs_f64(),
            cpu: process_cpu_time().saturating_sub(self.cpu).as_secs_f64(),
            written: since(|io| io.written),
            read_calls: since(|io| io.read_calls),
            device_bytes: since(|io| io.device_bytes),
        }
    }
}

/// CPU time of all threads, the kernel's included.
pub fn process_cpu_time() -> Duration {
    cpu_time(ClockId::ProcessCPUTime)
}

/// CPU time of this thread, the kernel's included.
pub fn thread_cpu_time() -> Duration {
    cpu_time(ClockId::ThreadCPUTime)
}

fn cpu_time(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Counters of Linux's `/proc/self/io`, for all threads of the process.
#[derive(Debug)]
struct Io {
    /// `wchar`: direct and buffered write calls, but not writes through memory maps. (`write_bytes`
    /// is not usable, since it counts a whole large page of the page cache for each byte changed
    /// through a map.)
    written: u64,
    /// `syscr`.
    read_calls: u64,
    /// `read_bytes`.
    device_bytes: u64,
}

impl Io {
    fn now() -> Option<Io> {
        let text = fs::read_to_string("/proc/self/io").ok()?;
        let count = |name: &str| -> Option<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().parse().ok()
        };
        Some(Io {
            written: count("wchar:")?,
            read_calls: count("syscr:")?,
            device_bytes: count("read_bytes:")?,
        })
    }
}

/// Bytes that this process has caused to be read from devices: directly, through the page cache or
/// into a memory map. `None` if the operating system does not count them.
pub fn device_bytes() -> Option<u64> {
    Some(Io::now()?.device_bytes)
}

/// Disk space in bytes of the files in a directory and below it; holes do not count, and a file with several names there
/// counts once.
///
/// # Errors
/// If the directory cannot be read.
pub fn directory_bytes(directory: &Path) -> Result<u64> {
    let mut seen = BTreeSet::new();
    new_bytes(directory, &mut seen)
}

/// The space of the files that are not among those `seen`, by device and number.
fn new_bytes(directory: &Path, seen: &mut BTreeSet<(u64, u64)>) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory).map_err(Error::io("list", directory))? {
        let entry = entry.map_err(Error::io("list", directory))?;
        let path = entry.path();
        let about = match entry.metadata() {
            // Removed since it was listed.
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => continue,
            about => about.map_err(Error::io("measure", &path))?,
        };
        if about.is_dir() {
            bytes += new_bytes(&path, seen)?;
        } else if seen.insert((about.dev(), about.ino())) {
            bytes += about.blocks() * 512;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_two_names_takes_its_space_once() {
        let directory = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| directory.path().join(name));
        fs::write(&first, vec![7; 100_000]).unwrap();
        let once = directory_bytes(directory.path()).unwrap();
        fs::hard_link(first, second).unwrap();
        assert!(once >= 100_000);
        assert_eq!(directory_bytes(directory.path()).unwrap(), once);
    }

    #[test]
    fn quantiles_mean_and_bytes() {
        let mut latencies = Latencies::new().unwrap();
        for nanoseconds in 1..=1_000 {
            latencies.record(Duration::from_nanos(nanoseconds));
        }
        assert_eq!(latencies.count(), 1_000);
        assert_eq!(latencies.mean(), 500.5);
        assert_eq!(latencies.quantile(0.5), 500.0);
        assert_eq!(latencies.quantile(0.99), 990.0);
        assert_eq!(latencies.mean_between(0.0, 1.0), 500.5);
        assert_eq!(latencies.mean_between(0.0, 0.99), 495.5);
        assert_eq!(latencies.mean_between(0.95, 1.0), 975.5);
        assert_eq!(Latencies::new().unwrap().mean_between(0.95, 1.0), 0.0);
        let bytes = latencies.to_bytes();
        assert_eq!(
            &bytes[..16],
            [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
        );
        let mut other = Latencies::new().unwrap();
        for nanoseconds in [1, 7, 5_000_000] {
            other.record(Duration::from_nanos(nanoseconds));
        }
        let both = Latencies::add_bytes(&bytes, &other.to_bytes());
        latencies.add(&other);
        assert_eq!(both, latencies.to_bytes());
        let counts = bytes.chunks(16).map(|pair| u64::from(pair[8]));
        assert_eq!(counts.sum::<u64>(), 1_000);
    }

    #[test]
    fn spreads() {
        let (min, median, max) = (1.0, 2.0, 9.0);
        assert_eq!(Spread::of(&[9.0, 1.0, 2.0]), Spread { min, median, max });
        assert_eq!(Spread::of(&[9.0, 1.0, 1.0, 3.0]).median, 2.0);
        assert!(Spread::of(&[]).median.is_nan());
        let mut latencies = Latencies::new().unwrap();
        latencies.record(Duration::from_nanos(5));
        let mut both = Latencies::new().unwrap();
        both.record(Duration::from_nanos(15));
        both.add(&latencies);
        assert_eq!((both.count(), both.mean()), (2, 10.0));
    }

    #[test]
    fn a_meter_counts_writes_and_cpu_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let meter = Meter::start();
        fs::write(file.path(), vec![1; 100_000]).unwrap();
        while process_cpu_time() < meter.cpu + Duration::from_millis(5) {}
        let cost = meter.read();
        assert!(cost.cpu >= 0.005 && cost.wall > 0.0, "{cost:?}");
        if let Some(written) = cost.written {
            assert!(written >= 100_000, "{cost:?}");
        }
    }
}
