//! With a position boundary, fence pointers give the keys between two fences, wherever blocks are cut.

use rhumb_index::check::{Case, SplitMix64, build, check, distributions, map_of};
use rhumb_index::{IndexError, IndexSpec, Position, Probe, Window, registry};

const KINDS: [&str; 2] = ["fp", "fp-raw"];

fn keys(name: &str, count: usize) -> Vec<Vec<u8>> {
    let keys = distributions::by_name(name).unwrap();
    keys.keys(&mut SplitMix64::new(7), count)
}

fn spec(kind: &str, boundary: u64) -> IndexSpec {
    format!("{kind}:boundary={boundary}").parse().unwrap()
}

fn bytes_of(keys: &[Vec<u8>], spec: &IndexSpec, cut_every: usize) -> Vec<u8> {
    let case = Case {
        keys,
        spec,
        cut_every,
        map: None,
        random: 0,
    };
    build(&case, &map_of(keys)).unwrap()
}

#[test]
fn every_key_is_between_its_fences() {
    for kind in KINDS {
        for name in [
            "paths",
            "uniform",
            "prefixes-of-each-other",
            "uuid",
            "one",
            "none",
        ] {
            for (boundary, count) in [
                (1, 300),
                (2, 1_000),
                (16, 1_000),
                (16, 1_024),
                (1_024, 3_000),
            ] {
                let keys = keys(name, count);
                let spec = spec(kind, boundary);
                assert_eq!(spec.promised_window(), Some(boundary));
                for cut_every in [1, 7, 5_000] {
                    let case = Case {
                        keys: &keys,
                        spec: &spec,
                        cut_every,
                        map: None,
                        random: 300,
                    };
                    let counts = check(&case, 3).unwrap();
                    let widest = boundary.min(keys.len() as u64);
                    assert_eq!(counts.widest, widest, "{spec} {name} {count}");
                }
            }
        }
    }
}

#[test]
fn cuts_make_no_difference_and_neither_do_bulk_pushes() {
    let keys = keys("uniform", 2_000);
    for kind in KINDS {
        let spec = spec(kind, 50);
        let bytes = bytes_of(&keys, &spec, 3);
        assert_eq!(bytes, bytes_of(&keys, &spec, 1_000));
        let mut builder = registry::builder(&spec).unwrap();
        let numbers = keys
            .iter()
            .map(|key| u64::from_be_bytes(key[..].try_into().unwrap()));
        let numbers: Vec<u64> = numbers.collect();
        let (first, rest) = numbers.split_at(777);
        builder.push_numbers(first).unwrap();
        builder.push_numbers(rest).unwrap();
        assert_eq!(bytes, builder.finish().unwrap());

        let index = registry::open(bytes).unwrap();
        assert_eq!((index.extent(), index.widest_window()), (2_000, 50));
        let located = index.locate(Probe {
            key: &keys[149],
            number: 0,
        });
        assert_eq!(located, Position::Window(Window { lo: 100, hi: 150 }));
    }
}

/// Without a boundary the bytes are as before, so that earlier builds read them.
#[test]
fn only_a_boundary_needs_the_new_version() {
    let keys = keys("uniform", 500);
    for kind in KINDS {
        let without = bytes_of(&keys, &kind.parse().unwrap(), 50);
        assert_eq!(without[1], 2);
        assert_eq!(without, bytes_of(&keys, &spec(kind, 0), 50));
        let with = bytes_of(&keys, &spec(kind, 50), 50);
        assert_eq!(with[1], 3);
        let mut later = with.clone();
        later[1] = 4;
        let refused = registry::open(later).unwrap_err();
        assert!(matches!(refused, IndexError::Version { .. }), "{refused}");
        // No boundary, another boundary, more keys.
        for (at, byte) in [(4, 0), (4, 49), (10, 1)] {
            let mut damaged = with.clone();
            damaged[at] = byte;
            let refused = registry::open(damaged).unwrap_err();
            assert!(matches!(refused, IndexError::Damaged { .. }), "{refused}");
        }
    }
}
