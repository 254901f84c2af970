//! Tests of the parts together.

use super::form::Afli;
use super::lay::{Root, Trial, Use, line_for, root, trial};
use super::survey::Cost;
use crate::check::SplitMix64;
use crate::kinds::shared::exact::{Layout, Place};
use crate::{IndexSpec, registry};

/// Ascending distinct numbers with ranks from 0.
fn entries(mut numbers: Vec<u64>) -> Vec<(u64, u64)> {
    numbers.sort_unstable();
    numbers.dedup();
    numbers.into_iter().zip(0..).collect()
}

fn made(count: u64, mut number: impl FnMut(&mut SplitMix64) -> u64) -> Vec<(u64, u64)> {
    let mut random = SplitMix64::new(0x6e66_6c00);
    entries((0..count).map(|_| number(&mut random)).collect())
}

fn uniform() -> Vec<(u64, u64)> {
    made(100_000, |random| random.next_u64() >> 1)
}

fn lognormal() -> Vec<(u64, u64)> {
    made(100_000, |random| {
        ((2.0 * random.normal()).exp() * 1e9) as u64
    })
}

/// Values of 1 / p^2: a heavy tail.
fn heavy() -> Vec<(u64, u64)> {
    made(100_000, |random| (random.fraction().powi(-2) * 1e7) as u64)
}

/// Even numbers with a few outliers far above.
fn with_outliers() -> Vec<(u64, u64)> {
    let mut left = 21;
    made(100_000, |random| {
        left = (left - 1i32).max(0);
        random.next_u64() >> if left > 0 { 0 } else { 26 }
    })
}

fn clusters() -> Vec<(u64, u64)> {
    made(100_000, |random| {
        let centre = SplitMix64::new(random.below(1000)).next_u64() >> 4;
        centre + random.below(1 << 30)
    })
}

#[test]
fn a_flow_is_kept_only_where_it_pays() {
    for (name, entries, is_kept) in [
        ("uniform", uniform(), false),
        ("outliers", with_outliers(), false),
        ("clusters", clusters(), false),
        ("lognormal", lognormal(), true),
        ("heavy", heavy(), true),
    ] {
        let plain = line_for(&entries, entries.len(), 0);
        let trial = trial(&entries, &plain).unwrap();
        println!(
            "{name}: {:?} {:?} {:?}",
            trial.tails, plain.cost, trial.cost
        );
        assert_eq!(trial.pays(&plain.cost), is_kept, "{name}");
        let chosen = root(&entries, Use::Auto);
        assert_eq!(matches!(chosen, Root::Warped(_)), is_kept, "{name}");
        assert!(matches!(root(&entries, Use::Never), Root::Linear(_)));
        assert!(matches!(root(&entries, Use::Always), Root::Warped(_)));
    }
    // Too few numbers for training to be worth its time.
    let few: Vec<_> = lognormal().into_iter().step_by(50).collect();
    assert!(matches!(root(&few, Use::Auto), Root::Linear(_)));
}

/// A flow is used if it lowers the 99th percentile of conflicts by a tenth (the published rule) and
/// also saves more reads than it costs (our rule).
#[test]
fn a_flow_must_lower_the_tail_by_a_tenth_and_reads_by_its_cost() {
    let entries = lognormal();
    let plain = line_for(&entries, entries.len(), 0).cost;
    let trial = |tails, saved: f64| Trial {
        tails,
        cost: Cost {
            lines: plain.lines - saved,
            ..plain
        },
        ..trial(&entries, &line_for(&entries, entries.len(), 0)).unwrap()
    };
    assert!(trial([10, 9], 0.3).pays(&plain) && trial([1, 0], 0.3).pays(&plain));
    assert!(!trial([10, 10], 0.3).pays(&plain) && !trial([19, 18], 0.3).pays(&plain));
    assert!(!trial([0, 0], 0.3).pays(&plain));
    // Evaluating the flow costs as much as reading a quarter of a line.
    assert!(trial([10, 1], 0.26).pays(&plain) && !trial([10, 1], 0.24).pays(&plain));
}

