//! The growth of the costs of an LSM-tree with its records.

use crate::claims::evidence::Evidence;
use crate::claims::part::{Cause, Part};
use crate::claims::ratio::Ratio;

type Cells = &'static [(&'static str, &'static str)];

/// Of RocksDB, all records and a tenth of them.
const THEIRS: [Cells; 2] = [
    &[
        ("system", "RocksDB"),
        ("settings", "published"),
        ("share", "100 %"),
    ],
    &[
        ("system", "RocksDB"),
        ("settings", "published"),
        ("share", "10 %"),
    ],
];

/// The same of rhumb with fence pointers.
const OURS: [Cells; 2] = [
    &[
        ("system", "fence pointers"),
        ("settings", "published"),
        ("share", "100 %"),
    ],
    &[
        ("system", "fence pointers"),
        ("settings", "published"),
        ("share", "10 %"),
    ],
];

/// The growth of the costs of RocksDB, ten times as many records.
const GROWTH: [Ratio; 2] = [
    reads(
        THEIRS,
        (
            Cause::Device,
            "tables are read from the page cache, so that another level costs a search in memory and seldom a read of the \
             device",
        ),
    ),
    writes(
        THEIRS,
        (
            Cause::Device,
            "a write is held up by merges, which depend on the cores and the device that they have",
        ),
    ),
];

/// The same of rhumb with fence pointers.
const GROWTH_OF_OURS: [Ratio; 2] = [reads(OURS, IN_ITS_PLACE), writes(OURS, IN_ITS_PLACE)];

const IN_ITS_PLACE: (Cause, &str) = (
    Cause::Design,
    "this is rhumb, since RocksDB is not in this build: it merges in another order and reads from the page cache",
);

const fn reads([of, over]: [Cells; 2], why: (Cause, &'static str)) -> Ratio {
    Ratio {
        what: "reads",
        experiment: "L-F3",
        of,
        over,
        metric: "get_mean",
        published: 3.16,
        band: (2.1, 4.7),
        why: Some(why),
    }
}

const fn writes(cells: [Cells; 2], why: (Cause, &'static str)) -> Ratio {
    Ratio {
        what: "writes",
        metric: "put_mean",
        published: 1.445,
        band: (1.1, 2.2),
        ..reads(cells, why)
    }
}

/// Of RocksDB if this build has it.
fn growths(evidence: &Evidence<'_>) -> &'static [Ratio] {
    let theirs = evidence.cells("L-F3").only("system", "RocksDB");
    match theirs.is_declared() {
        true => &GROWTH,
        false => &GROWTH_OF_OURS,
    }
}

/// From a tenth to all records of the scale.
pub fn parts(evidence: &Evidence<'_>) -> Vec<Part> {
    let growths = growths(evidence).iter();
    growths.map(|ratio| ratio.part(evidence)).collect()
}
