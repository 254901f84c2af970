//! Point look-ups.

use super::{
    Against, Amounts, Arm, BY_BOUNDARY, BY_KIND, Chart, Column, Experiment, How, LATENCY,
    LONG_SETS, MEMORY, MODELS, Measure, Only, Planned, Point, Published, Reading, SHORT_SETS,
    Split, Stated, UNCLUSTERED, View, Work, bounded, is_limited, kinds, long, over_boundary, short,
    trade_off,
};
use crate::claims::published::{self, RealKeys, bytes_a_key};
use crate::error::Result;
use crate::report::model::Marks;
use crate::results::Cell;

pub const FIGURE_7: Experiment = Experiment {
    id: "E-F7",
    paper: "EDBT, Figure 7",
    title: "Latency and memory over the position boundary",
    shows: "Latency of point look-ups (bars, with deviations) and memory of the indexes (lines) over the \
            position boundary, for three sets; and both against each other, also with mapped keys retained.",
    method: "Gets of random present keys. `window`: exactly the entries of the window are read, as \
             published, all kinds from the same layout; those that the search touches are verified. \
             rmi has as many leaves as windows within the boundary need for 99 % of the keys. Error bars go from \
             the smallest round to the largest. `blocks`: whole blocks of 4 KiB. `placed`: blocks cut by the model, \
             rhumb's default. `retained`: mapped keys in memory, one entry is read. \
             `error bound`: boundary 8 read as the bound of the error, which makes windows of 18 entries. `exact`: unclustered kinds and \
             the B+-tree, which have no boundary (`any`): one entry is read. Memory is the memory in \
             use by index, key map and directory. Reads come from a page cache that holds everything, and \
             from one of 70 % of the data, as published (at boundaries 128, 16 and 8; at scale quick on the uniform set \
             alone), by which claims are judged where a control group is permitted; on the uniform set also \
             from the device.",
    cells: boundaries,
    views: &[
        over_boundary("(A) uniform: latency", UNIFORM.0, LATENCY),
        memory("(A) uniform: memory", UNIFORM.0),
        trade_off(
            "(B) uniform: memory against latency, boundaries beside the points",
            UNIFORM.0,
            "boundary",
        ),
        trade_off(
            "(C) uniform: mapped keys retained and unclustered kinds, one entry read",
            UNIFORM.1,
            "boundary",
        ),
        View::Chart(SAVED),
        View::Chart(ONE_ENTRY),
        over_boundary("(D) Zipf 0.9: latency", ZIPF_09.0, LATENCY),
        memory("(D) Zipf 0.9: memory", ZIPF_09.0),
        trade_off(
            "(E) Zipf 0.9: memory against latency, boundaries beside the points",
            ZIPF_09.0,
            "boundary",
        ),
        trade_off(
            "(F) Zipf 0.9: mapped keys retained and unclustered kinds, one entry read",
            ZIPF_09.1,
            "boundary",
        ),
        over_boundary("(G) Zipf 0.99: latency", ZIPF_099.0, LATENCY),
        memory("(G) Zipf 0.99: memory", ZIPF_099.0),
        trade_off(
            "(H) Zipf 0.99: memory against latency, boundaries beside the points",
            ZIPF_099.0,
            "boundary",
        ),
        trade_off(
            "(I) Zipf 0.99: mapped keys retained and unclustered kinds, one entry read",
            ZIPF_099.1,
            "boundary",
        ),
        over_boundary(
            "uniform, a page cache of 70 % of the data: latency",
            &[
                ("set", "ycsb-uniform"),
                ("arm", "window|exact"),
                ("reading", "page cache of 70 %"),
            ],
            LATENCY,
        ),
        over_boundary(
            "Zipf 0.9, a page cache of 70 % of the data: latency",
            &[
                ("set", "ycsb-zipf0.9"),
                ("arm", "window|exact"),
                ("reading", "page cache of 70 %"),
            ],
            LATENCY,
        ),
        over_boundary(
            "Zipf 0.99, a page cache of 70 % of the data: latency",
            &[
                ("set", "ycsb-zipf0.99"),
                ("arm", "window|exact"),
                ("reading", "page cache of 70 %"),
            ],
            LATENCY,
        ),
        trade_off(
            "uniform, a page cache of 70 % of the data: one entry read",
            &[
                ("set", "ycsb-uniform"),
                ("arm", "retained|exact"),
                ("reading", "page cache of 70 %"),
            ],
            "boundary",
        ),
        over_boundary(
            "uniform, from the device: latency",
            &[("reading", "device")],
            LATENCY,
        ),
        over_boundary(
            "uniform, whole blocks of 4 KiB: latency",
            &[("arm", "blocks")],
            LATENCY,
        ),
        over_boundary(
            "uniform, blocks cut by the model (rhumb): latency",
            &[("arm", "placed")],
            LATENCY,
        ),
        over_boundary(
            "uniform: bytes read by a get",
            UNIFORM.0,
            Measure {
                metric: "get_bytes_read",
                label: "bytes read",
                unit: "KiB/get",
                divisor: 1024.0,
                log: true,
            },
        ),
    ],
};

