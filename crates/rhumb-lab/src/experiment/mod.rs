//! The published experiments as declarations. An experiment declares its cells, the work of each,
//! and the views of its figure; `plan` makes contests of them, which `runner` carries out.

mod amounts;
mod arms;
mod bliss;
mod doblix;
pub mod edbt;
mod estimate;
mod figures;
mod learnedkv;
mod page;
mod plan;
mod runner;
mod study;
#[cfg(test)]
mod tests;
mod work;

use rhumb::{Granularity, IndexSpec, Levels, Partition, TableSpec, Tuner};

pub use self::amounts::{Amounts, Episodes, Scale, Uncached};
pub use self::arms::{Arm, FENCES};
pub use self::estimate::{Estimate, Machine, estimate};
use self::figures::View;
pub use self::page::{Chosen, chosen, papers};
pub use self::plan::{Order, parse_only, parse_shard};
pub use self::runner::{Summary, run, unfinished};
use self::study::Study;
pub use self::study::{Records, Setting};
use crate::data::{Disorder, Prefixes, Sizes};
use crate::error::{Error, Result};
use crate::results::{Axes, Measured};
use crate::store::{Peer, Settings, System, Temperature};

/// One figure or table of a paper.
pub struct Experiment {
    /// Its id, such as `E-F7`.
    pub id: &'static str,
    /// The paper and the figure, table or section in it.
    pub paper: &'static str,
    /// Its title in the report.
    pub title: &'static str,
    /// What the published figure shows.
    pub shows: &'static str,
    /// How we measure it, and the differences from the paper.
    pub method: &'static str,
    /// Its cells at a scale.
    pub cells: fn(&Amounts) -> Result<Vec<Planned>>,
    /// The views that draw its cells.
    pub views: &'static [View],
}

impl Experiment {
    /// The number of rounds in which its cells over stores are measured.
    pub fn rounds(&self, amounts: &Amounts) -> u32 {
        let is_uncached = doblix::PAPER.experiments.iter().any(|it| it.id == self.id);
        match is_uncached {
            true => amounts.uncached.rounds,
            false => amounts.rounds,
        }
    }

    /// Whether the user may give the number of its keys: that of stores which the work fills.
    ///
    /// # Errors
    /// If it cannot declare its cells.
    pub fn takes_keys(&self, amounts: &Amounts) -> Result<bool> {
        let mut cells = (self.cells)(amounts)?.into_iter();
        let is_filled = |build: Build| build.fill == Fill::Nothing;
        Ok(cells.any(|cell| cell.build.is_some_and(is_filled)))
    }
}

/// A cell to measure.
#[derive(Debug, Clone)]
pub struct Planned {
    /// The axes, which differ from those of every other cell of the experiment.
    pub axes: Axes,
    /// The keys and values.
    pub data: Data,
    /// The store that holds them; none if only the keys are needed. Cells with equal data and equal builds at
    /// rest share a store.
    pub build: Option<Build>,
    /// The work to do.
    pub work: Work,
}

/// Keys and values.
#[derive(Debug, Clone, PartialEq)]
pub struct Data {
    /// The name of the set.
    pub set: String,
    /// The number of records.
    pub records: usize,
    /// The sizes of values; none for those of the set.
    pub values: Option<Sizes>,
    /// What stands before each key.
    pub prefixes: Option<Prefixes>,
    /// The number of keys that are held out, to be asked for as absent keys, as a share of the
    /// records.
    pub hold_outs: f64,
    /// The order in which they arrive; none for that of the set if it has one, else a random order.
    pub order: Option<Disorder>,
}

impl Data {
    /// Records of a set as it is.
    pub fn new(set: &str, records: usize) -> Data {
        Data {
            set: set.to_string(),
            records,
            values: None,
            prefixes: None,
            hold_outs: 0.0,
            order: None,
        }
    }

    /// The same with values of so many bytes.
    pub fn with_values(self, bytes: usize) -> Data {
        Data {
            values: Some(Sizes::Fixed(bytes)),
            ..self
        }
    }
}

/// A system to build, and what it holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Build {
    /// The system.
    pub system: System,
    /// The records to load.
    pub fill: Fill,
}

impl Build {
    /// The build without what its files do not depend on: the bytes of its cache, and whether it reads the device. None if loading
    /// itself is measured, and for other systems than our store and RocksDB with its default index.
    pub fn at_rest(&self) -> Option<Build> {
        let mut build = self.clone();
        let settings = match &mut build.system {
            System::Rhumb(settings) | System::Peer(Peer::Rocksdb, settings) => settings,
            _ => return None,
        };
        (
            settings.cache_bytes,
            settings.cold_cache_bytes,
            settings.direct,
        ) = (0, 0, false);
        matches!(self.fill, Fill::All | Fill::Tenths(_)).then_some(build)
    }

