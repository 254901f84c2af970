//! The SQLite file of results. Each cell is added in a transaction of its own, so an interrupted
//! run leaves every finished cell usable.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, params};

use super::cell::{Circumstances, Key, Measured, REFUSED, text};
use super::machine::{cpu, machine};
use crate::error::{Error, Result};
use crate::measure::Spread;

/// `rhum`, the application id in the header of the SQLite file.
const APPLICATION: i64 = 0x7268_756d;
/// The version of the tables, kept in the header of the file too.
const VERSION: i64 = 3;

const SCHEMA: &str = r#"
CREATE TABLE run (
    id       INTEGER PRIMARY KEY,
    time     TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    machine  TEXT NOT NULL,
    cpu      TEXT NOT NULL,
    "commit" TEXT NOT NULL,
    load     REAL, -- load average of the machine before the run
    settings TEXT NOT NULL,
    seed     INTEGER NOT NULL
);
CREATE TABLE cell (
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE, -- a round of the cell with this name is not measured again
    experiment TEXT NOT NULL,
    scale      TEXT NOT NULL, -- empty if the experiment has none
    records    INTEGER NOT NULL, -- 0 if the experiment has no scale
    seed       INTEGER NOT NULL -- the seeds of the rounds follow from it
);
CREATE TABLE round (
    cell   INTEGER NOT NULL REFERENCES cell (id),
    number INTEGER NOT NULL, -- from 1
    run    INTEGER NOT NULL REFERENCES run (id),
    time   TEXT NOT NULL, -- when measuring began
    load   REAL, -- load average of the machine at that time
    seed   INTEGER NOT NULL, -- of keys, values and random choices of this round
    caches TEXT NOT NULL, -- what they held when measuring began; `refused: ` and why, if it was not permitted
    PRIMARY KEY (cell, number)
) WITHOUT ROWID;
CREATE TABLE axis (
    cell  INTEGER NOT NULL REFERENCES cell (id),
    name  TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (cell, name)
) WITHOUT ROWID;
CREATE TABLE figure ( -- what the samples of a metric add up to
    cell    INTEGER NOT NULL REFERENCES cell (id),
    metric  TEXT NOT NULL,
    unit    TEXT NOT NULL,
    value   REAL NOT NULL, -- the median
    min     REAL NOT NULL,
    max     REAL NOT NULL,
    samples INTEGER NOT NULL,
    PRIMARY KEY (cell, metric)
) WITHOUT ROWID;
CREATE TABLE sample (
    cell   INTEGER NOT NULL REFERENCES cell (id),
    metric TEXT NOT NULL,
    round  INTEGER NOT NULL, -- the number of the round, or the place in a figure of many values
    value  REAL NOT NULL,
    PRIMARY KEY (cell, metric, round)
) WITHOUT ROWID;
CREATE TABLE histogram (
    cell      INTEGER NOT NULL REFERENCES cell (id),
    operation TEXT NOT NULL,
    round     INTEGER NOT NULL,
    counts    BLOB NOT NULL,
    PRIMARY KEY (cell, operation, round)
) WITHOUT ROWID;
"#;

/// The commit that this program was built from.
pub const COMMIT: &str = env!("RHUMB_LAB_COMMIT");

/// The tables; each one comes after the tables that it refers to.
pub const TABLES: [&str; 7] = [
    "run",
    "cell",
    "round",
    "axis",
    "figure",
    "sample",
    "histogram",
];

/// The arguments and circumstances of a run of the program.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its arguments.
    pub settings: String,
    /// Seed of keys, values and every random choice.
    pub seed: u64,
    /// The machine's load average before the run; above 0 if other processes ran.
    pub load: Option<f64>,
}

/// An open file of results.
#[derive(Debug)]
pub struct ResultsFile {
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
}

impl ResultsFile {
    /// Opens a file, or creates it if it does not exist.
    ///
    /// # Errors
    /// If it cannot be created, is not a file of results, or has another version.
    pub fn create(path: &Path) -> Result<ResultsFile> {
        let mut connection = Connection::open(path).map_err(not_kept(path))?;
        let header = |name: &str| -> Result<i64> {
            let value = connection.pragma_query_value(None, name, |row| row.get(0));
            value.map_err(not_kept(path))
        };
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(not_kept(path))?;
        if tables == 0 && header("application_id")? == 0 {
            let header =
                format!("PRAGMA application_id={APPLICATION}; PRAGMA user_version={VERSION};");
            let transaction = connection.transaction().map_err(not_kept(path))?;
            transaction
                .execute_batch(&(header + SCHEMA))
                .and_then(|()| transaction.commit())
                .map_err(not_kept(path))?;
        }
        ResultsFile::checked(connection, path)
    }

