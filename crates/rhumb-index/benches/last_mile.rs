//! The last mile out of cache: `cargo bench -p rhumb-index --bench last_mile`, or with `-- <part of
//! a name>` only some.
//!
//! A name consists of the type of the keys, the position boundary of the model that gives the
//! windows, whether a look-up depends on the answer of the one before it (`dependent`) or the
//! processor may overlap them (`independent`), and the method. A time is that of a thousand
//! look-ups.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a bench ends where its index cannot be built"
)]

use std::hint::black_box;
use std::ops::Range;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use rhumb_index::check::SplitMix64;
use rhumb_index::search::{lower_bound_bytes, lower_bound_u64};
use rhumb_index::{IndexSpec, KeyMap, Position, Probe, Window, registry};

const PROBES: usize = 1_000_000;
/// Look-ups that are timed together.
const BATCH: usize = 1_000;

/// Random present keys, each with its window.
struct Probes<K> {
    name: String,
    keys: Vec<(K, Window)>,
}

impl<K: Clone> Probes<K> {
    fn new(name: String, sorted: &[K], window: impl Fn(usize, &K) -> Window) -> Self {
        let mut random = SplitMix64::new(7);
        let probe = |_| {
            let rank = random.below(sorted.len() as u64) as usize;
            (sorted[rank].clone(), window(rank, &sorted[rank]))
        };
        let keys = (0..PROBES).map(probe).collect();
        Probes { name, keys }
    }

    fn time(&self, criterion: &mut Criterion, method: &str, search: impl Fn(&K, Window) -> usize) {
        let mut group = criterion.benchmark_group(&self.name);
        let mut start = 0;
        group.bench_function(format!("independent/{method}"), |bench| {
            bench.iter(|| {
                let batch = &self.keys[start..start + BATCH];
                start = (start + BATCH) % PROBES;
                let found = batch.iter().map(|(key, window)| search(key, *window));
                black_box(found.fold(0, usize::wrapping_add))
            });
        });
        let mut start = 0;
        group.bench_function(format!("dependent/{method}"), |bench| {
            bench.iter(|| {
                let batch = &self.keys[start..start + 2 * BATCH];
                start = (start + 2 * BATCH) % PROBES;
                let mut last = 0;
                for pair in batch.chunks_exact(2) {
                    let (key, window) = &pair[last % 2];
                    last = search(key, *window);
                }
                black_box(last)
            });
        });
        group.finish();
    }
}

/// The windows of a model with a position boundary.
fn model(
    boundary: u64,
    add: impl Fn(&mut dyn rhumb_index::IndexBuilder),
) -> impl Fn(&[u8], u64) -> Window {
    let spec: IndexSpec = format!("plr:boundary={boundary}").parse().unwrap();
    let mut builder = registry::builder(&spec).unwrap();
    add(&mut *builder);
    let index = registry::open(builder.finish().unwrap()).unwrap();
    move |key, number| match index.locate(Probe { key, number }) {
        Position::Window(window) => window,
        position => panic!("plr answers with windows, not {position:?}"),
    }
}

fn as_range(window: Window) -> Range<usize> {
    window.lo as usize..window.hi as usize
}

/// 80 MB of random integers.
fn integers(criterion: &mut Criterion) {
    let mut random = SplitMix64::new(42);
    let mut keys: Vec<u64> = (0..10_000_000).map(|_| random.next_u64() >> 1).collect();
    keys.sort_unstable();
    let bounded = |boundary: u64| {
        let model = model(boundary, |builder| builder.push_numbers(&keys).unwrap());
        let window = |_, key: &u64| model(&key.to_be_bytes(), *key);
        Probes::new(format!("u64/{boundary}"), &keys, window)
    };
    // Windows of a model without a guarantee that is mostly accurate.
    let wide = |rank: usize, key: &u64| {
        let error = SplitMix64::new(*key).normal() * 32.0;
        let middle = (rank as f64 + error).max(0.0) as u64;
        let (lo, hi) = (middle.saturating_sub(1 << 19), middle + (1 << 19));
        let hi = hi.min(keys.len() as u64);
        Window { lo, hi }
    };
    let wide = || Probes::new("u64/wide".into(), &keys, wide);
    let sets = [18, 34, 130, 258, 1024].map(bounded);
    for probes in sets.into_iter().chain([wide()]) {
        probes.time(criterion, "partition_point", |key, window| {
            let window = as_range(window);
            window.start + keys[window].partition_point(|other| other < key)
        });
        probes.time(criterion, "lower_bound_u64", |key, window| {
            lower_bound_u64(&keys, window, *key)
        });
    }
}

/// Two million decimal keys of 24 bytes, each in an allocation of its own.
fn texts(criterion: &mut Criterion) {
    let mut random = SplitMix64::new(42);
    let key = |_| format!("{:024}", random.next_u64()).into_bytes();
    let mut keys: Vec<Vec<u8>> = (0..2_000_000).map(key).collect();
    keys.sort_unstable();
    // Allocated in sorted order too, as keys read from a table are.
    let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.to_vec()).collect();
    let map: KeyMap = keys.iter().collect();
    for boundary in [18, 34, 130, 258] {
        let model = model(boundary, |builder| {
            for key in &keys {
                builder.push(key, map.number(key)).unwrap();
            }
        });
        let window = |_, key: &Vec<u8>| model(key, map.number(key));
        let probes = Probes::new(format!("bytes/{boundary}"), &keys, window);
        probes.time(criterion, "partition_point", |key, window| {
            let window = as_range(window);
            window.start + keys[window].partition_point(|other| other < key)
        });
        probes.time(criterion, "lower_bound_bytes", |key, window| {
            lower_bound_bytes(&keys, window, key)
        });
    }
}

criterion_group! {
    name = last_mile;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = integers, texts
}
criterion_main!(last_mile);
