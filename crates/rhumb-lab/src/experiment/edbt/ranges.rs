//! Range look-ups, keys of variable length, and small entries.

use super::building::{building, loading, training};
use super::{
    ANY, Across, Along, Amounts, Arm, BY_BOUNDARY, BY_KIND, Chart, Data, Experiment, LATENCY,
    LONG_SETS, MODELS, Measure, Only, Planned, Point, Published, Split, Stated, UNCLUSTERED, View,
    Work, bounded, column, is_limited, long, over_boundary,
};
use crate::claims::published;
use crate::error::Result;
use crate::experiment::Reading;
use crate::report::model::Marks;

pub const FIGURE_9: Experiment = Experiment {
    id: "E-F9",
    paper: "EDBT, Figure 9",
    title: "Ranges over uniform keys: seek, scan, and segments touched",
    shows: "The time of the seek over the position boundary, and of the scan with the segments it touches, \
            for several lengths.",
    method: METHOD,
    cells: |amounts| ranges(amounts, LONG_SETS[0]),
    views: RANGES,
};

pub const FIGURE_10: Experiment = Experiment {
    id: "E-F10",
    paper: "EDBT, Figure 10",
    title: "Ranges over Zipf 0.9 keys",
    shows: "As E-F9, over the set with skew 0.9.",
    method: METHOD,
    cells: |amounts| ranges(amounts, LONG_SETS[1]),
    views: RANGES,
};

pub const FIGURE_11: Experiment = Experiment {
    id: "E-F11",
    paper: "EDBT, Figure 11",
    title: "Ranges over Zipf 0.99 keys",
    shows: "As E-F9, over the set with skew 0.99.",
    method: METHOD,
    cells: |amounts| ranges(amounts, LONG_SETS[2]),
    views: RANGES,
};

const METHOD: &str = "Ranges from random present keys on, exact windows from the page cache. The seek ends with the \
                      first entry, the scan with the last. A segment is what one read call reads; those of seek and \
                      scan are counted together. A scan reads ahead, so calls fall less with the boundary than the \
                      published segments. Fewer of the longer ranges are read. Blocks come from a page cache that holds \
                      everything; of the shortest and the longest ranges at the largest and the smallest boundary also \
                      from one of 70 % of the data, as published (at scale quick on the uniform set alone).";

const RANGES: &[View] = &[
    over_boundary("(A) seek", &[("length", "10"), CACHED], SEEK),
    scans(
        "(B) scan of 10: segments (bars), time (lines)",
        &[("length", "10"), CACHED],
    ),
    scans(
        "(C) scan of 100: segments (bars), time (lines)",
        &[("length", "100"), CACHED],
    ),
    scans(
        "(D) scan of 1,000: segments (bars), time (lines)",
        &[("length", "1000"), CACHED],
    ),
    over_boundary(
        "seek, a page cache of 70 % of the data",
        &[("length", "10"), LIMITED],
        SEEK,
    ),
    over_boundary(
        "range of 1,000, a page cache of 70 % of the data",
        &[("length", "1000"), LIMITED],
        Measure {
            metric: "range_mean",
            label: "time of the range",
            ..SEEK
        },
    ),
];

const CACHED: (&str, &str) = ("reading", Reading::Cached.name());
const LIMITED: (&str, &str) = ("reading", Reading::Limited.name());

const SEEK: Measure = Measure {
    metric: "seek_mean",
    label: "time of the seek",
    unit: "us",
    divisor: 1e3,
    log: false,
};

const SCAN: Measure = Measure {
    metric: "scan_mean",
    label: "time of the scan",
    unit: "us",
    divisor: 1e3,
    log: false,
};

const fn scans(title: &'static str, only: Only) -> View {
    let chart = Chart::new(title, only, BY_BOUNDARY, SEGMENTS, "kind", Marks::Bar);
    View::Chart(chart.with(SCAN).split(Split::Classes))
}

const SEGMENTS: Measure = Measure {
    metric: "range_read_calls",
    label: "segments read",
    unit: "calls/range",
    divisor: 1.0,
    log: false,
};

/// Entries of a range.
const LENGTHS: [usize; 3] = [10, 100, 1_000];

