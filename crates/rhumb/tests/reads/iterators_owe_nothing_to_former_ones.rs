//! An iterator goes on with the cursor that another one left behind, and shows what a new one would: whatever was written since,
//! wherever the other one stopped, and at any snapshot.

use std::ops::Bound;

use crate::kit::{Random, case_seed, seed, small};
use crate::snapshots_answer_like_keyspaces::{Model, Pairs, key, pairs, write};
use rhumb::{Db, Iter, Snapshot};

fn bound(random: &mut Random) -> Bound<Vec<u8>> {
    match random.below(4) {
        0 => Bound::Included(key(random)),
        1 => Bound::Excluded(key(random)),
        _ => Bound::Unbounded,
    }
}

/// An iterator between two bounds, and what it has to show; bounds in the wrong order show nothing.
fn between<'db>(
    db: &'db Db,
    snapshot: Option<&Snapshot>,
    model: &Model,
    random: &mut Random,
) -> (Iter<'db>, Pairs) {
    let bounds = (bound(random), bound(random));
    let iter = match snapshot {
        Some(at) => at.range(db, bounds.clone()).unwrap(),
        None => db.range(bounds.clone()).unwrap(),
    };
    let is_in = |key: &Vec<u8>| {
        let from = match &bounds.0 {
            Bound::Included(from) => key >= from,
            Bound::Excluded(from) => key > from,
            Bound::Unbounded => true,
        };
        let to = match &bounds.1 {
            Bound::Included(to) => key <= to,
            Bound::Excluded(to) => key < to,
            Bound::Unbounded => true,
        };
        from && to
    };
    let shown = model.iter().filter(|(key, _)| is_in(key));
    let shown = shown.map(|(key, value)| (key.clone(), value.clone()));
    (iter, shown.collect())
}

/// Goes some way over a part of the keys, and leaves the iterator there.
fn read(db: &Db, snapshot: Option<&Snapshot>, model: &Model, random: &mut Random, case: &str) {
    let (mut iter, shown) = between(db, snapshot, model, random);
    let most = random.below(shown.len() as u64 + 3) as usize;
    match random.below(4) {
        0 => {
            let expected: Pairs = shown.into_iter().rev().take(most).collect();
            assert_eq!(pairs(iter.rev().take(most)), expected, "{case}");
        }
        1 => {
            let keys = iter.keys().take(most).map(|key| key.unwrap().to_vec());
            let expected = shown.iter().take(most).map(|(key, _)| key.clone());
            assert!(keys.eq(expected), "{case}");
        }
        2 => {
            let sought = key(random);
            iter.seek(&sought);
            for (key, value) in shown.iter().filter(|(key, _)| *key >= sought).take(most) {
                assert!(iter.advance().unwrap(), "{case}");
                assert_eq!((iter.key(), iter.value()), (&key[..], &value[..]), "{case}");
            }
        }
        _ => {
            let expected = &shown[..most.min(shown.len())];
            assert_eq!(pairs(iter.take(most)), expected, "{case}");
        }
    }
}

#[test]
fn each_shows_what_a_new_one_would() {
    println!("60 cases, RHUMB_SEED={}", seed());
    for case in 0..60 {
        let mut random = Random(case_seed(case));
        let db = Db::open("store", small()).unwrap();
        let (mut model, mut taken) = (Model::new(), Vec::<(Snapshot, Model)>::new());
        for step in 0..300u64 {
            let name = format!("RHUMB_SEED={}, case {case}, step {step}", seed());
            let (one, other) = (key(&mut random), key(&mut random));
            match random.below(20) {
                0..6 => write(&db, &mut model, step, &mut random),
                6 => db.flush().unwrap(),
                7 => db.compact_range(Some(&one), Some(&other)).unwrap(),
                8 => taken.push((db.snapshot(), model.clone())),
                _ => match taken.get(random.below(2 * taken.len() as u64 + 1) as usize) {
                    Some((at, then)) => read(&db, Some(at), then, &mut random, &name),
                    None => read(&db, None, &model, &mut random, &name),
                },
            }
        }
    }
}
