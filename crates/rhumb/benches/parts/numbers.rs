//! Keys become numbers, and numbers windows.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion};
use rhumb_index::{KeyMap, KeyMapBuilder, Probe, registry};

use super::keys::{Round, Shape, shuffled};

fn map_of(keys: &[Vec<u8>]) -> KeyMap {
    let mut builder = KeyMapBuilder::new();
    for key in keys {
        builder.push(key);
    }
    builder.build()
}

/// The map of 8-byte integers is the identity, that of decimal keys mixed radix.
pub fn key_maps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("key_map");
    for shape in [Shape::Uniform, Shape::Decimal, Shape::Paths] {
        let keys = shape.keys();
        let map = map_of(&keys);
        let probes = shuffled(&keys);
        let mut probes = Round::new(&probes);
        let name = format!("{}/{shape:?}", map.kind());
        group.bench_function(name, |bench| {
            bench.iter(|| map.number(black_box(probes.next())));
        });
    }
}

/// Where to look for a key: a window of a model, a block of fence pointers.
pub fn indexes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("index");
    const ENTRIES_A_BLOCK: usize = 50;
    for shape in [Shape::Uniform, Shape::Decimal] {
        let keys = shape.keys();
        let map = map_of(&keys);
        for spec in ["plr:boundary=16", "fp"] {
            let mut builder = registry::builder(&spec.parse().unwrap()).unwrap();
            for (rank, key) in keys.iter().enumerate() {
                if rank > 0 && rank % ENTRIES_A_BLOCK == 0 {
                    builder.cut(&keys[rank - 1], key);
                }
                builder.push(key, map.number(key)).unwrap();
            }
            let index = registry::open(builder.finish().unwrap()).unwrap();
            let probes = shuffled(&keys);
            let numbers: Vec<(u64, &Vec<u8>)> =
                probes.iter().map(|key| (map.number(key), key)).collect();
            let mut probes = Round::new(&numbers);
            group.bench_function(BenchmarkId::new(spec, format!("{shape:?}")), |bench| {
                bench.iter(|| {
                    let &(number, key) = black_box(probes.next());
                    index.locate(Probe { key, number })
                });
            });
        }
    }
}
