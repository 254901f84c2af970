//! The time to build each kind and to look keys up, over integers and over text: `cargo bench -p
//! rhumb-index --bench kinds`, or with `-- <part of a name>` only some.
//!
//! For use when changing a kind; `rhumb-lab run indexes` compares kinds, out of cache and including
//! the search in windows.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a bench ends where its keys fail"
)]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use rhumb_index::check::{Case, SplitMix64, build, distributions, map_of};
use rhumb_index::{Index, IndexSpec, KeyMap, Probe, registry};

const KEYS: usize = 200_000;

/// Keys in a block of fence pointers.
const BLOCK: usize = 50;

/// Sorted keys with their maps.
fn sets() -> Vec<(&'static str, Vec<Vec<u8>>, KeyMap)> {
    let names = ["uniform", "clusters", "decimal-24"];
    let sets = names.map(|name| {
        let distribution = distributions::by_name(name).unwrap();
        let keys = distribution.keys(&mut SplitMix64::new(42), KEYS);
        let map = map_of(&keys);
        (name, keys, map)
    });
    sets.into()
}

fn case<'a>(keys: &'a [Vec<u8>], spec: &'a IndexSpec, map: &'a KeyMap) -> Case<'a> {
    Case {
        keys,
        spec,
        cut_every: BLOCK,
        map: Some(map),
        random: 0,
    }
}

/// Training, including numbering the keys and writing the bytes.
fn builds(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("build");
    for (set, keys, map) in sets() {
        group.throughput(Throughput::Elements(keys.len() as u64));
        for kind in registry::kinds() {
            let spec: IndexSpec = kind.name.parse().unwrap();
            // A build that ends in `Unfit` takes time too, and must not be mistaken for a model.
            let fit = match build(&case(&keys, &spec, &map), &map) {
                Ok(_) => "",
                Err(_) => " (unfit)",
            };
            group.bench_function(format!("{}/{set}{fit}", kind.name), |bench| {
                let run = || build(&case(&keys, &spec, &map), &map);
                bench.iter_batched(|| (), |()| run(), BatchSize::LargeInput);
            });
        }
    }
}

/// From a key's number to a window, or from a key to a block.
fn looks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("locate");
    for (set, keys, map) in sets() {
        let mut random = SplitMix64::new(7);
        let mut probes: Vec<(u64, &[u8])> = Vec::new();
        for _ in 0..keys.len() {
            let key = random.choose(&keys).unwrap();
            probes.push((map.number(key), key));
        }
        for kind in registry::kinds() {
            let spec: IndexSpec = kind.name.parse().unwrap();
            let Ok(bytes) = build(&case(&keys, &spec, &map), &map) else {
                continue;
            };
            let index: Box<dyn Index> = registry::open(bytes).unwrap();
            let mut round = probes.iter().cycle();
            group.bench_function(format!("{}/{set}", kind.name), |bench| {
                bench.iter(|| {
                    let &(number, key) = black_box(round.next().unwrap());
                    index.locate(Probe { key, number })
                });
            });
        }
    }
}

criterion_group! {
    name = kinds;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1));
    targets = builds, looks
}
criterion_main!(kinds);
