//! A range delete removes exactly the keys that its bounds admit, whatever these are, and a read of the
//! same range shows the same keys before.

use std::collections::BTreeSet;
use std::ops::{Bound, RangeBounds};

use crate::kit::{Random, case_seed, seed};
use rhumb::{Db, Error, Options, WriteBatch};

const LONGEST: usize = 65_536;

type Range = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// Short keys, many of them prefixes of each other, and some of the longest and largest.
fn some_keys() -> Vec<Vec<u8>> {
    let mut keys = vec![Vec::new()];
    for first in [0, b'k', 0xFE, 0xFF] {
        keys.push(vec![first]);
        for second in [0, 1, 0xFF] {
            keys.push(vec![first, second]);
        }
    }
    let mut longest = vec![0xFF; LONGEST];
    keys.push(longest.clone());
    keys.push(longest[1..].to_vec());
    longest[LONGEST - 1] = 0;
    keys.push(longest.clone());
    longest[0] = b'k';
    keys.push(longest);
    keys
}

fn bound(random: &mut Random, keys: &[Vec<u8>]) -> Bound<Vec<u8>> {
    let key = keys[random.below(keys.len() as u64) as usize].clone();
    match random.below(5) {
        0 => Bound::Unbounded,
        1 | 2 => Bound::Included(key),
        _ => Bound::Excluded(key),
    }
}

fn found(db: &Db, range: Range) -> BTreeSet<Vec<u8>> {
    let entries = db.range(range).unwrap();
    entries.map(|entry| entry.unwrap().0.to_vec()).collect()
}

fn all() -> Range {
    (Bound::Unbounded, Bound::Unbounded)
}

#[test]
fn what_is_deleted_is_what_the_range_holds() {
    let keys = some_keys();
    println!("200 rounds, RHUMB_SEED={}", seed());
    for round in 0..200 {
        let mut random = Random(case_seed(round));
        let db = Db::open("store", Options::in_memory()).unwrap();
        let mut model = BTreeSet::new();
        for key in keys.iter().filter(|_| random.percent(80)) {
            db.put(key, "1").unwrap();
            model.insert(key.clone());
        }
        if random.percent(30) {
            db.flush().unwrap();
        }
        let range = (bound(&mut random, &keys), bound(&mut random, &keys));
        let case = format!("RHUMB_SEED={}, round {round}", seed());
        let inside = |key: &Vec<u8>| range.contains(key);
        let held: BTreeSet<Vec<u8>> = model.iter().filter(|k| inside(k)).cloned().collect();
        assert_eq!(found(&db, range.clone()), held, "{case}");
        if random.percent(50) {
            db.delete_range(range.clone()).unwrap();
        } else {
            let mut batch = WriteBatch::new();
            batch.delete_range(&db, range.clone()).unwrap();
            db.write(batch).unwrap();
        }
        model.retain(|key| !inside(key));
        assert_eq!(found(&db, all()), model, "{case}");
        db.compact_range(None, None).unwrap();
        assert_eq!(found(&db, all()), model, "{case}, merged");
    }
}

#[test]
fn ranges_without_keys_write_nothing() {
    let db = Db::open("store", Options::in_memory()).unwrap();
    let largest = vec![0xFF; LONGEST];
    let mut batch = WriteBatch::new();
    batch.delete_range(&db, "b".."a").unwrap();
    batch.delete_range(&db, "a".."a").unwrap();
    batch.delete_range(&db, "b"..="a").unwrap();
    batch.delete_range(&db, .."").unwrap();
    let behind_all = (Bound::Excluded(largest), Bound::Unbounded);
    batch.delete_range(&db, behind_all).unwrap();
    assert_eq!(batch.len(), 0);
    batch.delete_range(&db, "a"..="a").unwrap();
    assert_eq!(batch.len(), 1);
}

#[test]
fn bounds_that_are_too_long_are_refused() {
    let db = Db::open("store", Options::in_memory()).unwrap();
    db.put("a", "1").unwrap();
    let long = vec![b'k'; LONGEST + 1];
    for range in [
        (Bound::Included(long.clone()), Bound::Unbounded),
        (Bound::Excluded(long.clone()), Bound::Unbounded),
        (Bound::Unbounded, Bound::Included(long.clone())),
        (Bound::Unbounded, Bound::Excluded(long)),
    ] {
        let refused = db.delete_range(range).unwrap_err();
        assert!(matches!(refused, Error::InvalidArgument(_)), "{refused}");
    }
    assert!(db.contains_key("a").unwrap());
}