    /// The build that is loaded once for all builds which differ from this one at rest in the index and what it covers, in how
    /// blocks are cut and in who chooses both alone; none if loading itself is measured, and for other systems than our store.
    pub fn shared(&self) -> Option<Build> {
        let build = self.at_rest()?;
        let System::Rhumb(settings) = &build.system else {
            return None;
        };
        let settings = Settings {
            index: IndexSpec::default(),
            table: TableSpec {
                partition: Partition::Bytes(4096),
                ..settings.table.clone()
            },
            tuner: Tuner::Off,
            levels: Levels {
                granularity: Granularity::Table,
                ..settings.levels
            },
            ..settings.clone()
        };
        Some(Build {
            system: System::Rhumb(settings),
            ..build
        })
    }
}

/// The part of the records that is loaded before the work begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// All records.
    All,
    /// All records, half of them first; only merging the other half into them counts as the cost of
    /// loading.
    Halves,
    /// So many tenths; workloads insert some of the rest.
    Tenths(u8),
    /// None: the work loads them.
    Nothing,
}

/// The work of a cell, done by one thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Work {
    /// Describes the machine and the protocol.
    Environment,
    /// Describes the protocol of stores with value logs.
    ValueLogs,
    /// Describes the machine and the protocol without a cache.
    Uncached,
    /// Describes the keys: their sizes and their distribution.
    Keys,
    /// Gets of present keys, and the memory of indexes, directories, filters and key maps.
    Points(Reading),
    /// The parts of the time of a get.
    Breakdown,
    /// Ranges of this many entries: the seek, and the scan after it.
    Ranges(usize, Reading),
    /// The time of loading, merging and training.
    Loading,
    /// Workloads one after another, on a copy of the store if it was loaded.
    Phases(&'static [Phase]),
    /// The same on a store that lies elsewhere.
    PhasesOn(Medium, &'static [Phase]),
    /// Records arrive in a system that is empty at first.
    Ingest(Ingest),
    /// Reads and inserts in episodes, in which a tuner may change the form of tables: the mix of the first half of the
    /// episodes, as `run workloads` takes it, and that of the second half.
    Tuning([&'static str; 2]),
}

/// Where a store lies that is not in the directory for stores, or not as that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// In memory.
    Memory,
    /// On a disk that is slow, or is made so, with little memory.
    SlowDisk,
    /// On a device that is made as slow as an SSD behind SATA.
    SataSsd,
}

/// Phases of ingestion one after another, as shares of the records. What is left after the first two is
/// written with as many reads between the writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ingest {
    /// The records that are there before others are written.
    pub preload: f64,
    /// How they come there.
    pub by: Preload,
    /// The records written one after another.
    pub write: f64,
    /// The reads after all writes.
    pub read: f64,
}

/// How the first records come into a system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preload {
    /// All at once, sorted.
    BulkLoad,
    /// One after another in the order of their arrival.
    Inserts,
}

/// The number of operations of a phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Count {
    /// A multiple of the operations of the scale, behind a tenth as many that are not measured.
    OfScale(f64),
    /// Those of experiments without a cache, behind a tenth as many that are not measured.
    Uncached,
    /// A multiple of the records of the cell. All operations are measured, and with them the space and the
    /// writes of the store.
    OfRecords(f64),
    /// As [`Count::OfRecords`], as many as there are records left to insert.
    Left,
    /// As [`Count::OfRecords`], a number of them.
    Of(u64),
}

/// A workload that follows others on the same store.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Phase {
    /// Its name in results: the metric of its mean time is `name_mean`.
    pub name: &'static str,
    /// The mix of its operations, as `run workloads` takes it.
    pub mix: &'static str,
    /// The number of its operations.
    pub count: Count,
    /// The number of clients.
    pub clients: usize,
    /// Operations that all clients together begin each second; none for a closed loop.
    pub rate: Option<f64>,
    /// Whether all is merged, converted and collected by force before it begins.
    pub is_behind_all_work: bool,
    /// Whether all keys are looked up once in their order before it begins, so that a cache has what it can hold.
    pub is_warm: bool,
    /// Whether it is looked up which part of the store answers each read.
    pub has_sources: bool,
}

impl Phase {
    /// As many operations as the scale has, by one client in a closed loop.
    pub const fn new(name: &'static str, mix: &'static str) -> Phase {
        Phase {
            name,
            mix,
            count: Count::OfScale(1.0),
            clients: 1,
            rate: None,
            is_behind_all_work: false,
            is_warm: false,
            has_sources: false,
        }
    }

    /// Some operations that are measured from the first on, by one client in a closed loop.
    pub const fn whole(name: &'static str, mix: &'static str, count: Count) -> Phase {
        Phase {
            count,
            ..Phase::new(name, mix)
        }
    }

