//! Workloads one after another.

use std::time::Instant;

use super::sources::Sources;
use super::watch::Watch;
use crate::error::Result;
use crate::experiment::study::Study;
use crate::experiment::{Count, Phase, Reading};
use crate::measure::{MemoryWatch, directory_bytes};
use crate::results::Measured;
use crate::store::{Counters, Store};
use crate::workload::drive::{Driver, OnRead};
use crate::workload::load::{Amount, Load, Pace};
use crate::workload::mix::Mix;
use crate::workload::outcome;
use crate::workload::population::Population;

/// Runs the phases on the store. Adds, for each phase and for all together, the store's counters
/// that changed, and the bytes of its files; for phases that are measured from their first operation on also what
/// [`Watch`] measures.
///
/// # Errors
/// Failures of the store; wrong answers; phases that do not fit the records.
pub fn measure(study: &Study<'_>, phases: &[Phase]) -> Result<Measured> {
    let store = study.open(Reading::Cached)?;
    let order = study.records.first_seen()?;
    let seed = study.setting.seed;
    let population = Population::new(&study.records.input, &order, study.loaded(), seed)?;
    let mut measured = Measured::default();
    let mut before = store.counters()?;
    let mut last = None;
    for (place, phase) in (0..).zip(phases) {
        if phase.is_behind_all_work {
            do_all_work(phase.name, &*store, &mut measured)?;
        }
        if phase.is_warm {
            warm(study, &*store)?;
            before = store.counters()?;
        }
        let sources = Sources::new(&*store)?;
        let driver = Driver {
            store: &*store,
            name: &study.name,
            population: &population,
            load: load(phase, study, &population),
            seed: seed.wrapping_add(place),
            progress: study.setting.progress,
            on_read: phase.has_sources.then_some(&sources as &dyn OnRead),
        };
        let mix: Mix = phase.mix.parse()?;
        let watch = phase.is_watched().then(|| Watch::start(study, &*store));
        let outcome = driver.run(&mix)?;
        outcome::put(phase.name, &outcome, &mut measured)?;
        sources.put(phase.name, &mut measured);
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
        !matches!(self.count, Count::OfScale(_) | Count::Uncached)
    }
}

/// Looks up all keys in their order, those too that are not there yet.
fn warm(study: &Study<'_>, store: &dyn Store) -> Result<()> {
    let (input, progress) = (&study.records.input, study.setting.progress);
    let keys = &input.keys;
    progress.stage(
        format!("{}, {}: warm-up", input.name, study.name),
        keys.len(),
    );
    let mut value = Vec::new();
    for rank in 0..keys.len() {
        store.get(keys.get(rank), &mut value)?;
        progress.advance(1)?;
    }
    Ok(())
}

/// Merges, converts and collects all by force before a phase, and adds the time that it took and the largest memory
/// beyond what the process had.
fn do_all_work(phase: &str, store: &dyn Store, into: &mut Measured) -> Result<()> {
    let (began, memory) = (Instant::now(), MemoryWatch::start());
    store.settle()?;
    // Merges in the background that became due belong to it.
    store.flush()?;
    let took = began.elapsed().as_secs_f64();
    into.put(&format!("{phase}_forced_time"), took, "s");
    if let Some(bytes) = memory.and_then(MemoryWatch::stop) {
        into.put(&format!("{phase}_forced_memory"), bytes as f64, "B");
    }
    Ok(())
}

/// The parameters of a phase.
fn load(phase: &Phase, study: &Study<'_>, population: &Population<'_>) -> Load {
    let records = population.most();
    let operations = match phase.count {
        Count::OfScale(amount) => (amount * study.setting.amounts.operations as f64).ceil() as u64,
        Count::Uncached => study.setting.amounts.uncached.operations,
        Count::OfRecords(amount) => (amount * records as f64).round() as u64,
        Count::Left => records - population.present(),
        Count::Of(operations) => operations,
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

/// Adds the counters of a phase that are not 0, its warm-up included; the share of wrong answers of the filter above a
/// learned tier among those on keys that do not stand there; and the blocks, and the bytes read, of a table that a get searches.
fn put_counters(phase: &str, counters: &Counters, measured: &mut Measured) {
    let count = |name| counters.get(name).unwrap_or(0) as f64;
    let (right, wrong) = (count("above_negative"), count("above_false_positive"));
    if right + wrong > 0.0 {
        let share = 100.0 * wrong / (right + wrong);
        measured.put(&format!("{phase}_filter_wrong"), share, "%");
    }
    let probes = count("get_probes");
    if probes > 0.0 {
        for (read, name, unit) in [
            ("get_blocks", "probe_blocks", "blocks/probe"),
            ("get_bytes_read", "probe_bytes", "B/probe"),
        ] {
            measured.put(&format!("{phase}_{name}"), count(read) / probes, unit);
        }
    }
    for counter in counters.iter().filter(|counter| counter.value > 0) {
        let metric = format!("{phase}_{}", counter.name);
        measured.put(&metric, counter.value as f64, counter.unit);
    }
}

/// Adds the memory of the store for finding keys and of its own cache.
fn put_memory(store: &dyn Store, into: &mut Measured) -> Result<()> {
    let Some(held) = store.footprint()? else {
        return Ok(());
    };
    let index = held.index + held.directory + held.filter + held.key_map;
    into.put("index_memory_bytes", index as f64, "B");
    into.put("model_bytes", held.index as f64, "B");
    into.put("directory_bytes", held.directory as f64, "B");
    into.put("filter_bytes", held.filter as f64, "B");
    if let Some(cache) = held.cache {
        into.put("memory_bytes", (index + cache) as f64, "B");
    }
    if let Some(tables) = held.table_bytes {
        into.put("table_bytes", tables as f64, "B");
    }
    Ok(())
}
