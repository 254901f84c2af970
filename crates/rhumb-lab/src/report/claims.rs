//! The ledger: each published claim, its number there, ours here, and the verdict.

use super::markup::Markup;
use super::model::{Claim, Verdict};

/// Names of the columns with text, and their classes in `page.css`.
const COLUMNS: [(&str, &str); 6] = [
    ("Id", "id"),
    ("Claim", "claim"),
    ("Published", "numbers"),
    ("Ours", "numbers"),
    ("Verdict", "verdict"),
    ("Rule", "rule"),
];

const VERDICTS: [Verdict; 4] = [
    Verdict::Confirmed,
    Verdict::Partly,
    Verdict::Refuted,
    Verdict::NotMeasured,
];

impl Verdict {
    /// Its sign and words.
    fn text(self) -> &'static str {
        match self {
            Verdict::Confirmed => "✓ confirmed",
            Verdict::Partly => "≈ partly",
            Verdict::Refuted => "✗ refuted",
            Verdict::NotMeasured => "– not measured",
        }
    }

    /// Its class in `page.css`.
    fn class(self) -> &'static str {
        match self {
            Verdict::Confirmed => "confirmed",
            Verdict::Partly => "partly",
            Verdict::Refuted => "refuted",
            Verdict::NotMeasured => "open",
        }
    }
}

/// Draws the ledger: counts of the verdicts, and a row for each claim.
pub fn draw(claims: &[Claim], out: &mut Markup) {
    if claims.is_empty() {
        return;
    }
    out.nest("section", &[("id", &"claims")], |out| {
        out.element("h2", &[], "Published claims, measured again");
        out.nest("fieldset", &[("class", &"verdicts")], |out| {
            filter(out, "all", &format!("all: {}", claims.len()));
            for verdict in VERDICTS {
                let count = claims.iter().filter(|claim| claim.verdict == verdict);
                let text = format!("{}: {}", verdict.text(), count.count());
                filter(out, verdict.class(), &text);
            }
        });
        out.nest("div", &[("class", &"scroll")], |out| {
            out.nest("table", &[("class", &"claims")], |out| {
                out.nest("tr", &[], |out| {
                    let names = COLUMNS.iter().map(|(name, _)| *name);
                    names
                        .chain(["Figures"])
                        .for_each(|name| out.element("th", &[], name));
                });
                claims.iter().for_each(|claim| self::claim(claim, out));
            });
        });
    });
}

/// A button that shows the claims of one verdict only; `page.css` does it without a script.
fn filter(out: &mut Markup, class: &str, text: &str) {
    out.nest("label", &[], |out| {
        let id = format!("show-{class}");
        match class {
            "all" => out.empty(
                "input",
                &[
                    ("type", &"radio"),
                    ("name", &"show"),
                    ("id", &id),
                    ("checked", &"checked"),
                ],
            ),
            _ => out.empty(
                "input",
                &[("type", &"radio"), ("name", &"show"), ("id", &id)],
            ),
        }
        out.text(text);
    });
}

fn claim(claim: &Claim, out: &mut Markup) {
    let class = claim.verdict.class();
    out.nest("tr", &[("class", &class), ("id", &claim.id)], |out| {
        let texts: [&str; 6] = [
            &claim.id,
            &claim.claim,
            &claim.published,
            &claim.ours,
            claim.verdict.text(),
            &claim.rule,
        ];
        for ((name, class), text) in COLUMNS.iter().zip(texts) {
            let text = if text.is_empty() { "–" } else { text };
            out.element("td", &[("class", class), ("data-name", name)], text);
        }
        out.nest(
            "td",
            &[("class", &"figures"), ("data-name", &"Figures")],
            |out| {
                for id in &claim.figures {
                    out.element("a", &[("href", &format!("#{id}"))], id);
                    out.text(" ");
                }
            },
        );
    });
}
