//! A cell: one point of an experiment with all its measurements.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::machine::load_average;
use crate::contest::Rounds;
use crate::measure::{Latencies, Spread};

/// The axes of a cell: names and values, such as `kind` and `pgm`, in the order of printing.
pub type Axes = Vec<(&'static str, String)>;

/// A metric with its unit and all values measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its name, such as `get_mean`.
    pub metric: String,
    /// The unit, such as `ns`.
    pub unit: String,
    /// The values in the order of measuring, at least one. A cell that is measured in rounds has
    /// one value in each.
    pub values: Vec<f64>,
}

impl Figure {
    /// Median, minimum and maximum.
    pub fn spread(&self) -> Spread {
        Spread::of(&self.values)
    }
}

/// All measurements of one subject.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// Each metric once.
    pub figures: Vec<Figure>,
    /// The latencies of each kind of operation, as [`Latencies::to_bytes`] writes them.
    pub histograms: Vec<(String, Vec<u8>)>,
}

impl Measured {
    /// Adds a figure that was measured once.
    pub fn put(&mut self, metric: &str, value: f64, unit: &str) {
        self.put_repeated(metric, &[value], unit);
    }

    /// Adds a figure that was measured at least once. Returns the spread.
    pub fn put_repeated(&mut self, metric: &str, values: &[f64], unit: &str) -> Spread {
        let figure = Figure {
            metric: metric.to_string(),
            unit: unit.to_string(),
            values: values.to_vec(),
        };
        let spread = figure.spread();
        self.figures.push(figure);
        spread
    }

    /// Adds mean, median, p99 and histogram of an operation, its mean within p99 (`_mean_below_p99`) and that of the
    /// slowest 5 % (`_slowest_5_mean`).
    pub fn put_latencies(&mut self, operation: &str, times: &Latencies) {
        for (name, value) in [
            ("mean", times.mean()),
            ("mean_below_p99", times.mean_between(0.0, 0.99)),
            ("slowest_5_mean", times.mean_between(0.95, 1.0)),
            ("p50", times.quantile(0.5)),
            ("p99", times.quantile(0.99)),
        ] {
            self.put(&format!("{operation}_{name}"), value, "ns");
        }
        self.histograms
            .push((operation.to_string(), times.to_bytes()));
    }

    /// Adds the measurements of another round: the values of each figure follow those of the rounds
    /// before, and the counts of histograms are added.
    pub fn add_round(&mut self, round: Measured) {
        for figure in round.figures {
            let known = self.figures.iter_mut();
            match known
                .into_iter()
                .find(|known| known.metric == figure.metric)
            {
                Some(known) => known.values.extend(figure.values),
                None => self.figures.push(figure),
            }
        }
        for (operation, counts) in round.histograms {
            match self
                .histograms
                .iter_mut()
                .find(|(known, _)| *known == operation)
            {
                Some((_, known)) => *known = Latencies::add_bytes(known, &counts),
                None => self.histograms.push((operation, counts)),
            }
        }
    }

    /// A figure that was added before.
    pub fn figure(&self, metric: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.metric == metric)
    }
}

/// What was measured, or the reason why the machine does not permit to measure it.
pub type Permitted = std::result::Result<Measured, String>;

/// The identity of a cell of an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The experiment's id, such as `E-F7`.
    pub experiment: &'static str,
    /// The scale's name.
    pub scale: &'static str,
    /// Seed of keys, values and every random choice.
    pub seed: u64,
    /// Number of records; 0 if the experiment has no scale.
    pub records: usize,
    /// The axes, which differ from those of every other cell of the experiment.
    pub axes: Axes,
}

impl Key {
    /// One line that is unique to the cell and identifies it once it is finished.
    pub fn text(&self) -> String {
        let (experiment, scale, seed) = (self.experiment, self.scale, self.seed);
        let records = self.records;
        format!("{experiment} {scale} {records} {seed} {}", text(&self.axes))
    }
}

