//! *LearnedKV*: an LSM-tree in front of a static tier with learned models. All but one of
//! its claims need the tier, or stores that are not built yet, and are not judged yet.

use super::evidence::Evidence;
use super::part::Cause;
use super::ratio::Ratio;
use super::{Claim, Judge};

/// The requirement of most of its claims.
const TIER: &str = "needs the learned tier, which is not built yet";

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

/// The paper's claims.
pub const ALL: &[Claim] = &[
    Claim {
        id: "C-L1",
        paper: "LearnedKV",
        published: "Over RocksDB+: up to 4.32x reads and 1.41x writes on an SSD; at 10M entries, \
                    half reads and half writes, 3.35x reads (3.12x in the tables) and 1.30x \
                    writes; 1.43x writes on a hard disk.",
        judge: Judge::Later(TIER),
    },
    Claim {
        id: "C-L2",
        paper: "LearnedKV",
        published: "Indexes take 2.98x less memory: 81.3 MB against 242 MB.",
        judge: Judge::Later(TIER),
    },
    Claim {
        id: "C-L3",
        paper: "LearnedKV",
        published: "Range scans over plain RocksDB: up to 2.02x without updates and 1.76x with \
                    them; elsewhere in the text up to 4x.",
        judge: Judge::Later(TIER),
    },
    Claim {
        id: "C-L4",
        paper: "LearnedKV",
        published: "Over HashKV +12 %, +89 %, +34 % and over Bourbon +58 %, +87 %, +32 % (write- \
                    heavy, read-heavy, read-only); over hybrid learned indexes and a B+-tree \
                    2.66x write-heavy and up to 8.24x read-heavy.",
        judge: Judge::Later(
            "needs the learned tier, HashKV, Bourbon and hybrid indexes, which are not built yet",
        ),
    },
    Claim {
        id: "C-L5",
        paper: "LearnedKV",
        published: "The filter of the LSM-tree costs 5.65 % of writes and gains 9.6 % of reads.",
        judge: Judge::Later(TIER),
    },
    Claim {
        id: "C-L6",
        paper: "LearnedKV",
        published: "Conversion into the tier blocks neither reads nor writes.",
        judge: Judge::Later(TIER),
    },
    Claim {
        id: "C-L7",
        paper: "LearnedKV",
        published: "From 1M to 10M keys the cost of RocksDB grows by 216 % for reads and 44.5 % \
                    for writes.",
        judge: Judge::By {
            rule: "RocksDB, or, where it is not built in, rhumb with fence pointers over blocks of 4 KiB, both with the published \
                   settings. A mean get takes 2.1 to 4.7 times as long among all records of the scale as among a tenth \
                   of them, a mean put of a new key 1.1 to 2.2 times.",
            experiments: &["L-F3"],
            parts: |evidence| {
                let growths = growths(evidence).iter();
                growths.map(|ratio| ratio.part(evidence)).collect()
            },
        },
    },
    Claim {
        id: "C-L8",
        paper: "LearnedKV",
        published: "Real sets of keys: writes 1.18x to 1.25x, reads 2.69x to 3.21x; \
                    distributions: 1.04x to 1.30x and 2.51x to 3.12x; sizes: 1.08x to 1.35x and \
                    1.27x to 3.12x.",
        judge: Judge::Later(TIER),
    },
    Claim {
        id: "C-L9",
        paper: "LearnedKV",
        published: "Reads that the tier answers take 67 % less time, those of the LSM-tree 23 % \
                    less; over 95 % of reads probe the LSM-tree.",
        judge: Judge::Later(TIER),
    },
    Claim {
        id: "C-L10",
        paper: "LearnedKV",
        published: "Over-provision of 10 to 50 %: writes 1.15x to 1.42x (1.39x to 1.65x in the \
                    prose), reads 2.58x to 3.11x.",
        judge: Judge::Later(TIER),
    },
    Claim {
        id: "C-L11",
        paper: "LearnedKV",
        published: "In memory up to 1.26x; on a hard disk 1.22x to 1.43x; with direct I/O over \
                    hybrid indexes 5.3x (YCSB B) and 7.9x (YCSB C).",
        judge: Judge::Later(TIER),
    },
    Claim {
        id: "C-L12",
        paper: "LearnedKV",
        published: "Conversion of 10M entries sorts in less than 80 MB; models take 96 KB; \
                    filters are wrong for less than 5 % of absent keys.",
        judge: Judge::Later(TIER),
    },
];