    /// The phase by a number of clients.
    pub const fn by(self, clients: usize) -> Phase {
        Phase { clients, ..self }
    }

    /// The phase behind all that the store has to do.
    pub const fn behind_all_work(self) -> Phase {
        Phase {
            is_behind_all_work: true,
            ..self
        }
    }

    /// The phase with the parts of the store that answer its reads.
    pub const fn with_sources(self) -> Phase {
        Phase {
            has_sources: true,
            ..self
        }
    }
}

/// The source of blocks that are not in the store's own cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reading {
    /// The page cache, which holds the whole store.
    Cached,
    /// A page cache that a control group limits to 70 % of the data, as published.
    Limited,
    /// The device.
    Direct,
}

impl Work {
    /// What the caches hold when the work begins, as results say it.
    fn caches(self) -> &'static str {
        match self {
            Work::Points(reading) | Work::Ranges(_, reading) => reading.caches(),
            Work::Breakdown
            | Work::Phases(_)
            | Work::PhasesOn(Medium::Memory, _)
            | Work::Tuning(_) => Reading::Cached.caches(),
            Work::PhasesOn(Medium::SlowDisk, _) => Reading::Limited.caches(),
            Work::PhasesOn(Medium::SataSsd, _) => Reading::Direct.caches(),
            Work::Environment
            | Work::ValueLogs
            | Work::Uncached
            | Work::Keys
            | Work::Loading
            | Work::Ingest(_) => "",
        }
    }

    /// Whether it writes to the store that it is given.
    fn changes_store(self) -> bool {
        matches!(
            self,
            Work::Phases(_) | Work::PhasesOn(..) | Work::Ingest(_) | Work::Tuning(_)
        )
    }

    /// The position of the work among the cells over one store: work that needs a full page cache,
    /// then work that empties it, then work that changes the store.
    fn place(self) -> u8 {
        match self {
            Work::Points(Reading::Direct) | Work::Ranges(_, Reading::Direct) => 1,
            Work::Points(Reading::Limited) | Work::Ranges(_, Reading::Limited) => 2,
            _ if self.changes_store() => 3,
            _ => 0,
        }
    }
}

impl Reading {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Reading::Cached => "page cache",
            Reading::Limited => "page cache of 70 %",
            Reading::Direct => "device",
        }
    }

    /// What the caches hold when gets begin.
    fn caches(self) -> &'static str {
        match self {
            Reading::Cached => "warm",
            Reading::Limited => "limited",
            Reading::Direct => "cold",
        }
    }

    /// How a store is opened.
    pub fn temperature(self) -> Temperature {
        match self {
            Reading::Cached | Reading::Limited => Temperature::Warm,
            Reading::Direct => Temperature::Cold,
        }
    }
}

/// Lets records arrive in a system that is empty at first, as in the experiments on sortedness: all of them one
/// by one in a store; behind a bulk load, with reads between the last of them, in an index alone.
///
/// # Errors
/// Failures of the system; wrong answers; a set whose keys are not integers.
pub fn ingest(setting: &Setting<'_>, records: &Records, system: &System) -> Result<Measured> {
    let build = Build {
        system: system.clone(),
        fill: Fill::Nothing,
    };
    let study = Study::load(setting, records, &build)?;
    let measured = work::ingest(&study, bliss::phases_of(system))?;
    study.remove()?;
    Ok(measured)
}

/// A paper with its experiments.
pub struct Paper {
    /// Its title in the report.
    pub title: &'static str,
    /// Those of its experiments that are declared.
    pub experiments: &'static [Experiment],
}

/// The papers. A paper is a file or a folder here and a line in this list.
const PAPERS: [Paper; 4] = [edbt::PAPER, learnedkv::PAPER, bliss::PAPER, doblix::PAPER];

/// All experiments, in the order of their papers.
pub fn all() -> impl Iterator<Item = &'static Experiment> {
    PAPERS.iter().flat_map(|paper| paper.experiments)
}

/// The experiment with an id.
pub fn find(id: &str) -> Option<&'static Experiment> {
    all().find(|experiment| experiment.id == id)
}

/// The experiments with the given ids; `all` means every experiment.
///
/// # Errors
/// If there is no experiment with an id.
pub fn named(ids: &[String]) -> Result<Vec<&'static Experiment>> {
    let mut found: Vec<&'static Experiment> = Vec::new();
    for id in ids {
        let these: Vec<&'static Experiment> = match id.as_str() {
            "all" => all().collect(),
            id => find(id).into_iter().collect(),
        };
        if these.is_empty() {
            return Err(Error::Usage(format!(
                "there is no experiment {id:?}: see `rhumb-lab list`"
            )));
        }
        for experiment in these {
            if !found.iter().any(|known| known.id == experiment.id) {
                found.push(experiment);
            }
        }
    }
    Ok(found)
}