    /// Opens an existing file.
    ///
    /// # Errors
    /// If it does not exist, is not a file of results, or has another version.
    pub fn open(path: &Path) -> Result<ResultsFile> {
        if !path.is_file() {
            return Err(Error::Usage(format!(
                "there are no results in {}: write them with `rhumb-lab run`, or name another file with --results",
                path.display()
            )));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let connection = Connection::open_with_flags(path, flags).map_err(not_kept(path))?;
        ResultsFile::checked(connection, path)
    }

    fn checked(connection: Connection, path: &Path) -> Result<ResultsFile> {
        // A lock held by another run is waited for and does not end this one.
        let wait = std::time::Duration::from_secs(30);
        connection.busy_timeout(wait).map_err(not_kept(path))?;
        let path = path.to_path_buf();
        let file = ResultsFile { connection, path };
        file.check_version()?;
        Ok(file)
    }

    fn check_version(&self) -> Result<()> {
        let header = |name| {
            let value = self
                .connection
                .pragma_query_value(None, name, |row| row.get(0));
            value.map_err(self.failed())
        };
        let (application, version): (i64, i64) =
            (header("application_id")?, header("user_version")?);
        if (application, version) == (APPLICATION, VERSION) {
            return Ok(());
        }
        Err(Error::ResultsVersion {
            path: self.path.clone(),
            found: match application {
                APPLICATION => format!("results of version {version}"),
                _ => "an SQLite file of another kind, or results of version 1".to_string(),
            },
            expected: VERSION,
        })
    }

    /// For `map_err`: adds the file to an error of SQLite.
    pub(super) fn failed(&self) -> impl FnOnce(rusqlite::Error) -> Error + use<> {
        not_kept(&self.path)
    }

    /// Adds a run. Returns its number.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn begin(&self, run: &Run) -> Result<i64> {
        let sql = r#"INSERT INTO run (machine, cpu, "commit", load, settings, seed)
                     VALUES (?, ?, ?, ?, ?, ?)"#;
        // SQLite has no unsigned integers: the same 64 bits are stored as a signed one.
        let seed = run.seed as i64;
        let (machine, cpu, commit) = (machine(), cpu(), COMMIT);
        let row = params![machine, cpu, commit, run.load, run.settings, seed];
        self.connection.execute(sql, row).map_err(self.failed())?;
        Ok(self.connection.last_insert_rowid())
    }

