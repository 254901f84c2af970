//! The tables: our figures beside the reference's, and the verdict on each kind.

use super::reference::{self, Cell, Row};
use super::{Bench, Measured, NAME, Source, Times};
use crate::measure::Spread;
use crate::results::Subject;
use crate::run::verdict::{self, Compared, Verdict};
use crate::table;

/// The measures that are compared.
const MEASURES: [&str; 5] = ["look-up", "look-up, least", "absent", "build", "size"];

/// Medians of one index on one source.
#[derive(Debug, Clone, Copy)]
struct Figures {
    kib: f64,
    build: f64,
    look_up: f64,
    absent: f64,
    /// Ratios to the yardstick: look-up, minimum look-up to minimum yardstick, absent, build.
    ratios: [f64; 4],
}

impl Figures {
    fn of(measured: &Measured) -> Figures {
        let spread = |of: &dyn Fn(&Times) -> f64| {
            let values: Vec<f64> = measured.times.iter().map(of).collect();
            Spread::of(&values)
        };
        let look_up = spread(&|times| times.look_up);
        let yardstick = spread(&|times| times.yardstick[0]);
        Figures {
            kib: measured.bytes as f64 / 1_024.0,
            build: spread(&|times| times.build).median,
            look_up: look_up.median,
            absent: spread(&|times| times.absent).median,
            ratios: [
                spread(&|times| times.look_up / times.yardstick[0]).median,
                look_up.min / yardstick.min,
                spread(&|times| times.absent / times.yardstick[1]).median,
                spread(&|times| times.build / times.yardstick[0]).median,
            ],
        }
    }

    /// These figures over the reference's, in the order of [`MEASURES`].
    fn against(&self, cell: &Cell, yardstick: &Cell) -> [f64; 5] {
        let theirs = reference_ratios(cell, yardstick);
        let ratio = |at: usize| self.ratios[at] / theirs[at];
        [ratio(0), ratio(1), ratio(2), ratio(3), self.kib / cell.kib]
    }
}

/// The reference's ratios to its yardstick, in the order of [`Figures::ratios`].
fn reference_ratios(cell: &Cell, yardstick: &Cell) -> [f64; 4] {
    let [least, median] = cell.look_up;
    [
        median / yardstick.look_up[1],
        least / yardstick.look_up[0],
        cell.absent / yardstick.absent,
        // 0 means less than half a nanosecond, and counts as a half.
        cell.build.max(0.5) / yardstick.look_up[1],
    ]
}

/// The reference of the same kind and parameter, and its cell and yardstick on this set.
fn counterpart(measured: &Measured) -> Option<(&'static Row, Cell, Cell)> {
    let candidate = &measured.candidate;
    let row = reference::row(candidate.spec.kind().name, candidate.parameter)?;
    let (cell, yardstick) = row.on(measured.set?);
    Some((row, cell, yardstick))
}

/// Saves the figures of a source, and returns their table.
pub fn source(source: &Source, all: &[Measured], bench: &mut Bench) -> String {
    let headings = [
        "index", "KiB", "ref", "ours/ref", "build", "ref", "ours/ref", "look-up", "/yard", "ref",
        "/yard", "ours/ref", "least", "absent", "/yard", "ref", "/yard", "ours/ref",
    ];
    let mut table = table::new(&headings.map(str::to_string), 1);
    for measured in all {
        keep(measured, source.keys.len(), bench);
        table.add_row(cells(measured));
    }
    let yardsticks = [0, 1].map(|at| {
        let times = all.iter().flat_map(|measured| &measured.times);
        let values: Vec<f64> = times.map(|times| times.yardstick[at]).collect();
        table::with_spread(Spread::of(&values), 0)
    });
    format!(
        "{table}\n\n{}: {} keys; yardstick {} ns, absent {} ns.\n\n",
        source.name,
        table::number(Some(source.keys.len() as f64), 0),
        yardsticks[0],
        yardsticks[1],
    )
}

fn cells(measured: &Measured) -> Vec<String> {
    let number = |value, digits| table::number(Some(value), digits);
    if measured.times.is_empty() {
        return vec![measured.candidate.to_string(), "unfit".to_string()];
    }
    let ours = Figures::of(measured);
    let reference = counterpart(measured);
    let theirs = |of: &dyn Fn(&Cell, &Cell) -> f64, digits| {
        let value = reference.map(|(_, cell, yardstick)| of(&cell, &yardstick));
        table::number(value, digits)
    };
    let against = |at: usize| theirs(&|cell, yard| ours.against(cell, yard)[at], 2);
    let ratio = |at: usize| theirs(&|cell, yard| reference_ratios(cell, yard)[at], 2);
    let wrong = reference.map_or(0, |(_, cell, _)| cell.wrong);
    let mark = if wrong > 0 {
        format!("!{wrong}")
    } else {
        String::new()
    };
    vec![
        measured.candidate.to_string(),
        number(ours.kib, 1),
        theirs(&|cell, _| cell.kib, 1),
        against(4),
        number(ours.build, 1),
        theirs(&|cell, _| cell.build, 0),
        against(3),
        number(ours.look_up, 0),
        number(ours.ratios[0], 2),
        theirs(&|cell, _| cell.look_up[1], 0),
        ratio(0),
        against(0),
        against(1),
        number(ours.absent, 0),
        number(ours.ratios[2], 2),
        theirs(&|cell, _| cell.absent, 0) + &mark,
        ratio(2),
        against(2),
    ]
}

