//! Reads runs and cells from a file of results.

use std::collections::BTreeMap;

use super::cell::{Cell, Kept, Round};
use super::file::ResultsFile;
use crate::error::Result;
use crate::measure::Spread;

/// A run read from the file.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptRun {
    /// Its number.
    pub id: i64,
    /// When it began, in UTC.
    pub time: String,
    /// Operating system, architecture, cores and memory.
    pub machine: String,
    /// The processor.
    pub cpu: String,
    /// The commit of the program.
    pub commit: String,
    /// Its arguments.
    pub settings: String,
}

impl ResultsFile {
    /// All runs, in the order of their numbers.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn runs(&self) -> Result<Vec<KeptRun>> {
        let read = || -> rusqlite::Result<Vec<KeptRun>> {
            let sql = r#"SELECT id, time, machine, cpu, "commit", settings FROM run ORDER BY id"#;
            let mut rows = self.connection.prepare(sql)?;
            let runs = rows.query_map([], |row| {
                Ok(KeptRun {
                    id: row.get(0)?,
                    time: row.get(1)?,
                    machine: row.get(2)?,
                    cpu: row.get(3)?,
                    commit: row.get(4)?,
                    settings: row.get(5)?,
                })
            })?;
            runs.collect()
        };
        read().map_err(self.failed())
    }

    /// All cells, in the order in which they were finished.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn cells(&self) -> Result<Vec<Cell>> {
        self.read_cells().map_err(self.failed())
    }

    fn read_cells(&self) -> rusqlite::Result<Vec<Cell>> {
        let mut cells: BTreeMap<i64, Cell> = BTreeMap::new();
        let sql = "SELECT id, experiment, scale, seed, records FROM cell ORDER BY id";
        let mut rows = self.connection.prepare(sql)?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let cell = Cell {
                experiment: row.get(1)?,
                scale: row.get(2)?,
                seed: row.get(3)?,
                records: row.get(4)?,
                axes: BTreeMap::new(),
                rounds: Vec::new(),
                figures: BTreeMap::new(),
            };
            cells.insert(row.get(0)?, cell);
        }
        let sql = "SELECT cell, number, run, time, load, seed, caches FROM round
                   ORDER BY cell, number";
        let mut rows = self.connection.prepare(sql)?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let round = Round {
                number: row.get(1)?,
                run: row.get(2)?,
                time: row.get(3)?,
                load: row.get(4)?,
                seed: row.get(5)?,
                caches: row.get(6)?,
            };
            if let Some(cell) = cells.get_mut(&row.get(0)?) {
                cell.rounds.push(round);
            }
        }
        let mut rows = self
            .connection
            .prepare("SELECT cell, name, value FROM axis")?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            if let Some(cell) = cells.get_mut(&row.get(0)?) {
                cell.axes.insert(row.get(1)?, row.get(2)?);
            }
        }
        let sql = "SELECT cell, metric, unit, value, min, max FROM figure";
        let mut rows = self.connection.prepare(sql)?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let (median, min, max) = (row.get(3)?, row.get(4)?, row.get(5)?);
            let kept = Kept {
                unit: row.get(2)?,
                spread: Spread { min, median, max },
                values: Vec::new(),
            };
            if let Some(cell) = cells.get_mut(&row.get(0)?) {
                cell.figures.insert(row.get(1)?, kept);
            }
        }
        let sql = "SELECT cell, metric, round, value FROM sample ORDER BY cell, metric, round";
        let mut rows = self.connection.prepare(sql)?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let metric: String = row.get(1)?;
            let cell = cells.get_mut(&row.get(0)?);
            if let Some(kept) = cell.and_then(|cell| cell.figures.get_mut(&metric)) {
                kept.values.push((row.get(2)?, row.get(3)?));
            }
        }
        Ok(cells.into_values().collect())
    }
}
