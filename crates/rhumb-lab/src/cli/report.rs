//! `rhumb-lab report`: one page with all results.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;

use super::RESULTS;
use crate::claims::published::{ASPECTS, TABLE_2};
use crate::claims::suitability::{RULES, suitability};
use crate::claims::{self, Evidence, Judge, Judged};
use crate::error::{Error, Result};
use crate::experiment::{self, Chosen, Scale};
use crate::measure::Spread;
use crate::report;
use crate::report::model::{Claim, Headline, Page, Panel, Paper, Table, Verdict};
use crate::results::{Cell, ResultsFile};
use crate::table::number;

#[derive(Debug, Args)]
pub struct Report {
    /// SQLite file with the results
    #[arg(long, value_name = "FILE", default_value = RESULTS)]
    results: PathBuf,
    /// Scale of the experiments [default: that with the most cells in the results]
    #[arg(long, value_name = "SCALE")]
    scale: Option<Scale>,
    /// Seed of the experiments [default: that with the most cells in the results]
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// HTML file to write; an existing file is replaced
    #[arg(value_name = "FILE", default_value = "rhumb-lab.html")]
    page: PathBuf,
}

impl Report {
    /// Writes the page.
    ///
    /// # Errors
    /// If the results cannot be read or the page cannot be written.
    pub fn run(&self) -> Result<()> {
        let file = ResultsFile::open(&self.results)?;
        let chosen = experiment::chosen(self.scale, self.seed, file.cells()?);
        let (scale, cells) = (chosen.scale, &chosen.cells);
        if cells.is_empty() {
            return Err(Error::Usage(format!(
                "{} has no cells of {}: measure them with `rhumb-lab run`; {} is unchanged",
                self.results.display(),
                chosen.text(),
                self.page.display()
            )));
        }
        let evidence = Evidence::new(cells, scale)?;
        let mut papers = experiment::papers(cells, scale);
        add_matrix(&mut papers, &evidence);
        let page = Page {
            title: "rhumb: learned indexes in an LSM-tree, measured".to_string(),
            summary: SUMMARY.to_string(),
            environment: environment(&file, &chosen)?,
            warning: warning(&chosen),
            headlines: headlines(cells),
            claims: claims::judge(&evidence).iter().map(claim).collect(),
            papers,
        };
        let html = report::html(&page);
        std::fs::write(&self.page, html).map_err(Error::io("write", &self.page))?;
        println!("Wrote {}: {}.", self.page.display(), chosen.text());
        Ok(())
    }
}

/// A claim in the form of the page.
fn claim(judged: &Judged) -> Claim {
    let (claim, judgement) = (judged.claim, &judged.judgement);
    let (verdict, which) = match &judgement.verdict {
        claims::Verdict::Holds => (Verdict::Confirmed, ""),
        claims::Verdict::HoldsInPart(which) => (Verdict::Partly, which.as_str()),
        claims::Verdict::DoesNotHold => (Verdict::Refuted, ""),
        claims::Verdict::Undecided(why) => (Verdict::Undecided, why.as_str()),
        claims::Verdict::NotMeasured(why) => (Verdict::NotMeasured, why.as_str()),
    };
    let Judge {
        rule,
        experiments: figures,
        ..
    } = claim.judge;
    let mut ours = match judgement.ours.is_empty() {
        true => vec![which.to_string()],
        false => judgement.ours.clone(),
    };
    let notes = judgement.notes.iter();
    ours.extend(notes.map(|note| format!("judged by: {note}")));
    Claim {
        id: claim.id.to_string(),
        claim: shortened(claim.published),
        published: format!("{} ({})", claim.published, claim.paper),
        ours,
        why: judgement.why.clone(),
        verdict,
        rule: rule.to_string(),
        figures: figures.iter().map(|id| id.to_string()).collect(),
    }
}

/// The first clause of a text.
fn shortened(text: &str) -> String {
    let ends = [". ", "; ", ": "].map(|end| text.find(end).filter(|at| *at > 40));
    let end = ends.into_iter().flatten().min();
    let clause = text.get(..end.unwrap_or(text.len())).unwrap_or(text);
    clause.trim_end_matches('.').to_string()
}

/// Adds Table 2, which is derived from the cells of other experiments.
fn add_matrix(papers: &mut [Paper], evidence: &Evidence<'_>) {
    let mut figures = papers.iter_mut().flat_map(|paper| &mut paper.figures);
    if let Some(figure) = figures.find(|figure| figure.id == "E-T2") {
        figure.panels = matrix(evidence).into_iter().collect();
        figure.note = RULES.join(" ");
    }
}

/// Our marks with the numbers that decided them, and the published marks; none if no mark is
/// decided.
fn matrix(evidence: &Evidence<'_>) -> Option<Panel> {
    let ours = suitability(evidence);
    if ours.iter().all(|row| row.marks.iter().all(Option::is_none)) {
        return None;
    }
    let mut headings = vec!["kind".to_string()];
    for aspect in ASPECTS {
        headings.extend([format!("{aspect}, ours"), "paper".to_string()]);
    }
    let rows = TABLE_2.iter().zip(&ours).map(|(published, ours)| {
        let mut row = vec![report::model::Cell::text(ours.kind)];
        for (published, decided) in published.marks.iter().zip(&ours.marks) {
            row.push(match decided {
                Some(decided) => {
                    let number = number(Some(decided.number), 2);
                    report::model::Cell::marked(decided.mark, &number)
                }
                None => report::model::Cell::text("-"),
            });
            row.push(report::model::Cell::marked(*published, ""));
        }
        row
    });
    Some(Panel::Table(Table {
        title: "Suitability, from our measurements and as published".to_string(),
        headings,
        text_columns: 9,
        rows: rows.collect(),
    }))
}

