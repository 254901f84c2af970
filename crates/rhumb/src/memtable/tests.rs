//! The memtable against an ordered map, and under concurrent readers.

mod hash_index;
mod versions;

use std::cmp::Reverse;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::entry::cursor_checks::{Model, assert_at, skip, walk};
use crate::entry::{Cursor, EntryKind, MAX_KEY_BYTES};
use crate::error::Error;
use crate::test_seed::test_seed;

/// Keys of 0 to 50 bytes: some share prefixes of any length, some have the same heads, and some differ
/// in zeros at their end only.
fn random_key(rng: &mut StdRng) -> Vec<u8> {
    let mut key = match rng.random_range(0..5) {
        0 => vec![],
        1 => b"shared-prefix".to_vec(),
        2 => {
            let names = [&b"shared-a"[..], b"shared-b", b"\0\0\0\0\0\0\0\0", b"/"];
            let depth = rng.random_range(0..6);
            let names = (0..depth).map(|_| names[rng.random_range(0..names.len())]);
            names.collect::<Vec<_>>().concat()
        }
        _ => b"shar".to_vec(),
    };
    let len = rng.random_range(0..4);
    key.extend((0..len).map(|_| [0, b'a', b'e', 0xff][rng.random_range(0..4)]));
    key
}

fn get(memtable: &Memtable, key: &[u8], visible: Sequence) -> Option<Version> {
    memtable.get(key, hash_key(key), visible)
}

/// Inserts random entries, up to 20 by one writer. A hash index may begin on the way, which has too little room.
fn fill(rng: &mut StdRng, memtable: &Memtable, entries: u64) -> Model {
    let mut model = Model::new();
    for sequence in 1..=entries {
        let key = random_key(rng);
        let (kind, value) = if rng.random_bool(0.2) {
            (EntryKind::Delete, vec![])
        } else {
            (
                EntryKind::Put,
                vec![sequence as u8; rng.random_range(0..40)],
            )
        };
        model.insert((key, Reverse(sequence)), (kind, value));
    }
    let mut new: Vec<_> = model.iter().collect();
    new.sort_by_key(|((_, sequence), _)| Reverse(*sequence));
    let (mut rest, indexed) = (&new[..], rng.random());
    while !rest.is_empty() {
        let (now, later) = rest.split_at(rng.random_range(1..=rest.len().min(20)));
        let mut writer = memtable.writer();
        for ((key, Reverse(sequence)), (kind, value)) in now {
            writer.insert(key, *sequence, *kind, value).unwrap();
        }
        rest = later;
        drop(writer);
        if indexed && rng.random_bool(0.1) {
            memtable.begin_index(4 << 10);
        }
    }
    model
}

fn prefixes() -> [&'static [u8]; 4] {
    [b"", b"shar", b"shared-prefixaa", b"zz"]
}

#[test]
fn every_snapshot_of_every_key_is_the_models() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    for prefix in prefixes().repeat(2) {
        let memtable = Arc::new(Memtable::with_prefix(prefix.into()));
        let model = fill(&mut rng, &memtable, 2000);
        assert_eq!(memtable.entries(), 2000);
        assert_eq!(memtable.smallest_sequence(), Some(1));
        assert_eq!(memtable.largest_sequence(), Some(2000));
        for _ in 0..5000 {
            let (key, visible) = (random_key(&mut rng), rng.random_range(0..2100));
            let newest = model.range((key.clone(), Reverse(visible))..).next();
            let expected = newest.filter(|((k, _), _)| *k == key);
            let found = get(&memtable, &key, visible);
            assert_eq!(found.is_some(), expected.is_some());
            if let (Some(found), Some(((_, sequence), (kind, value)))) = (found, expected) {
                assert_eq!((found.sequence, found.kind), (sequence.0, *kind));
                assert_eq!(&*found.content.into_value(), value);
            }
        }
    }
}

