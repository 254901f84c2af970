//! What a run will take, estimated from its plan before it begins.

use super::plan::{Contest, Group};
use super::study::Records;
use super::{Amounts, Build, Count, Data, Fill, Medium, Planned, Reading, Work};
use crate::error::Result;
use crate::results::Cell;
use crate::store::System;

/// The estimate for a list of contests.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Estimate {
    /// Cells.
    pub cells: usize,
    /// Rounds of all cells.
    pub rounds: usize,
    /// Stores that are loaded, in all rounds.
    pub loads: usize,
    /// Stores that are made from one that was loaded.
    pub rebuilds: usize,
    /// Time.
    pub seconds: f64,
    /// The largest memory of the process, without the page cache.
    pub memory_bytes: f64,
    /// The largest size of all files at one time.
    pub disk_bytes: f64,
}

/// The speed of the machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Machine {
    /// Nanoseconds to read a page from the device.
    page_read: f64,
    /// Nanoseconds to write a byte to the device.
    byte_write: f64,
    /// Whether these were measured on this machine.
    pub is_measured: bool,
}

// Nanoseconds on an AMD EPYC with two cores, while others used it too, fitted to runs at scale quick, which
// took 8.8 s (E-F8), 4.6 s (E-F9), 24 s (E-F12), 5.1 s (E-F14), 20 s (E-F15), 4.2 s (E-F16).
/// To write an entry once, and each of its bytes.
const ENTRY_WRITE: f64 = 300.0;
const BYTE_WRITE: f64 = 0.9;
/// To make a key.
const KEY: f64 = 1_000.0;
/// To add a key to an index, on average over all kinds.
const TRAIN: f64 = 100.0;
/// For a get, a step of a range and an operation of a workload from the page cache, checks included.
const GET: f64 = 4_000.0;
const STEP: f64 = 600.0;
const OPERATION: f64 = 8_000.0;
/// For the entries of a short range, beside the operation.
const RANGE: f64 = 20_000.0;
/// For an operation on a slow disk, which serves some of them.
const SLOW_OPERATION: f64 = 2e6;
/// For a read of a device as slow as an SSD behind SATA.
const SATA_READ: f64 = 150_000.0;
/// For a write or a read of ingestion, on average over indexes alone and stores.
const INGEST: f64 = 800.0;
/// To make, open, sync and remove a store, and to open and close it for a cell.
const STORE: f64 = 10e6;
const CELL: f64 = 5e6;
/// To measure the machine.
const ENVIRONMENT: f64 = 1e9;
/// To read a page of a device, and to write a byte to it: a common SSD, where nothing was measured.
const PAGE_READ: f64 = 100_000.0;
const DEVICE_WRITE: f64 = 2.0;

/// Bytes of an entry in a table and in the filter besides key and value.
const ENTRY_BYTES: f64 = 8.0;
/// Bytes a key in memory besides the key itself: the order of loading, the versions of records, and the
/// filter; and an index, if it is one that knows exact ranks, or another.
const KEY_BYTES: f64 = 24.0;
const EXACT_BYTES: f64 = 60.0;
const INDEX_BYTES: f64 = 2.0;
/// The process itself.
const PROCESS_BYTES: f64 = 32e6;
/// Larger stores do not fit into the page cache while they are written, so the device limits them.
const CACHED_BYTES: f64 = 8e9;

impl Machine {
    /// The speed according to `E-ENV` among these cells, if it is there.
    pub fn of(cells: &[Cell]) -> Machine {
        let measured = cells.iter().rev().find(|cell| cell.experiment == "E-ENV");
        let figure = |name| measured?.value(name).filter(|value| *value > 0.0);
        let (page, write) = (figure("page_device_mean"), figure("device_write"));
        Machine {
            page_read: page.unwrap_or(PAGE_READ),
            byte_write: write.map_or(DEVICE_WRITE, |rate| 1e9 / rate),
            is_measured: page.is_some() && write.is_some(),
        }
    }
}

/// The mean sizes of a set, and the number of its records.
#[derive(Clone, Copy)]
struct Size {
    records: f64,
    key: f64,
    entry: f64,
}

impl Size {
    /// From a sample of the set.
    fn of(data: &Data) -> Result<Size> {
        let sample = Data {
            records: data.records.min(1_000),
            ..data.clone()
        };
        let input = Records::of(&sample, 1)?.input;
        let count = input.keys.len() as f64;
        Ok(Size {
            records: data.records as f64,
            key: input.keys.bytes() as f64 / count,
            entry: input.user_bytes() as f64 / count,
        })
    }

    fn bytes(self) -> f64 {
        self.records * (self.entry + ENTRY_BYTES)
    }

    /// Nanoseconds to write all records a number of times.
    fn write(self, times: f64, machine: &Machine) -> f64 {
        let byte = match self.bytes() < CACHED_BYTES {
            true => BYTE_WRITE,
            false => machine.byte_write.max(BYTE_WRITE),
        };
        times * (self.records * ENTRY_WRITE + self.bytes() * byte)
    }
}

