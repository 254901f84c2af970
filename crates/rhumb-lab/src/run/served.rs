//! Stores for workloads: loaded in the same way, and used in turns.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::Bench;
use crate::contest::turns;
use crate::data::Input;
use crate::error::{Error, Result};
use crate::measure::process_cpu_time;
use crate::results::Subject;
use crate::store::{Store, System, Temperature};
use crate::workload::drive::Driver;
use crate::workload::load::Load;
use crate::workload::order::Order;
use crate::workload::population::Population;

/// The share of one core that the process may use on average while all stores are idle.
const REST_SHARE: f64 = 0.02;
const REST: Duration = Duration::from_millis(20);
/// The longest wait for a store, as a multiple of the time of its workloads.
const LONGEST_REST: u32 = 10;

/// The number of keys of an input that are not loaded at first, for the workloads that insert: a
/// tenth.
pub fn left_out(input: &Input) -> usize {
    input.keys.len() / 10
}

/// A store in use, and its records.
pub struct Served<'a> {
    /// The subject of its figures.
    pub subject: Subject,
    store: Box<dyn Store>,
    population: Population<'a>,
    directory: PathBuf,
}

impl<'a> Served<'a> {
    /// Loads nine tenths of an input into a new store in random order, merges the whole store,
    /// opens it again, and reads every record, which checks it and loads everything into memory.
    ///
    /// # Errors
    /// Wrong answers, and failures of the store.
    pub fn load(
        experiment: &'static str,
        candidate: &System,
        (input, order): (&'a Input, &'a Order),
        seed: u64,
        bench: &Bench,
    ) -> Result<Served<'a>> {
        let name = candidate.label();
        let directory = bench.directory.join(name.replace(':', "-"));
        std::fs::create_dir(&directory).map_err(Error::io("create", &directory))?;
        let records = input.keys.len() - left_out(input);
        let population = Population::new(input, order, records, seed)?;
        let store = candidate.open(&directory, Temperature::Warm)?;
        population.load(&*store, &bench.progress)?;
        store.settle()?;
        store.close()?;
        let served = Served {
            subject: Subject {
                experiment,
                input: input.name.clone(),
                index: name,
            },
            store: candidate.open(&directory, Temperature::Warm)?,
            population,
            directory,
        };
        let load = Load::closed(records as u64, 1);
        let every_record = "read=100,sequential".parse()?;
        served.driver(load, seed, bench).run(&every_record)?;
        Ok(served)
    }

    /// The driver that runs workloads.
    pub fn driver<'s>(&'s self, load: Load, seed: u64, bench: &'s Bench) -> Driver<'s> {
        Driver {
            store: &*self.store,
            name: &self.subject.index,
            population: &self.population,
            load,
            seed,
            progress: &bench.progress,
        }
    }

    /// Closes and removes the store.
    ///
    /// # Errors
    /// Failures of the store or of removing its files.
    pub fn end(self) -> Result<()> {
        self.store.close()?;
        let directory = &self.directory;
        std::fs::remove_dir_all(directory).map_err(Error::io("remove", directory))
    }
}

/// Runs, for each repeat, the workloads of every store, one store after the other. `run` gets the
/// number of the repeat. Each repeat has another order, so that no store is always measured after the
/// same one.
///
/// # Errors
/// The first error.
pub fn by_turns<T>(
    stores: &mut [T],
    repeats: usize,
    seed: u64,
    mut run: impl FnMut(&mut T, u64) -> Result<()>,
) -> Result<()> {
    let mut longest = Duration::ZERO;
    for repeat in 0..repeats {
        for at in turns(stores.len(), seed, repeat as u32 + 1) {
            rest(longest);
            let started = Instant::now();
            run(&mut stores[at], repeat as u64)?;
            longest = LONGEST_REST * started.elapsed();
        }
    }
    Ok(())
}

/// Waits until background flushes and merges have ended, judging by the CPU time of the process, so
/// that they do not count for the store that is measured next.
fn rest(longest: Duration) {
    let started = Instant::now();
    while started.elapsed() < longest {
        let (cpu, wall) = (process_cpu_time(), Instant::now());
        std::thread::sleep(REST);
        let used = process_cpu_time().saturating_sub(cpu).as_secs_f64();
        if used < REST_SHARE * wall.elapsed().as_secs_f64() {
            break;
        }
    }
}
