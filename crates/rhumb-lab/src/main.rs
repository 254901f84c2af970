//! The `rhumb-lab` command: data sets, workloads and experiments that measure when each index pays.

mod data;
mod error;
mod measure;
mod progress;
mod report;
mod results;
mod run;
mod store;
mod table;
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "experiments that drive workloads come next")
)]
mod workload;

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, Parser, Subcommand};
use rhumb::{IndexSpec, TableSpec};

use crate::data::numbers::Numbers;
use crate::data::sets::{SETS, SetSpec};
use crate::data::sosd;
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::results::Report;
use crate::run::{Arguments, Bench, EXPERIMENTS, Experiment, Set};

/// Measures when each index pays.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Say which experiments and which sets of keys there are
    List,
    /// Run experiments: every answer is checked, and the figures are printed and kept
    Run(Box<Run>),
    /// Write a set of sorted distinct integers to a SOSD file: count and keys, 64 bits little-endian
    #[command(name = "gen")]
    Generate(Generate),
}

#[derive(Debug, Args)]
struct Generate {
    /// Which integers, as `list` names them
    #[arg(long, value_name = "SET")]
    input: SetSpec,
    /// How many, two at least; fewer if a set that is read has no more
    #[arg(long, value_name = "N", default_value_t = 10_000_000,
          value_parser = clap::value_parser!(u32).range(2..))]
    keys: u32,
    /// Seed of the integers
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// File to write; one that is there is replaced
    file: PathBuf,
}

#[derive(Debug, Args)]
struct Run {
    /// Which experiments, as `list` names them
    #[arg(required = true, value_name = "ID")]
    experiments: Vec<String>,
    /// Seed of keys, values and every random choice
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Where temporary stores are made; they are removed at the end
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir())]
    dir: PathBuf,
    /// SQLite file that the figures are added to
    #[arg(long, value_name = "FILE", default_value = "rhumb-lab.sqlite")]
    results: PathBuf,
    /// How many keys of each input to take; every experiment has its own number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=4_000_000_000))]
    keys: Option<u32>,
    /// Index to measure, such as fp or plr:boundary=16; may be repeated
    #[arg(long = "index", value_name = "SPEC")]
    indexes: Vec<IndexSpec>,
    /// Layout of tables, such as size=4MiB,filter=10
    #[arg(long, value_name = "SPEC")]
    table: Option<TableSpec>,
    /// Take paths from this file index, plain or gzipped, instead of the built-in slice
    #[arg(long, value_name = "FILE")]
    paths: Option<PathBuf>,
    /// Integers for indexes [default: all of them]; may be repeated
    #[arg(long = "input", value_name = "NAME")]
    numbers: Vec<Numbers>,
    /// Measure quick and indexes on the keys of this SOSD file too; may be repeated
    #[arg(long, value_name = "FILE")]
    sosd: Vec<PathBuf>,
    /// Pairs to load, for every experiment over stores but quick; may be repeated
    #[arg(long = "set", value_name = "SET", default_value = "c1")]
    sets: Vec<Set>,
    /// How often to repeat what is timed, the stores by turns: 1 in stores, 7 in threads and stages,
    /// 5 in indexes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    runs: Option<u32>,
    /// How many gets of each kind to do a time; every experiment has its own number
    #[arg(long, value_name = "N")]
    gets: Option<u32>,
    /// Bytes of blocks that a warm store keeps in memory [default: more than the data; a tenth of it
    /// in cache]
    #[arg(long, value_name = "BYTES")]
    cache: Option<u64>,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::List => {
            list();
            Ok(())
        }
        Command::Generate(set) => set.write(),
        Command::Run(run) => progress::catch_interrupts().and_then(|()| run.run()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rhumb-lab: {error}");
            ExitCode::FAILURE
        }
    }
}

fn list() {
    for experiment in EXPERIMENTS {
        println!("{:8}{}", experiment.name, experiment.about);
    }
    println!("\nSets of keys:");
    for set in SETS {
        println!("{:20}{}", set.usage(), set.about);
    }
}

fn find(name: &str) -> Result<&'static Experiment> {
    let found = EXPERIMENTS
        .iter()
        .find(|experiment| experiment.name == name);
    found.ok_or_else(|| {
        Error::Usage(format!(
            "there is no experiment {name:?}: see `rhumb-lab list`"
        ))
    })
}

impl Generate {
    fn write(&self) -> Result<()> {
        let numbers = self.input.numbers(self.keys as usize, self.seed)?;
        sosd::write(&self.file, &numbers)
    }
}

impl Run {
    /// Runs the experiments, prints their tables and keeps their figures.
    fn run(self) -> Result<()> {
        let started = Instant::now();
        let names = self.experiments.iter().map(|name| find(name));
        let experiments: Vec<&Experiment> = names.collect::<Result<_>>()?;
        let arguments = self.arguments()?;
        results::prepare(&self.results)?;
        let temporary = tempfile::Builder::new()
            .prefix("rhumb-lab-")
            .tempdir_in(&self.dir)
            .map_err(Error::io("create a directory in", &self.dir))?;
        let mut bench = Bench {
            directory: temporary.path().to_path_buf(),
            progress: Progress::new(),
            report: Report::default(),
        };
        let settings: Vec<String> = std::env::args().skip(1).collect();
        let this = results::Run {
            settings: settings.join(" "),
            seed: self.seed,
            load: results::load_average(),
        };
        for experiment in experiments {
            let text = (experiment.run)(&arguments, &mut bench)?;
            bench.progress.clear();
            println!("{}", text.trim_end());
        }
        bench.report.save(&self.results, &this)?;
        println!(
            "On {}, {}, load average before: {}. Took {:.1} s; added to {}.",
            results::cpu(),
            results::machine(),
            table::number(this.load, 2),
            started.elapsed().as_secs_f64(),
            self.results.display()
        );
        Ok(())
    }

    /// What the experiments need of the command line. A figure is kept once a run, so nothing may be
    /// asked for twice.
    fn arguments(&self) -> Result<Arguments> {
        let names = self.experiments.iter().map(String::to_string);
        let indexes = self.indexes.iter().map(IndexSpec::to_string);
        let files = self.sosd.iter().map(|path| run::file_name(path));
        let sets = self.sets.iter().map(|set| format!("{set:?}"));
        let numbers = self.numbers.iter().map(|set| set.name().to_string());
        let mut seen = HashSet::new();
        for name in names.chain(indexes).chain(files).chain(sets).chain(numbers) {
            if !seen.insert(name.clone()) {
                return Err(Error::Usage(format!("{name} is named twice: name it once")));
            }
        }
        Ok(Arguments {
            seed: self.seed,
            keys: self.keys.map(|keys| keys as usize),
            indexes: self.indexes.clone(),
            table: self.table.clone(),
            paths: self.paths.clone(),
            sosd: self.sosd.clone(),
            numbers: if self.numbers.is_empty() && self.sosd.is_empty() {
                Numbers::ALL.to_vec()
            } else {
                self.numbers.clone()
            },
            sets: self.sets.clone(),
            runs: self.runs.map(|runs| runs as usize),
            gets: self.gets.map(|gets| gets as usize),
            cache_bytes: self.cache,
        })
    }
}
