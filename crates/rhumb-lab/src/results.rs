//! What was measured, and the SQLite file that keeps it.
//!
//! One row of `run` for each run of the program; one row of `cell` for each figure, the median where it
//! was measured several times; one row of `sample` for each time; one row of `histogram` for each kind
//! of operation, its `counts` as written by `Latencies::to_bytes`.

use std::fs;
use std::path::Path;
use std::thread::available_parallelism;

use rusqlite::{Connection, Transaction, params};

use crate::error::{Error, Result};
use crate::measure::{Latencies, Spread};

const SCHEMA: &str = r#"
CREATE TABLE IF NOT EXISTS run (
    id       INTEGER PRIMARY KEY,
    time     TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
    machine  TEXT NOT NULL,
    cpu      TEXT NOT NULL,
    "commit" TEXT NOT NULL,
    load     REAL, -- load average of the machine before the run
    settings TEXT NOT NULL,
    seed     INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS cell (
    run        INTEGER NOT NULL REFERENCES run (id),
    experiment TEXT NOT NULL,
    input      TEXT NOT NULL,
    "index"    TEXT NOT NULL,
    metric     TEXT NOT NULL,
    value      REAL NOT NULL,
    unit       TEXT NOT NULL,
    PRIMARY KEY (run, experiment, input, "index", metric)
);
CREATE TABLE IF NOT EXISTS sample (
    run        INTEGER NOT NULL REFERENCES run (id),
    experiment TEXT NOT NULL,
    input      TEXT NOT NULL,
    "index"    TEXT NOT NULL,
    metric     TEXT NOT NULL,
    repeat     INTEGER NOT NULL, -- from 1, in the order of measuring
    value      REAL NOT NULL,
    unit       TEXT NOT NULL,
    PRIMARY KEY (run, experiment, input, "index", metric, repeat)
);
CREATE TABLE IF NOT EXISTS histogram (
    run        INTEGER NOT NULL REFERENCES run (id),
    experiment TEXT NOT NULL,
    input      TEXT NOT NULL,
    "index"    TEXT NOT NULL,
    operation  TEXT NOT NULL,
    counts     BLOB NOT NULL,
    PRIMARY KEY (run, experiment, input, "index", operation)
);
"#;

/// How the program was run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its arguments.
    pub settings: String,
    /// Seed of keys, values and every random choice.
    pub seed: u64,
    /// The machine's load average before the run: above 0, others ran too.
    pub load: Option<f64>,
}

/// What a figure is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The experiment's name.
    pub experiment: &'static str,
    /// The input's name.
    pub input: String,
    /// The index of the tables, or the name of another store.
    pub index: String,
}

impl Subject {
    /// As every table has it.
    fn columns(&self) -> [&str; 3] {
        [self.experiment, &self.input, &self.index]
    }
}

#[derive(Debug)]
struct Cell {
    subject: Subject,
    metric: String,
    value: f64,
    unit: &'static str,
}

/// All figures of one run of the program.
#[derive(Debug, Default)]
pub struct Report {
    cells: Vec<Cell>,
    /// Each with the number of its repeat.
    samples: Vec<(u32, Cell)>,
    histograms: Vec<(Subject, &'static str, Vec<u8>)>,
}

impl Report {
    /// Adds a figure; each metric once a subject.
    pub fn put(&mut self, subject: &Subject, metric: &str, value: f64, unit: &'static str) {
        self.cells.push(Cell {
            subject: subject.clone(),
            metric: metric.to_string(),
            value,
            unit,
        });
    }

    /// Adds a figure that was measured several times: its median under the metric's name, least and
    /// greatest under names that end in `_min` and `_max`, and each time by itself. Gives the spread.
    pub fn put_repeated(
        &mut self,
        subject: &Subject,
        metric: &str,
        values: &[f64],
        unit: &'static str,
    ) -> Spread {
        let spread = Spread::of(values);
        self.put(subject, metric, spread.median, unit);
        if values.len() > 1 {
            self.put(subject, &format!("{metric}_min"), spread.min, unit);
            self.put(subject, &format!("{metric}_max"), spread.max, unit);
        }
        for (repeat, value) in (1..).zip(values) {
            let cell = Cell {
                subject: subject.clone(),
                metric: metric.to_string(),
                value: *value,
                unit,
            };
            self.samples.push((repeat, cell));
        }
        spread
    }

