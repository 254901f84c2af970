//! *Evaluating Learned Indexes in LSM-tree Systems* (EDBT): its figures and tables for the
//! data-clustered and the data-unclustered kinds. Figures have the numbers of their captions.

mod building;
mod data;
mod granularity;
mod mixed;
mod points;
mod ranges;
mod settings;

use rhumb::{IndexSpec, TableSpec};

use super::arms::{ANY, Arm, FENCES, MODELS, UNCLUSTERED, bounded, kinds};
use super::figures::{
    Across, Against, Along, Chart, Column, How, Measure, Only, Published, Split, Stated, View,
    column,
};
use super::{Amounts, Build, Data, Experiment, Fill, Paper, Phase, Planned, Reading, Work};
use crate::error::Result;
use crate::report::model::Marks;
use crate::results::Axes;
use crate::store::{Settings, System};

pub use granularity::{LEVEL_JOINED, LEVEL_TRAINED};

/// The paper with its experiments.
pub const PAPER: Paper = Paper {
    title: "Evaluating Learned Indexes in LSM-tree Systems (EDBT)",
    experiments: ALL,
};

/// The mean latency of a get.
const LATENCY: Measure = Measure {
    metric: "get_mean",
    label: "latency of a get",
    unit: "us",
    divisor: 1e3,
    log: false,
};

/// The memory of index, key map and directory.
const MEMORY: Measure = Measure {
    metric: "memory_bytes",
    label: "index, key map and directory",
    unit: "KiB",
    divisor: 1024.0,
    log: true,
};

/// A measure over the position boundary, a chart for each class of kinds.
const fn over_boundary(title: &'static str, only: Only, y: Measure) -> View {
    let chart = Chart::new(title, only, BY_BOUNDARY, y, "kind", Marks::Line);
    View::Chart(chart.split(Split::Classes))
}

/// Memory against latency, a chart for each class of kinds.
const fn trade_off(title: &'static str, only: Only, beside: &'static str) -> View {
    let x = Along::Measure {
        measure: MEMORY,
        beside,
    };
    let chart = Chart::new(title, only, x, LATENCY, "kind", Marks::Scatter);
    View::Chart(chart.split(Split::Classes))
}

const BY_KIND: Along = Along::Names {
    axis: "kind",
    label: "kind",
};

const BY_BOUNDARY: Along = Along::Names {
    axis: "boundary",
    label: "position boundary",
};

/// The YCSB sets of 24-byte keys and 1000-byte values.
const LONG_SETS: [&str; 3] = ["ycsb-uniform", "ycsb-zipf0.9", "ycsb-zipf0.99"];

/// Look-alikes of the real sets of 8-byte keys and 8-byte values. They follow the published
/// distributions (uniform ids with outliers, clusters, bursts) and are fitted to no published figure.
const SHORT_SETS: [&str; 3] = ["fb", "osm", "wiki"];

/// Records from which on all long sets are read from a limited page cache too. With fewer, only the
/// first is: such reads come from the device, and would take most of the time of a run.
const FEWEST_LIMITED: usize = 100_000;

/// Whether a long set is also read from a limited page cache.
fn is_limited(set: &str, amounts: &Amounts) -> bool {
    set == LONG_SETS[0] || amounts.long >= FEWEST_LIMITED
}

/// The boundary of the experiments that fix it.
const BOUNDARY: u32 = 16;

/// All experiments, in the order of the paper.
const ALL: &[Experiment] = &[
    settings::ENVIRONMENT,
    settings::PARAMETERS,
    data::TABLE_1,
    data::FIGURE_6,
    points::FIGURE_7,
    points::FIGURE_8,
    ranges::FIGURE_9,
    ranges::FIGURE_10,
    ranges::FIGURE_11,
    ranges::FIGURE_12,
    ranges::FIGURE_13,
    building::FIGURE_14,
    granularity::FIGURE_15,
    mixed::FIGURE_16,
    building::FIGURE_17,
    points::TABLE_2,
];

/// A set of long records.
fn long(set: &str, amounts: &Amounts) -> Data {
    Data::new(set, amounts.long)
}

/// A set of short records.
fn short(set: &str, amounts: &Amounts) -> Data {
    Data::new(set, amounts.short)
}

/// Gets from the page cache over uniform YCSB keys, in tables with these specifications.
fn uniform_gets(amounts: &Amounts, axes: Axes, (index, table): (IndexSpec, TableSpec)) -> Planned {
    Planned {
        axes,
        data: long(LONG_SETS[0], amounts),
        build: Some(build(amounts, index, table)),
        work: Work::Points(Reading::Cached),
    }
}

/// All records in our own store by the published protocol.
fn build(amounts: &Amounts, index: IndexSpec, table: TableSpec) -> Build {
    Build {
        system: System::Rhumb(Settings {
            index,
            table,
            ..amounts.settings()
        }),
        fill: Fill::All,
    }
}

/// A cell over a store of a kind.
struct Point<'a> {
    amounts: &'a Amounts,
    data: Data,
    kind: &'a str,
    boundary: u32,
    arm: Arm,
}

impl<'a> Point<'a> {
    /// A kind at the boundary of the experiments that fix it, in the arm that the paper measures.
    fn fixed(amounts: &'a Amounts, data: Data, kind: &'a str) -> Self {
        Point {
            amounts,
            data,
            kind,
            boundary: BOUNDARY,
            arm: Arm::of(kind),
        }
    }

    /// Its build, with tables of the scale's size.
    fn build(&self) -> Result<Build> {
        let (index, table) = self
            .arm
            .specs(self.kind, self.boundary, self.amounts.table_bytes)?;
        Ok(build(self.amounts, index, table))
    }

    /// The cell, with the usual axes.
    fn plan(&self, work: Work) -> Result<Planned> {
        let mut axes = vec![
            ("set", self.data.set.clone()),
            ("kind", self.kind.to_string()),
            ("boundary", self.arm.boundary(self.boundary)),
            ("arm", self.arm.name().to_string()),
        ];
        match work {
            Work::Points(reading) => axes.push(("reading", reading.name().to_string())),
            Work::Ranges(length, reading) => {
                axes.push(("length", length.to_string()));
                axes.push(("reading", reading.name().to_string()));
            }
            _ => {}
        }
        Ok(Planned {
            axes,
            data: self.data.clone(),
            build: Some(self.build()?),
            work,
        })
    }
}
