//! The store answers as sorted maps do, whatever operations are run on it, in any order.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is test code"
)]

mod kit_model;

use std::sync::Mutex;

use kit_model::choices::Choices;
use kit_model::generate::{Generator, KEYSPACES};
use kit_model::model::Model;
use kit_model::operation::{Cover, Op, Scan, Walk};
use kit_model::runs::{cases, number, scaled};
use kit_model::session::{Session, Worked};
use kit_model::settings::{COMPRESSIONS, PARTITIONS, SHAPES, choose, describe};
use kit_model::shrink::{Failure, check};
use rhumb::Options;

const INDEXES: [&str; 2] = ["fp", "plr:boundary=16"];

/// Settings that take turns of index, partition, compression and shape; the rest is chosen.
fn settings(seed: u64, base: &Options) -> Options {
    let mut options = choose(&mut Choices::seeded(seed), &INDEXES, base);
    options.index = INDEXES[(seed % 2) as usize].parse().unwrap();
    options.table.partition = PARTITIONS[(seed / 2 % 4) as usize];
    options.table.compression = COMPRESSIONS[(seed / 8) as usize % COMPRESSIONS.len()];
    options.levels.compaction = SHAPES[(seed / 3) as usize % SHAPES.len()];
    options
}

/// Scans of every keyspace, in both directions, and its options, before and after the store is reopened.
fn everything() -> Vec<Op> {
    let scan = |keyspace, walk| {
        Op::Scan(Scan {
            keyspace,
            snapshot: None,
            cover: Cover::All,
            walk,
            between: (0, Vec::new()),
        })
    };
    let all = |n| {
        [
            scan(n, Walk::Forward),
            scan(n, Walk::Backward),
            Op::Options(n),
        ]
    };
    let mut ops: Vec<Op> = (0..KEYSPACES).flat_map(all).collect();
    ops.push(Op::Reopen(0));
    ops.extend((0..KEYSPACES).map(Op::Options));
    ops
}

fn run(options: &Options, ops: &[Op], total: &Mutex<Worked>) -> Result<(), Failure> {
    let options = Options {
        file_system: Options::in_memory().file_system,
        ..options.clone()
    };
    let mut session = Session::with_reopen(options, Box::new(settings)).unwrap();
    let mut model = Model::new();
    let mut same = |after, op: &Op| {
        let (found, expected) = (session.run(op), model.run(op));
        if found == expected {
            return Ok(());
        }
        let why = format!("{op:?}\n found    {found:?}\n expected {expected:?}");
        Err(Failure { after, why })
    };
    for (i, op) in ops.iter().enumerate() {
        same(i + 1, op)?;
    }
    for op in everything() {
        same(ops.len(), &op)?;
    }
    total.lock().unwrap().add(session.worked());
    Ok(())
}

#[test]
fn four_thousand_histories_answer_as_sorted_maps_do() {
    let total = Mutex::new(Worked::default());
    cases("model check", 4_000, |seed| {
        let mut choices = Choices::seeded(seed);
        let options = settings(seed, &Options::in_memory());
        let length = choices.pick(&[20, 60, 120, 250]);
        let ops = Generator::new(&mut choices).list(length);
        check(&ops, &|ops| run(&options, ops, &total))
            .map_err(|wrong| format!("{}\n{wrong}", describe(&options)))
    });
    let total = total.into_inner().unwrap();
    println!("{total:?}");
    // Histories that stay in the write buffer prove little, but a single replayed one may.
    let alone = number("RHUMB_SEED").is_some();
    assert!(
        alone
            || total
                .flushes
                .min(total.compactions)
                .min(total.trivial_moves + total.direct_placements)
                > scaled(4_000)
    );
}