    /// The rounds of a cell that are finished, without those that a machine refused, each with the commit of
    /// the program that measured it.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn finished(&self, key: &Key) -> Result<Vec<(u32, String)>> {
        let read = || {
            let mut rounds = self.connection.prepare_cached(
                r#"SELECT number, "commit" FROM cell JOIN round ON round.cell = cell.id
                   JOIN run ON run.id = round.run
                   WHERE name = ? AND instr(caches, ?) <> 1 ORDER BY number"#,
            )?;
            let of = (key.text(), REFUSED);
            let rounds = rounds.query_map(of, |row| Ok((row.get(0)?, row.get(1)?)))?;
            rounds.collect::<rusqlite::Result<_>>()
        };
        read().map_err(self.failed())
    }

    /// Adds a round of a cell; a round with the same number is replaced.
    ///
    /// # Errors
    /// If the file cannot be written; it is then unchanged.
    pub fn add(
        &mut self,
        run: i64,
        key: &Key,
        round: &Circumstances,
        measured: &Measured,
    ) -> Result<()> {
        self.insert(run, (&key.text(), key), (round, round.caches), measured)
    }

    /// Adds why the machine does not permit to measure a round of a cell, unless that round was
    /// measured before.
    ///
    /// # Errors
    /// As [`ResultsFile::add`].
    pub fn refuse(&mut self, run: i64, key: &Key, round: &Circumstances, why: &str) -> Result<()> {
        let mut known = self.finished(key)?.into_iter();
        if known.any(|(number, _)| number == round.number) {
            return Ok(());
        }
        let caches = format!("{REFUSED}{why}");
        let nothing = Measured::default();
        self.insert(run, (&key.text(), key), (round, &caches), &nothing)
    }

    /// Adds a cell of an experiment that is measured again in every run, with all its rounds at
    /// once.
    ///
    /// # Errors
    /// As [`ResultsFile::add`].
    pub fn add_of_run(&mut self, run: i64, key: &Key, measured: &Measured) -> Result<()> {
        let name = format!("{} run={run} {}", key.experiment, text(&key.axes));
        let round = Circumstances::now(1, key.seed, "as the experiment says");
        self.insert(run, (&name, key), (&round, round.caches), measured)
    }

    fn insert(
        &mut self,
        run: i64,
        (name, key): (&str, &Key),
        (round, caches): (&Circumstances, &str),
        measured: &Measured,
    ) -> Result<()> {
        let failed = self.failed();
        let mut add = || -> rusqlite::Result<()> {
            let transaction = self.connection.transaction()?;
            let cell = cell_of(&transaction, name, key)?;
            remove_round(&transaction, cell, round.number)?;
            transaction.execute(
                "INSERT INTO round VALUES
                 (?, ?, ?, strftime('%Y-%m-%dT%H:%M:%fZ', ?, 'unixepoch'), ?, ?, ?)",
                params![
                    cell,
                    round.number,
                    run,
                    round.time,
                    round.load,
                    round.seed as i64,
                    caches
                ],
            )?;
            fill(&transaction, cell, round.number, measured)?;
            transaction.commit()
        };
        add().map_err(failed)
    }
}

/// The number of the cell with this name, which is added if it does not exist.
fn cell_of(to: &Transaction<'_>, name: &str, key: &Key) -> rusqlite::Result<i64> {
    let known = to
        .prepare_cached("SELECT id FROM cell WHERE name = ?")?
        .query_row([name], |row| row.get(0))
        .optional()?;
    if let Some(cell) = known {
        return Ok(cell);
    }
    // SQLite has no unsigned integers: the same 64 bits are stored as a signed one.
    let (records, seed) = (key.records as i64, key.seed as i64);
    to.execute(
        "INSERT INTO cell (name, experiment, scale, records, seed) VALUES (?, ?, ?, ?, ?)",
        params![name, key.experiment, key.scale, records, seed],
    )?;
    let cell = to.last_insert_rowid();
    for (name, value) in &key.axes {
        to.execute(
            "INSERT INTO axis VALUES (?, ?, ?)",
            params![cell, name, value],
        )?;
    }
    Ok(cell)
}

/// Removes a round of a cell, with its samples and histograms.
pub(super) fn remove_round(from: &Transaction<'_>, cell: i64, number: u32) -> rusqlite::Result<()> {
    let known = "SELECT count(*) FROM round WHERE cell = ? AND number = ?";
    let known: i64 = from.query_row(known, params![cell, number], |row| row.get(0))?;
    if known == 0 {
        return Ok(());
    }
    for (table, column) in [
        ("round", "number"),
        ("sample", "round"),
        ("histogram", "round"),
    ] {
        let sql = format!("DELETE FROM {table} WHERE cell = ? AND {column} = ?");
        from.execute(&sql, params![cell, number])?;
    }
    let left = "DELETE FROM figure WHERE cell = ?1 AND NOT EXISTS
                (SELECT 1 FROM sample WHERE cell = ?1 AND sample.metric = figure.metric)";
    from.execute(left, [cell])?;
    Ok(())
}

/// Adds the figures of a round.
fn fill(to: &Transaction<'_>, cell: i64, round: u32, measured: &Measured) -> rusqlite::Result<()> {
    let mut samples = to.prepare_cached("INSERT OR REPLACE INTO sample VALUES (?, ?, ?, ?)")?;
    for figure in &measured.figures {
        let places = match figure.values.len() {
            1 => round..=round,
            many => 1..=many as u32,
        };
        for (place, value) in places.zip(&figure.values) {
            samples.execute(params![cell, figure.metric, place, value])?;
        }
        summarise(to, cell, &figure.metric, &figure.unit)?;
    }
    let mut histograms = to.prepare_cached("INSERT INTO histogram VALUES (?, ?, ?, ?)")?;
    for (operation, counts) in &measured.histograms {
        histograms.execute(params![cell, operation, round, counts])?;
    }
    Ok(())
}