    /// Adds mean, median, p99 and histogram of an operation that was measured once or several times.
    ///
    /// # Errors
    /// None that the bounds of [`Latencies`] allow.
    pub fn put_latencies(
        &mut self,
        subject: &Subject,
        operation: &'static str,
        times: &[Latencies],
    ) -> Result<()> {
        let of = |figure: fn(&Latencies) -> f64| -> Vec<f64> { times.iter().map(figure).collect() };
        for (name, values) in [
            ("mean", of(Latencies::mean)),
            ("p50", of(|took| took.quantile(0.5))),
            ("p99", of(|took| took.quantile(0.99))),
        ] {
            self.put_repeated(subject, &format!("{operation}_{name}"), &values, "ns");
        }
        let mut all = Latencies::new()?;
        times.iter().for_each(|took| all.add(took));
        self.histograms
            .push((subject.clone(), operation, all.to_bytes()));
        Ok(())
    }

    /// A figure that was added before.
    pub fn get(&self, subject: &Subject, metric: &str) -> Option<f64> {
        let same = |cell: &&Cell| cell.metric == metric && cell.subject == *subject;
        self.cells.iter().find(same).map(|cell| cell.value)
    }

    /// The names of all figures of a subject, in the order in which they were added.
    #[cfg(test)]
    pub fn metrics(&self, subject: &Subject) -> Vec<&str> {
        let of_this = self.cells.iter().filter(|cell| cell.subject == *subject);
        of_this.map(|cell| cell.metric.as_str()).collect()
    }

    /// Whatever was measured, in the order in which it was.
    pub fn subjects(&self) -> Vec<&Subject> {
        let mut subjects: Vec<&Subject> = Vec::new();
        for cell in &self.cells {
            if !subjects.contains(&&cell.subject) {
                subjects.push(&cell.subject);
            }
        }
        subjects
    }

    /// Adds everything as a new run to a file made by [`prepare`].
    ///
    /// # Errors
    /// If the file cannot be written; it then holds nothing of this run.
    pub fn save(&self, path: &Path, run: &Run) -> Result<()> {
        let add = || -> rusqlite::Result<()> {
            let mut connection = Connection::open(path)?;
            let transaction = connection.transaction()?;
            self.insert(&transaction, run)?;
            transaction.commit()
        };
        add().map_err(not_kept(path))
    }

    fn insert(&self, to: &Transaction<'_>, run: &Run) -> rusqlite::Result<()> {
        to.execute(
            r#"INSERT INTO run (machine, cpu, "commit", load, settings, seed)
               VALUES (?, ?, ?, ?, ?, ?)"#,
            // SQLite has no unsigned integers: the same 64 bits are kept.
            params![
                machine(),
                cpu(),
                env!("RHUMB_LAB_COMMIT"),
                run.load,
                run.settings,
                run.seed as i64
            ],
        )?;
        let run = to.last_insert_rowid();
        let mut insert = to.prepare("INSERT INTO cell VALUES (?, ?, ?, ?, ?, ?, ?)")?;
        for cell in &self.cells {
            let [experiment, input, index] = cell.subject.columns();
            let (metric, value, unit) = (&cell.metric, cell.value, cell.unit);
            insert.execute(params![run, experiment, input, index, metric, value, unit])?;
        }
        let mut insert = to.prepare("INSERT INTO sample VALUES (?, ?, ?, ?, ?, ?, ?, ?)")?;
        for (repeat, cell) in &self.samples {
            let [experiment, input, index] = cell.subject.columns();
            let (metric, value, unit) = (&cell.metric, cell.value, cell.unit);
            insert.execute(params![
                run, experiment, input, index, metric, repeat, value, unit
            ])?;
        }
        let mut insert = to.prepare("INSERT INTO histogram VALUES (?, ?, ?, ?, ?, ?)")?;
        for (subject, operation, counts) in &self.histograms {
            let [experiment, input, index] = subject.columns();
            insert.execute(params![run, experiment, input, index, operation, counts])?;
        }
        Ok(())
    }
}

/// Makes sure that figures can be kept in a SQLite file, before they are measured.
///
/// # Errors
/// If the file cannot be created or is something else.
pub fn prepare(path: &Path) -> Result<()> {
    let open = || Connection::open(path)?.execute_batch(SCHEMA);
    open().map_err(not_kept(path))
}

fn not_kept(path: &Path) -> impl FnOnce(rusqlite::Error) -> Error {
    let path = path.to_path_buf();
    move |source| Error::Results { path, source }
}

/// How many threads ran or waited to run in the last minute, on average.
pub fn load_average() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}

