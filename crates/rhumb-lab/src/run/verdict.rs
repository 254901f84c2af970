//! Verdicts: whether a kind as a whole is as good as its reference.

use comfy_table::Table;

use crate::table;

/// A kind is as good as its reference if the geometric mean of its ratios is at most `MEAN_LIMIT`,
/// and no ratio is above `CELL_LIMIT`.
const MEAN_LIMIT: f64 = 1.0;
const CELL_LIMIT: f64 = 1.25;

/// One cell of a kind in one measure.
#[derive(Debug)]
pub struct Compared {
    pub against: &'static str,
    /// Our figure over the reference's; not finite if there is nothing to compare.
    pub ratio: f64,
    /// Whether the reference gave wrong answers; such a cell is not compared.
    pub is_wrong: bool,
    /// The name of the cell.
    pub at: String,
}

/// One kind against its reference in one measure.
#[derive(Debug, PartialEq)]
pub struct Verdict {
    pub kind: &'static str,
    pub against: &'static str,
    pub measure: &'static str,
    /// The number of cells whose reference gave correct answers, and of cells whose reference did
    /// not.
    pub cells: usize,
    pub wrong: usize,
    /// The geometric mean of the ratios.
    pub mean: f64,
    pub worst: f64,
    pub worst_at: String,
}

impl Verdict {
    /// The verdict from a kind's cells in one measure; `None` if no cell has a correct reference.
    pub fn of(
        kind: &'static str,
        measure: &'static str,
        cells: impl Iterator<Item = Compared>,
    ) -> Option<Verdict> {
        let (mut against, mut wrong, mut ratios) = ("", 0, Vec::new());
        for cell in cells {
            against = cell.against;
            match (cell.is_wrong, cell.ratio.is_finite()) {
                (true, _) => wrong += 1,
                (false, true) => ratios.push((cell.ratio, cell.at)),
                (false, false) => {}
            }
        }
        let logarithms: f64 = ratios.iter().map(|(ratio, _)| ratio.ln()).sum();
        let (worst, worst_at) = ratios.iter().max_by(|a, b| a.0.total_cmp(&b.0))?.clone();
        Some(Verdict {
            kind,
            against,
            measure,
            cells: ratios.len(),
            wrong,
            mean: (logarithms / ratios.len() as f64).exp(),
            worst,
            worst_at,
        })
    }

    /// The verdict in a few words.
    pub fn word(&self) -> &'static str {
        // Compared in the digits that are printed.
        let within = |ratio: f64, limit: f64| (ratio * 100.0).round() <= limit * 100.0;
        match (
            within(self.mean, MEAN_LIMIT),
            within(self.worst, CELL_LIMIT),
        ) {
            (true, true) => "met",
            (true, false) => "worst cell missed",
            (false, true) => "mean missed",
            (false, false) => "missed",
        }
    }
}

/// A table of verdicts, with a row for each kind and measure; a kind may occur several times.
pub fn table(
    kinds: impl Iterator<Item = &'static str>,
    measures: usize,
    verdict: impl Fn(&'static str, usize) -> Option<Verdict>,
) -> Table {
    let mut distinct: Vec<&'static str> = Vec::new();
    for kind in kinds {
        if !distinct.contains(&kind) {
            distinct.push(kind);
        }
    }
    let rows = distinct
        .iter()
        .flat_map(|kind| (0..measures).map(move |measure| (*kind, measure)));
    let verdicts = rows.filter_map(|(kind, measure)| verdict(kind, measure));
    let headings = [
        "kind",
        "against",
        "measure",
        "worst at",
        "cells",
        "wrong ref",
        "geometric mean",
        "worst",
        "verdict",
    ];
    let mut table = table::new(&headings.map(str::to_string), 4);
    for verdict in verdicts {
        table.add_row([
            verdict.kind.to_string(),
            verdict.against.to_string(),
            verdict.measure.to_string(),
            verdict.worst_at.clone(),
            verdict.cells.to_string(),
            verdict.wrong.to_string(),
            table::number(Some(verdict.mean), 2),
            table::number(Some(verdict.worst), 2),
            verdict.word().to_string(),
        ]);
    }
    table
}

/// An explanation of the words.
pub fn legend() -> String {
    format!(
        "Met: the mean is at most {MEAN_LIMIT:.2} and no cell is above {CELL_LIMIT:.2}, in the two decimals that are \
         printed."
    )
}
