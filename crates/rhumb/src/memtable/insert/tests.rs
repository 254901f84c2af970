//! The tree after every insertion: its blocks, level by level, against the entries that were inserted.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::super::head::head;
use super::super::tree::NONE;
use super::*;
use crate::entry::MAX_SEQUENCE;
use crate::test_seed::test_seed;

type Key<'a> = (&'a [u8], Reverse<Sequence>);

fn key_at(tree: &Tree, address: Address) -> Key<'_> {
    let record = tree.record(address);
    (record.key, Reverse(record.sequence))
}

/// The versions of an entry, newest first. Each names one as far back as its rank says.
fn versions(tree: &Tree, newest: Address) -> Vec<Address> {
    let versions: Vec<Address> = tree.versions(newest).collect();
    for (at, version) in versions.iter().enumerate() {
        let link = tree.record(*version).link(&tree.arena);
        assert_eq!(link.is_some(), at + 1 < versions.len());
        if let Some(link) = link {
            assert_eq!(link.jump, versions[at + (1 << link.rank) - 1]);
        }
    }
    versions
}

/// What a check of blocks has met.
#[derive(Default)]
struct Met<'a> {
    entries: Vec<Key<'a>>,
    leaves: Vec<u32>,
    /// For each leaf, the block that it says is behind it.
    links: Vec<u32>,
    /// How many entries of leaves there are, and slots for them.
    used: usize,
    slots: usize,
}

