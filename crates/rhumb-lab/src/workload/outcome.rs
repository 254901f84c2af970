//! The outcome of a workload, and the figures saved for it.

use super::mix::Operation;
use crate::error::Result;
use crate::measure::Latencies;
use crate::results::Measured;

/// The outcome of a workload.
#[derive(Debug)]
pub struct Outcome {
    /// The latencies of each kind of operation that the workload has.
    pub by_operation: Vec<(Operation, Latencies)>,
    /// The number of operations.
    pub operations: u64,
    /// The number of clients.
    pub threads: usize,
    /// The time from the first client's start to the last one's end, in seconds, choosing and
    /// checking included.
    pub seconds: f64,
    /// Operations a second. In a closed loop this is the sum over clients of operations divided by
    /// the client's time in the store, as if clients only waited for the store; in an open loop
    /// operations are divided by `seconds`.
    pub per_second: f64,
    /// CPU time of the whole process in seconds: the store, its background work, and the clients.
    pub cpu_seconds: f64,
    /// Wall-clock time in seconds, summed over all threads, that the clients took to choose
    /// operations, to check answers, and to spin for the last 100 us before an intended time.
    pub harness_seconds: f64,
    /// With several clients: the [`round_trip`](crate::measure::round_trip) before and after.
    pub round_trips: Vec<f64>,
}

impl Outcome {
    /// The latencies of all operations.
    ///
    /// # Errors
    /// None with the bounds of [`Latencies`].
    pub fn latencies(&self) -> Result<Latencies> {
        let mut all = Latencies::new()?;
        self.by_operation.iter().for_each(|(_, took)| all.add(took));
        Ok(all)
    }
}

/// Adds the figures of a workload: the latencies of all operations under the workload's name, the latencies
/// of each kind that occurred under both names (`ycsb-a_read_p99`), `_rate`, `_cpu` of the whole process,
/// `_harness`, the share of the clients' time that was neither in the store nor asleep, and with several clients `_round_trip`,
/// the mean of the round trips of a cache line before and after.
///
/// # Errors
/// None with the bounds of [`Latencies`].
pub fn put(name: &str, outcome: &Outcome, into: &mut Measured) -> Result<()> {
    into.put_latencies(name, &outcome.latencies()?);
    let mut figure = |metric: &str, value, unit| into.put(&format!("{name}_{metric}"), value, unit);
    figure("rate", outcome.per_second, "operations/s");
    let cpu = outcome.cpu_seconds * 1e6 / outcome.operations.max(1) as f64;
    figure("cpu", cpu, "us/operation");
    let clients = outcome.threads as f64 * outcome.seconds.max(1e-9);
    figure("harness", 100.0 * outcome.harness_seconds / clients, "%");
    if !outcome.round_trips.is_empty() {
        let sum: f64 = outcome.round_trips.iter().sum();
        figure("round_trip", sum / outcome.round_trips.len() as f64, "ns");
    }
    for (operation, times) in &outcome.by_operation {
        if times.count() > 0 {
            into.put_latencies(&format!("{name}_{}", operation.name()), times);
        }
    }
    Ok(())
}
