//! Gets of present keys.

use crate::error::Result;
use crate::experiment::Reading;
use crate::experiment::study::Study;
use crate::measure::{ControlGroup, Cost, Meter, directory_bytes};
use crate::results::Measured;
use crate::store::{Counters, Pages, Store};

/// The size of a limited page cache as a share of the data, as published (75 GB of 100 GiB).
const PAGE_CACHE_SHARE: f64 = 0.7;
/// Memory for the process itself, which the group counts too.
const OWN_BYTES: u64 = 16 << 20;

/// Gets random keys; none if the page cache cannot be limited here.
///
/// # Errors
/// Failures of the store; wrong answers.
pub fn measure(study: &Study<'_>, reading: Reading) -> Result<Option<Measured>> {
    if reading != Reading::Limited {
        return gets(study, reading).map(Some);
    }
    let bytes = directory_bytes(&study.directory)? as f64 * PAGE_CACHE_SHARE;
    // A page counts for the group that first loaded it, so pages loaded before must go.
    Pages::of(&study.directory)?.leave()?;
    let Some(group) = ControlGroup::enter(bytes as u64 + OWN_BYTES)? else {
        return Ok(None);
    };
    let measured = gets(study, reading);
    group.leave()?;
    measured.map(Some)
}

fn gets(study: &Study<'_>, reading: Reading) -> Result<Measured> {
    let amounts = study.setting.amounts;
    let mut measured = Measured::default();
    let store = study.open(reading)?;
    if reading == Reading::Limited {
        fill_page_cache(&*store)?;
    }
    let warm_up = (amounts.gets / 4).max(200);
    study.warm_up(&*store).get(warm_up)?;
    put_memory(&*store, study, &mut measured)?;
    let (before, meter) = (store.counters()?, Meter::start());
    let times = study.steps(&*store).get(amounts.gets)?;
    let cost = meter.read();
    let count = times.count() as f64;
    measured.put_latencies("get", &[times])?;
    put_reads(&store.counters()?.since(&before), count, &mut measured);
    put_device(&cost, count, &mut measured);
    store.close()?;
    Ok(measured)
}

/// Reads the whole store once, so that the page cache is as full as possible.
fn fill_page_cache(store: &dyn Store) -> Result<()> {
    store.with_cursor(&mut |all| {
        let mut more = all.seek(&[])?;
        while more {
            more = all.advance()?;
        }
        Ok(())
    })
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
