//! Workloads one after another.

use crate::error::Result;
use crate::experiment::study::Study;
use crate::experiment::{Phase, Reading};
use crate::results::Measured;
use crate::workload::drive::Driver;
use crate::workload::load::Load;
use crate::workload::mix::Mix;
use crate::workload::order::Order;
use crate::workload::outcome;
use crate::workload::population::Population;

/// Runs the phases on the store, which holds nine tenths of its keys when they begin.
///
/// # Errors
/// Failures of the store; wrong answers.
pub fn measure(study: &Study<'_>, phases: &[Phase]) -> Result<Measured> {
    let amounts = study.setting.amounts;
    let store = study.open(Reading::Cached)?;
    let keys = study.records.input.keys.len();
    let order = Order::first_seen(keys, study.records.order.iter().copied())?;
    let seed = study.setting.seed;
    let population = Population::new(&study.records.input, &order, study.loaded(), seed)?;
    let operations = amounts.operations as u64;
    let driver = Driver {
        store: &*store,
        name: &study.name,
        population: &population,
        load: Load {
            warm_up: operations / 10,
            ..Load::closed(operations, 1)
        },
        seed,
        progress: study.setting.progress,
    };
    let mut measured = Measured::default();
    let mixes = phases.iter().map(|phase| phase.mix.parse());
    let outcomes = driver.run_all(&mixes.collect::<Result<Vec<Mix>>>()?)?;
    for (phase, outcome) in phases.iter().zip(outcomes) {
        outcome::put(phase.name, vec![outcome], &mut measured)?;
    }
    for counter in store.counters()?.iter() {
        measured.put(counter.name, counter.value as f64, counter.unit);
    }
    store.close()?;
    Ok(measured)
}
