//! Which parts of its keys a flush writes and which it keeps back.

use proptest::prelude::*;

use super::*;
use crate::entry::EntryKind;

fn memtable(entries: impl IntoIterator<Item = (u8, Sequence)>) -> Arc<Memtable> {
    let memtable = Memtable::new();
    for (key, sequence) in entries {
        let inserted = memtable.insert(&[key], sequence, EntryKind::Put, &[]);
        inserted.unwrap();
    }
    Arc::new(memtable)
}

fn key(key: u8) -> Option<Box<[u8]>> {
    Some([key].into())
}

/// Keys below 20 are late, those from 60 on early, and those from 80 on far.
fn cut(late_keys: u64) -> Cut {
    Cut {
        frontier: key(20),
        early: key(60),
        far: key(80),
        late_keys,
    }
}

/// The bounds of ranges.
type Bounds = Vec<(u8, Option<u8>)>;

fn bounds(ranges: &[KeyRange]) -> Bounds {
    let first = |key: &[u8]| key.first().copied().unwrap_or(0);
    let each = ranges.iter();
    each.map(|r| (first(&r.from), r.to.as_deref().map(first)))
        .collect()
}

/// What is written and what is kept back, of a memtable of 40 entries from sequence 100 on.
fn parts(cut: &Cut, held: &[(u8, Sequence)], expired: Sequence) -> (Bounds, Bounds) {
    let new = memtable((20..60).zip(100..));
    let held = (!held.is_empty()).then(|| memtable(held.iter().copied()));
    let parts = Parts::of(cut, &new, held.as_ref(), expired).unwrap();
    (bounds(&parts.write), bounds(&parts.keep))
}

#[test]
fn late_keys_wait_until_a_table_of_them_pays() {
    let waits = (vec![(20, Some(60))], vec![(0, Some(20)), (60, None)]);
    let pays = (vec![(0, Some(20)), (20, Some(60))], vec![(60, None)]);
    assert_eq!(parts(&cut(9), &[], 0), waits);
    assert_eq!(parts(&cut(10), &[], 0), pays);
    let held: Vec<(u8, Sequence)> = (0..4).zip(1..).collect();
    assert_eq!(parts(&cut(5), &held, 0), waits);
    assert_eq!(parts(&cut(6), &held, 0), pays);
}

#[test]
fn old_entries_are_written() {
    let whole = (vec![(0, None)], vec![]);
    let late = (vec![(0, Some(20)), (20, Some(60))], vec![(60, None)]);
    let far = (
        vec![(20, Some(60)), (80, None)],
        vec![(0, Some(20)), (60, Some(80))],
    );
    // What is in order is written in any case.
    let waits = (vec![(20, Some(60))], vec![(0, Some(20)), (60, None)]);
    for (held, expired, expected) in [
        (&[(10, 5), (90, 6)][..], 5, &late),
        (&[(10, 6), (90, 5)][..], 5, &far),
        (&[(70, 5)][..], 5, &whole),
        (&[(30, 5)][..], 5, &waits),
        (&[][..], 100, &whole),
    ] {
        assert_eq!(&parts(&cut(0), held, expired), expected, "{held:?}");
    }
}

#[test]
fn before_the_first_frontier_nothing_is_late_and_without_early_keys_nothing_is_kept_back() {
    let first = Cut {
        frontier: None,
        ..cut(0)
    };
    assert_eq!(
        parts(&first, &[], 0),
        (vec![(0, Some(60))], vec![(60, None)])
    );
    let sorted = Cut {
        early: None,
        far: None,
        ..cut(0)
    };
    assert_eq!(
        parts(&sorted, &[], 0),
        (vec![(20, None)], vec![(0, Some(20))])
    );
}

proptest! {
    /// Every key is in one range, so that all versions of a key go or stay together.
    #[test]
    fn every_key_is_in_one_part(
        keys in proptest::collection::btree_set(1..=255u8, 3),
        absent in 0..4usize,
        late_keys in 0..20u64,
        held in proptest::collection::vec((any::<u8>(), 1..100u64), 0..10),
        expired in 0..150u64,
    ) {
        let keys: Vec<u8> = keys.into_iter().collect();
        let cut = Cut {
            frontier: key(keys[0]).filter(|_| absent & 1 == 0),
            early: key(keys[1]).filter(|_| absent & 2 == 0),
            far: key(keys[2]).filter(|_| absent & 2 == 0),
            late_keys,
        };
        let (mut all, keep) = parts(&cut, &held, expired);
        all.extend(keep);
        all.sort_unstable();
        prop_assert_eq!(all.first().unwrap().0, 0);
        prop_assert_eq!(all.last().unwrap().1, None);
        for pair in all.windows(2) {
            prop_assert_eq!(pair[0].1, Some(pair[1].0));
        }
    }
}
