//! *Evaluating Learned Indexes in LSM-tree Systems* (EDBT). Its data were 100 GiB; ours are smaller, so
//! ratios are judged, never absolute numbers.

mod building;
mod granularity;
mod memory;
mod mixed;
mod points;
mod ranges;
mod settings;
mod suited;

use super::evidence::{Evidence, Selection};
use super::part::Part;
use super::{Claim, Judge};

/// The paper's claims.
pub const ALL: &[Claim] = &[
    memory::SAVES,
    points::BOUNDARY,
    points::CLUSTERED,
    ranges::SEEKING,
    building::SHARE,
    granularity::MEMORY,
    mixed::FOLLOWS,
    suited::TABLE,
    memory::SKEWED,
    ranges::UNCLUSTERED_KINDS,
    settings::VARIABLE,
    settings::PARAMETERS,
    granularity::TRADE_OFF,
];

/// Fence pointers as published.
pub const FENCE: &str = "fp-raw";

/// Why what is said of ALEX, LIPP, DILI and LITS is open.
const UNCLUSTERED: &str = "needs the unclustered kinds, which are not built yet";

/// The cells of an experiment on look-ups that read the entries of the window and no others, from the
/// page cache.
pub fn window<'e>(evidence: &'e Evidence<'_>, experiment: &'static str) -> Selection<'e> {
    let cells = evidence.cells(experiment).only("arm", "window");
    cells.only("reading", "page cache")
}
