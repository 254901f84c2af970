//! `rmi`: two layers, as many leaves as it takes, lines fitted closer where that saves leaves.

use crate::{count, form, keys, number};

/// How many leaves, and whether the root is a cubic.
fn shape(spec: &str, numbers: &[u64]) -> (usize, bool) {
    let bytes = form(spec, numbers);
    let curve = [32, 40, 48].map(|at| number::<8>(&bytes, at));
    (count(&bytes, 4), curve[1] != 0 || curve[2] != 0)
}

/// Squares of ranks fall where the root of the number does: no line spreads them.
fn square_roots(count: u64) -> Vec<u64> {
    let mut numbers: Vec<u64> = (0..count).map(|i| (i << 30).isqrt()).collect();
    numbers.dedup();
    numbers
}

#[test]
fn leaves_are_those_asked_for_and_the_root_is_the_one_that_spreads_keys_better() {
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

/// Exact counts for a seed. Lines of least squares alone, not fitted closer where windows exceed the boundary,
/// would need 2,304, 104 and 9.
#[test]
fn uniform_keys_take_so_many_leaves_to_keep_a_boundary() {
    let numbers = keys::uniform(100_000);
    let shapes = [16, 64, 256].map(|boundary| shape(&format!("rmi:boundary={boundary}"), &numbers));
    assert_eq!(shapes, [(1_792, false), (96, false), (7, false)]);
}
