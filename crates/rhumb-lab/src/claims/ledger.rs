//! The ledger of claims as text.

use comfy_table::ContentArrangement;

use super::{Judged, Verdict};
use crate::table;

/// The width of the ledger in columns of the terminal.
const WIDTH: u16 = 100;

/// The rules for comparing latencies, printed below the ledger.
const CLEARLY: &str = "Figures are medians over rounds. Times are compared by their ratio in each round, and by the\n\
    interval of its mean over the rounds (98 %): a time is clearly less than another if the whole\n\
    interval is below 1, and surely within a share of it if the whole interval is; else the rounds do\n\
    not decide. A kind of which more than a quarter of the tables fell back to fence pointers is left\n\
    out by name.";

/// All claims with their verdicts, as a table for the terminal, and the count of each verdict.
pub fn table(judged: &[Judged]) -> String {
    let headings = ["claim", ""].map(str::to_string);
    let mut rows = table::new(&headings, 2);
    rows.set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH);
    for one in judged {
        for (name, text) in lines(one) {
            rows.add_row([name.to_string(), text]);
        }
    }
    format!("{rows}\n\n{CLEARLY}\n{}\n", counts(judged))
}

/// A line for each claim, and the count of each verdict.
pub fn brief(judged: &[Judged]) -> String {
    let line = |one: &Judged| {
        let verdict = &one.judgement.verdict;
        let about = match verdict {
            Verdict::HoldsInPart(which) => format!(": {which}"),
            _ => String::new(),
        };
        format!("{:6}{}{about}\n", one.claim.id, verdict.name())
    };
    let lines: String = judged.iter().map(line).collect();
    format!("{lines}{}\n", counts(judged))
}

/// The lines of a claim, each with its heading.
fn lines(judged: &Judged) -> Vec<(&'static str, String)> {
    let (claim, judgement) = (judged.claim, &judged.judgement);
    let verdict = judgement.verdict.name().to_uppercase();
    let verdict = match &judgement.verdict {
        Verdict::Holds | Verdict::DoesNotHold => verdict,
        Verdict::HoldsInPart(which) => format!("{verdict}: {which}"),
        Verdict::Undecided(why) | Verdict::NotMeasured(why) => format!("{verdict}: {why}"),
    };
    let mut lines = vec![
        (claim.id, verdict),
        ("paper", claim.paper.to_string()),
        ("published", claim.published.to_string()),
    ];
    if !judgement.ours.is_empty() {
        lines.push(("ours", judgement.ours.join("\n")));
    }
    if !judgement.notes.is_empty() {
        lines.push(("judged by", judgement.notes.join("\n")));
    }
    if !judgement.why.is_empty() {
        lines.push(("why", judgement.why.join("\n")));
    }
    lines.push(("rule", claim.judge.rule.to_string()));
    lines.push(("from", claim.judge.experiments.join(", ")));
    lines
}

fn counts(judged: &[Judged]) -> String {
    let [mut holds, mut part, mut not, mut undecided, mut open] = [0; 5];
    for one in judged {
        *match one.judgement.verdict {
            Verdict::Holds => &mut holds,
            Verdict::HoldsInPart(_) => &mut part,
            Verdict::DoesNotHold => &mut not,
            Verdict::Undecided(_) => &mut undecided,
            Verdict::NotMeasured(_) => &mut open,
        } += 1;
    }
    format!(
        "{} claims: {holds} hold, {part} hold in part, {not} do not hold, {undecided} are undecided, \
         {open} are not yet measured.",
        judged.len()
    )
}
