//! Loads the same pairs into several stores, and measures each kind of read, the stores taking
//! turns.

use std::path::PathBuf;

use super::phases::Loaded;
use super::{Arguments, Bench};
use crate::contest::turns;
use crate::data::Input;
use crate::error::{Error, Result};
use crate::measure::{Cost, Latencies, Meter, Spread, device_bytes, directory_bytes};
use crate::results::{Report, Subject};
use crate::store::{Counters, Store, System, Temperature};

/// The number of operations of each kind.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// The experiment's name.
    pub experiment: &'static str,
    /// Gets of present keys, and equally many of absent keys.
    pub gets: usize,
    /// Gets of present keys by two threads together; 0 for none.
    pub two_thread_gets: usize,
    /// Scans of 10 pairs.
    pub scans_of_10: usize,
    /// Scans of 100 pairs.
    pub scans_of_100: usize,
    /// Gets that bypass the page cache, with a small cache; 0 for none.
    pub cold_gets: usize,
}

/// One kind of read.
#[derive(Debug, Clone, Copy)]
struct Phase {
    name: &'static str,
    /// The number of threads.
    threads: usize,
    /// Whether the counters of gets are reported too.
    counted: bool,
    run: fn(&Plan, &Loaded<'_>) -> Result<Latencies>,
}

const WARM: [Phase; 4] = [
    Phase {
        name: "get",
        threads: 1,
        counted: true,
        run: |plan, steps| steps.get(plan.gets),
    },
    Phase {
        name: "absent",
        threads: 1,
        counted: true,
        run: |plan, steps| steps.get_absent(plan.gets),
    },
    Phase {
        name: "scan10",
        threads: 1,
        counted: false,
        run: |plan, steps| steps.scan(plan.scans_of_10, 10),
    },
    Phase {
        name: "scan100",
        threads: 1,
        counted: false,
        run: |plan, steps| steps.scan(plan.scans_of_100, 100),
    },
];

const BY_TWO: Phase = Phase {
    name: "get_by_2",
    threads: 2,
    counted: false,
    run: |plan, steps| steps.get_by(2, plan.two_thread_gets),
};

const COLD: [Phase; 1] = [Phase {
    name: "cold",
    threads: 1,
    counted: true,
    run: |plan, steps| steps.get_cold(plan.cold_gets),
}];

impl Plan {
    /// The plan for millions of keys, with this number of gets by two threads.
    pub fn large(experiment: &'static str, two_thread_gets: usize) -> Plan {
        Plan {
            experiment,
            gets: 1_000_000,
            two_thread_gets,
            scans_of_10: 200_000,
            scans_of_100: 50_000,
            cold_gets: 20_000,
        }
    }

    /// The plan for an input: the user's number of gets, at most that many of any other operation,
    /// and at most ten operations of each kind for each key, since more of them show nothing new.
    pub fn for_input(self, input: &Input, arguments: &Arguments) -> Plan {
        let most = (10 * input.keys.len()).min(arguments.gets.unwrap_or(usize::MAX));
        Plan {
            experiment: self.experiment,
            gets: arguments.gets.unwrap_or(self.gets).min(most),
            two_thread_gets: self.two_thread_gets.min(most),
            scans_of_10: self.scans_of_10.min(most),
            scans_of_100: self.scans_of_100.min(most),
            cold_gets: self.cold_gets.min(most),
        }
    }

    /// Loads an input into a new store of each candidate, measures each kind of read
    /// [`Arguments::runs`] times (once by default), the stores taking turns, and reports.
    ///
    /// # Errors
    /// [`Error::WrongAnswer`] for the first wrong answer; failures of a store.
    pub fn measure(
        &self,
        systems: &[System],
        input: &Input,
        arguments: &Arguments,
        bench: &mut Bench,
    ) -> Result<()> {
        let mut studies = Vec::new();
        for system in systems {
            let mut study = Study::new(self.experiment, system, input, arguments, bench)?;
            study.load(bench)?;
            studies.push(study);
        }
        let by_two = (self.two_thread_gets > 0).then_some(BY_TWO);
        let warm: Vec<Phase> = WARM.into_iter().chain(by_two).collect();
        self.read(&mut studies, Temperature::Warm, &warm, bench)?;
        if self.cold_gets > 0 {
            self.read(&mut studies, Temperature::Cold, &COLD, bench)?;
        }
        for study in studies {
            study.remove()?;
        }
        Ok(())
    }

