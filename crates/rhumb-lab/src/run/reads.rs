//! Loads the same pairs into several stores, and measures each kind of read of each.

use super::contest::{Contest, Turn};
use super::phases::Loaded;
use super::{Arguments, Bench};
use crate::data::Input;
use crate::error::Result;
use crate::measure::{Cost, Latencies, Meter, Spread, device_bytes, directory_bytes};
use crate::results::Measured;
use crate::store::{Counters, Footprint, Store, System, Temperature};

/// The number of operations of each kind.
#[derive(Debug, Clone, Copy)]
pub struct Reads {
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
    run: fn(&Reads, &Loaded<'_>) -> Result<Latencies>,
}

const WARM: [Phase; 5] = [
    Phase {
        name: "get",
        threads: 1,
        counted: true,
        run: |reads, steps| steps.get(reads.gets),
    },
    Phase {
        name: "absent",
        threads: 1,
        counted: true,
        run: |reads, steps| steps.get_absent(reads.gets),
    },
    Phase {
        name: "get64",
        threads: 1,
        counted: false,
        run: |reads, steps| steps.get_many(reads.gets),
    },
    Phase {
        name: "scan10",
        threads: 1,
        counted: false,
        run: |reads, steps| steps.scan(reads.scans_of_10, 10),
    },
    Phase {
        name: "scan100",
        threads: 1,
        counted: false,
        run: |reads, steps| steps.scan(reads.scans_of_100, 100),
    },
];

const BY_TWO: Phase = Phase {
    name: "get_by_2",
    threads: 2,
    counted: false,
    run: |reads, steps| steps.get_by(2, reads.two_thread_gets),
};

const COLD: Phase = Phase {
    name: "cold",
    threads: 1,
    counted: true,
    run: |reads, steps| steps.get_cold(reads.cold_gets),
};

const COLD_MANY: Phase = Phase {
    name: "cold64",
    threads: 1,
    counted: false,
    run: |reads, steps| steps.get_many_cold(reads.cold_gets),
};

impl Reads {
    /// The plan for millions of keys, with this number of gets by two threads.
    pub fn large(experiment: &'static str, two_thread_gets: usize) -> Reads {
        Reads {
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
    pub fn for_input(self, input: &Input, arguments: &Arguments) -> Reads {
        let most = (10 * input.keys.len()).min(arguments.gets.unwrap_or(usize::MAX));
        Reads {
            experiment: self.experiment,
            gets: arguments.gets.unwrap_or(self.gets).min(most),
            two_thread_gets: self.two_thread_gets.min(most),
            scans_of_10: self.scans_of_10.min(most),
            scans_of_100: self.scans_of_100.min(most),
            cold_gets: self.cold_gets.min(most),
        }
    }

    /// Loads an input into a new store of each system, and measures each kind of read, in
    /// [`Arguments::runs`] rounds (one by default).
    ///
    /// # Errors
    /// [`Error::WrongAnswer`](crate::error::Error::WrongAnswer) for the first wrong answer; failures
    /// of a store.
    pub fn measure(
        &self,
        systems: &[System],
        input: &Input,
        arguments: &Arguments,
        bench: &mut Bench,
    ) -> Result<()> {
        let contest = Contest::new(self.experiment, systems, input, arguments);
        contest.run(bench, |turn| self.of(turn)).map(drop)
    }

    /// All measurements of one store.
    fn of(&self, turn: &Turn<'_>) -> Result<Measured> {
        let mut measured = Measured::default();
        load(turn, &mut measured)?;
        let store = turn.open(Temperature::Warm)?;
        // Loads everything into memory.
        turn.steps(&*store).verify()?;
        if let Some(held) = store.footprint()? {
            put_footprint(&held, turn.input, &mut measured);
        }
        put_blocks(&*store, &mut measured)?;
        let by_two = (self.two_thread_gets > 0).then_some(BY_TWO);
        for phase in WARM.into_iter().chain(by_two) {
            phase.run(self, &turn.steps(&*store), &mut measured)?;
        }
        store.close()?;
        if self.cold_gets > 0 {
            let store = turn.open(Temperature::Cold)?;
            let steps = turn.steps(&*store);
            // Opens the tables. This order is not that of the phase.
            let before = Loaded {
                seed: !turn.seed,
                ..steps
            };
            before.get_cold(self.cold_gets.min(1_000))?;
            COLD.run(self, &steps, &mut measured)?;
            COLD_MANY.run(self, &steps, &mut measured)?;
            store.close()?;
        }
        Ok(measured)
    }
}

impl Phase {
    fn run(&self, reads: &Reads, steps: &Loaded<'_>, measured: &mut Measured) -> Result<()> {
        let (before, bytes_before) = (steps.store.counters()?, device_bytes());
        let took = (self.run)(reads, steps)?;
        let counters = steps.store.counters()?.since(&before);
        let bytes = bytes_before.zip(device_bytes());
        let (mean, gets) = (took.mean(), took.count().max(1) as f64);
        measured.put_latencies(self.name, &took);
        let name = |metric: &str| format!("{}_{metric}", self.name);
        if self.threads > 1 {
            measured.put(&name("each"), mean / self.threads as f64, "ns");
        }
        if !self.counted {
            return Ok(());
        }
        if let Some((before, after)) = bytes {
            let a_get = (after - before) as f64 / gets;
            measured.put(&name("device_bytes"), a_get, "B/get");
        }
        put_counters(&name, &counters, measured);
        Ok(())
    }
}

/// Adds the counters of gets, if the store has them.
fn put_counters(name: &dyn Fn(&str) -> String, counters: &Counters, measured: &mut Measured) {
    let Some(gets) = counters.get("gets") else {
        return;
    };
    let count = |name| counters.get(name).unwrap_or_default() as f64;
    for (metric, counter, unit) in [
        ("blocks", "get_blocks", "blocks/get"),
        ("file_blocks", "get_blocks_read", "blocks/get"),
        ("file_bytes", "get_bytes_read", "B/get"),
        ("window_ranks", "get_window_ranks", "ranks/get"),
    ] {
        measured.put(&name(metric), count(counter) / gets.max(1) as f64, unit);
    }
    let probes = count("get_probes");
    if probes > 0.0 {
        let a_probe = count("get_blocks") / probes;
        measured.put(&name("blocks_a_probe"), a_probe, "blocks/probe");
    }
}

/// Loads and settles, and adds the cost of both.
fn load(turn: &Turn<'_>, measured: &mut Measured) -> Result<()> {
    let store = turn.open(Temperature::Warm)?;
    let steps = turn.steps(&*store);
    let meter = Meter::start();
    steps.load()?;
    let load = meter.read();
    turn.progress.stage(format!("{}: compact", turn.name), 1);
    store.settle()?;
    let cost = meter.read();
    let (counters, counted) = (store.counters()?, store.counts_writes());
    store.close()?;

    let user = turn.input.user_bytes() as f64;
    let Cost {
        wall, cpu, written, ..
    } = cost;
    let mut put = |metric: &str, value: f64, unit| measured.put(metric, value, unit);
    put("keys", turn.input.keys.len() as f64, "keys");
    put("load_wall", load.wall, "s");
    put("compacted_wall", wall, "s");
    put("compacted_cpu", cpu, "s");
    put("user_bytes", user, "B");
    put("disk_bytes", directory_bytes(&turn.directory)? as f64, "B");
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

fn put_footprint(held: &Footprint, input: &Input, measured: &mut Measured) {
    let parts = [
        ("index", held.index),
        ("directory", held.directory),
        ("filter", held.filter),
        ("key_map", held.key_map),
    ];
    let keys = input.keys.len() as f64;
    for (part, bytes) in parts {
        let bytes = bytes as f64;
        measured.put(&format!("{part}_bytes"), bytes, "B");
        measured.put(&format!("{part}_bytes_a_key"), bytes / keys, "B/key");
    }
    let sum: u64 = parts.iter().map(|(_, bytes)| bytes).sum();
    measured.put("finding_bytes", sum as f64, "B");
    if let Some(bytes) = held.cache {
        measured.put("cache_bytes", bytes as f64, "B");
    }
    measured.put("tables", held.tables as f64, "tables");
    measured.put("fallback_share", held.fallback_share(), "tables/table");
}

/// Adds the distribution of entries and stored bytes over blocks, if the store reports them.
fn put_blocks(store: &dyn Store, measured: &mut Measured) -> Result<()> {
    let Some(blocks) = store.blocks()? else {
        return Ok(());
    };
    let mut put = |metric: &str, value: f64, unit| measured.put(metric, value, unit);
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
