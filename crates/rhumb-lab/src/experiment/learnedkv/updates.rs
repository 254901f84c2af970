//! Value logs under updates: over phases, shares of reads, distributions and over-provision.

use super::arms::{BASELINES, BLOBS, BOUNDS, LEVELS, TIERS, WHOLE};
use super::cells::{Cells, HALF, is_brief, over, phases, points};
use super::views::{
    Axis, COMPARED, GAIN_OF_READS, GAIN_OF_WRITES, LATENCIES, MIX, READS, SPACE, STATED, WRITES,
    costs, peak, ratios, reads, reads_over_theirs, space, table, throughput, writes,
    writes_over_theirs, written,
};
use super::{Across, Amounts, Experiment, Phase, Planned, Published, Result, Work};

pub const FIGURE_8: Experiment = Experiment {
    id: "L-F8",
    paper: "LearnedKV, Figure 8 and Table 1",
    title: "Throughput in phases, and space",
    shows: "The throughput of reads and of writes in P0 to P3 with half reads and half updates, Zipf 0.99, for LearnedKV and RocksDB+; \
            and what indexes and logs take.",
    method: UPDATES,
    cells: over_phases,
    views: &[
        throughput("Throughput of writes", WRITES),
        throughput("Throughput of reads", READS),
        space(
            "Space at the end of a phase, over what is live",
            &[
                ("p0_space", "P0"),
                ("p1_space", "P1"),
                ("p2_space", "P2"),
                ("p3_space", "P3"),
            ],
        ),
        space(
            "Largest space in a phase, over what is live",
            &[
                ("p0_peak_space", "P0"),
                ("p1_peak_space", "P1"),
                ("p2_peak_space", "P2"),
                ("p3_peak_space", "P3"),
            ],
        ),
        ratios(
            "Over RocksDB+ of equal memory",
            Across::Metrics("figure of P3", COMPARED),
            &[("system", "rdb+equal")],
            "figure over that of rdb+equal",
        ),
        ratios(
            "Over RocksDB+ as published",
            Across::Metrics("figure of P3", COMPARED),
            &[("system", "rdb+published")],
            "figure over that of rdb+published",
        ),
        costs(&[("system", "system")], &[]),
        table("Space and memory", SPACE),
        table("Latencies of P3", LATENCIES),
    ],
};

pub const FIGURE_9: Experiment = Experiment {
    id: "L-F9",
    paper: "LearnedKV, Figure 9",
    title: "Throughput over the share of reads",
    shows: "The throughput of reads and of writes in P3 with reads to writes 7:3, 5:5, 3:7 and 0:1.",
    method: UPDATES,
    cells: over_mixes,
    views: &[
        reads(MIX),
        writes(MIX),
        written(MIX),
        reads_over_theirs(
            MIX,
            &[Published {
                of: |_| Some(4.32),
                ..UP_TO
            }],
        ),
        writes_over_theirs(
            MIX,
            &[Published {
                of: |_| Some(1.41),
                ..UP_TO
            }],
        ),
        costs(&[("system", "system"), MIX], &[]),
    ],
};

pub const TABLE_3: Experiment = Experiment {
    id: "L-T3",
    paper: "LearnedKV, Table 3",
    title: "Throughput over distributions of requests",
    shows: "The throughput of reads and of writes under Zipf 0.99, Zipf 0.9 and uniform requests.",
    method: UPDATES,
    cells: over_distributions,
    views: &[
        reads(DISTRIBUTION),
        writes(DISTRIBUTION),
        reads_over_theirs(DISTRIBUTION, GAIN_OF_READS),
        writes_over_theirs(DISTRIBUTION, GAIN_OF_WRITES),
        costs(&[("system", "system"), DISTRIBUTION], STATED),
    ],
};

pub const TABLE_7: Experiment = Experiment {
    id: "L-T7",
    paper: "LearnedKV, Table 7",
    title: "Throughput over the over-provision",
    shows: "The throughput of reads and of writes with an over-provision of 10 to 50 %.",
    method: UPDATES,
    cells: over_provisions,
    views: &[
        reads(OVER_PROVISION),
        writes(OVER_PROVISION),
        written(OVER_PROVISION),
        peak(OVER_PROVISION),
        reads_over_theirs(OVER_PROVISION, GAIN_OF_READS),
        writes_over_theirs(OVER_PROVISION, GAIN_OF_WRITES),
        costs(&[("system", "system"), OVER_PROVISION], STATED),
    ],
};

