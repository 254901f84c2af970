//! Mixed workloads.

use super::{
    Across, Amounts, Build, Experiment, Fill, LONG_SETS, Phase, Planned, Point, View, Work, kinds,
    long,
};
use crate::error::Result;

pub const FIGURE_16: Experiment = Experiment {
    id: "E-F16",
    paper: "EDBT, Figure 16",
    title: "YCSB A to F in sequence",
    shows: "The mean time of an operation for each index kind under the six workloads, at boundary 16.",
    method: "Uniform YCSB keys, exact windows from the page cache; unclustered kinds read one entry. The \
             workloads A, B, C, F, D and E run one \
             after another on one store, which is not loaded again in between; each has its own seed.",
    cells: mixed,
    views: &[
        View::Ratios {
            title: "Mean time of an operation over that with fence pointers (fp-raw)",
            only: &[],
            columns: Across::Metrics(
                "workload",
                &[
                    ("ycsb-a_mean", "A"),
                    ("ycsb-b_mean", "B"),
                    ("ycsb-c_mean", "C"),
                    ("ycsb-d_mean", "D"),
                    ("ycsb-e_mean", "E"),
                    ("ycsb-f_mean", "F"),
                ],
            ),
            rows: ("kind", "kind"),
            over: &[("kind", "fp-raw"), ("boundary", "16"), ("arm", "window")],
            label: "time over that of fp-raw",
        },
        operations(
            "Mean time of an operation",
            &[
                ("ycsb-a_mean", "A: updates and gets"),
                ("ycsb-b_mean", "B: 95 % gets"),
                ("ycsb-c_mean", "C: gets"),
                ("ycsb-d_mean", "D: gets of recent keys"),
                ("ycsb-f_mean", "F: read, modify, write"),
            ],
        ),
        operations(
            "Mean time of an operation, E: ranges",
            &[("ycsb-e_mean", "E: ranges")],
        ),
    ],
};

const fn operations(title: &'static str, groups: &'static [(&'static str, &'static str)]) -> View {
    View::Groups {
        title,
        only: &[],
        series: "kind",
        label: "time of an operation",
        unit: "us",
        divisor: 1e3,
        groups,
    }
}

/// The core workloads in the order that YCSB recommends, with those that insert at the end.
const YCSB: [Phase; 6] = [
    Phase::new("ycsb-a", "ycsb-a"),
    Phase::new("ycsb-b", "ycsb-b"),
    Phase::new("ycsb-c", "ycsb-c"),
    Phase::new("ycsb-f", "ycsb-f"),
    Phase::new("ycsb-d", "ycsb-d"),
    Phase::new("ycsb-e", "ycsb-e"),
];

fn mixed(amounts: &Amounts) -> Result<Vec<Planned>> {
    let plan = |kind| {
        let point = Point::fixed(amounts, long(LONG_SETS[0], amounts), kind);
        let build = Build {
            fill: Fill::Tenths(9),
            ..point.build()?
        };
        Ok(Planned {
            build: Some(build),
            ..point.plan(Work::Phases(&YCSB))?
        })
    };
    kinds().map(plan).collect()
}