#[test]
fn cursors_go_where_the_models_do() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    for prefix in prefixes() {
        let memtable = Arc::new(Memtable::with_prefix(prefix.into()));
        let model = fill(&mut rng, &memtable, 1000);
        let mut cursor = memtable.cursor();
        assert_at(&mut cursor, None);
        for _ in 0..2000 {
            let (key, sequence) = (random_key(&mut rng), rng.random_range(0..1100));
            walk(&mut rng, &mut cursor, &model, key, sequence);
        }
    }
}

#[test]
fn orders_of_insertion_do_not_matter() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    for disorder in [0, 1, 3, 100, 5000] {
        let mut keys: Vec<u32> = (0..5000).collect();
        for i in 0..keys.len() {
            let to = (i + rng.random_range(0..=disorder)).min(keys.len() - 1);
            keys.swap(i, to);
        }
        for keys in [keys.clone(), keys.into_iter().rev().collect()] {
            let memtable = Arc::new(Memtable::new());
            for key in keys {
                memtable
                    .insert(&key.to_be_bytes(), 1, EntryKind::Put, b"")
                    .unwrap();
            }
            let mut cursor = memtable.cursor();
            cursor.seek_first().unwrap();
            for key in 0..5000u32 {
                assert_eq!(cursor.key(), key.to_be_bytes());
                cursor.next().unwrap();
            }
            assert!(!cursor.valid());
        }
    }
}

/// Whatever the order of insertion, every key is found with few keys read: neighbours share long
/// prefixes, of any length.
#[test]
fn keys_with_long_shared_prefixes_are_found_in_every_order() {
    let seed = test_seed();
    let mut sorted: Vec<Vec<u8>> = (0..3000).map(|n| spelt(n, seed)).collect();
    sorted.extend((0..1000).map(|n| spelt(n, seed)[..n as usize % 40].to_vec()));
    sorted.sort();
    sorted.dedup();
    let mut rng = StdRng::seed_from_u64(seed);
    for disorder in [0, 2, 50, sorted.len()] {
        let mut keys = sorted.clone();
        for i in 0..keys.len() {
            let to = (i + rng.random_range(0..=disorder)).min(keys.len() - 1);
            keys.swap(i, to);
        }
        for keys in [keys.clone(), keys.into_iter().rev().collect()] {
            for prefix in [&b""[..], b"root/digit", b"other"] {
                let memtable = Arc::new(Memtable::with_prefix(prefix.into()));
                for (sequence, key) in (1..).zip(&keys) {
                    memtable.insert(key, sequence, EntryKind::Put, b"").unwrap();
                    assert!(get(&memtable, key, sequence).is_some());
                }
                assert!(
                    keys.iter()
                        .all(|key| get(&memtable, key, MAX_SEQUENCE).is_some())
                );
                let mut cursor = memtable.cursor();
                cursor.seek_first().unwrap();
                for key in &sorted {
                    assert_eq!(cursor.key(), key);
                    cursor.next().unwrap();
                }
                assert!(!cursor.valid());
            }
        }
    }
}

#[test]
fn entries_inserted_again_stay_as_they_were() {
    let memtable = Arc::new(Memtable::new());
    for value in [&b"first"[..], b"second"] {
        memtable.insert(b"key", 7, EntryKind::Put, value).unwrap();
        memtable.insert(b"other", 8, EntryKind::Put, value).unwrap();
    }
    assert_eq!(memtable.entries(), 2);
    assert_eq!(
        &*get(&memtable, b"key", 7).unwrap().content.into_value(),
        b"first"
    );
    let mut cursor = memtable.cursor();
    cursor.seek_first().unwrap();
    cursor.next().unwrap();
    assert_eq!(cursor.key(), b"other");
    cursor.next().unwrap();
    assert!(!cursor.valid());
}