    /// Opens every store and runs the phases with each in turn, in each repeat in another order, so
    /// that no store is always measured after the same one.
    fn read(
        &self,
        studies: &mut [Study<'_>],
        temperature: Temperature,
        phases: &[Phase],
        bench: &mut Bench,
    ) -> Result<()> {
        let mut stores = Vec::new();
        for study in studies.iter_mut() {
            let store = study.candidate.open(&study.directory, temperature)?;
            study.prepare(self, &*store, temperature, bench)?;
            stores.push(store);
        }
        let (runs, seed) = studies
            .first()
            .map_or((1, 0), |study| (study.runs(), study.arguments.seed));
        let mut done: Vec<Vec<Done>> = studies.iter().map(|_| Vec::new()).collect();
        for phase in phases {
            for done in &mut done {
                done.push(Done::default());
            }
            for repeat in 0..runs {
                for at in turns(stores.len(), seed, repeat as u32 + 1) {
                    let (study, store) = (&studies[at], &*stores[at]);
                    let steps = study.steps(store, bench, repeat);
                    if let Some(done) = done[at].last_mut() {
                        done.run(self, phase, &steps)?;
                    }
                }
            }
        }
        for (study, done) in studies.iter().zip(&done) {
            for (phase, done) in phases.iter().zip(done) {
                study.report(phase, done, &mut bench.report)?;
            }
        }
        stores.into_iter().try_for_each(|store| store.close())
    }
}

/// The measurements of one store in one phase.
#[derive(Debug, Default)]
struct Done {
    /// The latencies of each repeat.
    times: Vec<Latencies>,
    /// Sum over all repeats.
    counters: Counters,
    /// Bytes read from devices, in all repeats together; `None` if they are not counted.
    device_bytes: Option<u64>,
}

impl Done {
    fn run(&mut self, plan: &Plan, phase: &Phase, steps: &Loaded<'_>) -> Result<()> {
        let before = steps.store.counters()?;
        let bytes_before = device_bytes();
        self.times.push((phase.run)(plan, steps)?);
        self.counters.add(&steps.store.counters()?.since(&before));
        if let Some((before, after)) = bytes_before.zip(device_bytes()) {
            *self.device_bytes.get_or_insert_default() += after - before;
        }
        Ok(())
    }
}

/// One store with one input.
struct Study<'a> {
    candidate: &'a System,
    name: String,
    directory: PathBuf,
    subject: Subject,
    input: &'a Input,
    arguments: &'a Arguments,
}

impl<'a> Study<'a> {
    fn new(
        experiment: &'static str,
        candidate: &'a System,
        input: &'a Input,
        arguments: &'a Arguments,
        bench: &Bench,
    ) -> Result<Study<'a>> {
        let name = candidate.label();
        let directory = bench.directory.join(name.replace(':', "-"));
        std::fs::create_dir(&directory).map_err(Error::io("create", &directory))?;
        let subject = Subject {
            experiment,
            input: input.name.clone(),
            index: name.clone(),
        };
        Ok(Study {
            candidate,
            name,
            directory,
            subject,
            input,
            arguments,
        })
    }

    fn remove(self) -> Result<()> {
        let directory = &self.directory;
        std::fs::remove_dir_all(directory).map_err(Error::io("remove", directory))
    }

    fn runs(&self) -> usize {
        self.arguments.runs.unwrap_or(1)
    }

