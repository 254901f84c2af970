//! Sizes of keys and values.

use super::arms::{Cells, FEW, OVER_VALUES, is_brief};
use super::mixes::mix;
use super::views::{RATE, bars, table};
use super::{
    Along, Amounts, Chart, Data, Experiment, Fill, Measure, Only, Phase, Planned, Result, Split,
    View, Work,
};
use crate::claims::doblix::published::KEY;
use crate::data::Prefixes;
use crate::report::model::Marks;
use crate::results::Axes;

pub const FIGURE_13: Experiment = Experiment {
    id: "D-F13",
    paper: "DobLIX, Figure 13",
    title: "Sizes of keys and values",
    shows: "The throughput of reads over OSM with longer keys (a, without Bourbon, which has keys of 8 bytes alone) and with values up to \
            4 KB (b), and over entries with the sizes of three applications, UDB, ZippyDB and UP2X (c, beside RocksDB alone).",
    method: "The protocol of D-ENV, reads alone by Zipf. The published sizes of keys are not named. Longer keys are those of 8 bytes \
             behind one prefix, or behind one of 1,000 prefixes each; their systems are those for strings. Where the model of \
             rhumb does not fit, its tables have fence pointers. Stores of other \
             sizes of values have as many bytes of entries. Blocks of `tridentkv` hold as many entries as take 4 KiB, so that it has no form \
             for the applications, whose entries differ in size. `bourbon-log` has all values apart from keys, as Bourbon has. Entries of applications are decimal digits with the published means and \
             deviations of sizes; `paths` are those of the built-in slice, with their packages. At `quick` two sizes of keys and of values.",
    cells: over_sizes,
    views: &[
        numbers(
            "Sizes of keys",
            &[("part", "keys")],
            ("size", "bytes of a key"),
        ),
        numbers(
            "Sizes of values",
            &[("part", "values")],
            ("size", "bytes of a value"),
        ),
        View::Chart(bars(
            "Sizes of applications",
            &[("part", "applications")],
            ("size", "entries"),
            RATE,
        )),
        table(
            "All figures",
            &[],
            &[
                ("part", "sizes of"),
                ("size", "size"),
                ("prefixes", "prefixes"),
                ("system", "system"),
            ],
        ),
    ],
};

const fn numbers(
    title: &'static str,
    only: Only,
    (axis, label): (&'static str, &'static str),
) -> View {
    let x = Along::Numbers {
        axis,
        label,
        unit: "B",
        divisor: 1.0,
    };
    let rate = Measure { log: false, ..RATE };
    View::Chart(
        Chart::new(title, only, x, rate, "system", Marks::Line).split(Split::By("prefixes")),
    )
}

const READS: &[Phase] = &mix("read=100,zipfian");

/// Bytes of a value.
const VALUE: usize = 64;

/// Longer keys and other values. The smallest scale has the last point of each axis.
const KEYS: [usize; 4] = [16, 32, 128, 64];
const VALUES: [usize; 4] = [16, 256, 1_024, 4_096];
const PREFIXES: [u32; 2] = [1, 1_000];
const APPLICATIONS: [&str; 4] = ["paths", "udb", "zippydb", "up2x"];

/// A set of keys and values by its place in the figure.
struct Sized {
    part: &'static str,
    size: String,
    prefixes: u32,
    data: Data,
}

impl Sized {
    fn axes(&self) -> Axes {
        let prefixes = match self.prefixes {
            1 => "one prefix",
            _ => "1,000 prefixes",
        };
        vec![
            ("part", self.part.to_string()),
            ("size", self.size.clone()),
            ("prefixes", prefixes.to_string()),
        ]
    }
}

/// Numbers of 8 bytes, behind prefixes if a key has more.
pub fn keys_of(set: &str, bytes: usize, count: u32, records: usize) -> Data {
    Data {
        prefixes: (bytes > KEY).then_some(Prefixes {
            bytes: bytes.saturating_sub(KEY),
            count,
        }),
        ..Data::new(set, records).with_values(VALUE)
    }
}

fn sets(amounts: &Amounts) -> Vec<Sized> {
    let records = amounts.uncached.records;
    let first = |all: usize| if is_brief(amounts) { all - 1 } else { 0 };
    let of_keys = |bytes: usize, count: u32| Sized {
        part: "keys",
        size: bytes.to_string(),
        prefixes: count,
        data: keys_of("osm-like", bytes, count, records),
    };
    let mut sets: Vec<Sized> = PREFIXES.map(|count| of_keys(KEY, count)).into();
    for bytes in &KEYS[first(KEYS.len())..] {
        sets.extend(PREFIXES.map(|count| of_keys(*bytes, count)));
    }
    for bytes in [VALUE].iter().chain(&VALUES[first(VALUES.len())..]) {
        let equal = records * (KEY + VALUE) / (KEY + bytes);
        sets.push(Sized {
            part: "values",
            size: bytes.to_string(),
            prefixes: 1,
            data: Data::new("osm-like", equal).with_values(*bytes),
        });
    }
    for set in APPLICATIONS {
        sets.push(Sized {
            part: "applications",
            size: set.to_string(),
            prefixes: 1,
            data: Data::new(set, records),
        });
    }
    sets
}

fn over_sizes(amounts: &Amounts) -> Result<Vec<Planned>> {
    let mut cells = Vec::new();
    for set in sets(amounts) {
        let of_set = Cells {
            systems: match set.part {
                "values" => OVER_VALUES,
                _ => FEW,
            },
            are_texts: set.part == "applications" || set.data.prefixes.is_some(),
            axes: set.axes(),
            data: set.data,
            fill: Fill::All,
            settings: "",
            work: Work::Phases(READS),
        };
        cells.extend(of_set.planned(amounts)?);
    }
    Ok(cells)
}
