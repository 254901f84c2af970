//! *Benchmarking Learned and LSM Indexes for Data Sortedness* (BLISS): ingestion over degrees of
//! sortedness.

use super::figures::{Across, Along, Chart, Measure, Only, View, column};
use super::{Amounts, Build, Data, Experiment, Fill, Ingest, Paper, Planned, Preload, Work};
use crate::data::Disorder;
use crate::error::Result;
use crate::report::model::Marks;
use crate::results::Axes;
use crate::store::System;

/// The paper with its experiments.
pub const PAPER: Paper = Paper {
    title: "BLISS: data sortedness",
    experiments: &[FIGURE_4, FIGURE_5, FIGURE_8],
};

const FIGURE_4: Experiment = Experiment {
    id: "B-F4",
    paper: "BLISS, Figure 4",
    title: "A B+-tree over degrees of sortedness",
    shows: "The throughput of preloading a B+-tree over K and L.",
    method: INDEXES,
    cells: btree,
    views: &[
        over_sorted("Bulk loads", &[("preload", BULK)], "preload_time"),
        over_sorted(
            "Preloading by inserts",
            &[("preload", INSERTS)],
            "preload_time",
        ),
        over_sorted(
            "Writes behind a bulk load",
            &[("preload", BULK)],
            "write_time",
        ),
        over_sorted(
            "Writes behind inserts",
            &[("preload", INSERTS)],
            "write_time",
        ),
        over_sorted("Reads behind inserts", &[("preload", INSERTS)], "read_time"),
        TIMES,
    ],
};

const FIGURE_5: Experiment = Experiment {
    id: "B-F5",
    paper: "BLISS, Figures 5, 6 and 7",
    title: "Learned indexes over degrees of sortedness",
    shows: "The throughput of bulk loads (Figure 5), writes (6) and reads (7) of ALEX and LIPP over K and L. LIPP fails at \
            writing sorted entries.",
    method: INDEXES,
    cells: learned,
    views: &[
        over_sorted(
            "ALEX, bulk loads (5a)",
            &[("kind", "alex"), ("preload", BULK)],
            "preload_time",
        ),
        over_sorted(
            "LIPP, bulk loads (5b)",
            &[("kind", "lipp"), ("preload", BULK)],
            "preload_time",
        ),
        over_sorted(
            "ALEX, writes (6a)",
            &[("kind", "alex"), ("preload", BULK)],
            "write_time",
        ),
        over_sorted(
            "LIPP, writes (6b)",
            &[("kind", "lipp"), ("preload", BULK)],
            "write_time",
        ),
        over_sorted(
            "DILI, writes",
            &[("kind", "dili"), ("preload", BULK)],
            "write_time",
        ),
        over_sorted(
            "LITS, writes",
            &[("kind", "lits"), ("preload", BULK)],
            "write_time",
        ),
        over_sorted(
            "ALEX, reads (7a)",
            &[("kind", "alex"), ("preload", BULK)],
            "read_time",
        ),
        over_sorted(
            "LIPP, reads (7b)",
            &[("kind", "lipp"), ("preload", BULK)],
            "read_time",
        ),
        View::Ratios {
            title: "LIPP over ALEX, writes",
            only: &[("kind", "lipp"), ("preload", BULK)],
            columns: Across::Axis("k", K, "write_time"),
            rows: ("l", L),
            over: &[("kind", "alex")],
            label: "time of LIPP over that of ALEX",
        },
        bars(
            "Writes behind a bulk load, sorted (K = L = 0) and scrambled (K = L = 100)",
            &[("preload", BULK), ("k", "0|100"), ("l", "0|100")],
            "kind",
            time("write_time", "time of a write"),
        ),
        TIMES,
    ],
};