    /// The steps of one repeat; each repeat uses another order.
    fn steps<'s>(&'s self, store: &'s dyn Store, bench: &'s Bench, repeat: usize) -> Loaded<'s> {
        let seed = self.arguments.seed.wrapping_add(repeat as u64);
        Loaded::new(store, &self.name, self.input, &bench.progress, seed)
    }

    /// Loads and settles, and reports the cost of both.
    fn load(&mut self, bench: &mut Bench) -> Result<()> {
        let store = self.candidate.open(&self.directory, Temperature::Warm)?;
        let steps = self.steps(&*store, bench, 0);
        let meter = Meter::start();
        steps.load()?;
        let load = meter.read();
        steps.progress.stage(format!("{}: compact", steps.name), 1);
        steps.store.settle()?;
        let cost = meter.read();
        let (counters, counted) = (store.counters()?, store.counts_writes());
        store.close()?;
        let disk_bytes = directory_bytes(&self.directory)?;

        let user = self.input.user_bytes() as f64;
        let Cost {
            wall, cpu, written, ..
        } = cost;
        let mut put = |metric: &str, value: f64, unit| {
            bench.report.put(&self.subject, metric, value, unit);
        };
        put("keys", self.input.keys.len() as f64, "keys");
        put("load_wall", load.wall, "s");
        put("compacted_wall", wall, "s");
        put("compacted_cpu", cpu, "s");
        put("user_bytes", user, "B");
        put("disk_bytes", disk_bytes as f64, "B");
        let bytes = ["log_bytes", "flushed_bytes", "merged_bytes"].map(|name| counters.get(name));
        if let [Some(log), Some(flushed), Some(merged)] = bytes {
            let written = (log + flushed + merged) as f64;
            put("write_amplification", written / user, "B/B");
        }
        for (name, unit, divisor) in [
            ("slowdowns", "slowdowns", 1.0),
            ("stalls", "stalls", 1.0),
            ("longest_stall", "s", 1e9),
        ] {
            if let Some(value) = counters.get(name) {
                put(name, value as f64 / divisor, unit);
            }
        }
        if let Some(written) = written.filter(|_| counted) {
            put("system_write_amplification", written as f64 / user, "B/B");
        }
        Ok(())
    }

    /// Prepares for the timed reads: loads everything into memory, or for a cold store opens its
    /// tables.
    fn prepare(
        &mut self,
        plan: &Plan,
        store: &dyn Store,
        temperature: Temperature,
        bench: &mut Bench,
    ) -> Result<()> {
        match temperature {
            Temperature::Warm => {
                self.steps(store, bench, 0).verify()?;
                self.footprint(store, &mut bench.report)?;
                self.blocks(store, &mut bench.report)
            }
            // This order is not used by any repeat.
            Temperature::Cold => {
                let steps = Loaded {
                    seed: !self.arguments.seed,
                    ..self.steps(store, bench, 0)
                };
                steps.get_cold(plan.cold_gets.min(1_000)).map(drop)
            }
        }
    }

    fn footprint(&self, store: &dyn Store, report: &mut Report) -> Result<()> {
        let Some(footprint) = store.footprint()? else {
            return Ok(());
        };
        let parts = [
            ("index", footprint.index),
            ("directory", footprint.directory),
            ("filter", footprint.filter),
            ("key_map", footprint.key_map),
        ];
        let keys = self.input.keys.len() as f64;
        for (part, bytes) in parts {
            let bytes = bytes as f64;
            report.put(&self.subject, &format!("{part}_bytes"), bytes, "B");
            let a_key = format!("{part}_bytes_a_key");
            report.put(&self.subject, &a_key, bytes / keys, "B/key");
        }
        let sum: u64 = parts.iter().map(|(_, bytes)| bytes).sum();
        report.put(&self.subject, "finding_bytes", sum as f64, "B");
        if let Some(bytes) = footprint.cache {
            report.put(&self.subject, "cache_bytes", bytes as f64, "B");
        }
        report.put(&self.subject, "tables", footprint.tables as f64, "tables");
        let share = footprint.fallback_share();
        report.put(&self.subject, "fallback_share", share, "tables/table");
        Ok(())
    }

    /// Reports the distribution of entries and stored bytes over blocks.
    fn blocks(&self, store: &dyn Store, report: &mut Report) -> Result<()> {
        let Some(blocks) = store.blocks()? else {
            return Ok(());
        };
        let mut put = |metric: &str, value: f64, unit| {
            report.put(&self.subject, metric, value, unit);
        };
        let count = blocks.len().max(1) as f64;
        put("blocks", blocks.len() as f64, "blocks");
        let empty = blocks.iter().filter(|block| block.entries == 0).count();
        put("blocks_empty", empty as f64 / count, "blocks/block");
        let entries = blocks.iter().map(|block| block.entries as f64);
        let bytes = blocks.iter().map(|block| block.stored_bytes as f64);
        let of: [(&str, Vec<f64>, &str); 2] = [
            ("block_entries", entries.collect(), "entries"),
            ("block_bytes", bytes.collect(), "B"),
        ];
        for (metric, mut figures, unit) in of {
            figures.sort_by(f64::total_cmp);
            let Spread { min, median, max } = Spread::of(&figures);
            let p99 = figures.get(figures.len() * 99 / 100).copied();
            put(&format!("{metric}_min"), min, unit);
            put(&format!("{metric}_p50"), median, unit);
            put(&format!("{metric}_p99"), p99.unwrap_or(f64::NAN), unit);
            put(&format!("{metric}_max"), max, unit);
            put(
                &format!("{metric}_mean"),
                figures.iter().sum::<f64>() / count,
                unit,
            );
        }
        Ok(())
    }

    /// Reports one phase.
    fn report(&self, phase: &Phase, done: &Done, report: &mut Report) -> Result<()> {
        report.put_latencies(&self.subject, phase.name, &done.times)?;
        if phase.threads > 1 {
            let each = |took: &Latencies| took.mean() / phase.threads as f64;
            let each: Vec<f64> = done.times.iter().map(each).collect();
            report.put_repeated(&self.subject, &format!("{}_each", phase.name), &each, "ns");
        }
        if let Some(bytes) = done.device_bytes.filter(|_| phase.counted) {
            let gets: u64 = done.times.iter().map(Latencies::count).sum();
            let metric = format!("{}_device_bytes", phase.name);
            let a_get = bytes as f64 / gets.max(1) as f64;
            report.put(&self.subject, &metric, a_get, "B/get");
        }
        let gets = done.counters.get("gets").filter(|_| phase.counted);
        let Some(gets) = gets else {
            return Ok(());
        };
        let count = |name| done.counters.get(name).unwrap_or_default() as f64;
        for (metric, counter, unit) in [
            ("blocks", "get_blocks", "blocks/get"),
            ("file_blocks", "get_blocks_read", "blocks/get"),
            ("file_bytes", "get_bytes_read", "B/get"),
            ("window_ranks", "get_window_ranks", "ranks/get"),
        ] {
            let metric = format!("{}_{metric}", phase.name);
            let a_get = count(counter) / gets.max(1) as f64;
            report.put(&self.subject, &metric, a_get, unit);
        }
        let probes = count("get_probes");
        if probes > 0.0 {
            let metric = format!("{}_blocks_a_probe", phase.name);
            let a_probe = count("get_blocks") / probes;
            report.put(&self.subject, &metric, a_probe, "blocks/probe");
        }
        Ok(())
    }
}
