//! Claims about the share of building indexes in compaction.

use super::{Cause, Claim, Evidence, IDS, Judge, Part, Selection, Why};
use crate::claims::compare::{ALL, Told, less, short, vote};
use crate::claims::evidence::Missing;
use crate::claims::published::{clustered, unclustered};
use crate::contest::Rounds;

pub const SHARE: Claim = Claim {
    id: "C-E5",
    paper: "EDBT, Observation 5, Figures 12 (D), 14 and 17",
    published: "Learning is under 5 % of the time of compaction with entries of 1 KB. With entries of 16 B it is up \
                to 20 % for clustered kinds and up to 80 % for unclustered ones.",
    judge: Judge {
        rule: "The time of training as a share of the time of flushes and merges, by rounds; needs a merge, and more \
               than 1 ms of training. 1 KB: surely at most 5 % for every clustered kind, and for every unclustered \
               kind. 16 B (look-alike of Facebook's ids): at most 20 % for every clustered kind, and the greatest of \
               them clearly above the greatest with 1 KB; the greatest share of an unclustered kind clearly above \
               that of the clustered kinds, and surely 40 to 80 %.",
        experiments: &["E-F14", "E-F12"],
        parts: |evidence| {
            vec![
                long_entries(evidence, clustered())
                    .named("1 KB entries, clustered kinds")
                    .because(FEW_KEYS),
                long_entries(evidence, unclustered())
                    .named("1 KB entries, unclustered kinds")
                    .because(FEW_KEYS),
                clustered_short_entries(evidence),
                above_clustered(evidence),
                up_to_four_fifths(evidence),
            ]
        },
    },
};

const FEW_KEYS: Why = (
    Cause::Data,
    "merges are of some MB here, so what training costs besides its keys weighs more than in merges of GB",
);
/// The share of each kind by rounds.
type Shares = Vec<(&'static str, Rounds)>;

fn shares(
    cells: Selection<'_>,
    kinds: impl Iterator<Item = &'static str>,
) -> Result<Shares, Missing> {
    let share = |kind| Ok((kind, cells.only("kind", kind).rounds("training_share")?));
    let kinds = cells.kinds(kinds)?.into_iter();
    let mut shares: Shares = kinds.map(share).collect::<Result<_, Missing>>()?;
    shares.sort_by(|(_, one), (_, other)| other.median().total_cmp(&one.median()));
    Ok(shares)
}

fn told(shares: &Shares) -> String {
    let kinds = shares
        .iter()
        .map(|(kind, share)| format!("{kind} {} %", short(100.0 * share.median())));
    kinds.collect::<Vec<_>>().join(", ")
}

/// The greatest share of each round.
fn greatest(shares: &Shares) -> Rounds {
    let shares: Vec<Rounds> = shares.iter().map(|(_, share)| share.clone()).collect();
    Rounds::of_all(&shares, |shares| {
        shares.iter().copied().fold(f64::NAN, f64::max)
    })
}

/// Whether every share is at most this much.
fn all_at_most(shares: &Shares, limit: f64) -> Told {
    let told = shares
        .iter()
        .map(|(_, share)| Told::at_most(share.interval(), limit));
    vote(&told.collect::<Vec<_>>(), ALL).0
}

fn long<'e>(evidence: &'e Evidence<'_>) -> Result<Selection<'e>, Missing> {
    evidence.cells("E-F14").whole()
}

fn brief<'e>(evidence: &'e Evidence<'_>) -> Result<Selection<'e>, Missing> {
    evidence.cells("E-F12").only("set", IDS).whole()
}

fn long_entries(evidence: &Evidence<'_>, kinds: impl Iterator<Item = &'static str>) -> Part {
    let judged = long(evidence).and_then(|cells| shares(cells, kinds));
    let judged = judged.map(|shares| (all_at_most(&shares, 0.05), told(&shares)));
    Part::judged("1 KB entries", judged)
}

fn clustered_short_entries(evidence: &Evidence<'_>) -> Part {
    let judge = || {
        let long = greatest(&shares(long(evidence)?, clustered())?);
        let shares = shares(brief(evidence)?, clustered())?;
        let above = less(&long, &greatest(&shares));
        Ok((all_at_most(&shares, 0.2).and(above), told(&shares)))
    };
    Part::judged("16 B entries, clustered kinds", judge())
}

fn above_clustered(evidence: &Evidence<'_>) -> Part {
    let judge = || {
        let clustered = greatest(&shares(brief(evidence)?, clustered())?);
        let shares = shares(brief(evidence)?, unclustered())?;
        Ok((less(&clustered, &greatest(&shares)), told(&shares)))
    };
    Part::judged(
        "16 B entries, unclustered kinds above clustered ones",
        judge(),
    )
}

fn up_to_four_fifths(evidence: &Evidence<'_>) -> Part {
    let judged = brief(evidence).and_then(|cells| shares(cells, unclustered()));
    let judged = judged.map(|shares| {
        let magnitude = Told::between(greatest(&shares).interval(), 0.4, 0.8);
        (magnitude, told(&shares))
    });
    Part::judged("16 B entries, unclustered kinds up to 80 %", judged).because(cheap(evidence))
}

/// The cause, if training takes less than all the rest.
pub fn cheap(evidence: &Evidence<'_>) -> Option<Why> {
    let shares = brief(evidence).and_then(|cells| shares(cells, unclustered()));
    let greatest = greatest(&shares.ok()?);
    (greatest.median() < 0.4).then_some((
        Cause::Design,
        "our unclustered kinds are written in their byte form, which takes less time for a key than reading, verifying, \
         merging and writing an entry of 16 B does",
    ))
}