fn ranges(amounts: &Amounts, set: &str) -> Result<Vec<Planned>> {
    let mut cells = Vec::new();
    let mut plan = |kind: &str, boundary: u32, length: usize, reading: Reading| -> Result<()> {
        let point = Point {
            amounts,
            data: long(set, amounts),
            kind,
            boundary,
            arm: Arm::Window,
        };
        cells.push(point.plan(Work::Ranges(length, reading))?);
        Ok(())
    };
    for boundary in amounts.boundaries {
        for kind in bounded() {
            for length in LENGTHS {
                plan(kind, *boundary, length, Reading::Cached)?;
            }
        }
    }
    if is_limited(set, amounts) {
        // Claims compare the ends of both axes.
        let (boundaries, [shortest, .., longest]) = (amounts.boundaries, LENGTHS);
        for boundary in boundaries.first().into_iter().chain(boundaries.last()) {
            for kind in MODELS {
                for length in [shortest, longest] {
                    plan(kind, *boundary, length, Reading::Limited)?;
                }
            }
        }
    }
    Ok(cells)
}

pub const FIGURE_12: Experiment = Experiment {
    id: "E-F12",
    paper: "EDBT, Figure 12",
    title: "Ranges of unclustered kinds; keys of variable length; compaction of small entries",
    shows: "(A), (B): ranges of unclustered kinds. (C): look-ups among keys of 8 to 24 bytes at boundary 8 with \
            mapped keys retained. (D): time of compaction and of learning when 50M Facebook keys are merged \
            into 50M.",
    method: "(A), (B): seeks and scans over uniform keys; the clustered kinds are also shown, with mapped keys \
             retained, and read one entry too. (C): decimal keys of 8 to 24 digits; one entry is read by clustered \
             kinds with mapped keys retained and by unclustered kinds; fence pointers read windows of 8 entries. (D): \
             the second half of the keys is merged into the first, in the layout for exact windows, where an entry \
             takes 20 bytes.",
    cells: |amounts| {
        let mut cells = one_entry_ranges(amounts, LONG_SETS[0])?;
        let variable = || Data::new("ycsb-var", amounts.long);
        let fences = super::FENCES.map(|kind| (kind, Arm::Window));
        let retained = MODELS.map(|kind| (kind, Arm::Retained));
        let exact = UNCLUSTERED.map(|kind| (kind, Arm::Exact));
        for (kind, arm) in fences.into_iter().chain(retained).chain(exact) {
            let point = Point {
                amounts,
                data: variable(),
                kind,
                boundary: 8,
                arm,
            };
            cells.push(point.plan(Work::Points(Reading::Cached))?);
        }
        let small = super::short("fb", amounts);
        cells.extend(loading(amounts, &small)?);
        Ok(cells)
    },
    views: &[
        over_length("(A) seek, one entry read", UNIFORM, SEEK),
        over_length("(B) scan, one entry read by the seek", UNIFORM, SCAN),
        over_tree("(A) seek over that of the B+-tree", UNIFORM, "seek_mean"),
        over_tree("(B) scan over that of the B+-tree", UNIFORM, "scan_mean"),
        View::Chart(Chart::new(
            "(C) gets among keys of 8 to 24 bytes",
            &[("set", "ycsb-var")],
            BY_KIND,
            LATENCY,
            "kind",
            Marks::Bar,
        )),
        building("(D) compaction of 8 + 8 bytes", &[("set", "fb")]),
        View::Chart(
            training(
                "(D) training as a share of compaction, 8 + 8 bytes",
                &[("set", "fb")],
            )
            .beside(&[SHARE_CLUSTERED, SHARE_UNCLUSTERED]),
        ),
        View::Table {
            title: "(D) bytes of an entry of 8 + 8 bytes, and training as a share of compaction",
            only: &[("set", "fb")],
            axes: &[("kind", "kind")],
            columns: &[
                column("entry_bytes", "entry with checksum B", 1.0, 2),
                column("index_bytes_an_entry", "index B/entry", 1.0, 3),
                column("compaction_time", "compaction s", 1.0, 3),
                column("training_time", "training s", 1.0, 3),
                column("training_share", "training %", 0.01, 1),
            ],
            published: &[Stated {
                heading: "published training, up to %",
                digits: 0,
                of: |cell| {
                    let is = |kind: &str| kind == cell.axis("kind");
                    let most = published::clustered().any(is).then_some(20.0);
                    most.or_else(|| published::unclustered().any(is).then_some(80.0))
                },
            }],
        },
    ],
};