/// Operating system, architecture, cores and memory.
pub fn machine() -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let memory = first_field("/proc/meminfo", "MemTotal")
        .and_then(|text| text.strip_suffix(" kB")?.parse::<u64>().ok())
        .map_or(String::new(), |kib| format!(", {} MiB", kib >> 10));
    let (os, kernel, arch) = (std::env::consts::OS, kernel.trim(), std::env::consts::ARCH);
    let cores = available_parallelism().map_or(0, usize::from);
    format!("{os} {kernel} {arch}, {cores} cores{memory}")
}

/// The processor's name.
pub fn cpu() -> String {
    first_field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_string())
}

/// The text after `name :` in the first such line of one of Linux's files about the machine.
fn first_field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = fields.find(|(field, _)| field.trim() == name)?;
    Some(value.trim().to_string())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn subject(index: &str) -> Subject {
        Subject {
            experiment: "quick",
            input: "decimal".to_string(),
            index: index.to_string(),
        }
    }

    fn report() -> (Report, Latencies) {
        let mut took = Latencies::new().unwrap();
        took.record(Duration::from_nanos(700));
        let mut report = Report::default();
        report.put(&subject("fp"), "load", 1.5, "s");
        let times = std::slice::from_ref(&took);
        let plr = subject("plr:boundary=16");
        report.put_latencies(&plr, "get", times).unwrap();
        (report, took)
    }

    #[test]
    fn figures_are_found_again() {
        let (report, _) = report();
        assert_eq!(report.get(&subject("fp"), "load"), Some(1.5));
        assert_eq!(report.get(&subject("fp"), "get_p50"), None);
        assert_eq!(
            report.get(&subject("plr:boundary=16"), "get_p50"),
            Some(700.0)
        );
        assert_eq!(
            report.subjects(),
            [&subject("fp"), &subject("plr:boundary=16")]
        );
    }

    #[test]
    fn repeats_give_medians_and_spread() {
        let mut report = Report::default();
        let spread = report.put_repeated(&subject("fp"), "get", &[3.0, 1.0, 2.0], "ns");
        assert_eq!(spread.median, 2.0);
        let get = |metric| report.get(&subject("fp"), metric);
        assert_eq!(get("get"), Some(2.0));
        assert_eq!((get("get_min"), get("get_max")), (Some(1.0), Some(3.0)));
        let repeats: Vec<(u32, f64)> = report.samples.iter().map(|(n, c)| (*n, c.value)).collect();
        assert_eq!(repeats, [(1, 3.0), (2, 1.0), (3, 2.0)]);
    }

    #[test]
    fn a_file_that_is_not_sqlite_is_refused_at_once() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "keep me, I am no database".repeat(100)).unwrap();
        let error = prepare(file.path()).unwrap_err().to_string();
        assert!(error.contains("cannot keep the results"), "{error}");
        assert!(fs::read(file.path()).unwrap().starts_with(b"keep me"));
    }

    #[test]
    fn sqlite_gives_back_what_was_saved() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.sqlite");
        let (report, took) = report();
        prepare(&path).unwrap();
        for (settings, seed) in [("run quick", u64::MAX), ("run quick --seed 7", 7)] {
            let run = Run {
                settings: settings.to_string(),
                seed,
                load: Some(0.25),
            };
            report.save(&path, &run).unwrap();
        }

        let connection = Connection::open(&path).unwrap();
        let text =
            |sql: &str| -> String { connection.query_row(sql, [], |row| row.get(0)).unwrap() };
        let number =
            |sql: &str| -> f64 { connection.query_row(sql, [], |row| row.get(0)).unwrap() };
        assert_eq!(number("SELECT count(*) * 1.0 FROM run"), 2.0);
        assert_eq!(
            text("SELECT settings FROM run WHERE seed = 7"),
            "run quick --seed 7"
        );
        assert_eq!(
            text("SELECT settings FROM run WHERE seed = -1"),
            "run quick"
        );
        assert_eq!(number("SELECT sum(load) FROM run"), 0.5);
        assert!(text("SELECT time FROM run").ends_with('Z'));
        assert_eq!(number("SELECT count(*) * 1.0 FROM cell WHERE run = 2"), 4.0);
        let load = r#"SELECT value FROM cell WHERE run = 1 AND metric = 'load' AND "index" = 'fp'"#;
        assert_eq!(number(load), 1.5);
        assert_eq!(
            number("SELECT count(*) * 1.0 FROM sample WHERE run = 1"),
            3.0
        );
        let sql = "SELECT counts FROM histogram WHERE run = 2 AND operation = 'get'";
        let counts: Vec<u8> = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(counts, took.to_bytes());
    }
}
