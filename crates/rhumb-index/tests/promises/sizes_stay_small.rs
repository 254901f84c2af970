//! Sizes that the design relies on: segments of uniform keys, fence pointers of realistic paths.

use rhumb_index::check::{Case, SplitMix64, build, distributions, map_of};
use rhumb_index::{IndexSpec, registry};

/// Segments that `plr` needs for sorted numbers, at 20 bytes each beside 36 of header and end.
fn segments(numbers: &[u64], boundary: u64) -> usize {
    let spec: IndexSpec = format!("plr:boundary={boundary}").parse().unwrap();
    let mut builder = registry::builder(&spec).unwrap();
    builder.push_numbers(numbers).unwrap();
    let len = builder.finish().unwrap().len();
    assert_eq!((len - 36) % 20, 0);
    (len - 36) / 20
}

#[test]
fn uniform_keys_need_few_segments() {
    let mut random = SplitMix64::new(1);
    let count = std::env::var("RHUMB_KEYS").map_or(1_000_000, |n| n.parse().unwrap());
    let mut numbers: Vec<u64> = (0..count).map(|_| random.next_u64()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    // The bound is (boundary - 2) / 2; the published greedy algorithm needs 5,177, 1,408 and 97
    // segments a million keys for bounds of 8, 16 and 64.
    for (boundary, most) in [(18, 5177), (34, 1408), (130, 110)] {
        let found = segments(&numbers, boundary);
        println!(
            "{count} uniform keys, error bound {}: {found} segments",
            (boundary - 2) / 2
        );
        assert!(found * 1_000_000 <= most * count, "{found}");
    }
}

#[test]
fn fences_of_paths_take_a_fraction_of_a_byte_a_key() {
    // RHUMB_PATHS may name a file with one key a line, for measuring real keys.
    let keys: Vec<Vec<u8>> = match std::env::var("RHUMB_PATHS") {
        Ok(file) => {
            let text = std::fs::read(file).unwrap();
            let mut keys: Vec<_> = text.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
            keys.sort();
            keys.dedup();
            keys
        }
        Err(_) => rhumb_index::check::distributions::by_name("paths")
            .unwrap()
            .keys(&mut SplitMix64::new(2), 90_000),
    };
    for (kind, most) in [("fp", 0.2), ("fp-raw", 0.7)] {
        let spec = kind.parse().unwrap();
        // About 4 KiB of entries of 43 bytes, as measured on paths with small values.
        let case = Case::new(&keys, &spec, 95);
        let bytes = build(&case, &map_of(&keys)).unwrap().len();
        let per_key = bytes as f64 / keys.len() as f64;
        println!("{kind} over {} paths: {per_key:.3} bytes a key", keys.len());
        // Keys from a file are only measured, not judged.
        assert!(per_key < most || std::env::var("RHUMB_PATHS").is_ok());
    }
}

/// Segments of an index whose form begins with lines: their number follows the common header.
fn segments_of(spec: &str, keys: &[Vec<u8>]) -> Option<u32> {
    let spec: IndexSpec = spec.parse().unwrap();
    let case = Case {
        keys,
        spec: &spec,
        cut_every: 16,
        map: None,
        random: 0,
    };
    let bytes = build(&case, &map_of(keys)).ok()?;
    Some(u32::from_le_bytes(bytes[4..8].try_into().unwrap()))
}

#[test]
fn pgm_never_needs_more_segments_than_another_kind() {
    let mut compared = 0;
    for distribution in distributions::all() {
        let keys = distribution.keys(&mut SplitMix64::new(6), 8_000);
        for boundary in [4, 7, 18, 64, 500] {
            let of = |kind: &str| segments_of(&format!("{kind}:boundary={boundary}"), &keys);
            let Some(optimal) = of("pgm") else { continue };
            for kind in ["plr", "fiting-tree"] {
                let others = of(kind).expect("what pgm serves, others do");
                let name = distribution.name;
                assert!(
                    optimal <= others,
                    "{name} {boundary}: {optimal}, {kind} {others}"
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 400, "{compared}");
}
