//! `rhumb-lab claims`: whether the published claims hold in the results.

use std::path::PathBuf;

use clap::Args;

use super::RESULTS;
use crate::claims::{self, Evidence};
use crate::error::Result;
use crate::experiment::{self, Scale};
use crate::results::ResultsFile;

#[derive(Debug, Args)]
pub struct Claims {
    /// SQLite file with the results
    #[arg(long, value_name = "FILE", default_value = RESULTS)]
    results: PathBuf,
    /// Scale of the experiments [default: the largest scale in the results]
    #[arg(long, value_name = "SCALE")]
    scale: Option<Scale>,
}

impl Claims {
    /// Prints the ledger.
    ///
    /// # Errors
    /// If the results cannot be read.
    pub fn run(&self) -> Result<()> {
        let cells = ResultsFile::open(&self.results)?.cells()?;
        let (scale, cells) = experiment::chosen(self.scale, cells);
        let judged = claims::judge(&Evidence::new(&cells, scale)?);
        print!("At scale {scale}:\n{}", claims::table(&judged));
        Ok(())
    }
}
