//! Damaged byte forms give errors or clamped answers: no panic, nothing outside the table.
//!
//! Replays from `RHUMB_SEED`; `RHUMB_DEEP` multiplies the models.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{from_env, specs};
use rhumb_index::check::{Case, SplitMix64, build, distributions, fuzz, map_of};
use rhumb_index::{KeyMap, registry};

const MODELS: u64 = 800_000;

/// Damages bytes in one way that storage media, bugs or attackers could.
fn damage(bytes: &mut Vec<u8>, random: &mut SplitMix64) {
    const VALUES: [u32; 8] = [
        0,
        1,
        0x7fc0_0000,
        0x7f80_0000,
        0xff80_0000,
        0xbf80_0000,
        u32::MAX,
        0x7fff_ffff,
    ];
    let at = random.below(bytes.len() as u64) as usize;
    match random.below(7) {
        0 => bytes.truncate(at),
        1 => bytes.push(random.next_u64() as u8),
        2 => bytes.swap(at, 0),
        3 => {
            let other = random.below(bytes.len() as u64) as usize;
            bytes.swap(at, other);
        }
        4 => bytes[at] ^= 1 << random.below(8),
        5 => bytes[at] = random.next_u64() as u8,
        // Values at word boundaries, as fields are; NaN, infinities and negative slopes are among
        // them.
        _ => {
            let value = random
                .choose(&VALUES)
                .copied()
                .unwrap_or_default()
                .to_le_bytes();
            bytes
                .iter_mut()
                .skip(at & !3)
                .zip(value)
                .for_each(|(byte, new)| *byte = new);
        }
    }
}

#[test]
fn hostile_models_stay_within_their_table() {
    let seed = from_env("RHUMB_SEED", 0x686f_7374);
    let models = MODELS * from_env("RHUMB_DEEP", 1);
    println!("replay with RHUMB_SEED={seed}");
    let mut random = SplitMix64::new(seed);
    let mut sound = Vec::new();
    for distribution in distributions::all() {
        let keys = distribution.keys(&mut random, 200);
        let map = map_of(&keys);
        for spec in specs(&[4, 64]) {
            let case = Case::new(&keys, &spec, 3);
            if let Ok(bytes) = build(&case, &map) {
                sound.push((bytes, keys.clone()));
            }
        }
    }
    let mut opened = 0;
    for _ in 0..models {
        let (bytes, keys) = random.clone().choose(&sound).unwrap();
        random.next_u64();
        let mut bytes = bytes.clone();
        for _ in 0..=random.below(4) {
            if !bytes.is_empty() {
                damage(&mut bytes, &mut random);
            }
        }
        if let Ok(index) = registry::open(bytes) {
            opened += 1;
            for _ in 0..6 {
                let key = random.choose(keys).cloned().unwrap_or_default();
                let number = random.next_u64() >> random.below(64);
                fuzz::answers_within(&*index, &key, number);
            }
        }
    }
    println!("{models} hostile models, {opened} of them opened, seed {seed}");
    assert!(
        opened > models / 20,
        "the damage must reach beyond the first check"
    );
}

#[test]
fn hostile_key_maps_stay_monotone() {
    let seed = from_env("RHUMB_SEED", 0x6d61_7073);
    let maps = MODELS / 4 * from_env("RHUMB_DEEP", 1);
    println!("replay with RHUMB_SEED={seed}");
    let mut random = SplitMix64::new(seed);
    let sound: Vec<_> = distributions::all()
        .map(|distribution| {
            let keys = distribution.keys(&mut random, 60);
            (map_of(&keys).to_bytes(), keys)
        })
        .collect();
    let mut opened = 0;
    for _ in 0..maps {
        let (bytes, keys) = random.clone().choose(&sound).unwrap();
        random.next_u64();
        let mut bytes = bytes.clone();
        for _ in 0..=random.below(2) {
            if !bytes.is_empty() {
                damage(&mut bytes, &mut random);
            }
        }
        if let Ok(map) = KeyMap::from_bytes(&bytes) {
            opened += 1;
            let numbers = keys.iter().step_by(4).map(|key| map.number(key));
            assert!(numbers.is_sorted(), "{map:?}");
            assert!(fuzz::key_map_bytes(&bytes));
        }
    }
    println!("{maps} hostile key maps, {opened} of them opened, seed {seed}");
    assert!(opened > maps / 20);
}

#[test]
fn fuzz_bodies_hold_over_seeded_bytes() {
    let seed = from_env("RHUMB_SEED", 0x6675_7a7a);
    let rounds = 2_000 * from_env("RHUMB_DEEP", 1);
    println!("replay with RHUMB_SEED={seed}");
    let mut random = SplitMix64::new(seed);
    let (mut indexes, mut maps, mut served) = (0, 0, 0);
    for round in 0..rounds {
        let names: Vec<_> = distributions::all().collect();
        let keys = random.choose(&names).unwrap().keys(&mut random.clone(), 60);
        random.next_u64();
        let spec = random.choose(&specs(&[4, 64])).unwrap().clone();
        let case = Case::new(&keys, &spec, 3);
        let map = map_of(&keys);
        let (mut index, mut map) = (build(&case, &map).unwrap_or_default(), map.to_bytes());
        let mut text = [random.bytes(4, 256), keys.concat()].concat();
        for bytes in [&mut index, &mut map, &mut text] {
            if round % 4 > 0 && !bytes.is_empty() {
                damage(bytes, &mut random);
            }
        }
        indexes += u64::from(fuzz::index_bytes(&index));
        maps += u64::from(fuzz::key_map_bytes(&map));
        served += u64::from(fuzz::keys(&text));
        fuzz::key_map_keys(&text);
    }
    println!(
        "{rounds} rounds: {indexes} indexes, {maps} maps opened, {served} served, seed {seed}"
    );
    assert!(indexes > rounds / 4 && maps > rounds / 4 && served > rounds / 4);
}

#[test]
fn damaged_forms_of_each_kind_stay_within_their_table() {
    let seed = from_env("RHUMB_SEED", 0x6b69_6e64);
    let rounds = 3_000 * from_env("RHUMB_DEEP", 1);
    println!("replay with RHUMB_SEED={seed}");
    for kind in registry::kinds() {
        let mut random = SplitMix64::new(seed);
        let mut opened = 0;
        for round in 0..rounds {
            // Four bytes choose keys and knobs; then come edits of four.
            let edits = random.below(5) as usize;
            let mut bytes = random.bytes(4 + 4 * edits, 256);
            if round % 2 == 0 {
                // Near the front, where lengths and roots are.
                let places = bytes.iter_mut().skip(4).enumerate();
                let places = places.filter(|(i, _)| matches!(i % 4, 1 | 2));
                places.for_each(|(i, byte)| *byte &= if i % 4 == 2 { 0xc0 } else { 0 });
            }
            opened += u64::from(fuzz::kind_bytes(kind.name, &bytes));
        }
        println!("{}: {opened} of {rounds} opened, seed {seed}", kind.name);
        assert!(opened > rounds / 10, "{}: {opened} of {rounds}", kind.name);
    }
    assert!(!fuzz::kind_bytes("no such kind", &[]));
}
