//! The ledger: the claims of the papers, our results, and the verdicts.

mod compare;
pub mod doblix;
mod edbt;
mod evidence;
mod gain;
mod json;
pub mod learnedkv;
mod ledger;
mod part;
pub mod published;
mod ratio;
mod sortedness;
pub mod suitability;
#[cfg(test)]
mod tests;

pub use self::evidence::Evidence;
pub use self::json::json;
pub use self::ledger::{brief, table};
use self::part::Part;

/// A claim of a paper.
pub struct Claim {
    /// Its id, such as `C-E1`.
    pub id: &'static str,
    /// The paper, and the place in it.
    pub paper: &'static str,
    /// The claim with the published numbers; all of them if the paper contradicts itself.
    pub published: &'static str,
    /// How it is judged.
    pub judge: Judge,
}

/// The rule by which a claim is judged from results.
pub struct Judge {
    /// The rule in words.
    pub rule: &'static str,
    /// The experiments whose cells the rule reads.
    pub experiments: &'static [&'static str],
    /// The rule as a function.
    pub parts: fn(&Evidence<'_>) -> Vec<Part>,
}

/// Whether a claim holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// All parts hold.
    Holds,
    /// Some parts hold: a list of those that hold, do not hold and are undecided.
    HoldsInPart(String),
    /// No part holds, and at least one does not hold.
    DoesNotHold,
    /// No part is decided by what was measured, and why: rounds that spread too widely, or something
    /// that did not happen.
    Undecided(String),
    /// Nothing that decides it is measured, and what is needed.
    NotMeasured(String),
}

impl Verdict {
    /// The verdict in words.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::HoldsInPart(_) => "holds in part",
            Verdict::DoesNotHold => "does not hold",
            Verdict::Undecided(_) => "undecided",
            Verdict::NotMeasured(_) => "not yet measured",
        }
    }
}

/// A verdict with the numbers behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Our numbers for each part of the claim; empty if nothing is decided.
    pub ours: Vec<String>,
    /// For each part that does not hold, why ours differs.
    pub why: Vec<String>,
    /// From which cells it was judged, where there is a choice, and what was left out.
    pub notes: Vec<String>,
}

/// A claim with its judgement.
pub struct Judged {
    /// The claim.
    pub claim: &'static Claim,
    /// The judgement from our results.
    pub judgement: Judgement,
}

impl Claim {
    /// Judges the claim by results.
    pub fn judge(&self, evidence: &Evidence<'_>) -> Judgement {
        evidence.notes();
        let judgement = part::verdict(&(self.judge.parts)(evidence));
        Judgement {
            notes: evidence.notes(),
            ..judgement
        }
    }
}

/// All claims, paper by paper.
pub fn all() -> impl Iterator<Item = &'static Claim> {
    let papers = [edbt::ALL, learnedkv::ALL, sortedness::ALL, doblix::ALL];
    papers.into_iter().flatten()
}

/// All claims, judged by results.
pub fn judge(evidence: &Evidence<'_>) -> Vec<Judged> {
    let judged = all().map(|claim| Judged {
        claim,
        judgement: claim.judge(evidence),
    });
    judged.collect()
}
