//! The data sets.

use super::{
    Amounts, Experiment, LONG_SETS, Planned, SHORT_SETS, Stated, View, Work, column, long, short,
};
use crate::claims::published::{self, Set};
use crate::error::Result;
use crate::results::Cell;

pub const TABLE_1: Experiment = Experiment {
    id: "E-T1",
    paper: "EDBT, Table 1",
    title: "Data sets",
    shows: "Six sets: three of 100 GiB made by YCSB (24-byte keys, 1000-byte values; uniform, Zipf 0.9 and \
            0.99), and Facebook ids, OpenStreetMap cells and Wikipedia timestamps (8-byte keys and values).",
    method: "YCSB keys are integers of 24 digits; Zipf sets are updates drawn over 10^15 keys until the wanted \
             number of distinct keys is reached. The real sets are replaced by look-alikes that follow \
             their distributions: uniform ids with 21 outliers, Gaussian clusters, times in bursts. They are fitted to \
             no published figure. Files of the real sets can be given with --sosd to `run indexes`.",
    cells: sets,
    views: &[View::Table {
        title: "Sets as measured",
        only: &[],
        axes: &[("set", "set")],
        columns: &[
            column("keys", "records", 1.0, 0),
            column("key_bytes", "key B", 1.0, 1),
            column("value_bytes", "value B", 1.0, 1),
            column("user_bytes", "all MiB", 1_048_576.0, 1),
        ],
        published: &[
            Stated {
                heading: "published records",
                digits: 0,
                of: |cell| Some(published(cell)?.entries as f64),
            },
            Stated {
                heading: "published key B",
                digits: 0,
                of: |cell| Some(published(cell)?.key_bytes.into()),
            },
            Stated {
                heading: "published value B",
                digits: 0,
                of: |cell| Some(published(cell)?.value_bytes.into()),
            },
        ],
    }],
};

fn published(cell: &Cell) -> Option<&'static Set> {
    let named = |set: &&Set| set.ours == cell.axis("set");
    published::TABLE_1.iter().find(named)
}

pub const FIGURE_6: Experiment = Experiment {
    id: "E-F6",
    paper: "EDBT, Figure 6",
    title: "Distribution of the keys of each set",
    shows: "The cumulative distributions of the six sets.",
    method: "The share of keys up to each of 200 keys at evenly spaced ranks; the position of a key \
             is its value as an integer, as a share of the span of all keys.",
    cells: sets,
    views: &[View::Curves {
        title: "Cumulative distributions",
        metric: "place",
        x: ("key, as a share of the span", ""),
        y: ("share of keys up to it", ""),
        series: "set",
    }],
};

fn sets(amounts: &Amounts) -> Result<Vec<Planned>> {
    let long = LONG_SETS.iter().map(|set| long(set, amounts));
    let short = SHORT_SETS.iter().map(|set| short(set, amounts));
    let cells = long.chain(short).map(|data| Planned {
        axes: vec![("set", data.set.clone())],
        data,
        build: None,
        work: Work::Keys,
    });
    Ok(cells.collect())
}