/// Brings a figure up to date with its samples.
pub(super) fn summarise(
    to: &Transaction<'_>,
    cell: i64,
    metric: &str,
    unit: &str,
) -> rusqlite::Result<()> {
    let values: Vec<f64> = to
        .prepare_cached("SELECT value FROM sample WHERE cell = ? AND metric = ?")?
        .query_map(params![cell, metric], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let Spread { min, median, max } = Spread::of(&values);
    to.prepare_cached("INSERT OR REPLACE INTO figure VALUES (?, ?, ?, ?, ?, ?, ?)")?
        .execute(params![
            cell,
            metric,
            unit,
            median,
            min,
            max,
            values.len() as i64
        ])?;
    Ok(())
}

fn not_kept(path: &Path) -> impl FnOnce(rusqlite::Error) -> Error + use<> {
    let path = path.to_path_buf();
    move |source| Error::Results { path, source }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;
    use crate::measure::Latencies;

    fn key(kind: &str) -> Key {
        Key {
            experiment: "E-F7",
            scale: "quick",
            seed: u64::MAX,
            records: 0,
            axes: vec![("kind", kind.to_string()), ("boundary", "16".to_string())],
        }
    }

    fn measured() -> Measured {
        let mut took = Latencies::new().unwrap();
        took.record(Duration::from_nanos(700));
        let mut measured = Measured::default();
        measured.put("index_bytes", 1.5, "B");
        measured.put_repeated("load", &[3.0, 1.0, 2.0], "s");
        measured.put_latencies("get", &took);
        measured
    }

    fn round(number: u32) -> Circumstances {
        Circumstances::now(number, 7, "warm")
    }

    fn run() -> Run {
        Run {
            settings: "run quick".to_string(),
            seed: u64::MAX,
            load: Some(0.25),
        }
    }

    #[test]
    fn added_cells_are_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.sqlite");
        let mut file = ResultsFile::create(&path).unwrap();
        let number = file.begin(&run()).unwrap();
        assert_eq!(file.finished(&key("pgm")).unwrap(), []);
        file.add(number, &key("pgm"), &round(1), &measured())
            .unwrap();
        drop(file);

        let file = ResultsFile::open(&path).unwrap();
        let finished = file.finished(&key("pgm")).unwrap();
        assert_eq!(finished, [(1, COMMIT.to_string())]);
        assert_eq!(file.finished(&key("plr")).unwrap(), []);
        let cells = file.cells().unwrap();
        assert_eq!(cells.len(), 1);
        let cell = &cells[0];
        assert_eq!(
            (cell.experiment.as_str(), cell.scale.as_str()),
            ("E-F7", "quick")
        );
        assert_eq!((cell.axis("kind"), cell.axis("set")), ("pgm", ""));
        assert_eq!(cell.value("get_p50"), Some(700.0));
        let load = &cell.figures["load"];
        assert_eq!(
            (load.unit.as_str(), &load.values[..]),
            ("s", &[(1, 3.0), (2, 1.0), (3, 2.0)][..])
        );
        assert_eq!(cell.figures["index_bytes"].values, [(1, 1.5)]);
        let kept = &cell.rounds[0];
        assert_eq!((kept.number, kept.run, kept.seed), (1, number, 7));
        assert_eq!((kept.caches.as_str(), cell.seed), ("warm", -1));
        assert!(kept.time.starts_with("20") && kept.time.ends_with('Z'));
        let (min, median, max) = (1.0, 2.0, 3.0);
        assert_eq!(load.spread, Spread { min, median, max });
        let runs = file.runs().unwrap();
        assert_eq!(runs[0].settings, "run quick");
        assert!(runs[0].time.ends_with('Z'));
        let seed: i64 = file
            .connection
            .query_row("SELECT seed FROM run", [], |row| row.get(0))
            .unwrap();
        assert_eq!(seed, -1);
    }

    #[test]
    fn rounds_add_up_and_replace_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = ResultsFile::create(&directory.path().join("r.sqlite")).unwrap();
        for (number, value) in [(1, 1.0), (2, 4.0), (3, 2.0), (2, 8.0)] {
            let this = file.begin(&run()).unwrap();
            let mut measured = Measured::default();
            measured.put("get", value, "ns");
            if (number, value) == (2, 4.0) {
                measured.put("once", 1.0, "ns");
            }
            file.add(this, &key("pgm"), &round(number), &measured)
                .unwrap();
        }
        let cells = file.cells().unwrap();
        assert_eq!((cells.len(), cells[0].run()), (1, 4));
        assert_eq!(
            cells[0].figures["get"].values,
            [(1, 1.0), (2, 8.0), (3, 2.0)]
        );
        assert_eq!(cells[0].value("get"), Some(2.0));
        assert_eq!(cells[0].value("once"), None, "of the replaced round");
        let finished = file.finished(&key("pgm")).unwrap();
        let numbers: Vec<u32> = finished.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 2, 3]);
    }

    /// A refused round has its reason, is tried again, and never replaces a measured one.
    #[test]
    fn refusals_are_kept_until_the_round_is_measured() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.sqlite");
        let mut file = ResultsFile::create(&path).unwrap();
        let number = file.begin(&run()).unwrap();
        let key = key("pgm");
        file.refuse(number, &key, &round(1), "no permission")
            .unwrap();
        assert_eq!(file.finished(&key).unwrap(), []);
        let cells = file.cells().unwrap();
        assert_eq!(cells[0].refusal(), Some("no permission"));
        file.add(number, &key, &round(2), &measured()).unwrap();
        assert_eq!(file.cells().unwrap()[0].refusal(), None);
        file.add(number, &key, &round(1), &measured()).unwrap();
        file.refuse(number, &key, &round(1), "no permission")
            .unwrap();
        assert_eq!(file.finished(&key).unwrap().len(), 2);
        let cells = file.cells().unwrap();
        assert!(
            cells[0]
                .rounds
                .iter()
                .all(|round| round.refusal().is_none())
        );
        assert_eq!(cells[0].figures["index_bytes"].values.len(), 2);
    }

    #[test]
    fn other_files_and_other_versions_are_refused() {
        let text = tempfile::NamedTempFile::new().unwrap();
        fs::write(text.path(), "keep me, I am no database".repeat(100)).unwrap();
        let error = ResultsFile::create(text.path()).unwrap_err().to_string();
        assert!(error.contains("cannot save the results"), "{error}");
        assert!(fs::read(text.path()).unwrap().starts_with(b"keep me"));

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("old.sqlite");
        let old = Connection::open(&path).unwrap();
        old.execute_batch("CREATE TABLE cell (run INTEGER)")
            .unwrap();
        let error = ResultsFile::create(&path).unwrap_err().to_string();
        assert!(
            error.contains("version 1") && error.contains("--results"),
            "{error}"
        );

        let path = directory.path().join("new.sqlite");
        drop(ResultsFile::create(&path).unwrap());
        let new = Connection::open(&path).unwrap();
        for other in [2, 4] {
            new.pragma_update(None, "user_version", other).unwrap();
            for opened in [ResultsFile::open(&path), ResultsFile::create(&path)] {
                let error = opened.unwrap_err().to_string();
                assert!(error.contains(&format!("version {other}")), "{error}");
                assert!(error.contains("--results"), "{error}");
            }
        }

        let missing = directory.path().join("none.sqlite");
        let error = ResultsFile::open(&missing).unwrap_err().to_string();
        assert!(error.contains("no results") && !missing.exists(), "{error}");
    }

    #[test]
    fn a_full_file_keeps_what_it_has() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = ResultsFile::create(&directory.path().join("r.sqlite")).unwrap();
        let number = file.begin(&run()).unwrap();
        file.add(number, &key("pgm"), &round(1), &measured())
            .unwrap();
        let pages: i64 = file
            .connection
            .pragma_query_value(None, "page_count", |row| row.get(0))
            .unwrap();
        file.connection
            .pragma_update(None, "max_page_count", pages)
            .unwrap();
        let mut large = measured();
        large
            .histograms
            .push(("scan".to_string(), vec![1; 100_000]));
        let error = file
            .add(number, &key("plr"), &round(1), &large)
            .unwrap_err();
        assert!(error.to_string().contains("full"), "{error}");
        let cells = file.cells().unwrap();
        assert_eq!((cells.len(), cells[0].axis("kind")), (1, "pgm"));
    }
}
