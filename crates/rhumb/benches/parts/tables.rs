//! Stages of a get from one table, the search inside a block, and merges of several tables.

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};
use rhumb::internals::{self, HeldBlock, Stage};

use super::keys::{Round, Shape, shuffled};

/// A get that ends after each stage, over random keys of a table in memory: the cost of a stage is
/// the difference to the stage before it.
pub fn stages(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("get_until");
    let db = Shape::Uniform.store(1);
    let tables = internals::tables(&db).unwrap();
    let table = &tables[0];
    let probes = shuffled(&Shape::Uniform.keys());
    let of_a_table = |stage: &Stage| (Stage::Filter..=Stage::Pin).contains(stage);
    for stage in Stage::ALL.into_iter().filter(of_a_table) {
        let mut probes = Round::new(&probes);
        group.bench_function(format!("{stage:?}"), |bench| {
            bench.iter(|| table.get_until(stage, black_box(probes.next())).unwrap());
        });
    }
    let mut probes = Round::new(&probes);
    group.bench_function("Get", |bench| {
        bench.iter(|| internals::get_until(&db, Stage::Get, black_box(probes.next())).unwrap());
    });
}

/// The search for a key in its block, which is in the processor's cache.
pub fn searches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("block_search");
    for (name, shape) in [
        ("fixed", Shape::Uniform),
        ("fixed_long", Shape::Decimal),
        ("variable", Shape::Paths),
    ] {
        let db = shape.store(1);
        let tables = internals::tables(&db).unwrap();
        let keys = shape.keys();
        let hold = |key: &Vec<u8>| tables[0].hold_block(key).unwrap().unwrap().1;
        let blocks: Vec<HeldBlock> = keys.iter().step_by(keys.len() / 20).map(hold).collect();
        let keys_of = |block: &HeldBlock| (0..block.entries()).map(|s| block.key(s)).collect();
        let keys: Vec<Vec<Vec<u8>>> = blocks.iter().map(keys_of).collect();
        let mut probes: Vec<(&HeldBlock, &Vec<u8>)> = Vec::new();
        for turn in 0..1_000 {
            let at = turn % blocks.len();
            let slot = (turn * 7_919) % keys[at].len();
            probes.push((&blocks[at], &keys[at][slot]));
        }
        let mut probes = Round::new(&probes);
        group.bench_function(name, |bench| {
            bench.iter(|| {
                let (block, key) = black_box(probes.next());
                block.search(key)
            });
        });
    }
}

/// One step of a merge.
pub fn merges(criterion: &mut Criterion) {
    const STEPS: u64 = 10_000;
    let mut group = criterion.benchmark_group("merge");
    group.throughput(Throughput::Elements(STEPS));
    for tables in [1, 3] {
        let db = Shape::Uniform.store(tables);
        let begin = || {
            let mut merge = internals::merge(&db).unwrap();
            merge.first().unwrap();
            merge
        };
        let id = BenchmarkId::new("tables", tables);
        group.bench_function(id, |bench| {
            bench.iter_batched_ref(
                begin,
                |merge| {
                    for _ in 0..STEPS {
                        black_box(merge.step().unwrap());
                    }
                },
                BatchSize::PerIteration,
            );
        });
    }
}

/// One step of a scan, in both directions.
pub fn scans(criterion: &mut Criterion) {
    const STEPS: u64 = 10_000;
    let mut group = criterion.benchmark_group("scan");
    group.throughput(Throughput::Elements(STEPS));
    for tables in [1, 3] {
        let db = Shape::Uniform.store(tables);
        group.bench_function(BenchmarkId::new("forward", tables), |bench| {
            bench.iter_batched_ref(
                || db.iter().unwrap(),
                |iter| {
                    for _ in 0..STEPS {
                        iter.advance().unwrap();
                        black_box((iter.key(), iter.value()));
                    }
                },
                BatchSize::PerIteration,
            );
        });
        group.bench_function(BenchmarkId::new("blocks", tables), |bench| {
            bench.iter_batched_ref(
                || db.iter().unwrap(),
                |iter| {
                    let mut left = STEPS as usize;
                    while left > 0 {
                        let block = iter.next_block().unwrap().unwrap();
                        for entry in block.iter().take(left) {
                            black_box(entry);
                        }
                        left = left.saturating_sub(block.len());
                    }
                },
                BatchSize::PerIteration,
            );
        });
        group.bench_function(BenchmarkId::new("backward", tables), |bench| {
            bench.iter_batched_ref(
                || db.iter().unwrap().rev(),
                |iter| iter.take(STEPS as usize).for_each(|e| drop(black_box(e))),
                BatchSize::PerIteration,
            );
        });
    }
}
