//! The amounts of data and operations at each scale.

use std::fmt;

use clap::ValueEnum;
use rhumb::Levels;

use crate::error::Result;
use crate::experiment::Reading;
use crate::store::{Settings, System};

/// The size of experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Scale {
    /// All experiments in minutes: shows that everything runs, and the shapes of most figures.
    Quick,
    /// About two hours on a machine of two cores, thirteen more with the experiments of *LearnedKV* and four with
    /// those of *DobLIX*.
    Small,
    /// The published sizes: takes hundreds of GiB of disk, and days.
    Paper,
}

impl Scale {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Scale::Quick => "quick",
            Scale::Small => "small",
            Scale::Paper => "paper",
        }
    }

    /// The amounts of this scale.
    pub fn amounts(self) -> Amounts {
        match self {
            Scale::Quick => QUICK,
            Scale::Small => SMALL,
            Scale::Paper => PAPER,
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The amounts of a scale. The published sizes of store, cache and buffer are scaled down together,
/// so that levels and tables have similar proportions. At smaller scales the cache holds a larger
/// part of the data.
#[derive(Debug, Clone, Copy)]
pub struct Amounts {
    /// Records of 24 + 1000 bytes.
    pub long: usize,
    /// Records of 8 + 8 bytes.
    pub short: usize,
    /// Records of 8 + 1016 bytes of the experiment on value logs over phases.
    pub updated: usize,
    /// The same of those over other axes, which have many cells.
    pub swept: usize,
    /// The same of those that compare stores by scans, by YCSB and in memory.
    pub compared: usize,
    /// The same of the one on a slow disk.
    pub slowed: usize,
    /// Records of 16 + 16 bytes of the experiment on the size of an LSM-tree.
    pub small: usize,
    /// Records of 8 + 8 bytes of experiments on the order of arrival.
    pub arrivals: usize,
    /// Their values of K and of L, in percent.
    pub disorders: &'static [f64],
    /// Gets of a cell in each round where the page cache holds the store.
    pub gets: usize,
    /// Gets of a cell in each round where the device is read.
    pub device_gets: usize,
    /// Ranges of a cell in each round, for the shortest length.
    pub ranges: usize,
    /// Operations of each mixed workload.
    pub operations: usize,
    /// The number of rounds, but for the experiments without a cache. In each round every store is built anew from other
    /// data, and measured in another order.
    pub rounds: u32,
    /// Bytes of the block cache.
    pub cache_bytes: u64,
    /// Bytes of the write buffer.
    pub buffer_bytes: u64,
    /// Bytes of level 1; each next level has ten times as many.
    pub base_bytes: u64,
    /// Bytes of a table.
    pub table_bytes: u64,
    /// Bytes of a table, for each size of the experiment on granularity.
    pub table_sizes: [u64; 5],
    /// The position boundaries, the largest first.
    pub boundaries: &'static [u32],
    /// The amounts of the experiments without a cache, those of *DobLIX*.
    pub uncached: Uncached,
    /// Those of their experiment on tuning.
    pub episodes: Episodes,
}

/// The amounts of the experiments without a cache. There are about as many tables at each scale.
#[derive(Debug, Clone, Copy)]
pub struct Uncached {
    /// Records of 8 + 64 bytes that are loaded.
    pub records: usize,
    /// Operations of each workload.
    pub operations: u64,
    /// Bytes of a table and of the write buffer.
    pub table_bytes: u64,
    /// Bytes of level 1; each next level has ten times as many.
    pub base_bytes: u64,
    /// The number of rounds of all experiments of the paper, some of which load stores for dozens of cells.
    pub rounds: u32,
}

/// The amounts of the experiment on tuning.
#[derive(Debug, Clone, Copy)]
pub struct Episodes {
    /// The number of episodes, a multiple of four.
    pub count: u64,
    /// Operations of an episode.
    pub operations: u64,
    /// Bytes of a table; the write buffer has a quarter of them, level 1 four times as many.
    pub table_bytes: u64,
}

impl Amounts {
    /// The settings of the published protocol, with the default index and layout.
    pub fn settings(&self) -> Settings {
        let defaults = Settings::default();
        Settings {
            table: rhumb::TableSpec {
                table_bytes: self.table_bytes,
                ..defaults.table
            },
            cache_bytes: self.cache_bytes,
            cold_cache_bytes: self.cache_bytes,
            write_buffer_bytes: self.buffer_bytes,
            levels: Levels {
                base_bytes: self.base_bytes,
                ..defaults.levels
            },
            compaction_threads: 1,
            ..defaults
        }
    }

    /// Sets the records of all experiments of *LearnedKV*.
    pub fn set_value_log_records(&mut self, records: usize) {
        (self.updated, self.swept, self.small) = (records, records, records);
        (self.compared, self.slowed) = (records, records);
    }

    /// Gets of a cell in each round, for a reading.
    pub fn gets_of(&self, reading: Reading) -> usize {
        match reading {
            Reading::Cached => self.gets,
            Reading::Direct | Reading::Limited => self.device_gets,
        }
    }

    /// The system that a text describes (see [`System::parse`]), by the published protocol where the
    /// text does not say otherwise.
    ///
    /// # Errors
    /// If the text is invalid.
    pub fn system(&self, text: &str) -> Result<System> {
        System::parse(text, &self.settings())
    }
}

const MIB: u64 = 1 << 20;

/// The published values of K and of L.
const ALL_DISORDERS: &[f64] = &[1.0, 3.0, 5.0, 10.0, 25.0, 50.0, 100.0];

pub const QUICK: Amounts = Amounts {
    long: 12_000,
    short: 120_000,
    updated: 2_000,
    swept: 600,
    compared: 1_000,
    slowed: 200,
    small: 20_000,
    arrivals: 20_000,
    disorders: &[1.0, 10.0, 100.0],
    gets: 2_000,
    device_gets: 1_000,
    ranges: 150,
    operations: 1_000,
    rounds: 3,
    cache_bytes: MIB,
    buffer_bytes: 2 * MIB,
    base_bytes: 2 * MIB,
    table_bytes: 2 * MIB,
    table_sizes: [MIB / 4, MIB / 2, MIB, 2 * MIB, 4 * MIB],
    boundaries: &[128, 16, 8],
    uncached: Uncached {
        records: 120_000,
        operations: 5_000,
        table_bytes: MIB / 4,
        base_bytes: MIB,
        rounds: 3,
    },
    episodes: Episodes {
        count: 8,
        operations: 5_000,
        table_bytes: MIB / 8,
    },
};

const SMALL: Amounts = Amounts {
    long: 200_000,
    short: 2_000_000,
    updated: 10_000_000,
    swept: 1_000_000,
    compared: 1_000_000,
    slowed: 100_000,
    small: 2_000_000,
    arrivals: 1_000_000,
    disorders: ALL_DISORDERS,
    gets: 20_000,
    device_gets: 5_000,
    ranges: 2_000,
    operations: 10_000,
    rounds: 5,
    cache_bytes: 2 * MIB,
    buffer_bytes: 8 * MIB,
    base_bytes: 16 * MIB,
    table_bytes: 16 * MIB,
    table_sizes: [2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB, 32 * MIB],
    boundaries: &[128, 64, 32, 16, 8],
    uncached: Uncached {
        records: 4_000_000,
        operations: 500_000,
        table_bytes: 4 * MIB,
        base_bytes: 16 * MIB,
        rounds: 3,
    },
    episodes: Episodes {
        count: 60,
        operations: 12_000,
        table_bytes: MIB / 8,
    },
};

const PAPER: Amounts = Amounts {
    long: 104_857_600,
    short: 200_000_000,
    updated: 10_000_000,
    swept: 10_000_000,
    compared: 1_000_000,
    slowed: 1_000_000,
    small: 10_000_000,
    arrivals: 500_000_000,
    disorders: ALL_DISORDERS,
    gets: 1_000_000,
    device_gets: 1_000_000,
    ranges: 1_000_000,
    operations: 1_000_000,
    rounds: 3,
    cache_bytes: 8 * MIB,
    buffer_bytes: 64 * MIB,
    base_bytes: 256 * MIB,
    table_bytes: 64 * MIB,
    table_sizes: [8 * MIB, 16 * MIB, 32 * MIB, 64 * MIB, 128 * MIB],
    boundaries: &[128, 64, 32, 16, 8],
    uncached: Uncached {
        records: 64_000_000,
        operations: 10_000_000,
        table_bytes: 64 * MIB,
        base_bytes: 256 * MIB,
        rounds: 3,
    },
    episodes: Episodes {
        count: 100,
        operations: 100_000,
        table_bytes: MIB,
    },
};
