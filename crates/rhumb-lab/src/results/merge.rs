//! Merges files of results of several machines.

use std::collections::HashSet;
use std::path::Path;

use rusqlite::{OptionalExtension, Transaction, params};

use super::cell::REFUSED;
use super::file::{ResultsFile, remove_round, summarise};
use crate::error::{Error, Result};

impl ResultsFile {
    /// Adds all runs and the rounds of all cells of another file. A round that both files have is
    /// taken from the other one. Returns the number of cells of which rounds were added.
    ///
    /// # Errors
    /// If the other file cannot be read or has another version, or this file cannot be written;
    /// this file is then unchanged.
    pub fn merge(&mut self, from: &Path) -> Result<usize> {
        // Refuses files that are not files of results.
        drop(ResultsFile::open(from)?);
        let real = |path: &Path| path.canonicalize().map_err(Error::io("find", path));
        if real(&self.path)? == real(from)? {
            let file = from.display();
            let why =
                format!("{file} cannot be merged into itself: name the files of other machines");
            return Err(Error::Usage(why));
        }
        let failed = self.failed();
        let path = from.display().to_string();
        let attach = "ATTACH DATABASE ? AS other";
        self.connection.execute(attach, [path]).map_err(failed)?;
        let merged = self.take_attached().map_err(self.failed());
        let detached = self.connection.execute("DETACH DATABASE other", []);
        let merged = merged?;
        detached.map_err(self.failed())?;
        Ok(merged)
    }

    fn take_attached(&mut self) -> rusqlite::Result<usize> {
        let transaction = self.connection.transaction()?;
        let last = "SELECT coalesce(max(id), 0) FROM main.run";
        let runs: i64 = transaction.query_row(last, [], |row| row.get(0))?;
        // Runs that were merged before are not added twice.
        transaction.execute_batch(
            r#"CREATE TEMP TABLE come AS SELECT id FROM other.run AS o WHERE EXISTS (
                   SELECT 1 FROM main.run AS m WHERE m.time = o.time AND m.machine = o.machine
                   AND m."commit" = o."commit" AND m.settings = o.settings AND m.seed = o.seed)"#,
        )?;
        transaction.execute(
            r#"INSERT INTO main.run SELECT id + ?, time, machine, cpu, "commit", load, settings, seed
               FROM other.run WHERE id NOT IN (SELECT id FROM come)"#,
            [runs],
        )?;
        let rounds: Vec<(i64, u32)> = transaction
            .prepare("SELECT cell, number FROM other.round WHERE run NOT IN (SELECT id FROM come)")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let mut cells = HashSet::new();
        for (cell, number) in rounds {
            take_round(&transaction, cell, number, runs)?;
            cells.insert(cell);
        }
        transaction.execute("DROP TABLE come", [])?;
        transaction.commit()?;
        Ok(cells.len())
    }
}

/// Copies a round of a cell of the other file; a round that is here already is replaced, but not by a
/// round that the other machine refused. The number
/// of a run is `runs` more here than there.
fn take_round(
    transaction: &Transaction<'_>,
    cell: i64,
    number: u32,
    runs: i64,
) -> rusqlite::Result<()> {
    let here = take_cell(transaction, cell, runs)?;
    let refused: bool = transaction
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM main.round WHERE cell = ? AND number = ?)
             AND instr((SELECT caches FROM other.round WHERE cell = ? AND number = ?), ?) = 1",
        )?
        .query_row(params![here, number, cell, number, REFUSED], |row| {
            row.get(0)
        })?;
    if refused {
        return Ok(());
    }
    remove_round(transaction, here, number)?;
    // A cell with one round may have figures of many values.
    let all: bool = transaction
        .prepare_cached("SELECT count(*) = 1 FROM other.round WHERE cell = ?")?
        .query_row([cell], |row| row.get(0))?;
    transaction
        .prepare_cached(
            "INSERT INTO main.round SELECT ?, number, run + ?, time, load, seed, caches
             FROM other.round WHERE cell = ? AND number = ?",
        )?
        .execute(params![here, runs, cell, number])?;
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO main.sample SELECT ?, metric, round, value
             FROM other.sample WHERE cell = ? AND (round = ? OR ?)",
        )?
        .execute(params![here, cell, number, all])?;
    transaction
        .prepare_cached(
            "INSERT INTO main.histogram SELECT ?, operation, round, counts
             FROM other.histogram WHERE cell = ? AND round = ?",
        )?
        .execute(params![here, cell, number])?;
    let figures: Vec<(String, String)> = transaction
        .prepare_cached("SELECT metric, unit FROM other.figure WHERE cell = ?")?
        .query_map([cell], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (metric, unit) in figures {
        summarise(transaction, here, &metric, &unit)?;
    }
    Ok(())
}