/// Checks a block between two separators and all below it.
fn check_block<'a>(
    tree: &'a Tree,
    (level, number): (usize, u32),
    (start, end): (Option<Key<'a>>, Option<Key<'a>>),
    met: &mut Met<'a>,
) {
    let view = tree.block(level, number).unwrap().view();
    let keys: Vec<Key<'_>> = (0..view.len())
        .map(|at| key_at(tree, view.record(at)))
        .collect();
    assert!(keys.is_sorted() && keys.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(start.is_none_or(|start| keys.iter().all(|key| *key >= start)));
    assert!(end.is_none_or(|end| keys.iter().all(|key| *key < end)));
    let prefix = tree.prefix.get().unwrap();
    let skip = view.block.skip();
    if skip > prefix.len() {
        let shared = common_prefix(start.unwrap().0, end.unwrap().0);
        assert!(skip <= shared, "{skip} {shared}");
    }
    for (at, (key, _)) in keys.iter().enumerate() {
        let right = match skip == prefix.len() {
            true => head(prefix, key),
            false => eight(key, skip),
        };
        assert_eq!(view.head(at), right);
    }
    let slots: BTreeSet<usize> = (0..view.len()).map(|at| view.slot(at)).collect();
    assert_eq!(slots.len(), view.len());
    if level == 0 {
        assert!(start.is_none_or(|start| keys.first() == Some(&start)));
        let newest = (0..view.len()).map(|at| view.record(at));
        let versions = newest.flat_map(|newest| versions(tree, newest));
        met.entries.extend(versions.map(|v| key_at(tree, v)));
        met.used += view.len();
        met.leaves.push(number);
        met.links.push(view.next);
        met.slots += SLOTS;
        return;
    }
    let inner = tree.inners.get(number).unwrap();
    let starts = std::iter::once(start).chain(keys.iter().map(|key| Some(*key)));
    let ends = keys.iter().map(|key| Some(*key)).chain([end]);
    for (at, (start, end)) in starts.zip(ends).enumerate() {
        let child = (level - 1, inner.child(&view, at));
        check_block(tree, child, (start, end), met);
    }
}

/// Checks all blocks; returns the share of the slots of leaves that is in use.
fn check(tree: &Tree, expected: &BTreeSet<(Vec<u8>, Reverse<Sequence>)>) -> f64 {
    let root = tree.root();
    let mut met = Met::default();
    check_block(tree, (root.level, root.number), (None, None), &mut met);
    let expected = expected.iter().map(|(key, sequence)| (&key[..], *sequence));
    assert!(met.entries.iter().copied().eq(expected));
    let next = met.leaves.iter().skip(1).copied().chain([NONE]);
    assert!(met.links.iter().copied().eq(next));
    assert_eq!(tree.sample(1).len(), met.used);
    assert_eq!(tree.writer().entries(), met.used as u64);
    met.used as f64 / met.slots as f64
}

fn insert(tree: &Tree, key: &[u8], sequence: Sequence) -> Inserted {
    tree.writer().insert(&NewEntry {
        key,
        sequence,
        kind: EntryKind::Put,
        value: b"",
    })
}

/// Versions in order of commits take one entry, and few steps lead to each of them.
#[test]
fn many_versions_of_a_key_take_one_entry() {
    const VERSIONS: Sequence = 100_000;
    let tree = Tree::new(Box::default());
    let keys = [&b"a"[..], b"b", b"c"];
    for sequence in 1..=VERSIONS {
        for key in keys {
            assert!(matches!(insert(&tree, key, sequence), Inserted::New(_)));
        }
    }
    assert_eq!(tree.writer().entries(), 3);
    let mut rng = StdRng::seed_from_u64(test_seed());
    for _ in 0..1000 {
        let (key, sequence) = (keys[rng.random_range(0..3)], rng.random_range(1..=VERSIONS));
        let target = tree.target(key, sequence).unwrap();
        let found = tree.find(&target).unwrap();
        assert_eq!(key_at(&tree, found.record), (key, Reverse(sequence)));
        let before = tree.before(found);
        let expected = match (key, sequence) {
            (b"a", VERSIONS) => None,
            (_, VERSIONS) => Some((keys[usize::from(key[0] - b'b')], Reverse(1))),
            _ => Some((key, Reverse(sequence + 1))),
        };
        assert_eq!(before.map(|spot| key_at(&tree, spot.record)), expected);
        let found_before = tree.find_before(&target);
        assert_eq!(
            found_before.map(|spot| key_at(&tree, spot.record)),
            expected
        );
    }
    let (mut version, mut steps) = (tree.first().unwrap().record, 0);
    while let Some(link) = tree.record(version).link(&tree.arena) {
        // To the oldest but one, then to the oldest.
        let is_above = tree.record(link.jump).sequence > 1;
        version = if is_above { link.jump } else { link.older };
        steps += 1;
    }
    assert!(steps <= 3 * VERSIONS.ilog2(), "{steps} steps");
}

/// Sorted keys fill leaves to the end, behind which newer versions of the next leaf's first key have to go.
#[test]
fn keys_that_are_written_in_order_again_and_again_take_few_entries() {
    const KEYS: u64 = 5000;
    let tree = Tree::new(Box::default());
    for sequence in 1..=20 {
        for key in 0..KEYS {
            insert(&tree, &key.to_be_bytes(), sequence);
        }
    }
    let entries = tree.writer().entries();
    assert!(entries < KEYS * 11 / 10, "{entries} entries");
}

/// Moves of every width, in either direction, among keys that share any number of bytes.
#[test]
fn blocks_are_right_after_every_insertion() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    for likely in [&b""[..], b"n/", b"other"] {
        for most in [3, 40, 4000] {
            let tree = Tree::new(likely.into());
            let mut at: i64 = 2000;
            let mut inserted: Vec<(Vec<u8>, Sequence)> = Vec::new();
            let mut expected = BTreeSet::new();
            for sequence in 1..=3000 {
                at = (at + rng.random_range(-most..=most)).clamp(0, 5000);
                let mut key = b"n".to_vec();
                for digit in [at / 625, at / 25 % 25, at % 25] {
                    key.extend_from_slice(b"/name");
                    // A zero byte at times, at the end of which only the length tells.
                    key.push((digit * 10) as u8);
                }
                key.truncate(key.len() - rng.random_range(0..3) * 2);
                let sequence = match rng.random_bool(0.8) {
                    true => sequence,
                    false => MAX_SEQUENCE - sequence,
                };
                // One that is there: of the last ones, which are near, or of all.
                let recent = match rng.random() {
                    true => inserted.len().saturating_sub(5),
                    false => 0,
                };
                if rng.random_bool(0.3) && !inserted.is_empty() {
                    let (key, sequence) = &inserted[rng.random_range(recent..inserted.len())];
                    assert_eq!(insert(&tree, key, *sequence), Inserted::Duplicate);
                }
                assert!(matches!(insert(&tree, &key, sequence), Inserted::New(_)));
                expected.insert((key.clone(), Reverse(sequence)));
                inserted.push((key, sequence));
                if inserted.len() < 100 || inserted.len().is_multiple_of(50) {
                    check(&tree, &expected);
                }
            }
        }
    }
}

/// Other leaves are two thirds full.
#[test]
fn leaves_that_are_filled_in_order_become_full() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    let fill = |keys: &mut dyn Iterator<Item = u64>| {
        let tree = Tree::new(Box::default());
        let mut expected = BTreeSet::new();
        for key in keys {
            let key = key.to_be_bytes();
            assert!(matches!(insert(&tree, &key, 1), Inserted::New(_)));
            expected.insert((key.to_vec(), Reverse(1)));
        }
        check(&tree, &expected)
    };
    assert!(fill(&mut (0..20_000)) > 0.99);
    assert!(fill(&mut (0..20_000).rev()) > 0.95);
    let runs = (0..4).flat_map(|run| (0..5000).map(move |n| (run * 7 % 4) << 32 | n));
    assert!(fill(&mut runs.into_iter()) > 0.98);
    assert!(fill(&mut (0..20_000).map(|_| rng.random())) > 0.62);
}
