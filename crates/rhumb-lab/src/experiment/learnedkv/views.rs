//! Views that the experiments on value logs share.

use super::{
    Across, Against, Along, Chart, Column, How, Measure, Only, Published, Stated, View, column,
};
use crate::claims::learnedkv::published::{Both, Row, row_of};
use crate::report::model::Marks;
use crate::results::Cell;

/// P3 over the mix of reads and writes.
pub const READS_BY_MIX: View = over_axis("Throughput of reads", MIX.0, MIX.1, READ);
pub const WRITES_BY_MIX: View = over_axis("Throughput of writes", MIX.0, MIX.1, WRITE);
pub const WRITTEN_BY_MIX: View =
    over_axis("Bytes written a byte of the user", MIX.0, MIX.1, WRITTEN);

/// A figure at each point of an axis over that of another system.
pub const fn ratios(
    title: &'static str,
    (axis, heading): (&'static str, &'static str),
    metric: &'static str,
    over: Only,
    label: &'static str,
) -> View {
    View::Ratios {
        title,
        only: &[],
        columns: Across::Axis(axis, heading, metric),
        rows: ("system", "system"),
        over,
        label,
    }
}

/// The axis of the mix of reads and writes.
pub const MIX: (&str, &str) = ("mix", "reads : writes");

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

pub const READ: Measure = Measure {
    metric: "p3_read_throughput",
    label: "throughput of reads in P3",
    unit: "1000/s",
    divisor: 1e3,
    log: false,
};

pub const WRITE: Measure = Measure {
    metric: "p3_update_throughput",
    label: "throughput of writes in P3",
    ..READ
};

pub const WRITTEN: Measure = Measure {
    metric: "p3_written_settled",
    label: "bytes written in P3, until settled",
    unit: "B/B",
    divisor: 1.0,
    log: false,
};

pub const PEAK: Measure = Measure {
    metric: "p3_peak_space",
    label: "space over live bytes",
    unit: "B/B",
    ..WRITTEN
};

pub const fn over_axis(
    title: &'static str,
    axis: &'static str,
    label: &'static str,
    y: Measure,
) -> View {
    let x = Along::Names { axis, label };
    View::Chart(Chart::new(title, &[], x, y, "system", Marks::Bar))
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

/// A figure over that of the published baseline, beside what was published.
pub const fn over_theirs(
    title: &'static str,
    axis: &'static str,
    label: &'static str,
    y: Measure,
    published: &'static [Published],
) -> View {
    let x = Along::Names { axis, label };
    let chart = Chart::new(title, &[], x, y, "system", Marks::Bar);
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
