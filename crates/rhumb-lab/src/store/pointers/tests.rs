//! The indexes of pointers hold what a map holds, after any puts, deletes, merges, loads and reopenings.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::{Store, System};
use super::*;
use crate::data::{Pairs, Random};

type Held = BTreeMap<Vec<u8>, Vec<u8>>;

const NAMES: [&str; 3] = ["btree-disk", "hybrid-pgm", "hybrid-leco"];

fn open(name: &str, directory: &Path, temperature: Temperature) -> Result<Box<dyn Store>> {
    let memory = if name == "btree-disk" {
        ""
    } else {
        " memory=64KiB"
    };
    let system = System::parse(&format!("{name}{memory}"), &Settings::default())?;
    system.open(directory, temperature)
}

/// The sort of keys.
#[derive(Debug, Clone, Copy)]
enum Keys {
    /// Numbers of 8 bytes.
    Eight,
    /// Texts of several lengths, the empty one among them.
    Texts,
    /// Texts of some 500 bytes, of which few fit into a node.
    Long,
}

impl Keys {
    fn key(self, number: u64) -> Vec<u8> {
        match self {
            Keys::Eight => number
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .to_be_bytes()
                .into(),
            Keys::Texts if number == 0 => Vec::new(),
            Keys::Texts => {
                let tail = "x".repeat(number as usize % 5);
                format!("key/{:03}/{number}{tail}", number % 700).into_bytes()
            }
            Keys::Long => format!("{number:0>length$}", length = 495 + number as usize % 9).into(),
        }
    }
}

fn value(random: &mut Random) -> Vec<u8> {
    let (mut value, bytes) = (Vec::new(), random.below(24) as usize);
    random.fill(&mut value, bytes);
    value
}

fn batch(pairs: &[(Vec<u8>, Vec<u8>)]) -> Pairs {
    let mut batch = Pairs::default();
    pairs.iter().for_each(|(key, value)| batch.push(key, value));
    batch
}

fn compare(store: &dyn Store, held: &Held, keys: impl Iterator<Item = Vec<u8>>, about: &str) {
    let (mut found, mut pairs) = (Vec::new(), Pairs::default());
    for key in keys {
        let is_there = store.get(&key, &mut found).unwrap();
        let got = is_there.then_some(&found);
        assert_eq!(got, held.get(&key), "{about}: {key:?}");
        let expected = held.range(key.clone()..).take(3);
        store.scan(&key, 3, &mut pairs).unwrap();
        let expected = expected.map(|(key, value)| (&key[..], &value[..]));
        assert!(pairs.iter().eq(expected), "{about}: a scan from {key:?}");
    }
    store.scan(b"", usize::MAX, &mut pairs).unwrap();
    let expected = held.iter().map(|(key, value)| (&key[..], &value[..]));
    assert!(pairs.iter().eq(expected), "{about}: {} pairs", pairs.len());
}

fn seed() -> u64 {
    let given = std::env::var("RHUMB_SEED").ok();
    let seed = given.and_then(|text| text.parse().ok()).unwrap_or(23);
    println!("RHUMB_SEED={seed}");
    seed
}

/// Puts, deletes and reopenings at random. Returns the merges.
fn play(name: &str, keys: Keys, universe: u64, steps: u32, seed: u64) -> u64 {
    let directory = tempfile::tempdir().unwrap();
    let about = format!("{name}, {keys:?}, seed {seed}");
    let mut random = Random::new(seed, 0xb7ee);
    let open = |cold: bool| {
        let temperature = match cold {
            true => Temperature::Cold,
            false => Temperature::Warm,
        };
        open(name, directory.path(), temperature).unwrap()
    };
    let (mut store, mut held, mut merges) = (open(false), Held::new(), 0);
    let merges_of = |store: &dyn Store| store.counters().unwrap().get("merges").unwrap_or(0);
    for step in 0..steps {
        match random.below(10_000) {
            0..6 => {
                merges += merges_of(&*store);
                store.close().unwrap();
                store = open(random.below(2) == 0);
            }
            6..1_500 => {
                let key = keys.key(random.below(universe));
                store.delete(&key).unwrap();
                held.remove(&key);
            }
            _ => {
                let mut pairs = Vec::new();
                for _ in 0..1 + random.below(3) {
                    pairs.push((keys.key(random.below(universe)), value(&mut random)));
                }
                store.write(&batch(&pairs)).unwrap();
                held.extend(pairs);
            }
        }
        if step % (steps / 4) == steps / 8 {
            let some = (0..universe).step_by(7).map(|number| keys.key(number));
            compare(&*store, &held, some, &about);
        }
    }
    store.settle().unwrap();
    let all = (0..universe + 5).map(|number| keys.key(number));
    compare(&*store, &held, all, &about);
    merges + merges_of(&*store)
}