/// Axes in one line.
pub fn text(axes: &Axes) -> String {
    let axes = axes.iter().map(|(name, value)| format!("{name}={value}"));
    axes.collect::<Vec<_>>().join(" ")
}

/// A round in which a cell was measured: when, and under which circumstances.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// Its number, from 1.
    pub number: u32,
    /// The number of the program's run in the file.
    pub run: i64,
    /// When measuring the cell began, in UTC; loading its store is not counted.
    pub time: String,
    /// The machine's load average at that time.
    pub load: Option<f64>,
    /// Seed of the round's keys, values and random choices.
    pub seed: i64,
    /// What the caches held when measuring began; or that the machine refused to measure, and why.
    pub caches: String,
}

/// What stands before the reason in place of the caches of a round that the machine refused.
pub const REFUSED: &str = "refused: ";

impl Round {
    /// Why the machine did not permit to measure it; none if it was measured.
    pub fn refusal(&self) -> Option<&str> {
        self.caches.strip_prefix(REFUSED)
    }
}

/// The circumstances of a round that is about to be measured.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances {
    /// As [`Round::number`].
    pub number: u32,
    /// As [`Round::seed`].
    pub seed: u64,
    /// Seconds since 1970, in UTC.
    pub time: f64,
    /// As [`Round::load`].
    pub load: Option<f64>,
    /// As [`Round::caches`].
    pub caches: &'static str,
}

impl Circumstances {
    /// Those of a round that begins now.
    pub fn now(number: u32, seed: u64, caches: &'static str) -> Circumstances {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Circumstances {
            number,
            seed,
            time: since.map_or(0.0, |since| since.as_secs_f64()),
            load: load_average(),
            caches,
        }
    }
}

/// A cell read from a file of results.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The experiment's id.
    pub experiment: String,
    /// The scale's name; empty if the experiment has none.
    pub scale: String,
    /// Seed from which the seeds of its rounds follow.
    pub seed: i64,
    /// Number of records; 0 if the experiment has no scale.
    pub records: i64,
    /// The axes of the cell.
    pub axes: BTreeMap<String, String>,
    /// Its rounds, in the order of their numbers; at least one.
    pub rounds: Vec<Round>,
    /// The figures by metric.
    pub figures: BTreeMap<String, Kept>,
}

/// A figure read from a file of results.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The unit.
    pub unit: String,
    /// Median, minimum and maximum over all values.
    pub spread: Spread,
    /// The values with the numbers of their rounds, ascending.
    pub values: Vec<(u32, f64)>,
}

impl Cell {
    /// The value of an axis; empty if the cell has no such axis.
    pub fn axis(&self, name: &str) -> &str {
        self.axes.get(name).map_or("", String::as_str)
    }

    /// The run of its latest round.
    pub fn run(&self) -> i64 {
        self.rounds.iter().map(|round| round.run).max().unwrap_or(0)
    }

    /// The finite values of a figure with their rounds; none if there are none.
    pub fn in_rounds(&self, metric: &str) -> Option<Rounds> {
        let run = |number| {
            let round = self.rounds.iter().find(|round| round.number == number);
            round.map_or(self.run(), |round| round.run)
        };
        let values = self.figures.get(metric)?.values.iter();
        let values = values.filter(|(_, value)| value.is_finite());
        let values: Vec<_> = values
            .map(|(number, value)| ((run(*number), *number), *value))
            .collect();
        (!values.is_empty()).then(|| Rounds::new(values))
    }

    /// Why the machine did not permit to measure any of its rounds; none if one was measured.
    pub fn refusal(&self) -> Option<&str> {
        let refused = self.rounds.iter().all(|round| round.refusal().is_some());
        refused.then(|| self.rounds.first()?.refusal()).flatten()
    }

    /// The median of a figure.
    pub fn value(&self, metric: &str) -> Option<f64> {
        self.figures.get(metric).map(|kept| kept.spread.median)
    }
}
