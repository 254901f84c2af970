//! What is done with results: `export` and `merge`.

use std::path::PathBuf;

use clap::Args;

use super::RESULTS;
use crate::error::Result;
use crate::results::ResultsFile;

#[derive(Debug, Args)]
pub struct Export {
    /// SQLite file with the results
    #[arg(long, value_name = "FILE", default_value = RESULTS)]
    results: PathBuf,
    /// Directory for the files; those of the same names are replaced
    directory: PathBuf,
}

impl Export {
    /// Writes the files.
    ///
    /// # Errors
    /// If the results cannot be read or the files not written.
    pub fn run(&self) -> Result<()> {
        ResultsFile::open(&self.results)?.export(&self.directory)
    }
}

#[derive(Debug, Args)]
pub struct Merge {
    /// SQLite file that the results are added to
    #[arg(long, value_name = "FILE", default_value = RESULTS)]
    results: PathBuf,
    /// Files of results; of a cell that several have, the last one counts
    #[arg(required = true, value_name = "FILE")]
    from: Vec<PathBuf>,
}

impl Merge {
    /// Adds the results, file by file.
    ///
    /// # Errors
    /// If one cannot be read; those before it were added.
    pub fn run(&self) -> Result<()> {
        // Before a file is made for nothing.
        for from in &self.from {
            drop(ResultsFile::open(from)?);
        }
        let mut file = ResultsFile::create(&self.results)?;
        for from in &self.from {
            let cells = file.merge(from)?;
            println!("{}: {cells} cells", from.display());
        }
        Ok(())
    }
}
