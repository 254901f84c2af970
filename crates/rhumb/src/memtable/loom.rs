//! Every interleaving of a writer and a reader of the skip list, within three preemptions.

use loom::thread;
use std::sync::Arc;

use super::insert::NewEntry;
use super::list::{NONE, SkipList};
use crate::entry::{EntryKind, MAX_SEQUENCE, Sequence};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Seeds for which the four nodes of a model have heights 1111, 1112, 1121, 1122, 1222, 2222.
const SEEDS: [u32; 6] = [1, 10, 9, 32, 249, 4];

/// What all keys of a model begin with: nothing, or more bytes than a head has, so that searches depend
/// on what neighbours share.
const PREFIXES: [&[u8]; 2] = [b"", b"shared-by-all/"];

fn key(prefix: &[u8], end: &[u8]) -> Vec<u8> {
    [prefix, end].concat()
}

/// Inserts a key whose value is the key.
fn put(list: &SkipList, key: &[u8], sequence: Sequence) {
    list.writer().insert(&NewEntry {
        key,
        sequence,
        kind: EntryKind::Put,
        value: key,
    });
}

/// Runs models in which one writer inserts keys into a list that has `0` and `b` already. `0` is the
/// arena's first record, so an unfinished node would look like `0` to a reader.
fn model<const N: usize>(inserted: [(&'static [u8], Sequence); N], read: fn(&SkipList, &[u8])) {
    for (seed, prefix) in SEEDS.iter().flat_map(|seed| PREFIXES.map(|p| (*seed, p))) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let list = Arc::new(SkipList::new(Box::default(), seed));
            let insert = move |list: &SkipList, end: &[u8], sequence| {
                let key = key(prefix, end);
                put(list, &key, sequence);
            };
            insert(&list, b"0", 0);
            insert(&list, b"b", 1);
            // Loom forgets that the reader loaded a link once the writer has loaded it as well, and
            // then does not try running the writer first. This flag, which orders nothing, makes
            // loom try that; loom then shows the reader every old value that it could load.
            let tried = Arc::new(AtomicBool::new(false));
            let writer = {
                let (list, tried) = (Arc::clone(&list), Arc::clone(&tried));
                thread::spawn(move || {
                    for (end, sequence) in inserted {
                        insert(&list, end, sequence);
                    }
                    tried.store(true, Ordering::Relaxed);
                })
            };
            tried.load(Ordering::Relaxed);
            read(&list, prefix);
            writer.join().unwrap();
            let entries = walk(&list);
            assert_eq!(entries.len(), 2 + N);
            for (end, sequence) in inserted {
                assert!(entries.contains(&(key(prefix, end), sequence)));
            }
        });
    }
}

/// All entries in order; checks that each is complete.
fn walk(list: &SkipList) -> Vec<(Vec<u8>, Sequence)> {
    let mut entries: Vec<(Vec<u8>, Sequence)> = Vec::new();
    let mut node = list.first();
    while node != NONE {
        // Load the link first: a link followed early most likely leads to an unfinished node.
        let next = list.next(node);
        let record = list.record(node);
        assert_eq!(&*record.value(list.arena()), record.key);
        let len = record.key.len();
        assert_eq!(list.arena().bytes(record.key_position(), len), record.key);
        if let Some((key, sequence)) = entries.last() {
            assert!((&**key, u64::MAX - sequence) < (record.key, u64::MAX - record.sequence));
        }
        entries.push((record.key.to_vec(), record.sequence));
        node = next;
    }
    entries
}

#[test]
fn loom_a_walk_sees_whole_entries_in_the_order_of_insertion() {
    model([(b"a", 2), (b"c", 3)], |list, prefix| {
        let entries = walk(list);
        assert!(entries.contains(&(key(prefix, b"b"), 1)));
    });
}

#[test]
fn loom_a_search_meets_its_neighbours_whatever_is_inserted_there() {
    model([(b"a", 2), (b"b", 3)], |list, prefix| {
        // The entry itself is always found; the one before it may have just been inserted.
        let b = key(prefix, b"b");
        let (before, at) = list.find(&b, 1);
        assert_eq!((list.record(at).key, list.record(at).sequence), (&b[..], 1));
        assert!(before != NONE && list.record(before).sequence != 1);
        let (_, newest) = list.find(&b, MAX_SEQUENCE);
        assert_eq!(list.record(newest).key, b);
    });
}

