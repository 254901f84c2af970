//! The parts of a look-up.

use super::arms::{ALL, Cells};
use super::{Amounts, Build, Data, Experiment, Fill, Only, Planned, Result, View, Work};
use crate::claims::doblix::published::TWO_SETS;

pub const FIGURE_1: Experiment = Experiment {
    id: "D-F1",
    paper: "DobLIX, Figure 1",
    title: "Parts of a look-up",
    shows: "The parts of the time of a look-up in RocksDB with 10 million 8-byte keys: filters, index, reading the block, \
            searching it. The text has one number: the search in the block takes more than 40 % of the time of \
            indexing.",
    method: "Integers uniform below 10^16 with values of 8 bytes, from the page cache, by a get that reads the clock between \
             its parts: RocksDB by its perf context, which has one time for the seeks in the index and in the block, both in \
             searching here; and rhumb with fence pointers over blocks of 4 KiB, which tells them apart, and with its default \
             model and placement.",
    cells: of_reference,
    views: &[parts("Parts of a look-up", &[])],
};

pub const FIGURE_11: Experiment = Experiment {
    id: "D-F11",
    paper: "DobLIX, Figure 11",
    title: "Parts of a look-up over two sets of keys",
    shows: "The parts of the time of a look-up of DobLIX, TridentKV, Bourbon and RocksDB among nine tenths of reads, over AMZN and LOGN, \
            as shares of that of RocksDB: finding the file, loading the index, finding the block, loading it, finding the key in \
            it, loading the value.",
    method: "The protocol of D-ENV: gets of uniformly drawn keys of a loaded store, by a get that reads the clock between its parts. \
             No writes stand between them, which would change no part. Indexes are in memory when a get comes, so that none loads an index; \
             files are found as part of the filters, and a value comes with its block. Verifying what was read counts as searching. \
             RocksDB tells the seeks in the index and in the block as one time, which is in searching.",
    cells: over_sets,
    views: &[
        parts("lognormal", &[("set", "lognormal")]),
        parts("books-like", &[("set", "books-like")]),
    ],
};

const fn parts(title: &'static str, only: Only) -> View {
    View::Parts {
        title,
        only,
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
    }
}

/// The systems of the first figure.
const REFERENCE: [(&str, &str); 3] = [
    ("rocksdb", "rocksdb"),
    ("fence pointers", "rhumb index=fp partition=bytes(4096)"),
    ("rhumb", "rhumb index=plr partition=predicted"),
];

fn of_reference(amounts: &Amounts) -> Result<Vec<Planned>> {
    let mut cells = Vec::new();
    for (name, text) in REFERENCE {
        let system = amounts.system(text)?;
        if !system.is_built_in() {
            continue;
        }
        cells.push(Planned {
            axes: vec![("system", name.to_string())],
            data: Data::new("uni", amounts.short),
            build: Some(Build {
                system,
                fill: Fill::All,
            }),
            work: Work::Breakdown,
        });
    }
    Ok(cells)
}

fn over_sets(amounts: &Amounts) -> Result<Vec<Planned>> {
    let mut cells = Vec::new();
    for set in TWO_SETS {
        let of_set = Cells {
            systems: ALL,
            data: Data::new(set, amounts.uncached.records).with_values(64),
            are_texts: false,
            fill: Fill::All,
            axes: vec![("set", set.to_string())],
            settings: "",
            work: Work::Breakdown,
        };
        cells.extend(of_set.planned(amounts)?);
    }
    Ok(cells)
}
