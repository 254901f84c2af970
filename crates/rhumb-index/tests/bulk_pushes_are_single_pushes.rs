//! Integers give the same index whether pushed many at once or one by one, also after other keys
//! and around closed segments; and keys whose order is trusted give it by their numbers alone.
//!
//! Replays from `RHUMB_SEED`; `RHUMB_DEEP` multiplies the builds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{from_env, specs};
use rhumb_index::check::SplitMix64;
use rhumb_index::registry::Answers;
use rhumb_index::{IndexBuilder, IndexSpec, Position, Probe, registry};

/// A step in building an index; both ways of pushing take the same steps.
#[derive(Debug, Clone)]
enum Step {
    /// A key of 7 bytes; the integer that ends in 0x00 has the same number.
    Short(u64),
    /// Integers of 8 bytes.
    Integers(Vec<u64>),
    /// Closes the open segment, unless that would end the table.
    Close,
}

fn close(builder: &mut dyn IndexBuilder) {
    if !builder.closes_once() {
        builder.close_segment();
    }
}

fn steps(random: &mut SplitMix64) -> Vec<Step> {
    let mut next = random.below(1000) << 8;
    let gaps = [1, 3, 500, 1 << 30];
    (0..1 + random.below(12))
        .flat_map(|_| {
            let gap = *random.choose(&gaps).unwrap();
            let mut steps = Vec::new();
            if random.below(5) == 0 {
                steps.push(Step::Close);
            }
            if random.below(2) == 0 {
                next = ((next >> 8) + 1) << 8;
                steps.push(Step::Short(next));
            } else {
                next += 1;
            }
            let integers = (0..random.below(40)).map(|_| {
                let integer = next;
                next += 1 + random.below(gap);
                integer
            });
            steps.push(Step::Integers(integers.collect()));
            steps
        })
        .collect()
}

/// The same with numbers alone.
fn run_trusted(spec: &IndexSpec, steps: &[Step]) -> Option<Vec<u8>> {
    let mut builder = registry::builder(spec).unwrap();
    builder.trust_order();
    for step in steps {
        match step {
            Step::Short(number) => builder.push_numbers(&[*number]).unwrap(),
            Step::Integers(integers) => builder.push_numbers(integers).unwrap(),
            Step::Close => close(&mut *builder),
        }
    }
    builder.finish().ok()
}

fn run(spec: &IndexSpec, steps: &[Step], at_once: bool) -> Option<Vec<u8>> {
    let mut builder: Box<dyn IndexBuilder> = registry::builder(spec).unwrap();
    for step in steps {
        match step {
            Step::Short(number) => builder.push(&number.to_be_bytes()[..7], *number).unwrap(),
            Step::Integers(integers) if at_once => builder.push_numbers(integers).unwrap(),
            Step::Integers(integers) => integers
                .iter()
                .for_each(|n| builder.push(&n.to_be_bytes(), *n).unwrap()),
            Step::Close => close(&mut *builder),
        }
    }
    builder.finish().ok()
}

/// The numbers of all keys, by rank.
fn numbers(steps: &[Step]) -> Vec<u64> {
    let numbers = steps.iter().flat_map(|step| match step {
        Step::Short(number) => vec![*number],
        Step::Integers(integers) => integers.clone(),
        Step::Close => Vec::new(),
    });
    numbers.collect()
}

#[test]
fn both_ways_give_the_same_bytes_and_true_windows() {
    let seed = from_env("RHUMB_SEED", 0x6275_6c6b);
    let builds = 2_000 * from_env("RHUMB_DEEP", 1);
    println!("replay with RHUMB_SEED={seed}");
    let mut random = SplitMix64::new(seed);
    let specs = specs(&[4, 16, 200]);
    let mut served = 0;
    for build in 0..builds {
        let steps = steps(&mut random);
        let spec = random.choose(&specs).unwrap();
        let bytes = run(spec, &steps, true);
        assert_eq!(bytes, run(spec, &steps, false), "{build}: {spec} {steps:?}");
        let Some(bytes) = bytes.filter(|_| spec.kind().needs_number) else {
            continue;
        };
        let trusted = run_trusted(spec, &steps);
        assert_eq!(trusted.as_ref(), Some(&bytes), "{build}: {spec} {steps:?}");
        served += 1;
        let index = registry::open(bytes).unwrap();
        for (rank, &number) in (0..).zip(&numbers(&steps)) {
            let located = index.locate(Probe { key: &[], number });
            if let Position::Slot { block, slot } = located {
                // There were no cuts.
                assert!(block == 0 && slot < numbers(&steps).len() as u64, "{spec}");
                continue;
            }
            let window = index.window(number);
            let inside = window.lo <= rank && rank < window.hi;
            assert!(
                inside,
                "{build}: {spec} {number} {rank} {window:?} {steps:?}"
            );
            assert_eq!(located, Position::Window(window));
        }
    }
    println!("{builds} builds, {served} of them fit, seed {seed}");
    assert!(served > builds / 3);
}

#[test]
fn numbers_that_do_not_ascend_change_nothing() {
    for spec in specs(&[16]) {
        let mut builder = registry::builder(&spec).unwrap();
        builder.push_numbers(&[1, 2, 3]).unwrap();
        assert!(builder.push_numbers(&[5, 4]).is_err());
        assert!(builder.push_numbers(&[3, 9]).is_err());
        builder.push_numbers(&[6, 7]).unwrap();
        let index = registry::open(builder.finish().unwrap()).unwrap();
        let extent = match spec.answers() {
            Answers::Slots => 1,
            _ => 5,
        };
        assert!(index.extent() == extent || !index.needs_number(), "{spec}");
    }
}

#[test]
fn keys_that_need_not_be_seen_give_the_index_that_they_give_when_pushed() {
    let keys: Vec<Vec<u8>> = (0..300u32)
        .map(|i| format!("dir {}/{i:03}", i / 70).into())
        .collect();
    let mut unseen = Vec::new();
    // Those of `specs` have a position boundary.
    let at_cuts = ["fp", "fp-raw"].map(|kind| kind.parse().unwrap());
    for spec in specs(&[16]).into_iter().chain(at_cuts) {
        if registry::builder(&spec).unwrap().push_unseen(1) {
            panic!("{spec} takes keys unseen whose order nobody checks");
        }
        let build = |all_pushed: bool| {
            let mut builder = registry::builder(&spec).unwrap();
            builder.trust_order();
            let mut before: Option<&Vec<u8>> = None;
            let mut counted = 0;
            for block in keys.chunks(40) {
                if let Some(before) = before {
                    builder.cut(before, &block[0]);
                }
                before = block.last();
                if !all_pushed && builder.push_unseen(block.len() as u64) {
                    counted += block.len();
                    continue;
                }
                block.iter().for_each(|key| builder.push(key, 0).unwrap());
            }
            (builder.finish().ok(), counted)
        };
        if spec.kind().needs_number {
            continue;
        }
        let (pushed, counted) = (build(true), build(false));
        assert_eq!(pushed.0, counted.0, "{spec}");
        assert!(pushed.1 == 0 && pushed.0.is_some(), "{spec}");
        if counted.1 == keys.len() {
            unseen.push(spec.to_string());
        }
    }
    println!("not seen: {unseen:?}");
    assert_eq!(unseen, ["rss", "rss:chunk=8", "fp", "fp-raw"]);
}
