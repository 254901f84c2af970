//! The suitability matrix (Table 2), from our measurements: each mark follows from a number by a
//! rule. The rules on memory and look-up, applied to the published numbers of Figure 8, give the
//! published marks.

use super::compare::median;
use super::edbt::{FENCE, look_up, range, window};
use super::evidence::{Evidence, Missing, Selection};
use super::published::TABLE_2;
use crate::measure::Spread;
use crate::report::model::Mark;

/// How each column follows from results.
pub const RULES: [&str; 4] = [
    "Bytes held (index, key map, directory) over those of fp-raw at the same boundary, on the YCSB sets \
     (E-F7, each boundary) and the real sets (E-F8), exact windows; of unclustered kinds, which have no boundary, \
     over those at each: good if below 1 everywhere (told: the \
     greatest), bad if nowhere (told: the least), else caution (told: the greatest).",
    "Latency of gets over that of fp-raw at boundary 16 on the YCSB sets (E-F7), medians, the middle of the \
     three: good up to 1.25, caution up to 2, else bad. (On the real sets an entry of 16 B takes 53 B in a block \
     of its own, and 15 B in a block of fence pointers, so that the two do not compare.)",
    "Training as a share of flushes and merges with entries of 16 B (E-F12): good up to 10 %, caution up to 40 %, \
     else bad. (Published: up to 20 % for clustered kinds, 80 % for others.)",
    "Time of the seek of the shortest ranges over uniform keys over that of fp-raw (E-F9; of unclustered kinds \
     E-F12), medians, the middle of all boundaries: good up to 1.25, caution up to 2, else bad. (The caution of DILI, LIPP \
     and LITS was published for a missing interface, an ordered look-up, which ours have.)",
];

/// A mark with the number that decided it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decided {
    /// How well the kind is suited.
    pub mark: Mark,
    /// The number that [`RULES`] name.
    pub number: f64,
}

/// What our results say of a kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Suitability {
    /// The kind.
    pub kind: &'static str,
    /// A mark for each of [`super::published::ASPECTS`]; none where cells are missing.
    pub marks: [Option<Decided>; 4],
}

/// Our matrix, a row for each of [`TABLE_2`], whose marks are the published ones.
pub fn suitability(evidence: &Evidence<'_>) -> Vec<Suitability> {
    let rows = TABLE_2.iter().map(|row| Suitability {
        kind: row.kind,
        marks: [0, 1, 2, 3].map(|aspect| decide(evidence, row.kind, aspect).ok()),
    });
    rows.collect()
}

/// The mark of a kind in one of [`super::published::ASPECTS`], by its place.
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

/// The ratios of a figure of a kind to that of fence pointers, by what gives the cells of either.
fn ratio<'e>(
    cells: impl Fn(&str) -> Selection<'e>,
    kind: &str,
    metric: &'static str,
) -> Result<f64, Missing> {
    Ok(cells(kind).value(metric)? / cells(FENCE).value(metric)?)
}

/// The same on each set of an experiment on look-ups, at each boundary of some.
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

    /// Ratios of the published numbers, on the sets where a kind did not fail.
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