#[test]
fn they_hold_what_a_map_holds() {
    let seed = seed();
    for name in NAMES {
        for (keys, universe, steps) in [
            (Keys::Eight, 6_000, 20_000),
            (Keys::Texts, 5_000, 12_000),
            (Keys::Long, 1_500, 5_000),
        ] {
            let merges = play(name, keys, universe, steps, seed);
            let is_hybrid = name != "btree-disk";
            assert_eq!(merges > 5, is_hybrid, "{name}, {keys:?}: {merges} merges");
        }
    }
}

/// Only levels above the third are in memory, and they come back.
#[test]
fn upper_levels_are_in_memory() {
    let directory = tempfile::tempdir().unwrap();
    let index = |store: &dyn Store| store.footprint().unwrap().unwrap().index;
    let store = open(NAMES[0], directory.path(), Temperature::Warm).unwrap();
    let (mut held, mut before) = (Held::new(), 0);
    for number in 0..3_000 {
        let pair = (Keys::Long.key(number * 7_919 % 3_000), vec![7; 16]);
        store.write(&batch(std::slice::from_ref(&pair))).unwrap();
        held.extend([pair]);
        before = if number < 200 { index(&*store) } else { before };
    }
    let after = index(&*store);
    assert!(before == 0 && after >= 4096, "{before}, {after}");
    store.close().unwrap();
    let store = open(NAMES[0], directory.path(), Temperature::Cold).unwrap();
    assert_eq!(index(&*store), after);
    let keys = (0..3_000).map(|number| Keys::Long.key(number));
    compare(&*store, &held, keys, "reopened");
    store.get(&Keys::Long.key(5), &mut Vec::new()).unwrap();
    let counters = store.counters().unwrap();
    let read = counters.get("get_blocks_read").unwrap();
    assert_eq!(Some(read), counters.get("gets").map(|gets| 3 * gets));
}

/// What is loaded in order is there, whatever follows; a B+-tree is filled to 0.7.
#[test]
fn loads_are_puts() {
    let sorted = Random::new(seed(), 0x10ad).distinct(20_000);
    let pair = |number: &u64| (number.to_be_bytes().to_vec(), vec![*number as u8; 16]);
    for name in NAMES {
        let directory = tempfile::tempdir().unwrap();
        let mut store = open(name, directory.path(), Temperature::Warm).unwrap();
        let mut held = Held::new();
        for chunk in sorted.chunks(3_000) {
            let pairs: Vec<_> = chunk.iter().map(pair).collect();
            store.load(&batch(&pairs)).unwrap();
            held.extend(pairs);
        }
        let keys = || sorted.iter().step_by(5).map(|n| n.to_be_bytes().to_vec());
        compare(&*store, &held, keys(), name);
        let bytes = store.footprint().unwrap().unwrap().table_bytes.unwrap();
        // 30 bytes for each pair of 24 in a node of a tree.
        let least = match name {
            "btree-disk" => 20_000 * 30 * 10 / 7,
            _ => 20_000 * 24,
        };
        let range = least..least + least / 20;
        assert!(range.contains(&bytes), "{name}: {bytes} bytes");
        // Out of order, of other lengths, and again.
        let others = [
            (b"z".to_vec(), vec![]),
            (b"a".to_vec(), vec![1]),
            (vec![255; 8], vec![3; 16]),
        ];
        for _ in 0..2 {
            store.load(&batch(&others)).unwrap();
            held.extend(others.clone());
            compare(&*store, &held, keys(), name);
            store.close().unwrap();
            store = open(name, directory.path(), Temperature::Warm).unwrap();
            compare(&*store, &held, keys(), name);
        }
    }
}

