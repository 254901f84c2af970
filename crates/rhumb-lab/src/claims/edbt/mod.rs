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
use crate::experiment::{Arm, Reading};

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

/// The cells of an experiment that are read from a page cache which holds everything.
pub fn cached<'e>(evidence: &'e Evidence<'_>, experiment: &'static str) -> Selection<'e> {
    let cells = evidence.cells(experiment);
    cells.only("reading", Reading::Cached.name())
}

/// The cells of an experiment that are read as published, from a page cache of 70 % of the data; where
/// the machine does not permit that, from one that holds everything. A note says which, and why.
pub fn as_published<'e>(evidence: &'e Evidence<'_>, experiment: &'static str) -> Selection<'e> {
    let limited = evidence.cells(experiment);
    let limited = limited.only("reading", Reading::Limited.name());
    let full = |why: &str| {
        let text = "a page cache that holds everything";
        evidence.note(format!("{experiment}: {text}, since {why}"));
        cached(evidence, experiment)
    };
    if !limited.is_declared() {
        return full("at this scale no other is measured");
    }
    match limited.refusal() {
        Some(why) => full(&format!(
            "one of 70 % of the data is not permitted here: {why}"
        )),
        None => {
            let text = "a page cache of 70 % of the data, as published";
            evidence.note(format!("{experiment}: {text}"));
            limited
        }
    }
}

/// The cells of an experiment on look-ups with exact windows from a page cache that holds everything.
pub fn window<'e>(evidence: &'e Evidence<'_>, experiment: &'static str) -> Selection<'e> {
    cached(evidence, experiment).only("arm", "window")
}

/// The look-ups of a kind at a boundary, with exact windows from a page cache that holds everything.
/// Unclustered kinds have no boundary, so their look-ups are the same at each.
pub fn look_up<'e>(
    evidence: &'e Evidence<'_>,
    experiment: &'static str,
    kind: &str,
    boundary: u64,
) -> Selection<'e> {
    at(&cached(evidence, experiment), kind, boundary)
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
    at(
        &cached(evidence, experiment).only("set", set),
        kind,
        boundary,
    )
}

/// The cells of a kind at a boundary, in the arm in which it is compared with the others.
pub fn at<'e>(cells: &Selection<'e>, kind: &str, boundary: u64) -> Selection<'e> {
    let arm = Arm::of(kind);
    let cells = cells.only("kind", kind).only("arm", arm.name());
    cells.only("boundary", arm.boundary(boundary))
}