/// Estimates what the contests take one after the other.
///
/// # Errors
/// If a set cannot be read.
pub fn estimate(contests: &[Contest], amounts: &Amounts, machine: &Machine) -> Result<Estimate> {
    let mut sum = Estimate::default();
    for contest in contests {
        let size = Size::of(&contest.data)?;
        let mut nanoseconds = size.records * KEY;
        let mut loaded: Option<Build> = None;
        for group in &contest.stores {
            sum.rounds += group.cells.len();
            if let Some(build) = &group.build {
                let shared = build.shared();
                if build.fill != Fill::Nothing && (shared.is_none() || loaded != shared) {
                    sum.loads += 1;
                    nanoseconds += STORE + size.write(1.0 + passes(build, size), machine);
                }
                if shared.is_some() {
                    sum.rebuilds += 1;
                    nanoseconds += STORE + size.write(1.0, machine) + size.records * TRAIN;
                }
                loaded = shared;
            }
            let cells = group.cells.iter();
            let work = cells.map(|(_, planned)| CELL + of_work(planned, size, amounts, machine));
            nanoseconds += work.sum::<f64>();
            sum.memory_bytes = sum.memory_bytes.max(memory(group, size));
            if group.build.is_some() {
                // The store and a copy with other tables, or the input and the output of a merge.
                sum.disk_bytes = sum.disk_bytes.max(2.0 * size.bytes());
            }
        }
        sum.seconds += nanoseconds / 1e9;
    }
    let groups = || contests.iter().flat_map(|contest| &contest.stores);
    let mut names: Vec<String> = groups()
        .flat_map(|group| group.cells.iter().map(|(key, _)| key.text()))
        .collect();
    names.sort_unstable();
    names.dedup();
    sum.cells = names.len();
    Ok(sum)
}

/// How often loading writes each record: once to level 0 and about twice to each level; where merging is
/// measured, twice more.
fn passes(build: &Build, size: Size) -> f64 {
    let base = build.system.settings().levels.base_bytes as f64;
    let levels = (size.bytes() / base).max(1.0).log10().ceil() + 1.0;
    match build.fill {
        Fill::Halves => 3.0 + 2.0 * levels,
        Fill::All | Fill::Tenths(_) => 1.0 + 2.0 * levels,
        Fill::Nothing => 0.0,
    }
}

/// Nanoseconds of the work of a cell in a round.
fn of_work(planned: &Planned, size: Size, amounts: &Amounts, machine: &Machine) -> f64 {
    let gets = |reading| 1.25 * amounts.gets_of(reading) as f64;
    let from_device = |reads: f64, reading| match reading {
        Reading::Cached => 0.0,
        Reading::Direct => reads * machine.page_read,
        // Three of ten reads come from the device, but each touches several pages. Before them all files
        // are read once, 32 pages at a time.
        Reading::Limited => (reads + size.bytes() / 4096.0 / 32.0) * machine.page_read,
    };
    match planned.work {
        Work::Environment | Work::Uncached => ENVIRONMENT,
        Work::ValueLogs | Work::Keys | Work::Loading => 0.0,
        Work::Breakdown => gets(Reading::Cached) * GET,
        Work::Points(reading) => {
            let count = gets(reading);
            count * GET + from_device(count, reading)
        }
        Work::Ranges(length, reading) => {
            let count = 1.25 * super::work::ranges_of(amounts, length) as f64;
            count * (2.0 * GET + length as f64 * STEP) + from_device(count, reading)
        }
        Work::Ingest(phases) => {
            let mixed = 1.0 - phases.preload - phases.write;
            size.records * (1.0 + mixed + phases.read) * INGEST
        }
        Work::Tuning(mixes) => {
            let operation = mixes.map(|mix| match mix.contains("scan") {
                true => OPERATION + RANGE,
                false => OPERATION,
            });
            let episodes = &amounts.episodes;
            let half = (episodes.count * episodes.operations) as f64 / 2.0;
            half * operation.iter().sum::<f64>()
        }
        Work::Phases(phases) | Work::PhasesOn(_, phases) => {
            let operation = match planned.work {
                Work::PhasesOn(Medium::SlowDisk, _) => SLOW_OPERATION,
                Work::PhasesOn(Medium::SataSsd, _) => OPERATION + SATA_READ,
                _ => OPERATION,
            };
            let count = |phase: &super::Phase| match phase.count {
                Count::OfScale(amount) => 1.1 * amount * amounts.operations as f64,
                Count::Uncached => 1.1 * amounts.uncached.operations as f64,
                Count::OfRecords(amount) => amount * size.records,
                Count::Of(operations) => operations as f64,
                // They are a part of the records, most of which were loaded by a phase before.
                Count::Left => 0.1 * size.records,
            };
            let warm = phases.iter().filter(|phase| phase.is_warm).count() as f64;
            phases.iter().map(count).sum::<f64>() * operation + warm * size.records * STEP
        }
    }
}

/// Bytes of memory while a store is measured.
fn memory(group: &Group, size: Size) -> f64 {
    let keys = size.records * (2.0 * size.key + KEY_BYTES);
    let Some(build) = &group.build else {
        return PROCESS_BYTES + keys;
    };
    let index = match &build.system {
        System::Rhumb(settings) if settings.index.is_exact() => EXACT_BYTES,
        _ => INDEX_BYTES,
    };
    let buffers = 4.0 * build.system.settings().write_buffer_bytes as f64;
    // Its cells may differ in the cache, which holds no more than there is.
    let builds = group.cells.iter().filter_map(|cell| cell.1.build.as_ref());
    let cache = builds
        .map(|build| build.system.settings().cache_bytes)
        .max();
    let cache = (cache.unwrap_or(0) as f64).min(2.0 * size.bytes());
    PROCESS_BYTES + keys + size.records * index + buffers + cache
}