#[test]
fn the_shortest_and_longest_are_kept_and_longer_ones_refused() {
    let memtable = Memtable::new();
    let long_key = vec![b'k'; MAX_KEY_BYTES];
    let long_value: Vec<u8> = (0..64 << 20).map(|i: u32| (i >> 7) as u8).collect();
    memtable
        .insert(b"", 1, EntryKind::Put, b"empty key")
        .unwrap();
    memtable
        .insert(&long_key, 2, EntryKind::Put, &long_value)
        .unwrap();
    memtable.insert(b"k", 3, EntryKind::Put, b"").unwrap();
    let found = get(&memtable, &long_key, MAX_SEQUENCE).unwrap();
    assert_eq!(
        &*get(&memtable, b"", 1).unwrap().content.into_value(),
        b"empty key"
    );
    assert_eq!(&*get(&memtable, b"k", 3).unwrap().content.into_value(), b"");
    assert!(memtable.bytes() > long_value.len());
    let refused = memtable.insert(&[&long_key[..], b"k"].concat(), 4, EntryKind::Put, b"");
    assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    assert_eq!(memtable.entries(), 3);
    drop(memtable);
    assert!(*found.content.into_value() == *long_value);
}

#[test]
fn an_empty_memtable_says_so_and_takes_little() {
    let memtable = Arc::new(Memtable::default());
    assert!(memtable.is_empty() && memtable.bytes() == 0);
    assert_eq!(
        (memtable.smallest_sequence(), memtable.largest_sequence()),
        (None, None)
    );
    assert!(get(&memtable, b"", MAX_SEQUENCE).is_none());
    assert!(memtable.common_prefix().is_empty());
    let mut cursor = memtable.cursor();
    cursor.seek_first().unwrap();
    assert_at(&mut cursor, None);
    cursor.seek_last().unwrap();
    assert_at(&mut cursor, None);
    memtable
        .insert(b"shared-a", 1, EntryKind::Put, b"")
        .unwrap();
    memtable
        .insert(b"shared-b", 2, EntryKind::Put, b"")
        .unwrap();
    assert!(!memtable.is_empty() && memtable.bytes() < 8 << 10);
    assert_eq!(&*memtable.common_prefix(), b"shared-");
}

#[test]
fn range_deletes_cover_what_they_should_and_alone_make_it_not_empty() {
    let memtable = Memtable::new();
    memtable.delete_range(b"b", b"b", 3);
    assert!(memtable.is_empty() && memtable.range_deletes().is_none());
    memtable.delete_range(b"b", b"d", 5);
    let before = memtable.range_deletes().unwrap();
    memtable.delete_range(b"c", b"e", 9);
    assert!(!memtable.is_empty() && memtable.entries() == 0 && memtable.bytes() > 0);
    assert_eq!(memtable.smallest_sequence(), Some(5));
    assert_eq!(memtable.largest_sequence(), Some(9));
    assert_eq!(memtable.covering(b"c", 9), Some(9));
    assert_eq!(memtable.covering(b"c", 8), Some(5));
    assert_eq!(memtable.covering(b"c", 4), None);
    assert_eq!(memtable.covering(b"e", 9), None);
    assert_eq!(before.covering(b"c", 9), Some(5));
    assert_eq!(memtable.range_deletes().unwrap().pieces().len(), 2);
}

#[test]
fn range_deletes_count_in_bytes_and_fill_a_memtable() {
    let memtable = Memtable::new();
    for n in 0..1024u32 {
        assert!(!memtable.is_full(1 << 20));
        memtable.delete_range(&[], &(n + 1).to_be_bytes(), u64::from(n) + 1);
    }
    assert!(!memtable.is_full(1 << 20) && memtable.bytes() > 64 << 10);
    assert!(memtable.is_full(64 << 10));
    memtable.delete_range(b"a", b"b", 2000);
    assert!(memtable.is_full(1 << 20));
    for n in 1025..100_000u32 {
        let (start, end) = (2 * n, 2 * n + 1);
        memtable.delete_range(
            &start.to_be_bytes(),
            &end.to_be_bytes(),
            u64::from(n) + 2000,
        );
    }
    assert!(memtable.bytes() < 100 << 20, "{} bytes", memtable.bytes());
    assert_eq!(
        memtable.covering(&99_998u32.to_be_bytes(), u64::MAX),
        Some(51_999)
    );
    assert_eq!(memtable.covering(&99_999u32.to_be_bytes(), u64::MAX), None);
    assert_eq!(memtable.covering(&512u32.to_be_bytes(), 700), Some(700));
    assert_eq!(memtable.covering(&512u32.to_be_bytes(), 512), None);
}