fn keep(measured: &Measured, keys: usize, bench: &mut Bench) {
    let subject = Subject {
        experiment: NAME,
        input: measured.input.clone(),
        index: measured.candidate.to_string(),
    };
    let report = &mut bench.report;
    report.put(&subject, "keys", keys as f64, "keys");
    if measured.times.is_empty() {
        return;
    }
    report.put(&subject, "bytes", measured.bytes as f64, "B");
    type Metric = (&'static str, fn(&Times) -> f64, &'static str);
    let metrics: [Metric; 8] = [
        ("build", |times| times.build, "ns"),
        ("look-up", |times| times.look_up, "ns"),
        ("absent", |times| times.absent, "ns"),
        ("yardstick", |times| times.yardstick[0], "ns"),
        ("yardstick, absent", |times| times.yardstick[1], "ns"),
        ("build ratio", |times| times.build / times.yardstick[0], ""),
        (
            "look-up ratio",
            |times| times.look_up / times.yardstick[0],
            "",
        ),
        (
            "absent ratio",
            |times| times.absent / times.yardstick[1],
            "",
        ),
    ];
    for (metric, of, unit) in metrics {
        let values: Vec<f64> = measured.times.iter().map(of).collect();
        report.put_repeated(&subject, metric, &values, unit);
    }
    if let Some((_, cell, yardstick)) = counterpart(measured) {
        let against = Figures::of(measured).against(&cell, &yardstick);
        for (measure, ratio) in MEASURES.iter().zip(against) {
            report.put(&subject, &format!("{measure}, ours/ref"), ratio, "");
        }
    }
}

/// The verdict on a kind's cells in one measure.
fn verdict(kind: &'static str, measure: usize, all: &[Measured]) -> Option<Verdict> {
    let of_kind = all.iter().filter(|measured| {
        measured.candidate.spec.kind().name == kind && !measured.times.is_empty()
    });
    let cells = of_kind.filter_map(|measured| {
        let (row, cell, yardstick) = counterpart(measured)?;
        Some(Compared {
            against: row.name,
            ratio: Figures::of(measured).against(&cell, &yardstick)[measure],
            is_wrong: cell.wrong > 0,
            at: format!("{}, {}", measured.input, measured.candidate),
        })
    });
    Verdict::of(kind, MEASURES[measure], cells)
}

/// The table of kinds, and an explanation of the columns of all tables.
pub fn summary(all: &[Measured]) -> String {
    let kinds = all
        .iter()
        .map(|measured| measured.candidate.spec.kind().name);
    let table = verdict::table(kinds, MEASURES.len(), |kind, at| verdict(kind, at, all));
    let runs = all.iter().map(|measured| measured.times.len()).max();
    format!(
        "{table}\n\nMedians of {} runs, thread CPU time in ns for a key (build, which ends with an opened index) \
         or a look-up (random keys, independent of each other). /yard: share of a binary search over all \
         keys in the same run. ref: the published implementation over {} keys of the same kind. \
         ours/ref: our share of the yardstick divided by theirs, for builds too; least: from the minimum times instead \
         of the medians; sizes are divided directly. !n: the reference answered n of 300,000 absent keys wrongly; such \
         cells are left out. A build of 0 ns counts as half a nanosecond. {}",
        runs.unwrap_or(0),
        table::number(Some(reference::KEYS as f64), 0),
        verdict::legend(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::numbers::Numbers;
    use crate::run::indexes::candidate::{Candidate, Parameter};

    /// A kind whose figures are `factor` times the reference's.
    fn measured(set: Numbers, spec: &str, parameter: Parameter, factor: f64) -> Measured {
        let row = reference::row(spec.split(':').next().unwrap(), parameter).unwrap();
        let (cell, yardstick) = row.on(set);
        let theirs = reference_ratios(&cell, &yardstick);
        Measured {
            input: set.name().to_string(),
            set: Some(set),
            candidate: Candidate {
                spec: spec.parse().unwrap(),
                parameter,
            },
            bytes: (cell.kib * 1_024.0) as usize,
            times: vec![Times {
                build: 200.0 * theirs[3] * factor,
                look_up: 200.0 * theirs[0] * factor,
                absent: 100.0 * theirs[2] * factor,
                yardstick: [200.0, 100.0],
            }],
        }
    }

    #[test]
    fn verdicts_consider_every_cell() {
        let fence = |set, factor| measured(set, "fp", Parameter::Block(16), factor);
        let all = [fence(Numbers::Uniform, 0.5), fence(Numbers::Osm, 1.28)];
        for measure in [0, 2, 3] {
            let verdict = verdict("fp", measure, &all).unwrap();
            assert_eq!((verdict.cells, verdict.against), (2, "fence pointers"));
            assert!((verdict.mean - 0.8).abs() < 1e-9 && (verdict.worst - 1.28).abs() < 1e-9);
            assert_eq!(verdict.worst_at, "osm, fp, 16 a block");
            assert_eq!(verdict.word(), "worst cell missed");
        }
        let size = verdict("fp", 4, &all).unwrap();
        assert_eq!((size.mean, size.word()), (1.0, "met"));
        assert!(verdict("plr", 0, &all).is_none());
        let text = summary(&all);
        assert!(text.contains("worst cell missed"), "{text}");
    }
}
