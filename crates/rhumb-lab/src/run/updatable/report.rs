//! The tables: our figures beside the reference's, and the verdict on each kind.

use super::measure::WALK;
use super::reference::{self, Cell, Row};
use super::{Bench, Measured, NAME, Shares, Times};
use crate::measure::Spread;
use crate::results::Subject;
use crate::run::verdict::{self, Compared, Verdict};
use crate::table;

/// The measures that are compared.
const MEASURES: [&str; 8] = [
    "look-up",
    "absent",
    "load",
    "random inserts",
    "sorted inserts",
    "size",
    "size after random",
    "size after sorted",
];

/// For each measure, the entry of [`Cell::wrong`] that applies to it.
const PHASES: [usize; 8] = [0, 0, 0, 1, 2, 0, 1, 2];

impl Shares {
    /// The shares in the order of [`MEASURES`].
    fn all(&self) -> [f64; 8] {
        let ([random, sorted], [after_random, after_sorted]) = (self.insert, self.after);
        [
            self.look_up,
            self.absent,
            self.load,
            random,
            sorted,
            self.size,
            after_random,
            after_sorted,
        ]
    }
}

impl Measured {
    fn spread(&self, of: impl Fn(&Times) -> f64) -> Spread {
        let values: Vec<f64> = self.times.iter().map(of).collect();
        Spread::of(&values)
    }

    fn shares(&self) -> Shares {
        let median = |of: &dyn Fn(&Times) -> f64| self.spread(of).median;
        let a_key = |bytes: usize| bytes as f64 / self.keys as f64;
        Shares {
            look_up: median(&|times| times.look_up / times.yardstick[0]),
            absent: median(&|times| times.absent / times.yardstick[1]),
            load: median(&|times| times.load / times.yardstick[0]),
            insert: [0, 1].map(|at| median(&|times| times.insert[at] / times.yardstick[0])),
            size: a_key(self.shape.bytes),
            after: self.shape.after.map(a_key),
        }
    }

    /// The reference of the same kind over about as many keys of this set, and its figures.
    fn reference(&self) -> Option<(&'static Row, Cell, Shares)> {
        let row = reference::row(self.spec.kind().name, self.keys)?;
        let cell = row.on(self.set?);
        Some((row, cell, cell.shares(row.keys)))
    }
}

/// Saves the figures of a source, and returns their table.
pub fn source(all: &[Measured], bench: &mut Bench) -> String {
    let mut headings = vec!["index".to_string()];
    for time in ["look-up", "absent", "load", "random ins.", "sorted ins."] {
        headings.extend([time, "/yard", "ref", "ours/ref"].map(str::to_string));
    }
    for size in ["B a key", "after random", "after sorted"] {
        headings.extend([size, "ref", "ours/ref"].map(str::to_string));
    }
    headings.extend(["walk", "depth", "deepest"].map(str::to_string));
    let mut table = table::new(&headings, 1);
    for measured in all {
        keep(measured, bench);
        table.add_row(cells(measured));
    }
    let Some(first) = all.first() else {
        return String::new();
    };
    format!(
        "{table}\n\n{}: {} keys; {}.\n\n",
        first.input,
        table::number(Some(first.keys as f64), 0),
        yardsticks(all),
    )
}

/// The times of our yardstick, and of the yardsticks of the references.
fn yardsticks(all: &[Measured]) -> String {
    let [present, absent] = [0, 1].map(|at| {
        let times = all.iter().flat_map(|measured| &measured.times);
        let values: Vec<f64> = times.map(|times| times.yardstick[at]).collect();
        table::with_spread(Spread::of(&values), 0)
    });
    let theirs = all.iter().filter_map(|measured| {
        let (row, cell, _) = measured.reference()?;
        let [present, absent] = cell.yardstick();
        let name = row.name;
        Some(format!(
            "; in the runs of {name} {present:.0} ns, absent {absent:.0} ns"
        ))
    });
    let theirs: String = theirs.collect();
    format!("yardstick {present} ns, absent {absent} ns{theirs}")
}

fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}

fn cells(measured: &Measured) -> Vec<String> {
    let number = |value: f64, digits| table::number(finite(value), digits);
    let ours = measured.shares().all();
    let reference = measured.reference();
    let beside = |at: usize, digits| {
        let theirs =
            reference.map(|(_, cell, shares)| (shares.all()[at], cell.wrong()[PHASES[at]]));
        let share = theirs.and_then(|(share, _)| finite(share));
        let ratio = theirs.and_then(|(share, _)| finite(ours[at] / share));
        let mark = match theirs {
            Some((_, wrong @ 1..)) => format!("!{wrong}"),
            _ => String::new(),
        };
        [
            table::number(share, digits) + &mark,
            table::number(ratio, 2),
        ]
    };
    let medians = [
        measured.spread(|times| times.look_up),
        measured.spread(|times| times.absent),
        measured.spread(|times| times.load),
        measured.spread(|times| times.insert[0]),
        measured.spread(|times| times.insert[1]),
    ];
    let mut cells = vec![measured.spec.to_string()];
    for (at, spread) in medians.iter().enumerate() {
        let digits = if spread.median < 20.0 { 1 } else { 0 };
        cells.extend([number(spread.median, digits), number(ours[at], 2)]);
        cells.extend(beside(at, 2));
    }
    for (at, size) in ours.into_iter().enumerate().skip(medians.len()) {
        cells.push(number(size, 1));
        cells.extend(beside(at, 1));
    }
    let depth = measured.shape.depth;
    cells.extend([
        number(measured.spread(|times| times.walk).median, 0),
        number(depth.mean, 2),
        number(depth.max as f64, 0),
    ]);
    cells
}

