//! A list of operations under 32 option sets: what a reader sees is the same under all of them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is test code"
)]

mod kit_model;

use kit_model::choices::Choices;
use kit_model::generate::Generator;
use kit_model::operation::{Op, Outcome};
use kit_model::runs::cases;
use kit_model::session::Session;
use kit_model::settings::{COMPRESSIONS, INDEXES, PARTITIONS, SHAPES, choose, describe};
use kit_model::shrink::{Failure, check};
use rhumb::Options;

/// The number of option sets for each list: the default one, and others in which index, partition,
/// compression and shape take turns while the rest is chosen.
const OPTION_SETS: usize = 32;

/// The n-th choice in turn; the seed determines the first one.
fn in_turn<T: Copy>(choices: &[T], n: usize, seed: u64) -> T {
    let count = choices.len();
    choices[(n + (seed % count as u64) as usize) % count]
}

fn option_sets(seed: u64) -> Vec<Options> {
    let mut choices = Choices::seeded(seed ^ 0x5e75);
    let mut sets = vec![Options::in_memory()];
    while sets.len() < OPTION_SETS {
        let n = sets.len();
        let mut options = choose(&mut choices, &INDEXES, &Options::in_memory());
        options.file_system = Options::in_memory().file_system;
        // Over many lists, each index kind meets each partition, compression and shape.
        options.index = INDEXES[n % INDEXES.len()].parse().unwrap();
        options.table.partition = in_turn(&PARTITIONS, n, seed);
        options.table.compression = in_turn(COMPRESSIONS, n, seed);
        options.levels.compaction = in_turn(&SHAPES, n, seed);
        sets.push(options);
    }
    sets
}

fn outcomes(options: &Options, ops: &[Op]) -> Vec<Outcome> {
    let file_system = Options::in_memory().file_system;
    let options = Options {
        file_system,
        ..options.clone()
    };
    let mut session = Session::new(options).unwrap();
    ops.iter().map(|op| session.run(op)).collect()
}

/// Runs the list under every option set and compares the outcomes with those of the first set.
fn all_agree(sets: &[Options], ops: &[Op]) -> Result<(), Failure> {
    let expected = outcomes(&sets[0], ops);
    for (n, options) in sets.iter().enumerate().skip(1) {
        let found = outcomes(options, ops);
        if let Some(i) = (0..ops.len()).find(|&i| found[i] != expected[i]) {
            let why = format!(
                "under option set {n} ({}): {:?}\n found    {:?}\n expected {:?}",
                describe(options),
                ops[i],
                found[i],
                expected[i]
            );
            return Err(Failure { after: i + 1, why });
        }
    }
    Ok(())
}

#[test]
fn two_hundred_lists_give_the_same_under_every_option_set() {
    cases("metamorphic, each under 32 option sets", 200, |seed| {
        let mut choices = Choices::seeded(seed);
        let length = choices.pick(&[40, 100, 200]);
        let ops = Generator::new(&mut choices).list(length);
        let sets = option_sets(seed);
        check(&ops, &|ops| all_agree(&sets, ops))
    });
}
