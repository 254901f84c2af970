//! What building indexes adds to compaction.

use super::{Claim, Evidence, Judge, Part, Selection, UNCLUSTERED};
use crate::claims::compare::short;
use crate::claims::evidence::Missing;
use crate::claims::published::clustered;

pub const SHARE: Claim = Claim {
    id: "C-E5",
    paper: "EDBT, Observation 5, Figures 12 (D), 14 and 17",
    published: "Learning is under 5 % of the time of compaction with entries of 1 KB. With entries of 16 B it is up \
                to 20 % for clustered kinds and up to 80 % for unclustered ones.",
    judge: Judge::By {
        rule: "The time of training as a share of that of flushes and merges, measured once for each kind. 1 KB: at \
               most 5 % for every clustered kind. 16 B (Facebook look-alike): the greatest share of a clustered \
               kind is at most 20 %, and above the greatest with 1 KB.",
        experiments: &["E-F14", "E-F12"],
        parts: |evidence| {
            vec![
                long_entries(evidence),
                short_entries(evidence),
                Part::open("16 B entries, unclustered kinds", UNCLUSTERED),
            ]
        },
    },
};

/// Each clustered kind's share, the greatest first.
fn shares(cells: Selection<'_>) -> Result<Vec<(f64, &'static str)>, Missing> {
    let cells = cells.whole()?;
    let share = |kind| Ok((cells.only("kind", kind).value("training_share")?, kind));
    let mut shares: Vec<(f64, &str)> = clustered().map(share).collect::<Result<_, _>>()?;
    shares.sort_by(|one, other| other.0.total_cmp(&one.0));
    Ok(shares)
}

fn long_shares(evidence: &Evidence<'_>) -> Result<Vec<(f64, &'static str)>, Missing> {
    shares(evidence.cells("E-F14"))
}

fn told(shares: &[(f64, &str)]) -> String {
    let kinds = shares
        .iter()
        .map(|(share, kind)| format!("{kind} {} %", short(100.0 * share)));
    kinds.collect::<Vec<_>>().join(", ")
}

fn greatest(shares: &[(f64, &str)]) -> f64 {
    shares.first().map_or(f64::NAN, |(share, _)| *share)
}

fn long_entries(evidence: &Evidence<'_>) -> Part {
    let judged = long_shares(evidence).map(|shares| (greatest(&shares) <= 0.05, told(&shares)));
    Part::judged("1 KB entries, clustered kinds", judged)
}

fn short_entries(evidence: &Evidence<'_>) -> Part {
    let judge = || {
        let long = greatest(&long_shares(evidence)?);
        let shares = shares(evidence.cells("E-F12").only("set", "fb-like"))?;
        let short = greatest(&shares);
        Ok((short <= 0.2 && short > long, told(&shares)))
    };
    Part::judged("16 B entries, clustered kinds", judge())
}
