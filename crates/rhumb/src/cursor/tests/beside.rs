//! Walks over a compacted level with few entries of write buffers and of other runs between its own.

use std::collections::BTreeMap;
use std::ops::Bound::{self, Excluded, Included, Unbounded};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::cursor::visible::shown_beside;
use crate::test_seed::test_seed;
use crate::{Db, Durability, Iter, Levels, Options, Snapshot, TableSpec};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;
type Range = (Bound<Vec<u8>>, Bound<Vec<u8>>);

const KEYS: u32 = 1_500;

/// Keys of one length, or of many lengths behind a common start, one beginning with another.
fn key(n: u32, even: bool) -> Vec<u8> {
    match even {
        true => u64::from(n * 3).to_be_bytes().to_vec(),
        false => {
            let (package, file) = (n / 40, n % 40);
            let tail = "x".repeat((n % 7) as usize);
            format!("usr/share/doc/lib{package}/{:b}{tail}", file).into_bytes()
        }
    }
}

fn value(rng: &mut StdRng, len: Option<usize>) -> Vec<u8> {
    let len = len.unwrap_or_else(|| rng.random_range(0..60));
    vec![rng.random_range(0..=255); len]
}

/// A store whose last level holds most of the keys, and what it shows.
struct Store {
    db: Db,
    map: Map,
    /// Whether keys of the last level have one length, and the length of values, if it is the same for all.
    even: bool,
    value: Option<usize>,
}

impl Store {
    fn new(rng: &mut StdRng) -> Self {
        let even = rng.random();
        let options = Options {
            durability: Durability::Buffered,
            levels: Levels {
                level0_tables: 100,
                ..Levels::default()
            },
            table: TableSpec {
                table_bytes: [8 << 10, 64 << 20][rng.random_range(0..2)],
                ..TableSpec::default()
            },
            ..Options::in_memory()
        };
        let mut store = Store {
            db: Db::open("store", options).unwrap(),
            map: Map::new(),
            even,
            value: [Some(9), None][rng.random_range(0..2)],
        };
        // With gaps, in which newer tables have many keys in a row.
        let present: Vec<u32> = (0..KEYS)
            .filter(|n| n / 10 % 3 > 0 && rng.random_range(0..4) > 0)
            .collect();
        for n in present {
            store.put(rng, n);
        }
        store.db.compact_range(None, None).unwrap();
        store
    }

    fn put(&mut self, rng: &mut StdRng, n: u32) {
        let (key, value) = (key(n, self.even), value(rng, self.value));
        self.db.put(&key, &value).unwrap();
        self.map.insert(key, value);
    }

    /// Changes some keys, of which neighbours may be many.
    fn change(&mut self, rng: &mut StdRng) {
        let one_in = [3, 15, 60][rng.random_range(0..3)];
        for n in 0..KEYS {
            if rng.random_range(0..one_in) == 0 {
                self.put_or_delete(rng, n);
            }
        }
        if rng.random_range(0..2) == 0 {
            self.ingest(rng);
        }
        if rng.random_range(0..2) == 0 {
            self.change_neighbours(rng);
        }
        if rng.random_range(0..6) == 0 {
            let (from, to) = (rng.random_range(0..KEYS), rng.random_range(0..60));
            let keys: Vec<Vec<u8>> =
                (self.map.keys().skip(from as usize).take(to).cloned()).collect();
            if let [first, .., last] = &keys[..] {
                self.db.delete_range(first.clone()..last.clone()).unwrap();
                keys[..keys.len() - 1]
                    .iter()
                    .for_each(|key| _ = self.map.remove(key));
            }
        }
    }

    /// Writes a key, sometimes often.
    fn put_or_delete(&mut self, rng: &mut StdRng, n: u32) {
        match rng.random_range(0..8) {
            0 => {
                let key = key(n, self.even);
                self.db.delete(&key).unwrap();
                self.map.remove(&key);
            }
            2 => {
                let (key, value) = (self.random_key(rng), value(rng, self.value));
                self.db.put(&key, &value).unwrap();
                self.map.insert(key, value);
            }
            1 => (0..12).for_each(|_| self.put(rng, n)),
            _ => self.put(rng, n),
        }
    }

    fn change_neighbours(&mut self, rng: &mut StdRng) {
        let first = rng.random_range(0..KEYS - 200);
        (first..first + 200).for_each(|n| self.put_or_delete(rng, n));
    }