/// The cells of a set that read exact windows, and those that read one entry by mapped keys.
const UNIFORM: (Only, Only) = (
    &[
        ("set", "ycsb-uniform"),
        ("arm", "window|exact"),
        ("reading", "page cache"),
    ],
    &[
        ("set", "ycsb-uniform"),
        ("arm", "retained|exact"),
        ("reading", "page cache"),
    ],
);

const ZIPF_09: (Only, Only) = (
    &[
        ("set", "ycsb-zipf0.9"),
        ("arm", "window|exact"),
        ("reading", "page cache"),
    ],
    &[
        ("set", "ycsb-zipf0.9"),
        ("arm", "retained|exact"),
        ("reading", "page cache"),
    ],
);

const ZIPF_099: (Only, Only) = (
    &[
        ("set", "ycsb-zipf0.99"),
        ("arm", "window|exact"),
        ("reading", "page cache"),
    ],
    &[
        ("set", "ycsb-zipf0.99"),
        ("arm", "retained|exact"),
        ("reading", "page cache"),
    ],
);

/// Memory over the boundary, beside the least that the paper states.
const fn memory(title: &'static str, only: Only) -> View {
    let chart = Chart::new(title, only, BY_BOUNDARY, MEMORY, "kind", Marks::Line);
    View::Chart(chart.beside(&[LEAST_MEMORY]).split(Split::Classes))
}

const LEAST_MEMORY: Published = Published {
    name: "unclustered kinds, at least",
    source: "text of section 5.1: at least 2 GiB for the mapped keys of ALEX, LIPP, DILI and LITS. 104,857,600 YCSB \
             keys; here for as many keys as ours.",
    of: |cell| {
        let of = ["alex", "lipp", "dili", "lits"].contains(&cell.axis("kind"));
        let published = (2u64 << 30) as f64 / published::LONG_ENTRIES as f64;
        of.then_some(published * cell.records as f64 / MEMORY.divisor)
    },
    also: &[],
};

/// The published changes of latency are differences: they are comparable, where latencies of another
/// device are not.
const SAVED: Chart = Chart::new(
    "uniform: latency minus that at boundary 16",
    &[
        ("set", "ycsb-uniform"),
        ("arm", "window"),
        ("reading", "page cache"),
    ],
    BY_BOUNDARY,
    Measure {
        label: "latency minus that at boundary 16",
        ..LATENCY
    },
    "kind",
    Marks::Line,
)
.against(Against {
    cell: &[("boundary", "16")],
    how: How::Difference,
})
.beside(&[Published {
    name: "YCSB sets",
    source: "text of section 5.1: from boundary 128 to 16 latency falls by nearly 10 us. 100 GiB of YCSB keys, \
             i9-13900K, NVMe SSD, page cache of 75 GB.",
    of: |cell| match cell.axis("boundary") {
        "128" => Some(10.0),
        "16" => Some(0.0),
        _ => None,
    },
    also: &[],
}])
.split(Split::Classes);

