//! The command line: each command a file.

mod claims;
mod data;
mod report;
mod results;
mod run;

use clap::{Parser, Subcommand};

use self::claims::Claims;
use self::data::Generate;
use self::report::Report;
use self::results::{Export, Merge};
use self::run::{Run, Settings};
use crate::error::Result;

/// The file of results where the user names none.
const RESULTS: &str = "rhumb-lab.sqlite";

/// Measures when each index pays.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Say which experiments and which sets of keys there are
    List,
    /// Run experiments: every answer is checked, and the figures are printed and kept
    Run(Box<Run>),
    /// Run the experiment `peers`: rhumb head to head with other stores
    Peers(Box<Settings>),
    /// Draw the results on one HTML page
    Report(Report),
    /// Say of each published claim whether it holds in the results
    Claims(Claims),
    /// Write the results as CSV files, one a table
    Export(Export),
    /// Add the results of other machines to those here
    Merge(Merge),
    /// Write a set of sorted distinct integers to a SOSD file: count and keys, 64 bits little-endian
    #[command(name = "gen")]
    Generate(Generate),
}

impl Cli {
    /// Does what the command line says.
    ///
    /// # Errors
    /// Whatever ended it early.
    pub fn run(self) -> Result<()> {
        match self.command {
            Command::List => {
                data::list();
                Ok(())
            }
            Command::Run(run) => run.run(),
            Command::Peers(settings) => settings.run_peers(),
            Command::Report(report) => report.run(),
            Command::Claims(claims) => claims.run(),
            Command::Export(export) => export.run(),
            Command::Merge(merge) => merge.run(),
            Command::Generate(set) => set.run(),
        }
    }
}
