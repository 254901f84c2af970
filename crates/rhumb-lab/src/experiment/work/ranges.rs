//! Ranges: the seek, and the scan after it.

use std::time::Instant;

use crate::data::{Pairs, Random};
use crate::error::Result;
use crate::experiment::Reading;
use crate::experiment::study::Study;
use crate::measure::Latencies;
use crate::results::Measured;
use crate::run::phases::Loaded;
use crate::store::Rhumb;

/// Reads ranges of `length` entries from random keys on.
///
/// # Errors
/// Failures of the store; wrong answers.
pub fn measure(study: &Study<'_>, length: usize) -> Result<Measured> {
    let amounts = study.setting.amounts;
    // Longer ranges are fewer, since they would take most of the time.
    let count = (amounts.ranges * 10 / length.max(10)).clamp(20, amounts.ranges);
    let store = study.open(Reading::Cached)?;
    ranges(
        &study.warm_up(&store),
        study,
        &store,
        count.div_ceil(4),
        length,
    )?;
    let before = store.0.stats()?.scans;
    let [seeks, scans, wholes] = ranges(&study.steps(&store), study, &store, count, length)?;
    let after = store.0.stats()?.scans;
    let mut measured = Measured::default();
    measured.put_latencies("seek", &[seeks])?;
    measured.put_latencies("scan", &[scans])?;
    measured.put_latencies("range", &[wholes])?;
    let a_range = |before: u64, after: u64| (after - before) as f64 / count as f64;
    let blocks = a_range(before.blocks_read, after.blocks_read);
    measured.put("range_blocks_read", blocks, "blocks/range");
    let calls = a_range(before.read_calls, after.read_calls);
    measured.put("range_read_calls", calls, "calls/range");
    let bytes = a_range(before.bytes_read, after.bytes_read);
    measured.put("range_bytes_read", bytes, "B/range");
    store.0.close()?;
    Ok(measured)
}

/// Reads some ranges. Returns the latencies of seek, scan and both together.
fn ranges(
    steps: &Loaded<'_>,
    study: &Study<'_>,
    store: &Rhumb,
    count: usize,
    length: usize,
) -> Result<[Latencies; 3]> {
    let keys = &study.records.input.keys;
    let mut random = Random::new(steps.seed, 0x5ca9);
    let mut times = [Latencies::new()?, Latencies::new()?, Latencies::new()?];
    let (mut found, mut start_key) = (Pairs::default(), Vec::new());
    for _ in 0..count {
        let rank = random.below(keys.len() as u64) as usize;
        keys.get(rank).clone_into(&mut start_key);
        found.clear();
        let start = Instant::now();
        let mut range = store.0.range(&start_key[..]..)?;
        let mut more = range.advance()?;
        let seek = start.elapsed();
        while more {
            found.push(range.key(), range.value());
            more = found.len() < length && range.advance()?;
        }
        drop(range);
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
