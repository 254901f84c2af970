//! The ledger as JSON (RFC 8259), for other programs.

use super::{Judge, Judged, Verdict};

/// An array with an object for each claim, one a line.
pub fn json(judged: &[Judged]) -> String {
    let claims: Vec<String> = judged.iter().map(object).collect();
    format!("[\n{}\n]\n", claims.join(",\n"))
}

fn object(judged: &Judged) -> String {
    let (claim, judgement) = (judged.claim, &judged.judgement);
    let about = match &judgement.verdict {
        Verdict::Holds | Verdict::DoesNotHold => "",
        Verdict::HoldsInPart(about) | Verdict::Undecided(about) | Verdict::NotMeasured(about) => {
            about
        }
    };
    let Judge {
        rule, experiments, ..
    } = claim.judge;
    let fields = [
        ("id", text(claim.id)),
        ("paper", text(claim.paper)),
        ("published", text(claim.published)),
        ("verdict", text(judgement.verdict.name())),
        ("about", text(about)),
        ("ours", array(&judgement.ours)),
        ("why", array(&judgement.why)),
        ("judged_by", array(&judgement.notes)),
        ("rule", text(rule)),
        ("experiments", array(experiments)),
    ];
    let fields = fields.map(|(name, value)| format!("{}: {value}", text(name)));
    format!("  {{{}}}", fields.join(", "))
}

fn array(texts: &[impl AsRef<str>]) -> String {
    let texts: Vec<String> = texts.iter().map(|one| text(one.as_ref())).collect();
    format!("[{}]", texts.join(", "))
}

fn text(of: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in of.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            control if control < ' ' => quoted += &format!("\\u{:04x}", control as u32),
            letter => quoted.push(letter),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted() {
        assert_eq!(text("a \"b\" \\ é\n"), r#""a \"b\" \\ é\u000a""#);
        assert_eq!(array(&["a", "b"]), r#"["a", "b"]"#);
        assert_eq!(array(&[] as &[&str]), "[]");
    }
}
