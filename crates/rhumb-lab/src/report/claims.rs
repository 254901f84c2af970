//! The ledger: each published claim with the published numbers, ours, and the verdict.

use super::markup::Markup;
use super::model::{Claim, Verdict};

const VERDICTS: [Verdict; 5] = [
    Verdict::Confirmed,
    Verdict::Partly,
    Verdict::Refuted,
    Verdict::Undecided,
    Verdict::NotMeasured,
];

impl Verdict {
    /// Its sign and words.
    fn text(self) -> &'static str {
        match self {
            Verdict::Confirmed => "✓ holds",
            Verdict::Partly => "≈ holds in part",
            Verdict::Refuted => "✗ does not hold",
            Verdict::Undecided => "? undecided",
            Verdict::NotMeasured => "– not yet measured",
        }
    }

    /// Its class in `page.css`.
    fn class(self) -> &'static str {
        match self {
            Verdict::Confirmed => "confirmed",
            Verdict::Partly => "partly",
            Verdict::Refuted => "refuted",
            Verdict::Undecided => "undecided",
            Verdict::NotMeasured => "open",
        }
    }
}

/// Draws the ledger: counts of the verdicts, and a line for each claim, which unfolds.
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
        claims.iter().for_each(|claim| self::claim(claim, out));
    });
}

/// A button that shows only the claims with one verdict; `page.css` does this without a script.
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

/// One line with id, claim and verdict; when it is opened, the details of the claim.
fn claim(claim: &Claim, out: &mut Markup) {
    let class = format!("claim {}", claim.verdict.class());
    out.nest("details", &[("class", &class), ("id", &claim.id)], |out| {
        out.nest("summary", &[], |out| {
            out.element("span", &[("class", &"id")], &claim.id);
            out.element("span", &[("class", &"title")], &claim.claim);
            out.element("span", &[("class", &"verdict")], claim.verdict.text());
        });
        out.nest("dl", &[], |out| {
            for (name, texts) in [
                ("Published", vec![claim.published.as_str()]),
                ("Ours", claim.ours.iter().map(String::as_str).collect()),
                (
                    "Why it differs",
                    claim.why.iter().map(String::as_str).collect(),
                ),
                ("Rule", vec![claim.rule.as_str()]),
            ] {
                told(name, &texts, out);
            }
            if !claim.figures.is_empty() {
                out.element("dt", &[], "From");
                out.nest("dd", &[], |out| {
                    for id in &claim.figures {
                        out.element("a", &[("href", &format!("#{id}"))], id);
                        out.text(" ");
                    }
                });
            }
        });
    });
}

/// A name with some lines of text; nothing if the text is empty.
fn told(name: &str, texts: &[&str], out: &mut Markup) {
    if texts.iter().all(|text| text.is_empty()) {
        return;
    }
    out.element("dt", &[], name);
    out.nest("dd", &[], |out| {
        texts.iter().for_each(|text| out.element("div", &[], text));
    });
}