/// A PGM-index finds two pages at most, and compressed bounds one.
#[test]
fn gets_read_one_or_two_pages() {
    let numbers = Random::new(seed(), 0x9a6e).distinct(40_000);
    let mut read_twice = 0;
    for (name, most) in [("hybrid-pgm", 2), ("hybrid-leco", 1)] {
        let directory = tempfile::tempdir().unwrap();
        let store = open(name, directory.path(), Temperature::Warm).unwrap();
        let is_put = |at: usize| at.is_multiple_of(2);
        let put = numbers.iter().enumerate().filter(|(at, _)| is_put(*at));
        let pairs: Vec<_> = put
            .map(|(_, number)| (number.to_be_bytes().to_vec(), vec![1; 16]))
            .collect();
        store.write(&batch(&pairs)).unwrap();
        store.settle().unwrap();
        let mut found = Vec::new();
        for (at, number) in numbers.iter().enumerate() {
            let before = store.counters().unwrap();
            let is_there = store.get(&number.to_be_bytes(), &mut found).unwrap();
            assert_eq!(is_there, is_put(at), "{name}: {number}");
            let read = store.counters().unwrap().since(&before);
            let read = read.get("get_blocks_read").unwrap();
            assert!(read <= most, "{name}: {read} pages for {number}");
            read_twice += u64::from(read == 2);
        }
    }
    assert!(read_twice > 1_000, "{read_twice}");
}

/// A cursor shows what was there when it was made.
#[test]
fn cursors_are_snapshots() {
    for name in NAMES {
        let directory = tempfile::tempdir().unwrap();
        let store = open(name, directory.path(), Temperature::Warm).unwrap();
        let key = |number| Keys::Texts.key(number);
        let mut held = Held::new();
        for number in (0..4_000).step_by(2) {
            held.insert(key(number), vec![1; 9]);
        }
        let pairs: Vec<_> = held.clone().into_iter().collect();
        store.write(&batch(&pairs)).unwrap();
        let mut now = held.clone();
        let walked = store.with_cursor(&mut |cursor| {
            let mut more = cursor.seek(b"")?;
            for (at, (expected, value)) in held.iter().enumerate() {
                assert!(more, "{name}: {at}");
                assert_eq!(cursor.pair(), (&expected[..], &value[..]), "{name}: {at}");
                let number = at as u64 * 2 % 4_000;
                store.write(&batch(&[
                    (key(number), vec![2; 5]),
                    (key(number + 1), vec![3]),
                ]))?;
                store.delete(&key(3_999 - number))?;
                now.extend([(key(number), vec![2; 5]), (key(number + 1), vec![3])]);
                now.remove(&key(3_999 - number));
                more = cursor.advance()?;
            }
            assert!(!more, "{name}");
            Ok(())
        });
        walked.unwrap();
        compare(&*store, &now, (0..4_000).map(key), name);
    }
}

/// Reads by another thread find old values or new ones, and all keys, while others are put, merged and split.
#[test]
fn readers_go_on_while_others_write() {
    for name in NAMES {
        let directory = tempfile::tempdir().unwrap();
        let store = open(name, directory.path(), Temperature::Warm).unwrap();
        let put = |number: u64, byte: u8| {
            let pair = (Keys::Eight.key(number), vec![byte; 16]);
            store.write(&batch(&[pair])).unwrap();
        };
        (0..2_000).for_each(|number| put(number, 0));
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let (mut value, mut pairs) = (Vec::new(), Pairs::default());
                for round in 0..4_000 {
                    let key = Keys::Eight.key(round % 2_000);
                    assert!(store.get(&key, &mut value).unwrap(), "{name}: {round}");
                    assert!(value.len() == 16 && value.iter().all(|byte| *byte == value[0]));
                    if round % 100 == 0 {
                        store.scan(b"", usize::MAX, &mut pairs).unwrap();
                        assert!(pairs.len() >= 2_000, "{name}: {}", pairs.len());
                        let keys: Vec<&[u8]> = pairs.keys.iter().collect();
                        assert!(keys.is_sorted(), "{name}");
                    }
                }
            });
            (0..8_000).for_each(|round| put(round * 7 % 4_000, round as u8));
            reader.join().unwrap();
        });
        store.close().unwrap();
    }
}

