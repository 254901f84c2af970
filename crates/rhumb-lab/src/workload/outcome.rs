//! What came of a workload, and the figures that are kept of it.

use super::mix::Operation;
use crate::error::Result;
use crate::measure::Latencies;
use crate::results::Measured;

/// What came of a workload.
#[derive(Debug)]
pub struct Outcome {
    /// How long each kind of operation took; those that the workload does not have are left out.
    pub by_operation: Vec<(Operation, Latencies)>,
    /// How many there were.
    pub operations: u64,
    /// How many clients there were.
    pub threads: usize,
    /// From the first client's start to the last one's end, in seconds; choosing and checking
    /// included.
    pub seconds: f64,
    /// Operations a second: in a closed loop of clients that do nothing but wait for the store (for
    /// each its operations by its time in the store, added up), in an open loop by `seconds`.
    pub per_second: f64,
    /// CPU time of the whole process in seconds: store, background work, and what the clients do
    /// themselves.
    pub cpu_seconds: f64,
    /// What the clients took to choose, to check, and to spin for the last 100 us before an
    /// intended time, in seconds by the clock, all threads added up.
    pub harness_seconds: f64,
}

impl Outcome {
    /// How long the operations of all kinds took.
    ///
    /// # Errors
    /// None that the bounds of [`Latencies`] allow.
    pub fn latencies(&self) -> Result<Latencies> {
        let mut all = Latencies::new()?;
        self.by_operation.iter().for_each(|(_, took)| all.add(took));
        Ok(all)
    }
}

/// Adds the figures of a workload that was run once or several times: latencies of all operations
/// by its name, those of each kind that occurred by the name and the kind's (`ycsb-a_read_p99`);
/// `_rate`; `_cpu`, of the whole process; and `_harness`, the clients' share of time neither in the
/// store nor asleep.
///
/// # Errors
/// None that the bounds of [`Latencies`] allow.
pub fn put(name: &str, outcomes: Vec<Outcome>, into: &mut Measured) -> Result<()> {
    let all = outcomes.iter().map(Outcome::latencies);
    into.put_latencies(name, &all.collect::<Result<Vec<_>>>()?)?;
    let mut figure = |metric: &str, of: fn(&Outcome) -> f64, unit| {
        let values: Vec<f64> = outcomes.iter().map(of).collect();
        into.put_repeated(&format!("{name}_{metric}"), &values, unit);
    };
    figure("rate", |o| o.per_second, "operations/s");
    let cpu = |o: &Outcome| o.cpu_seconds * 1e6 / o.operations.max(1) as f64;
    figure("cpu", cpu, "us/operation");
    let harness =
        |o: &Outcome| 100.0 * o.harness_seconds / (o.threads as f64 * o.seconds.max(1e-9));
    figure("harness", harness, "%");
    let mut by_operation: Vec<(Operation, Vec<Latencies>)> = Vec::new();
    let occurred = outcomes.into_iter().flat_map(|o| o.by_operation);
    for (operation, took) in occurred.filter(|(_, took)| took.count() > 0) {
        match by_operation.iter_mut().find(|(o, _)| *o == operation) {
            Some((_, times)) => times.push(took),
            None => by_operation.push((operation, vec![took])),
        }
    }
    for (operation, times) in by_operation {
        into.put_latencies(&format!("{name}_{}", operation.name()), &times)?;
    }
    Ok(())
}
