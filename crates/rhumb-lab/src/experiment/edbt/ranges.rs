//! Range look-ups, keys of variable length, and small entries.

use super::building::{building, loading};
use super::{
    Along, Amounts, Arm, BY_BOUNDARY, Chart, Data, Experiment, LATENCY, LONG_SETS, MODELS, Measure,
    Only, Planned, Point, UNCLUSTERED, View, Work, bounded, long,
};
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
                      published segments. Fewer of the longer ranges are read.";

const RANGES: &[View] = &[
    View::Chart(Chart {
        title: "(A) seek",
        only: &[("length", "10")],
        x: BY_BOUNDARY,
        y: SEEK,
        y2: None,
        series: "kind",
        marks: Marks::Line,
    }),
    scans(
        "(B) scan of 10: segments (bars), time (lines)",
        &[("length", "10")],
    ),
    scans(
        "(C) scan of 100: segments (bars), time (lines)",
        &[("length", "100")],
    ),
    scans(
        "(D) scan of 1,000: segments (bars), time (lines)",
        &[("length", "1000")],
    ),
];

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
    View::Chart(Chart {
        title,
        only,
        x: BY_BOUNDARY,
        y: Measure {
            metric: "range_read_calls",
            label: "segments read",
            unit: "calls/range",
            divisor: 1.0,
            log: false,
        },
        y2: Some(SCAN),
        series: "kind",
        marks: Marks::Bar,
    })
}

/// Entries of a range.
const LENGTHS: [usize; 3] = [10, 100, 1_000];

fn ranges(amounts: &Amounts, set: &str) -> Result<Vec<Planned>> {
    let mut cells = Vec::new();
    for boundary in amounts.boundaries {
        for kind in bounded() {
            for length in LENGTHS {
                let point = Point {
                    amounts,
                    data: long(set, amounts),
                    kind,
                    boundary: *boundary,
                    arm: Arm::Window,
                };
                cells.push(point.plan(Work::Ranges(length))?);
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
        View::Chart(Chart {
            title: "(C) gets among keys of 8 to 24 bytes",
            only: &[("set", "ycsb-var")],
            x: Along::Names {
                axis: "kind",
                label: "kind",
            },
            y: LATENCY,
            y2: None,
            series: "kind",
            marks: Marks::Bar,
        }),
        building("(D) compaction of 8 + 8 bytes", &[("set", "fb")]),
    ],
};

const UNIFORM: Only = &[("set", "ycsb-uniform")];

/// A time over the length of ranges.
const fn over_length(title: &'static str, only: Only, y: Measure) -> View {
    View::Chart(Chart {
        title,
        only,
        x: Along::Names {
            axis: "length",
            label: "entries of the range",
        },
        y: Measure { log: true, ..y },
        y2: None,
        series: "kind",
        marks: Marks::Line,
    })
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
            cells.push(point.plan(Work::Ranges(length))?);
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
        over_length("Zipf 0.9: seek", &[("set", "ycsb-zipf0.9")], SEEK),
        over_length("Zipf 0.9: scan", &[("set", "ycsb-zipf0.9")], SCAN),
        over_length("Zipf 0.99: seek", &[("set", "ycsb-zipf0.99")], SEEK),
        over_length("Zipf 0.99: scan", &[("set", "ycsb-zipf0.99")], SCAN),
    ],
};
