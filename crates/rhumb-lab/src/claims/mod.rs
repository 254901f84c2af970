//! The ledger: what the papers claim, what our results say of it, and whether it holds.

mod compare;
mod doblix;
mod edbt;
mod evidence;
mod learnedkv;
mod ledger;
mod part;
pub mod published;
mod sortedness;
pub mod suitability;
#[cfg(test)]
mod tests;

pub use self::evidence::Evidence;
pub use self::ledger::table;
use self::part::Part;

/// What a paper claims.
pub struct Claim {
    /// Its id, such as `C-E1`.
    pub id: &'static str,
    /// Where it was published.
    pub paper: &'static str,
    /// What is claimed, with the published numbers; all of them where the paper contradicts itself.
    pub published: &'static str,
    /// How it is judged.
    pub judge: Judge,
}

/// How a claim is judged.
pub enum Judge {
    /// By results.
    By {
        /// How the verdict follows from them, in words.
        rule: &'static str,
        /// The experiments that have them.
        experiments: &'static [&'static str],
        /// The same, as a program.
        parts: fn(&Evidence<'_>) -> Vec<Part>,
    },
    /// Not yet: what it needs that is not built.
    Later(&'static str),
}

/// Whether a claim holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It does.
    Holds,
    /// Some of it does: which, and which does not or is undecided.
    HoldsInPart(String),
    /// Nothing of it that is decided does.
    DoesNotHold,
    /// Nothing of it is decided, and why: not measured yet, or the repeats spread too widely.
    Undecided(String),
}

impl Verdict {
    /// In words.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::HoldsInPart(_) => "holds in part",
            Verdict::DoesNotHold => "does not hold",
            Verdict::Undecided(_) => "not yet measured",
        }
    }
}

/// A verdict with the numbers behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Whether the claim holds.
    pub verdict: Verdict,
    /// Our numbers, for each part of the claim; empty where nothing is decided.
    pub ours: String,
}

/// A claim with its judgement.
pub struct Judged {
    /// What is claimed.
    pub claim: &'static Claim,
    /// What our results say of it.
    pub judgement: Judgement,
}

impl Claim {
    /// What results say of it.
    pub fn judge(&self, evidence: &Evidence<'_>) -> Judgement {
        match &self.judge {
            Judge::By { parts, .. } => part::verdict(&parts(evidence)),
            Judge::Later(why) => Judgement {
                verdict: Verdict::Undecided((*why).to_string()),
                ours: String::new(),
            },
        }
    }
}

/// All claims, paper by paper.
pub fn all() -> impl Iterator<Item = &'static Claim> {
    let papers = [edbt::ALL, learnedkv::ALL, sortedness::ALL, doblix::ALL];
    papers.into_iter().flatten()
}

/// All claims with what results say of them.
pub fn judge(evidence: &Evidence<'_>) -> Vec<Judged> {
    let judged = all().map(|claim| Judged {
        claim,
        judgement: claim.judge(evidence),
    });
    judged.collect()
}
