//! *LearnedKV*: an LSM-tree in front of a static tier with learned models. Of its experiments only
//! those that need no such tier.

use super::figures::{Against, Along, Chart, How, Measure, Published, View};
use super::{Amounts, Build, Data, Experiment, Fill, Paper, Phase, Planned, Work};
use crate::error::Result;
use crate::report::model::Marks;

/// The paper with its experiments.
pub const PAPER: Paper = Paper {
    title: "LearnedKV",
    experiments: &[FIGURE_3],
};

const FIGURE_3: Experiment = Experiment {
    id: "L-F3",
    paper: "LearnedKV, Figure 3",
    title: "Cost of reads and writes over the number of records",
    shows: "The time of a read and of a write as an LSM-tree grows from 1 to 10 million records.",
    method: "Stores of a tenth, half and all of the records of the scale, 24 + 1000 bytes; gets of random present keys, \
             then updates of random keys, by one client. rhumb with its default model and placement, and with fence \
             pointers over blocks of 4 KiB, as in the paper's RocksDB, which is measured too if it is built in.",
    cells: over_sizes,
    views: &[
        View::Chart(over_records("Gets", GET)),
        View::Chart(over_records("Updates", PUT)),
        View::Chart(
            over_records("Gets, over those of the largest store", GET)
                .against(LARGEST)
                .beside(&[Published {
                    also: &[(10.0, 1.0 / 3.16), (100.0, 1.0)],
                    ..ROCKSDB
                }]),
        ),
        View::Chart(
            over_records("Updates, over those of the largest store", PUT)
                .against(LARGEST)
                .beside(&[Published {
                    also: &[(10.0, 1.0 / 1.445), (100.0, 1.0)],
                    ..ROCKSDB
                }]),
        ),
    ],
};

const ROCKSDB: Published = Published {
    name: "RocksDB",
    source: "text of section 3.1: from 1M to 10M keys, which is from 10 % to 100 %, the cost of reads rises by 216 % \
             and of writes by 44.5 %. RocksDB with its defaults, on an SSD.",
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
    label: "latency of an update",
    ..GET
};

const PHASES: &[Phase] = &[
    Phase::new("get", "read-only"),
    Phase::new("put", "write-only"),
];

/// The systems. RocksDB is measured where the build has it.
const SYSTEMS: [(&str, &str); 3] = [
    ("rhumb", "rhumb index=plr partition=predicted"),
    ("fence pointers", "rhumb index=fp partition=bytes(4096)"),
    ("RocksDB", "rocksdb"),
];

const fn over_records(title: &'static str, y: Measure) -> Chart {
    let x = Along::Numbers {
        axis: "share",
        label: "records, as a share of those of the largest store",
        unit: "%",
        divisor: 1.0,
    };
    Chart::new(title, &[], x, y, "system", Marks::Line)
}

fn over_sizes(amounts: &Amounts) -> Result<Vec<Planned>> {
    let mut cells = Vec::new();
    for (share, part) in [("10 %", 10), ("50 %", 2), ("100 %", 1)] {
        for (name, text) in SYSTEMS {
            let system = amounts.system(text)?;
            if !system.is_built_in() {
                continue;
            }
            cells.push(Planned {
                axes: vec![("system", name.to_string()), ("share", share.to_string())],
                data: Data::new("ycsb-uniform", amounts.long / part),
                build: Some(Build {
                    system,
                    fill: Fill::Most,
                }),
                work: Work::Phases(PHASES),
            });
        }
    }
    Ok(cells)
}