/// The number here of a cell of the other file, which is added with its axes if it is not here.
fn take_cell(transaction: &Transaction<'_>, cell: i64, runs: i64) -> rusqlite::Result<i64> {
    // The name of a cell without a scale contains the number of its run, which may be used here
    // for another run.
    let name: String = transaction
        .prepare_cached(
            "SELECT CASE scale WHEN '' THEN name || ' merged=' ||
                 (?2 + (SELECT min(run) FROM other.round WHERE cell = ?1)) ELSE name END
             FROM other.cell WHERE id = ?1",
        )?
        .query_row([cell, runs], |row| row.get(0))?;
    let known = transaction
        .prepare_cached("SELECT id FROM main.cell WHERE name = ?")?
        .query_row([&name], |row| row.get(0))
        .optional()?;
    if let Some(here) = known {
        return Ok(here);
    }
    transaction.execute(
        "INSERT INTO main.cell (name, experiment, scale, records, seed)
         SELECT ?, experiment, scale, records, seed FROM other.cell WHERE id = ?",
        params![name, cell],
    )?;
    let here = transaction.last_insert_rowid();
    let axes = "INSERT INTO main.axis SELECT ?, name, value FROM other.axis WHERE cell = ?";
    transaction.execute(axes, [here, cell])?;
    Ok(here)
}

#[cfg(test)]
mod tests {
    use super::super::cell::{Circumstances, Key, Measured};
    use super::super::file::Run;
    use super::*;

    fn file(path: &Path, cells: &[(&str, f64)]) -> ResultsFile {
        let mut file = ResultsFile::create(path).unwrap();
        let run = Run {
            settings: format!("{cells:?}"),
            seed: 42,
            load: None,
        };
        let run = file.begin(&run).unwrap();
        for (kind, value) in cells {
            let mut key = Key {
                experiment: "E-F7",
                scale: "small",
                seed: 42,
                records: 0,
                axes: vec![("kind", kind.to_string())],
            };
            let mut measured = Measured::default();
            measured.put("get", *value, "ns");
            let round = Circumstances::now(1, 42, "warm");
            file.add(run, &key, &round, &measured).unwrap();
            (key.experiment, key.scale) = ("stores", "");
            let mut several = Measured::default();
            several.put_repeated("get", &[*value, *value], "ns");
            file.add_of_run(run, &key, &several).unwrap();
        }
        file
    }

    #[test]
    fn cells_of_two_files_become_one_set() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let mut first = file(&path("1.sqlite"), &[("fp", 1.0), ("pgm", 2.0)]);
        drop(file(&path("2.sqlite"), &[("pgm", 3.0), ("plr", 4.0)]));
        for cells in [4, 0] {
            assert_eq!(first.merge(&path("2.sqlite")).unwrap(), cells);
        }
        let itself = first.merge(&path("1.sqlite")).unwrap_err().to_string();
        assert!(itself.contains("into itself"), "{itself}");
        let cells = first.cells().unwrap();
        let of = |scale: &str| {
            let of = cells.iter().filter(|cell| cell.scale == scale);
            let mut of: Vec<(&str, f64)> = of
                .map(|cell| (cell.axis("kind"), cell.value("get").unwrap()))
                .collect();
            of.sort_by(|a, b| a.partial_cmp(b).unwrap());
            of
        };
        assert_eq!(of("small"), [("fp", 1.0), ("pgm", 3.0), ("plr", 4.0)]);
        // Cells without a scale are kept from all runs.
        assert_eq!(of("").len(), 4);
        let run = cells
            .iter()
            .find(|cell| cell.axis("kind") == "plr")
            .unwrap()
            .run();
        let runs = first.runs().unwrap();
        assert!(
            runs.iter()
                .any(|kept| kept.id == run && kept.settings.contains("plr"))
        );
    }

    #[test]
    fn rounds_of_two_files_become_one_cell() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let key = Key {
            experiment: "E-F7",
            scale: "small",
            seed: 42,
            records: 0,
            axes: vec![("kind", "fp".to_string())],
        };
        let part = |name: &str, rounds: &[(u32, f64)]| {
            let mut file = ResultsFile::create(&path(name)).unwrap();
            let run = Run {
                settings: name.to_string(),
                seed: 42,
                load: None,
            };
            let run = file.begin(&run).unwrap();
            for (number, value) in rounds {
                let mut measured = Measured::default();
                measured.put("get", *value, "ns");
                let round = Circumstances::now(*number, 7, "warm");
                file.add(run, &key, &round, &measured).unwrap();
            }
            file
        };
        let mut first = part("1.sqlite", &[(1, 1.0), (2, 2.0)]);
        drop(part("2.sqlite", &[(2, 5.0), (3, 6.0)]));
        assert_eq!(first.merge(&path("2.sqlite")).unwrap(), 1);
        let cells = first.cells().unwrap();
        assert_eq!(cells.len(), 1);
        assert_eq!(
            cells[0].figures["get"].values,
            [(1, 1.0), (2, 5.0), (3, 6.0)]
        );
        assert_eq!(cells[0].value("get"), Some(5.0));
        let runs: Vec<i64> = cells[0].rounds.iter().map(|round| round.run).collect();
        assert_eq!(runs, [1, 2, 2]);
    }

    #[test]
    fn other_files_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let mut first = file(&path("1.sqlite"), &[("fp", 1.0)]);
        std::fs::write(path("text"), "not a database".repeat(100)).unwrap();
        assert!(first.merge(&path("text")).is_err());
        assert!(first.merge(&path("none")).is_err());
        assert_eq!(first.cells().unwrap().len(), 2);
    }
}