/// The key of a sequence: a scattered number, of whose value the last five bytes are.
fn scattered(sequence: u64, seed: u64) -> Vec<u8> {
    let number = (sequence ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    number.to_be_bytes().to_vec()
}

/// The same with names for the digits, so that neighbours share long prefixes.
fn spelt(sequence: u64, seed: u64) -> Vec<u8> {
    let digits = scattered(sequence, seed)
        .into_iter()
        .flat_map(|byte| [byte >> 4, byte & 15]);
    let names = digits.flat_map(|digit| [b'/', b'd', b'i', b'g', b'i', b't', b'a' + digit]);
    b"root".iter().copied().chain(names).collect()
}

/// One writer inserts keys one by one, in order or not; readers must find everything that was published
/// before they asked.
#[test]
fn readers_see_all_that_was_published_while_the_writer_goes_on() {
    readers_see_what_was_published(100_000, scattered);
    readers_see_what_was_published(50_000, spelt);
    // All at the end of the last block.
    readers_see_what_was_published(300_000, |sequence, _| sequence.to_be_bytes().to_vec());
}

fn readers_see_what_was_published(most: u64, key_of: fn(u64, u64) -> Vec<u8>) {
    let seed = test_seed();
    let key = |sequence| key_of(sequence, seed);
    let memtable = Arc::new(Memtable::new());
    let published = AtomicU64::new(0);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for sequence in 1..=most {
                let key = key(sequence);
                let put = memtable.insert(&key, sequence, EntryKind::Put, value_of(&key));
                put.unwrap();
                published.store(sequence, Ordering::Release);
            }
            done.store(true, Ordering::Release);
        });
        for reader in 0..2 {
            let (memtable, published, done) = (&memtable, &published, &done);
            scope.spawn(move || {
                let mut rng = StdRng::seed_from_u64(seed + reader);
                let mut cursor = memtable.cursor();
                while !done.load(Ordering::Acquire) {
                    let newest = published.load(Ordering::Acquire);
                    let sequence = rng.random_range(0..=newest).max(newest.min(1));
                    let key = key(sequence);
                    if newest > 0 {
                        let found = get(memtable, &key, newest).unwrap();
                        assert_eq!(
                            (found.sequence, &*found.content.into_value()),
                            (sequence, value_of(&key))
                        );
                        assert!(get(memtable, &key, sequence - 1).is_none());
                    }
                    scan(&mut cursor, &key, rng.random_bool(0.5));
                }
            });
        }
    });
    let mut cursor = memtable.cursor();
    cursor.seek_first().unwrap();
    let mut entries = 0;
    while cursor.valid() {
        entries += 1;
        cursor.next().unwrap();
    }
    assert_eq!((entries, memtable.entries()), (most, most));
}

fn value_of(key: &[u8]) -> &[u8] {
    &key[key.len() - 5..]
}

/// Moves some entries forward or back from `key`, and checks that they are in order and complete.
fn scan(cursor: &mut MemtableCursor, key: &[u8], forward: bool) {
    cursor.seek(key, MAX_SEQUENCE).unwrap();
    let mut last = cursor.key().to_vec();
    for _ in 0..20 {
        if forward {
            cursor.next()
        } else {
            cursor.prev()
        }
        .unwrap();
        if !cursor.valid() {
            break;
        }
        assert!(if forward {
            last[..] < *cursor.key()
        } else {
            last[..] > *cursor.key()
        });
        assert_eq!(&*cursor.value(), value_of(cursor.key()));
        last = cursor.key().to_vec();
    }
}

