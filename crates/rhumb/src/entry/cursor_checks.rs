//! Checks that every cursor must pass: it is compared with an ordered map of its entries.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use rand::RngExt;
use rand::rngs::StdRng;

use super::{Cursor, EntryKind, MAX_SEQUENCE, Sequence};

/// A user key and a sequence, in the order of a cursor.
pub(crate) type Key = (Vec<u8>, Reverse<Sequence>);
/// The kind and value of an entry.
pub(crate) type KindAndValue = (EntryKind, Vec<u8>);
/// All entries of a cursor.
pub(crate) type Model = BTreeMap<Key, KindAndValue>;

/// Checks that the cursor stands on this entry, or nowhere, in which case its answers are empty.
pub(crate) fn assert_at(cursor: &mut impl Cursor, entry: Option<(&Key, &KindAndValue)>) {
    assert_eq!(cursor.valid(), entry.is_some());
    let nothing = ((vec![], Reverse(0)), (EntryKind::Delete, vec![]));
    let ((key, sequence), (kind, value)) = entry.unwrap_or((&nothing.0, &nothing.1));
    assert_eq!(cursor.key(), key);
    assert_eq!(cursor.sequence(), sequence.0);
    let here = cursor.here().map_or(EntryKind::Delete, |here| here.kind);
    assert_eq!(here, *kind);
    assert_eq!(&*cursor.value(), value);
    assert_eq!(cursor.value_bytes(), value);
}

/// Goes over everything, forwards and backwards.
pub(crate) fn pass(cursor: &mut impl Cursor, model: &Model) {
    cursor.seek_first().unwrap();
    for entry in model {
        assert_at(cursor, Some(entry));
        cursor.next().unwrap();
    }
    assert_at(cursor, None);
    cursor.seek_last().unwrap();
    for entry in model.iter().rev() {
        assert_at(cursor, Some(entry));
        cursor.prev().unwrap();
    }
    assert_at(cursor, None);
}

/// Seeks in one of the four ways, to `key` and `sequence` where the way needs them, and moves some
/// entries forward and back from there, also past the ends.
pub(crate) fn walk(
    rng: &mut StdRng,
    cursor: &mut impl Cursor,
    model: &Model,
    key: Vec<u8>,
    sequence: Sequence,
) {
    let mut at = match rng.random_range(0..8) {
        0 => {
            cursor.seek_first().unwrap();
            model.first_key_value()
        }
        1 => {
            cursor.seek_last().unwrap();
            model.last_key_value()
        }
        2..5 => {
            cursor.seek(&key, sequence).unwrap();
            model.range((key, Reverse(sequence))..).next()
        }
        _ => {
            cursor.seek_before(&key).unwrap();
            model.range(..(key, Reverse(MAX_SEQUENCE))).next_back()
        }
    };
    assert_at(cursor, at);
    for _ in 0..rng.random_range(0..20) {
        if let Some(here) = at.filter(|_| rng.random_bool(0.2)) {
            let visible = rng.random_range(0..sequence.max(1).saturating_mul(2));
            at = go_to_seen(cursor, model, here.0, visible);
            assert_at(cursor, at);
            continue;
        }
        let forward = rng.random_bool(0.6);
        if forward {
            cursor.next()
        } else {
            cursor.prev()
        }
        .unwrap();
        at = at.and_then(|(here, _)| match forward {
            true => model.range(here..).nth(1),
            false => model.range(..here).next_back(),
        });
        assert_at(cursor, at);
    }
    // A range delete, whose sequence no entry has.
    let deleted = rng.random_range(0..sequence.max(1).saturating_mul(2));
    if !model
        .keys()
        .any(|(_, Reverse(sequence))| *sequence == deleted)
    {
        let end = model.keys().nth(rng.random_range(0..model.len().max(1)));
        let end = end.map_or(vec![], |(key, _)| key.clone());
        skip(cursor, model, at, (&end, deleted), rng.random_bool(0.5));
    }
}

/// Goes to the next entry that a reader of this sequence needs. It may stop at those before it, and a merge at copies of the current one.
fn go_to_seen<'m>(
    cursor: &mut impl Cursor,
    model: &'m Model,
    here: &Key,
    visible: Sequence,
) -> Option<(&'m Key, &'m KindAndValue)> {
    let is_passed = |key: &Key| key.0 == here.0 && (visible == 0 || key.1.0 > visible);
    let mut later = model.range(here..).skip(1);
    let last = later.find(|(key, _)| !is_passed(key)).map(|(key, _)| key);
    let mut at = Some(here.clone());
    for _ in 0..8 {
        cursor.next_seen(visible).unwrap();
        at = (cursor.valid()).then(|| (cursor.key().to_vec(), Reverse(cursor.sequence())));
        if at.as_ref() != Some(here) {
            break;
        }
    }
    let ends = last.is_none_or(|last| at.as_ref().is_some_and(|at| at <= last));
    assert!(ends && at.as_ref().is_none_or(|at| at > here), "{at:?}");
    model.get_key_value(&at?)
}

/// Skips what a range delete that begins or ends at a key hides, from entry `at` on.
pub(crate) fn skip(
    cursor: &mut impl Cursor,
    model: &Model,
    at: Option<(&Key, &KindAndValue)>,
    (end, deleted): (&[u8], Sequence),
    forward: bool,
) {
    let is_older = |key: &Key| key.1.0 < deleted;
    let expected = at.and_then(|(here, _)| match forward {
        true => {
            let hidden = |key: &Key| is_older(key) && key.0.as_slice() < end;
            model.range(here..).find(|(key, _)| !hidden(key))
        }
        false => {
            let hidden = |key: &Key| is_older(key) && key.0.as_slice() >= end;
            model.range(..=here).rfind(|(key, _)| !hidden(key))
        }
    });
    match forward {
        true => cursor.skip_older(end, deleted).unwrap(),
        false => cursor.skip_older_back(end, deleted).unwrap(),
    }
    assert_at(cursor, expected);
}

thread_local! {
    static VISITS: Cell<u64> = const { Cell::new(0) };
}

/// Counts a visit of a node of a memtable, of an entry of a table or of a block by this thread: the
/// work of cursors, for tests of how it grows.
pub(crate) fn count_visit() {
    VISITS.set(VISITS.get() + 1);
}

/// The result of some work, and the number of visits that it made.
pub(crate) fn visits_of<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = VISITS.get();
    let result = work();
    (result, VISITS.get() - before)
}