/// Finds the keys that were there first, though others come closer to `b` meanwhile, and finds that there is no
/// other key than the inserted ones.
fn find_the_first_ones(list: &SkipList, prefix: &[u8]) {
    let b = key(prefix, b"b");
    let (_, at) = list.find(&b, 1);
    assert_eq!(list.record(at).key, b);
    let (_, at) = list.find(&key(prefix, b"c"), 1);
    assert_eq!(at, NONE);
    let (_, at) = list.find(&key(prefix, b"0"), 0);
    assert_eq!(list.record(at).key, key(prefix, b"0"));
}

/// The neighbours of the key that is sought share more bytes with each other, and less with the key,
/// once others are inserted between them and it.
#[test]
fn loom_a_search_finds_its_key_though_others_come_closer() {
    for [first, second] in [
        [&b"bb-1234567890"[..], b"bb-12345678901"],
        [b"aa", b"aa-1234567890"],
    ] {
        model([(first, 2), (second, 3)], find_the_first_ones);
    }
}

/// As before, with three keys that are inserted on the way of a search that has gone down already: each closer to
/// the key that is sought, or each farther away.
#[test]
fn loom_a_search_that_went_down_meets_none_of_three_keys_in_the_wrong_place() {
    for inserted in [
        [&b"b-1234567890"[..], b"b-12345678", b"b-1"],
        [b"a", b"aaaaaaaaa", b"aaaaaaaaaaaaaaaa"],
        [b"b-1", b"a", b"b"],
    ] {
        let [first, second, third] = inserted;
        model([(first, 2), (second, 3), (third, 4)], find_the_first_ones);
    }
}

#[test]
fn loom_what_was_seen_once_is_seen_again() {
    model([(b"c", 2), (b"d", 3)], |list, _| {
        let last = list.last();
        let record = list.record(last);
        let (_, found) = list.find(record.key, record.sequence);
        assert_eq!(found, last);
        assert!(walk(list).contains(&(record.key.to_vec(), record.sequence)));
    });
}

/// A writer deletes a range at sequence 2 and inserts two keys into it, publishing each. A reader passes over
/// what the range delete hides.
fn passing_model(keys: [&'static [u8]; 2]) {
    let inserted = [(keys[0], 3), (keys[1], 4)];
    for seed in SEEDS {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let list = Arc::new(SkipList::new(Box::default(), seed));
            put(&list, b"0", 0);
            put(&list, b"b", 1);
            let published = Arc::new(AtomicU64::new(1));
            let writer = {
                let (list, published) = (Arc::clone(&list), Arc::clone(&published));
                thread::spawn(move || {
                    list.marks.note(2, true);
                    for (key, sequence) in inserted {
                        put(&list, key, sequence);
                        published.store(sequence, Ordering::Release);
                    }
                })
            };
            let visible = published.load(Ordering::Acquire);
            if visible > 1 {
                check_passing(&list, &inserted, visible);
            }
            writer.join().unwrap();
            check_passing(&list, &inserted, 4);
        });
    }
}

/// Passes from each end over what is older than sequence 2: each entry that is newer and visible is met.
fn check_passing(list: &SkipList, inserted: &[(&[u8], Sequence)], visible: Sequence) {
    let mut met = Vec::new();
    let mut node = list.first();
    while node != NONE {
        match list.record(node).sequence {
            hidden if hidden < 2 => node = list.pass(node, b"z", 2),
            sequence => {
                met.push(sequence);
                node = list.next(node);
            }
        }
    }
    assert!((3..=visible).all(|s| met.contains(&s)), "{met:?}");
    let (_, b) = list.find(b"b", 1);
    let before = list.pass_back(b, b"", 2);
    if inserted.contains(&(b"a", visible)) || visible == 4 {
        assert_eq!(list.record(before).key, b"a");
    }
}

#[test]
fn loom_passing_over_hidden_entries_misses_none_that_is_visible() {
    passing_model([b"a", b"c"]);
    passing_model([b"c", b"a"]);
}
