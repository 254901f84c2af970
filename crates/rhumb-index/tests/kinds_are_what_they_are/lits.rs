//! `lits`: models where they cost less than tries, leaves of up to 16 keys, models with one slot
//! for each key, tries of up to 64 children.

use std::collections::BTreeSet;

use rhumb_index::check::{Case, SplitMix64, build, distributions, map_of};

use crate::{count, number};

/// How many nodes of each type a form has.
#[derive(Debug, Default, PartialEq)]
struct Nodes {
    models: usize,
    tries: usize,
    leaves: usize,
    /// Slots of all models.
    slots: usize,
    most_children: usize,
    fullest_leaf: u8,
}

fn nodes(spec: &str, keys: &[Vec<u8>]) -> Nodes {
    let spec = spec.parse().unwrap();
    let bytes = build(&Case::new(keys, &spec, 16), &map_of(&[b""])).unwrap();
    let known: u32 = bytes[10..42].iter().map(|byte| byte.count_ones()).sum();
    let root = 42 + ((2 * (known as usize + 1)) << bytes[9]) + 4;
    let (mut all, mut seen, mut open) = (Nodes::default(), BTreeSet::new(), vec![root]);
    while let Some(at) = open.pop() {
        // Neighbouring slots may refer to the same leaf.
        if !seen.insert(at) {
            continue;
        }
        let sort = bytes[at];
        if sort < 254 {
            all.leaves += 1;
            all.fullest_leaf = all.fullest_leaf.max(sort);
            continue;
        }
        let (shared, children) = (count(&bytes, at + 9), count(&bytes, at + 13));
        let list = at + 17 + shared + if sort == 255 { 24 } else { 0 };
        if sort == 255 {
            all.models += 1;
            all.slots += children;
        } else {
            all.tries += 1;
            all.most_children = all.most_children.max(children);
        }
        let child = |i| root + number::<4>(&bytes, list + 4 * i) as usize;
        open.extend((0..children).map(child));
    }
    all
}

fn keys(name: &str, count: usize) -> Vec<Vec<u8>> {
    let distribution = distributions::by_name(name).unwrap();
    distribution.keys(&mut SplitMix64::new(5), count)
}

/// Models are chosen for evenly spread keys, tries where a model would leave many keys to further
/// nodes. Models would be possible there too, as `choice=model` shows.
#[test]
fn the_cheaper_of_model_and_trie_is_taken() {
    for name in ["uuid", "decimal-unpadded", "uniform"] {
        let keys = keys(name, 20_000);
        let chosen = nodes("lits", &keys);
        assert_eq!(chosen, nodes("lits:choice=model", &keys), "{name}");
        // One slot for each key.
        assert_eq!((chosen.models, chosen.slots), (1, keys.len()), "{name}");
    }
    for (name, models) in [("words", 205), ("paths", 400), ("urls", 416)] {
        let keys = keys(name, 20_000);
        let chosen = nodes("lits", &keys);
        assert_eq!(chosen, nodes("lits:choice=trie", &keys), "{name}");
        assert_eq!(nodes("lits:choice=model", &keys).models, models, "{name}");
    }
}

/// A model is not chosen if it reads too many bytes, even if it would separate the keys.
#[test]
fn bytes_read_by_models_cost() {
    let keys = keys("prefixes-of-each-other", 2_000);
    let all = nodes("lits:choice=model", &keys);
    assert_eq!((all.models, all.tries), (1, 0));
    assert_eq!(nodes("lits", &keys).models, 0);
}

/// Exact counts for a seed. A bulk load fills leaves to eleven keys, or with all keys of one slot.
#[test]
fn leaves_have_up_to_16_keys_and_tries_up_to_64_children() {
    let (words, paths) = (keys("words", 20_000), keys("paths", 20_000));
    let of = |nodes: Nodes| {
        [
            nodes.tries,
            nodes.leaves,
            nodes.most_children,
            nodes.fullest_leaf.into(),
        ]
    };
    assert_eq!(of(nodes("lits", &words)), [31, 862, 36, 15]);
    assert_eq!(of(nodes("lits", &paths)), [42, 1_692, 58, 15]);
    assert_eq!(of(nodes("lits:choice=model", &words)), [3, 1_128, 2, 16]);
}
