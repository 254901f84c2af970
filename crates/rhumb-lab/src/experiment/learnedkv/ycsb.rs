//! Beside other stores: YCSB through the page cache and past it.

use super::arms::{BASELINES, BLOBS, LEAST, LEVELS, TIERS};
use super::cells::{Cells, LOAD, over, points};
use super::views::{Axis, chart, ratios_at};
use super::{
    Amounts, Column, Count, Experiment, Measure, Phase, Planned, Result, Stated, View, Work, column,
};
use crate::claims::learnedkv::published::DIRECT;
use crate::results::Cell;

/// Systems of others. `bourbon` has a model in each table of an LSM-tree over a value log; `hashkv` has values in groups.
const OTHERS: &[&str] = &["hashkv", "bourbon"];

/// B+-trees and hybrid indexes on the disk, over a value log.
const INDEXES: &[&str] = &["btree-disk+", "hybrid-pgm+", "hybrid-leco+"];

pub const FIGURE_11: Experiment = Experiment {
    id: "L-F11",
    paper: "LearnedKV, Figure 11",
    title: "YCSB beside other stores",
    shows: "The throughput of LearnedKV, Bourbon, HashKV, a B+-tree on the disk and two hybrid learned indexes under YCSB A, B and C \
            with a million entries.",
    method: "A million entries of 8 + 1016 bytes with uniform keys are put in random order; then all is merged, converted and \
             collected by force, since YCSB C updates nothing; then as many operations of YCSB A (half reads, half updates), B (95 % \
             reads) or C (reads alone) follow as there are entries, by Zipf 0.99. Throughput is all operations over the sum of their \
             latencies. Each workload has a store of its own. `hashkv` is rhumb with values in groups by the hash of their keys, and \
             `bourbon` rhumb with a piecewise linear model of each table, of whose entries exactly the window is read, and no learned \
             tier; all of these have equal memory but `rdb+published`. `btree-disk+` is a value log of the lab over a B+-tree whose leaves and two \
             lowest inner levels are read from the disk each time, `hybrid-pgm+` and `hybrid-leco+` over a B+-tree in memory that takes what is \
             put, and a sorted run on the disk under a PGM-index, or under compressed bounds of pages, with 10 MiB of memory for a million \
             entries, scaled with them. At `quick` the workloads A and C alone.",
    cells: |amounts| {
        let systems: &[&[&str]] = &[TIERS, LEVELS, BASELINES, BLOBS, OTHERS, INDEXES];
        over(points(&WORKLOADS, amounts), amounts, |(name, phases)| {
            Cells::new(systems, amounts.compared, Work::Phases(phases)).at("workload", name)
        })
    },
    views: &[
        throughput(),
        ratios_at(
            "Over HashKV",
            WORKLOAD,
            "ycsb_rate",
            &[("system", "hashkv")],
            "throughput over that of hashkv; published: A 1.12, B 1.89, C 1.34",
        ),
        ratios_at(
            "Over Bourbon",
            WORKLOAD,
            "ycsb_rate",
            &[("system", "bourbon")],
            "throughput over that of bourbon; published: A 1.58, B 1.87, C 1.32",
        ),
        operations(&[]),
    ],
};

pub const TABLE_5: Experiment = Experiment {
    id: "L-T5",
    paper: "LearnedKV, Table 5",
    title: "YCSB past the page cache",
    shows: "The throughput of LearnedKV and of two hybrid learned indexes with direct I/O under YCSB A, B and C.",
    method: "As L-F11, with reads of tables and values past the page cache, and a cache of 8 MiB for a million entries, scaled with \
             them, at least 64 KiB. The hybrid indexes have no cache but their memory.",
    cells: past_the_page_cache,
    views: &[throughput(), operations(PUBLISHED)],
};

const WORKLOAD: Axis = ("workload", "YCSB");

const fn throughput() -> View {
    View::Chart(chart("Throughput", WORKLOAD, RATE))
}

const RATE: Measure = Measure {
    metric: "ycsb_rate",
    label: "throughput",
    unit: "1000/s",
    divisor: 1e3,
    log: false,
};

const fn operations(published: &'static [Stated]) -> View {
    View::Table {
        title: "Operations",
        only: &[],
        axes: &[WORKLOAD, ("system", "system")],
        columns: COLUMNS,
        published,
    }
}

const COLUMNS: &[Column] = &[
    column("ycsb_rate", "all, 1000/s", 1e3, 2),
    column("ycsb_read_throughput", "reads, 1000/s", 1e3, 2),
    column("ycsb_update_throughput", "updates, 1000/s", 1e3, 2),
    column("ycsb_read_p50", "read p50, us", 1e3, 1),
    column("ycsb_read_p999", "p99.9", 1e3, 1),
    column(
        "ycsb_device_read",
        "read from the device, KiB/operation",
        1024.0,
        2,
    ),
    column("ycsb_read_calls", "read calls an operation", 1.0, 2),
    column("ycsb_peak_space", "largest space, B/B", 1.0, 2),
    column("memory_bytes", "memory, MiB", 1_048_576.0, 2),
];

const PUBLISHED: &[Stated] = &[Stated {
    heading: "published, 1000/s",
    digits: 2,
    of: stated,
}];

/// Table 5, by the systems of ours that stand for the published ones.
fn stated(cell: &Cell) -> Option<f64> {
    let (_, row) = DIRECT.iter().find(|(at, _)| *at == cell.axis("workload"))?;
    let place = match cell.axis("system") {
        "tier-keys" => 0,
        "hybrid-pgm+" => 1,
        "hybrid-leco+" => 2,
        _ => return None,
    };
    row.get(place).copied()
}

/// The load, and a workload behind all work that it left.
const fn phases(mix: &'static str) -> [Phase; 2] {
    let workload = Phase::whole("ycsb", mix, Count::OfRecords(1.0));
    [LOAD, workload.behind_all_work()]
}

const WORKLOADS: [(&str, &[Phase]); 3] = [
    ("A", &phases("ycsb-a")),
    ("B", &phases("ycsb-b")),
    ("C", &phases("ycsb-c")),
];

/// Of a million entries.
const SMALL_CACHE: u64 = 8 << 20;

fn past_the_page_cache(amounts: &Amounts) -> Result<Vec<Planned>> {
    let entries = amounts.compared;
    let cache = (SMALL_CACHE * entries as u64 / 1_000_000).max(LEAST);
    let direct = |systems: &[&[&'static str]], cache: &str| {
        over(points(&WORKLOADS, amounts), amounts, |(name, phases)| {
            let cells = Cells::new(systems, entries, Work::Phases(phases));
            Cells {
                settings: format!("direct=true {cache}"),
                ..cells.at("workload", name)
            }
        })
    };
    let tiers = direct(&[TIERS], &format!("cache={cache}"))?;
    Ok([tiers, direct(&[INDEXES], "")?].concat())
}
