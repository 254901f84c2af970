//! The experiments, and what they share.

mod phases;
mod quick;
mod stores;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use rhumb::{IndexSpec, TableSpec};

use self::phases::Loaded;
use crate::data::Input;
use crate::error::{Error, Result};
use crate::measure::{Cost, Latencies, Meter, directory_bytes};
use crate::progress::Progress;
use crate::results::{Report, Subject};
use crate::store::{Candidate, Reads, Store, Temperature};

/// What the user may set.
#[derive(Debug, Clone)]
pub struct Arguments {
    /// Seed of keys, values and every random choice.
    pub seed: u64,
    /// How many keys of each input to take; every experiment has its own number.
    pub keys: Option<usize>,
    /// Indexes to compare; none for the experiment's own.
    pub indexes: Vec<IndexSpec>,
    /// Layout of tables; none for the experiment's own.
    pub table: Option<TableSpec>,
    /// A file index to take paths from.
    pub paths: Option<PathBuf>,
    /// SOSD key files.
    pub sosd: Vec<PathBuf>,
    /// Which sets the comparison of stores takes.
    pub sets: Vec<stores::Set>,
}

pub use stores::Set;

/// One experiment: a name, what it shows, and how to run it.
pub struct Experiment {
    /// What to say on the command line.
    pub name: &'static str,
    /// What it shows, in a line.
    pub about: &'static str,
    /// Measures, and gives the text to print.
    pub run: fn(&Arguments, &mut Bench) -> Result<String>,
}

/// All experiments.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "quick",
        about: "fence pointers against a learned index on decimal keys and real paths, in a minute",
        run: quick::run,
    },
    Experiment {
        name: "stores",
        about: "rhumb head to head with LMDB and a binary search, millions of keys (--set)",
        run: stores::run,
    },
];

/// Where experiments run and what they have found so far.
#[derive(Debug)]
pub struct Bench {
    /// A directory for stores, removed at the end.
    pub directory: PathBuf,
    /// Where progress goes.
    pub progress: Progress,
    /// The figures.
    pub report: Report,
}

/// How much of each operation to do.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// The experiment's name.
    pub experiment: &'static str,
    /// Gets of present keys, and as many of absent keys.
    pub gets: usize,
    /// Scans of 10 pairs.
    pub scans_of_10: usize,
    /// Scans of 100 pairs.
    pub scans_of_100: usize,
    /// Gets past the page cache with a small cache; 0 for none.
    pub cold_gets: usize,
}

impl Plan {
    /// The plan for an input: at most ten operations of each kind a key, as more of them show
    /// nothing new.
    fn for_input(self, input: &Input) -> Plan {
        let most = 10 * input.keys.len();
        Plan {
            experiment: self.experiment,
            gets: self.gets.min(most),
            scans_of_10: self.scans_of_10.min(most),
            scans_of_100: self.scans_of_100.min(most),
            cold_gets: self.cold_gets.min(most),
        }
    }

    /// Loads an input into a new store, reads it in every way, and reports.
    ///
    /// # Errors
    /// [`Error::WrongAnswer`] on the first answer that is not what was written; failures of the
    /// store.
    pub fn measure(
        &self,
        candidate: &Candidate,
        input: &Input,
        seed: u64,
        bench: &mut Bench,
    ) -> Result<()> {
        let label = candidate.label();
        let directory = bench.directory.join("store");
        std::fs::create_dir(&directory).map_err(Error::io("create", &directory))?;
        let mut study = Study {
            subject: Subject {
                experiment: self.experiment,
                input: input.name.clone(),
                index: label.clone(),
            },
            report: &mut bench.report,
        };
        let (progress, name) = (&bench.progress, label.as_str());
        let open = |temperature| candidate.open(&directory, temperature);

        let store = open(Temperature::Warm)?;
        study.load(&Loaded::new(&*store, name, input, progress, seed))?;
        store.close()?;
        study.put("disk_bytes", directory_bytes(&directory)? as f64, "B");

        let store = open(Temperature::Warm)?;
        study.footprint(&*store, input.keys.len())?;
        self.read_warm(
            &mut study,
            &Loaded::new(&*store, name, input, progress, seed),
        )?;
        store.close()?;

        if self.cold_gets > 0 && candidate.can_be_cold() {
            let store = open(Temperature::Cold)?;
            self.read_cold(
                &mut study,
                &Loaded::new(&*store, name, input, progress, seed),
            )?;
            store.close()?;
        }
        std::fs::remove_dir_all(&directory).map_err(Error::io("remove", &directory))
    }

