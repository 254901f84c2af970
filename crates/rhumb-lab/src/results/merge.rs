//! Merges files of results of several machines.

use std::path::Path;

use rusqlite::params;

use super::file::{ResultsFile, remove};
use crate::error::{Error, Result};

impl ResultsFile {
    /// Adds all runs and cells of another file. A cell that both files have is taken from the other
    /// one. Returns the number of cells added.
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
        let last = |table: &str| -> rusqlite::Result<i64> {
            let sql = format!("SELECT coalesce(max(id), 0) FROM main.{table}");
            transaction.query_row(&sql, [], |row| row.get(0))
        };
        let (runs, cells) = (last("run")?, last("cell")?);
        // Runs that were merged before are not added twice.
        transaction.execute_batch(
            r#"CREATE TEMP TABLE come AS SELECT id FROM other.run AS o WHERE EXISTS (
                   SELECT 1 FROM main.run AS m WHERE m.time = o.time AND m.machine = o.machine
                   AND m."commit" = o."commit" AND m.settings = o.settings AND m.seed = o.seed)"#,
        )?;
        let names: Vec<String> = transaction
            .prepare(
                "SELECT name FROM other.cell
                 WHERE scale <> '' AND run NOT IN (SELECT id FROM come)",
            )?
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for name in &names {
            remove(&transaction, name)?;
        }
        transaction.execute(
            r#"INSERT INTO main.run SELECT id + ?, time, machine, cpu, "commit", load, settings, seed
               FROM other.run WHERE id NOT IN (SELECT id FROM come)"#,
            [runs],
        )?;
        // The name of a cell without a scale contains the number of its run, which may be used here
        // for another run.
        let came = transaction.execute(
            "INSERT INTO main.cell
             SELECT id + ?1, CASE scale WHEN '' THEN name || ' merged=' || (run + ?2) ELSE name END,
                    run + ?2, experiment, scale FROM other.cell
             WHERE run NOT IN (SELECT id FROM come)",
            params![cells, runs],
        )?;
        for table in ["axis", "figure", "sample", "histogram"] {
            let columns = match table {
                "axis" => "name, value",
                "figure" => "metric, unit, value, min, max, repeats",
                "sample" => "metric, repeat, value",
                _ => "operation, counts",
            };
            let sql =
                format!(
                    "INSERT INTO main.{table} SELECT cell + ?, {columns} FROM other.{table} WHERE cell IN
                     (SELECT id FROM other.cell WHERE run NOT IN (SELECT id FROM come))"
                );
            transaction.execute(&sql, [cells])?;
        }
        transaction.execute("DROP TABLE come", [])?;
        transaction.commit()?;
        Ok(came)
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::{Key, Measured};
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
            measured.put_repeated("get", &[*value, *value], "ns");
            file.add(run, &key, &measured).unwrap();
            (key.experiment, key.scale) = ("stores", "");
            file.add_of_run(run, &key, &measured).unwrap();
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
            .run;
        let runs = first.runs().unwrap();
        assert!(
            runs.iter()
                .any(|kept| kept.id == run && kept.settings.contains("plr"))
        );
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
