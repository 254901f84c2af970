//! A client thread: it chooses an operation, times it, and checks the answer.

use std::time::{Duration, Instant};

use super::check::{Allowed, Checker};
use super::chooser::Chooser;
use super::mix::{Mix, Operation};
use super::population::Population;
use super::record::Update;
use crate::data::{Pairs, Random};
use crate::error::Result;
use crate::store::Store;

/// The time before its next operation at which a client stops sleeping, since a sleep may last
/// longer than requested.
const EARLY: Duration = Duration::from_micros(100);

/// A client with its reusable buffers.
#[derive(Debug)]
pub struct Client<'a> {
    mix: &'a Mix,
    population: &'a Population<'a>,
    chooser: Chooser,
    checker: Checker<'a>,
    random: Random,
    key: Vec<u8>,
    batch: Pairs,
    value: Vec<u8>,
    found: Vec<u8>,
    pairs: Pairs,
}

/// An operation that is about to begin.
#[derive(Debug, Clone, Copy)]
struct Task {
    operation: Operation,
    /// Unused for absent keys.
    record: u64,
    rank: usize,
    /// The number of pairs that a scan reads.
    length: usize,
    /// The record's floor before the operation.
    floor: u32,
    update: Option<Update>,
}

/// The timing of one operation.
#[derive(Debug, Clone, Copy)]
pub struct Took {
    pub operation: Operation,
    /// The time at which it should have begun, and the time at which it did; equal in a closed
    /// loop.
    pub intended: Instant,
    pub began: Instant,
    pub ended: Instant,
    /// The time that the client slept before the operation.
    pub slept: Duration,
}

impl<'a> Client<'a> {
    /// A client that draws from one stream of random numbers. `name` is the store's name.
    pub fn new(
        name: &'a str,
        mix: &'a Mix,
        population: &'a Population<'a>,
        chooser: Chooser,
        random: Random,
    ) -> Client<'a> {
        Client {
            mix,
            population,
            chooser,
            checker: Checker::new(name, population),
            random,
            key: Vec::new(),
            batch: Pairs::default(),
            value: Vec::new(),
            found: Vec::new(),
            pairs: Pairs::default(),
        }
    }

    /// Runs one operation at the intended time, or at once if that time is past or `None`. The
    /// choice of the operation, its key and its value are made before the timed part; the answer is
    /// checked after it.
    ///
    /// # Errors
    /// Any error of the store, a wrong answer, or no key left to insert.
    pub fn operate(&mut self, store: &dyn Store, intended: Option<Instant>) -> Result<Took> {
        let task = self.prepare()?;
        let slept = intended.map_or(Duration::ZERO, wait_until);
        let began = Instant::now();
        let present = self.perform(store, &task)?;
        let ended = Instant::now();
        self.finish(&task, present)?;
        Ok(Took {
            operation: task.operation,
            intended: intended.unwrap_or(began),
            began,
            ended,
            slept,
        })
    }

    /// The key of the last operation.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    fn prepare(&mut self) -> Result<Task> {
        let operation = self.mix.pick(&mut self.random);
        let absent = &self.population.input.absent;
        let (record, rank) = match operation {
            Operation::Absent => (0, self.random.below(absent.len() as u64) as usize),
            Operation::Insert => {
                let record = self.population.begin_insert()?;
                (record, self.population.rank(record))
            }
            _ => {
                let present = self.population.present();
                let record = self.chooser.next(&mut self.random, present);
                (record, self.population.rank(record))
            }
        };
        let mut task = Task {
            operation,
            record,
            rank,
            length: 0,
            floor: 0,
            update: None,
        };
        match operation {
            // A real caller has its key in the processor's caches, so fetching the key is not
            // timed.
            Operation::Absent => absent.get(rank).clone_into(&mut self.key),
            _ => self
                .population
                .input
                .keys
                .get(rank)
                .clone_into(&mut self.key),
        }
        match operation {
            Operation::Read => task.floor = self.floor(rank),
            Operation::Absent => {}
            Operation::Insert => self.make_batch(rank, 0),
            Operation::Scan => {
                task.length = self.mix.length(&mut self.random);
                self.checker.before_scan(rank, task.length);
            }
            Operation::Update | Operation::ReadModifyWrite => {
                task.floor = self.floor(rank);
                let update = self.population.of_rank(rank).1.begin()?;
                self.make_batch(rank, update.version);
                task.update = Some(update);
            }
        }
        Ok(task)
    }

    fn floor(&self, rank: usize) -> u32 {
        self.population.of_rank(rank).1.floor()
    }

    fn make_batch(&mut self, rank: usize, version: u32) {
        self.population.value(rank, version, &mut self.value);
        self.batch.clear();
        self.batch.push(&self.key, &self.value);
    }

    /// The timed part. Returns whether a get found a value.
    fn perform(&mut self, store: &dyn Store, task: &Task) -> Result<bool> {
        match task.operation {
            Operation::Read | Operation::Absent => store.get(&self.key, &mut self.found),
            Operation::Update | Operation::Insert => {
                store.write(&self.batch)?;
                Ok(true)
            }
            Operation::Scan => {
                store.scan(&self.key, task.length, &mut self.pairs)?;
                Ok(true)
            }
            Operation::ReadModifyWrite => {
                let present = store.get(&self.key, &mut self.found)?;
                store.write(&self.batch)?;
                Ok(present)
            }
        }
    }

    /// Records confirmed writes, and checks the answer.
    fn finish(&mut self, task: &Task, present: bool) -> Result<()> {
        if let Some(update) = task.update {
            self.population.of_rank(task.rank).1.end(update);
        }
        let found = present.then_some(&self.found[..]);
        match task.operation {
            Operation::Update => Ok(()),
            Operation::Insert => {
                self.population.end_insert(task.record);
                Ok(())
            }
            Operation::Absent => self.checker.absent(&self.key, found),
            Operation::Scan => self.checker.scan(task.rank, task.length, &self.pairs),
            Operation::Read | Operation::ReadModifyWrite => {
                let allowed = Allowed {
                    rank: task.rank,
                    floor: task.floor,
                    own: task.update.map_or(0, |update| update.version),
                };
                self.checker.get(allowed, found)
            }
        }
    }
}

/// Waits until `time`. Returns the part of the wait that the thread slept.
fn wait_until(time: Instant) -> Duration {
    let now = Instant::now();
    let left = time.saturating_duration_since(now);
    let mut slept = Duration::ZERO;
    if left > EARLY {
        std::thread::sleep(left - EARLY);
        slept = now.elapsed();
    }
    while Instant::now() < time {
        std::hint::spin_loop();
    }
    slept
}
