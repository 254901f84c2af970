//! *LearnedKV*: an LSM-tree in front of a static tier with learned models, over a value log. An experiment names the
//! systems that it takes (`arms`), and declares a cell for each (`cells`).

mod arms;
mod cells;
mod filter;
mod media;
mod ranges;
mod sets;
mod sizes;
mod sources;
mod updates;
mod views;
mod ycsb;

use super::figures::{
    Across, Against, Along, Chart, Column, How, Measure, Only, Published, Stated, View, column,
};
use super::{Amounts, Build, Count, Data, Experiment, Fill, Medium, Paper, Phase, Planned, Work};
use crate::error::Result;

pub use self::arms::protocol;

/// The paper with its experiments.
pub const PAPER: Paper = Paper {
    title: "LearnedKV",
    experiments: &[
        ENVIRONMENT,
        sizes::FIGURE_3,
        updates::FIGURE_8,
        updates::FIGURE_9,
        sets::TABLE_2,
        updates::TABLE_3,
        sets::TABLE_4,
        ranges::FIGURE_10,
        ycsb::FIGURE_11,
        ycsb::TABLE_5,
        sources::TABLE_6,
        updates::TABLE_7,
        filter::FIGURE_13,
        media::FIGURE_14,
        media::FIGURE_15,
    ],
};

const ENVIRONMENT: Experiment = Experiment {
    id: "L-ENV",
    paper: "LearnedKV, sections 4.5 and 5.1",
    title: "The published protocol as a setting",
    shows: "10 million entries of 8 + 1016 bytes, loaded in random order (P0); then three phases of 10 million operations \
            (P1 to P3), of which the last is reported. Value logs are 30 % larger than the data, the LSM-tree and the \
            learned tier are not searched at the same time, and collection is forced after P0 where nothing is updated. On \
            an SSD, with equal memory.",
    method: "Every L experiment but L-F3 uses this protocol: one client in a closed loop; each entry and each operation is a call of its \
             own; writes reach the operating system and are not synced; a collection begins when the log is larger than what is live in it by \
             the over-provision, 30 % unless it is the axis; in the systems named `...-bound` it begins at three fifths of that, so that garbage takes about no more; everything is merged, converted and collected by force behind P0 in L-F10, L-F11 and \
             L-T5 alone, since in all others each phase updates. \
             Throughput of a kind of operation is their number over the sum of their latencies, as published. Beside \
             it stand the throughput by the clock on the wall, the CPU time of the process, the bytes passed to write \
             calls, the space of the directory at the end of a phase and at its largest (looked at every 100 ms), and \
             the memory of indexes, filters and the store's own cache. Buffers, levels and caches are those of 10 million \
             entries (buffer 64 MiB, level 1 of 256 MiB, cache 64 MiB, filters of 10 bits a key), scaled down with \
             the entries; buffers are of 256 KiB at least, level 1 of 1 MiB, and caches of 64 KiB. Tables and values are read through the page cache. `rdb+published` alone has \
             the settings of the published baseline: RocksDB with a write buffer of 64 KiB, level 1 of 16 KiB, ratio 10, no \
             filter, a cache of 32 MiB and direct reads of tables (values come from the page cache), scaled alike. `tier-keys` and \
             `tier-inline` have a learned tier, whose ranges of 256 MiB, scaled alike, are converted one by one in the background; \
             `tier-published` is converted whole, in the background too. The published trigger bounds the log when its collection begins; a collection of the whole \
             log needs as much space again for the new one, which the peak shows. rhumb begins to collect at three fifths of the over-provision that is set, which bounds the garbage that there is at any time: it is set to \
             five thirds of 30 %, 50 %, and to 30 % in the systems named `...-bound`.",
    cells: |_| {
        Ok(vec![Planned {
            axes: vec![("scale", "this".to_string())],
            data: Data::new("dense", 100),
            build: None,
            work: Work::ValueLogs,
        }])
    },
    views: &[View::List {
        title: "The protocol at this scale",
    }],
};
