//! Every read of a snapshot agrees with a copy of what the keyspace held when the snapshot was taken, and
//! every read of a keyspace with what it holds now.

use std::collections::BTreeMap;

use crate::kit::{Random, case_seed, seed, small};
use rhumb::{Db, Error, Key, Options, Snapshot, Value};

pub(super) type Model = BTreeMap<Vec<u8>, Vec<u8>>;
pub(super) type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

pub(super) fn key(random: &mut Random) -> Vec<u8> {
    let length = random.below(3);
    (0..length).map(|_| b'a' + random.below(6) as u8).collect()
}

pub(super) fn pairs<'db>(entries: impl Iterator<Item = rhumb::Result<(Key, Value<'db>)>>) -> Pairs {
    let pairs = entries.map(|entry| entry.unwrap());
    pairs.map(|(k, v)| (k.to_vec(), v.to_vec())).collect()
}

/// Writes something to a keyspace and its model.
pub(super) fn write(db: &Db, model: &mut Model, step: u64, random: &mut Random) {
    let (one, other) = (key(random), key(random));
    match random.below(8) {
        0..5 => {
            let value = step.to_be_bytes().repeat(1 + random.below(20) as usize);
            db.put(&one, &value).unwrap();
            model.insert(one, value);
        }
        5 | 6 => {
            db.delete(&one).unwrap();
            model.remove(&one);
        }
        _ => {
            db.delete_range(&one[..]..&other[..]).unwrap();
            model.retain(|key, _| *key < one || *key >= other);
        }
    }
}

fn owned(value: Option<Value<'_>>) -> Option<Vec<u8>> {
    value.map(|value| value.to_vec())
}

/// Checks every read, at `snapshot` or, without one, now.
fn check(db: &Db, snapshot: Option<&Snapshot>, model: &Model, random: &mut Random, case: &str) {
    let keys: Vec<Vec<u8>> = (0..20).map(|_| key(random)).collect();
    let (values, have): (Vec<_>, Vec<bool>) = match snapshot {
        Some(at) => (
            at.multi_get(db, &keys).unwrap(),
            keys.iter()
                .map(|k| at.contains_key(db, k).unwrap())
                .collect(),
        ),
        None => (
            db.multi_get(&keys).unwrap(),
            keys.iter().map(|k| db.contains_key(k).unwrap()).collect(),
        ),
    };
    for ((key, value), has) in keys.iter().zip(values).zip(have) {
        let expected = model.get(key);
        let single = match snapshot {
            Some(at) => at.get(db, key).unwrap(),
            None => db.get(key).unwrap(),
        };
        assert_eq!(owned(value).as_ref(), expected, "{case}, key {key:?}");
        assert_eq!(owned(single).as_ref(), expected, "{case}, key {key:?}");
        assert_eq!(has, expected.is_some(), "{case}, key {key:?}");
    }
    let (all, part, first, last, empty) = match snapshot {
        Some(at) => (
            at.iter(db).unwrap(),
            at.prefix(db, "b").unwrap(),
            at.first(db).unwrap(),
            at.last(db).unwrap(),
            at.is_empty(db).unwrap(),
        ),
        None => (
            db.iter().unwrap(),
            db.prefix("b").unwrap(),
            db.first().unwrap(),
            db.last().unwrap(),
            db.is_empty().unwrap(),
        ),
    };
    let expected: Vec<_> = model.clone().into_iter().collect();
    let end = |entry: Option<(rhumb::Key, Value<'_>)>| entry.map(|(k, v)| (k.to_vec(), v.to_vec()));
    assert_eq!(end(first).as_ref(), expected.first(), "{case}");
    assert_eq!(end(last).as_ref(), expected.last(), "{case}");
    assert_eq!(empty, expected.is_empty(), "{case}");
    assert_eq!(pairs(all), expected, "{case}");
    let within = expected.iter().filter(|(key, _)| key.starts_with(b"b"));
    assert_eq!(pairs(part), within.cloned().collect::<Vec<_>>(), "{case}");
}

#[test]
fn snapshots_agree_with_copies() {
    println!("60 cases, RHUMB_SEED={}", seed());
    for case in 0..60 {
        let mut random = Random(case_seed(case));
        let db = Db::open("store", small()).unwrap();
        let mut model = Model::new();
        let mut taken: Vec<(Snapshot, Model)> = Vec::new();
        for step in 0..120u64 {
            match random.below(10) {
                0..8 => write(&db, &mut model, step, &mut random),
                8 => db.flush().unwrap(),
                _ => taken.push((db.snapshot(), model.clone())),
            }
        }
        let name = format!("RHUMB_SEED={}, case {case}", seed());
        check(&db, None, &model, &mut random, &name);
        for (at, (snapshot, then)) in taken.iter().enumerate() {
            let name = format!("{name}, snapshot {at}");
            check(&db, Some(snapshot), then, &mut random, &name);
        }
    }
}

#[test]
fn a_keyspace_of_another_store_is_refused() {
    let (db, other) = (
        Db::open("store", Options::in_memory()).unwrap(),
        Db::open("store", Options::in_memory()).unwrap(),
    );
    let snapshot = db.snapshot();
    for refused in [
        snapshot.multi_get(&other, &["a"]).map(|_| ()),
        snapshot.contains_key(&other, "a").map(|_| ()),
    ] {
        assert!(matches!(refused, Err(Error::InvalidArgument(_))));
    }
}