const FIGURE_8: Experiment = Experiment {
    id: "B-F8",
    paper: "BLISS, Figures 8 and 9",
    title: "LSM-trees over degrees of sortedness",
    shows: "The throughput of writes to RocksDB (Figure 8), its compactions and its trivial moves (9) over K and L.",
    method: "All entries, 8 + 8 bytes, are written one by one to an empty store, then a quarter as many random reads follow. Size \
             ratio 4 and a write buffer, tables and level 1 that are as large a part of the data as published \
             (buffer of 40 MiB for 500 million entries). The CPU time of all threads counts, until all merges are done.",
    cells: stores,
    views: &[
        over_sorted("rhumb, writes", OURS, "write_time"),
        over_sorted(
            "rhumb, CPU time an entry, all merges included",
            OURS,
            "ingest_cpu",
        ),
        over_sorted("rhumb, reads", OURS, "read_time"),
        over_sorted("RocksDB, writes", THEIRS, "write_time"),
        over_sorted(
            "RocksDB, CPU time an entry, all merges included",
            THEIRS,
            "ingest_cpu",
        ),
        View::Ratios {
            title: "rhumb over RocksDB, CPU time an entry, all merges included",
            only: OURS,
            columns: Across::Axis("k", K, "ingest_cpu"),
            rows: ("l", L),
            over: &[("system", "rocksdb")],
            label: "CPU time of rhumb over that of RocksDB",
        },
        bars(
            "CPU time an entry, sorted (K = L = 0) and scrambled (K = L = 100)",
            &[("k", "0|100"), ("l", "0|100")],
            "system",
            time("ingest_cpu", "CPU time an entry"),
        ),
        View::Table {
            title: "Merges and moves",
            only: &[],
            axes: &[("system", "system"), ("k", K), ("l", L)],
            columns: &[
                column("ingest_cpu", "CPU, us/entry", 1e3, 2),
                column("flushes", "flushes", 1.0, 0),
                column("merges", "merges", 1.0, 0),
                column("trivial_moves", "tables moved or placed", 1.0, 0),
                column("flushed_bytes", "flushed MiB", 1_048_576.0, 1),
                column("merged_bytes", "merged MiB", 1_048_576.0, 1),
            ],
            published: &[],
        },
    ],
};

const INDEXES: &str = "An index alone, in memory, over the integers 0, 1, 2 and so on with values of 8 bytes: 40 % of \
    the arrivals are loaded first, by a bulk load (sorted before, which is not timed) or by inserts in their order; then \
    40 % are inserted, then 20 % with as many reads of random entries that are there between them; then a quarter as many \
    reads. Every answer is checked. Ratios are times over those of sorted arrivals of the same round.";

const K: &str = "K, out of place, %";
const L: &str = "L, largest displacement, %";
const BULK: &str = "bulk load";
const INSERTS: &str = "inserts";
const SORTED: Only = &[("k", "0"), ("l", "0")];
const OURS: Only = &[("system", "rhumb")];
const THEIRS: Only = &[("system", "rocksdb")];

/// Times over those of sorted arrivals.
const fn over_sorted(title: &'static str, only: Only, metric: &'static str) -> View {
    View::Ratios {
        title,
        only,
        columns: Across::Axis("k", K, metric),
        rows: ("l", L),
        over: SORTED,
        label: "time over that of sorted arrivals",
    }
}

/// Bars for sorted and for scrambled arrivals.
const fn bars(title: &'static str, only: Only, along: &'static str, y: Measure) -> View {
    let x = Along::Names {
        axis: along,
        label: along,
    };
    View::Chart(Chart::new(title, only, x, y, "k", Marks::Bar))
}

const fn time(metric: &'static str, label: &'static str) -> Measure {
    Measure {
        metric,
        label,
        unit: "ns",
        divisor: 1.0,
        log: false,
    }
}

const TIMES: View = View::Table {
    title: "Times of an operation, at some K and L",
    only: &[("k", "0|1|10|100"), ("l", "0|1|10|100")],
    axes: &[
        ("kind", "kind"),
        ("preload", "preloaded by"),
        ("k", K),
        ("l", L),
    ],
    columns: &[
        column("preload_time", "preload, ns", 1.0, 1),
        column("write_time", "write, ns", 1.0, 1),
        column("mixed_time", "mixed, ns", 1.0, 1),
        column("read_time", "read, ns", 1.0, 1),
        column("bytes_an_entry", "B/entry", 1.0, 1),
        column("depth_max", "levels", 1.0, 0),
    ],
    published: &[],
};

