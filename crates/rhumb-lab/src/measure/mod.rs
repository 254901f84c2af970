//! Clocks, histograms and what the operating system counted.

mod control_group;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::time::{ClockId, clock_gettime};

pub use self::control_group::ControlGroup;
use crate::error::{Error, Result};

/// How long the operations of one kind took, in nanoseconds, each timed alone. The cost of reading
/// the clock, [`clock_cost`], is contained in every one of them.
#[derive(Debug)]
pub struct Latencies {
    histogram: Histogram<u64>,
    total: Duration,
}

impl Latencies {
    /// No operations yet. Values keep three digits, up to one hour.
    ///
    /// # Errors
    /// None that these bounds allow.
    pub fn new() -> Result<Latencies> {
        let histogram = Histogram::new_with_max(3_600_000_000_000, 3)
            .map_err(|e| Error::Usage(format!("no histogram: {e}")))?;
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

    /// Adds the operations of another.
    pub fn add(&mut self, other: &Latencies) {
        self.total += other.total;
        // Both have the same bounds, so that everything fits.
        let _ = self.histogram.add(&other.histogram);
    }

    /// How many operations there were.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Mean in nanoseconds, from the exact sum.
    pub fn mean(&self) -> f64 {
        self.total.as_nanos() as f64 / self.count().max(1) as f64
    }

    /// The latency in nanoseconds that a share of the operations did not exceed.
    pub fn quantile(&self, share: f64) -> f64 {
        self.histogram.value_at_quantile(share) as f64
    }

    /// The histogram as bytes: for every bucket in use its largest latency in nanoseconds and its
    /// count, both as little-endian `u64`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for bucket in self.histogram.iter_recorded() {
            bytes.extend_from_slice(&bucket.value_iterated_to().to_le_bytes());
            bytes.extend_from_slice(&bucket.count_at_value().to_le_bytes());
        }
        bytes
    }

    /// What [`Latencies::to_bytes`] wrote: the largest latency of each bucket in nanoseconds, and its
    /// count.
    pub fn buckets(bytes: &[u8]) -> impl Iterator<Item = (u64, u64)> {
        let (words, _) = bytes.as_chunks::<8>();
        let (pairs, _) = words.as_chunks::<2>();
        pairs
            .iter()
            .map(|[latency, count]| (u64::from_le_bytes(*latency), u64::from_le_bytes(*count)))
    }
}

/// The middle of some figures and how far they spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The least.
    pub min: f64,
    /// The middle one; the mean of the middle two of an even number; NaN for none.
    pub median: f64,
    /// The greatest.
    pub max: f64,
}

impl Spread {
    /// Of figures in any order.
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

/// What reading the clock around nothing costs, in nanoseconds: a median.
pub fn clock_cost() -> u64 {
    let mut costs: Vec<u128> = (0..10_001)
        .map(|_| Instant::now().elapsed().as_nanos())
        .collect();
    costs.sort_unstable();
    costs[costs.len() / 2] as u64
}

/// Time, reads and written bytes of the whole process since a moment.
#[derive(Debug)]
pub struct Meter {
    started: Instant,
    cpu: Duration,
    io: Option<Io>,
}

/// What a [`Meter`] has counted.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// Wall-clock time in seconds.
    pub wall: f64,
    /// CPU time of all threads, in the kernel too, in seconds.
    pub cpu: f64,
    /// Bytes handed over by write calls; `None` where the operating system does not count them.
    pub written: Option<u64>,
    /// Read calls.
    pub read_calls: Option<u64>,
    /// Bytes that came from the device.
    pub device_bytes: Option<u64>,
}

impl Meter {
    /// Counts from now on.
    pub fn start() -> Meter {
        Meter {
            started: Instant::now(),
            cpu: process_cpu_time(),
            io: Io::now(),
        }
    }

    /// What was counted so far.
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

/// CPU time of all threads, in the kernel too.
pub fn process_cpu_time() -> Duration {
    cpu_time(ClockId::ProcessCPUTime)
}

/// CPU time of this thread, in the kernel too.
pub fn thread_cpu_time() -> Duration {
    cpu_time(ClockId::ThreadCPUTime)
}

fn cpu_time(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// What Linux's `/proc/self/io` counts for all threads of the process.
#[derive(Debug)]
struct Io {
    /// `wchar`: direct and buffered write calls alike, and no writes through memory maps. (Its
    /// `write_bytes` counts a whole large page of the page cache for each byte changed through a map,
    /// so it says nothing of use.)
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

/// Bytes that this process has had read from devices, past the page cache, through it or into a memory
/// map; `None` where the operating system does not count them.
pub fn device_bytes() -> Option<u64> {
    Some(Io::now()?.device_bytes)
}

/// Bytes that the files in a directory and below it take on the disk; holes take none.
///
/// # Errors
/// If the directory cannot be read.
pub fn directory_bytes(directory: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory).map_err(Error::io("list", directory))? {
        let entry = entry.map_err(Error::io("list", directory))?;
        let path = entry.path();
        let about = entry.metadata().map_err(Error::io("measure", &path))?;
        bytes += if about.is_dir() {
            directory_bytes(&path)?
        } else {
            about.blocks() * 512
        };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let bytes = latencies.to_bytes();
        assert_eq!(
            &bytes[..16],
            [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
        );
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
    fn a_meter_sees_writes_and_work() {
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
