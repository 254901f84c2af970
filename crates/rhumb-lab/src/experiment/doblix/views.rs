//! Views that the experiments share.

use super::{Along, Chart, Column, Measure, Only, View, column};
use crate::report::model::Marks;

/// An axis, and what it is called in figures.
pub type Axis = (&'static str, &'static str);

/// Operations a second of the workload.
pub const RATE: Measure = Measure {
    metric: "mix_rate",
    label: "throughput",
    unit: "1000/s",
    divisor: 1e3,
    log: false,
};

/// The published latency.
pub const FAST: Measure = Measure {
    metric: "mix_mean_below_p99",
    label: "mean within p99",
    unit: "us",
    ..RATE
};

/// The published tail latency.
pub const SLOW: Measure = Measure {
    metric: "mix_slowest_5_mean",
    label: "mean of the slowest 5 %",
    ..FAST
};

/// A figure of each system along an axis.
pub const fn bars(title: &'static str, only: Only, (axis, label): Axis, y: Measure) -> Chart {
    let x = Along::Names { axis, label };
    Chart::new(title, only, x, y, "system", Marks::Bar)
}

/// All figures of the cells by some axes.
pub const fn table(
    title: &'static str,
    only: Only,
    axes: &'static [(&'static str, &'static str)],
) -> View {
    View::Table {
        title,
        only,
        axes,
        columns: COLUMNS,
        published: &[],
    }
}

const COLUMNS: &[Column] = &[
    column("mix_rate", "all, 1000/s", 1e3, 1),
    column("mix_mean_below_p99", "within p99, us", 1e3, 2),
    column("mix_slowest_5_mean", "slowest 5 %, us", 1e3, 2),
    column("mix_read_mean_below_p99", "reads within p99, us", 1e3, 2),
    column("mix_read_slowest_5_mean", "slowest 5 %, us", 1e3, 2),
    column("mix_cpu", "CPU, us/operation", 1.0, 2),
    column("mix_probe_blocks", "blocks a table searched", 1.0, 4),
    column("mix_probe_bytes", "bytes a table searched", 1.0, 0),
];