/// Numbers that models find hard.
fn hard() -> Vec<(&'static str, Vec<(u64, u64)>)> {
    let powers = (0..64).flat_map(|i| [1u64 << i, (1 << i) - 1, (1 << i) | 1]);
    let doubling = (0..64u32).flat_map(|i| (0..200).map(move |j| (1u64 << i).saturating_add(j)));
    // Each half is a cluster at one scale and a far copy of it, down to neighbouring numbers.
    let mut nested = vec![0u64];
    for level in 0..13 {
        let far = 1u64 << (4 * level + 3);
        nested = nested.iter().flat_map(|x| [*x, x + far]).collect();
    }
    let around = |centre: u64| (0..3000u64).map(move |i| centre - 1500 + i);
    let ends = (0..3000).flat_map(|i| [i, u64::MAX - i]);
    let one_far = (0..10_000u64).map(|i| i * 3).chain([u64::MAX]);
    let one_below = (0..10_000u64).map(|i| u64::MAX - i).chain([0]);
    vec![
        ("powers", entries(powers.collect())),
        ("doubling", entries(doubling.collect())),
        ("nested", entries(nested)),
        ("2^53", entries(around(1 << 53).collect())),
        ("2^63", entries(around(1 << 63).collect())),
        ("ends", entries(ends.collect())),
        ("one far", entries(one_far.collect())),
        ("one below", entries(one_below.collect())),
        (
            "lognormal",
            lognormal()
                .into_iter()
                .step_by(20)
                .zip(0..)
                .map(|(e, i)| (e.0, i))
                .collect(),
        ),
    ]
}

fn lay(spec: &str, entries: &[(u64, u64)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Afli::lay(&registry::settings(spec), entries, &mut bytes).unwrap();
    bytes
}

#[test]
fn hard_numbers_are_found_in_little_room() {
    for (name, entries) in hard() {
        for spec in ["nfl", "nfl:flow=never", "nfl:flow=always"] {
            let bytes = lay(spec, &entries);
            let layout = Afli::open(&bytes, entries.len()).unwrap();
            for (i, (number, rank)) in entries.iter().enumerate() {
                assert_eq!(layout.find(&bytes, *number), Place::At(*rank), "{name}");
                let before = i.checked_sub(1).and_then(|i| entries.get(i));
                if *number > 0 && before.is_none_or(|before| before.0 + 1 < *number) {
                    let place = layout.find(&bytes, number - 1);
                    let below = before.map(|before| Place::After(before.1));
                    let is_right = place == Place::Before(*rank) || Some(place) == below;
                    assert!(is_right, "{name} {spec}: {place:?} below {number}");
                }
            }
            // The table of a flow takes up to 2 KiB.
            let room = 3000 + 100 * entries.len();
            assert!(bytes.len() < room, "{name} {spec}: {} bytes", bytes.len());
        }
    }
}

#[test]
fn equal_numbers_give_equal_bytes() {
    let (lognormal, uniform) = (lognormal(), uniform());
    for entries in [&lognormal, &uniform] {
        for spec in ["nfl", "nfl:flow=always"] {
            assert_eq!(lay(spec, entries), lay(spec, entries), "{spec}");
        }
    }
    assert_ne!(lay("nfl", &lognormal), lay("nfl:flow=never", &lognormal));
    assert_eq!(lay("nfl", &uniform), lay("nfl:flow=never", &uniform));
}

#[test]
fn forms_of_flows_refuse_damage() {
    let spec: IndexSpec = "nfl:flow=always".parse().unwrap();
    let mut builder = registry::builder(&spec).unwrap();
    let numbers: Vec<u64> = (0..1000).map(|i| i * i).collect();
    builder.push_numbers(&numbers).unwrap();
    let bytes = builder.finish().unwrap();
    // The model's tag, its shift, a reserved byte, the base; then bits a cell, and the first cell.
    let lines = u32::from_le_bytes(bytes[16..20].try_into().unwrap()) as usize;
    let flow = 48 + 64 * lines;
    for at in [24, 25, 26, 32, flow + 12, flow + 14, flow + 19] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x80;
        assert!(registry::open(damaged).is_err(), "{at}");
    }
    assert!(registry::open(bytes).is_ok());
}
