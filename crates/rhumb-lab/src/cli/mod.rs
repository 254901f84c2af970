//! The command line: one file for each command.

mod claims;
mod data;
mod dry_run;
mod report;
mod results;
mod run;

use clap::{Parser, Subcommand};

use self::claims::Claims;
use self::data::{Generate, Measure};
use self::report::Report;
use self::results::{Export, Merge};
use self::run::{Run, Settings};
use crate::error::Result;

/// The file of results if the user gives none.
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
    /// List the experiments and the sets of keys
    List,
    /// Run experiments: check every answer, print the figures and save them
    Run(Box<Run>),
    /// Run the experiment `peers`: compare rhumb with other stores
    Peers(Box<Settings>),
    /// Draw the results on one HTML page
    Report(Report),
    /// Print for each published claim whether it holds in the results
    Claims(Claims),
    /// Write the results as CSV files, one for each table
    Export(Export),
    /// Add the results of other machines to the results of this one
    Merge(Merge),
    /// Write a set of distinct integers to a file: sorted to a SOSD file (count and keys, 64-bit
    /// little-endian), or in an order of arrival
    #[command(name = "gen")]
    Generate(Generate),
    /// Measure how far a file of keys, or a column of one, is from sorted
    Measure(Measure),
}

impl Cli {
    /// Runs the command.
    ///
    /// # Errors
    /// Any error that ended the command early.
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
            Command::Measure(file) => file.run(),
        }
    }
}
