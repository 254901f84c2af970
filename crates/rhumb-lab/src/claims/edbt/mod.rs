//! Claims of *Evaluating Learned Indexes in LSM-tree Systems* (EDBT). Its data had 100 GiB; ours
//! are smaller, so ratios are judged, never absolute numbers.

mod building;
mod granularity;
mod memory;
mod mixed;
mod points;
mod ranges;
mod settings;
mod suited;

use super::evidence::{Evidence, Selection};
use super::part::{Cause, Part, Why};
use super::{Claim, Judge};
use crate::experiment::Arm;

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

/// The set of 8-byte keys that stands for Facebook's ids.
pub const IDS: &str = "fb";

/// Fence pointers as published.
pub const FENCE: &str = "fp-raw";

/// The cells of an experiment on look-ups with exact windows from the page cache.
pub fn window<'e>(evidence: &'e Evidence<'_>, experiment: &'static str) -> Selection<'e> {
    let cells = evidence.cells(experiment).only("arm", "window");
    cells.only("reading", "page cache")
}

/// The look-ups of a kind at a boundary, with exact windows from the page cache. Unclustered kinds
/// have no boundary, so their look-ups are the same at each.
pub fn look_up<'e>(
    evidence: &'e Evidence<'_>,
    experiment: &'static str,
    kind: &str,
    boundary: u64,
) -> Selection<'e> {
    let cells = evidence.cells(experiment).only("reading", "page cache");
    at(&cells, kind, boundary)
}

/// The ranges of a kind over a set at a boundary, read in the same way.
pub fn range<'e>(
    evidence: &'e Evidence<'_>,
    set: &str,
    kind: &str,
    boundary: u64,
) -> Selection<'e> {
    let experiment = match (Arm::of(kind), set) {
        (Arm::Exact, "ycsb-uniform") => "E-F12",
        (Arm::Exact, _) => "E-F13",
        (_, "ycsb-uniform") => "E-F9",
        (_, "ycsb-zipf0.9") => "E-F10",
        _ => "E-F11",
    };
    at(&evidence.cells(experiment).only("set", set), kind, boundary)
}

fn at<'e>(cells: &Selection<'e>, kind: &str, boundary: u64) -> Selection<'e> {
    let arm = Arm::of(kind);
    let cells = cells.only("kind", kind).only("arm", arm.name());
    cells.only("boundary", arm.boundary(boundary))
}