const SUMMARY: &str = "rhumb is an ordered, durable key-value store that finds keys in its tables by learned models in \
                       place of fence pointers. This page repeats published measurements of such indexes in \
                       LSM-trees, with every index kind in one store, and shows for each published claim whether \
                       it holds here.";

/// The machines, commits and times of measuring of the cells of a scale.
fn environment(file: &ResultsFile, chosen: &Chosen) -> Result<Vec<(String, String)>> {
    let rounds = || chosen.cells.iter().flat_map(|cell| &cell.rounds);
    let has_some = |run: i64| rounds().any(|round| round.run == run);
    let runs = file.runs()?.into_iter().filter(|run| has_some(run.id));
    let runs: Vec<_> = runs.collect();
    let mut facts = Vec::new();
    let mut put = |name: &str, values: Vec<&str>| {
        let mut different: Vec<&str> = Vec::new();
        for value in values {
            if !different.contains(&value) {
                different.push(value);
            }
        }
        facts.push((name.to_string(), different.join("; ")));
    };
    put("scale", vec![chosen.scale.name()]);
    let counts = chosen.cells.iter().map(|cell| cell.rounds.len() as f64);
    let counts = Spread::of(&counts.collect::<Vec<_>>());
    put("rounds of a cell", vec![&span(counts, 0)]);
    let loads: Vec<f64> = rounds().filter_map(|round| round.load).collect();
    put("load average", vec![&span(Spread::of(&loads), 2)]);
    let seeds: BTreeSet<i64> = rounds().map(|round| round.seed).collect();
    let derived = seeds.len().saturating_sub(1);
    let seeds = format!("{}, and {derived} derived from it", chosen.seed);
    put("seed", vec![&seeds]);
    put("cells", vec![&number(Some(chosen.cells.len() as f64), 0)]);
    let ends = [runs.first(), runs.last()].into_iter().flatten();
    put("measured", ends.map(|run| run.time.as_str()).collect());
    put(
        "processor",
        runs.iter().map(|run| run.cpu.as_str()).collect(),
    );
    put(
        "machine",
        runs.iter().map(|run| run.machine.as_str()).collect(),
    );
    put(
        "commit",
        runs.iter().map(|run| run.commit.as_str()).collect(),
    );
    Ok(facts)
}

/// The fewest rounds by which the report can be believed.
const FEW_ROUNDS: usize = 5;

/// What speaks against the results; empty if nothing does.
fn warning(chosen: &Chosen) -> String {
    let rounds = chosen.cells.iter().map(|cell| cell.rounds.len()).max();
    let rounds = rounds.unwrap_or(0);
    match chosen.scale {
        Scale::Quick => format!(
            "{rounds} rounds of the smallest scale decide little: this page shows that everything runs, and the \
             rough shape of the figures. Believe the scale small on a quiet machine."
        ),
        _ if rounds < FEW_ROUNDS => {
            format!("With only {rounds} rounds, few differences can be decided.")
        }
        _ => String::new(),
    }
}

/// The smallest and the largest of some numbers.
fn span(numbers: Spread, digits: usize) -> String {
    let [least, greatest] = [numbers.min, numbers.max].map(|end| number(Some(end), digits));
    match least == greatest {
        true => least,
        false => format!("{least} to {greatest}"),
    }
}

/// The most important numbers, as far as they were measured.
fn headlines(cells: &[Cell]) -> Vec<Headline> {
    let find = |experiment: &str, axes: &[(&str, &str)]| {
        cells.iter().find(|cell| {
            let fits = axes.iter().all(|(axis, value)| cell.axis(axis) == *value);
            cell.experiment == experiment && fits
        })
    };
    let point = |kind: &str, boundary: &str, metric: &str| {
        let axes = [
            ("set", "ycsb-uniform"),
            ("kind", kind),
            ("boundary", boundary),
        ];
        let arm = [("arm", "window"), ("reading", "page cache")];
        find("E-F7", &[axes.as_slice(), &arm].concat())?.value(metric)
    };
    let building = |kind: &str, metric: &str| find("E-F14", &[("kind", kind)])?.value(metric);
    let ratio = |of: Option<f64>, to: Option<f64>| Some(of? / to?);
    let boundary = "16";
    let told = [
        (
            ratio(
                point("fp-raw", boundary, "memory_bytes"),
                point("pgm", boundary, "memory_bytes"),
            ),
            "×",
            "less index memory with pgm than with fence pointers, uniform 24-byte keys, boundary 16",
        ),
        (
            ratio(
                point("pgm", "128", "get_mean"),
                point("pgm", "8", "get_mean"),
            ),
            "×",
            "faster look-ups with pgm when the position boundary goes from 128 to 8, from the page cache",
        ),
        (
            building("pgm", "training_share").map(|share| 100.0 * share),
            "%",
            "of compaction is the training of pgm, entries of 1 KB",
        ),
        (
            find("E-F12", &[("kind", "pgm"), ("set", "fb")])
                .and_then(|cell| Some(100.0 * cell.value("training_share")?)),
            "%",
            "of compaction is the training of pgm, entries of 16 bytes",
        ),
    ];
    let told = told.into_iter().filter_map(|(value, unit, text)| {
        Some(Headline {
            value: number(Some(value?), 1),
            unit: unit.to_string(),
            text: text.to_string(),
        })
    });
    told.collect()
}
