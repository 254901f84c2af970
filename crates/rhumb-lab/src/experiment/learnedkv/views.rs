//! Views that the experiments on value logs share.

use super::{
    Across, Against, Along, Chart, Column, How, Measure, Only, Published, Stated, View, column,
};
use crate::claims::learnedkv::published::{Both, Row, row_of};
use crate::report::model::Marks;
use crate::results::Cell;

/// An axis, and what it is called in figures.
pub type Axis = (&'static str, &'static str);

/// The axis of the mix of reads and writes.
pub const MIX: Axis = ("mix", "reads : writes");

/// Figures over those of another system.
pub const fn ratios(title: &'static str, columns: Across, over: Only, label: &'static str) -> View {
    View::Ratios {
        title,
        only: &[],
        columns,
        rows: ("system", "system"),
        over,
        label,
    }
}

/// A figure at each point of an axis over that of another system.
pub const fn ratios_at(
    title: &'static str,
    (axis, heading): Axis,
    metric: &'static str,
    over: Only,
    label: &'static str,
) -> View {
    ratios(title, Across::Axis(axis, heading, metric), over, label)
}

pub const COMPARED: &[(&str, &str)] = &[
    ("p3_read_throughput", "reads/s"),
    ("p3_update_throughput", "writes/s"),
    ("p3_wall_rate", "operations/s, wall"),
    ("p3_cpu_time", "CPU time"),
    ("p3_written_settled", "bytes written"),
    ("p3_space", "space"),
    ("p3_peak_space", "largest space"),
    ("memory_bytes", "memory"),
];

pub const WRITES: &[(&str, &str)] = &[
    ("p0_insert_throughput", "P0: load"),
    ("p1_update_throughput", "P1"),
    ("p2_update_throughput", "P2"),
    ("p3_update_throughput", "P3"),
];

pub const READS: &[(&str, &str)] = &[
    ("p1_read_throughput", "P1"),
    ("p2_read_throughput", "P2"),
    ("p3_read_throughput", "P3"),
];

pub const fn throughput(
    title: &'static str,
    groups: &'static [(&'static str, &'static str)],
) -> View {
    View::Groups {
        title,
        only: &[],
        series: "system",
        label: "throughput",
        unit: "1000/s",
        divisor: 1e3,
        groups,
    }
}

/// Space over live bytes in all phases.
pub const fn space(title: &'static str, groups: &'static [(&'static str, &'static str)]) -> View {
    View::Groups {
        title,
        only: &[],
        series: "system",
        label: "space over live bytes",
        unit: "ratio",
        divisor: 1.0,
        groups,
    }
}

const READ: Measure = Measure {
    metric: "p3_read_throughput",
    label: "throughput of reads in P3",
    unit: "1000/s",
    divisor: 1e3,
    log: false,
};

const WRITE: Measure = Measure {
    metric: "p3_update_throughput",
    label: "throughput of writes in P3",
    ..READ
};

const WRITTEN: Measure = Measure {
    metric: "p3_written_settled",
    label: "bytes written in P3, until settled",
    unit: "B/B",
    divisor: 1.0,
    log: false,
};

const PEAK: Measure = Measure {
    metric: "p3_peak_space",
    label: "space over live bytes",
    unit: "B/B",
    ..WRITTEN
};

/// A figure of each system along an axis.
pub const fn chart(title: &'static str, (axis, label): Axis, y: Measure) -> Chart {
    let x = Along::Names { axis, label };
    Chart::new(title, &[], x, y, "system", Marks::Bar)
}

/// P3 over an axis.
pub const fn reads(at: Axis) -> View {
    View::Chart(chart("Throughput of reads", at, READ))
}

/// The same of writes.
pub const fn writes(at: Axis) -> View {
    View::Chart(chart("Throughput of writes", at, WRITE))
}

/// The same of bytes.
pub const fn written(at: Axis) -> View {
    View::Chart(chart("Bytes written a byte of the user", at, WRITTEN))
}

/// The same of the largest space.
pub const fn peak(at: Axis) -> View {
    View::Chart(chart("Largest space in P3", at, PEAK))
}

pub const fn table(title: &'static str, columns: &'static [Column]) -> View {
    View::Table {
        title,
        only: &[],
        axes: &[("system", "system")],
        columns,
        published: &[],
    }
}

