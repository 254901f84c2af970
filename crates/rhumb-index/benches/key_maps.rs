//! The time to number a key, by the kind of key and the method of the map: `cargo bench -p
//! rhumb-index --bench key_maps`, or with `-- <part of a name>` only some.
//!
//! Every iteration numbers another key. Memory sizes are printed first.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a bench ends where its keys fail"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use rhumb_index::KeyMap;
use rhumb_index::check::{SplitMix64, distributions, map_of};

/// Few enough for the first caches, too many for a branch predictor to learn.
const KEYS: usize = 10_000;

/// Named sets of keys, each in random order.
fn sets() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let mut random = SplitMix64::new(42);
    let mut make = |key: fn(u64) -> Vec<u8>| (0..KEYS).map(|_| key(random.next_u64())).collect();
    let mut sets: Vec<(_, Vec<Vec<u8>>)> = vec![
        ("decimal-24", make(|x| format!("{x:024}").into())),
        ("user-20", make(|x| format!("user{x:020}").into())),
        ("integer-8", make(|x| x.to_be_bytes().into())),
    ];
    for name in [
        "decimal-unpadded",
        "uuid",
        "hex-16",
        "base64",
        "random-16",
        "paths",
    ] {
        let mut keys = distributions::by_name(name)
            .unwrap()
            .keys(&mut random, KEYS);
        for last in (1..keys.len()).rev() {
            keys.swap(last, random.below(last as u64 + 1) as usize);
        }
        // Copied, so that they are in memory in the order of use.
        sets.push((name, keys.iter().map(|key| key.to_vec()).collect()));
    }
    sets
}

fn time(keys: &[Vec<u8>], count: u64, number: impl Fn(&[u8]) -> u64) -> Duration {
    let start = Instant::now();
    for key in keys.iter().cycle().take(count as usize) {
        black_box(number(black_box(key)));
    }
    start.elapsed()
}

fn key_maps(criterion: &mut Criterion) {
    for (name, keys) in sets() {
        let map = map_of(&keys);
        println!(
            "{name}: {} B in memory, {} B stored",
            map.size_in_bytes(),
            map.to_bytes().len()
        );
        let mut group = criterion.benchmark_group(name);
        let mut bench = |way, number: fn(&KeyMap, &[u8]) -> u64| {
            group.bench_function(way, |bench| {
                bench.iter_custom(|count| time(&keys, count, |key| number(&map, key)));
            });
        };
        bench("number", KeyMap::number);
        bench("portable", KeyMap::number_portable);
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(40)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1));
    targets = key_maps
}
criterion_main!(benches);
