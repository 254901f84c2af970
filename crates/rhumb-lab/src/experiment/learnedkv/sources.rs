//! Where reads are answered.

use super::arms::{BASELINES, LEVELS, TIERS, WHOLE};
use super::cells::{Cells, LOAD};
use super::views::table;
use super::{Amounts, Column, Count, Experiment, Phase, Planned, Result, View, Work, column};

pub const TABLE_6: Experiment = Experiment {
    id: "L-T6",
    paper: "LearnedKV, Table 6 and Figure 12",
    title: "Where reads are answered",
    shows: "Of the reads of P1, how many the LSM-tree and the learned index answer and are asked, and how long those take that either \
            answers, beside the reads of RocksDB+.",
    method: "P0 and P1 of L-F8 with as many entries as the other axes have. After each read, untimed, the store is asked which part \
             answers it now: write buffers, tables above the tier, or the tier; that takes the store's locks and \
             blocks once more, so that compare reads here with reads here alone. A read asks the parts in this order until one \
             answers. A table counts as searched if its filter admits the key; buffers are always searched. In stores without a \
             tier all tables count as those of the LSM-tree. The baselines cannot tell; their reads stand beside as a whole. \
             Published: of 4,998,755 reads 538,347 by the learned index (10.8 %), 4,763,353 ask the LSM-tree (95.3 %), which the \
             filter above the learned index spares the others. What it spares here L-F13 tells; the explanation of a read asks all parts.",
    cells: over_systems,
    views: &[
        View::Parts {
            title: "Reads by the part that answers",
            only: &[("system", "tier-keys|tier-inline|tier-published|lsm-values")],
            along: "system",
            label: "share of reads",
            unit: "%",
            divisor: 1.0,
            parts: &[
                ("p1_from_buffers", "write buffers"),
                ("p1_from_lsm", "tables above the tier"),
                ("p1_from_tier", "tier"),
            ],
        },
        View::Groups {
            title: "Latency of reads by the part that answers",
            only: &[],
            series: "system",
            label: "mean latency of a read",
            unit: "us",
            divisor: 1e3,
            groups: &[
                ("p1_from_buffers_mean", "write buffers"),
                ("p1_from_lsm_mean", "tables above the tier"),
                ("p1_from_tier_mean", "tier"),
                ("p1_read_mean", "all"),
            ],
        },
        table("Reads of P1", COLUMNS),
    ],
};

const COLUMNS: &[Column] = &[
    column("p1_from_buffers", "by write buffers, %", 1.0, 1),
    column("p1_from_lsm", "by tables above the tier, %", 1.0, 1),
    column("p1_from_tier", "by the tier, %", 1.0, 1),
    column("p1_probed_lsm", "search tables above it, %", 1.0, 1),
    column("p1_probed_tier", "search the tier, %", 1.0, 1),
    column("p1_value_reads", "values apart, %", 1.0, 1),
    column("p1_lsm_tables", "tables searched above it", 1.0, 2),
    column("p1_tier_tables", "in it", 1.0, 2),
    column("p1_from_lsm_mean", "answered above it, us", 1e3, 2),
    column("p1_from_tier_mean", "by the tier, us", 1e3, 2),
    column("p1_read_mean", "all, us", 1e3, 2),
];

const PHASES: &[Phase] = &[
    LOAD,
    Phase::whole("p1", "rw=50:50,zipfian=0.99", Count::OfRecords(1.0)).with_sources(),
];

fn over_systems(amounts: &Amounts) -> Result<Vec<Planned>> {
    let systems: &[&[&str]] = &[TIERS, WHOLE, LEVELS, BASELINES];
    Cells::new(systems, amounts.swept, Work::Phases(PHASES)).planned(amounts)
}
