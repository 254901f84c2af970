//! The amount of a workload, the number of its clients, and its pace.

use std::time::Duration;

use super::mix::{Mix, Operation};
use super::record::MOST_THREADS;
use crate::data::Input;
use crate::error::{Error, Result};

/// The amount of work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// A number of operations of all threads together.
    Operations(u64),
    /// All operations within this time; such a run cannot be repeated exactly.
    Time(Duration),
}

/// The time at which the next operation begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// As soon as the last operation is done and checked.
    Closed,
    /// At equal intervals, `per_second` operations of all threads together, even if the store lags
    /// behind. Latencies count from the intended time, so that they include the delay caused by a
    /// slow operation before. Checking the last answer delays an operation too: use more threads if
    /// [`Outcome::harness_seconds`](super::outcome::Outcome::harness_seconds) comes near the time
    /// of the run.
    Open { per_second: f64 },
}

/// The parameters of a run of a workload.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// The amount that is measured.
    pub amount: Amount,
    /// The number of operations of all threads together that run first, in a closed loop, and are
    /// not measured.
    pub warm_up: u64,
    /// The number of clients.
    pub threads: usize,
    /// The pace of the clients.
    pub pace: Pace,
}

impl Load {
    /// A number of operations in a closed loop, all of which are measured.
    pub fn closed(operations: u64, threads: usize) -> Load {
        Load {
            amount: Amount::Operations(operations),
            warm_up: 0,
            threads,
            pace: Pace::Closed,
        }
    }

    /// Checks that workloads can be run one after another over an input with `left` keys that are
    /// not in the store yet. With [`Amount::Time`] the number of inserts cannot be checked in
    /// advance.
    ///
    /// # Errors
    /// If the workloads cannot be run.
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
                "{per_second} operations a second is not a valid rate: take at least 0.001"
            )));
        }
        if matches!(self.amount, Amount::Operations(0)) {
            let message = "0 operations of a workload measure nothing: run at least one";
            return Err(Error::Usage(message.to_string()));
        }
        let absent = mixes.iter().find(|mix| mix.share(Operation::Absent) > 0.0);
        if let Some(mix) = absent.filter(|_| input.absent.len() == 0) {
            return Err(Error::Usage(format!(
                "{mix} needs absent keys and {} has none: hold some keys out when the input is made",
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

    /// The number of records that a workload is expected to insert if `left` are not present yet.
    pub fn inserts(&self, mix: &Mix, left: u64) -> u64 {
        let share = mix.share(Operation::Insert);
        match self.amount {
            Amount::Operations(count) => (self.warm_up.saturating_add(count) as f64 * share) as u64,
            Amount::Time(_) if share > 0.0 => left,
            Amount::Time(_) => 0,
        }
    }

    /// A thread's share of a number of operations.
    pub fn part(&self, operations: u64, thread: u64) -> u64 {
        let threads = self.threads as u64;
        operations / threads + u64::from(thread < operations % threads)
    }

    /// The time since the start at which an operation of a thread should begin; `None` in a closed
    /// loop.
    pub fn intended(&self, thread: u64, number: u64) -> Option<Duration> {
        let Pace::Open { per_second } = self.pace else {
            return None;
        };
        let place = number * self.threads as u64 + thread;
        // Limited to about 32 years, so that the duration can be added to a time.
        Some(Duration::from_secs_f64(
            (place as f64 / per_second).min(1e9),
        ))
    }
}
