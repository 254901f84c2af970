//! Interleavings of a writer and a reader of the tree, whose blocks have four entries, and of its hash index: every one
//! with few preemptions.

use loom::thread;
use std::sync::Arc;

use super::hash_index::{Found, HashIndex, Known};
use super::insert::NewEntry;
use super::tree::{Spot, Tree};
use crate::entry::{EntryKind, MAX_SEQUENCE, Sequence};
use crate::memory::Address;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What all keys of a model begin with: nothing, or more bytes than a head has.
const PREFIXES: [&[u8]; 2] = [b"", b"shared-by-all/"];

type Entry = (Vec<u8>, Sequence);

/// What is in the tree before.
#[derive(Debug, Clone, Copy)]
enum Before {
    /// One leaf that has room.
    Few,
    /// One full leaf. It is split before `b`, and what is inserted before `b` gets a slot that `b` or its successor
    /// had.
    FullLeaf,
    /// Five full leaves below a full root.
    FullRoot,
    /// A root that has room above two blocks, the second of which is full, and nine full leaves.
    FullInner,
}

const LEAVES: [Before; 2] = [Before::Few, Before::FullLeaf];
const ALL: [Before; 3] = [Before::Few, Before::FullLeaf, Before::FullRoot];

impl Before {
    /// Keys that include `0` first, and `b` with no more than one behind it.
    fn keys(self) -> Vec<Vec<u8>> {
        let pairs = |n: u8| (0..n).map(|i| vec![b'0', b'0' + i]);
        let (first, last) = ([b"0".to_vec()], [b"b".to_vec(), b"bA".to_vec()]);
        match self {
            Before::Few => vec![b"0".to_vec(), b"b".to_vec()],
            Before::FullLeaf => first.into_iter().chain(pairs(1)).chain(last).collect(),
            Before::FullRoot => first.into_iter().chain(pairs(17)).chain(last).collect(),
            Before::FullInner => first.into_iter().chain(pairs(33)).chain(last).collect(),
        }
    }
}

fn key(prefix: &[u8], end: &[u8]) -> Vec<u8> {
    [prefix, end].concat()
}

/// Inserts keys whose values are the keys.
fn put_all(tree: &Tree, entries: &[Entry]) {
    let mut writer = tree.writer();
    for (key, sequence) in entries {
        writer.insert(&NewEntry {
            key,
            sequence: *sequence,
            kind: EntryKind::Put,
            value: key,
        });
    }
}

/// A tree with what is there before: `0` with sequence 0, and the others with 1.
fn tree(prefix: &[u8], before: Before) -> Arc<Tree> {
    let tree = Tree::new(Box::default());
    let keys = before.keys().into_iter().enumerate();
    let keys = keys.map(|(i, end)| (key(prefix, &end), Sequence::from(i > 0)));
    put_all(&tree, &keys.collect::<Vec<_>>());
    Arc::new(tree)
}

fn builder(preemptions: usize) -> loom::model::Builder {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 100_000;
    builder
}