pub const fn costs(
    axes: &'static [(&'static str, &'static str)],
    published: &'static [Stated],
) -> View {
    View::Table {
        title: "Costs of P3",
        only: &[],
        axes,
        columns: LAST,
        published,
    }
}

/// Reads over those of the published baseline, beside what was published.
pub const fn reads_over_theirs(at: Axis, published: &'static [Published]) -> View {
    let chart = chart("Reads over RocksDB+ as published", at, READ);
    View::Chart(chart.against(THEIRS).beside(published))
}

/// The same of writes.
pub const fn writes_over_theirs(at: Axis, published: &'static [Published]) -> View {
    let chart = chart("Writes over RocksDB+ as published", at, WRITE);
    View::Chart(chart.against(THEIRS).beside(published))
}

const THEIRS: Against = Against {
    cell: &[("system", "rdb+published")],
    how: How::Ratio,
};

const GAIN: Published = Published {
    name: "LearnedKV over RocksDB+, published",
    source: "Tables 2, 3, 4 and 7: 10 million entries where they are not the axis, on an SSD.",
    of: |_| None,
    also: &[],
};

/// The published gain of reads at a point of an axis.
pub const GAIN_OF_READS: &[Published] = &[Published {
    of: |cell| row_of(cell).map(Row::gain_of_reads),
    ..GAIN
}];

/// The same of writes.
pub const GAIN_OF_WRITES: &[Published] = &[Published {
    of: |cell| row_of(cell).map(Row::gain_of_writes),
    ..GAIN
}];

/// The published throughput of the system that a cell of ours repeats.
pub const STATED: &[Stated] = &[
    Stated {
        heading: "writes published, 1000/s",
        digits: 2,
        of: |cell| stated(cell, row_of(cell)?.writes),
    },
    Stated {
        heading: "reads published, 1000/s",
        digits: 2,
        of: |cell| stated(cell, row_of(cell)?.reads),
    },
];

/// The number of the system that a cell of ours repeats: LearnedKV or RocksDB+.
fn stated(cell: &Cell, (learned, baseline): Both) -> Option<f64> {
    match cell.axis("system") {
        "tier-keys" => Some(learned),
        "rdb+published" => Some(baseline),
        _ => None,
    }
}

pub const LAST: &[Column] = &[
    column("p3_update_throughput", "writes, 1000/s", 1e3, 2),
    column("p3_read_throughput", "reads, 1000/s", 1e3, 2),
    column("p3_wall_rate", "all by the wall clock, 1000/s", 1e3, 2),
    column("p3_cpu_time", "CPU, s", 1.0, 2),
    column("p3_written", "written, B/B", 1.0, 2),
    column("p3_written_settled", "until settled, B/B", 1.0, 2),
    column("p3_space", "space, B/B", 1.0, 2),
    column("p3_peak_space", "largest, B/B", 1.0, 2),
    column("p3_update_max", "longest write, ms", 1e6, 2),
];

pub const SPACE: &[Column] = &[
    column("p3_live_bytes", "live, MiB", 1_048_576.0, 1),
    column("p3_disk_bytes", "files, MiB", 1_048_576.0, 1),
    column(
        "p3_peak_bytes",
        "files at their largest, MiB",
        1_048_576.0,
        1,
    ),
    column("table_bytes", "tables, MiB", 1_048_576.0, 2),
    column(
        "index_memory_bytes",
        "indexes and filters, MiB",
        1_048_576.0,
        2,
    ),
    column("model_bytes", "models, MiB", 1_048_576.0, 2),
    column("directory_bytes", "directories, MiB", 1_048_576.0, 2),
    column("filter_bytes", "filters, MiB", 1_048_576.0, 2),
    column("memory_bytes", "with cache, MiB", 1_048_576.0, 2),
    column("p0_written", "written in P0, B/B", 1.0, 2),
];

pub const LATENCIES: &[Column] = &[
    column("p3_read_p50", "read p50, us", 1e3, 1),
    column("p3_read_p99", "p99", 1e3, 1),
    column("p3_read_p999", "p99.9", 1e3, 1),
    column("p3_read_max", "longest", 1e3, 0),
    column("p3_update_p50", "write p50, us", 1e3, 1),
    column("p3_update_p99", "p99", 1e3, 1),
    column("p3_update_p999", "p99.9", 1e3, 1),
    column("p3_update_max", "longest", 1e3, 0),
];