#[test]
fn what_cannot_be_held_is_refused_with_a_reason() {
    for name in NAMES {
        let directory = tempfile::tempdir().unwrap();
        let store = open(name, directory.path(), Temperature::Warm).unwrap();
        store
            .write(&batch(&[(b"key".to_vec(), b"v".to_vec())]))
            .unwrap();
        let long = store.write(&batch(&[(vec![b'k'; 1_400], vec![1; 16])]));
        let error = long.unwrap_err().to_string();
        assert!(error.contains("hold at most 1354"), "{name}: {error}");
        assert!(store.get(b"key", &mut Vec::new()).unwrap(), "{name}");
        drop(store);
        let again = open(name, directory.path(), Temperature::Warm);
        let error = again.err().unwrap().to_string();
        assert!(error.contains("is not an index that was closed"), "{error}");
        let directory = tempfile::tempdir().unwrap();
        let synced = Settings {
            sync: true,
            ..Settings::default()
        };
        let system = System::parse(name, &synced).unwrap();
        let error = system
            .open(directory.path(), Temperature::Warm)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("leave out sync=true"), "{error}");
    }
}

/// Random bytes that begin alike have too few numbers for a PGM-index, but not for compressed bounds.
#[test]
fn keys_that_share_a_number() {
    let mut random = Random::new(seed(), 0x5a4e);
    let mut held = Held::new();
    for number in 0..3_000_u32 {
        let mut key = Vec::new();
        // Eight positions with all bytes use up the numbers, and the rest of the key does not count.
        random.fill(&mut key, 8);
        key[..7].fill(if number < 256 { number as u8 } else { 7 });
        key.extend_from_slice(&number.to_be_bytes());
        held.insert(key, vec![4; 16]);
    }
    let pairs = batch(&held.clone().into_iter().collect::<Vec<_>>());
    for name in NAMES {
        let directory = tempfile::tempdir().unwrap();
        let store = open(name, directory.path(), Temperature::Warm).unwrap();
        let written = store.write(&pairs).and_then(|()| store.settle());
        match written {
            Ok(()) => compare(&*store, &held, held.keys().cloned(), name),
            Err(error) => {
                let error = error.to_string();
                assert!(
                    name == "hybrid-pgm" && error.contains("take hybrid-leco"),
                    "{error}"
                );
            }
        }
    }
}

/// Damage is an error or another answer, and never a panic or a walk without end.
#[test]
fn damaged_files_do_no_harm() {
    let seed = seed();
    let mut random = Random::new(seed, 0xda3a);
    for name in NAMES {
        let directory = tempfile::tempdir().unwrap();
        let store = open(name, directory.path(), Temperature::Warm).unwrap();
        let pairs: Vec<_> = (0..3_000)
            .map(|n| (Keys::Texts.key(n), vec![5; 16]))
            .collect();
        store.write(&batch(&pairs)).unwrap();
        store.close().unwrap();
        let file = std::fs::read_dir(directory.path())
            .unwrap()
            .next()
            .unwrap()
            .unwrap();
        let whole = std::fs::read(file.path()).unwrap();
        for _ in 0..150 {
            let mut bytes = whole.clone();
            for _ in 0..1 + random.below(20) {
                let near_start = random.below(2) == 0;
                let end = if near_start { 300 } else { bytes.len() as u64 };
                let page = random.below(bytes.len() as u64 / 4096) as usize * 4096;
                let at =
                    (random.below(end) as usize + if near_start { page } else { 0 }) % bytes.len();
                bytes[at] = random.next() as u8;
            }
            std::fs::write(file.path(), &bytes).unwrap();
            let _ = std::fs::remove_file(directory.path().join("in-use"));
            let Ok(store) = open(name, directory.path(), Temperature::Warm) else {
                continue;
            };
            for (key, value) in pairs.iter().step_by(97) {
                let _ = store.get(key, &mut Vec::new());
                let _ = store.write(&batch(&[(key.clone(), value.clone())]));
            }
            let _ = store.scan(b"", 10_000, &mut Pairs::default());
            drop(store);
        }
    }
}
