//! Gets of present keys.

use super::limited::with_reading;
use crate::error::Result;
use crate::experiment::Reading;
use crate::experiment::study::Study;
use crate::measure::{Cost, Meter};
use crate::results::{Measured, Permitted};
use crate::store::{Counters, Store};

/// Gets random keys.
///
/// # Errors
/// Failures of the store; wrong answers.
pub fn measure(study: &Study<'_>, reading: Reading) -> Result<Permitted> {
    let count = study.setting.amounts.gets_of(reading);
    let warm_up = |store: &dyn Store| study.warm_up(store).get((count / 4).max(200)).map(drop);
    with_reading(study, reading, warm_up, |store| gets(study, store, count))
}

fn gets(study: &Study<'_>, store: &dyn Store, count: usize) -> Result<Measured> {
    let mut measured = Measured::default();
    put_memory(store, study, &mut measured)?;
    let (before, meter) = (store.counters()?, Meter::start());
    let times = study.steps(store).get(count)?;
    let cost = meter.read();
    let count = times.count() as f64;
    measured.put_latencies("get", &times);
    put_reads(&store.counters()?.since(&before), count, &mut measured);
    put_device(&cost, count, &mut measured);
    Ok(measured)
}

/// Adds the memory of indexes, directories, filters and key maps, if the store reports it.
fn put_memory(store: &dyn Store, study: &Study<'_>, measured: &mut Measured) -> Result<()> {
    let input = &study.records.input;
    let keys = input.keys.len() as f64;
    measured.put("keys", keys, "keys");
    let key_bytes = input.keys.bytes() as f64 / keys;
    measured.put("key_bytes", key_bytes, "B/key");
    let Some(held) = store.footprint()? else {
        return Ok(());
    };
    let (index, map, directory) = (
        held.index as f64,
        held.key_map as f64,
        held.directory as f64,
    );
    let mut put = |metric, value, unit| measured.put(metric, value, unit);
    put("index_bytes", index, "B");
    put("key_map_bytes", map, "B");
    put("directory_bytes", directory, "B");
    put("filter_bytes", held.filter as f64, "B");
    put("memory_bytes", index + map + directory, "B");
    put("index_bytes_a_key", index / keys, "B/key");
    put("tables", held.tables as f64, "tables");
    if let Some(levels) = held.levels {
        put("levels", levels as f64, "levels");
    }
    put("fallback_share", held.fallback_share(), "tables/table");
    Ok(())
}

/// Adds the store's counters of gets, those that it has.
fn put_reads(counters: &Counters, gets: f64, measured: &mut Measured) {
    for (name, unit) in [
        ("get_bytes_read", "B/get"),
        ("get_blocks_read", "blocks/get"),
        ("get_blocks", "blocks/get"),
        ("get_window_ranks", "ranks/get"),
        ("get_probes", "tables/get"),
    ] {
        if let Some(count) = counters.get(name) {
            measured.put(name, count as f64 / gets, unit);
        }
    }
}

/// Adds the operating system's counters, which cover the whole process, checks included.
fn put_device(cost: &Cost, gets: f64, measured: &mut Measured) {
    measured.put("get_cpu", 1e9 * cost.cpu / gets, "ns/get");
    if let Some(bytes) = cost.device_bytes {
        measured.put("get_device_bytes", bytes as f64 / gets, "B/get");
    }
    if let Some(calls) = cost.read_calls {
        measured.put("get_read_calls", calls as f64 / gets, "calls/get");
    }
}
