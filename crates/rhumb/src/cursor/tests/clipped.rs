//! A cursor over a range of keys against an ordered map.

use std::cmp::Reverse;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::cursor::ClippedCursor;
use crate::entry::cursor_checks::{Model, assert_at, pass, skip, walk};
use crate::entry::{Cursor, EntryKind};
use crate::memtable::Memtable;
use crate::test_seed::test_seed;

#[test]
fn a_clipped_cursor_goes_where_its_range_does() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    let memtable = Arc::new(Memtable::new());
    let mut all = Model::new();
    // Odd sequences are those of range deletes, which no entry has.
    for number in 1..=300 {
        let sequence = 2 * number;
        let key = vec![rng.random_range(0..100u8)];
        let value = vec![number as u8];
        memtable
            .insert(&key, sequence, EntryKind::Put, &value)
            .unwrap();
        all.insert((key, Reverse(sequence)), (EntryKind::Put, value));
    }
    for _ in 0..200 {
        let from = vec![rng.random_range(0..100u8); rng.random_range(0..2)];
        let to = rng
            .random_bool(0.8)
            .then(|| vec![rng.random_range(0..110u8)]);
        let inside = |key: &[u8]| *from <= *key && to.as_ref().is_none_or(|to| key < &to[..]);
        let model: Model = all
            .iter()
            .filter(|((key, _), _)| inside(key))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        let mut cursor = ClippedCursor::new(memtable.cursor(), &from, to.as_deref());
        assert_at(&mut cursor, None);
        pass(&mut cursor, &model);
        for _ in 0..20 {
            let (key, sequence) = (vec![rng.random_range(0..110u8)], rng.random_range(0..620));
            walk(&mut rng, &mut cursor, &model, key, sequence);
        }
        cursor.seek_first().unwrap();
        let end = [rng.random_range(0..110u8)];
        let newer = (&end[..], 2 * rng.random_range(0..310) + 1);
        skip(&mut cursor, &model, model.first_key_value(), newer, true);
    }
}