/// Skips from random entries what random range deletes hide, in memtables with entries before,
/// between and after the range deletes. In every second memtable some range deletes come later than
/// their sequences say.
#[test]
fn cursors_skip_what_range_deletes_hide() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    for case in 0..60 {
        let memtable = Arc::new(Memtable::with_prefix(prefixes()[case % 4].into()));
        let (mut model, mut deletes) = (Model::new(), Vec::new());
        let often = [0.0, 0.003, 0.05][case % 3];
        for n in 1..1500u64 {
            let mut key = random_key(&mut rng);
            key.push(rng.random_range(0..200));
            if n == 700 || rng.random_bool(often) {
                let late = case % 2 == 1 && rng.random_bool(0.3);
                let sequence = 3 * n.saturating_sub(if late { 50 } else { 0 }) + 1;
                memtable.delete_range(&key, b"shared-prefix", sequence);
                memtable.delete_range(b"", &key, sequence + 1);
                deletes.extend([sequence, sequence + 1]);
            } else {
                memtable.insert(&key, 3 * n, EntryKind::Put, b"v").unwrap();
                model.insert((key, Reverse(3 * n)), (EntryKind::Put, b"v".to_vec()));
            }
        }
        let entries: Vec<_> = model.iter().collect();
        let mut cursor = memtable.cursor();
        for _ in 0..200 {
            let at = entries[rng.random_range(0..entries.len())];
            let end = &entries[rng.random_range(0..entries.len())].0.0;
            let deleted = deletes[rng.random_range(0..deletes.len())];
            for forward in [true, false] {
                cursor.seek(&at.0.0, at.0.1.0).unwrap();
                skip(&mut cursor, &model, Some(at), (end, deleted), forward);
            }
        }
    }
}

#[test]
fn a_sample_is_in_order_and_stands_for_all() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    for entries in [0u64, 1, 63, 64, 1000, 30_000] {
        let memtable = Memtable::new();
        let mut keys: Vec<u64> = (0..entries).collect();
        for i in 0..keys.len() {
            let other = rng.random_range(0..keys.len());
            keys.swap(i, other);
        }
        for (key, sequence) in keys.iter().zip(1..) {
            let key = key.to_be_bytes();
            memtable
                .insert(&key, sequence, EntryKind::Put, b"")
                .unwrap();
        }
        let (sample, weight) = memtable.sample(64);
        assert!(sample.is_sorted() && sample.windows(2).all(|pair| pair[0] != pair[1]));
        for (key, sequence) in &sample {
            let found = get(&memtable, key, *sequence);
            assert!(found.is_some_and(|version| version.sequence == *sequence));
        }
        if entries < 256 {
            assert_eq!((sample.len() as u64, weight), (entries, 1));
        }
        // Far more than the spread of a sample of so many.
        let estimate = sample.len() as u64 * weight;
        assert!(
            estimate <= entries * 2 && estimate * 2 >= entries,
            "{estimate} of {entries}"
        );
    }
}

#[test]
fn it_is_known_whether_every_entry_came_behind_all_others() {
    let ascending = |entries: &[(&str, Sequence)]| {
        let memtable = Memtable::new();
        for (key, sequence) in entries {
            let key = key.as_bytes();
            memtable
                .insert(key, *sequence, EntryKind::Put, b"")
                .unwrap();
        }
        let last = memtable.last_key().map(<[u8]>::to_vec);
        assert_eq!(
            last,
            entries.iter().map(|(key, _)| key.as_bytes().to_vec()).max()
        );
        memtable.is_ascending()
    };
    assert!(ascending(&[]));
    assert!(ascending(&[("a", 1), ("b", 2), ("c", 3)]));
    assert!(!ascending(&[("a", 1), ("c", 2), ("b", 3), ("d", 4)]));
    // The newer version of a key stands before the older one.
    assert!(!ascending(&[("a", 1), ("a", 2)]));
}
