//! Iterators whose two ends move and seek at random, compared with an ordered map.

use std::collections::BTreeMap;
use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::ops::Range;

use crate::kit::{self, Random, case_seed, deep, small};
use rhumb::{Compression, Db, Iter, Key, Keys, Partition, Value};

const KEYS: u64 = 400;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// A key; those of the second half have different lengths.
fn key(n: u64) -> Vec<u8> {
    let longer = if n < KEYS / 2 { 0 } else { n % 3 };
    format!("key{n:03}{}", &"xy"[..longer as usize]).into_bytes()
}

fn open(random: &mut Random) -> Db {
    let mut options = small();
    // Values of one to four bytes lie apart from their keys: none, some, all.
    options.table.separate_values = [None, Some(4), Some(0)][random.below(3) as usize];
    // From blocks of several tens of entries to tables without levels.
    options.levels.size_ratio = 2 + random.below(8) as u32;
    // Some stores begin their tables with units, which have no header.
    if random.below(3) == 0 {
        options.table.partition = Partition::Entries(2 + random.below(30) as u32);
        options.table.compression = Compression::None;
    }
    Db::open("store", options).unwrap()
}

/// Makes puts, deletes and range deletes, which come to tables and write buffers.
fn write(random: &mut Random, db: &Db, model: &mut Model, writes: Range<u64>) {
    // Of one length, in half of the stores.
    let least = 4 * random.below(2) as usize;
    for n in writes {
        let (at, value) = (key(random.below(KEYS)), format!("{n:0least$}").into_bytes());
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
        match random.below(11) {
            0 => {
                iter.seek(&sought);
                keys.seek(&sought);
                assert_eq!((iter.key(), iter.value()), (&[][..], &[][..]));
                assert!(iter.block().is_empty());
                assert_eq!(keys.key(), b"");
                self.from = Included(sought);
            }
            1 => {
                iter.seek_back(&sought);
                keys.seek_back(&sought);
                assert!(iter.block().is_empty());
                self.to = Included(sought);
            }
            2 => (0..random.below(60)).for_each(|_| self.advance(iter, keys)),
            3..6 => self.advance(iter, keys),
            6 => {
                let expected = self.keys().next();
                assert_found(expected, iter.next(), keys.next());
                self.leave_front(expected);
            }
            7 => (0..random.below(60)).for_each(|_| self.retreat(iter, keys)),
            8 => self.pass_block(iter, keys),
            _ => self.retreat(iter, keys),
        }
    }

    fn retreat(&mut self, iter: &mut Iter<'_>, keys: &mut Keys<'_>) {
        let expected = self.keys().next_back();
        assert_found(expected, iter.next_back(), keys.next_back());
        assert!(expected.is_none() || iter.block().is_empty());
        if let Some((k, _)) = expected {
            self.to = Excluded(k.clone());
        }
    }

    fn advance(&mut self, iter: &mut Iter<'_>, keys: &mut Keys<'_>) {
        let expected = self.keys().next();
        assert_eq!(iter.advance().unwrap(), expected.is_some());
        assert!(iter.block().is_empty());
        assert_eq!(keys.advance().unwrap(), expected.is_some());
        let (k, v) = expected.map_or((&[][..], &[][..]), |(k, v)| (k, v));
        assert_eq!((iter.key(), iter.value(), keys.key()), (k, v, k));
        self.leave_front(expected);
    }

    fn pass_block(&mut self, iter: &mut Iter<'_>, keys: &mut Keys<'_>) {
        let block = iter.next_block().unwrap().map(|block| {
            let entries = block.iter().map(|(k, v)| (k.to_vec(), v.to_vec()));
            entries.collect::<Vec<_>>()
        });
        let Some(block) = block else {
            assert!(self.keys().next().is_none() && !keys.advance().unwrap());
            assert!(iter.block().is_empty());
            return;
        };
        for (k, v) in &block {
            let expected = self.keys().next();
            assert_eq!(expected, Some((k, v)));
            assert!(keys.advance().unwrap());
            assert_eq!(keys.key(), k);
            self.leave_front(expected);
        }
        let last = Some((iter.key(), iter.value()));
        assert_eq!(iter.block().get(block.len() - 1), last);
        assert_eq!(iter.block().get(block.len()), None);
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
        let (db, mut model) = (open(&mut random), Model::new());
        write(&mut random, &db, &mut model, 0..1_000);
        let (snapshot, then) = (db.snapshot(), model.clone());
        write(&mut random, &db, &mut model, 1_000..1_500);
        if random.below(2) == 0 {
            db.compact_range(None, None).unwrap();
        }
        for _ in 0..20 {
            let now = random.below(2) == 0;
            let mut bound = || match random.below(3) {
                0 => Unbounded,
                1 => Included(key(random.below(KEYS))),
                _ => Excluded(key(random.below(KEYS))),
            };
            let bounds = (bound(), bound());
            let mut left = Left {
                all: if now { &model } else { &then },
                bounds: bounds.clone(),
                from: Unbounded,
                to: Unbounded,
            };
            let made = |bounds| match now {
                true => db.range(bounds).unwrap(),
                false => snapshot.range(&db, bounds).unwrap(),
            };
            let (mut iter, mut keys) = (made(bounds.clone()), made(bounds).keys());
            for _ in 0..120 {
                left.go(&mut random, &mut iter, &mut keys);
            }
        }
    }
}

