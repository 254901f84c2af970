//! `fp` and `fp-raw`: one string for each block except the first, either the shortest separator
//! (`fp`) or the whole key (`fp-raw`).

use rhumb_index::check::{Case, build, map_of};

use crate::count;

fn fences(spec: &str, keys: &[Vec<u8>]) -> Vec<u8> {
    build(&Case::new(keys, &spec.parse().unwrap(), 1), &map_of(keys)).unwrap()
}

fn words() -> Vec<Vec<u8>> {
    let words = ["apple", "apricot", "band", "bandit", "bank", "zoo"];
    words.map(|word| word.as_bytes().to_vec()).to_vec()
}

#[test]
fn separators_are_as_short_as_they_can_be_and_front_coded() {
    // apr, b, bandi, bank, z: for each, the shared length, the length of the rest and the rest; the
    // first has no shared length.
    let groups = b"\x03apr\x00\x01b\x01\x04andi\x03\x01k\x00\x01z";
    let bytes = fences("fp", &words());
    let lengths = [4, 8, 12].map(|at| count(&bytes, at));
    assert_eq!(lengths, [5, 0, groups.len()]);
    assert_eq!(&bytes[20..], groups);
}

#[test]
fn raw_separators_are_whole_keys() {
    let bytes = fences("fp-raw", &words());
    assert!(bytes.ends_with(b"apricotbandbanditbankzoo"));
}

/// Each group of 64 starts with a whole separator, except for the prefix that all separators share.
#[test]
fn a_group_has_64_separators() {
    for (blocks, groups) in [(65, 1), (66, 2), (129, 2), (130, 3)] {
        let keys: Vec<Vec<u8>> = (0..blocks).map(|i| format!("key{i:04}").into()).collect();
        let bytes = fences("fp", &keys);
        let [separators, shared, length] = [4, 8, 12].map(|at| count(&bytes, at));
        assert_eq!(separators, blocks - 1);
        assert_eq!(bytes.len(), 16 + shared + 4 * groups + length, "{blocks}");
    }
}
