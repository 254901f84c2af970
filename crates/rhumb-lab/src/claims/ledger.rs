//! The ledger as text.

use comfy_table::ContentArrangement;

use super::{Judge, Judged, Verdict};
use crate::table;

/// Columns of the terminal that the ledger takes.
const WIDTH: u16 = 100;

/// What holds for all latencies.
const CLEARLY: &str = "Latencies are medians over repeats. One is clearly less if each of its repeats is less \
                       than each\nof the other, and the medians differ by more than 5 %. Where repeats \
                       overlap, medians within\n10 % of each other are equal, others unclear. A cell in which \
                       fence pointers stand for a kind\nin more than a quarter of the tables decides nothing.";

/// All claims with their verdicts, as a table for the terminal, and how many there are of each
/// verdict.
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

/// What there is to say of a claim.
fn lines(judged: &Judged) -> Vec<(&'static str, String)> {
    let (claim, judgement) = (judged.claim, &judged.judgement);
    let verdict = judgement.verdict.name().to_uppercase();
    let verdict = match &judgement.verdict {
        Verdict::Holds | Verdict::DoesNotHold => verdict,
        Verdict::HoldsInPart(which) => format!("{verdict}: {which}"),
        Verdict::Undecided(why) => format!("{verdict}: {why}"),
    };
    let mut lines = vec![
        (claim.id, verdict),
        ("paper", claim.paper.to_string()),
        ("published", claim.published.to_string()),
    ];
    if !judgement.ours.is_empty() {
        lines.push(("ours", judgement.ours.clone()));
    }
    if let Judge::By {
        rule, experiments, ..
    } = &claim.judge
    {
        lines.push(("rule", (*rule).to_string()));
        lines.push(("from", experiments.join(", ")));
    }
    lines
}

fn counts(judged: &[Judged]) -> String {
    let [mut holds, mut part, mut not, mut open] = [0; 4];
    for one in judged {
        *match one.judgement.verdict {
            Verdict::Holds => &mut holds,
            Verdict::HoldsInPart(_) => &mut part,
            Verdict::DoesNotHold => &mut not,
            Verdict::Undecided(_) => &mut open,
        } += 1;
    }
    format!(
        "{} claims: {holds} hold, {part} hold in part, {not} do not hold, {open} are not yet measured.",
        judged.len()
    )
}