const ONE_ENTRY: Chart = Chart::new(
    "uniform: latency with one entry read, by mapped keys retained, minus that at boundary 16",
    &[
        ("set", "ycsb-uniform"),
        ("arm", "retained"),
        ("reading", "page cache"),
    ],
    BY_KIND,
    Measure {
        label: "latency minus that at boundary 16",
        ..LATENCY
    },
    "kind",
    Marks::Bar,
)
.against(Against {
    cell: &[("arm", "window"), ("boundary", "16")],
    how: How::Difference,
})
.beside(&[Published {
    name: "YCSB sets",
    source: "text of section 5.1: 16 entries take only about 2 us longer than a single entry. 100 GiB of YCSB \
             keys, i9-13900K, NVMe SSD, page cache of 75 GB.",
    of: |_| Some(-2.0),
    also: &[],
}]);

/// The boundaries that claims compare under a limited page cache.
const COMPARED: [u32; 3] = [128, 16, 8];

fn boundaries(amounts: &Amounts) -> Result<Vec<Planned>> {
    let mut cells = Vec::new();
    for (number, set) in LONG_SETS.iter().enumerate() {
        let mut plan = |kind: &str, boundary: u32, arm: Arm, readings: &[Reading]| -> Result<()> {
            let data = long(set, amounts);
            let point = Point {
                amounts,
                data,
                kind,
                boundary,
                arm,
            };
            for reading in readings {
                cells.push(point.plan(Work::Points(*reading))?);
            }
            Ok(())
        };
        let uniform = number == 0;
        let mut compared = vec![Reading::Cached];
        if is_limited(set, amounts) {
            compared.push(Reading::Limited);
        }
        let readings: &[Reading] = match uniform {
            true => &[Reading::Cached, Reading::Direct],
            false => &[Reading::Cached],
        };
        for boundary in amounts.boundaries {
            for kind in bounded() {
                plan(kind, *boundary, Arm::Window, readings)?;
            }
            for kind in MODELS.iter().filter(|_| COMPARED.contains(boundary)) {
                plan(kind, *boundary, Arm::Window, &compared[1..])?;
            }
            for kind in MODELS.iter().filter(|_| uniform) {
                plan(kind, *boundary, Arm::Blocks, &[Reading::Cached])?;
            }
            for kind in ["plr", "pgm"].iter().filter(|_| uniform) {
                plan(kind, *boundary, Arm::Placed, &[Reading::Cached])?;
            }
        }
        for kind in MODELS {
            plan(kind, 8, Arm::Retained, &compared)?;
            plan(kind, 8, Arm::ErrorBound, &compared)?;
        }
        for kind in UNCLUSTERED {
            plan(kind, 1, Arm::Exact, readings)?;
            plan(kind, 1, Arm::Exact, &compared[1..])?;
        }
        for kind in super::FENCES.iter().filter(|_| uniform) {
            plan(kind, 8, Arm::Blocks, &[Reading::Cached])?;
            for boundary in COMPARED {
                plan(kind, boundary, Arm::Window, &compared[1..])?;
            }
        }
    }
    Ok(cells)
}

pub const FIGURE_8: Experiment = Experiment {
    id: "E-F8",
    paper: "EDBT, Figure 8",
    title: "Real keys, and the parts of a look-up's time",
    shows: "Latency and index size of every kind on the Facebook, OSM and Wikipedia sets at boundary 16 \
            (table); the parts of a look-up (bars).",
    method: "Look-alikes of the sets (`fb`: uniform ids with outliers, `osm`: clusters, `wiki`: bursts), \
             entries of 8 + 8 bytes, exact windows from the page cache: an entry and its checksum take 20 bytes. \
             Unclustered kinds and the B+-tree (boundary `any`) read one entry. The published LIPP and \
             DILI failed on OSM; here no cell is empty. The parts of a get, over uniform YCSB keys at the same \
             boundary, are timed by a get that reads the clock between them.",
    cells: real_keys,
    views: &[
        View::Chart(REAL_LATENCY),
        View::Chart(REAL_INDEX),
        real("Facebook look-alike", &[("set", "fb")]),
        real("OSM look-alike", &[("set", "osm")]),
        real("Wikipedia look-alike", &[("set", "wiki")]),
        View::Parts {
            title: "Parts of a look-up among uniform YCSB keys, boundary 16",
            only: &[("set", "ycsb-uniform")],
            along: "kind",
            label: "time of a get",
            unit: "us",
            divisor: 1e3,
            parts: &[
                ("part_filter", "levels and filters"),
                ("part_predict", "prediction"),
                ("part_read", "reading"),
                ("part_search", "verifying and searching"),
            ],
        },
    ],
};

