//! The suitability matrix (Table 2) from our measurements. A rule derives each mark from a number.
//! The rules for memory and look-up, applied to the published numbers of Figure 8, give the
//! published marks.

use super::compare::median;
use super::edbt::{FENCE, look_up, range, window};
use super::evidence::{Evidence, Missing, Selection};
use super::published::TABLE_2;
use crate::measure::Spread;
use crate::report::model::Mark;

/// The rule of each column.
pub const RULES: [&str; 4] = [
    "Memory: ratio of the bytes in memory (index, key map, directory) to those of fp-raw at the same boundary, on \
     the YCSB sets (E-F7, each boundary) and the real sets (E-F8), exact windows; unclustered kinds, which have no \
     boundary, are compared with fp-raw at each boundary: good if the ratio is below 1 everywhere (the number shown \
     is the greatest ratio), bad if it is nowhere below 1 (shown: the smallest), else caution (shown: the greatest).",
    "Look-up: ratio of the latency of gets to that of fp-raw at boundary 16 on the YCSB sets (E-F7), medians, the \
     median of the three sets: good up to 1.25, caution up to 2, else bad. (The real sets are left out: there an \
     entry of 16 B takes 53 B in a block of its own, but 15 B in a block of fence pointers, so the latencies cannot \
     be compared.)",
    "Rebuilding: training as a share of flushes and merges with entries of 16 B (E-F12): good up to 10 %, caution \
     up to 40 %, else bad. (Published: up to 20 % for clustered kinds, 80 % for others.)",
    "Seeking: ratio of the time of the seek of the shortest ranges over uniform keys to that of fp-raw (E-F9; for \
     unclustered kinds E-F12), medians, the median over all boundaries: good up to 1.25, caution up to 2, else bad. \
     (DILI, LIPP and LITS have a published caution because they lack an ordered look-up, which ours have.)",
];

/// A mark with the number that decided it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decided {
    /// The suitability of the kind.
    pub mark: Mark,
    /// The number that [`RULES`] describe.
    pub number: f64,
}

/// Our marks for a kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Suitability {
    /// The kind.
    pub kind: &'static str,
    /// A mark for each of [`super::published::ASPECTS`]; none if cells are missing.
    pub marks: [Option<Decided>; 4],
}

/// Our matrix, with a row for each row of [`TABLE_2`], the published matrix.
pub fn suitability(evidence: &Evidence<'_>) -> Vec<Suitability> {
    let rows = TABLE_2.iter().map(|row| Suitability {
        kind: row.kind,
        marks: [0, 1, 2, 3].map(|aspect| decide(evidence, row.kind, aspect).ok()),
    });
    rows.collect()
}

/// The mark of a kind in one of [`super::published::ASPECTS`], given by its index.
///
/// # Errors
/// If cells are missing.
pub fn decide(evidence: &Evidence<'_>, kind: &str, aspect: usize) -> Result<Decided, Missing> {
    let (mark, number) = match aspect {
        0 => memory(&memory_ratios(evidence, kind)?),
        1 => speed(&look_up_ratios(evidence, kind)?),
        2 => {
            let cells = evidence.cells("E-F12").only("set", "fb-like");
            return Ok(rebuilding(
                cells.only("kind", kind).value("training_share")?,
            ));
        }
        _ => speed(&seek_ratios(evidence, kind)?),
    };
    Ok(Decided { mark, number })
}

fn memory(ratios: &[f64]) -> (Mark, f64) {
    let spread = Spread::of(ratios);
    if spread.max < 1.0 {
        (Mark::Good, spread.max)
    } else if spread.min >= 1.0 {
        (Mark::Bad, spread.min)
    } else {
        (Mark::Caution, spread.max)
    }
}

fn speed(ratios: &[f64]) -> (Mark, f64) {
    let middle = median(ratios);
    (graded(middle, 1.25, 2.0), middle)
}

fn rebuilding(share: f64) -> Decided {
    Decided {
        mark: graded(share, 0.1, 0.4),
        number: share,
    }
}

fn graded(number: f64, good: f64, caution: f64) -> Mark {
    if number <= good {
        Mark::Good
    } else if number <= caution {
        Mark::Caution
    } else {
        Mark::Bad
    }
}

/// The ratio of a figure of a kind to that of fence pointers; `cells` returns the cell of a kind.
fn ratio<'e>(
    cells: impl Fn(&str) -> Selection<'e>,
    kind: &str,
    metric: &'static str,
) -> Result<f64, Missing> {
    Ok(cells(kind).value(metric)? / cells(FENCE).value(metric)?)
}

/// These ratios on each set of an experiment on look-ups, at each boundary that `is` accepts.
fn ratios(
    evidence: &Evidence<'_>,
    experiment: &'static str,
    is: impl Fn(u64) -> bool,
    kind: &str,
    metric: &'static str,
) -> Result<Vec<f64>, Missing> {
    let windows = window(evidence, experiment).whole()?;
    let mut all = Vec::new();
    for set in windows.each("set") {
        for boundary in windows.numbers("boundary").into_iter().filter(|b| is(*b)) {
            let cells = |kind: &str| look_up(evidence, experiment, kind, boundary).only("set", set);
            all.push(ratio(cells, kind, metric)?);
        }
    }
    Ok(all)
}

fn memory_ratios(evidence: &Evidence<'_>, kind: &str) -> Result<Vec<f64>, Missing> {
    let mut all = ratios(evidence, "E-F7", |_| true, kind, "memory_bytes")?;
    all.extend(ratios(evidence, "E-F8", |_| true, kind, "memory_bytes")?);
    Ok(all)
}

fn look_up_ratios(evidence: &Evidence<'_>, kind: &str) -> Result<Vec<f64>, Missing> {
    ratios(
        evidence,
        "E-F7",
        |boundary| boundary == 16,
        kind,
        "get_mean",
    )
}

fn seek_ratios(evidence: &Evidence<'_>, kind: &str) -> Result<Vec<f64>, Missing> {
    let windows = evidence.cells("E-F9").whole()?;
    let shortest = windows.numbers("length").first().copied().unwrap_or(0);
    let boundaries = windows.numbers("boundary").into_iter();
    let ratios = boundaries.map(|boundary| {
        let cells =
            |kind: &str| range(evidence, "ycsb-uniform", kind, boundary).only("length", shortest);
        ratio(cells, kind, "seek_mean")
    });
    ratios.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::published::{REAL_SETS, RealKeys, real_keys};

    /// Ratios of the published numbers, on the sets on which the kind did not fail.
    fn published(kind: &str, of: fn(RealKeys) -> f64) -> Vec<f64> {
        let sets = REAL_SETS.iter();
        let both = sets.filter_map(|set| Some((real_keys(kind, set)?, real_keys(FENCE, set)?)));
        both.map(|(kind, fence)| of(kind) / of(fence)).collect()
    }

    #[test]
    fn rules_applied_to_the_published_numbers_give_the_published_marks() {
        for row in TABLE_2 {
            let (mark, number) = memory(&published(row.kind, |cell| cell.bytes));
            assert_eq!(mark, row.marks[0], "{}: memory {number}", row.kind);
            let (mark, number) = speed(&published(row.kind, |cell| cell.latency));
            assert_eq!(mark, row.marks[1], "{}: look-up {number}", row.kind);
        }
        let marks = [0.1, 0.2, 0.8].map(|share| rebuilding(share).mark);
        assert_eq!(marks, [Mark::Good, Mark::Caution, Mark::Bad]);
    }
}