/// Runs models in which one writer inserts keys into a tree. `0` is the
/// arena's first record, so an unfinished block would look like `0` to a reader.
fn model<const N: usize>(
    befores: &[Before],
    preemptions: usize,
    inserted: [(&'static [u8], Sequence); N],
    read: fn(&Tree, &[u8]),
) {
    for (before, prefix) in befores.iter().flat_map(|b| PREFIXES.map(|p| (*b, p))) {
        builder(preemptions).check(move || {
            let tree = tree(prefix, before);
            // Loom forgets that the reader loaded a state once the writer has loaded it as well, and
            // then does not try running the writer first. This flag, which orders nothing, makes
            // loom try that; loom then shows the reader every old value that it could load.
            let tried = Arc::new(AtomicBool::new(false));
            let writer = {
                let (tree, tried) = (Arc::clone(&tree), Arc::clone(&tried));
                thread::spawn(move || {
                    let keys = inserted.map(|(end, sequence)| (key(prefix, end), sequence));
                    put_all(&tree, &keys);
                    tried.store(true, Ordering::Relaxed);
                })
            };
            tried.load(Ordering::Relaxed);
            read(&tree, prefix);
            writer.join().unwrap();
            let entries = walk(&tree);
            assert_eq!(entries.len(), before.keys().len() + N);
            for (end, sequence) in inserted {
                assert!(entries.contains(&(key(prefix, end), sequence)));
            }
        });
    }
}

/// An entry, which must be complete.
fn entry(tree: &Tree, spot: Spot) -> Entry {
    let record = tree.record(spot.record);
    assert_eq!(&*record.value(tree.arena()), record.key);
    let len = record.key.len();
    assert_eq!(tree.arena().bytes(record.key_position(), len), record.key);
    (record.key.to_vec(), record.sequence)
}

/// All entries in order; checks that each is complete.
fn walk(tree: &Tree) -> Vec<Entry> {
    let spots = std::iter::successors(tree.first(), |spot| tree.after(*spot));
    let entries: Vec<Entry> = spots.map(|spot| entry(tree, spot)).collect();
    assert!(entries.is_sorted_by_key(|(key, sequence)| (key, u64::MAX - sequence)));
    entries
}

fn find(tree: &Tree, key: &[u8], sequence: Sequence) -> Option<Entry> {
    let found = tree.find(&tree.target(key, sequence).unwrap());
    found.map(|spot| entry(tree, spot))
}

fn find_before(tree: &Tree, key: &[u8], sequence: Sequence) -> Option<Entry> {
    let found = tree.find_before(&tree.target(key, sequence).unwrap());
    found.map(|spot| entry(tree, spot))
}

#[test]
fn loom_a_walk_meets_all_that_was_there_in_order() {
    model(&LEAVES, 2, [(b"a", 2), (b"c", 3)], |tree, prefix| {
        let entries = walk(tree);
        assert!(entries.contains(&(key(prefix, b"b"), 1)));
    });
}

#[test]
fn loom_a_walk_behind_older_versions_meets_all_keys_that_were_there() {
    let inserted = [(b"b" as &[u8], 2), (b"0", 3)];
    model(&LEAVES, 2, inserted, |tree, prefix| {
        let spots = std::iter::successors(tree.first(), |spot| tree.behind(*spot));
        let keys: Vec<_> = spots.map(|spot| entry(tree, spot).0).collect();
        assert!(keys.is_sorted());
        for end in [b"0" as &[u8], b"b"] {
            assert!(keys.contains(&key(prefix, end)), "{end:?}: {keys:?}");
        }
    });
}

#[test]
fn loom_a_walk_back_meets_all_that_was_there_in_order() {
    model(&LEAVES, 2, [(b"0-", 2), (b"a", 3)], |tree, prefix| {
        let b = tree.find(&tree.target(&key(prefix, b"b"), 1).unwrap());
        let spots = std::iter::successors(b, |spot| tree.before(*spot));
        let entries: Vec<Entry> = spots.map(|spot| entry(tree, spot)).collect();
        assert!(entries.is_sorted_by(|a, b| a.0 > b.0));
        for (end, sequence) in [(b"0" as &[u8], 0), (b"00", 1)] {
            let there = Some((key(prefix, end), sequence));
            if find(tree, &key(prefix, end), sequence) == there {
                assert!(entries.contains(&there.unwrap()));
            }
        }
    });
}

#[test]
fn loom_a_search_meets_its_neighbours_whatever_is_inserted_there() {
    model(&LEAVES, 2, [(b"a", 2), (b"b", 3)], |tree, prefix| {
        // The entry itself is always found; the one before it may have just been inserted.
        let b = key(prefix, b"b");
        assert_eq!(find(tree, &b, 1), Some((b.clone(), 1)));
        let before = find_before(tree, &b, 1).unwrap();
        assert!(before.1 != 1 || before.0 < b);
        assert_eq!(find(tree, &b, MAX_SEQUENCE).unwrap().0, b);
    });
}

fn find_b(tree: &Tree, prefix: &[u8]) {
    let b = key(prefix, b"b");
    assert_eq!(find(tree, &b, 1), Some((b, 1)));
}

/// A version that is there takes no part in what newer ones change, nor in what one between it and a newer one does.
#[test]
fn loom_a_version_is_found_while_others_of_its_key_come() {
    for inserted in [[(&b"b"[..], 2), (b"b", 3)], [(b"b", 5), (b"b", 3)]] {
        model(&LEAVES, 2, inserted, find_b);
        model(&LEAVES, 2, inserted, |tree, prefix| {
            let newest = find(tree, &key(prefix, b"b"), MAX_SEQUENCE).unwrap();
            assert_eq!(find(tree, &newest.0, newest.1), Some(newest.clone()));
            let before = find_before(tree, &newest.0, 0).unwrap();
            assert_eq!(before, (newest.0, 1));
        });
    }
}

/// Finds that there is nothing from `c` on.
fn find_the_end(tree: &Tree, prefix: &[u8]) {
    assert_eq!(find(tree, &key(prefix, b"c"), 1), None);
}

/// What is inserted before `b` takes the slots of what was moved to another block, or moves `b`.
#[test]
fn loom_a_search_finds_its_key_though_blocks_change_on_its_way() {
    let keys = [
        [&b"bb-1234567890"[..], b"bb-12345678901"],
        [b"aa", b"aa-1234567890"],
        [b"0-", b"a"],
    ];
    for [first, second] in keys {
        let inserted = [(first, 2), (second, 3)];
        model(&LEAVES, 2, inserted, find_b);
        model(&LEAVES, 2, inserted, find_the_end);
        model(&[Before::FullRoot], 1, inserted, find_b);
        model(&[Before::FullRoot], 1, inserted, find_the_end);
    }
    let inserted = [(&b"aa"[..], 2), (b"aa-1234567890", 3)];
    model(&[Before::FullInner], 1, inserted, find_b);
}

/// As before, with three keys.
#[test]
fn loom_a_search_finds_its_key_though_a_block_changes_three_times() {
    for inserted in [
        [&b"b-1234567890"[..], b"b-12345678", b"b-1"],
        [b"a", b"aaaaaaaaa", b"aaaaaaaaaaaaaaaa"],
        [b"b-1", b"a", b"b"],
    ] {
        let [first, second, third] = inserted;
        let inserted = [(first, 2), (second, 3), (third, 4)];
        model(&[Before::Few], 2, inserted, find_b);
        model(&[Before::FullLeaf], 1, inserted, find_b);
    }
}

#[test]
fn loom_what_was_seen_once_is_seen_again() {
    model(&ALL, 2, [(b"c", 2), (b"d", 3)], |tree, _| {
        let last = entry(tree, tree.last().unwrap());
        assert_eq!(find(tree, &last.0, last.1), Some(last));
    });
}

/// A writer deletes a range at sequence 2 and inserts two keys into it, publishing each. A reader passes over
/// what the range delete hides.
fn passing_model(keys: [&'static [u8]; 2]) {
    let inserted = [(keys[0], 3), (keys[1], 4)];
    for before in ALL {
        builder(2).check(move || {
            let tree = tree(b"", before);
            let published = Arc::new(AtomicU64::new(1));
            let writer = {
                let (tree, published) = (Arc::clone(&tree), Arc::clone(&published));
                thread::spawn(move || {
                    tree.marks.note(2, true);
                    for (key, sequence) in inserted {
                        put_all(&tree, &[(key.to_vec(), sequence)]);
                        published.store(sequence, Ordering::Release);
                    }
                })
            };
            let visible = published.load(Ordering::Acquire);
            if visible > 1 {
                check_passing(&tree, &inserted, visible);
            }
            writer.join().unwrap();
            check_passing(&tree, &inserted, 4);
        });
    }
}

/// Passes from each end over what is older than sequence 2: each entry that is newer and visible is met.
fn check_passing(tree: &Tree, inserted: &[(&[u8], Sequence)], visible: Sequence) {
    let mut met = Vec::new();
    let mut spot = tree.first();
    while let Some(at) = spot {
        match entry(tree, at).1 {
            hidden if hidden < 2 => spot = tree.pass(at, b"z", 2),
            sequence => {
                met.push(sequence);
                spot = tree.after(at);
            }
        }
    }
    assert!((3..=visible).all(|s| met.contains(&s)), "{met:?}");
    let b = tree.find(&tree.target(b"b", 1).unwrap()).unwrap();
    let before = tree.pass_back(b, b"", 2);
    if inserted.contains(&(b"a", visible)) || visible == 4 {
        assert_eq!(entry(tree, before.unwrap()).0, b"a");
    }
}

#[test]
fn loom_passing_over_hidden_entries_misses_none_that_is_visible() {
    passing_model([b"a", b"c"]);
    passing_model([b"c", b"a"]);
}

/// Two keys have one hash, and the first gets a newer version. The upper half of an address is its key, the lower half its age.
#[test]
fn loom_a_hash_index_has_the_newest_version_that_was_published() {
    const VERSIONS: [u32; 3] = [1 << 16 | 1, 2 << 16 | 1, 1 << 16 | 2];
    builder(3).check(|| {
        let (index, published) = (HashIndex::new(1).unwrap(), AtomicU64::new(0));
        let shared = Arc::new((index, published));
        let writer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                for (version, sequence) in VERSIONS.into_iter().zip(1..) {
                    shared.0.add(7, Address(version), |other| {
                        match other.0 >> 16 == version >> 16 {
                            true => Known::Older,
                            false => Known::OtherKey,
                        }
                    });
                    shared.1.store(sequence, Ordering::Release);
                }
            })
        };
        let visible = shared.1.load(Ordering::Acquire) as usize;
        for key in [1, 2] {
            let newest = shared.0.find(7, |address| {
                assert!(VERSIONS.contains(&address.0), "{address:?}");
                (address.0 >> 16 == key).then_some(address.0)
            });
            let is_key = |version: &&u32| **version >> 16 == key;
            match VERSIONS.iter().take(visible).rfind(is_key) {
                Some(least) => {
                    assert!(matches!(newest, Found::Newest(version) if version >= *least));
                }
                None => assert_ne!(newest, Found::Unknown),
            }
        }
        writer.join().unwrap();
    });
}
