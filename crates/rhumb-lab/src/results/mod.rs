//! Results, and the SQLite file that holds them.
//!
//! The tables of the file:
//! - `run`: one row for each run of the program;
//! - `cell`: one row for each point of an experiment;
//! - `round`: one row for each time that a cell was measured, with its circumstances;
//! - `axis`: the axes of each cell, one row each;
//! - `figure`: one row for each metric of a cell; its value is the median of the samples;
//! - `sample`: the value of a metric in each round;
//! - `histogram`: one row for each kind of operation of a round; its `counts` are written by
//!   [`Latencies::to_bytes`].

mod cell;
mod export;
mod file;
mod lock;
pub mod machine;
mod merge;
mod read;

pub use self::cell::{Axes, Cell, Circumstances, Key, Measured, Permitted};
#[cfg(test)]
pub use self::cell::{Kept, Round};
pub use self::file::{COMMIT, ResultsFile, Run};
pub use self::lock::Lock;
use crate::error::Result;
use crate::measure::{Latencies, Spread};

/// The subject of a figure, in the experiments that compare indexes and stores over inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The experiment's name.
    pub experiment: &'static str,
    /// The input's name.
    pub input: String,
    /// The specification of the tables' index, or the name of another store.
    pub index: String,
}

/// All figures of one run of the program, by subject.
#[derive(Debug, Default)]
pub struct Report {
    subjects: Vec<(Subject, Measured)>,
}

impl Report {
    /// The measurements of a subject so far, for adding more.
    pub fn of(&mut self, subject: &Subject) -> &mut Measured {
        let known = self.subjects.iter().position(|(known, _)| known == subject);
        let at = known.unwrap_or_else(|| {
            self.subjects.push((subject.clone(), Measured::default()));
            self.subjects.len() - 1
        });
        &mut self.subjects[at].1
    }

    /// Adds a figure. Each metric may be added once for each subject.
    pub fn put(&mut self, subject: &Subject, metric: &str, value: f64, unit: &str) {
        self.of(subject).put(metric, value, unit);
    }

    /// Adds a figure that was measured several times. Returns the spread.
    pub fn put_repeated(
        &mut self,
        subject: &Subject,
        metric: &str,
        values: &[f64],
        unit: &str,
    ) -> Spread {
        self.of(subject).put_repeated(metric, values, unit)
    }

    /// Adds mean, median, p99 and histogram of an operation.
    pub fn put_latencies(&mut self, subject: &Subject, operation: &str, times: &Latencies) {
        self.of(subject).put_latencies(operation, times);
    }

    /// The median of a figure that was added before.
    pub fn get(&self, subject: &Subject, metric: &str) -> Option<f64> {
        Some(self.spread(subject, metric)?.median)
    }

    /// Median, minimum and maximum of a figure that was added before.
    pub fn spread(&self, subject: &Subject, metric: &str) -> Option<Spread> {
        let (_, measured) = self.subjects.iter().find(|(known, _)| known == subject)?;
        Some(measured.figure(metric)?.spread())
    }

    /// The names of all figures of a subject, in the order in which they were added.
    #[cfg(test)]
    pub fn metrics(&self, subject: &Subject) -> Vec<&str> {
        let of_this = self.subjects.iter().filter(|(known, _)| known == subject);
        let figures = of_this.flat_map(|(_, measured)| &measured.figures);
        figures.map(|figure| figure.metric.as_str()).collect()
    }

    /// All subjects, in the order in which they were first measured.
    pub fn subjects(&self) -> Vec<&Subject> {
        self.subjects.iter().map(|(subject, _)| subject).collect()
    }

