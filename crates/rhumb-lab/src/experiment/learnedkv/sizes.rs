//! The costs of an LSM-tree as it grows.

use super::{
    Against, Along, Amounts, Build, Chart, Count, Data, Experiment, Fill, How, Measure, Only,
    Phase, Planned, Published, Result, View, Work,
};
use crate::report::model::Marks;

pub const FIGURE_3: Experiment = Experiment {
    id: "L-F3",
    paper: "LearnedKV, Figure 3",
    title: "Cost of reads and writes over the number of records",
    shows: "The time of a million reads and of a million writes in RocksDB that holds 1, 5 and 10 million records.",
    method: "A tenth, half and all of the records of the scale, 16 + 16 bytes, are put one by one in random order into an empty store. \
             Then as many gets of random present keys follow as a tenth has records, then as many puts of new keys, by one client. Two \
             settings: `published`, with a write buffer and tables of 64 KiB, level 1 of 256 KiB, ratio 10, no filter, and a cache of \
             32 MiB for 10 million records, scaled down with them; and `default`, the defaults of \
             RocksDB (64 MiB, 256 MiB, no filter, a cache of 32 MiB), and for rhumb the same sizes with its filters. \
             rhumb with its default model and placement, and with fence \
             pointers over blocks of 4 KiB, as in the paper's RocksDB, which is measured too if it is built in. Tables are read \
             through the page cache. The published times hold what waiting for merges at the end took; here writers are held up \
             by merges alone.",
    cells: over_sizes,
    views: &[
        View::Chart(over_records("Gets, published settings", PUBLISHED, GET)),
        View::Chart(over_records(
            "Puts of new keys, published settings",
            PUBLISHED,
            PUT,
        )),
        View::Chart(over_records("Gets, defaults", DEFAULT, GET)),
        View::Chart(over_records("Puts of new keys, defaults", DEFAULT, PUT)),
        View::Chart(
            over_records("Gets, over those of the largest store", PUBLISHED, GET)
                .against(LARGEST)
                .beside(&[Published {
                    also: &[(10.0, 1.0 / 3.16), (100.0, 1.0)],
                    ..ROCKSDB
                }]),
        ),
        View::Chart(
            over_records(
                "Puts of new keys, over those of the largest store",
                PUBLISHED,
                PUT,
            )
            .against(LARGEST)
            .beside(&[Published {
                also: &[(10.0, 1.0 / 1.445), (100.0, 1.0)],
                ..ROCKSDB
            }]),
        ),
    ],
};

const PUBLISHED: Only = &[("settings", "published")];
const DEFAULT: Only = &[("settings", "default")];

const ROCKSDB: Published = Published {
    name: "RocksDB, published",
    source: "text of section 3.1: from 1M to 10M keys, which is from 10 % to 100 %, the cost of reads rises by 216 % \
             and of writes by 44.5 %. On an SSD.",
    of: |_| None,
    also: &[],
};

/// The store with all records of the scale.
const LARGEST: Against = Against {
    cell: &[("share", "100 %")],
    how: How::Ratio,
};

const GET: Measure = Measure {
    metric: "get_mean",
    label: "latency of a get",
    unit: "us",
    divisor: 1e3,
    log: false,
};

const PUT: Measure = Measure {
    metric: "put_mean",
    label: "latency of a put",
    ..GET
};

/// The phases over records of which some are loaded: as a share of all, and as many gets as the rest.
const fn phases(loaded: f64) -> [Phase; 3] {
    [
        Phase::whole("load", "insert=100", Count::OfRecords(loaded)),
        Phase::whole("get", "read-only", Count::OfRecords(1.0 - loaded)),
        Phase::whole("put", "insert=100", Count::Left),
    ]
}

/// Names of the stores' sizes, their records in tenths of those of the largest, and their phases. Behind each, a
/// tenth is put.
const SHARES: [(&str, usize, &[Phase]); 3] = [
    ("10 %", 1, &phases(1.0 / 2.0)),
    ("50 %", 5, &phases(5.0 / 6.0)),
    ("100 %", 10, &phases(10.0 / 11.0)),
];

/// The systems. RocksDB is measured where the build has it.
const SYSTEMS: [(&str, &str); 3] = [
    ("rhumb", "rhumb index=plr partition=predicted"),
    ("fence pointers", "rhumb index=fp partition=bytes(4096)"),
    ("RocksDB", "rocksdb"),
];

const fn over_records(title: &'static str, only: Only, y: Measure) -> Chart {
    let x = Along::Numbers {
        axis: "share",
        label: "records, as a share of those of the largest store",
        unit: "%",
        divisor: 1.0,
    };
    Chart::new(title, only, x, y, "system", Marks::Line)
}

/// A setting with what all systems have of it. Only RocksDB has no filter by default.
fn settings(amounts: &Amounts, system: &str) -> [(&'static str, String); 2] {
    let cache = (amounts.small as u64 * 32 * 1024 / 10_000).max(64 << 10);
    let filter = match system {
        "RocksDB" => 0,
        _ => 10,
    };
    [
        (
            "published",
            format!("write_buffer=64KiB size=64KiB base=256KiB ratio=10 filter=0 cache={cache}"),
        ),
        (
            "default",
            format!("write_buffer=64MiB size=64MiB base=256MiB filter={filter} cache=32MiB"),
        ),
    ]
}

fn over_sizes(amounts: &Amounts) -> Result<Vec<Planned>> {
    let mut cells = Vec::new();
    let tenth = amounts.small.div_ceil(10);
    for (share, tenths, phases) in SHARES {
        for (name, text) in SYSTEMS {
            for (of, settings) in settings(amounts, name) {
                let system = amounts.system(&format!("{text} {settings}"))?;
                if !system.is_built_in() {
                    continue;
                }
                cells.push(Planned {
                    axes: vec![
                        ("system", name.to_string()),
                        ("settings", of.to_string()),
                        ("share", share.to_string()),
                    ],
                    data: Data::new("digits-16", tenth * (tenths + 1)),
                    build: Some(Build {
                        system,
                        fill: Fill::Nothing,
                    }),
                    work: Work::Phases(phases),
                });
            }
        }
    }
    Ok(cells)
}