    fn read_warm(&self, study: &mut Study<'_>, steps: &Loaded<'_>) -> Result<()> {
        steps.verify()?;
        let before = steps.store.reads()?;
        study.latencies("get", &steps.get(self.gets)?);
        study.reads("get", before, steps.store.reads()?);
        let before = steps.store.reads()?;
        study.latencies("absent", &steps.get_absent(self.gets)?);
        study.reads("absent", before, steps.store.reads()?);
        study.latencies("scan10", &steps.scan(self.scans_of_10, 10)?);
        study.latencies("scan100", &steps.scan(self.scans_of_100, 100)?);
        Ok(())
    }

    fn read_cold(&self, study: &mut Study<'_>, steps: &Loaded<'_>) -> Result<()> {
        // The first gets open tables, and are not timed; they follow another order.
        let opening = Loaded {
            seed: !steps.seed,
            ..*steps
        };
        opening.get(self.cold_gets.min(1_000))?;
        let before = steps.store.reads()?;
        study.latencies("cold", &steps.get(self.cold_gets)?);
        study.reads("cold", before, steps.store.reads()?);
        Ok(())
    }
}

/// Figures of one store with one input.
struct Study<'a> {
    subject: Subject,
    report: &'a mut Report,
}

impl Study<'_> {
    fn put(&mut self, metric: &str, value: f64, unit: &'static str) {
        self.report.put(&self.subject, metric, value, unit);
    }

    fn latencies(&mut self, operation: &'static str, took: &Latencies) {
        self.report.put_latencies(&self.subject, operation, took);
    }

    /// Loads, settles and reports what both cost.
    fn load(&mut self, steps: &Loaded<'_>) -> Result<()> {
        let meter = Meter::start();
        steps.load()?;
        let load = meter.read();
        steps.progress.stage(format!("{}: compact", steps.name), 1);
        steps.store.settle()?;
        let Cost { wall, cpu, written } = meter.read();
        self.put("keys", steps.input.keys.len() as f64, "keys");
        self.put("load_wall", load.wall, "s");
        self.put("compacted_wall", wall, "s");
        self.put("compacted_cpu", cpu, "s");
        let user = steps.input.user_bytes() as f64;
        self.put("user_bytes", user, "B");
        // A store that writes through a memory map can count its writes no better than the system.
        if let Some(writes) = steps.store.writes()? {
            self.put("write_amplification", writes.bytes as f64 / user, "B/B");
            self.put("slowdowns", writes.slowdowns as f64, "slowdowns");
            self.put("stalls", writes.stalls as f64, "stalls");
            let longest = writes.longest_stall.as_secs_f64();
            self.put("longest_stall", longest, "s");
            if let Some(written) = written {
                self.put("system_write_amplification", written as f64 / user, "B/B");
            }
        }
        Ok(())
    }

    fn footprint(&mut self, store: &dyn Store, keys: usize) -> Result<()> {
        let Some(footprint) = store.footprint()? else {
            return Ok(());
        };
        let parts = [
            ("index", footprint.index),
            ("directory", footprint.directory),
            ("filter", footprint.filter),
            ("key_map", footprint.key_map),
        ];
        for (part, bytes) in parts {
            self.put(&format!("{part}_bytes"), bytes as f64, "B");
            let a_key = bytes as f64 / keys as f64;
            self.put(&format!("{part}_bytes_a_key"), a_key, "B/key");
        }
        self.put("tables", footprint.tables as f64, "tables");
        let share = footprint.fallbacks as f64 / footprint.tables.max(1) as f64;
        self.put("fallback_share", share, "tables/table");
        Ok(())
    }

    /// What gets did between two counts.
    fn reads(&mut self, operation: &str, before: Option<Reads>, after: Option<Reads>) {
        let Some((before, after)) = before.zip(after) else {
            return;
        };
        let gets = (after.gets - before.gets).max(1) as f64;
        let counts = [
            ("blocks", after.blocks - before.blocks, "blocks/get"),
            (
                "file_blocks",
                after.blocks_read - before.blocks_read,
                "blocks/get",
            ),
            (
                "window_ranks",
                after.window_ranks - before.window_ranks,
                "ranks/get",
            ),
        ];
        for (metric, count, unit) in counts {
            self.put(&format!("{operation}_{metric}"), count as f64 / gets, unit);
        }
    }
}

/// The indexes to compare: the user's, or fence pointers and the learned index by default.
fn indexes(arguments: &Arguments) -> Result<Vec<IndexSpec>> {
    if !arguments.indexes.is_empty() {
        return Ok(arguments.indexes.clone());
    }
    let parse = |text: &str| {
        text.parse()
            .map_err(|e| Error::Usage(format!("index {text}: {e}")))
    };
    ["fp", "plr:boundary=16"].into_iter().map(parse).collect()
}

/// The name of an input that comes from a SOSD file.
pub fn file_name(path: &Path) -> String {
    let name = path.file_stem().unwrap_or(path.as_os_str());
    format!("sosd:{}", name.to_string_lossy())
}
