//! `rhumb-lab run`: runs experiments, prints and saves their figures.

mod chosen;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use rhumb::{IndexSpec, TableSpec};

use self::chosen::once;
use super::RESULTS;
use super::dry_run::dry_run;
use crate::data::Disorder;
use crate::data::numbers::Numbers;
use crate::error::{Error, Result};
use crate::experiment::{self, Order, Scale, Summary};
use crate::progress::{self, Progress};
use crate::results::{self, Lock, Report, ResultsFile, machine};
use crate::run::{self, Arguments, Bench, Set};
use crate::scratch::Scratch;
use crate::store::Peer;
use crate::table;
use crate::workload::mix::Mix;

#[derive(Debug, Args)]
pub struct Run {
    /// Experiments, as named by `list`; `all` means all experiments of the papers, `quick` the same
    /// at scale quick and also `kinds`
    #[arg(required = true, value_name = "ID")]
    experiments: Vec<String>,
    /// Scale of the papers' experiments [default: quick]
    #[arg(long, value_name = "SCALE")]
    scale: Option<Scale>,
    /// Measure finished cells again instead of skipping them
    #[arg(long)]
    again: bool,
    /// Measure only part I of N of the cells, and leave the rest to other machines (see `merge`)
    #[arg(long, value_name = "I/N", default_value = "1/1", value_parser = experiment::parse_shard)]
    shard: (usize, usize),
    /// Measure only cells with this value of an axis, such as system=tier-keys, and cells without the axis; may be repeated
    #[arg(long, value_name = "AXIS=VALUE", value_parser = experiment::parse_only)]
    only: Vec<(String, String)>,
    /// Measure nothing; print what each experiment of the papers will take in time, memory and disk
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Debug, Args)]
pub struct Settings {
    /// Seed of keys, values and every random choice
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Directory for temporary stores, which are removed at the end
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir())]
    dir: PathBuf,
    /// SQLite file that the figures are added to
    #[arg(long, value_name = "FILE", default_value = RESULTS)]
    results: PathBuf,
    /// Number of keys of each input, of arrivals in BLISS's experiments, or of records in LearnedKV's [default:
    /// depends on the experiment, or on the scale]
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
    /// Set of integers for indexes and updatable [default: all sets]; may be repeated
    #[arg(long = "input", value_name = "NAME")]
    numbers: Vec<Numbers>,
    /// SOSD file whose keys kinds, indexes and updatable measure too; may be repeated
    #[arg(long, value_name = "FILE")]
    sosd: Vec<PathBuf>,
    /// Set of pairs to load, in experiments over stores other than kinds [default: c1]; may be
    /// repeated
    #[arg(long = "set", value_name = "SET")]
    sets: Vec<Set>,
    /// Store to compare with in peers [default: all in this build] and workloads [default: none];
    /// may be repeated
    #[arg(long = "peer", value_name = "NAME")]
    peers: Vec<Peer>,
    /// Number of rounds, which build all stores anew, in kinds, stores, peers, workloads and ycsb
    /// [default: 1] and in the papers' experiments [default: depends on the scale]; number of repeats of what
    /// is timed in others [default: 7 in threads and stages, 5 in indexes, 3 in updatable and texts]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    runs: Option<u32>,
    /// Number of gets of each kind, or of operations of each workload, in one repeat [default:
    /// depends on the experiment]
    #[arg(long, value_name = "N")]
    gets: Option<u32>,
    /// Workload for workloads, such as ycsb-a, rw=90:10 or read=95,insert=5,latest [default: the
    /// six of YCSB]; may be repeated
    #[arg(long = "workload", value_name = "MIX")]
    workloads: Vec<Mix>,
    /// Number of clients in workloads [default: 1]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Operations that all clients of workloads together begin each second, even if the store lags
    /// behind [default: each client begins an operation when its last one is done]
    #[arg(long, value_name = "OPS")]
    rate: Option<f64>,
    /// Make each write of workloads durable before it returns [default: it reaches the operating
    /// system]
    #[arg(long)]
    sync: bool,
    /// Seconds for which workloads runs each workload, instead of a number of operations
    #[arg(long, value_name = "S", value_parser = seconds, conflicts_with = "gets")]
    seconds: Option<Duration>,
    /// Bytes of the block cache of a warm store [default: more than the data; in the experiment
    /// cache, a tenth of the data]
    #[arg(long, value_name = "BYTES")]
    cache: Option<u64>,
    /// System for ingest, such as `rhumb ratio=4 write_buffer=4MiB`, `index alex` or `rocksdb` [default: rhumb
    /// and three indexes]; may be repeated
    #[arg(long = "system", value_name = "TEXT")]
    systems: Vec<String>,
    /// Order of arrival for ingest, such as k=10,l=5 (see `gen`) [default: that of the file given by --from,
    /// or four orders from sorted to scrambled]; may be repeated
    #[arg(long = "order", value_name = "ORDER")]
    orders: Vec<Disorder>,
    /// Set of integers that arrive in ingest, such as git-times:DIR or arrivals:FILE [default: counting]
    #[arg(long = "from", value_name = "SET")]
    arriving: Option<String>,
}

