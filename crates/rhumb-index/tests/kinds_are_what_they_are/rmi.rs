//! `rmi`: two layers, as many leaves as the boundary needs, and lines fitted more closely where
//! this saves leaves.

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

/// Exact counts for a seed. Lines of least squares alone, without a closer fit where windows exceed
/// the boundary, would need 2,304, 104 and 9 leaves.
#[test]
fn uniform_keys_take_known_numbers_of_leaves() {
    let numbers = keys::uniform(100_000);
    let shapes = [16, 64, 256].map(|boundary| shape(&format!("rmi:boundary={boundary}"), &numbers));
    assert_eq!(shapes, [(1_792, false), (96, false), (7, false)]);
}
