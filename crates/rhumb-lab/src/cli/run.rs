//! `rhumb-lab run`: runs experiments, prints and saves their figures.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use rhumb::{IndexSpec, TableSpec};

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

/// The name for several experiments at the smallest scale.
const QUICK: &str = "quick";

/// The options that papers' experiments take whose work fills its stores.
const OF_FILLED: [&str; 2] = ["--keys", "--runs"];

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
    /// [default: 1] and in BLISS's and LearnedKV's experiments [default: depends on the scale]; number of repeats of what
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

    /// The chosen experiments: our own, and those of the papers.
    fn chosen(&self) -> Result<(Vec<&'static run::Experiment>, Order)> {
        let mut names = self.experiments.clone();
        let quick = names.iter().position(|name| name == QUICK);
        if let Some(at) = quick {
            names.splice(at..=at, ["kinds", "all"].map(str::to_string));
        }
        once(names.iter().cloned())?;
        let ours = |name: &str| run::BENCHES.iter().find(|bench| bench.name == name);
        let benches: Vec<&run::Experiment> = names.iter().filter_map(|name| ours(name)).collect();
        names.retain(|name| ours(name).is_none());
        let scale = self.scale.unwrap_or(Scale::Quick);
        let settings = &self.settings;
        let mut amounts = scale.amounts();
        if let Some(keys) = settings.keys.map(|keys| keys as usize) {
            amounts.arrivals = keys;
            amounts.set_value_log_records(keys);
        }
        amounts.rounds = settings.runs.unwrap_or(amounts.rounds);
        if quick.is_some() && scale != Scale::Quick {
            return Err(Error::Usage(format!(
                "`run quick` always uses scale quick: write `run all --scale {scale}`"
            )));
        }
        let order = Order {
            experiments: experiment::named(&names)?,
            scale,
            amounts,
            seed: settings.seed,
            again: self.again,
            shard: self.shard,
            only: self.only.clone(),
        };
        self.check(&benches, &order)?;
        Ok((benches, order))
    }

    /// Refuses options that an experiment would ignore.
    fn check(&self, benches: &[&run::Experiment], order: &Order) -> Result<()> {
        let refused = |option: &str, what: &str| {
            Err(Error::Usage(format!(
                "{option} has no effect on {what}: leave it out, or run what takes it alone"
            )))
        };
        for option in self.settings.given() {
            if let Some(bench) = benches.iter().find(|bench| !bench.takes.contains(&option)) {
                return refused(option, bench.name);
            }
            for experiment in &order.experiments {
                let takes = OF_FILLED.contains(&option);
                if !takes || !experiment.takes_keys(&order.amounts)? {
                    let what = format!("{}, whose amounts depend on --scale", experiment.id);
                    return refused(option, &what);
                }
            }
        }
        let of_papers = [
            ("--scale", self.scale.is_some()),
            ("--again", self.again),
            ("--shard", self.shard != (1, 1)),
            ("--only", !self.only.is_empty()),
            ("--dry-run", self.dry_run),
        ];
        match of_papers.into_iter().find(|(_, given)| *given) {
            Some((option, _)) if order.experiments.is_empty() => {
                refused(option, "our own experiments")
            }
            _ => self.check_only(order),
        }
    }

    /// Refuses limits that no cell of the chosen experiments meets, and shards of what is limited: they would differ from those of
    /// the rest.
    fn check_only(&self, order: &Order) -> Result<()> {
        if self.only.is_empty() {
            return Ok(());
        }
        if self.shard != (1, 1) {
            return Err(Error::Usage(
                "--only cannot be used with --shard: leave one of them out".to_string(),
            ));
        }
        let mut known = Vec::new();
        for experiment in &order.experiments {
            let planned = (experiment.cells)(&order.amounts)?;
            known.extend(planned.into_iter().flat_map(|planned| planned.axes));
        }
        let is_known = |(axis, value): &&(String, String)| {
            known.iter().any(|(known, of)| known == axis && of == value)
        };
        match self.only.iter().find(|only| !is_known(only)) {
            Some((axis, value)) => Err(Error::Usage(format!(
                "--only {axis}={value}: no cell of these experiments has this value in this build; `--dry-run` without --only counts \
                 all cells, and `report` names their axes"
            ))),
            None => Ok(()),
        }
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

    /// The options that were given, of those that not every experiment takes.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            ("--keys", self.keys.is_some()),
            ("--index", !self.indexes.is_empty()),
            ("--table", self.table.is_some()),
            ("--paths", self.paths.is_some()),
            ("--input", !self.numbers.is_empty()),
            ("--sosd", !self.sosd.is_empty()),
            ("--set", !self.sets.is_empty()),
            ("--peer", !self.peers.is_empty()),
            ("--runs", self.runs.is_some()),
            ("--gets", self.gets.is_some()),
            ("--workload", !self.workloads.is_empty()),
            ("--threads", self.threads.is_some()),
            ("--rate", self.rate.is_some()),
            ("--seconds", self.seconds.is_some()),
            ("--cache", self.cache.is_some()),
            ("--system", !self.systems.is_empty()),
            ("--order", !self.orders.is_empty()),
            ("--from", self.arriving.is_some()),
        ];
        let given = given.into_iter().filter(|(_, given)| *given);
        given.map(|(option, _)| option)
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

