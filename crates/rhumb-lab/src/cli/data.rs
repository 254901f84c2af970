//! The commands `list` and `gen`.

use std::path::PathBuf;

use clap::Args;

use crate::data::sets::{SETS, SetSpec};
use crate::data::sosd;
use crate::error::Result;
use crate::{experiment, run};

/// Prints the experiments and the data sets.
pub fn list() {
    println!("Experiments of the papers, at scale quick, small or paper (--scale):");
    for experiment in experiment::all() {
        println!("  {:10}{}", experiment.id, experiment.title);
    }
    println!("\nExperiments of our own:");
    for bench in run::BENCHES {
        println!("  {:10}{}", bench.name, bench.about);
    }
    println!("\nSets of keys:");
    for set in SETS {
        println!("  {:20}{}", set.usage(), set.about);
    }
}

#[derive(Debug, Args)]
pub struct Generate {
    /// The set of integers, as named by `list`
    #[arg(long, value_name = "SET")]
    input: SetSpec,
    /// Number of keys, at least two; fewer are written if a set that is read from a file has fewer
    #[arg(long, value_name = "N", default_value_t = 10_000_000,
          value_parser = clap::value_parser!(u32).range(2..))]
    keys: u32,
    /// Seed of the integers
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// File to write; an existing file is replaced
    file: PathBuf,
}

impl Generate {
    /// Writes the file.
    ///
    /// # Errors
    /// If the set cannot be read or the file cannot be written.
    pub fn run(&self) -> Result<()> {
        let numbers = self.input.numbers(self.keys as usize, self.seed)?;
        sosd::write(&self.file, &numbers)
    }
}
