//! What tunes the form of tables, beside fixed forms.

use super::arms::is_brief;
use super::forms::{fixed, tuners};
use super::learned;
use super::views::{Axis, bars};
use super::{
    Along, Amounts, Chart, Experiment, Measure, Only, Planned, Result, Split, View, column,
};
use crate::experiment::figures::Across;
use crate::report::model::Marks;

pub const FIGURE_15: Experiment = Experiment {
    id: "D-F15",
    paper: "DobLIX, Figure 15",
    title: "Tuning the form of tables",
    shows: "Throughput and the size of all indexes behind each episode of 20 tables under the agent, and what it learnt of its 20 \
            settings, over AMZN with nine reads on an insert: points by Zipf, and ranges of 100 entries, with all weight on time \
            (nu = 1) or on memory (0).",
    method: "The protocol of D-ENV over a look-alike of AMZN. Six tenths of the records are loaded, in the form that is set; then \
             nine reads on each insert of a new key, in episodes of equally many operations in every system, chosen so that merges \
             and flushes write some 20 tables in each (`quick`: fewer): a flush writes one, and the bytes of merges are divided by the size \
             of a table. The write buffer is a quarter of a table, so that there are more tables for the operations. Points are by Zipf, ranges \
             uniform. The workload changes at half in two further arms of each tuner. `cost` is rhumb's tuner, which starts with \
             `predicted`, rhumb's default; `fp` has fence pointers over blocks of 4 KiB; the fixed settings are those of the paper, `pla-128/4K` for \
             example. Bytes are those of index and directory an entry, which tuners weigh; those of key maps stand beside in the table. \
             The paper has an estimate for 64 million keys. Where `cache` \
             says all, the block cache holds the store. What the agent learned of its actions, in its pre-training too, is shown as medians \
             of the rounds, if it had the time to measure its forms. Tables are smaller than the published ones of 64 MiB. At `quick` four fixed settings, and no cache.",
    cells: over_systems,
    views: &[
        lines("Throughput over episodes", FAST, "episode_rate", RATE),
        lines("Index over episodes", SMALL, "episode_finding", FINDING),
        View::Chart(bars(
            "Throughput of the last quarter",
            UNCACHED,
            REQUESTS,
            RATE,
        )),
        View::Chart(bars(
            "Index of the last quarter",
            UNCACHED,
            REQUESTS,
            FINDING,
        )),
        states("Published settings under points", POINTS_OF_STATES),
        states("Published settings under ranges", RANGES_OF_STATES),
        learned::UNDER_POINTS,
        learned::UNDER_RANGES,
        learned::OF_MEMORY,
        View::Table {
            title: "All figures",
            only: &[],
            axes: &[REQUESTS, ("cache", "cache"), ("system", "system")],
            columns: &[
                column("first_rate", "first tenth, 1000/s", 1e3, 1),
                column("all_rate", "all, 1000/s", 1e3, 1),
                column("slowest_rate", "slowest, 1000/s", 1e3, 1),
                column("last_rate", "last quarter, 1000/s", 1e3, 1),
                column("last_mean", "last quarter, us", 1e3, 2),
                column("last_finding", "index, B/entry", 1.0, 3),
                column("last_key_map", "key map, B/entry", 1.0, 3),
                column("episode_tables", "tables an episode", 1.0, 1),
            ],
            published: &[],
        },
    ],
};

const REQUESTS: Axis = ("requests", "requests");
const UNCACHED: Only = &[("cache", "none"), ("system", FEW)];

/// The systems of charts: all lines of 20 settings would be one band.
const FEW: &str = "cost:nu=1|cost:nu=0|q-learning:nu=1|q-learning:nu=0|predicted|fp|pla-128/4K|pra/16K|pla-256/32K";

/// Those of lines over episodes, which cross: with all weight on time, and on memory.
const FAST: Only = &[
    ("cache", "none"),
    (
        "system",
        "cost:nu=1|q-learning:nu=1|predicted|pla-128/4K|pra/16K",
    ),
];
const SMALL: Only = &[
    ("cache", "none"),
    (
        "system",
        "cost:nu=1|cost:nu=0|q-learning:nu=0|predicted|pla-256/32K",
    ),
];

const POINTS_OF_STATES: Only = &[
    ("requests", "points"),
    ("cache", "none"),
    ("block", "4K|8K|16K|32K"),
];
const RANGES_OF_STATES: Only = &[
    ("requests", "ranges"),
    ("cache", "none"),
    ("block", "4K|8K|16K|32K"),
];

const RATE: Measure = Measure {
    metric: "last_rate",
    label: "throughput",
    unit: "1000/s",
    divisor: 1e3,
    log: false,
};

const FINDING: Measure = Measure {
    metric: "last_finding",
    label: "index",
    unit: "B/entry",
    divisor: 1.0,
    log: false,
};

const fn lines(title: &'static str, only: Only, metric: &'static str, y: Measure) -> View {
    let x = Along::Steps { label: "episode" };
    let y = Measure { metric, ..y };
    View::Chart(Chart::new(title, only, x, y, "system", Marks::Line).split(Split::By("requests")))
}

/// The throughput of the published settings over that of rhumb's default, by model and size of blocks.
const fn states(title: &'static str, only: Only) -> View {
    View::Ratios {
        title,
        only,
        columns: Across::Axis("block", "bytes of blocks", "last_rate"),
        rows: ("model", "model"),
        over: &[
            ("system", "predicted"),
            ("model", "none"),
            ("block", "none"),
        ],
        label: "throughput over that of predicted",
    }
}

/// Reads and inserts of points.
pub const POINTS: &str = "read=90,insert=10,zipfian";
const RANGES: &str = "scan=90,insert=10,uniform,length=100";

/// Requests by their name, with those of the two halves.
const STEADY: [(&str, [&str; 2]); 2] = [("points", [POINTS; 2]), ("ranges", [RANGES; 2])];
const CHANGING: [(&str, [&str; 2]); 2] = [
    ("points, then ranges", [POINTS, RANGES]),
    ("ranges, then points", [RANGES, POINTS]),
];

fn over_systems(amounts: &Amounts) -> Result<Vec<Planned>> {
    let mut cells = Vec::new();
    for requests in STEADY {
        for arm in tuners().chain(fixed(amounts)) {
            cells.push(arm.planned(amounts, requests, false)?);
            if arm.has_cached() && !is_brief(amounts) {
                cells.push(arm.planned(amounts, requests, true)?);
            }
        }
    }
    for requests in CHANGING {
        for arm in tuners().filter(|arm| arm.name.ends_with("nu=1")) {
            cells.push(arm.planned(amounts, requests, false)?);
        }
    }
    Ok(cells)
}
