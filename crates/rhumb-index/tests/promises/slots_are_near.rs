//! Kinds that answer with slots find the block of each key; the slots that they answer are those that were expected when the
//! block was closed, and where the kind bounds their error, blocks that it admits keep the bound.

use rhumb_index::check::{SplitMix64, distributions, map_of};
use rhumb_index::{IndexError, IndexSpec, Position, Probe, registry};

/// Cuts keys with these numbers into blocks of at most `most` keys that the kind admits; returns the byte form and, for each key,
/// its block, its slot, and the slot that was expected.
fn cut(
    spec: &IndexSpec,
    numbers: &[u64],
    most: usize,
) -> Result<(Vec<u8>, Vec<[u64; 3]>), IndexError> {
    let mut builder = registry::builder(spec).unwrap();
    let (mut rest, mut keys, mut block) = (numbers, Vec::new(), 0);
    while !rest.is_empty() {
        let (most, _) = rest.split_at(most.min(rest.len()));
        let (own, behind) = rest.split_at(builder.admits(most));
        assert!(!own.is_empty());
        if block > 0 {
            builder.cut(&[], &[]);
        }
        builder.push_numbers(own)?;
        let mut slots = Vec::new();
        builder.expected_slots(&mut slots);
        assert_eq!(slots.len(), own.len());
        keys.extend(
            (0..)
                .zip(slots)
                .map(|(slot, expected)| [block, slot, expected]),
        );
        (rest, block) = (behind, block + 1);
    }
    Ok((builder.finish()?, keys))
}

#[test]
fn slots_are_those_expected_and_within_the_error() {
    let mut random = SplitMix64::new(7);
    let mut wide = [0; 2];
    for distribution in distributions::all() {
        let keys = distribution.keys(&mut random, 20_000);
        let map = map_of(&keys);
        let mut numbers: Vec<u64> = keys.iter().map(|key| map.number(key)).collect();
        numbers.dedup();
        for (text, bound) in [("pla:error=4", 4), ("pla:error=64", 64), ("pra", u64::MAX)] {
            let spec: IndexSpec = text.parse().unwrap();
            let most = [10, 150, 1_000][random.below(3) as usize];
            let (bytes, expected) = cut(&spec, &numbers, most).unwrap();
            let index = registry::open(bytes).unwrap();
            for (number, [block, slot, expected]) in numbers.iter().zip(expected) {
                let probe = Probe {
                    key: &[],
                    number: *number,
                };
                let found = index.locate(probe);
                let expected_position = Position::Slot {
                    block,
                    slot: expected,
                };
                let name = distribution.name;
                assert_eq!(found, expected_position, "{spec} {name} {most}");
                let error = expected.abs_diff(slot);
                assert!(error <= bound, "{spec} {name} {most}: {slot} {expected}");
                wide[usize::from(bound > 64)] += u64::from(error > 2);
            }
        }
    }
    println!("{wide:?} slots are off by more than two");
    assert!(wide.iter().all(|count| *count > 1_000));
}

#[test]
fn keys_of_two_blocks_with_one_number_are_unfit() {
    for text in ["pla", "pra"] {
        let mut builder = registry::builder(&text.parse().unwrap()).unwrap();
        builder.trust_order();
        for (n, key) in ["a", "b", "c"].into_iter().enumerate() {
            if n == 2 {
                builder.cut(b"b", b"c");
            }
            builder.push(key.as_bytes(), 5).unwrap();
        }
        assert!(builder.is_unfit());
        assert!(matches!(builder.finish(), Err(IndexError::Unfit { .. })));
    }
}

/// Where the error ends a block, keys that share a number stay together.
#[test]
fn keys_with_one_number_are_not_parted() {
    let mut random = SplitMix64::new(11);
    let mut numbers: Vec<u64> = (0..5_000).map(|_| random.next_u64()).collect();
    let again: Vec<u64> = (0..1_000).map(|i| numbers[i * 5]).collect();
    numbers.extend(again);
    numbers.sort_unstable();
    let mut builder = registry::builder(&"pla:error=1".parse().unwrap()).unwrap();
    builder.trust_order();
    let (mut at, mut blocks) = (0, 0);
    while at < numbers.len() {
        let admitted = builder.admits(&numbers[at..]);
        if blocks > 0 {
            builder.cut(&[], &[]);
        }
        let own = &numbers[at..at + admitted];
        own.iter()
            .for_each(|number| builder.push(&[], *number).unwrap());
        (at, blocks) = (at + admitted, blocks + 1);
    }
    assert!(!builder.is_unfit() && blocks > 500, "{blocks} blocks");
}

/// The line of many keys that begin with a far one may be thousands of slots off its last key.
#[test]
fn slots_of_large_blocks_are_as_near_as_the_line() {
    let mut builder = registry::builder(&"pra".parse().unwrap()).unwrap();
    let numbers: Vec<u64> = [0]
        .into_iter()
        .chain((0..20_000).map(|n| (1 << 60) + n))
        .collect();
    builder.push_numbers(&numbers).unwrap();
    let mut slots = Vec::new();
    builder.expected_slots(&mut slots);
    let errors = (0..)
        .zip(slots)
        .map(|(slot, expected): (u64, u64)| slot.abs_diff(expected));
    let mean = errors.sum::<u64>() / 20_001;
    // Half of the keys, since their numbers differ by nothing that the line can see.
    assert!(mean <= 5_100, "{mean}");
}

/// The versions of one key go on through whole blocks: its first entry is in the first of them.
#[test]
fn a_key_that_goes_on_is_found_where_it_begins() {
    for text in ["pla", "pra"] {
        let mut builder = registry::builder(&text.parse().unwrap()).unwrap();
        builder.push_numbers(&[1, 2]).unwrap();
        builder.cut(b"2", b"2");
        builder.cut(b"2", b"2");
        builder.push_numbers(&[7]).unwrap();
        let index = registry::open(builder.finish().unwrap()).unwrap();
        let block = |number| match index.locate(Probe { key: &[], number }) {
            Position::Slot { block, .. } => block,
            other => panic!("{other:?}"),
        };
        assert_eq!([1, 2, 3, 7, 8].map(block), [0, 0, 2, 2, 2], "{text}");
        assert_eq!(index.extent(), 3);
    }
}

#[test]
fn more_keys_in_a_block_than_blocks_have_are_refused_with_the_remedy() {
    for text in ["pla", "pra"] {
        let mut builder = registry::builder(&text.parse().unwrap()).unwrap();
        let numbers: Vec<u64> = (0..70_000).collect();
        builder.push_numbers(&numbers).unwrap();
        let why = builder.finish().unwrap_err().to_string();
        assert!(why.contains("70000 keys") && why.contains("`cut`"), "{why}");
    }
}
