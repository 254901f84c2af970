//! The filter over what stands above the learned tier.

use super::arms::FILTERS;
use super::cells::{Cells, HALF, over, phases, points};
use super::views::{MIX, ratios_at, reads, writes};
use super::{Amounts, Column, Experiment, Only, Phase, Planned, Result, View, Work, column};

pub const FIGURE_13: Experiment = Experiment {
    id: "L-F13",
    paper: "LearnedKV, Figure 13",
    title: "The filter over the LSM-tree, on and off",
    shows: "The throughput of reads and of writes with and without a filter in memory over all keys of the LSM-tree.",
    method: "As L-F9, with reads to writes 5:5 and 95:5, for a learned tier of keys with pointers: `tier-keys` has a filter of 10 bits a key over \
             all that stands above the tier, and `tier-keys-unfiltered` has none. Both have the filters of tables. A get of a key that the \
             filter does not have asks the tier alone. Of the others, those count as wrong whose key does not stand above the tier. \
             Published: 5 million reads, of which the filter spares 0.235 million the LSM-tree.",
    cells: over_mixes,
    views: &[
        reads(MIX),
        writes(MIX),
        ratios_at(
            "Reads",
            MIX,
            "p3_read_throughput",
            WITHOUT,
            "throughput over that without; published: 1.096",
        ),
        ratios_at(
            "Writes",
            MIX,
            "p3_update_throughput",
            WITHOUT,
            "throughput over that without; published: 0.944",
        ),
        View::Table {
            title: "Answers of the filter in P3",
            only: &[("system", "tier-keys")],
            axes: &[MIX],
            columns: COLUMNS,
            published: &[],
        },
    ],
};

const WITHOUT: Only = &[("system", "tier-keys-unfiltered")];

const COLUMNS: &[Column] = &[
    column("p3_gets", "reads", 1.0, 0),
    column("p3_above_negative", "sent to the tier at once", 1.0, 0),
    column("p3_filter_wrong", "wrong, of those not above it, %", 1.0, 2),
    column("p3_tier_hits", "answered by the tier", 1.0, 0),
    column("p3_tier_probed", "asked the tier", 1.0, 0),
];

const MIXES: [(&str, &[Phase]); 2] = [("5:5", HALF), ("95:5", &phases("rw=95:5,zipfian=0.99"))];

fn over_mixes(amounts: &Amounts) -> Result<Vec<Planned>> {
    over(points(&MIXES, amounts), amounts, |(name, phases)| {
        Cells::new(&[FILTERS], amounts.compared, Work::Phases(phases)).at("mix", name)
    })
}
