//! Runs a workload against a store.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::chooser::{Chooser, Extent};
use super::client::{Client, Took};
use super::load::{Amount, Load, Pace};
use super::mix::{Mix, Operation};
use super::outcome::Outcome;
use super::population::Population;
use crate::data::Random;
use crate::error::Result;
use crate::measure::{Latencies, Meter, round_trip};
use crate::progress::Progress;
use crate::store::Store;

/// The number of operations of a thread between two updates of the progress.
const STEP: u64 = 1_000;

/// What is told of each read of a present key that is measured.
pub trait OnRead: Sync {
    /// Called behind a read, outside its time.
    ///
    /// # Errors
    /// Any error ends the run.
    fn on_read(&self, key: &[u8], took: Duration) -> Result<()>;
}

/// A store that workloads are run against.
#[derive(Clone, Copy)]
pub struct Driver<'a> {
    /// The store.
    pub store: &'a dyn Store,
    /// Its name in error messages.
    pub name: &'a str,
    /// The records of the store.
    pub population: &'a Population<'a>,
    /// The amount of work, the clients and the pace.
    pub load: Load,
    /// Seed of every random choice.
    pub seed: u64,
    /// The display of the progress.
    pub progress: &'a Progress,
    /// What is told of reads.
    pub on_read: Option<&'a dyn OnRead>,
}

/// State shared by the clients of a run.
struct Shared {
    /// The end of the warm-up.
    warm: Barrier,
    /// Set when a client has failed, so that the others stop.
    failed: AtomicBool,
}

/// The measurements of one client.
struct Part {
    by_operation: Vec<(Operation, Latencies)>,
    started: Instant,
    ended: Instant,
    /// Time in the store.
    busy: Duration,
    /// Time neither in the store nor asleep.
    harness: Duration,
    /// The client that ends its warm-up last starts the meter for all.
    meter: Option<Meter>,
}

impl Part {
    fn new(mix: &Mix) -> Result<Part> {
        let wanted = Operation::ALL
            .into_iter()
            .filter(|operation| mix.share(*operation) > 0.0);
        let by_operation = wanted.map(|operation| Ok((operation, Latencies::new()?)));
        let by_operation = by_operation.collect::<Result<_>>()?;
        let started = Instant::now();
        Ok(Part {
            by_operation,
            started,
            ended: started,
            busy: Duration::ZERO,
            harness: Duration::ZERO,
            meter: None,
        })
    }

    fn add(&mut self, took: &Took) {
        let of_kind = self
            .by_operation
            .iter_mut()
            .find(|(o, _)| *o == took.operation);
        if let Some((_, latencies)) = of_kind {
            latencies.record(took.ended - took.intended);
        }
        self.busy += took.ended - took.began;
        self.harness += (took.began - self.ended).saturating_sub(took.slept);
        self.ended = took.ended;
    }
}

