//! *DobLIX*: blocks cut by the model, and an agent that tunes their parameters. An experiment names the systems that it takes (`arms`).

mod ablation;
mod arms;
mod building;
mod forms;
mod learned;
mod mixes;
mod parts;
mod sata;
mod sizes;
mod tuning;
mod views;
mod ycsb;

use super::figures::{Along, Chart, Column, Measure, Only, Split, View, column};
use super::{
    Amounts, Build, Count, Data, Experiment, Fill, Medium, Paper, Phase, Planned, Result, Uncached,
    Work,
};

pub use self::arms::protocol;

/// The paper with its experiments.
pub const PAPER: Paper = Paper {
    title: "DobLIX",
    experiments: &[
        ENVIRONMENT,
        parts::FIGURE_1,
        mixes::FIGURES_9_10,
        parts::FIGURE_11,
        ycsb::FIGURE_12,
        sizes::FIGURE_13,
        building::FIGURE_14,
        tuning::FIGURE_15,
        ablation::RATES,
        sata::SLOWER_DISK,
    ],
};

const ENVIRONMENT: Experiment = Experiment {
    id: "D-ENV",
    paper: "DobLIX, section IV-A",
    title: "The published protocol as a setting",
    shows: "64 million entries of 8 + 64 bytes and 10 million operations, keys by Zipf, the defaults of RocksDB 8.1.1, no cache in any \
            system. Latency is the mean of the operations within the 99th percentile, tail latency that of the slowest 5 %. On a \
            ThreadRipper with 64 cores, 256 GB of memory and an NVMe SSD.",
    method: "Every D experiment but D-F1 uses this protocol: no store has a block cache; indexes and filters are in memory; blocks are \
             read from the page cache, which holds the whole store, unless a mix says `device`; filters have 10 bits a key; nothing is compressed; four threads merge in our \
             stores, RocksDB has its default number. Buffers and tables of 64 MiB and a level 1 of 256 MiB are scaled down with the \
             records. Zipf is YCSB's scrambled one of 0.99. Throughput is operations over the time in the store; each cell that \
             writes begins with a copy of the store as it was loaded. `doblix` is rhumb with blocks of at most 4 KiB cut by a \
             piecewise linear model (`pla`, error 128), over longer keys by the string tree over all keys (`rss`); `rhumb` has its default model and placement, \
             `rhumb-small` the same with blocks of 14 entries about; `tridentkv` is the form of TridentKV, a recursive model of 1,000 leaves \
             of each table that says the block, of as many entries as take 4 KiB about; `bourbon` is the static form of Bourbon, a piecewise linear model of each table, wrong by at most 8 \
             entries, over blocks of 4 KiB; `rocksdb-like` has fence pointers of whole keys over blocks of 4 KiB. RocksDB itself is measured where \
             it is built in. The agent is in D-F15 alone.",
    cells: |_| {
        Ok(vec![Planned {
            axes: vec![("scale", "this".to_string())],
            data: Data::new("dense", 100),
            build: None,
            work: Work::Uncached,
        }])
    },
    views: &[View::List {
        title: "The machine, and the protocol at this scale",
    }],
};