fn keep(measured: &Measured, bench: &mut Bench) {
    let subject = Subject {
        experiment: NAME,
        input: format!("{}, {} keys", measured.input, measured.keys),
        index: measured.spec.to_string(),
    };
    let report = &mut bench.report;
    let (shape, shares) = (&measured.shape, measured.shares());
    report.put(&subject, "keys", measured.keys as f64, "keys");
    report.put(&subject, "bytes", shape.bytes as f64, "B");
    report.put(
        &subject,
        "bytes after random inserts",
        shape.after[0] as f64,
        "B",
    );
    report.put(
        &subject,
        "bytes after sorted inserts",
        shape.after[1] as f64,
        "B",
    );
    report.put(&subject, "depth", shape.depth.mean, "levels");
    report.put(&subject, "deepest", shape.depth.max as f64, "levels");
    type Metric = (&'static str, fn(&Times) -> f64);
    let metrics: [Metric; 8] = [
        ("load", |times| times.load),
        ("look-up", |times| times.look_up),
        ("absent", |times| times.absent),
        ("yardstick", |times| times.yardstick[0]),
        ("yardstick, absent", |times| times.yardstick[1]),
        ("walk", |times| times.walk),
        ("random inserts", |times| times.insert[0]),
        ("sorted inserts", |times| times.insert[1]),
    ];
    for (metric, of) in metrics {
        let values: Vec<f64> = measured.times.iter().map(of).collect();
        report.put_repeated(&subject, metric, &values, "ns");
    }
    report.put(&subject, "look-up ratio", shares.look_up, "");
    report.put(&subject, "absent ratio", shares.absent, "");
    if let Some((_, _, theirs)) = measured.reference() {
        let pairs = shares.all().into_iter().zip(theirs.all());
        for (measure, (ours, theirs)) in MEASURES.iter().zip(pairs) {
            if let Some(ratio) = finite(ours / theirs) {
                report.put(&subject, &format!("{measure}, ours/ref"), ratio, "");
            }
        }
    }
}

/// The verdict on a kind's cells in one measure.
fn verdict(kind: &'static str, measure: usize, all: &[Measured]) -> Option<Verdict> {
    let of_kind = all
        .iter()
        .filter(|measured| measured.spec.kind().name == kind);
    let cells = of_kind.filter_map(|measured| {
        let (row, cell, theirs) = measured.reference()?;
        Some(Compared {
            against: row.name,
            ratio: measured.shares().all()[measure] / theirs.all()[measure],
            is_wrong: cell.wrong()[PHASES[measure]] > 0,
            at: format!("{}, {}", measured.input, measured.spec),
        })
    });
    Verdict::of(kind, MEASURES[measure], cells)
}

/// The table of kinds, and an explanation of the columns of all tables.
pub fn summary(all: &[Measured]) -> String {
    let kinds = all.iter().map(|measured| measured.spec.kind().name);
    let table = verdict::table(kinds, MEASURES.len(), |kind, at| verdict(kind, at, all));
    let runs = all.iter().map(|measured| measured.times.len()).max();
    format!(
        "{table}\n\nMedians of {} runs, thread CPU time in ns for a key (load, inserts), a look-up (random keys, \
         independent of each other) or a walk (a scan of {WALK} entries). Random inserts: every other key is loaded, \
         the others are inserted in random order; sorted: the lower half is loaded, the upper half is inserted in \
         ascending order. /yard: share of a look-up by binary search over all keys in the same run. ref: the same \
         share (for inserts, of the yardstick in the process of the look-ups, which ran right before), or bytes a \
         key, of the published implementation in C++ over about as many keys of the same set, measured on one \
         machine; none if it was measured with another number of keys. Bytes of LIPP and DILI are what they \
         allocated, since their own counts leave out empty slots and bitmaps; those of ALEX and stx are their own \
         counts. The published DILI ran only the first {} of the sorted inserts. ours/ref: our share divided by \
         theirs. !n: the reference gave n wrong answers of 500,000 afterwards; such cells are left out. {}",
        runs.unwrap_or(0),
        table::number(Some(reference::DILI_SORTED as f64), 0),
        verdict::legend(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::numbers::Numbers;
    use crate::run::updatable::Shape;

    /// A kind with the figures of the reference, except for look-ups that take `factor` times as
    /// long.
    fn measured(set: Numbers, factor: f64) -> Measured {
        let row = reference::row("btree", reference::KEYS).unwrap();
        let theirs = row.on(set).shares(row.keys);
        let bytes = |a_key: f64| (a_key * row.keys as f64).round() as usize;
        Measured {
            input: set.name().to_string(),
            set: Some(set),
            keys: row.keys,
            spec: "btree".parse().unwrap(),
            shape: Shape {
                bytes: bytes(theirs.size),
                after: theirs.after.map(bytes),
                ..Shape::default()
            },
            times: vec![Times {
                load: 200.0 * theirs.load,
                look_up: 200.0 * theirs.look_up * factor,
                absent: 100.0 * theirs.absent,
                yardstick: [200.0, 100.0],
                walk: 50.0,
                insert: theirs.insert.map(|insert| 200.0 * insert),
            }],
        }
    }

    #[test]
    fn verdicts_consider_every_cell() {
        let all = [
            measured(Numbers::Uniform, 0.5),
            measured(Numbers::Osm, 1.28),
        ];
        let look_up = verdict("btree", 0, &all).unwrap();
        assert_eq!((look_up.cells, look_up.against), (2, "stx B+-tree"));
        assert!((look_up.mean - 0.8).abs() < 1e-9 && (look_up.worst - 1.28).abs() < 1e-9);
        for measure in 1..MEASURES.len() {
            let verdict = verdict("btree", measure, &all).unwrap();
            assert!((verdict.worst - 1.0).abs() < 1e-6, "{verdict:?}");
        }
        assert!(verdict("alex", 0, &all).is_none());
        assert!(summary(&all).contains("worst cell missed"));
        let row = cells(&all[1]);
        assert_eq!(row.len(), 1 + 5 * 4 + 3 * 3 + 3);
        assert_eq!(row[4], "1.28");
        let text = yardsticks(&all[..1]);
        assert!(
            text.contains("in the runs of stx B+-tree 279 ns, absent 271 ns"),
            "{text}"
        );
    }
}
