//! Updates over real sets of keys, and over numbers of entries.

use super::cells::{Cells, HALF, over, points};
use super::updates::SOME;
use super::views::{
    Axis, GAIN_OF_READS, GAIN_OF_WRITES, STATED, costs, reads, reads_over_theirs, writes,
    writes_over_theirs, written,
};
use super::{Amounts, Experiment, Planned, Result, Work};

pub const TABLE_2: Experiment = Experiment {
    id: "L-T2",
    paper: "LearnedKV, Table 2",
    title: "Throughput over real sets of keys",
    shows: "The throughput of reads and of writes with the keys of SOSD's books, fb, osm and wiki, 10 million of each.",
    method: "As L-F8, with half reads and half updates, over look-alikes of these sets: each has the shape of the real set and \
             is about as hard to index. They have as many keys as the scale has entries; the paper does not say how it took 10 \
             million of the 200 million keys. At `quick` the first and the last set alone.",
    cells: over_sets,
    views: &[
        reads(SET),
        writes(SET),
        reads_over_theirs(SET, GAIN_OF_READS),
        writes_over_theirs(SET, GAIN_OF_WRITES),
        costs(&[("system", "system"), SET], STATED),
    ],
};

pub const TABLE_4: Experiment = Experiment {
    id: "L-T4",
    paper: "LearnedKV, Table 4",
    title: "Throughput over the number of entries",
    shows: "The throughput of reads and of writes with 0.5, 1, 3, 6, 10 and 30 million entries.",
    method: "As L-F8, with half reads and half updates. The number of entries is given in percent of 10 million, or of the entries of \
             the scale. Buffers, levels and caches are scaled with the entries, as everywhere, so that stores of all sizes have as many \
             levels; the paper does not say whether its own are. At `quick` the ends of the axis alone.",
    cells: over_sizes,
    views: &[
        reads(SIZE),
        writes(SIZE),
        written(SIZE),
        reads_over_theirs(SIZE, GAIN_OF_READS),
        writes_over_theirs(SIZE, GAIN_OF_WRITES),
        costs(&[("system", "system"), ("size", "entries, %")], STATED),
    ],
};

const SET: Axis = ("set", "keys");

const SIZE: Axis = ("size", "entries, % of those of the scale");

const SETS: [&str; 4] = ["books-like", "fb-like", "osm-like", "wiki-like"];

/// In percent of the entries of the scale.
const SIZES: [usize; 6] = [5, 10, 30, 60, 100, 300];

fn over_sets(amounts: &Amounts) -> Result<Vec<Planned>> {
    over(points(&SETS, amounts), amounts, |set| {
        let cells = Cells::new(SOME, amounts.swept, Work::Phases(HALF));
        Cells {
            set,
            ..cells.at("set", set)
        }
    })
}

fn over_sizes(amounts: &Amounts) -> Result<Vec<Planned>> {
    over(points(&SIZES, amounts), amounts, |percent| {
        let entries = (amounts.swept * percent / 100).max(2);
        Cells::new(SOME, entries, Work::Phases(HALF)).at("size", format!("{percent} %"))
    })
}
