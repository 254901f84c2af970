//! Workloads one after another.

use crate::error::Result;
use crate::experiment::study::Study;
use crate::experiment::{Phase, Reading};
use crate::measure::directory_bytes;
use crate::results::Measured;
use crate::store::Counters;
use crate::workload::drive::Driver;
use crate::workload::load::{Amount, Load, Pace};
use crate::workload::order::Order;
use crate::workload::outcome;
use crate::workload::population::Population;

/// Runs the phases on the store. Adds, for each phase and for all together, the store's counters
/// that changed, and the bytes of its files.
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
    for (place, phase) in (0..).zip(phases) {
        let driver = Driver {
            store: &*store,
            name: &study.name,
            population: &population,
            load: load(phase, study.setting.amounts.operations),
            seed: seed.wrapping_add(place),
            progress: study.setting.progress,
        };
        let outcome = driver.run(&phase.mix.parse()?)?;
        outcome::put(phase.name, &outcome, &mut measured)?;
        let after = store.counters()?;
        put_counters(phase.name, &after.since(&before), &mut measured);
        let bytes = directory_bytes(&study.directory)? as f64;
        measured.put(&format!("{}_disk_bytes", phase.name), bytes, "B");
        before = after;
    }
    for counter in before.iter() {
        measured.put(counter.name, counter.value as f64, counter.unit);
    }
    store.close()?;
    Ok(measured)
}

/// The parameters of a phase, given the operations of the scale. A tenth of its operations are a
/// warm-up.
fn load(phase: &Phase, operations: usize) -> Load {
    let operations = (phase.amount * operations as f64).ceil() as u64;
    Load {
        amount: Amount::Operations(operations),
        warm_up: operations / 10,
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
