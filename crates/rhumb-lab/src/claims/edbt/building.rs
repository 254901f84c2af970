//! Claims about the share of building indexes in compaction.

use super::{Claim, Evidence, Judge, Part, Selection};
use crate::claims::compare::short;
use crate::claims::evidence::Missing;
use crate::claims::published::{clustered, unclustered};

pub const SHARE: Claim = Claim {
    id: "C-E5",
    paper: "EDBT, Observation 5, Figures 12 (D), 14 and 17",
    published: "Learning is under 5 % of the time of compaction with entries of 1 KB. With entries of 16 B it is up \
                to 20 % for clustered kinds and up to 80 % for unclustered ones.",
    judge: Judge::By {
        rule: "The time of training as a share of the time of flushes and merges, measured once for each kind. 1 KB: \
               at most 5 % for every clustered kind, and for every unclustered kind. 16 B (Facebook look-alike): the \
               greatest share of a clustered kind is at most 20 %, and above the greatest share with 1 KB; the \
               greatest share of an unclustered kind is above that of the clustered kinds, and is 40 to 80 %.",
        experiments: &["E-F14", "E-F12"],
        parts: |evidence| {
            vec![
                long_entries(evidence, clustered()).named("1 KB entries, clustered kinds"),
                long_entries(evidence, unclustered()).named("1 KB entries, unclustered kinds"),
                clustered_short_entries(evidence),
                above_clustered(evidence),
                up_to_four_fifths(evidence),
            ]
        },
    },
};

type Kinds = [(f64, &'static str)];

/// Each kind's share, the greatest first.
fn shares(
    cells: Selection<'_>,
    kinds: impl Iterator<Item = &'static str>,
) -> Result<Box<Kinds>, Missing> {
    let share = |kind| Ok((cells.only("kind", kind).value("training_share")?, kind));
    let mut shares: Box<Kinds> = kinds.map(share).collect::<Result<_, _>>()?;
    shares.sort_by(|one, other| other.0.total_cmp(&one.0));
    Ok(shares)
}

fn told(shares: &Kinds) -> String {
    let kinds = shares
        .iter()
        .map(|(share, kind)| format!("{kind} {} %", short(100.0 * share)));
    kinds.collect::<Vec<_>>().join(", ")
}

fn greatest(shares: &Kinds) -> f64 {
    shares.first().map_or(f64::NAN, |(share, _)| *share)
}

fn long<'e>(evidence: &'e Evidence<'_>) -> Result<Selection<'e>, Missing> {
    evidence.cells("E-F14").whole()
}

fn brief<'e>(evidence: &'e Evidence<'_>) -> Result<Selection<'e>, Missing> {
    evidence.cells("E-F12").only("set", "fb-like").whole()
}

fn long_entries(evidence: &Evidence<'_>, kinds: impl Iterator<Item = &'static str>) -> Part {
    let judged = long(evidence).and_then(|cells| shares(cells, kinds));
    let judged = judged.map(|shares| (greatest(&shares) <= 0.05, told(&shares)));
    Part::judged("1 KB entries", judged)
}

fn clustered_short_entries(evidence: &Evidence<'_>) -> Part {
    let judge = || {
        let long = greatest(&shares(long(evidence)?, clustered())?);
        let shares = shares(brief(evidence)?, clustered())?;
        let short = greatest(&shares);
        Ok((short <= 0.2 && short > long, told(&shares)))
    };
    Part::judged("16 B entries, clustered kinds", judge())
}

fn above_clustered(evidence: &Evidence<'_>) -> Part {
    let judge = || {
        let clustered = greatest(&shares(brief(evidence)?, clustered())?);
        let shares = shares(brief(evidence)?, unclustered())?;
        Ok((greatest(&shares) > clustered, told(&shares)))
    };
    Part::judged(
        "16 B entries, unclustered kinds above clustered ones",
        judge(),
    )
}

fn up_to_four_fifths(evidence: &Evidence<'_>) -> Part {
    let judged = brief(evidence).and_then(|cells| shares(cells, unclustered()));
    let judged = judged.map(|shares| {
        let magnitude = (0.4..=0.8).contains(&greatest(&shares));
        (magnitude, told(&shares))
    });
    Part::judged("16 B entries, unclustered kinds up to 80 %", judged)
}
