//! The commands `export` and `merge`.

use std::path::PathBuf;

use clap::Args;

use super::RESULTS;
use crate::error::Result;
use crate::results::{Lock, ResultsFile};

#[derive(Debug, Args)]
pub struct Export {
    /// SQLite file with the results
    #[arg(long, value_name = "FILE", default_value = RESULTS)]
    results: PathBuf,
    /// Directory for the files; existing files of the same names are replaced
    directory: PathBuf,
}

impl Export {
    /// Writes the files.
    ///
    /// # Errors
    /// If the results cannot be read or the files cannot be written.
    pub fn run(&self) -> Result<()> {
        ResultsFile::open(&self.results)?.export(&self.directory)?;
        println!(
            "Wrote the tables of {} to {}.",
            self.results.display(),
            self.directory.display()
        );
        Ok(())
    }
}

#[derive(Debug, Args)]
pub struct Merge {
    /// SQLite file that the results are added to
    #[arg(long, value_name = "FILE", default_value = RESULTS)]
    results: PathBuf,
    /// Files of results; if several have the same cell, that of the last one counts
    #[arg(required = true, value_name = "FILE")]
    from: Vec<PathBuf>,
}

impl Merge {
    /// Adds the results, file by file.
    ///
    /// # Errors
    /// If a file cannot be read; the files before it were added.
    pub fn run(&self) -> Result<()> {
        // Refuse unreadable files before the file of results is created.
        for from in &self.from {
            drop(ResultsFile::open(from)?);
        }
        let _lock = Lock::take(&self.results)?;
        let mut file = ResultsFile::create(&self.results)?;
        for from in &self.from {
            let cells = file.merge(from)?;
            println!("{}: {cells} cells", from.display());
        }
        Ok(())
    }
}
