//! Tests of the claims as data, and of the ledger's text.

use super::{NARROW, SCALE, as_published, cells};
use crate::claims::published::ASPECTS;
use crate::claims::suitability::RULES;
use crate::claims::{Evidence, Judge, all, brief, json, judge, table};
use crate::experiment;

/// Claims that were published without a number.
const WITHOUT_NUMBER: [&str; 4] = ["C-E4", "C-E7", "C-E10", "C-L6"];

#[test]
fn the_ledger_is_complete() {
    let papers = [("E", 13), ("L", 12), ("B", 5), ("D", 11)];
    let ids = papers
        .iter()
        .flat_map(|(paper, count)| (1..=*count).map(move |number| format!("C-{paper}{number}")));
    assert!(ids.eq(all().map(|claim| claim.id.to_string())));
    for claim in all() {
        let text = claim.published;
        let number = text.contains(|letter: char| letter.is_ascii_digit());
        assert!(
            number || WITHOUT_NUMBER.contains(&claim.id),
            "{}: {text}",
            claim.id
        );
        assert!(
            !text.contains("  ") && text.ends_with('.'),
            "{}: {text}",
            claim.id
        );
        let Judge {
            rule, experiments, ..
        } = claim.judge;
        assert!(
            !rule.contains("  ") && rule.ends_with('.'),
            "{}: {rule}",
            claim.id
        );
        let known = |id: &&str| experiment::find(id).is_some();
        assert!(
            !experiments.is_empty() && experiments.iter().all(known),
            "{}",
            claim.id
        );
    }
}

#[test]
fn the_table_has_every_claim_and_fits_the_terminal() {
    let cells = cells(NARROW, as_published);
    let text = table(&judge(&Evidence::new(&cells, SCALE).unwrap()));
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    for claim in all() {
        let row = format!("| {} ", claim.id);
        assert_eq!(
            text.lines().filter(|line| line.starts_with(&row)).count(),
            1,
            "{}",
            claim.id
        );
    }
    // Of LearnedKV those over RocksDB alone, which not every build has.
    let counts = match cfg!(feature = "peers") {
        true => "0 do not hold, 0 are undecided, 0 are not yet measured.",
        false => "0 do not hold, 6 are undecided, 0 are not yet measured.",
    };
    assert!(text.trim_end().ends_with(counts), "{text}");
    assert!(text.contains("HOLDS IN PART: holds: "));
}

#[test]
fn brief_and_json_have_every_claim() {
    let cells = cells(NARROW, as_published);
    let judged = judge(&Evidence::new(&cells, SCALE).unwrap());
    let (brief, json) = (brief(&judged), json(&judged));
    assert_eq!(brief.lines().count(), 42, "41 claims, and the counts");
    assert!(brief.contains("C-E1  holds\n") && brief.contains("C-L5  holds\n"));
    for claim in all() {
        let start = format!("  {{\"id\": \"{}\", ", claim.id);
        assert_eq!(json.matches(&start).count(), 1, "{}", claim.id);
    }
    assert!(json.starts_with("[\n") && json.ends_with("]}\n]\n"));
    assert!(json.contains("\"verdict\": \"holds in part\""));
}

#[test]
fn rules_of_the_matrix_name_their_experiments() {
    for (aspect, rule) in ASPECTS.iter().zip(RULES) {
        assert!(
            !rule.contains("  ") && rule.contains(": good "),
            "{aspect}: {rule}"
        );
        let known = experiment::all().any(|experiment| rule.contains(experiment.id));
        assert!(known, "{aspect}: {rule}");
    }
}