const DISTRIBUTION: Axis = ("distribution", "distribution");

const OVER_PROVISION: Axis = ("over-provision", "over-provision, %");

/// The published gains that the text states for the best mix alone.
const UP_TO: Published = Published {
    name: "LearnedKV over RocksDB+, published: up to",
    source: "text of section 5.1, Experiment 2: 10 million entries on an SSD.",
    of: |_| None,
    also: &[],
};

const UPDATES: &str = "Entries of 8 + 1016 bytes with uniform keys are put in random order into an empty store (P0). Then three phases (P1 to P3) of \
    as many operations as there are entries read and update present keys; half of them read, by Zipf 0.99 over \
    scrambled keys, where it is not the axis. Throughput is that of each kind of operation alone. Arms: `tier-keys` and `tier-inline` are rhumb with a learned tier of keys with pointers and \
    of whole entries, `...-bound` (in L-F8 not at `quick`) the same with the over-provision as the bound of garbage, `tier-published` with one that is converted whole; `lsm-values` is rhumb with values in value files, which merges collect; `hashkv` the same with values in groups by the hash of their keys; \
    `rocksdb-blob` RocksDB with blob files; `rdb+...` a value log of the lab over RocksDB, `published` with the \
    published settings, `equal` with memory equal to ours, both collected as a whole within the put that finds the log too large; \
    `rdb+equal-files` cut in files that are collected behind, by garbage; `lsm+equal-files` the same over rhumb. RocksDB is measured if it is built in, and `hashkv` not at `quick`. \
    L-ENV states the settings.";

/// Reads to writes.
pub const MIXES: [(&str, &[Phase]); 4] = [
    ("7:3", &phases("rw=70:30,zipfian=0.99")),
    ("5:5", HALF),
    ("3:7", &phases("rw=30:70,zipfian=0.99")),
    ("0:1", &phases("rw=0:100,zipfian=0.99")),
];

const DISTRIBUTIONS: [(&str, &[Phase]); 3] = [
    ("Zipf 0.99", HALF),
    ("Zipf 0.9", &phases("rw=50:50,zipfian=0.9")),
    ("uniform", &phases("rw=50:50,uniform")),
];

const OVER_PROVISIONS: [u32; 5] = [10, 20, 30, 40, 50];

/// The systems of Figure 8: all that keep values apart.
const ALL: &[&[&str]] = &[
    TIERS,
    BOUNDS,
    WHOLE,
    LEVELS,
    BASELINES,
    BLOBS,
    FILES,
    &["hashkv"],
];

/// Value logs of the lab that are collected file by file.
const FILES: &[&str] = &["rdb+equal-files", "lsm+equal-files"];

/// Those that are compared over the over-provision.
const OVER_BOUNDS: &[&[&str]] = &[TIERS, BOUNDS, WHOLE, LEVELS, BASELINES, BLOBS];

/// Those of the other axes.
pub const SOME: &[&[&str]] = &[TIERS, WHOLE, LEVELS, BASELINES, BLOBS];

fn over_phases(amounts: &Amounts) -> Result<Vec<Planned>> {
    // Groups need syncs for each of them, which take most of the time of small stores.
    let systems = match is_brief(amounts) {
        true => &[TIERS, WHOLE, LEVELS, BASELINES, BLOBS, FILES],
        false => ALL,
    };
    Cells::new(systems, amounts.updated, Work::Phases(HALF)).planned(amounts)
}

fn over_mixes(amounts: &Amounts) -> Result<Vec<Planned>> {
    over(points(&MIXES, amounts), amounts, |(name, phases)| {
        Cells::new(SOME, amounts.swept, Work::Phases(phases)).at("mix", name)
    })
}

fn over_distributions(amounts: &Amounts) -> Result<Vec<Planned>> {
    over(
        points(&DISTRIBUTIONS, amounts),
        amounts,
        |(name, phases)| {
            Cells::new(SOME, amounts.swept, Work::Phases(phases)).at("distribution", name)
        },
    )
}

fn over_provisions(amounts: &Amounts) -> Result<Vec<Planned>> {
    over(points(&OVER_PROVISIONS, amounts), amounts, |percent| {
        let cells = Cells::new(OVER_BOUNDS, amounts.swept, Work::Phases(HALF));
        Cells {
            over_provision: percent,
            ..cells.at("over-provision", format!("{percent} %"))
        }
    })
}
