//! Results as CSV files, one for each table of the SQLite file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use rusqlite::types::ValueRef;

use super::file::{ResultsFile, TABLES};
use crate::error::{Error, Result};
use crate::measure::Latencies;

impl ResultsFile {
    /// Writes all tables into a directory, which is created if it does not exist; files of the same
    /// names are replaced. Histograms have a line for each bucket.
    ///
    /// # Errors
    /// If the results cannot be read or the files cannot be written.
    pub fn export(&self, directory: &Path) -> Result<()> {
        std::fs::create_dir_all(directory).map_err(Error::io("create", directory))?;
        for table in TABLES {
            let path = directory.join(format!("{table}.csv"));
            let file = File::create(&path).map_err(Error::io("create", &path))?;
            let mut to = BufWriter::new(file);
            let lines = self.lines(table).map_err(self.failed())?;
            let mut write = || {
                for line in &lines {
                    writeln!(to, "{line}")?;
                }
                to.flush()
            };
            write().map_err(Error::io("write", &path))?;
        }
        Ok(())
    }

    /// The heading and all rows of a table.
    fn lines(&self, table: &str) -> rusqlite::Result<Vec<String>> {
        let sql = format!("SELECT * FROM {table} ORDER BY 1, 2, 3");
        let mut rows = self.connection.prepare(&sql)?;
        let mut names: Vec<String> = rows.column_names().map(field).collect();
        let columns = names.len();
        if table == "histogram" {
            names.splice(3.., ["up_to_ns".to_string(), "count".to_string()]);
        }
        let mut lines = vec![names.join(",")];
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let mut fields = Vec::new();
            let mut buckets = None;
            for column in 0..columns {
                match row.get_ref(column)? {
                    ValueRef::Null => fields.push(String::new()),
                    ValueRef::Integer(number) => fields.push(number.to_string()),
                    ValueRef::Real(number) => fields.push(number.to_string()),
                    ValueRef::Text(text) => fields.push(field(&String::from_utf8_lossy(text))),
                    ValueRef::Blob(bytes) => buckets = Some(Latencies::buckets(bytes)),
                }
            }
            let line = fields.join(",");
            match buckets {
                None => lines.push(line),
                Some(buckets) => lines
                    .extend(buckets.map(|(latency, count)| format!("{line},{latency},{count}"))),
            }
        }
        Ok(lines)
    }
}

/// A field of a CSV file (RFC 4180).
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::cell::{Circumstances, Key, Measured};
    use super::super::file::Run;
    use super::*;

    #[test]
    fn every_table_becomes_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = ResultsFile::create(&directory.path().join("r.sqlite")).unwrap();
        let run = Run {
            settings: "run E-F7, \"all\"".to_string(),
            seed: 42,
            load: None,
        };
        let run = file.begin(&run).unwrap();
        let key = Key {
            experiment: "E-F7",
            scale: "quick",
            seed: 42,
            records: 0,
            axes: vec![("kind", "pgm".to_string())],
        };
        let (mut took, mut measured) = (Latencies::new().unwrap(), Measured::default());
        took.record(Duration::from_nanos(5));
        took.record(Duration::from_nanos(9));
        measured.put_latencies("get", &took);
        let round = Circumstances::now(3, 42, "warm");
        file.add(run, &key, &round, &measured).unwrap();
        let to = directory.path().join("csv");
        file.export(&to).unwrap();
        let read = |name: &str| std::fs::read_to_string(to.join(name)).unwrap();
        assert!(read("run.csv").contains(",\"run E-F7, \"\"all\"\"\",42"));
        assert_eq!(read("axis.csv"), "cell,name,value\n1,kind,pgm\n");
        assert!(read("figure.csv").contains("1,get_mean,ns,7,7,7,1\n"));
        assert!(read("sample.csv").contains("1,get_mean,3,7\n"));
        assert!(read("round.csv").contains("1,3,1,") && read("round.csv").contains(",42,warm\n"));
        let expected = "cell,operation,round,up_to_ns,count\n1,get,3,5,1\n1,get,3,9,1\n";
        assert_eq!(read("histogram.csv"), expected);
        for table in TABLES {
            assert!(
                read(&format!("{table}.csv")).lines().count() >= 1,
                "{table}"
            );
        }
    }
}
