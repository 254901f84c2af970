//! The amount of data that one index covers.

use rhumb::Granularity;

use super::{
    ANY, Along, Amounts, Arm, BOUNDARY, Chart, Experiment, LATENCY, MEMORY, Measure, Only, Planned,
    Split, System, UNCLUSTERED, View, bounded, uniform_gets,
};
use crate::error::Result;
use crate::report::model::Marks;

pub const FIGURE_15: Experiment = Experiment {
    id: "E-F15",
    paper: "EDBT, Figure 15",
    title: "Latency and memory over the size of tables",
    shows: "Latency of look-ups and memory of the indexes for tables of 8 to 128 MB and one index for each level, at \
            boundaries 128 to 16; ALEX, LIPP, DILI and LITS too. The text has two numbers: latency changes by only a \
            few us, and memory falls more than 10 times from tables of 8 MB to one index for each level.",
    method: "Uniform YCSB keys, exact windows from the page cache; unclustered kinds read one entry. Sizes of tables \
             are scaled down with the data. One index for each level stands over the smallest tables: `trained` on all its \
             keys, as published, or `joined` from models of tables with boundary 8, 16 tables at a time, without reading a \
             key. The shape of the levels is the same for all.",
    cells: sizes,
    views: &[
        over_size("Latency, boundary 128", &[("boundary", "128")], LATENCY),
        over_size("Latency, boundary 32", &[("boundary", "32")], LATENCY),
        over_size("Latency, boundary 16", &[("boundary", "16")], LATENCY),
        over_size("Latency, unclustered kinds", &[("boundary", ANY)], LATENCY),
        over_size("Memory, boundary 128", &[("boundary", "128")], MEMORY),
        over_size("Memory, boundary 32", &[("boundary", "32")], MEMORY),
        over_size("Memory, boundary 16", &[("boundary", "16")], MEMORY),
        over_size("Memory, unclustered kinds", &[("boundary", ANY)], MEMORY),
        over_granularity("Memory by what an index covers", MEMORY),
        over_granularity("Latency by what an index covers", LATENCY),
    ],
};

/// A measure over the size of tables, a chart for each kind.
const fn over_size(title: &'static str, only: Only, y: Measure) -> View {
    let x = Along::Numbers {
        axis: "table",
        label: "bytes of a table",
        unit: "MiB",
        divisor: 1_048_576.0,
    };
    let chart = Chart::new(title, only, x, y, "kind", Marks::Line);
    View::Chart(chart.split(Split::By("kind")))
}

/// A measure over what one index covers, a chart for each kind.
const fn over_granularity(title: &'static str, y: Measure) -> View {
    let x = Along::Names {
        axis: "covers",
        label: "an index covers",
    };
    let chart = Chart::new(title, &[], x, y, "boundary", Marks::Bar);
    View::Chart(chart.split(Split::By("kind")))
}

/// The kinds whose models can be joined.
const JOINED: [&str; 5] = ["plr", "fiting-tree", "pgm", "radix-spline", "plex"];

/// The boundary of the tables whose models are joined at a looser one.
const TIGHT: u32 = 8;

/// What an index covers, in results.
pub const LEVEL_JOINED: &str = "level, joined";
pub const LEVEL_TRAINED: &str = "level, trained";

fn sizes(amounts: &Amounts) -> Result<Vec<Planned>> {
    let boundaries = amounts.boundaries.iter().copied();
    let boundaries: Vec<u32> = boundaries.filter(|boundary| *boundary >= 16).collect();
    let bounded = boundaries
        .iter()
        .flat_map(|boundary| bounded().map(|kind| (kind, *boundary)));
    let unclustered = UNCLUSTERED.map(|kind| (kind, BOUNDARY));
    let mut cells = Vec::new();
    for (kind, boundary) in bounded.chain(unclustered) {
        let arm = Arm::of(kind);
        for bytes in amounts.table_sizes {
            let axes = vec![
                ("kind", kind.to_string()),
                ("boundary", arm.boundary(boundary)),
                ("table", bytes.to_string()),
                ("covers", size(bytes)),
            ];
            let specs = arm.specs(kind, boundary, bytes)?;
            cells.push(uniform_gets(amounts, axes, specs));
        }
        cells.extend(levels(amounts, kind, boundary)?);
    }
    Ok(cells)
}

/// One index for each level of a store with the smallest tables.
fn levels(amounts: &Amounts, kind: &str, boundary: u32) -> Result<Vec<Planned>> {
    let joined = Granularity::Joined { boundary };
    let mut levels = vec![(LEVEL_TRAINED, Granularity::Trained, boundary)];
    if JOINED.contains(&kind) {
        levels.push((LEVEL_JOINED, joined, TIGHT));
    }
    let [bytes, ..] = amounts.table_sizes;
    let mut cells = Vec::new();
    for (covers, granularity, boundary_of_tables) in levels {
        let arm = Arm::of(kind);
        let axes = vec![
            ("kind", kind.to_string()),
            ("boundary", arm.boundary(boundary)),
            ("covers", covers.to_string()),
        ];
        let specs = arm.specs(kind, boundary_of_tables, bytes)?;
        let mut cell = uniform_gets(amounts, axes, specs);
        if let Some(System::Rhumb(settings)) = cell.build.as_mut().map(|build| &mut build.system) {
            settings.levels.granularity = granularity;
        }
        cells.push(cell);
    }
    Ok(cells)
}

/// Bytes as text.
fn size(bytes: u64) -> String {
    match bytes >> 20 {
        0 => format!("{} KiB", bytes >> 10),
        mib => format!("{mib} MiB"),
    }
}
