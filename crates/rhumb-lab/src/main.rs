//! The `rhumb-lab` command: data sets, workloads and experiments that measure when each index pays.

mod claims;
mod cli;
mod contest;
mod data;
mod error;
mod experiment;
mod measure;
mod progress;
mod report;
mod results;
mod run;
mod scratch;
mod store;
mod table;
mod workload;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match cli::Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rhumb-lab: {error}");
            ExitCode::FAILURE
        }
    }
}
