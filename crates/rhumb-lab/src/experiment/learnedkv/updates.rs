//! Value logs under updates: over phases, shares of reads, distributions and over-provision.

use super::arms::{OVER_PROVISION, RECORD_BYTES, systems};
use super::{
    Across, Along, Amounts, Build, Chart, Column, Count, Data, Experiment, Fill, Measure, Phase,
    Planned, Result, Stated, View, Work,
};
use crate::data::Sizes;
use crate::report::model::Marks;
use crate::results::Cell;

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
        View::Groups {
            title: "Space at the end of a phase, over what is live",
            only: &[],
            series: "system",
            label: "space over live bytes",
            unit: "ratio",
            divisor: 1.0,
            groups: &[
                ("p0_space", "P0"),
                ("p1_space", "P1"),
                ("p2_space", "P2"),
                ("p3_space", "P3"),
            ],
        },
        View::Groups {
            title: "Largest space in a phase, over what is live",
            only: &[],
            series: "system",
            label: "space over live bytes",
            unit: "ratio",
            divisor: 1.0,
            groups: &[
                ("p0_peak_space", "P0"),
                ("p1_peak_space", "P1"),
                ("p2_peak_space", "P2"),
                ("p3_peak_space", "P3"),
            ],
        },
        View::Ratios {
            title: "Over RocksDB+ of equal memory",
            only: &[],
            columns: Across::Metrics("figure of P3", COMPARED),
            rows: ("system", "system"),
            over: &[("system", "rdb+equal")],
            label: "figure over that of rdb+equal",
        },
        View::Ratios {
            title: "Over RocksDB+ as published",
            only: &[],
            columns: Across::Metrics("figure of P3", COMPARED),
            rows: ("system", "system"),
            over: &[("system", "rdb+published")],
            label: "figure over that of rdb+published",
        },
        costs(&[("system", "system")]),
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
        over_axis("Throughput of reads", "mix", "reads : writes", READ),
        over_axis("Throughput of writes", "mix", "reads : writes", WRITE),
        over_axis(
            "Bytes written a byte of the user",
            "mix",
            "reads : writes",
            WRITTEN,
        ),
        costs(&[("system", "system"), ("mix", "reads : writes")]),
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
        over_axis("Throughput of reads", "distribution", "distribution", READ),
        over_axis(
            "Throughput of writes",
            "distribution",
            "distribution",
            WRITE,
        ),
        costs(&[("system", "system"), ("distribution", "distribution")]),
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
        over_axis(
            "Throughput of reads",
            "over-provision",
            "over-provision, %",
            READ,
        ),
        over_axis(
            "Throughput of writes",
            "over-provision",
            "over-provision, %",
            WRITE,
        ),
        over_axis(
            "Bytes written a byte of the user",
            "over-provision",
            "over-provision, %",
            WRITTEN,
        ),
        over_axis(
            "Largest space in P3",
            "over-provision",
            "over-provision, %",
            PEAK,
        ),
        View::Table {
            title: "Costs of P3",
            only: &[],
            axes: &[
                ("system", "system"),
                ("over-provision", "over-provision, %"),
            ],
            columns: LAST,
            published: &[
                Stated {
                    heading: "writes published, 1000/s",
                    digits: 2,
                    of: |cell| published(cell).map(|(writes, _)| writes),
                },
                Stated {
                    heading: "reads published, 1000/s",
                    digits: 2,
                    of: |cell| published(cell).map(|(_, reads)| reads),
                },
            ],
        },
    ],
};

const UPDATES: &str = "Entries of 8 + 1016 bytes with uniform keys are put in random order into an empty store (P0). Then three phases (P1 to P3) of \
    as many operations as there are entries read and update present keys; half of them read, by Zipf 0.99 over \
    scrambled keys, where it is not the axis. Throughput is that of each kind of operation alone. Arms: `lsm-values` is rhumb with \
    values in value files, which merges collect; `hashkv` the same with values in groups by the hash of their keys; \
    `rocksdb-blob` RocksDB with blob files; `rdb+...` a value log of the lab over RocksDB, `published` with the \
    published settings, `equal` with memory equal to ours, both collected as a whole within the put that finds the log too large; \
    `rdb+equal-files` cut in files that are collected behind, by garbage; `lsm+equal-files` the same over rhumb. RocksDB is measured if it is built in. \
    L-ENV states the settings.";

