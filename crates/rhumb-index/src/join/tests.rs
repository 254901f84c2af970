#![allow(clippy::unwrap_used)]

use super::*;
use crate::check::{Own, check_own, distributions};
use crate::random::SplitMix64;
use crate::{KeyMap, Probe, registry};

const SEED: u64 = 20;

/// Tables of random sizes over ascending keys: the model of each, and the number of its last key.
fn tables(
    keys: &[Vec<u8>],
    map: &KeyMap,
    spec: &str,
    random: &mut SplitMix64,
) -> Vec<(Box<dyn Index>, u64)> {
    let mut tables = Vec::new();
    let mut rest = keys;
    while !rest.is_empty() {
        let mut count = 1 + random.below(keys.len() as u64 / 3 + 1) as usize;
        // Keys that share a number stay in one table.
        let number = |i: usize| rest.get(i).map(|key| map.number(key));
        while count < rest.len() && number(count) == number(count - 1) {
            count += 1;
        }
        let (own, others) = rest.split_at(count.min(rest.len()));
        let mut builder = registry::builder(&spec.parse().unwrap()).unwrap();
        for key in own {
            builder.push(key, map.number(key)).unwrap();
        }
        let last = map.number(own.last().unwrap());
        tables.push((registry::open(builder.finish().unwrap()).unwrap(), last));
        rest = others;
    }
    tables
}

fn joined(tables: &[(Box<dyn Index>, u64)], boundary: u64) -> Result<Box<dyn Index>, IndexError> {
    let parts: Vec<_> = tables
        .iter()
        .map(|(index, last_number)| Joined {
            index: &**index,
            last_number: *last_number,
        })
        .collect();
    registry::open(join(&parts, boundary)?)
}

#[test]
fn joined_models_keep_the_promise_of_their_boundary() {
    let mut random = SplitMix64::new(SEED);
    let (mut checked, mut fewer) = (0, 0);
    for set in distributions::all() {
        let keys = set.keys(&mut random, 3_000);
        let map = crate::check::map_of(&keys);
        for spec in ["plr", "fiting-tree", "pgm", "radix-spline", "plex"] {
            for own in [4, 16, 128] {
                let spec = format!("{spec}:boundary={own}");
                let mut builder = registry::builder(&spec.parse().unwrap()).unwrap();
                keys.iter().for_each(|key| {
                    let _ = builder.push(key, map.number(key));
                });
                if builder.finish().is_err() {
                    continue;
                }
                let tables = tables(&keys, &map, &spec, &mut random);
                let old: usize = tables.iter().map(|(index, _)| index.bands().len()).sum();
                for boundary in [own, 64, 1024] {
                    let context = format!("{}: {spec} to {boundary}, seed {SEED}", set.name);
                    let index =
                        joined(&tables, boundary).unwrap_or_else(|e| panic!("{context}: {e}"));
                    let widest = boundary.max(own);
                    // The slope of a spline that stands alone is rounded, which may cost a rank on either side.
                    let rounding =
                        2 * u64::from(spec.starts_with("radix") || spec.starts_with("plex"));
                    assert!(index.widest_window() <= widest + rounding, "{context}");
                    let new = index.bands().len();
                    assert!(new <= old, "{context}: {new} pieces of {old}");
                    fewer += usize::from(new < old);
                    let own = Own {
                        name: &context,
                        keys: &keys,
                        cut_every: 1,
                        widest: index.widest_window(),
                        random: 300,
                    };
                    check_own(&own, SEED, |key| {
                        let number = map.number(key);
                        index.locate(Probe { key, number })
                    })
                    .unwrap();
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 300 && fewer > 150, "{fewer} smaller of {checked}");
}

/// What a level saves: at a bound that is four times as loose, most pieces go.
#[test]
fn a_looser_bound_takes_few_pieces() {
    let mut random = SplitMix64::new(SEED);
    let mut number = 0;
    let keys: Vec<Vec<u8>> = (0..200_000)
        .map(|_| {
            number += 1 + random.below(1 << 30);
            number.to_be_bytes().to_vec()
        })
        .collect();
    let map = crate::check::map_of(&keys);
    let tables = tables(&keys, &map, "pgm:boundary=16", &mut random);
    let pieces = |index: &dyn Index| index.bands().len();
    let old: usize = tables.iter().map(|(index, _)| pieces(&**index)).sum();
    let [same, looser] = [16, 64].map(|boundary| pieces(&*joined(&tables, boundary).unwrap()));
    let mut builder = registry::builder(&"pgm:boundary=64".parse().unwrap()).unwrap();
    keys.iter()
        .for_each(|key| builder.push(key, map.number(key)).unwrap());
    let trained = pieces(&*registry::open(builder.finish().unwrap()).unwrap());
    assert!(same <= old && 6 * looser < old, "{old}, {same}, {looser}");
    assert!(looser < 2 * trained, "{looser} joined, {trained} trained");
}

#[test]
fn what_cannot_be_joined_is_refused() {
    let model = |spec: &str, from: u64| {
        let mut builder = registry::builder(&spec.parse().unwrap()).unwrap();
        for number in from..from + 100 {
            builder.push(&number.to_be_bytes(), number).unwrap();
        }
        registry::open(builder.finish().unwrap()).unwrap()
    };
    for (name, tables) in [
        (
            "no pieces",
            [(model("alex", 0), 99), (model("plr", 100), 199)],
        ),
        ("fences", [(model("fp", 0), 99), (model("plr", 100), 199)]),
        (
            "not in order",
            [(model("plr", 100), 199), (model("plr", 0), 99)],
        ),
        (
            "over each other",
            [(model("plr", 0), 100), (model("plr", 100), 199)],
        ),
        (
            "an end before the start",
            [(model("plr", 200), 100), (model("plr", 300), 399)],
        ),
    ] {
        let refused = joined(&tables, 64).err();
        assert!(
            matches!(refused, Some(IndexError::Unfit { .. })),
            "{name}: {refused:?}"
        );
    }
    let nothing = joined(&[], 64).unwrap();
    assert_eq!(nothing.extent(), 0);
}

/// Models from damaged files may predict nonsense, within their ranks.
#[test]
fn damaged_models_are_joined_or_refused() {
    let mut random = SplitMix64::new(SEED);
    let numbers: Vec<u64> = (0..2_000u64).map(|i| i * i * 1_000).collect();
    let mut sound = 0;
    for spec in ["plr", "pgm", "plex"] {
        let mut builder = registry::builder(&spec.parse().unwrap()).unwrap();
        builder.push_numbers(&numbers).unwrap();
        let form = builder.finish().unwrap();
        let mut builder = registry::builder(&spec.parse().unwrap()).unwrap();
        let behind: Vec<u64> = (2_000..3_000u64).map(|i| i * i * 1_000).collect();
        builder.push_numbers(&behind).unwrap();
        let next = builder.finish().unwrap();
        for _ in 0..3_000 {
            let mut form = form.clone();
            let at = random.below(form.len() as u64) as usize;
            form[at] ^= 1 << random.below(8);
            let Ok(index) = registry::open(form) else {
                continue;
            };
            let last = *numbers.last().unwrap();
            let tables = [
                (index, last),
                (registry::open(next.clone()).unwrap(), u64::MAX),
            ];
            for boundary in [4, 64, 1024] {
                if let Ok(level) = joined(&tables, boundary) {
                    let window = level.window(random.below(last));
                    assert!(window.hi <= level.extent());
                    sound += 1;
                }
            }
        }
    }
    assert!(sound > 1_000, "{sound}");
}
