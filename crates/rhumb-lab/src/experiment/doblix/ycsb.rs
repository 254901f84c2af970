//! YCSB, and distributions of requests.

use super::arms::{Cells, FEW, is_brief};
use super::mixes::growing;
use super::views::{RATE, SLOW, bars, table};
use super::{Amounts, Count, Experiment, Only, Phase, Planned, Result, View, Work};

pub const FIGURE_12: Experiment = Experiment {
    id: "D-F12",
    paper: "DobLIX, Figure 12",
    title: "YCSB A to F, and distributions of requests",
    shows: "The throughput of DobLIX, TridentKV, Bourbon and RocksDB under YCSB A to F (Figure 12a) and under six distributions of \
            requests that read alone, over OSM (Figure 12b).",
    method: "The protocol of D-ENV with two clients, since the published rates are those of many, over a look-alike of OSM. Each workload \
             begins with the store as it was loaded. Throughput is the sum of those of the clients. The six distributions are \
             not named; they are YCSB's, with its parameters. At `quick` YCSB A, C and E and two distributions.",
    cells: over_workloads,
    views: &[
        View::Chart(bars("YCSB", YCSB, ("workload", "workload"), RATE)),
        View::Chart(bars(
            "YCSB, slowest 5 %",
            YCSB,
            ("workload", "workload"),
            SLOW,
        )),
        View::Chart(bars(
            "Distributions of requests",
            REQUESTS,
            ("workload", "distribution"),
            RATE,
        )),
        table(
            "All figures",
            &[],
            &[("workload", "workload"), ("system", "system")],
        ),
    ],
};

const YCSB: Only = &[("part", "YCSB")];
const REQUESTS: Only = &[("part", "requests")];

const fn by_two(text: &'static str) -> [Phase; 1] {
    let phase = Phase {
        count: Count::Uncached,
        ..Phase::new("mix", text)
    };
    [phase.by(2)]
}

/// Workloads with the part of the figure, and whether the smallest scale has them.
const WORKLOADS: [(&str, &str, &[Phase], bool); 12] = [
    ("YCSB", "A", &by_two("ycsb-a"), true),
    ("YCSB", "B", &by_two("ycsb-b"), false),
    ("YCSB", "C", &by_two("ycsb-c"), true),
    ("YCSB", "D", &by_two("ycsb-d"), false),
    ("YCSB", "E", &by_two("ycsb-e"), true),
    ("YCSB", "F", &by_two("ycsb-f"), false),
    ("requests", "uniform", &by_two("read=100,uniform"), true),
    ("requests", "zipfian", &by_two("read=100,zipfian"), false),
    ("requests", "latest", &by_two("read=100,latest"), false),
    ("requests", "hotspot", &by_two("read=100,hotspot"), false),
    (
        "requests",
        "exponential",
        &by_two("read=100,exponential"),
        false,
    ),
    (
        "requests",
        "sequential",
        &by_two("read=100,sequential"),
        true,
    ),
];

fn over_workloads(amounts: &Amounts) -> Result<Vec<Planned>> {
    let is_wanted = |brief: bool| brief || !is_brief(amounts);
    let mut cells = Vec::new();
    for (part, name, phases, brief) in WORKLOADS {
        if !is_wanted(brief) {
            continue;
        }
        let (data, fill) = growing("osm-like", amounts);
        let of_workload = Cells {
            systems: FEW,
            data,
            are_texts: false,
            fill,
            axes: vec![("part", part.to_string()), ("workload", name.to_string())],
            settings: "",
            work: Work::Phases(phases),
        };
        cells.extend(of_workload.planned(amounts)?);
    }
    Ok(cells)
}