/// Refuses a name that occurs twice.
fn once(names: impl Iterator<Item = String>) -> Result<()> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name.clone()) {
            return Err(Error::Usage(format!("{name} is given twice: give it once")));
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        run: Run,
    }

    /// The reason why a command line is refused; empty if it is not.
    fn refused(line: &str) -> String {
        let words = ["run"].into_iter().chain(line.split(' '));
        let line = Line::try_parse_from(words).unwrap();
        line.run
            .chosen()
            .err()
            .map_or(String::new(), |e| e.to_string())
    }

    #[test]
    fn options_that_an_experiment_ignores_are_refused() {
        for (line, option, what) in [
            ("E-F7 --threads 2", "--threads", "E-F7"),
            ("E-F7 --rate 10", "--rate", "E-F7"),
            ("all --seconds 1", "--seconds", "E-ENV"),
            ("E-F7 --set c2", "--set", "E-F7"),
            ("E-F7 --workload ycsb-a", "--workload", "E-F7"),
            ("quick --keys 1000", "--keys", "E-ENV"),
            ("indexes --set c2", "--set", "indexes"),
            ("stores --workload ycsb-a", "--workload", "stores"),
            ("workloads stores --threads 2", "--threads", "stores"),
            ("stores --again", "--again", "our own"),
            ("check --gets 5", "--gets", "check"),
            ("B-F5 --gets 5", "--gets", "B-F5"),
            ("B-F5 E-F7 --keys 1000", "--keys", "E-F7"),
            ("L-F8 --only sytem=tier-keys", "--only", "sytem"),
            ("L-F8 --only system=tier", "--only", "system=tier"),
            (
                "L-F8 --only system=tier-keys --shard 1/2",
                "--only",
                "--shard",
            ),
            ("stores --only system=tier-keys", "--only", "our own"),
        ] {
            let why = refused(line);
            assert!(
                why.starts_with(option) && why.contains(what),
                "{line}: {why:?}"
            );
        }
    }

    #[test]
    fn options_that_are_taken_are_not_refused() {
        for line in [
            "E-F7 --scale small --seed 7",
            "quick --again",
            "kinds --keys 1000 --cache 100000",
            "workloads --threads 2 --rate 10 --workload ycsb-a --set c2",
            "stores peers --set c1 --runs 2",
            "B-F5 B-F8 --keys 1000 --runs 1",
            "L-F8 --keys 10000000 --runs 1",
            "L-F8 L-F9 --only system=tier-keys --only system=lsm-values --only mix=7:3",
        ] {
            assert_eq!(refused(line), "", "{line}");
        }
    }

    #[test]
    fn every_option_of_an_experiment_exists() {
        use clap::CommandFactory;
        let command = Line::command();
        let known: Vec<String> = command
            .get_arguments()
            .filter_map(|argument| Some(format!("--{}", argument.get_long()?)))
            .collect();
        for bench in run::BENCHES {
            for option in bench.takes {
                assert!(
                    known.iter().any(|known| known == option),
                    "{} {option}",
                    bench.name
                );
            }
        }
    }
}
