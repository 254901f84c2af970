//! The parts of a claim. Each is judged alone, and the verdict on the claim follows from them.

use super::compare::Told;
use super::evidence::Missing;
use super::{Judgement, Verdict};

/// One statement of a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The statement, in a few words.
    pub what: &'static str,
    /// Whether it holds.
    pub outcome: Outcome,
}

/// Whether a part holds, with our numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It holds.
    Holds(String),
    /// It does not hold.
    Fails(String),
    /// It is undecided, and why.
    Open(String),
}

impl Part {
    /// A part that is judged by results, which leave it undecided if repeats spread too widely.
    pub fn judged<T: Into<Told>>(what: &'static str, judged: Result<(T, String), Missing>) -> Part {
        let outcome = match judged.map(|(told, ours)| (told.into(), ours)) {
            Ok((Told::Yes, ours)) => Outcome::Holds(ours),
            Ok((Told::No, ours)) => Outcome::Fails(ours),
            Ok((Told::Unclear, ours)) => {
                Outcome::Open(format!("repeats spread too widely to decide: {ours}"))
            }
            Err(missing) => Outcome::Open(missing.to_string()),
        };
        Part { what, outcome }
    }

    /// A part that is undecided, and why.
    pub fn open(what: &'static str, why: impl ToString) -> Part {
        let outcome = Outcome::Open(why.to_string());
        Part { what, outcome }
    }

    /// The same part under another name, for another claim.
    pub fn named(self, what: &'static str) -> Part {
        Part { what, ..self }
    }

    fn text(&self) -> String {
        let what = self.what;
        match &self.outcome {
            Outcome::Holds(ours) => format!("{what}: yes ({ours})"),
            Outcome::Fails(ours) => format!("{what}: no ({ours})"),
            Outcome::Open(why) => format!("{what}: undecided ({why})"),
        }
    }
}

/// The verdict from all parts of a claim: it holds if all parts hold; it holds in part if at least
/// one holds; it does not hold if none holds and at least one is decided.
pub fn verdict(parts: &[Part]) -> Judgement {
    let names = |of: fn(&Outcome) -> bool| -> Vec<&str> {
        let these = parts.iter().filter(|part| of(&part.outcome));
        these.map(|part| part.what).collect()
    };
    let holds = names(|outcome| matches!(outcome, Outcome::Holds(_)));
    let fails = names(|outcome| matches!(outcome, Outcome::Fails(_)));
    let open = names(|outcome| matches!(outcome, Outcome::Open(_)));
    let texts: Vec<String> = parts.iter().map(Part::text).collect();
    let verdict = match (holds.is_empty(), fails.is_empty(), open.is_empty()) {
        (false, true, true) => Verdict::Holds,
        (true, false, _) => Verdict::DoesNotHold,
        (true, true, _) => return undecided(parts),
        (false, _, _) => {
            let lists = [
                ("holds", holds),
                ("does not hold", fails),
                ("undecided", open),
            ];
            let lists = lists.iter().filter(|(_, names)| !names.is_empty());
            let lists = lists.map(|(word, names)| format!("{word}: {}", names.join(", ")));
            Verdict::HoldsInPart(lists.collect::<Vec<_>>().join("; "))
        }
    };
    Judgement {
        verdict,
        ours: texts.join("; "),
    }
}

/// Each reason once; if there are several reasons, each with its parts.
fn undecided(parts: &[Part]) -> Judgement {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for part in parts {
        let Outcome::Open(why) = &part.outcome else {
            continue;
        };
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, parts)) => parts.push(part.what),
            None => reasons.push((why, vec![part.what])),
        }
    }
    let text = match reasons.as_slice() {
        [(why, _)] => (*why).to_string(),
        _ => {
            let texts = reasons
                .iter()
                .map(|(why, parts)| format!("{}: {why}", parts.join(", ")));
            texts.collect::<Vec<_>>().join("; ")
        }
    };
    Judgement {
        verdict: Verdict::Undecided(text),
        ours: String::new(),
    }
}