    /// Writes neighbours into a table of their own, which has one sequence.
    fn ingest(&mut self, rng: &mut StdRng) {
        let first = rng.random_range(0..KEYS - 200);
        let entries: Map = (first..first + 200)
            .map(|n| (key(n, self.even), value(rng, self.value)))
            .collect();
        self.db.ingest_sorted(&entries).unwrap();
        self.map.extend(entries);
    }

    fn random_key(&self, rng: &mut StdRng) -> Vec<u8> {
        let mut key = key(rng.random_range(0..KEYS), self.even);
        match rng.random_range(0..4) {
            0 => key.push(0),
            1 => _ = key.pop(),
            2 => key.extend([1; 30]),
            _ => {}
        }
        key
    }

    fn random_range(&self, rng: &mut StdRng) -> Range {
        let mut bounds = [self.random_key(rng), self.random_key(rng)];
        bounds.sort();
        bounds[1].push(7);
        let [from, to] = bounds;
        let from =
            [Unbounded, Included(from.clone()), Excluded(from)][rng.random_range(0..3)].clone();
        (
            from,
            [Unbounded, Included(to.clone()), Excluded(to)][rng.random_range(0..3)].clone(),
        )
    }
}

/// Compares steps of all kinds from both ends with those over a map.
fn walk(rng: &mut StdRng, store: &Store, mut iter: Iter<'_>, map: &Map, (from, to): Range) {
    let copied = |(key, value): (&Vec<u8>, &Vec<u8>)| (key.clone(), value.clone());
    let inside = map.range::<Vec<u8>, _>((from.as_ref(), to.as_ref()));
    let inside: Map = inside.map(copied).collect();
    let mut left = inside.clone();
    for _ in 0..rng.random_range(1..400) {
        match rng.random_range(0..200) {
            0 => {
                let key = store.random_key(rng);
                iter.seek(&key);
                // What the back has returned is not returned again.
                let behind = left.last_key_value().map(|(key, _)| key.clone());
                left = inside.range(key..).map(copied).collect();
                match behind {
                    Some(last) => left.retain(|key, _| *key <= last),
                    None => return,
                }
            }
            1 => {
                let last = iter.next_back().map(|entry| entry.unwrap());
                let last = last.map(|(key, value)| (key.to_vec(), value.to_vec()));
                assert_eq!(last, left.pop_last());
            }
            // Ends that move leave the key shown last at hand.
            2..6 if !left.is_empty() => {
                let shown = (iter.key().to_vec(), iter.value().to_vec());
                let last = left.last_key_value().map(|(key, _)| key.clone()).unwrap();
                iter.seek_back(&last);
                assert_eq!((iter.key().to_vec(), iter.value().to_vec()), shown);
            }
            6..10 => {
                let block = iter.next_block().unwrap();
                for (key, value) in block.iter().flat_map(|block| block.iter()) {
                    let (expected, its_value) = left.pop_first().unwrap();
                    assert_eq!((key, value), (&expected[..], &its_value[..]));
                }
            }
            10..60 => {
                let next = iter.next().map(|entry| entry.unwrap());
                let next = next.map(|(key, value)| (key.to_vec(), value.to_vec()));
                assert_eq!(next, left.pop_first());
            }
            _ => {
                let advanced = iter.advance().unwrap();
                let shown = advanced.then(|| (iter.key().to_vec(), iter.value().to_vec()));
                assert_eq!(shown, left.pop_first());
            }
        }
    }
}

#[test]
fn entries_beside_what_is_lent_come_in_order() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    let before = shown_beside();
    for _ in 0..40 {
        let mut store = Store::new(&mut rng);
        let mut snapshots: Vec<(Snapshot, Map)> = Vec::new();
        for _ in 0..rng.random_range(1..4) {
            snapshots.push((store.db.snapshot(), store.map.clone()));
            store.change(&mut rng);
            if rng.random_range(0..3) == 0 {
                store.db.flush().unwrap();
            }
        }
        for _ in 0..20 {
            let range = store.random_range(&mut rng);
            let iter = store.db.range(range.clone()).unwrap();
            walk(&mut rng, &store, iter, &store.map, range.clone());
            let (snapshot, map) = &snapshots[rng.random_range(0..snapshots.len())];
            let iter = snapshot.range(&store.db, range.clone()).unwrap();
            walk(&mut rng, &store, iter, map, range);
        }
        let all = store.db.iter().unwrap().map(|entry| entry.unwrap());
        let all = all.map(|(key, value)| (key.to_vec(), value.to_vec()));
        assert!(all.eq(store.map.clone()));
    }
    let shown = shown_beside() - before;
    println!("{shown} keys were shown beside what was lent");
    assert!(shown > 500, "{shown} keys");
}
