//! The cost of sorted sets compared with their parts: `cargo bench -p rhumb-index --bench sorted`,
//! or with `-- <part of a name>` only some.
//!
//! `parts` is an index, a key map and a search combined by hand over separate keys in the same
//! order in memory; `set` is the same look-up in a [`SortedSet`]; `many` looks up a thousand keys
//! at once. A time is that of a thousand look-ups of random present keys.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a bench ends where its index cannot be built"
)]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use rhumb_index::check::{SplitMix64, distributions};
use rhumb_index::search::{lower_bound_bytes, lower_bound_u64};
use rhumb_index::{Index, IndexSpec, KeyMap, Position, Probe, SortedSet, Window, registry};

/// Look-ups that are timed together.
const BATCH: usize = 1_000;
const PROBES: usize = 1_000_000;

/// Random present keys.
fn probes<K: Copy>(keys: &[K]) -> Vec<K> {
    let mut random = SplitMix64::new(7);
    (0..PROBES).map(|_| *random.choose(keys).unwrap()).collect()
}

/// Times a method of looking up a batch.
fn time<K: Copy>(
    criterion: &mut Criterion,
    name: &str,
    way: &str,
    probes: &[K],
    look: impl Fn(&[K]) -> usize,
) {
    let mut batches = probes.chunks(BATCH).cycle();
    let mut group = criterion.benchmark_group(name);
    group.bench_function(BenchmarkId::from_parameter(way), |bench| {
        bench.iter(|| look(black_box(batches.next().unwrap())));
    });
}

/// The sum of all answers, so that the compiler cannot remove any.
fn sum(found: impl Iterator<Item = Option<usize>>) -> usize {
    found.fold(0, |sum, position| sum.wrapping_add(position.unwrap_or(1)))
}

fn numbers(criterion: &mut Criterion) {
    for count in [100_000, 10_000_000] {
        let mut random = SplitMix64::new(1);
        let mut keys: Vec<u64> = (0..count).map(|_| random.next_u64()).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut builder = registry::builder(&"pgm:boundary=34".parse().unwrap()).unwrap();
        builder.push_numbers(&keys).unwrap();
        let index = registry::open(builder.finish().unwrap()).unwrap();
        let set = SortedSet::<u64>::from_sorted(&keys).unwrap();
        let probes = probes(&keys);
        let name = format!("u64/{count}");
        let by_parts = |key: u64| {
            let rank = lower_bound_u64(&keys, index.window(key), key);
            (keys.get(rank) == Some(&key)).then_some(rank)
        };
        time(criterion, &name, "parts", &probes, |some| {
            sum(some.iter().map(|key| by_parts(*key)))
        });
        time(criterion, &name, "set", &probes, |some| {
            sum(some.iter().map(|key| set.position(key)))
        });
        time(criterion, &name, "many", &probes, |some| {
            sum(set.positions(some).into_iter())
        });
        time(criterion, &name, "binary search", &probes, |some| {
            sum(some.iter().map(|key| keys.binary_search(key).ok()))
        });
    }
}

/// Keys in a block of fence pointers, as in sorted sets.
const BLOCK: usize = 16;

/// An index, and the key map that it needs, combined by hand over concatenated strings.
struct Parts<'a> {
    keys: Vec<&'a [u8]>,
    map: Option<KeyMap>,
    index: Box<dyn Index>,
}

impl<'a> Parts<'a> {
    fn new(keys: Vec<&'a [u8]>, spec: &IndexSpec) -> Self {
        let map: Option<KeyMap> = spec.kind().needs_number.then(|| keys.iter().collect());
        let mut builder = registry::builder(spec).unwrap();
        for (at, key) in keys.iter().enumerate() {
            let number = map.as_ref().map_or(0, |map| map.number(key));
            if at > 0 && at % BLOCK == 0 {
                builder.cut(keys[at - 1], key);
            }
            builder.push(key, number).unwrap();
        }
        let index = registry::open(builder.finish().unwrap()).unwrap();
        Parts { keys, map, index }
    }

    fn position(&self, key: &[u8]) -> Option<usize> {
        let number = self.map.as_ref().map_or(0, |map| map.number(key));
        let window = match self.index.locate(Probe { key, number }) {
            Position::Window(window) => window,
            Position::Block(block) | Position::Slot { block, .. } => Window {
                lo: block * BLOCK as u64,
                hi: (block + 1) * BLOCK as u64,
            },
        };
        let rank = lower_bound_bytes(&self.keys, window, key);
        (self.keys.get(rank) == Some(&key)).then_some(rank)
    }
}

fn strings(criterion: &mut Criterion) {
    for (name, count, spec) in [
        ("decimal-24", 100_000, "pgm:boundary=34"),
        ("uuid", 1_000_000, "pgm:boundary=34"),
        ("paths", 300_000, "fp"),
    ] {
        let distribution = distributions::by_name(name).unwrap();
        let keys = distribution.keys(&mut SplitMix64::new(1), count);
        let bytes = keys.concat();
        let mut rest = bytes.as_slice();
        let slices = keys.iter().map(|key| rest.split_off(..key.len()).unwrap());
        let slices: Vec<&[u8]> = slices.collect();
        let set = SortedSet::<[u8]>::from_sorted(slices.iter().copied()).unwrap();
        let spec: IndexSpec = spec.parse().unwrap();
        assert_eq!(set.index().kind(), spec.kind().name);
        let parts = Parts::new(slices, &spec);
        // Copies in the order of the look-ups: a probe that lies in the keys of one way would fetch
        // the key that this way is about to read.
        let chosen = probes(&parts.keys);
        let copies = chosen.concat();
        let mut rest = copies.as_slice();
        let probes = chosen
            .iter()
            .map(|key| rest.split_off(..key.len()).unwrap());
        let probes: Vec<&[u8]> = probes.collect();
        let name = format!("{name}/{count}");
        time(criterion, &name, "parts", &probes, |some| {
            sum(some.iter().map(|key| parts.position(key)))
        });
        time(criterion, &name, "set", &probes, |some| {
            sum(some.iter().map(|key| set.position(key)))
        });
        time(criterion, &name, "many", &probes, |some| {
            sum(set.positions(some).into_iter())
        });
        time(criterion, &name, "binary search", &probes, |some| {
            sum(some.iter().map(|key| parts.keys.binary_search(key).ok()))
        });
    }
}

criterion_group! {
    name = sorted;
    config = Criterion::default()
        .sample_size(30)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2));
    targets = numbers, strings
}
criterion_main!(sorted);
