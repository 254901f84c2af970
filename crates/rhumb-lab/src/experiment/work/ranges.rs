//! Ranges: the seek, and the scan after it.

use std::time::{Duration, Instant};

use super::limited::with_reading;
use crate::data::{Pairs, Random};
use crate::error::Result;
use crate::experiment::study::Study;
use crate::experiment::{Amounts, Reading};
use crate::measure::Latencies;
use crate::results::{Measured, Permitted};
use crate::run::phases::Loaded;
use crate::store::Store;

/// The number of ranges of a length. Longer ranges are fewer, since they would take most of the time.
pub fn count(amounts: &Amounts, length: usize) -> usize {
    (amounts.ranges * 10 / length.max(10)).clamp(20, amounts.ranges)
}

/// Reads ranges of `length` entries from random keys on.
///
/// # Errors
/// Failures of the store; wrong answers.
pub fn measure(study: &Study<'_>, length: usize, reading: Reading) -> Result<Permitted> {
    let amounts = study.setting.amounts;
    let count = count(amounts, length);
    let warm_up = |store: &dyn Store| {
        let steps = study.warm_up(store);
        ranges(&steps, count.div_ceil(4), length).map(drop)
    };
    with_reading(study, reading, warm_up, |store| {
        timed(study, store, count, length)
    })
}

fn timed(study: &Study<'_>, store: &dyn Store, count: usize, length: usize) -> Result<Measured> {
    let before = store.counters()?;
    let [seeks, scans, wholes] = ranges(&study.steps(store), count, length)?;
    let counters = store.counters()?.since(&before);
    let mut measured = Measured::default();
    measured.put_latencies("seek", &seeks);
    measured.put_latencies("scan", &scans);
    measured.put_latencies("range", &wholes);
    for (metric, counter, unit) in [
        ("range_blocks_read", "scan_blocks_read", "blocks/range"),
        ("range_read_calls", "scan_read_calls", "calls/range"),
        ("range_bytes_read", "scan_bytes_read", "B/range"),
    ] {
        if let Some(value) = counters.get(counter) {
            measured.put(metric, value as f64 / count as f64, unit);
        }
    }
    Ok(measured)
}

/// Reads some ranges. Returns the latencies of seek, scan and both together. Making the cursor counts
/// as part of the seek.
fn ranges(steps: &Loaded<'_>, count: usize, length: usize) -> Result<[Latencies; 3]> {
    let keys = &steps.input.keys;
    let mut random = Random::new(steps.seed, 0x5ca9);
    let mut times = [Latencies::new()?, Latencies::new()?, Latencies::new()?];
    let (mut found, mut start_key) = (Pairs::default(), Vec::new());
    for _ in 0..count {
        let rank = random.below(keys.len() as u64) as usize;
        keys.get(rank).clone_into(&mut start_key);
        found.clear();
        let start = Instant::now();
        let mut seek = Duration::ZERO;
        steps.store.with_cursor(&mut |cursor| {
            let mut more = cursor.seek(&start_key)?;
            seek = start.elapsed();
            while more {
                let (key, value) = cursor.pair();
                found.push(key, value);
                more = found.len() < length && cursor.advance()?;
            }
            Ok(())
        })?;
        let whole = start.elapsed();
        let took = [seek, whole - seek, whole];
        times
            .iter_mut()
            .zip(took)
            .for_each(|(times, took)| times.record(took));
        steps.check_scan(rank, length, &found)?;
    }
    steps.progress.advance(0)?;
    Ok(times)
}
