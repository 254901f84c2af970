//! What is measured of a phase besides its operations: space, bytes written and read, CPU time.

use std::time::Instant;

use crate::error::Result;
use crate::experiment::study::Study;
use crate::measure::{Cost, Latencies, Meter, SpaceWatch};
use crate::results::Measured;
use crate::store::Store;
use crate::workload::mix::Operation;
use crate::workload::outcome::Outcome;
use crate::workload::population::Population;

/// What is measured of a phase besides its operations.
pub struct Watch<'a> {
    study: &'a Study<'a>,
    space: SpaceWatch,
    /// None if the operating system does not count the writes of the store.
    meter: Option<Meter>,
}

impl<'a> Watch<'a> {
    /// Begins.
    pub fn start(study: &'a Study<'a>, store: &dyn Store) -> Watch<'a> {
        Watch {
            study,
            space: SpaceWatch::start(&study.directory),
            meter: store.counts_writes().then(Meter::start),
        }
    }

    /// Adds the throughput of each kind of operation and by the clock of the wall, p99.9 and the maximum of each kind,
    /// the CPU time, the bytes written a byte that the user wrote, the space at the end and at its largest, and the
    /// bytes of all present records.
    ///
    /// # Errors
    /// If the directory of the store cannot be read.
    pub fn put(
        self,
        name: &str,
        outcome: &Outcome,
        population: &Population<'_>,
        into: &mut Measured,
    ) -> Result<Last> {
        let (now, peak) = self.space.stop()?;
        let input = &self.study.records.input;
        let record = input.user_bytes() as f64 / input.keys.len().max(1) as f64;
        let live = record * population.present() as f64;
        let user_bytes = record * writes(outcome) as f64;
        let mut put = |metric: &str, value: f64, unit| {
            into.put(&format!("{name}_{metric}"), value, unit);
        };
        for (operation, times) in &outcome.by_operation {
            put_tail(operation.name(), times, &mut put);
        }
        let wall = outcome.operations as f64 / outcome.seconds.max(1e-9);
        put("wall_rate", wall, "operations/s");
        put("cpu_time", outcome.cpu_seconds, "s");
        put("live_bytes", live, "B");
        put("peak_bytes", peak as f64, "B");
        put("space", now as f64 / live.max(1.0), "B/B");
        put("peak_space", peak as f64 / live.max(1.0), "B/B");
        let cost = self.meter.as_ref().map(Meter::read);
        let written = cost.as_ref().and_then(|cost| cost.written);
        if let Some(written) = written.filter(|_| user_bytes > 0.0) {
            put("written", written as f64 / user_bytes, "B/B");
        }
        put_reads(cost.as_ref(), outcome.operations, &mut put);
        Ok(Last {
            name: name.to_string(),
            meter: self.meter,
            user_bytes,
        })
    }
}

/// The records that a phase wrote.
fn writes(outcome: &Outcome) -> u64 {
    let kinds = outcome.by_operation.iter();
    let writes = kinds.filter(|(operation, _)| {
        use Operation::{Insert, ReadModifyWrite, Update};
        matches!(operation, Update | Insert | ReadModifyWrite)
    });
    writes.map(|(_, times)| times.count()).sum()
}

fn put_tail(kind: &str, times: &Latencies, put: &mut impl FnMut(&str, f64, &'static str)) {
    if times.count() == 0 {
        return;
    }
    put(&format!("{kind}_throughput"), 1e9 / times.mean(), "1/s");
    put(&format!("{kind}_p999"), times.quantile(0.999), "ns");
    put(&format!("{kind}_max"), times.quantile(1.0), "ns");
}

/// Adds what the operating system counts of the reads of the whole process, background work included, an operation.
fn put_reads(cost: Option<&Cost>, operations: u64, put: &mut impl FnMut(&str, f64, &'static str)) {
    let Some(cost) = cost else {
        return;
    };
    let operations = operations.max(1) as f64;
    if let Some(bytes) = cost.device_bytes {
        put("device_read", bytes as f64 / operations, "B/operation");
    }
    if let Some(calls) = cost.read_calls {
        put("read_calls", calls as f64 / operations, "calls/operation");
    }
}

/// The last phase, whose flushes and merges may go on behind it.
pub struct Last {
    name: String,
    meter: Option<Meter>,
    user_bytes: f64,
}

impl Last {
    /// Waits for what is left to do, and adds the time and the bytes written from the beginning of the phase on.
    ///
    /// # Errors
    /// Failures of the store.
    pub fn settle(self, store: &dyn Store, into: &mut Measured) -> Result<()> {
        let began = Instant::now();
        store.flush()?;
        into.put("settle_time", began.elapsed().as_secs_f64(), "s");
        let written = self.meter.as_ref().and_then(|meter| meter.read().written);
        if let Some(written) = written.filter(|_| self.user_bytes > 0.0) {
            let metric = format!("{}_written_settled", self.name);
            into.put(&metric, written as f64 / self.user_bytes, "B/B");
        }
        Ok(())
    }
}