const SHARE_CLUSTERED: Published = Published {
    name: "clustered kinds, at most",
    source: "text of section 5.4: with entries of 16 bytes up to 20 % of compaction for data-clustered and as high \
             as 80 % for data-unclustered indexes. 50M Facebook keys into 50M, i9-13900K, NVMe SSD.",
    of: |cell| MODELS.contains(&cell.axis("kind")).then_some(20.0),
    also: &[],
};

const SHARE_UNCLUSTERED: Published = Published {
    name: "unclustered kinds, at most",
    of: |cell| {
        let published = ["alex", "lipp", "dili", "lits"];
        published.contains(&cell.axis("kind")).then_some(80.0)
    },
    ..SHARE_CLUSTERED
};

const UNIFORM: Only = &[("set", "ycsb-uniform")];
const ZIPF_09: Only = &[("set", "ycsb-zipf0.9")];
const ZIPF_099: Only = &[("set", "ycsb-zipf0.99")];

/// A time over the length of ranges.
const fn over_length(title: &'static str, only: Only, y: Measure) -> View {
    let x = Along::Names {
        axis: "length",
        label: "entries of the range",
    };
    let chart = Chart::new(
        title,
        only,
        x,
        Measure { log: true, ..y },
        "kind",
        Marks::Line,
    );
    View::Chart(chart.split(Split::Classes))
}

/// The ratio of a time to that of the kind without a model, for each length: the times of all kinds
/// lie on one line.
const fn over_tree(title: &'static str, only: Only, metric: &'static str) -> View {
    View::Ratios {
        title,
        only,
        columns: Across::Axis("length", "entries of the range", metric),
        rows: ("kind", "kind"),
        over: &[("kind", "btree"), ("boundary", ANY), ("arm", "exact")],
        label: "time over that of the B+-tree",
    }
}

/// Ranges of the kinds that read only the first entry to find it: unclustered kinds, and clustered
/// kinds with mapped keys retained.
fn one_entry_ranges(amounts: &Amounts, set: &str) -> Result<Vec<Planned>> {
    let retained = MODELS.map(|kind| (kind, Arm::Retained));
    let unclustered = UNCLUSTERED.map(|kind| (kind, Arm::Exact));
    let mut cells = Vec::new();
    for (kind, arm) in retained.into_iter().chain(unclustered) {
        for length in LENGTHS {
            let point = Point {
                amounts,
                data: long(set, amounts),
                kind,
                boundary: 8,
                arm,
            };
            cells.push(point.plan(Work::Ranges(length, Reading::Cached))?);
        }
    }
    Ok(cells)
}

pub const FIGURE_13: Experiment = Experiment {
    id: "E-F13",
    paper: "EDBT, Figure 13",
    title: "Ranges of unclustered kinds over skewed keys",
    shows: "Seek and scan of ALEX, LIPP, DILI and LITS over the Zipf sets.",
    method: "As E-F12 (A) and (B), over the Zipf sets.",
    cells: |amounts| {
        let mut cells = one_entry_ranges(amounts, LONG_SETS[1])?;
        cells.extend(one_entry_ranges(amounts, LONG_SETS[2])?);
        Ok(cells)
    },
    views: &[
        over_length("Zipf 0.9: seek", ZIPF_09, SEEK),
        over_length("Zipf 0.9: scan", ZIPF_09, SCAN),
        over_tree(
            "Zipf 0.9: seek over that of the B+-tree",
            ZIPF_09,
            "seek_mean",
        ),
        over_tree(
            "Zipf 0.9: scan over that of the B+-tree",
            ZIPF_09,
            "scan_mean",
        ),
        over_length("Zipf 0.99: seek", ZIPF_099, SEEK),
        over_length("Zipf 0.99: scan", ZIPF_099, SCAN),
        over_tree(
            "Zipf 0.99: seek over that of the B+-tree",
            ZIPF_099,
            "seek_mean",
        ),
        over_tree(
            "Zipf 0.99: scan over that of the B+-tree",
            ZIPF_099,
            "scan_mean",
        ),
    ],
};
