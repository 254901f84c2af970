//! Workloads one after another.

use std::time::Instant;

use crate::error::Result;
use crate::experiment::study::Study;
use crate::experiment::{Count, Phase, Reading};
use crate::measure::{Latencies, Meter, SpaceWatch, directory_bytes};
use crate::results::Measured;
use crate::store::{Counters, Store};
use crate::workload::drive::Driver;
use crate::workload::load::{Amount, Load, Pace};
use crate::workload::mix::{Mix, Operation};
use crate::workload::order::Order;
use crate::workload::outcome::{self, Outcome};
use crate::workload::population::Population;

/// Runs the phases on the store. Adds, for each phase and for all together, the store's counters
/// that changed, and the bytes of its files; for phases that are measured from their first operation on also what
/// [`Watch`] measures.
///
/// # Errors
/// Failures of the store; wrong answers; phases that do not fit the records.
pub fn measure(study: &Study<'_>, phases: &[Phase]) -> Result<Measured> {
    let store = study.open(Reading::Cached)?;
    let keys = study.records.input.keys.len();
    let order = Order::first_seen(keys, study.records.order.iter().copied())?;
    let seed = study.setting.seed;
    let population = Population::new(&study.records.input, &order, study.loaded(), seed)?;
    let mut measured = Measured::default();
    let mut before = store.counters()?;
    let mut last = None;
    for (place, phase) in (0..).zip(phases) {
        let driver = Driver {
            store: &*store,
            name: &study.name,
            population: &population,
            load: load(phase, study, &population),
            seed: seed.wrapping_add(place),
            progress: study.setting.progress,
        };
        let mix: Mix = phase.mix.parse()?;
        let watch = phase.is_watched().then(|| Watch::start(study, &*store));
        let outcome = driver.run(&mix)?;
        outcome::put(phase.name, &outcome, &mut measured)?;
        last = match watch {
            Some(watch) => Some(watch.put(phase.name, &outcome, &population, &mut measured)?),
            None => None,
        };
        let after = store.counters()?;
        put_counters(phase.name, &after.since(&before), &mut measured);
        let bytes = directory_bytes(&study.directory)? as f64;
        measured.put(&format!("{}_disk_bytes", phase.name), bytes, "B");
        before = after;
    }
    if let Some(last) = last {
        last.settle(&*store, &mut measured)?;
        put_memory(&*store, &mut measured)?;
        before = store.counters()?;
    }
    for counter in before.iter() {
        measured.put(counter.name, counter.value as f64, counter.unit);
    }
    store.close()?;
    Ok(measured)
}

impl Phase {
    /// Whether its space and its writes are measured, which only all of its operations together have.
    fn is_watched(&self) -> bool {
        !matches!(self.count, Count::OfScale(_))
    }
}

/// The parameters of a phase.
fn load(phase: &Phase, study: &Study<'_>, population: &Population<'_>) -> Load {
    let records = population.most();
    let operations = match phase.count {
        Count::OfScale(amount) => (amount * study.setting.amounts.operations as f64).ceil() as u64,
        Count::OfRecords(amount) => (amount * records as f64).round() as u64,
        Count::Left => records - population.present(),
    };
    Load {
        amount: Amount::Operations(operations),
        warm_up: match phase.is_watched() {
            true => 0,
            false => operations / 10,
        },
        threads: phase.clients,
        pace: match phase.rate {
            Some(per_second) => Pace::Open { per_second },
            None => Pace::Closed,
        },
    }
}

/// Adds the counters of a phase that are not 0, its warm-up included.
fn put_counters(phase: &str, counters: &Counters, measured: &mut Measured) {
    for counter in counters.iter().filter(|counter| counter.value > 0) {
        let metric = format!("{phase}_{}", counter.name);
        measured.put(&metric, counter.value as f64, counter.unit);
    }
}

/// What is measured of a phase besides its operations.
struct Watch<'a> {
    study: &'a Study<'a>,
    space: SpaceWatch,
    /// None if the operating system does not count the writes of the store.
    meter: Option<Meter>,
}

impl<'a> Watch<'a> {
    fn start(study: &'a Study<'a>, store: &dyn Store) -> Watch<'a> {
        Watch {
            study,
            space: SpaceWatch::start(&study.directory),
            meter: store.counts_writes().then(Meter::start),
        }
    }

    /// Adds the throughput of each kind of operation and by the clock of the wall, p99.9 and the maximum of each kind,
    /// the CPU time, the bytes written a byte that the user wrote, the space at the end and at its largest, and the
    /// bytes of all present records.
    fn put(
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
        let written = self.meter.as_ref().and_then(|meter| meter.read().written);
        if let Some(written) = written.filter(|_| user_bytes > 0.0) {
            put("written", written as f64 / user_bytes, "B/B");
        }
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

/// The last phase, whose flushes and merges may go on behind it.
struct Last {
    name: String,
    meter: Option<Meter>,
    user_bytes: f64,
}

impl Last {
    /// Waits for what is left to do, and adds the time and the bytes written from the beginning of the phase on.
    fn settle(self, store: &dyn Store, into: &mut Measured) -> Result<()> {
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

/// Adds the memory of the store for finding keys and of its own cache.
fn put_memory(store: &dyn Store, into: &mut Measured) -> Result<()> {
    let Some(held) = store.footprint()? else {
        return Ok(());
    };
    let index = held.index + held.directory + held.filter + held.key_map;
    into.put("index_memory_bytes", index as f64, "B");
    if let Some(cache) = held.cache {
        into.put("memory_bytes", (index + cache) as f64, "B");
    }
    if let Some(tables) = held.table_bytes {
        into.put("table_bytes", tables as f64, "B");
    }
    Ok(())
}