impl Run {
    /// Runs the experiments, prints their tables and saves their figures.
    ///
    /// # Errors
    /// Any error that ended the run early; finished cells were saved.
    pub fn run(&self) -> Result<()> {
        let (benches, order) = self.chosen()?;
        if self.dry_run {
            println!("{}", dry_run(order, &self.settings.results)?);
            return Ok(());
        }
        self.settings.run(&benches, &order)
    }
}

impl Settings {
    /// Runs our own experiment `peers`.
    ///
    /// # Errors
    /// Any error that ended it early.
    pub fn run_peers(self) -> Result<()> {
        let run = Run {
            experiments: vec!["peers".to_string()],
            scale: None,
            again: false,
            shard: (1, 1),
            only: Vec::new(),
            dry_run: false,
            settings: self,
        };
        run.run()
    }

    fn run(&self, benches: &[&run::Experiment], order: &Order) -> Result<()> {
        progress::catch_interrupts()?;
        let started = Instant::now();
        let arguments = self.arguments()?;
        let _lock = Lock::take(&self.results)?;
        let mut file = ResultsFile::create(&self.results)?;
        let scratch = Scratch::new(&self.dir)?;
        let mut bench = Bench {
            directory: scratch.path().to_path_buf(),
            progress: Progress::new(),
            report: Report::default(),
        };
        let settings: Vec<String> = std::env::args().skip(1).collect();
        let this = results::Run {
            settings: settings.join(" "),
            seed: self.seed,
            load: machine::load_average(),
        };
        let number = file.begin(&this)?;
        for one in benches {
            let text = (one.run)(&arguments, &mut bench)?;
            bench.progress.clear();
            println!("{}", text.trim_end());
            std::mem::take(&mut bench.report).save(&mut file, number, self.seed)?;
        }
        if !order.experiments.is_empty() {
            let (directory, progress) = (&bench.directory, &bench.progress);
            let summary = experiment::run(order, directory, progress, &mut file, number)?;
            println!("{}", told(order, &summary));
        }
        println!(
            "Measured on {}, {}, load average before: {}. Took {:.1} s; results are in {}.",
            machine::cpu(),
            machine::machine(),
            table::number(this.load, 2),
            started.elapsed().as_secs_f64(),
            self.results.display()
        );
        Ok(())
    }

    /// The arguments of our own experiments. A run saves each figure once, so nothing may be
    /// requested twice.
    fn arguments(&self) -> Result<Arguments> {
        let indexes = self.indexes.iter().map(IndexSpec::to_string);
        let files = self.sosd.iter().map(|path| run::file_name(path));
        let sets = self.sets.iter().map(|set| format!("{set:?}"));
        let numbers = self.numbers.iter().map(|set| set.name().to_string());
        let peers = self.peers.iter().map(Peer::to_string);
        let workloads = self.workloads.iter().map(Mix::to_string);
        let orders = self.orders.iter().map(Disorder::to_string);
        let arriving = self.systems.iter().cloned().chain(orders);
        let of_stores = sets.chain(peers).chain(workloads).chain(arriving);
        once(indexes.chain(files).chain(numbers).chain(of_stores))?;
        let sets = match &self.sets[..] {
            [] => vec![Set::C1],
            named => named.to_vec(),
        };
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
            sets,
            peers: self.peers.clone(),
            runs: self.runs.map(|runs| runs as usize),
            gets: self.gets.map(|gets| gets as usize),
            workloads: self.workloads.clone(),
            threads: self.threads.unwrap_or(1),
            rate: self.rate,
            sync: self.sync,
            time: self.seconds,
            cache_bytes: self.cache,
            systems: self.systems.clone(),
            orders: self.orders.clone(),
            arriving: self.arriving.clone(),
        })
    }
}

/// A time above 0.
fn seconds(text: &str) -> Result<Duration> {
    let parsed = text.parse().ok().map(Duration::try_from_secs_f64);
    parsed
        .and_then(std::result::Result::ok)
        .filter(|time| !time.is_zero())
        .ok_or_else(|| {
            Error::Usage(format!(
                "{text:?} is not a time in seconds: give a number above 0, such as 10 or 0.5"
            ))
        })
}

/// A summary of the run of the papers' experiments.
fn told(order: &Order, summary: &Summary) -> String {
    let refused = format!("not permitted here ({})", summary.refusal);
    let mut text = format!(
        "{} experiments of the papers at scale {}: {} rounds of cells measured",
        order.experiments.len(),
        order.scale,
        summary.measured
    );
    for (count, why) in [
        (summary.finished, "already finished"),
        (
            summary.older,
            "of these by another build of this program (--again measures them again)",
        ),
        (summary.elsewhere, "left to other machines"),
        (summary.refused, &*refused),
    ] {
        if count > 0 {
            text += &format!(", {count} {why}");
        }
    }
    let nothing = summary.measured + summary.finished + summary.refused == 0;
    if nothing && summary.elsewhere > 0 {
        let (this, machines) = order.shard;
        text += &format!(
            ". Part {this} of {machines} has nothing to measure: there are more machines than rounds of sets of keys"
        );
    }
    text + ". `rhumb-lab report` draws the results, `rhumb-lab claims` judges the published claims."
}