/// A block has up to 16 entries at first, more behind that, and one where another table comes between.
#[test]
fn blocks_of_entries_grow_and_end_where_others_come_between() {
    for entries in [5, 100] {
        let mut options = small();
        options.table.partition = Partition::Entries(entries);
        options.table.compression = Compression::None;
        let db = Db::open("store", options).unwrap();
        for n in 0..300u32 {
            db.put(n.to_be_bytes(), "").unwrap();
        }
        db.compact_range(None, None).unwrap();
        let counts = |iter: &mut Iter<'_>| {
            let (mut counts, mut keys) = (Vec::new(), Vec::new());
            while let Some(block) = iter.next_block().unwrap() {
                counts.push(block.len());
                keys.extend(block.iter().map(|(key, _)| key.to_vec()));
            }
            (counts, keys)
        };
        let all: Vec<Vec<u8>> = (0..300u32).map(|n| n.to_be_bytes().to_vec()).collect();
        let (merged, keys) = counts(&mut db.iter().unwrap());
        assert_eq!(keys, all);
        match entries {
            5 => assert!(merged.iter().all(|count| *count <= 5) && merged.contains(&4)),
            _ => assert!(
                merged.starts_with(&[1, 16]) && merged.contains(&32),
                "{merged:?}"
            ),
        }
        // Every third key is in the write buffer too.
        for n in (0..300u32).step_by(3) {
            db.put(n.to_be_bytes(), "").unwrap();
        }
        let (apart, keys) = counts(&mut db.iter().unwrap());
        assert_eq!(keys, all);
        assert!(apart.iter().all(|count| *count == 1));
    }
}

/// The keys of an iterator that has returned some entries are those that it has left.
#[test]
fn keys_of_a_used_iterator_are_those_left() {
    for separate_values in [None, Some(4)] {
        let mut options = small();
        options.table.separate_values = separate_values;
        let db = Db::open("store", options).unwrap();
        for n in 0..KEYS {
            db.put(key(n), &b"value"[..1 + n as usize % 5]).unwrap();
        }
        db.compact_range(None, None).unwrap();
        for used in 0..40 {
            let mut iter = db.iter().unwrap();
            for _ in 0..used {
                assert!(iter.advance().unwrap());
            }
            let mut keys = iter.keys();
            assert_eq!(keys.key(), b"");
            for n in used..KEYS {
                assert!(keys.advance().unwrap());
                assert_eq!(keys.key(), key(n), "after {used} entries");
            }
            assert!(!keys.advance().unwrap());
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
