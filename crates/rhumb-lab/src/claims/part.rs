//! The parts of a claim. Each is judged alone, and the verdict on the claim follows from them.

use std::borrow::Cow;
use std::fmt;

use super::compare::Told;
use super::evidence::Missing;
use super::{Judgement, Verdict};

/// One statement of a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The statement, in a few words.
    pub what: Cow<'static, str>,
    /// Whether it holds.
    pub outcome: Outcome,
    /// Why ours differs, where it does not hold.
    cause: Option<Why>,
}

/// Whether a part holds, with our numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It holds.
    Holds(String),
    /// It does not hold.
    Fails(String),
    /// What was measured does not decide, and why.
    Undecided(String),
    /// It is not measured, and what is needed.
    NotMeasured(String),
}

/// What makes ours differ from what was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The layout of tables.
    Layout,
    /// Where blocks are read from.
    Device,
    /// The keys.
    Data,
    /// What the paper means is open.
    Reading,
    /// A choice of ours that the published program does not have.
    Design,
    /// None of these: the claim does not hold.
    Refuted,
}

/// A cause with a sentence about it.
pub type Why = (Cause, &'static str);

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::Layout => "layout",
            Cause::Device => "device",
            Cause::Data => "data",
            Cause::Reading => "reading",
            Cause::Design => "our design",
            Cause::Refuted => "refuted",
        })
    }
}

impl Part {
    fn new(what: impl Into<Cow<'static, str>>, outcome: Outcome) -> Part {
        Part {
            what: what.into(),
            outcome,
            cause: None,
        }
    }

    /// A part that is judged by results, which leave it undecided if rounds spread too widely.
    pub fn judged<T: Into<Told>>(
        what: impl Into<Cow<'static, str>>,
        judged: Result<(T, String), Missing>,
    ) -> Part {
        let outcome = match judged.map(|(told, ours)| (told.into(), ours)) {
            Ok((Told::Yes, ours)) => Outcome::Holds(ours),
            Ok((Told::No, ours)) => Outcome::Fails(ours),
            Ok((Told::Unclear, ours)) => {
                Outcome::Undecided(format!("the rounds do not decide: {ours}"))
            }
            Err(missing) if missing.is_unmeasured() => Outcome::NotMeasured(missing.to_string()),
            Err(missing) => Outcome::Undecided(missing.to_string()),
        };
        Part::new(what, outcome)
    }

    /// A part that what was measured does not decide, and why.
    pub fn undecided(what: impl Into<Cow<'static, str>>, why: impl ToString) -> Part {
        Part::new(what, Outcome::Undecided(why.to_string()))
    }

    /// A part that is not measured, and what is needed.
    pub fn not_measured(what: impl Into<Cow<'static, str>>, why: impl ToString) -> Part {
        Part::new(what, Outcome::NotMeasured(why.to_string()))
    }

    /// A part that holds if one of some does: "up to", over all that they are about. It is decided once all are measured.
    pub fn best_of(what: impl Into<Cow<'static, str>>, parts: &[Part]) -> Part {
        let any = |is: fn(&Outcome) -> bool| parts.iter().any(|part| is(&part.outcome));
        let texts: Vec<String> = parts.iter().map(Part::text).collect();
        let text = texts.join("; ");
        let outcome = if any(|outcome| matches!(outcome, Outcome::NotMeasured(_))) {
            Outcome::NotMeasured(reasons(parts))
        } else if any(|outcome| matches!(outcome, Outcome::Holds(_))) {
            Outcome::Holds(text)
        } else if any(|outcome| matches!(outcome, Outcome::Undecided(_))) {
            Outcome::Undecided(text)
        } else {
            Outcome::Fails(text)
        };
        let cause = parts.iter().find_map(|part| part.cause);
        Part::new(what, outcome).because(cause)
    }

    /// The same part under another name, for another claim.
    pub fn named(self, what: &'static str) -> Part {
        Part {
            what: what.into(),
            ..self
        }
    }

    /// The same part with the reason why ours differs, in case that it does not hold; none if the
    /// reason is not known.
    pub fn because(self, why: impl Into<Option<Why>>) -> Part {
        Part {
            cause: why.into(),
            ..self
        }
    }

    fn text(&self) -> String {
        let what = &self.what;
        match &self.outcome {
            Outcome::Holds(ours) => format!("{what}: yes ({ours})"),
            Outcome::Fails(ours) => format!("{what}: no ({ours})"),
            Outcome::Undecided(why) => format!("{what}: undecided ({why})"),
            Outcome::NotMeasured(why) => format!("{what}: not measured ({why})"),
        }
    }

    /// Why ours differs; none if it does not.
    fn why(&self) -> Option<String> {
        let what = &self.what;
        match (&self.outcome, self.cause) {
            (Outcome::Fails(_), Some((cause, why))) => Some(format!("{what}: {cause}: {why}")),
            (Outcome::Fails(_), None) => Some(format!("{what}: the cause is not known")),
            _ => None,
        }
    }
}

/// The verdict from all parts of a claim: it holds if all parts hold; it holds in part if at least
/// one holds; it does not hold if none holds and at least one is decided.
pub fn verdict(parts: &[Part]) -> Judgement {
    let names = |of: fn(&Outcome) -> bool| -> Vec<&str> {
        let these = parts.iter().filter(|part| of(&part.outcome));
        these.map(|part| &*part.what).collect()
    };
    let holds = names(|outcome| matches!(outcome, Outcome::Holds(_)));
    let fails = names(|outcome| matches!(outcome, Outcome::Fails(_)));
    let undecided = names(|outcome| matches!(outcome, Outcome::Undecided(_)));
    let unmeasured = names(|outcome| matches!(outcome, Outcome::NotMeasured(_)));
    let verdict = match (holds.is_empty(), fails.is_empty()) {
        (false, true) if undecided.is_empty() && unmeasured.is_empty() => Verdict::Holds,
        (true, false) => Verdict::DoesNotHold,
        (true, true) => match undecided.is_empty() {
            true => Verdict::NotMeasured(reasons(parts)),
            false => Verdict::Undecided(reasons(parts)),
        },
        (false, _) => {
            let lists = [
                ("holds", holds),
                ("does not hold", fails),
                ("undecided", undecided),
                ("not measured", unmeasured),
            ];
            let lists = lists.iter().filter(|(_, names)| !names.is_empty());
            let lists = lists.map(|(word, names)| format!("{word}: {}", names.join(", ")));
            Verdict::HoldsInPart(lists.collect::<Vec<_>>().join("; "))
        }
    };
    let ours = match verdict {
        Verdict::Undecided(_) | Verdict::NotMeasured(_) => Vec::new(),
        _ => parts.iter().map(Part::text).collect(),
    };
    Judgement {
        verdict,
        ours,
        why: parts.iter().filter_map(Part::why).collect(),
        notes: Vec::new(),
    }
}

/// Why no part is decided: each reason once; if there are several reasons, each with its parts.
fn reasons(parts: &[Part]) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for part in parts {
        let (Outcome::Undecided(why) | Outcome::NotMeasured(why)) = &part.outcome else {
            continue;
        };
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, parts)) => parts.push(&part.what),
            None => reasons.push((why, vec![&part.what])),
        }
    }
    match reasons.as_slice() {
        [(why, _)] => (*why).to_string(),
        _ => {
            let texts = reasons
                .iter()
                .map(|(why, parts)| format!("{}: {why}", parts.join(", ")));
            texts.collect::<Vec<_>>().join("; ")
        }
    }
}
