//! A claim is judged by parts; its verdict follows from theirs.

use super::compare::Told;
use super::evidence::Missing;
use super::{Judgement, Verdict};

/// One thing that a claim says, judged alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// What it says, in a few words.
    pub what: &'static str,
    /// Whether it is so.
    pub outcome: Outcome,
}

/// Whether a part holds, with our numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It does.
    Holds(String),
    /// It does not.
    Fails(String),
    /// Not known, and why.
    Open(String),
}

impl Part {
    /// A part that results decide, unless they spread too widely: whether it holds, and our
    /// numbers.
    pub fn judged<T: Into<Told>>(what: &'static str, judged: Result<(T, String), Missing>) -> Part {
        let outcome = match judged.map(|(told, ours)| (told.into(), ours)) {
            Ok((Told::Yes, ours)) => Outcome::Holds(ours),
            Ok((Told::No, ours)) => Outcome::Fails(ours),
            Ok((Told::Unclear, ours)) => {
                Outcome::Open(format!("repeats spread too widely to tell: {ours}"))
            }
            Err(missing) => Outcome::Open(missing.to_string()),
        };
        Part { what, outcome }
    }

    /// A part that nothing we have decides, and why.
    pub fn open(what: &'static str, why: impl ToString) -> Part {
        let outcome = Outcome::Open(why.to_string());
        Part { what, outcome }
    }

    /// The same by another name, as part of another claim.
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

/// What follows from all parts of a claim: it holds if all do; it holds in part if at least one
/// does; it does not hold if those that are decided do not.
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
            let lists = [("holds", holds), ("does not", fails), ("undecided", open)];
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

/// Each reason once, with the parts that it is the reason for where there are several.
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
