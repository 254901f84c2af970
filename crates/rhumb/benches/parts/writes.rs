//! The write path: the memtable and the log.

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};
use rhumb::fs::OsFileSystem;
use rhumb::internals::{Log, WriteBuffer};

use super::keys::{Round, Shape, shuffled};

const VALUE: [u8; 64] = [7; 64];

/// A memtable with some keys, inserted so many at a time.
fn filled(keys: &[Vec<u8>], at_once: usize) -> WriteBuffer {
    let buffer = WriteBuffer::default();
    for (n, some) in keys.chunks(at_once).enumerate() {
        let first = (n * at_once) as u64 + 1;
        buffer.put_all(some, first, &VALUE).unwrap();
    }
    buffer
}

/// Inserts into a memtable that is empty at first, and gets from a full one.
pub fn write_buffer(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("memtable");
    for (shape, suffix) in [(Shape::Uniform, ""), (Shape::Paths, "_paths")] {
        let ascending = shape.keys();
        let random = shuffled(&ascending);
        let first = |keys: &[Vec<u8>]| keys[..20_000].to_vec();
        for (order, keys) in [("random", first(&random)), ("ascending", first(&ascending))] {
            group.throughput(Throughput::Elements(keys.len() as u64));
            let name = format!("{order}{suffix}");
            group.bench_function(BenchmarkId::new("insert", name), |bench| {
                bench.iter_with_large_drop(|| filled(black_box(&keys), 1));
            });
        }
        let name = format!("batches_of_random{suffix}");
        let keys = first(&random);
        group.bench_function(BenchmarkId::new("insert", name), |bench| {
            bench.iter_with_large_drop(|| filled(black_box(&keys), 1000));
        });
        group.throughput(Throughput::Elements(1));
        let buffer = filled(&random, 1000);
        let mut probes = Round::new(&random);
        group.bench_function(format!("get{suffix}"), |bench| {
            bench.iter(|| buffer.get(black_box(probes.next())));
        });
    }
}

/// Appends frames of 1 and of 100 pairs to a log, without syncing.
pub fn log(criterion: &mut Criterion) {
    const FRAMES: u64 = 100;
    let mut group = criterion.benchmark_group("log");
    let keys = Shape::Uniform.keys();
    for pairs in [1usize, 100] {
        let batch: Vec<(&[u8], &[u8])> = keys[..pairs]
            .iter()
            .map(|key| (&key[..], &VALUE[..]))
            .collect();
        let create = || {
            let directory = tempfile::tempdir().unwrap();
            let log = Log::create(&OsFileSystem::new(), directory.path(), &batch).unwrap();
            (directory, log)
        };
        group.throughput(Throughput::Elements(FRAMES));
        group.bench_function(BenchmarkId::new("append", pairs), |bench| {
            bench.iter_batched_ref(
                create,
                |(_, log)| (0..FRAMES).for_each(|_| log.append().unwrap()),
                BatchSize::PerIteration,
            );
        });
    }
}