    /// Adds everything to a run of a file of results.
    ///
    /// # Errors
    /// If the file cannot be written; cells that were added before stay.
    pub fn save(&self, file: &mut ResultsFile, run: i64, seed: u64) -> Result<()> {
        for (subject, measured) in &self.subjects {
            let key = Key {
                experiment: subject.experiment,
                scale: "",
                seed,
                records: 0,
                axes: vec![
                    ("input", subject.input.clone()),
                    ("index", subject.index.clone()),
                ],
            };
            file.add_of_run(run, &key, measured)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn subject(index: &str) -> Subject {
        Subject {
            experiment: "kinds",
            input: "decimal".to_string(),
            index: index.to_string(),
        }
    }

    fn report() -> Report {
        let mut took = Latencies::new().unwrap();
        took.record(Duration::from_nanos(700));
        let mut report = Report::default();
        report.put(&subject("fp"), "load", 1.5, "s");
        let plr = subject("plr:boundary=16");
        report.put_latencies(&plr, "get", &took);
        report
    }

    #[test]
    fn figures_are_found_again() {
        let report = report();
        assert_eq!(report.get(&subject("fp"), "load"), Some(1.5));
        assert_eq!(report.get(&subject("fp"), "get_p50"), None);
        let plr = subject("plr:boundary=16");
        assert_eq!(report.get(&plr, "get_p50"), Some(700.0));
        assert_eq!(report.subjects(), [&subject("fp"), &plr]);
    }

    /// Of 100 operations, one of 1 ms and the rest of 1 to 99 ns.
    #[test]
    fn latencies_have_a_mean_within_p99_and_one_of_the_slowest() {
        let mut took = Latencies::new().unwrap();
        for nanoseconds in (1..=99).chain([1_000_000]) {
            took.record(Duration::from_nanos(nanoseconds));
        }
        let mut measured = Measured::default();
        measured.put_latencies("get", &took);
        let figure = |metric: &str| measured.figure(metric).unwrap().values[0];
        assert_eq!(figure("get_mean_below_p99"), 50.0);
        let slowest = (96.0 + 97.0 + 98.0 + 99.0 + 1e6) / 5.0;
        assert!((figure("get_slowest_5_mean") / slowest - 1.0).abs() < 1e-3);
        assert_eq!(figure("get_mean"), (99.0 * 50.0 + 1e6) / 100.0);
    }

    #[test]
    fn repeats_give_medians_and_spread() {
        let mut report = report();
        let given = report.put_repeated(&subject("fp"), "get", &[3.0, 1.0, 2.0], "ns");
        assert_eq!(report.spread(&subject("fp"), "get"), Some(given));
        let (min, median, max) = (1.0, 2.0, 3.0);
        assert_eq!(given, Spread { min, median, max });
    }

    #[test]
    fn rounds_add_their_values_and_operations() {
        let fp = subject("fp");
        let round = |nanoseconds: &[u64]| {
            let mut took = Latencies::new().unwrap();
            for time in nanoseconds {
                took.record(Duration::from_nanos(*time));
            }
            let mut round = Measured::default();
            round.put("load", nanoseconds.len() as f64, "s");
            round.put_latencies("get", &took);
            round
        };
        let mut report = Report::default();
        report.of(&fp).add_round(round(&[700, 800]));
        report.of(&fp).add_round(round(&[700, 50, 900]));
        let measured = report.of(&fp);
        assert_eq!(measured.figure("load").unwrap().values, [2.0, 3.0]);
        assert_eq!(measured.histograms.len(), 1);
        let buckets: Vec<(u64, u64)> = Latencies::buckets(&measured.histograms[0].1).collect();
        assert_eq!(buckets, [(50, 1), (700, 2), (800, 1), (900, 1)]);
    }

    #[test]
    fn each_run_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.sqlite");
        let mut file = ResultsFile::create(&path).unwrap();
        for settings in ["run kinds", "run kinds --seed 7"] {
            let run = Run {
                settings: settings.to_string(),
                seed: 42,
                load: None,
            };
            let number = file.begin(&run).unwrap();
            report().save(&mut file, number, 42).unwrap();
        }
        let cells = file.cells().unwrap();
        assert_eq!(cells.len(), 4);
        let second = cells.iter().filter(|cell| cell.run() == 2);
        let index: Vec<&str> = second.map(|cell| cell.axis("index")).collect();
        assert_eq!(index, ["fp", "plr:boundary=16"]);
    }
}
