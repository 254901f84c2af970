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
    /// Scale of the experiments [default: that with the most cells in the results]
    #[arg(long, value_name = "SCALE")]
    scale: Option<Scale>,
    /// Seed of the experiments [default: that with the most cells in the results]
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
}

impl Claims {
    /// Prints the ledger.
    ///
    /// # Errors
    /// If the results cannot be read.
    pub fn run(&self) -> Result<()> {
        let cells = ResultsFile::open(&self.results)?.cells()?;
        let chosen = experiment::chosen(self.scale, self.seed, cells);
        let judged = claims::judge(&Evidence::new(&chosen.cells, chosen.scale)?);
        print!("At {}:\n{}", chosen.text(), claims::table(&judged));
        Ok(())
    }
}
