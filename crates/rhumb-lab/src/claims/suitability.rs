//! The suitability matrix (Table 2) from our measurements. A rule derives each mark from a number.
//! The rules for memory and look-up, applied to the published numbers of Figure 8, give the
//! published marks.

use super::compare::{median, short};
use super::edbt::{FENCE, IDS, cached, look_up, range, window};
use super::evidence::{Evidence, Missing, Selection};
use super::published::TABLE_2;
use crate::contest::{Interval, Rounds};
use crate::measure::Spread;
use crate::report::model::Mark;

/// The rule of each column.
pub const RULES: [&str; 4] = [
    "Memory: ratio of the bytes in memory (index, key map, directory) to those of fp-raw at the same boundary, which \
     needs no key map, on \
     the YCSB sets (E-F7, each boundary) and the real sets (E-F8), exact windows; unclustered kinds, which have no \
     boundary, are compared with fp-raw at each boundary: good if the ratio is below 1 everywhere (the number shown \
     is the greatest ratio), bad if it is nowhere below 1 (shown: the smallest), else caution (shown: the greatest).",
    "Look-up: ratio of the latency of gets to that of fp-raw at boundary 16 on the YCSB sets (E-F7), by rounds, the \
     median of the three sets in each: good if surely up to 1.25, caution up to 2, else bad; undecided if the rounds \
     spread over a limit.",
    "Rebuilding: training as a share of flushes and merges with entries of 16 B (E-F12): good up to 10 %, caution \
     up to 40 %, else bad. (Published: up to 20 % for clustered kinds, 80 % for others.)",
    "Seeking: ratio of the time of the seek of the shortest ranges over uniform keys to that of fp-raw (E-F9; for \
     unclustered kinds E-F12), the median over all boundaries in each round: good up to 1.25, caution up to 2, else bad. \
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
    let cells = || evidence.cells("E-F12").only("set", IDS).only("kind", kind);
    let (rounds, limits) = match aspect {
        0 => {
            let (mark, number) = memory(&memory_ratios(evidence, kind)?);
            return Ok(Decided { mark, number });
        }
        1 => (look_up_ratio(evidence, kind)?, SPEED),
        2 => (cells().rounds("training_share")?, REBUILDING),
        _ => (seek_ratio(evidence, kind)?, SPEED),
    };
    let number = rounds.median();
    let decided = graded(rounds.interval(), limits).map(|mark| Decided { mark, number });
    decided.ok_or_else(|| {
        let about = format!("{kind} {}: the rounds spread over a limit", short(number));
        let experiment = ["E-F7", "E-F7", "E-F12"].get(aspect).unwrap_or(&"E-F9");
        evidence.cells(experiment).undecided(about)
    })
}

/// Up to which number a mark is good, and up to which it is caution.
type Limits = [f64; 2];
const SPEED: Limits = [1.25, 2.0];
const REBUILDING: Limits = [0.1, 0.4];

/// The mark that an interval surely has; none if it reaches over a limit.
fn graded(interval: Interval, [good, caution]: Limits) -> Option<Mark> {
    let above = |limit| interval.least > limit;
    let marks = [
        (interval.greatest <= good, Mark::Good),
        (above(good) && interval.greatest <= caution, Mark::Caution),
        (above(caution), Mark::Bad),
    ];
    marks.into_iter().find(|(is, _)| *is).map(|(_, mark)| mark)
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

/// The bytes in memory as ratios to those of fence pointers, on each set of an experiment on
/// look-ups at each boundary.
fn ratios(
    evidence: &Evidence<'_>,
    experiment: &'static str,
    kind: &str,
) -> Result<Vec<f64>, Missing> {
    let windows = window(evidence, experiment).whole()?;
    let mut all = Vec::new();
    for set in windows.each("set") {
        for boundary in windows.numbers("boundary") {
            let cell = |kind: &str| look_up(evidence, experiment, kind, boundary).only("set", set);
            let fence = cell(FENCE);
            let fence = fence.value("memory_bytes")? - fence.value("key_map_bytes")?;
            all.push(cell(kind).value("memory_bytes")? / fence);
        }
    }
    Ok(all)
}

/// The ratio of a time of a kind to that of fence pointers, in each round the median of some cells;
/// each function returns the cell of a kind.
fn middle_ratio<'e>(
    cells: impl Iterator<Item = impl Fn(&str) -> Selection<'e>>,
    kind: &str,
    metric: &'static str,
) -> Result<Rounds, Missing> {
    let ratio = |cell: &dyn Fn(&str) -> Selection<'e>| {
        Ok(cell(kind)
            .rounds(metric)?
            .over(&cell(FENCE).rounds(metric)?))
    };
    let ratios: Vec<Rounds> = cells
        .map(|cell| ratio(&cell))
        .collect::<Result<_, Missing>>()?;
    Ok(Rounds::of_all(&ratios, median))
}

fn memory_ratios(evidence: &Evidence<'_>, kind: &str) -> Result<Vec<f64>, Missing> {
    let mut all = ratios(evidence, "E-F7", kind)?;
    all.extend(ratios(evidence, "E-F8", kind)?);
    Ok(all)
}

fn look_up_ratio(evidence: &Evidence<'_>, kind: &str) -> Result<Rounds, Missing> {
    let windows = window(evidence, "E-F7").whole()?;
    let sets = windows.each("set").into_iter();
    let cells =
        sets.map(|set| move |kind: &str| look_up(evidence, "E-F7", kind, 16).only("set", set));
    middle_ratio(cells, kind, "get_mean")
}

fn seek_ratio(evidence: &Evidence<'_>, kind: &str) -> Result<Rounds, Missing> {
    let windows = cached(evidence, "E-F9").whole()?;
    let shortest = windows.numbers("length").first().copied().unwrap_or(0);
    let cells = windows.numbers("boundary").into_iter().map(|boundary| {
        move |kind: &str| {
            let cells = range(evidence, "ycsb-uniform", kind, boundary);
            cells.only("length", shortest)
        }
    });
    middle_ratio(cells, kind, "seek_mean")
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
            let number = median(&published(row.kind, |cell| cell.latency));
            let mark = graded(Interval::of(&[number; 3]), SPEED);
            assert_eq!(mark, Some(row.marks[1]), "{}: look-up {number}", row.kind);
        }
        let marks = [0.1, 0.2, 0.8].map(|share| graded(Interval::of(&[share; 3]), REBUILDING));
        assert_eq!(marks, [Mark::Good, Mark::Caution, Mark::Bad].map(Some));
        assert_eq!(graded(Interval::of(&[0.05, 0.15, 0.2]), REBUILDING), None);
    }
}
