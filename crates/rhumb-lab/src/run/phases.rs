//! The steps of an experiment over one store. Every answer is compared with what was written, after
//! the timed part; a wrong answer ends the run.

use std::time::Instant;

use super::at_once::at_once;
use crate::data::{Input, Pairs, Random, Strings};
use crate::error::{Error, Result};
use crate::measure::Latencies;
use crate::progress::Progress;
use crate::store::{Store, Values};
use crate::workload::population::write_ranks;

const BATCH: usize = 1_000;

/// The keys of one call that gets many.
pub const MANY: usize = 64;

/// A store with its input, which is in the store or will be after [`Loaded::load`].
#[derive(Clone, Copy)]
pub struct Loaded<'a> {
    pub store: &'a dyn Store,
    /// The store's name in error messages.
    pub name: &'a str,
    pub input: &'a Input,
    pub progress: &'a Progress,
    /// Seed of every random choice.
    pub seed: u64,
}

/// Streams of random numbers. Each step has its own stream, so that steps are independent.
#[derive(Debug, Clone, Copy)]
enum Stream {
    Load = 1,
    Get,
    GetAbsent,
    Scan,
    GetMany,
}

impl<'a> Loaded<'a> {
    /// The steps over a store and its input.
    pub fn new(
        store: &'a dyn Store,
        name: &'a str,
        input: &'a Input,
        progress: &'a Progress,
        seed: u64,
    ) -> Loaded<'a> {
        Loaded {
            store,
            name,
            input,
            progress,
            seed,
        }
    }

    /// Writes every pair in batches of 1,000, in the input's order, or in a random order if it has
    /// none.
    pub fn load(&self) -> Result<()> {
        let input = self.input;
        let order = input.load_order(&mut self.random(Stream::Load));
        self.stage("load", order.len());
        write_ranks(self.store, input, &order, self.progress)
    }

    /// Gets every key once in order, which also loads every block into memory.
    pub fn verify(&self) -> Result<()> {
        self.stage("verify", self.input.keys.len());
        let mut found = Vec::new();
        let mut expected = Vec::new();
        for (rank, key) in self.input.keys.iter().enumerate() {
            let present = self.store.get(key, &mut found)?;
            self.input.value(rank, &mut expected);
            self.check("get", key, Some(&expected), present.then_some(&found))?;
            self.advance(rank)?;
        }
        Ok(())
    }

    /// Gets `count` random present keys.
    pub fn get(&self, count: usize) -> Result<Latencies> {
        self.get_after(count, |_| Ok(()))
    }

    /// Gets `count` random present keys from a store that was opened cold. The store's pages in the
    /// page cache are dropped every 1,000 gets, so that they hardly exceed the cache of a cold
    /// store.
    pub fn get_cold(&self, count: usize) -> Result<Latencies> {
        self.get_after(count, |done| match done % BATCH {
            0 => self.store.cool(),
            _ => Ok(()),
        })
    }

    /// Gets `count` random present keys in all, divided among several threads.
    pub fn get_by(&self, threads: usize, count: usize) -> Result<Latencies> {
        let work = |thread: usize| {
            // Different from the seeds of other repeats.
            let seed = self.seed ^ ((thread as u64) << 32);
            move || Loaded { seed, ..*self }.get(count / threads)
        };
        let mut all = Latencies::new()?;
        for took in at_once((0..threads).map(work).collect())? {
            all.add(&took);
        }
        Ok(all)
    }

    /// Gets random present keys; `before` is called before each get with the number of gets so far.
    fn get_after(&self, count: usize, before: impl Fn(usize) -> Result<()>) -> Result<Latencies> {
        let (mut key, mut found, mut expected) = (Vec::new(), Vec::new(), Vec::new());
        let mut done = 0;
        self.time(
            "get",
            Stream::Get,
            count,
            &self.input.keys,
            |rank, target| {
                before(done)?;
                done += 1;
                // A real caller has its key in the processor's caches, so fetching the key is not
                // timed.
                target.clone_into(&mut key);
                let start = Instant::now();
                let present = self.store.get(&key, &mut found)?;
                let took = start.elapsed();
                self.input.value(rank, &mut expected);
                self.check("get", &key, Some(&expected), present.then_some(&found))?;
                Ok(took)
            },
        )
    }

    /// Gets `count` random present keys of a warm store, [`MANY`] in a call; each latency is that of a call.
    pub fn get_many(&self, count: usize) -> Result<Latencies> {
        self.get_many_after(count, |_| Ok(()))
    }

    /// The same from a store that was opened cold, as [`Loaded::get_cold`].
    pub fn get_many_cold(&self, count: usize) -> Result<Latencies> {
        self.get_many_after(count, |calls| match calls % (BATCH / MANY) {
            0 => self.store.cool(),
            _ => Ok(()),
        })
    }

    /// Gets random present keys; `before` is called before each call with the number of calls so far.
    fn get_many_after(
        &self,
        count: usize,
        before: impl Fn(usize) -> Result<()>,
    ) -> Result<Latencies> {
        let keys = &self.input.keys;
        let (mut found, mut expected) = (Values::default(), Vec::new());
        let mut latencies = Latencies::new()?;
        if keys.len() == 0 {
            return Ok(latencies);
        }
        self.stage("get of many", count);
        let mut random = self.random(Stream::GetMany);
        for call in 0..count.div_ceil(MANY) {
            before(call)?;
            let ranks = [(); MANY].map(|()| random.below(keys.len() as u64) as usize);
            // As for single gets, the caller has its keys at hand.
            let wanted = ranks.map(|rank| keys.get(rank).to_vec());
            let wanted = wanted.each_ref().map(|key| &key[..]);
            let start = Instant::now();
            self.store.get_many(&wanted, &mut found)?;
            latencies.record(start.elapsed());
            let values = found.iter();
            if values.len() != MANY {
                let (expected, found) = (format!("{MANY} values"), values.len().to_string());
                return Err(self.wrong("get of many", wanted[0], expected, found));
            }
            for ((rank, key), value) in ranks.into_iter().zip(wanted).zip(values) {
                self.input.value(rank, &mut expected);
                self.check("get of many", key, Some(&expected), value)?;
            }
            self.progress.advance(MANY)?;
        }
        Ok(latencies)
    }

    /// Gets `count` random absent keys.
    pub fn get_absent(&self, count: usize) -> Result<Latencies> {
        let (mut key, mut found) = (Vec::new(), Vec::new());
        let absent = &self.input.absent;
        self.time(
            "absent get",
            Stream::GetAbsent,
            count,
            absent,
            |_, target| {
                target.clone_into(&mut key);
                let start = Instant::now();
                let present = self.store.get(&key, &mut found)?;
                let took = start.elapsed();
                self.check("get", &key, None, present.then_some(&found))?;
                Ok(took)
            },
        )
    }

    /// Reads `length` pairs in order from random keys on, `count` times.
    pub fn scan(&self, count: usize, length: usize) -> Result<Latencies> {
        let (mut start_key, mut found) = (Vec::new(), Pairs::default());
        self.time(
            "scan",
            Stream::Scan,
            count,
            &self.input.keys,
            |rank, target| {
                target.clone_into(&mut start_key);
                let start = Instant::now();
                self.store.scan(&start_key, length, &mut found)?;
                let took = start.elapsed();
                self.check_scan(rank, length, &found)?;
                Ok(took)
            },
        )
    }

    /// Runs an operation on `count` random targets.
    fn time(
        &self,
        stage: &str,
        stream: Stream,
        count: usize,
        targets: &Strings,
        mut operation: impl FnMut(usize, &[u8]) -> Result<std::time::Duration>,
    ) -> Result<Latencies> {
        let mut latencies = Latencies::new()?;
        if targets.len() == 0 {
            return Ok(latencies);
        }
        self.stage(stage, count);
        let mut random = self.random(stream);
        for done in 0..count {
            let rank = random.below(targets.len() as u64) as usize;
            latencies.record(operation(rank, targets.get(rank))?);
            self.advance(done)?;
        }
        Ok(latencies)
    }

    /// Checks the pairs found by a scan of `length` pairs from a rank on.
    pub fn check_scan(&self, rank: usize, length: usize, found: &Pairs) -> Result<()> {
        let (input, mut expected) = (self.input, Vec::new());
        let start = input.keys.get(rank);
        let pairs = length.min(input.keys.len() - rank);
        if found.len() != pairs {
            let (expected, found) = (format!("{pairs} pairs"), format!("{} pairs", found.len()));
            return Err(self.wrong("scan", start, expected, found));
        }
        for (place, (key, value)) in found.iter().enumerate() {
            if key != input.keys.get(rank + place) {
                let right = format!("key {}", input.keys.get(rank + place).escape_ascii());
                let wrong = format!("key {} at place {place}", key.escape_ascii());
                return Err(self.wrong("scan", start, right, wrong));
            }
            input.value(rank + place, &mut expected);
            self.check("scan", key, Some(&expected), Some(value))?;
        }
        Ok(())
    }

    fn check<V: AsRef<[u8]>>(
        &self,
        operation: &'static str,
        key: &[u8],
        expected: Option<&[u8]>,
        found: Option<V>,
    ) -> Result<()> {
        let found = found.as_ref().map(AsRef::as_ref);
        if expected == found {
            return Ok(());
        }
        let text = |value: Option<&[u8]>| match value {
            Some(value) => format!("{} bytes \"{}\"", value.len(), value.escape_ascii()),
            None => "no value".to_string(),
        };
        Err(self.wrong(operation, key, text(expected), text(found)))
    }

    fn wrong(&self, operation: &'static str, key: &[u8], expected: String, found: String) -> Error {
        Error::WrongAnswer {
            store: self.name.to_string(),
            operation,
            key: key.escape_ascii().to_string(),
            expected,
            found,
        }
    }

    fn random(&self, stream: Stream) -> Random {
        Random::new(self.seed, stream as u64)
    }

    fn stage(&self, stage: &str, steps: usize) {
        let message = format!("{}, {}: {stage}", self.input.name, self.name);
        self.progress.stage(message, steps);
    }

    /// Updates the progress at intervals.
    fn advance(&self, done: usize) -> Result<()> {
        if done % BATCH == BATCH - 1 {
            self.progress.advance(BATCH)?;
        }
        Ok(())
    }
}