const INDEX: Measure = Measure {
    metric: "index_bytes_a_key",
    label: "index",
    unit: "B/key",
    divisor: 1.0,
    log: true,
};

const REAL: Only = &[("set", "fb|osm|wiki")];

const TABLE_OF_8: &str = "the table of Figure 8. 200M Facebook, 800M OSM and 200M Wikipedia keys, i9-13900K, NVMe \
                          SSD; the sizes of fence pointers are a formula.";

const REAL_LATENCY: Chart = Chart::new(
    "Latency of a get",
    REAL,
    BY_KIND,
    LATENCY,
    "kind",
    Marks::Bar,
)
.beside(&[Published {
    name: "",
    source: TABLE_OF_8,
    of: |cell| Some(real_keys_of(cell)?.latency),
    also: &[],
}])
.split(Split::By("set"));

const REAL_INDEX: Chart = Chart::new(
    "Index for each key",
    REAL,
    BY_KIND,
    INDEX,
    "kind",
    Marks::Bar,
)
.beside(&[Published {
    name: "",
    source: TABLE_OF_8,
    of: |cell| bytes_a_key(cell.axis("kind"), cell.axis("set")),
    also: &[],
}])
.split(Split::By("set"));

const fn real(title: &'static str, only: Only) -> View {
    View::Table {
        title,
        only,
        axes: &[("kind", "kind")],
        columns: &[
            Column {
                metric: "get_mean",
                heading: "latency us",
                divisor: 1e3,
                digits: 2,
            },
            Column {
                metric: "index_bytes",
                heading: "index KiB",
                divisor: 1024.0,
                digits: 1,
            },
            Column {
                metric: "index_bytes_a_key",
                heading: "index B/key",
                divisor: 1.0,
                digits: 3,
            },
            Column {
                metric: "memory_bytes",
                heading: "with map and directory KiB",
                divisor: 1024.0,
                digits: 1,
            },
            Column {
                metric: "get_bytes_read",
                heading: "read B/get",
                divisor: 1.0,
                digits: 0,
            },
            Column {
                metric: "fallback_share",
                heading: "fell back to fp, % of tables",
                divisor: 0.01,
                digits: 0,
            },
        ],
        published: &[
            Stated {
                heading: "published latency us",
                digits: 2,
                of: |cell| Some(real_keys_of(cell)?.latency),
            },
            Stated {
                heading: "published B/key",
                digits: 3,
                of: |cell| bytes_a_key(cell.axis("kind"), cell.axis("set")),
            },
        ],
    }
}

fn real_keys_of(cell: &Cell) -> Option<RealKeys> {
    published::real_keys(cell.axis("kind"), cell.axis("set"))
}

fn real_keys(amounts: &Amounts) -> Result<Vec<Planned>> {
    let mut cells = Vec::new();
    for set in SHORT_SETS {
        for kind in kinds() {
            let point = Point::fixed(amounts, short(set, amounts), kind);
            cells.push(point.plan(Work::Points(Reading::Cached))?);
        }
    }
    for kind in kinds() {
        let point = Point::fixed(amounts, long(LONG_SETS[0], amounts), kind);
        cells.push(point.plan(Work::Breakdown)?);
    }
    Ok(cells)
}

pub const TABLE_2: Experiment = Experiment {
    id: "E-T2",
    paper: "EDBT, Table 2",
    title: "The suitability matrix",
    shows: "Which kinds are efficient, have issues, or have severe limits in memory, key look-up, rebuilding \
            and seeking.",
    method: "Derived from our measurements of E-F7, E-F8, E-F9 and E-F12; nothing is measured for it \
             alone.",
    cells: |_| Ok(Vec::new()),
    views: &[],
};
