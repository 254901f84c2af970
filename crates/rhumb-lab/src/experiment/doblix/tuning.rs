//! What tunes the form of tables, beside fixed forms.

use rhumb::Tuner;

use super::arms::{is_brief, settings};
use super::views::{Axis, bars};
use super::{
    Along, Amounts, Build, Chart, Data, Experiment, Fill, Measure, Only, Planned, Result, Split,
    View, Work, column,
};
use crate::experiment::Episodes;
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
             example. Bytes are those of index and directory an entry, which tuners weigh, and those of key maps stand beside in the table, where the paper has an estimate for 64 million keys. Where `cache` \
             says all, the block cache holds the store. Tables are smaller than the published ones of 64 MiB. At `quick` four fixed settings, and no cache.",
    cells: over_systems,
    views: &[
        lines("Throughput over episodes", "episode_rate", RATE),
        lines("Index over episodes", "episode_finding", FINDING),
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
        states(
            "Fixed settings under points",
            &[("requests", "points"), ("cache", "none")],
        ),
        states(
            "Fixed settings under ranges",
            &[("requests", "ranges"), ("cache", "none")],
        ),
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

const fn lines(title: &'static str, metric: &'static str, y: Measure) -> View {
    let x = Along::Steps { label: "episode" };
    let y = Measure { metric, ..y };
    View::Chart(
        Chart::new(title, UNCACHED, x, y, "system", Marks::Line).split(Split::By("requests")),
    )
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

/// What tunes, as the option of the store takes it.
const TUNERS: [&str; 4] = [
    "cost:nu=1",
    "cost:nu=0",
    "q-learning:nu=1",
    "q-learning:nu=0",
];

/// The models and the sizes of blocks of the published settings.
const MODELS: [&str; 5] = ["pla-32", "pla-64", "pla-128", "pla-256", "pra"];
const BLOCKS: [(&str, u32); 4] = [
    ("4K", 4 << 10),
    ("8K", 8 << 10),
    ("16K", 16 << 10),
    ("32K", 32 << 10),
];

/// The settings that the smallest scale has, and those that are measured with a cache too.
const AT_QUICK: [&str; 4] = ["pla-128/4K", "pra/16K", "pla-256/32K", "pra/4K"];
const CACHED: [&str; 2] = ["pla-128/4K", "pra/16K"];

const POINTS: &str = "read=90,insert=10,zipfian";
const RANGES: &str = "scan=90,insert=10,uniform,length=100";

/// Requests by their name, with those of the two halves.
const STEADY: [(&str, [&str; 2]); 2] = [("points", [POINTS; 2]), ("ranges", [RANGES; 2])];
const CHANGING: [(&str, [&str; 2]); 2] = [
    ("points, then ranges", [POINTS, RANGES]),
    ("ranges, then points", [RANGES, POINTS]),
];

/// A system: its name, its model and bytes of blocks if it has one of the published settings, and its text.
struct Arm {
    name: String,
    state: Option<(&'static str, &'static str)>,
    text: String,
}

impl Arm {
    fn new(name: &str, text: &str) -> Arm {
        Arm {
            name: name.to_string(),
            state: None,
            text: format!("rhumb {text}"),
        }
    }

    /// A published setting.
    fn of_state(model: &'static str, (block, bytes): (&'static str, u32)) -> Arm {
        let index = model.replace('-', ":error=");
        let text = format!("index={index} partition=dual({bytes})");
        Arm {
            state: Some((model, block)),
            ..Arm::new(&format!("{model}/{block}"), &text)
        }
    }

    fn is_in(&self, names: &[&str]) -> bool {
        names.contains(&self.name.as_str())
    }

    /// The cell under some requests, with a cache for all of the store or without one.
    fn planned(
        &self,
        amounts: &Amounts,
        (requests, mixes): (&str, [&'static str; 2]),
        is_cached: bool,
    ) -> Result<Planned> {
        let table = amounts.episodes.table_bytes;
        let data = Data::new("books-like", records(&amounts.episodes)).with_values(64);
        let (name, cache) = match is_cached {
            true => ("all", 200 * data.records),
            false => ("none", 0),
        };
        // Of settings with one name the last one counts.
        let of_protocol = settings(&self.text, table, 4 * table);
        let buffer = table / 4;
        let text = format!(
            "{} {of_protocol} write_buffer={buffer} cache={cache}",
            self.text
        );
        let (model, block) = self.state.unwrap_or(("none", "none"));
        Ok(Planned {
            axes: vec![
                ("system", self.name.clone()),
                ("model", model.to_string()),
                ("block", block.to_string()),
                ("requests", requests.to_string()),
                ("cache", name.to_string()),
            ],
            data,
            build: Some(Build {
                system: amounts.system(&text)?,
                fill: Fill::Tenths(6),
            }),
            work: Work::Tuning(mixes),
        })
    }
}

/// So many that a tenth of the operations of all episodes inserts four tenths of them, and some more, since the number of
/// inserts is drawn.
fn records(episodes: &Episodes) -> usize {
    let operations = (episodes.count * episodes.operations) as f64;
    (operations / 4.0 + 20.0 * operations.sqrt()) as usize
}

fn tuners() -> impl Iterator<Item = Arm> {
    // The agent is not built yet.
    let built = TUNERS
        .into_iter()
        .filter(|text| text.parse::<Tuner>().is_ok());
    built.map(|text| {
        let text_of_store = format!("index=plr partition=predicted tuner={text}");
        Arm::new(text, &text_of_store)
    })
}

fn fixed(amounts: &Amounts) -> impl Iterator<Item = Arm> {
    let is_brief = is_brief(amounts);
    let states = MODELS
        .into_iter()
        .flat_map(|model| BLOCKS.map(|block| Arm::of_state(model, block)));
    let others = [
        Arm::new("predicted", "index=plr partition=predicted"),
        Arm::new("fp", "index=fp partition=bytes(4096)"),
    ];
    let states = states.filter(move |arm| !is_brief || arm.is_in(&AT_QUICK));
    others.into_iter().chain(states)
}

fn over_systems(amounts: &Amounts) -> Result<Vec<Planned>> {
    let mut cells = Vec::new();
    for requests in STEADY {
        for arm in tuners().chain(fixed(amounts)) {
            cells.push(arm.planned(amounts, requests, false)?);
            let has_cached = arm.state.is_none() || arm.is_in(&CACHED);
            if has_cached && !is_brief(amounts) {
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
