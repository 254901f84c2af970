//! The share of building indexes in compaction.

use super::{
    Amounts, BY_KIND, Build, Chart, Data, Experiment, Fill, LONG_SETS, Measure, Only, Planned,
    Point, Published, View, Work, kinds, long,
};
use crate::error::Result;
use crate::report::model::Marks;

pub const FIGURE_14: Experiment = Experiment {
    id: "E-F14",
    paper: "EDBT, Figure 14",
    title: "Time of compaction, training and I/O",
    shows: "The time of merging 50M keys of 1 KB into 50M, and within it the times of training and of I/O, for each \
            kind. The text has no times, but the share of training: less than 5 % (E-F17).",
    method: METHOD,
    cells: |amounts| loading(amounts, &long(LONG_SETS[0], amounts)),
    views: &[
        building(
            "Compaction of 24 + 1000 bytes: training, I/O, and the rest",
            &[],
        ),
        View::Chart(Chart::new(
            "Training alone",
            &[],
            BY_KIND,
            Measure {
                metric: "training_time",
                label: "time of training",
                unit: "ms",
                divisor: 1e-3,
                log: false,
            },
            "kind",
            Marks::Bar,
        )),
    ],
};

pub const FIGURE_17: Experiment = Experiment {
    id: "E-F17",
    paper: "EDBT, Figure 17",
    title: "Building indexes as a share of compaction",
    shows: "The time of building the indexes compared to all of the compaction.",
    method: METHOD,
    cells: |amounts| loading(amounts, &long(LONG_SETS[0], amounts)),
    views: &[View::Chart(
        training("Training as a share of compaction, 24 + 1000 bytes", &[]).beside(&[Published {
            name: "all kinds, at most",
            source: "text of section 5.4: less than 5 % of compaction with long entries. 50M keys of 24 + 1000 \
                     bytes into 50M, i9-13900K, NVMe SSD.",
            of: |_| Some(5.0),
            also: &[],
        }]),
    )],
};

/// The share of training in compaction.
pub const fn training(title: &'static str, only: Only) -> Chart {
    let share = Measure {
        metric: "training_share",
        label: "share of compaction",
        unit: "%",
        divisor: 0.01,
        log: false,
    };
    Chart::new(title, only, BY_KIND, share, "kind", Marks::Bar)
}

/// The parts of compaction.
pub const fn building(title: &'static str, only: Only) -> View {
    View::Parts {
        title,
        only,
        along: "kind",
        label: "time of flushes and merges",
        unit: "s",
        divisor: 1.0,
        parts: &[
            ("training_time", "training"),
            ("io_time", "reading and writing"),
            ("-compaction_time", "the rest"),
        ],
    }
}

const METHOD: &str = "Half of the keys are loaded and merged, then the other half is written. The time is that of the \
                      flushes and merges of the second half, by the clocks of the threads that run them. Training \
                      is the building and encoding of the wanted index alone. Position boundary 16, exact \
                      windows; unclustered kinds read one entry.";

/// A cell for each kind: the second half of the keys merged into the first.
pub fn loading(amounts: &Amounts, data: &Data) -> Result<Vec<Planned>> {
    let plan = |kind| {
        let point = Point::fixed(amounts, data.clone(), kind);
        let build = Build {
            fill: Fill::Halves,
            ..point.build()?
        };
        Ok(Planned {
            build: Some(build),
            ..point.plan(Work::Loading)?
        })
    };
    kinds().map(plan).collect()
}
