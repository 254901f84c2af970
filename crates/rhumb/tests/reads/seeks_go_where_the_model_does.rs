//! Iterators whose two ends move and seek at random, compared with an ordered map.

use std::collections::BTreeMap;
use std::ops::Bound::{self, Excluded, Included, Unbounded};

use crate::kit::{self, Random, case_seed, deep, small};
use rhumb::{Db, Iter, Key, Keys, Value};

const KEYS: u64 = 400;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn key(n: u64) -> Vec<u8> {
    format!("key{n:03}").into_bytes()
}

/// A store with puts, deletes and range deletes in tables and write buffers, and its contents.
fn store(random: &mut Random) -> (Db, Model) {
    let mut options = small();
    // Values of one to four bytes lie apart from their keys: none, some, all.
    options.table.separate_values = [None, Some(4), Some(0)][random.below(3) as usize];
    let db = Db::open("store", options).unwrap();
    let mut model = Model::new();
    for n in 0..1_500 {
        let (at, value) = (key(random.below(KEYS)), n.to_string().into_bytes());
        match random.below(100) {
            0 => db.flush().unwrap(),
            1..4 => {
                let to = key(random.below(KEYS) + 1);
                db.delete_range(at.as_slice()..to.as_slice()).unwrap();
                model.retain(|k, _| *k < at || *k >= to);
            }
            4..10 => {
                db.delete(&at).unwrap();
                model.remove(&at);
            }
            _ => {
                db.put(&at, &value).unwrap();
                model.insert(at, value);
            }
        }
    }
    (db, model)
}

/// What an iterator has left to return: the keys between two bounds, inside those it was made with.
struct Left<'m> {
    all: &'m Model,
    bounds: (Bound<Vec<u8>>, Bound<Vec<u8>>),
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
}

impl<'m> Left<'m> {
    fn keys(&self) -> impl DoubleEndedIterator<Item = (&'m Vec<u8>, &'m Vec<u8>)> {
        let after = |k: &[u8], from: &Bound<Vec<u8>>| match from {
            Unbounded => true,
            Included(from) => k >= from.as_slice(),
            Excluded(from) => k > from.as_slice(),
        };
        let before = |k: &[u8], to: &Bound<Vec<u8>>| match to {
            Unbounded => true,
            Included(to) => k <= to.as_slice(),
            Excluded(to) => k < to.as_slice(),
        };
        let (low, high) = &self.bounds;
        self.all.iter().filter(move |(k, _)| {
            after(k, low) && after(k, &self.from) && before(k, high) && before(k, &self.to)
        })
    }

    /// One random move of an end, or a seek of it, by an iterator of each type.
    fn go(&mut self, random: &mut Random, iter: &mut Iter<'_>, keys: &mut Keys<'_>) {
        let sought = key(random.below(KEYS + 20));
        match random.below(10) {
            0 => {
                iter.seek(&sought);
                keys.seek(&sought);
                assert_eq!((iter.key(), iter.value()), (&[][..], &[][..]));
                assert_eq!(keys.key(), b"");
                self.from = Included(sought);
            }
            1 => {
                iter.seek_back(&sought);
                keys.seek_back(&sought);
                self.to = Included(sought);
            }
            2..6 => {
                let expected = self.keys().next();
                assert_eq!(iter.advance().unwrap(), expected.is_some());
                assert_eq!(keys.advance().unwrap(), expected.is_some());
                let (k, v) = expected.map_or((&[][..], &[][..]), |(k, v)| (k, v));
                assert_eq!((iter.key(), iter.value(), keys.key()), (k, v, k));
                self.leave_front(expected);
            }
            6 => {
                let expected = self.keys().next();
                assert_found(expected, iter.next(), keys.next());
                self.leave_front(expected);
            }
            _ => {
                let expected = self.keys().next_back();
                assert_found(expected, iter.next_back(), keys.next_back());
                if let Some((k, _)) = expected {
                    self.to = Excluded(k.clone());
                }
            }
        }
    }

    fn leave_front(&mut self, found: Option<(&Vec<u8>, &Vec<u8>)>) {
        if let Some((k, _)) = found {
            self.from = Excluded(k.clone());
        }
    }
}

/// Asserts that iterators of both types return the entry that is expected.
fn assert_found(
    expected: Option<(&Vec<u8>, &Vec<u8>)>,
    entry: Option<rhumb::Result<(Key, Value<'_>)>>,
    key: Option<rhumb::Result<Key>>,
) {
    let (entry, key) = (entry.map(Result::unwrap), key.map(Result::unwrap));
    assert_eq!(key.as_deref(), expected.map(|(k, _)| &**k));
    let entry = entry.as_ref().map(|(k, v)| (&**k, &**v));
    assert_eq!(entry, expected.map(|(k, v)| (&**k, &**v)));
}

#[test]
fn both_ends_move_and_seek() {
    for case in 0..40 * deep() as u64 {
        let seed = case_seed(case);
        println!("case {case}: RHUMB_SEED={} gives {seed}", kit::seed());
        let mut random = Random(seed);
        let (db, model) = store(&mut random);
        for _ in 0..20 {
            let mut bound = || match random.below(3) {
                0 => Unbounded,
                1 => Included(key(random.below(KEYS))),
                _ => Excluded(key(random.below(KEYS))),
            };
            let bounds = (bound(), bound());
            let mut left = Left {
                all: &model,
                bounds: bounds.clone(),
                from: Unbounded,
                to: Unbounded,
            };
            let mut iter = db.range(bounds.clone()).unwrap();
            let mut keys = db.range(bounds).unwrap().keys();
            for _ in 0..120 {
                left.go(&mut random, &mut iter, &mut keys);
            }
        }
    }
}

#[test]
fn each_seek_is_counted() {
    let db = Db::open("store", small()).unwrap();
    for n in 0..KEYS {
        db.put(key(n), "v").unwrap();
    }
    db.flush().unwrap();
    let before = db.stats().unwrap().scans.seeks;
    let mut iter = db.iter().unwrap();
    for n in (0..KEYS).rev().step_by(7) {
        iter.seek(key(n));
        assert!(iter.advance().unwrap());
        assert_eq!(iter.key(), key(n));
    }
    drop(iter);
    let seeks = db.stats().unwrap().scans.seeks - before;
    assert_eq!(seeks, KEYS.div_ceil(7));
}

/// The back end passes over so many deleted keys that it jumps, just where it meets the key that the front
/// end is on, whose oldest version is deleted too.
#[test]
fn a_key_that_stopped_the_back_is_found_again() {
    let db = Db::open("store", small()).unwrap();
    for n in 100..130 {
        db.put(key(n), "deleted").unwrap();
    }
    db.delete_range(key(90)..key(140)).unwrap();
    db.put(key(110), "kept").unwrap();
    db.put(key(119), "kept").unwrap();
    let mut iter = db.iter().unwrap();
    assert!(iter.advance().unwrap());
    assert_eq!(iter.key(), key(110));
    assert_eq!(&*iter.next_back().unwrap().unwrap().0, key(119));
    assert!(iter.next_back().is_none());
    iter.seek(key(0));
    assert!(iter.advance().unwrap());
    assert_eq!(iter.key(), key(110));
}
