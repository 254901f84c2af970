//! How much of a workload is run, by how many clients, at which pace.

use std::time::Duration;

use super::mix::{Mix, Operation};
use super::record::MOST_THREADS;
use crate::data::Input;
use crate::error::{Error, Result};

/// How much work to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// So many operations of all threads together.
    Operations(u64),
    /// Until this time is over, so that a run cannot be repeated exactly.
    Time(Duration),
}

/// When the next operation begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// As soon as the last one is done and checked.
    Closed,
    /// At equal intervals, so many a second of all threads together, whether or not the store is
    /// ready: latencies count from the time that was intended, so that none is left out because the
    /// one before it was slow. What a thread takes to check the last answer delays it too: have
    /// more threads where [`Outcome::harness_seconds`](super::outcome::Outcome::harness_seconds)
    /// comes near the time of the run.
    Open { per_second: f64 },
}

/// How a workload is run.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// What is counted.
    pub amount: Amount,
    /// Operations of all threads together that come first and are not counted, in a closed loop.
    pub warm_up: u64,
    /// How many clients there are.
    pub threads: usize,
    /// When they act.
    pub pace: Pace,
}

impl Load {
    /// A number of operations in a closed loop, all of them counted.
    pub fn closed(operations: u64, threads: usize) -> Load {
        Load {
            amount: Amount::Operations(operations),
            warm_up: 0,
            threads,
            pace: Pace::Closed,
        }
    }

    /// Checks that workloads can be run one after another over an input of which `left` keys are
    /// not in the store yet. How many are inserted in a time is not known before.
    ///
    /// # Errors
    /// If they cannot.
    pub fn check(&self, mixes: &[Mix], input: &Input, left: u64) -> Result<()> {
        let threads = self.threads;
        if threads == 0 || threads > MOST_THREADS {
            return Err(Error::Usage(format!(
                "{threads} threads cannot run a workload: take 1 to {MOST_THREADS}"
            )));
        }
        if let Pace::Open { per_second } = self.pace
            && !(per_second.is_finite() && per_second >= 0.001)
        {
            return Err(Error::Usage(format!(
                "{per_second} operations a second is no pace for a workload: take 0.001 at least"
            )));
        }
        if matches!(self.amount, Amount::Operations(0)) {
            let message = "0 operations of a workload measure nothing: run one at least";
            return Err(Error::Usage(message.to_string()));
        }
        let absent = mixes.iter().find(|mix| mix.share(Operation::Absent) > 0.0);
        if let Some(mix) = absent.filter(|_| input.absent.len() == 0) {
            return Err(Error::Usage(format!(
                "{mix} needs absent keys and {} has none: hold some out when it is made",
                input.name
            )));
        }
        self.check_inserts(mixes, input, left)
    }

    fn check_inserts(&self, mixes: &[Mix], input: &Input, left: u64) -> Result<()> {
        let Amount::Operations(count) = self.amount else {
            return Ok(());
        };
        let operations = self.warm_up.saturating_add(count) as f64;
        let shares = || mixes.iter().map(|mix| mix.share(Operation::Insert));
        let mean = operations * shares().sum::<f64>();
        let variance = operations * shares().map(|share| share * (1.0 - share)).sum::<f64>();
        // Six standard deviations above the mean.
        if mean + 6.0 * variance.sqrt() <= left as f64 {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "{} workloads of {operations} operations will insert about {mean:.0} records and only {left} \
             of {} are left: take more keys, load fewer of them, or run fewer operations",
            mixes.len(),
            input.name
        )))
    }

    /// How many records a workload is expected to insert where `left` are not there yet.
    pub fn inserts(&self, mix: &Mix, left: u64) -> u64 {
        let share = mix.share(Operation::Insert);
        match self.amount {
            Amount::Operations(count) => (self.warm_up.saturating_add(count) as f64 * share) as u64,
            Amount::Time(_) if share > 0.0 => left,
            Amount::Time(_) => 0,
        }
    }

    /// A thread's part of a number of operations.
    pub fn part(&self, operations: u64, thread: u64) -> u64 {
        let threads = self.threads as u64;
        operations / threads + u64::from(thread < operations % threads)
    }

    /// When an operation of a thread should begin, since the start; `None` in a closed loop.
    pub fn intended(&self, thread: u64, number: u64) -> Option<Duration> {
        let Pace::Open { per_second } = self.pace else {
            return None;
        };
        let place = number * self.threads as u64 + thread;
        // Decades are as good as forever, and a time that can be added.
        Some(Duration::from_secs_f64(
            (place as f64 / per_second).min(1e9),
        ))
    }
}
