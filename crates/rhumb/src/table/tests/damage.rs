//! Damaged tables are refused: they cause no panic and no wrong answer.

use std::cmp::Reverse;

use rand::SeedableRng;

use super::*;
use crate::entry::{Cursor, MAX_SEQUENCE};

/// A table of at least 64 KiB with every section, and with compressed and uncompressed blocks.
fn sample(rng: &mut StdRng) -> (TestTable, Model) {
    let mut model = Model::new();
    for i in 0..750u64 {
        let value = match i % 3 {
            0 => vec![i as u8; 90],
            _ => random_bytes(rng, 120),
        };
        let key = format!("account/{:08}", i * 37).into_bytes();
        model.insert((key, Reverse(i + 10)), (EntryKind::Put, value));
    }
    let spec = "compression=lz4,partition=bytes(2048)";
    let test = test_table(spec, &model);
    assert!(
        test.summary.file_bytes > 64 << 10,
        "{} bytes",
        test.summary.file_bytes
    );
    (test, model)
}

/// A table of units.
fn sample_of_units(rng: &mut StdRng) -> (TestTable, Model) {
    let entry = |i: u64| {
        let place = (format!("account/{:08}", i * 37).into_bytes(), Reverse(i));
        (place, (EntryKind::Put, random_bytes(rng, 24)))
    };
    let model: Model = (0..600).map(entry).collect();
    let test = test_table("partition=entries(6)", &model);
    assert!(test.open(0).unwrap().directory.units().is_some());
    (test, model)
}

fn test_table(spec: &str, model: &Model) -> TestTable {
    let mut ranges = RangeDeletes::default();
    ranges.insert(b"account/00001", b"account/00002", 7);
    let settings = settings("plr:boundary=16", spec, model);
    TestTable::new(&settings, model, &ranges)
}

/// Whether opening or verifying finds the damage.
fn is_detected(test: &TestTable) -> bool {
    match test.open(0) {
        Ok(table) => table.verify(&mut |_, _| {}).is_err(),
        Err(_) => true,
    }
}

#[test]
fn every_flipped_byte_is_detected_and_answers_stay_right() {
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    let samples = [sample(&mut rng), sample_of_units(&mut rng)];
    for (test, model) in samples {
        flip_every_byte(&mut rng, seed, &test, &model);
    }
}

fn flip_every_byte(rng: &mut StdRng, seed: u64, test: &TestTable, model: &Model) {
    let good = test.bytes();
    let keys: Vec<_> = model.keys().map(|(key, _)| key.clone()).collect();
    assert!(!is_detected(test));
    let table = test.open(0).unwrap();
    let sections = test.summary.sections_offset as usize;
    let mut refused = 0;
    let mut bytes = good.clone();
    for at in 0..good.len() {
        bytes[at] ^= rng.random_range(1..=255u8);
        test.set_bytes(&bytes);
        bytes[at] = good[at];
        if at >= sections {
            assert!(test.open(0).is_err(), "byte {at}, seed {seed}");
            continue;
        }
        // A byte of a block: the open table reads the damaged file.
        let touched = keys.len() * at / sections;
        let near = touched.saturating_sub(12)..(touched + 12).min(keys.len());
        for key in &keys[near] {
            match get(&table, key, MAX_SEQUENCE) {
                Ok(answer) => assert_eq!(answer, expected(model, key, MAX_SEQUENCE)),
                Err(_) => refused += 1,
            }
        }
        if at % 97 == 0 {
            assert!(
                table.verify(&mut |_, _| {}).is_err(),
                "byte {at}, seed {seed}"
            );
        }
    }
    assert!(refused > sections, "gets met damage only {refused} times");
}

#[test]
fn a_flip_of_each_block_byte_is_found_in_that_block() {
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    let (test, _) = sample(&mut rng);
    let mut bytes = test.bytes();
    let table = test.open(0).unwrap();
    let mut source = crate::table::BlockSource::new(false);
    for number in 0..table.blocks() {
        let (offset, len) = table.directory.extent(number).unwrap();
        for at in offset as usize..offset as usize + len {
            bytes[at] ^= 1 << (at % 8);
            test.set_bytes(&bytes);
            assert!(table.read_block(number, &mut source).is_err(), "byte {at}");
            bytes[at] ^= 1 << (at % 8);
        }
    }
}

#[test]
fn every_truncation_is_refused() {
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    let (test, _) = sample(&mut rng);
    let good = test.bytes();
    for len in 0..good.len() {
        test.set_bytes(&good[..len]);
        assert!(test.open(0).is_err(), "{len} bytes");
        assert!(test.open_any().is_err(), "{len} bytes");
    }
    test.set_bytes(&good);
    assert!(test.open_any().is_ok());
}

#[test]
fn damage_stops_a_cursor_with_an_error() {
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    let (test, model) = sample(&mut rng);
    let mut bytes = test.bytes();
    let at = test.summary.sections_offset as usize / 2;
    bytes[at] ^= 1;
    test.set_bytes(&bytes);
    let table = test.open(1 << 20).unwrap();
    let mut cursor = table.cursor(true);
    cursor.seek_first().unwrap();
    let mut keys = model.keys();
    for (key, _) in keys.by_ref() {
        assert_eq!(cursor.key(), key);
        if cursor.next().is_err() {
            break;
        }
    }
    assert!(keys.next().is_some(), "the damage was not met");
    assert!(!cursor.valid());
}

#[test]
fn a_length_that_the_manifest_claims_costs_no_memory() {
    let (mut test, _) = sample(&mut StdRng::seed_from_u64(3));
    let there = test.summary.file_bytes;
    test.summary.file_bytes = 1 << 42;
    let refused = test.open(0).unwrap_err().to_string();
    let named = format!("found a file of {there} bytes");
    assert!(refused.contains(&named), "{refused}");
}