const COMPARED: &[(&str, &str)] = &[
    ("p3_read_throughput", "reads/s"),
    ("p3_update_throughput", "writes/s"),
    ("p3_wall_rate", "operations/s, wall"),
    ("p3_cpu_time", "CPU time"),
    ("p3_written_settled", "bytes written"),
    ("p3_space", "space"),
    ("p3_peak_space", "largest space"),
    ("memory_bytes", "memory"),
];

const WRITES: &[(&str, &str)] = &[
    ("p0_insert_throughput", "P0: load"),
    ("p1_update_throughput", "P1"),
    ("p2_update_throughput", "P2"),
    ("p3_update_throughput", "P3"),
];

const READS: &[(&str, &str)] = &[
    ("p1_read_throughput", "P1"),
    ("p2_read_throughput", "P2"),
    ("p3_read_throughput", "P3"),
];

const fn throughput(title: &'static str, groups: &'static [(&'static str, &'static str)]) -> View {
    View::Groups {
        title,
        only: &[],
        series: "system",
        label: "throughput",
        unit: "1000/s",
        divisor: 1e3,
        groups,
    }
}

const READ: Measure = Measure {
    metric: "p3_read_throughput",
    label: "throughput of reads in P3",
    unit: "1000/s",
    divisor: 1e3,
    log: false,
};

const WRITE: Measure = Measure {
    metric: "p3_update_throughput",
    label: "throughput of writes in P3",
    ..READ
};

const WRITTEN: Measure = Measure {
    metric: "p3_written_settled",
    label: "bytes written in P3, until settled",
    unit: "B/B",
    divisor: 1.0,
    log: false,
};

const PEAK: Measure = Measure {
    metric: "p3_peak_space",
    label: "space over live bytes",
    unit: "B/B",
    ..WRITTEN
};

const fn over_axis(
    title: &'static str,
    axis: &'static str,
    label: &'static str,
    y: Measure,
) -> View {
    let x = Along::Names { axis, label };
    View::Chart(Chart::new(title, &[], x, y, "system", Marks::Bar))
}

const fn table(title: &'static str, columns: &'static [Column]) -> View {
    View::Table {
        title,
        only: &[],
        axes: &[("system", "system")],
        columns,
        published: &[],
    }
}

const fn costs(axes: &'static [(&'static str, &'static str)]) -> View {
    View::Table {
        title: "Costs of P3",
        only: &[],
        axes,
        columns: LAST,
        published: &[],
    }
}

const fn column(
    metric: &'static str,
    heading: &'static str,
    divisor: f64,
    digits: usize,
) -> Column {
    Column {
        metric,
        heading,
        divisor,
        digits,
    }
}

const LAST: &[Column] = &[
    column("p3_update_throughput", "writes, 1000/s", 1e3, 2),
    column("p3_read_throughput", "reads, 1000/s", 1e3, 2),
    column("p3_wall_rate", "all by the wall clock, 1000/s", 1e3, 2),
    column("p3_cpu_time", "CPU, s", 1.0, 2),
    column("p3_written", "written, B/B", 1.0, 2),
    column("p3_written_settled", "until settled, B/B", 1.0, 2),
    column("p3_space", "space, B/B", 1.0, 2),
    column("p3_peak_space", "largest, B/B", 1.0, 2),
    column("p3_update_max", "longest write, ms", 1e6, 2),
];

const SPACE: &[Column] = &[
    column("p3_live_bytes", "live, MiB", 1_048_576.0, 1),
    column("p3_disk_bytes", "files, MiB", 1_048_576.0, 1),
    column(
        "p3_peak_bytes",
        "files at their largest, MiB",
        1_048_576.0,
        1,
    ),
    column("table_bytes", "tables, MiB", 1_048_576.0, 2),
    column(
        "index_memory_bytes",
        "indexes and filters, MiB",
        1_048_576.0,
        2,
    ),
    column("memory_bytes", "with cache, MiB", 1_048_576.0, 2),
    column("p0_written", "written in P0, B/B", 1.0, 2),
];