/// The phases of an index alone.
const fn phases(by: Preload) -> Ingest {
    Ingest {
        preload: 0.4,
        by,
        write: 0.4,
        read: 0.25,
    }
}

/// The phases of a system.
pub fn phases_of(system: &System) -> Ingest {
    match system {
        System::Index(_) => phases(Preload::BulkLoad),
        System::Rhumb(_) | System::Peer(..) | System::ValueLog(..) => WRITES,
    }
}

/// The phases of a store.
const WRITES: Ingest = Ingest {
    preload: 0.0,
    by: Preload::Inserts,
    write: 1.0,
    read: 0.25,
};

fn btree(amounts: &Amounts) -> Result<Vec<Planned>> {
    indexes(amounts, &["btree"])
}

fn learned(amounts: &Amounts) -> Result<Vec<Planned>> {
    indexes(amounts, &["alex", "lipp", "dili", "lits"])
}

fn indexes(amounts: &Amounts, kinds: &[&str]) -> Result<Vec<Planned>> {
    let mut cells = Vec::new();
    for order in orders(amounts) {
        for kind in kinds {
            let system = amounts.system(&format!("index {kind}"))?;
            for (name, by) in [(BULK, Preload::BulkLoad), (INSERTS, Preload::Inserts)] {
                let axes = vec![("kind", kind.to_string()), ("preload", name.to_string())];
                let build = Build {
                    system: system.clone(),
                    fill: Fill::Nothing,
                };
                cells.push(arriving(amounts, order, axes, build, phases(by)));
            }
        }
    }
    Ok(cells)
}

/// The systems. RocksDB is measured where the build has it.
const SYSTEMS: [&str; 2] = ["rhumb", "rocksdb"];

fn stores(amounts: &Amounts) -> Result<Vec<Planned>> {
    let mut cells = Vec::new();
    for order in orders(amounts) {
        for name in SYSTEMS {
            let system = amounts.system(&settings(name, amounts.arrivals))?;
            if !system.is_built_in() {
                continue;
            }
            let build = Build {
                system,
                fill: Fill::Nothing,
            };
            let axes = vec![("system", name.to_string())];
            cells.push(arriving(amounts, order, axes, build, WRITES));
        }
    }
    Ok(cells)
}

/// Published: size ratio 4, a write buffer of 40 MiB, and by default tables of 64 MiB and a level 1 of 256 MiB, for
/// 500 million entries. The smallest write buffer is 64 KiB.
fn settings(name: &str, entries: usize) -> String {
    let buffer = (40.0 * 1024.0 * entries as f64 / 5e8).max(64.0) as u64;
    let (table, base) = (buffer * 8 / 5, buffer * 32 / 5);
    format!("{name} ratio=4 write_buffer={buffer}KiB size={table}KiB base={base}KiB")
}

fn orders(amounts: &Amounts) -> Vec<Disorder> {
    let shares = amounts.disorders;
    let of_k = |k: &f64| {
        shares
            .iter()
            .map(move |l| Disorder::new(*k, *l))
            .collect::<Vec<_>>()
    };
    let all = shares.iter().flat_map(of_k);
    std::iter::once(Disorder::SORTED).chain(all).collect()
}

fn arriving(
    amounts: &Amounts,
    order: Disorder,
    mut axes: Axes,
    build: Build,
    phases: Ingest,
) -> Planned {
    axes.push(("k", order.out_of_place.to_string()));
    axes.push(("l", order.displacement.to_string()));
    Planned {
        axes,
        data: Data {
            order: Some(order),
            ..Data::new("counting", amounts.arrivals)
        },
        build: Some(build),
        work: Work::Ingest(phases),
    }
}
