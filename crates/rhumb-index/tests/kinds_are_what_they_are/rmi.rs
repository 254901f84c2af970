//! `rmi`: two layers, as many leaves as the boundary needs for 99 % of the keys, and lines fitted
//! more closely where this saves leaves.

use rhumb_index::{IndexError, registry};

use crate::{count, form, keys, number};

/// How many leaves, and whether the root is a cubic.
fn shape(spec: &str, numbers: &[u64]) -> (usize, bool) {
    let bytes = form(spec, numbers);
    let curve = [32, 40, 48].map(|at| number::<8>(&bytes, at));
    (count(&bytes, 4), curve[1] != 0 || curve[2] != 0)
}

/// Square roots of multiples: the rank grows with the square of the number, so no line spreads them
/// evenly.
fn square_roots(count: u64) -> Vec<u64> {
    let mut numbers: Vec<u64> = (0..count).map(|i| (i << 30).isqrt()).collect();
    numbers.dedup();
    numbers
}

#[test]
fn the_given_leaves_are_used_and_the_root_spreads_keys_best() {
    let sets = [
        ("uniform", keys::uniform(100_000), false),
        ("square roots", square_roots(100_000), true),
    ];
    for (name, numbers, is_cubic) in sets {
        for leaves in [1, 100, 5000] {
            let of = |root: &str| shape(&format!("rmi:leaves={leaves}{root}"), &numbers);
            assert_eq!(of(",root=linear"), (leaves, false), "{name}");
            assert_eq!(of(",root=cubic"), (leaves, true), "{name}");
            assert_eq!(of(""), (leaves, is_cubic && leaves > 1), "{name}");
        }
    }
}

/// How many keys have a window of more than `boundary` ranks.
fn wide(spec: &str, numbers: &[u64], boundary: u64) -> usize {
    let index = registry::open(form(spec, numbers)).unwrap();
    let windows = numbers.iter().map(|number| index.window(*number));
    windows
        .filter(|window| window.hi - window.lo > boundary)
        .count()
}

/// The second layer grows until the windows of at most one key in a hundred exceed the boundary,
/// whatever the distribution and however many leaves this takes.
#[test]
fn windows_keep_the_boundary_for_99_percent_of_the_keys() {
    let names = [
        "uniform",
        "normal",
        "lognormal",
        "exponential",
        "bursts",
        "late-outliers",
        "timestamps",
        "squares",
    ];
    for name in names {
        let numbers = keys::of(name, 100_000);
        for boundary in [16, 64, 256] {
            let spec = format!("rmi:boundary={boundary}");
            let (wide, leaves) = (wide(&spec, &numbers, boundary), shape(&spec, &numbers).0);
            println!("{name} {boundary}: {wide} keys in wider windows, {leaves} leaves");
            assert!(wide * 100 <= numbers.len(), "{name} {boundary}: {wide}");
            // And it grows no further.
            let fewer = format!("rmi:leaves={}", leaves / 2);
            assert!(leaves < 2 || self::wide(&fewer, &numbers, boundary) * 100 > numbers.len());
        }
    }
}

/// Two layers cannot separate twenty clusters of which the widest is a million times as wide as the
/// narrowest.
#[test]
fn keys_are_unfit_if_one_leaf_for_each_does_not_suffice() {
    let numbers = keys::of("clusters", 20_000);
    let mut builder = registry::builder(&"rmi".parse().unwrap()).unwrap();
    builder.push_numbers(&numbers).unwrap();
    let unfit = builder.finish();
    assert!(matches!(unfit, Err(IndexError::Unfit { .. })), "{unfit:?}");
    let most = format!("rmi:leaves={}", numbers.len());
    assert!(wide(&most, &numbers, 16) * 100 > numbers.len());
}

/// Exact counts for a seed. Lines of least squares alone, without a closer fit where windows exceed
/// the boundary, would need 2,304, 104 and 9 leaves.
#[test]
fn uniform_keys_take_known_numbers_of_leaves() {
    let numbers = keys::uniform(100_000);
    let of = |aim: &str| {
        [16, 64, 256].map(|boundary| shape(&format!("rmi:boundary={boundary}{aim}"), &numbers))
    };
    assert_eq!(of(",within=100"), [(1_792, false), (96, false), (7, false)]);
    // For 99 % of the keys fewer do, if a leaf has far fewer keys than the other one in a hundred.
    assert_eq!(of(""), [(1_280, false), (96, false), (7, false)]);
}