const LATENCIES: &[Column] = &[
    column("p3_read_p50", "read p50, us", 1e3, 1),
    column("p3_read_p99", "p99", 1e3, 1),
    column("p3_read_p999", "p99.9", 1e3, 1),
    column("p3_read_max", "longest", 1e3, 0),
    column("p3_update_p50", "write p50, us", 1e3, 1),
    column("p3_update_p99", "p99", 1e3, 1),
    column("p3_update_p999", "p99.9", 1e3, 1),
    column("p3_update_max", "longest", 1e3, 0),
];

/// The published throughput of RocksDB+, writes and reads, in thousands a second.
fn published(cell: &Cell) -> Option<(f64, f64)> {
    let is_theirs = cell.axis("system") == "rdb+published";
    let figures = match cell.axis("over-provision").trim_end_matches(" %") {
        "10" => (10.41, 12.37),
        "20" => (18.94, 15.16),
        "30" => (19.19, 15.91),
        "40" => (29.88, 15.90),
        "50" => (27.86, 15.59),
        _ => return None,
    };
    is_theirs.then_some(figures)
}

/// The load, and three phases of a mix.
const fn phases(mix: &'static str) -> [Phase; 4] {
    [
        Phase::whole("p0", "insert=100", Count::OfRecords(1.0)),
        Phase::whole("p1", mix, Count::OfRecords(1.0)),
        Phase::whole("p2", mix, Count::OfRecords(1.0)),
        Phase::whole("p3", mix, Count::OfRecords(1.0)),
    ]
}

const HALF: &[Phase] = &phases("rw=50:50,zipfian=0.99");

const MIXES: [(&str, &[Phase]); 4] = [
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

/// Entries from which on all points of an axis are measured, else its ends.
const FEWEST: usize = 100_000;

/// All points of an axis, or its first and last.
fn points<T: Copy>(all: &[T], amounts: &Amounts) -> Vec<T> {
    match all {
        [first, .., last] if amounts.swept < FEWEST => vec![*first, *last],
        all => all.to_vec(),
    }
}

fn over_phases(amounts: &Amounts) -> Result<Vec<Planned>> {
    arms(amounts, amounts.updated, OVER_PROVISION, None, HALF)
}

fn over_mixes(amounts: &Amounts) -> Result<Vec<Planned>> {
    let cells = points(&MIXES, amounts).into_iter().map(|(name, phases)| {
        let axis = Some(("mix", name.to_string()));
        arms(amounts, amounts.swept, OVER_PROVISION, axis, phases)
    });
    Ok(cells.collect::<Result<Vec<_>>>()?.concat())
}

fn over_distributions(amounts: &Amounts) -> Result<Vec<Planned>> {
    let cells = points(&DISTRIBUTIONS, amounts).into_iter();
    let cells = cells.map(|(name, phases)| {
        let axis = Some(("distribution", name.to_string()));
        arms(amounts, amounts.swept, OVER_PROVISION, axis, phases)
    });
    Ok(cells.collect::<Result<Vec<_>>>()?.concat())
}

fn over_provisions(amounts: &Amounts) -> Result<Vec<Planned>> {
    let cells = points(&OVER_PROVISIONS, amounts).into_iter();
    let cells = cells.map(|percent| {
        let axis = Some(("over-provision", format!("{percent} %")));
        arms(amounts, amounts.swept, percent, axis, HALF)
    });
    Ok(cells.collect::<Result<Vec<_>>>()?.concat())
}

/// A cell for each system.
fn arms(
    amounts: &Amounts,
    entries: usize,
    over_provision: u32,
    axis: Option<(&'static str, String)>,
    phases: &'static [Phase],
) -> Result<Vec<Planned>> {
    let cell = |(name, system): (&str, _)| {
        let mut axes = vec![("system", name.to_string())];
        axes.extend(axis.clone());
        Planned {
            axes,
            data: Data {
                values: Some(Sizes::Fixed(RECORD_BYTES as usize - 8)),
                ..Data::new("uniform", entries)
            },
            build: Some(Build {
                system,
                fill: Fill::Nothing,
            }),
            work: Work::Phases(phases),
        }
    };
    let systems = systems(amounts, entries, over_provision)?;
    Ok(systems.into_iter().map(cell).collect())
}
