//! *DobLIX*: blocks cut by the model, and an agent that tunes their parameters. Of its experiments
//! only those that need no such agent.

use super::figures::View;
use super::{Amounts, Build, Data, Experiment, Fill, Paper, Planned, Work};
use crate::error::Result;

/// The paper with its experiments.
pub const PAPER: Paper = Paper {
    title: "DobLIX",
    experiments: &[FIGURE_1],
};

const FIGURE_1: Experiment = Experiment {
    id: "D-F1",
    paper: "DobLIX, Figure 1",
    title: "Parts of a look-up",
    shows: "The parts of the time of a look-up in RocksDB with 10 million 8-byte keys: filters, index, reading the block, \
            searching it. The text has one number: the search in the block takes more than 40 % of the time of \
            indexing.",
    method: "Integers uniform below 10^16 with values of 8 bytes, from the page cache, by a get that reads the clock between \
             its parts. Fence pointers over blocks of 4 KiB in place of RocksDB, and rhumb with its default model and \
             placement.",
    cells: parts,
    views: &[View::Parts {
        title: "Parts of a look-up",
        only: &[],
        along: "system",
        label: "time of a get",
        unit: "us",
        divisor: 1e3,
        parts: &[
            ("part_filter", "levels and filters"),
            ("part_predict", "index"),
            ("part_read", "reading"),
            ("part_search", "verifying and searching"),
        ],
    }],
};

/// The systems.
const SYSTEMS: [(&str, &str); 2] = [
    ("fence pointers", "rhumb index=fp partition=bytes(4096)"),
    ("rhumb", "rhumb index=plr partition=predicted"),
];

fn parts(amounts: &Amounts) -> Result<Vec<Planned>> {
    let cell = |(name, text): (&str, &str)| {
        Ok(Planned {
            axes: vec![("system", name.to_string())],
            data: Data::new("uni", amounts.short),
            build: Some(Build {
                system: amounts.system(text)?,
                fill: Fill::All,
            }),
            work: Work::Breakdown,
        })
    };
    SYSTEMS.into_iter().map(cell).collect()
}