impl Driver<'_> {
    /// Runs workloads one after the other on the same store, each with its own seed.
    ///
    /// # Errors
    /// As [`Driver::run`]. If there are too few records to insert for all workloads, none is run.
    pub fn run_all(&self, mixes: &[Mix]) -> Result<Vec<Outcome>> {
        self.check(mixes)?;
        let runs = mixes.iter().enumerate().map(|(place, mix)| {
            let seed = self.seed.wrapping_add(place as u64);
            Driver { seed, ..*self }.run(mix)
        });
        runs.collect()
    }

    /// Runs one workload.
    ///
    /// # Errors
    /// A workload that does not fit the population or the load, any error of the store, Ctrl-C, and
    /// [`Error::WrongAnswer`] for the first wrong answer: with one thread every answer must be the
    /// newest version, with several threads a version that may be the newest.
    pub fn run(&self, mix: &Mix) -> Result<Outcome> {
        self.check(std::slice::from_ref(mix))?;
        // A workload of inserts alone chooses no record, so it can begin with an empty store.
        let chooses = mix.share(Operation::Insert) < 1.0;
        let extent = Extent {
            records: self.population.present().max(u64::from(!chooses)),
            inserts: self.load.inserts(mix, self.left()),
        };
        let threads = self.load.threads as u64;
        let clients: Vec<Client<'_>> = (0..threads)
            .map(|thread| {
                let chooser = Chooser::new(mix.requests, extent, (thread, threads))?;
                let random = Random::new(self.seed, 0x776c + thread);
                Ok(Client::new(
                    self.name,
                    mix,
                    self.population,
                    chooser,
                    random,
                ))
            })
            .collect::<Result<_>>()?;
        self.stage(mix);
        let shared = Shared {
            warm: Barrier::new(clients.len()),
            failed: AtomicBool::new(false),
        };
        let round_trip = || (threads > 1).then(round_trip);
        let before = round_trip();
        let parts: Vec<Result<Part>> = std::thread::scope(|scope| {
            let threads = clients.into_iter().enumerate().map(|(thread, client)| {
                let shared = &shared;
                scope.spawn(move || self.run_client(thread as u64, client, mix, shared))
            });
            let threads: Vec<_> = threads.collect();
            let joined = threads.into_iter().map(|thread| match thread.join() {
                Ok(part) => part,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            joined.collect()
        });
        let outcome = self.sum_up(parts.into_iter().collect::<Result<_>>()?)?;
        Ok(Outcome {
            round_trips: before.into_iter().chain(round_trip()).collect(),
            ..outcome
        })
    }

    fn check(&self, mixes: &[Mix]) -> Result<()> {
        self.load.check(mixes, self.population.input, self.left())
    }

    /// The number of records that are not inserted yet.
    fn left(&self) -> u64 {
        self.population.most() - self.population.present()
    }

    fn stage(&self, mix: &Mix) {
        let counted = match self.load.amount {
            Amount::Operations(count) => count,
            Amount::Time(time) => time.as_millis() as u64,
        };
        let message = format!("{}, {}: {mix}", self.population.input.name, self.name);
        let steps = self.load.warm_up.saturating_add(counted);
        self.progress.stage(message, steps as usize);
    }

    fn run_client(
        &self,
        thread: u64,
        mut client: Client<'_>,
        mix: &Mix,
        shared: &Shared,
    ) -> Result<Part> {
        let warmed = self.warm(thread, &mut client, shared);
        shared.failed.fetch_or(warmed.is_err(), Ordering::Relaxed);
        // Wait after an error too, since the other clients wait here.
        let last = shared.warm.wait().is_leader();
        warmed?;
        let meter = last.then(Meter::start);
        let counted = self.count(thread, &mut client, mix, shared);
        shared.failed.fetch_or(counted.is_err(), Ordering::Relaxed);
        Ok(Part { meter, ..counted? })
    }

    fn warm(&self, thread: u64, client: &mut Client<'_>, shared: &Shared) -> Result<()> {
        let operations = self.load.part(self.load.warm_up, thread);
        for done in 0..operations {
            if shared.failed.load(Ordering::Relaxed) {
                break;
            }
            client.operate(self.store, None)?;
            if done % STEP == STEP - 1 {
                self.progress.advance(STEP as usize)?;
            }
        }
        self.progress.advance((operations % STEP) as usize)
    }

    /// Runs the operations that are measured.
    fn count(
        &self,
        thread: u64,
        client: &mut Client<'_>,
        mix: &Mix,
        shared: &Shared,
    ) -> Result<Part> {
        let mut part = Part::new(mix)?;
        let started = part.started;
        let mut shown = Duration::ZERO;
        let mut done = 0;
        while !shared.failed.load(Ordering::Relaxed) {
            let intended = self.load.intended(thread, done);
            let at = intended.unwrap_or(part.ended - started);
            match self.load.amount {
                Amount::Operations(count) if done == self.load.part(count, thread) => break,
                Amount::Time(time) if at >= time => break,
                _ => {}
            }
            let took = client.operate(self.store, intended.map(|after| started + after))?;
            part.add(&took);
            if let (Some(told), Operation::Read) = (self.on_read, took.operation) {
                told.on_read(client.key(), took.ended - took.began)?;
            }
            done += 1;
            if done % STEP == 0 {
                let elapsed = part.ended - started;
                let steps = match self.load.amount {
                    Amount::Operations(_) => STEP,
                    // All clients run at the same time, so the first one shows the progress.
                    Amount::Time(_) if thread == 0 => (elapsed - shown).as_millis() as u64,
                    Amount::Time(_) => 0,
                };
                shown = elapsed;
                self.progress.advance(steps as usize)?;
            }
        }
        Ok(part)
    }

    fn sum_up(&self, parts: Vec<Part>) -> Result<Outcome> {
        let mut by_operation: Vec<(Operation, Latencies)> = Vec::new();
        let (mut operations, mut closed, mut harness, mut cpu) = (0, 0.0, Duration::ZERO, 0.0);
        let started = parts.iter().map(|part| part.started).min();
        let ended = parts.iter().map(|part| part.ended).max();
        for part in parts {
            let count: u64 = part.by_operation.iter().map(|(_, l)| l.count()).sum();
            operations += count;
            closed += count as f64 / part.busy.as_secs_f64().max(1e-9);
            harness += part.harness;
            cpu += part.meter.map_or(0.0, |meter| meter.read().cpu);
            for (place, (operation, latencies)) in part.by_operation.into_iter().enumerate() {
                match by_operation.get_mut(place) {
                    Some((_, sum)) => sum.add(&latencies),
                    None => by_operation.push((operation, latencies)),
                }
            }
        }
        let seconds = started
            .zip(ended)
            .map_or(0.0, |(from, to)| to.duration_since(from).as_secs_f64());
        Ok(Outcome {
            by_operation,
            operations,
            threads: self.load.threads,
            seconds,
            per_second: match self.load.pace {
                Pace::Closed => closed,
                Pace::Open { .. } => operations as f64 / seconds.max(1e-9),
            },
            cpu_seconds: cpu,
            harness_seconds: harness.as_secs_f64(),
            round_trips: Vec::new(),
        })
    }
}
