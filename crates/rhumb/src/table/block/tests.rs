//! Blocks of any shape decode to the entries they were built from.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::entry::{EntryKind, MAX_SEQUENCE, Pointer};

type Entries = BTreeMap<(Vec<u8>, std::cmp::Reverse<u64>), Option<Vec<u8>>>;

fn entries() -> impl Strategy<Value = Entries> {
    let key = prop_oneof![
        prop::collection::vec(0..3u8, 0..6),
        prop::collection::vec(any::<u8>(), 8),
        (0..2000u32).prop_map(|n| format!("shared/prefix/{n:06}").into_bytes()),
        (0..3usize, any::<u8>()).prop_map(|(n, b)| [vec![b'k'; 250 + 200 * n], vec![b]].concat()),
    ];
    let sequence = prop_oneof![Just(5), 0..9u64, any::<u64>()];
    let value = prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 8).prop_map(Some),
        2 => prop::collection::vec(any::<u8>(), 0..400).prop_map(Some),
        1 => Just(None),
    ];
    let entry = ((key, sequence.prop_map(std::cmp::Reverse)), value);
    prop::collection::btree_map(0..1u8, 0..1u8, 0..1)
        .prop_flat_map(move |_| prop::collection::vec(entry.clone(), 1..120))
        .prop_map(|entries| entries.into_iter().collect())
}

fn encoded(entries: &Entries, continues: bool) -> Vec<u8> {
    let mut builder = BlockBuilder::default();
    let mut last: Option<&[u8]> = None;
    for ((key, sequence), value) in entries {
        let kind = if value.is_some() {
            EntryKind::Put
        } else {
            EntryKind::Delete
        };
        let value = value.as_deref().unwrap_or_default();
        let entry = NewEntry {
            key,
            sequence: sequence.0,
            kind,
            value,
            new_key: last.replace(key) != Some(key),
        };
        assert!(builder.push_within(&entry, usize::MAX));
    }
    let mut raw = Vec::new();
    let first = builder.first_key().to_vec();
    builder.encode(continues.then_some(&first), None, &mut raw);
    assert_eq!(raw.len(), builder.raw_bytes());
    raw
}

fn check(entries: &Entries, raw: &[u8]) {
    let layout = BlockLayout::parse(raw).unwrap();
    layout.check(raw).unwrap();
    let sound = BlockLayout::of_sound(raw);
    assert_eq!(format!("{sound:?}"), format!("{layout:?}"));
    let view = BlockView::new(raw, &layout);
    assert_eq!(view.count(), entries.len());
    view.check_order().unwrap();
    if view.is_of_kind(EntryKind::Put) {
        check_copies(entries, &view);
    }
    check_walks(entries, &view);
    let mut found = Vec::new();
    for (slot, ((key, sequence), value)) in entries.iter().enumerate() {
        view.key_into(slot, &mut found);
        assert_eq!(&found, key);
        assert_eq!(view.sequence(slot), sequence.0);
        assert_eq!(view.kind(slot) == EntryKind::Put, value.is_some());
        let (start, len) = view.value(slot);
        assert_eq!(
            raw[start..start + len],
            value.as_deref().unwrap_or_default()[..]
        );
        for probe in [
            key.clone(),
            [&key[..], &[0]].concat(),
            key[..key.len() / 2].to_vec(),
        ] {
            assert_eq!(view.compare(slot, &probe), key.cmp(&probe));
            assert_eq!(view.has_key(slot, &probe), *key == probe);
            let below = entries.keys().filter(|(key, _)| *key < probe).count();
            for slots in [0..view.count(), slot..view.count(), 0..slot, slot..slot] {
                let first = below.clamp(slots.start, slots.end);
                let (found, has_key) = view.first_from(slots.clone(), &probe);
                assert_eq!(found, first);
                assert!(!has_key || slots.contains(&found) && view.has_key(found, &probe));
            }
            for at in [
                0,
                sequence.0.wrapping_sub(1),
                sequence.0,
                sequence.0.wrapping_add(1),
            ] {
                let place = (probe.clone(), std::cmp::Reverse(at));
                let expected = entries.range(..place).count();
                assert_eq!(view.lower_bound(&probe, at), expected);
                for (hint, near) in HINTS
                    .iter()
                    .flat_map(|h| [(h, expected), (h, slot), (h, usize::MAX)])
                {
                    let mut layout = layout;
                    layout.hint = *hint;
                    let view = BlockView::new(raw, &layout);
                    let (found, has_key) = view.find_near(&probe, at, Some(near as u64));
                    assert_eq!(found, expected, "{hint:?} about {near}");
                    let has = view.has_key(found, &probe);
                    assert!(!has_key || has);
                    assert!(has_key == has || !view.is_row(), "of rows it is known");
                }
            }
        }
    }
}

/// Walks over entries from several slots to the end.
fn check_walks(entries: &Entries, view: &BlockView<'_>) {
    for from in (0..entries.len()).step_by(5) {
        let (mut walk, mut key) = (view.walk_from(from), Vec::new());
        view.key_into(from, &mut key);
        let mut same = vec![7; 3];
        let begun = view.walk_to(from, &mut same);
        assert_eq!((&same, begun.is_none()), (&key, view.is_row()));
        assert_eq!(view.value_near(from, begun.as_ref()), view.value(from));
        for (slot, ((expected, _), _)) in entries.iter().enumerate().skip(from) {
            if slot > from {
                view.walk_on(&mut walk, &mut key);
            }
            assert_eq!(&key, expected, "{slot} from {from}");
            assert!(walk.value_of_put_at(slot).is_some());
            assert_eq!(view.value_near(slot, Some(&walk)), view.value(slot));
            assert_eq!(
                view.value_near(slot, Some(&view.walk_from(slot))),
                view.value(slot)
            );
        }
    }
}

/// Copies the keys from several slots on.
fn check_copies(entries: &Entries, view: &BlockView<'_>) {
    let mut copied = CopiedRows::default();
    for from in (0..entries.len()).step_by(7) {
        view.copy_rows(from, usize::MAX, &mut copied);
        assert_eq!(
            (copied.prefix(), copied.end()),
            (view.prefix(), entries.len())
        );
        let mut place = copied.key_place(from);
        for (slot, ((expected, _), _)) in entries.iter().enumerate().skip(from) {
            if slot > from {
                place = copied.key_behind(place.end, slot);
            }
            assert_eq!(copied.key(&place), expected, "{slot} from {from}");
            assert_eq!(copied.key_place(slot), place);
            assert_eq!(copied.value_place(slot), view.value(slot));
        }
        // At least the wanted one, and all in pieces.
        let (mut slot, mut keys) = (from, Vec::new());
        while slot < entries.len() {
            view.copy_rows(slot, 20, &mut copied);
            assert!(copied.end() > slot);
            for slot in slot..copied.end() {
                keys.push(copied.key(&copied.key_place(slot)).to_vec());
            }
            slot = copied.end();
        }
        assert!(entries.keys().skip(from).map(|(key, _)| key).eq(&keys));
    }
}

/// Slot hints: right ones, and wrong ones of all kinds.
const HINTS: [(i16, i16); 7] = [
    (0, 0),
    (-2, 3),
    (1, 1),
    (-400, 400),
    (5, 9),
    (i16::MIN, i16::MIN),
    (i16::MAX, i16::MAX),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn order_is_checked_as_the_keys_are_read(
        entries in entries(), at in any::<prop::sample::Index>(), byte in any::<u8>()
    ) {
        let mut raw = encoded(&entries, false);
        let keys = BlockLayout::parse(&raw).unwrap().keys();
        // Half of the changes are among the keys.
        let at = if byte & 1 == 0 { at.index(raw.len()) } else { keys + at.index(raw.len() - keys + 1) };
        if let Some(stored) = raw.get_mut(at) {
            *stored ^= byte;
        }
        let Ok(layout) = BlockLayout::parse(&raw) else { return Ok(()) };
        if layout.check(&raw).is_ok() {
            let view = BlockView::new(&raw, &layout);
            let entry = |slot| {
                let mut key = Vec::new();
                view.key_into(slot, &mut key);
                (key, std::cmp::Reverse(view.sequence(slot)))
            };
            let ascends = (1..view.count()).all(|slot| entry(slot - 1) < entry(slot));
            prop_assert_eq!(view.check_order().is_ok(), ascends);
        }
    }

    #[test]
    fn blocks_come_back(entries in entries(), continues: bool) {
        let raw = encoded(&entries, continues);
        check(&entries, &raw);
        let layout = BlockLayout::parse(&raw).unwrap();
        prop_assert_eq!(BlockView::new(&raw, &layout).continues(), continues);
        for len in 0..raw.len() {
            prop_assert!(BlockLayout::parse(&raw[..len]).is_err());
        }
    }
}

#[test]
fn keys_and_values_of_one_size_take_no_lengths() {
    let entry = |i: u64| {
        let key = (i << 20).to_be_bytes().to_vec();
        ((key, std::cmp::Reverse(7)), Some(vec![1; 100]))
    };
    let entries: Entries = (0..100).map(entry).collect();
    let raw = encoded(&entries, false);
    // The block prefix holds the first four bytes of each key.
    assert_eq!(raw.len(), FRAME_BYTES + 4 + 100 * (4 + 100));
    check(&entries, &raw);
}

#[test]
fn a_delete_among_many_is_padded() {
    let mut entries: Entries = (0..200u64)
        .map(|i| {
            (
                (i.to_be_bytes().to_vec(), std::cmp::Reverse(7)),
                Some(vec![1; 30]),
            )
        })
        .collect();
    let before = encoded(&entries, false).len();
    entries.insert((77u64.to_be_bytes().to_vec(), std::cmp::Reverse(7)), None);
    let raw = encoded(&entries, false);
    assert_eq!(raw.len(), before + 200);
    check(&entries, &raw);
}

#[test]
fn the_limit_is_kept_exactly() {
    let mut builder = BlockBuilder::default();
    let mut raw = Vec::new();
    for i in 0..5_000u64 {
        let key = format!("some/path/{}/{i:05}", i / 100).into_bytes();
        let value = vec![0; (i % 50) as usize];
        let entry = NewEntry {
            key: &key,
            sequence: i,
            kind: EntryKind::Put,
            value: &value,
            new_key: true,
        };
        if !builder.push_within(&entry, 2_000) {
            raw.clear();
            builder.encode(None, None, &mut raw);
            assert!((1_800..=2_000).contains(&raw.len()), "{}", raw.len());
            builder.clear();
            assert!(builder.push_within(&entry, 2_000));
        }
    }
}

#[test]
fn unknown_kinds_and_reserved_bits_are_refused() {
    let entries: Entries = (0..40u8)
        .map(|i| {
            (
                (vec![i; 3], std::cmp::Reverse(7)),
                (i % 2 == 0).then(|| vec![i]),
            )
        })
        .collect();
    let good = encoded(&entries, false);
    let layout = BlockLayout::parse(&good).unwrap();
    let refused = |at: usize, to: u8| {
        let mut raw = good.clone();
        raw[at] = to;
        BlockLayout::parse(&raw)
            .and_then(|layout| layout.check(&raw))
            .unwrap_err()
    };
    let error = format!("{:?}", refused(layout.kinds as usize + 5, 3));
    assert!(error.contains("entries of kind 3"), "{error}");
    let error = format!("{:?}", refused(layout.kinds as usize + 4, 2));
    assert!(error.contains("1 pointers"), "{error}");
    refused(0, good[0] | flag::PREVIOUS_RELATIVE);
    refused(2, 0);
    refused(6, good[6] & !WITH_FENCE_KEYS);
    refused(6, WITH_POINTERS | good[6]);
    refused(7, 1);
    refused(1, 65);
}

#[test]
fn a_block_without_entries_has_one_form_for_each_prefix() {
    for prefix in [&b""[..], b"user"] {
        let mut raw = Vec::new();
        encode_empty(prefix, &mut raw);
        let layout = BlockLayout::parse(&raw).unwrap();
        let view = BlockView::new(&raw, &layout);
        assert_eq!((view.count(), view.slot_hint()), (0, None));
        assert_eq!(view.lower_bound(b"user1", 7), 0);
        // Every byte except the number of entries and the hint.
        let fences = raw.len() - FENCE_KEY_BYTES..raw.len();
        for at in (0..2).chain(4..24).chain(fences) {
            let mut other = raw.clone();
            other[at] ^= 1;
            assert!(BlockLayout::parse(&other).is_err(), "byte {at}");
        }
    }
}

/// So many groups that their heads are not compared all at once.
#[test]
fn hints_bound_the_search_among_many_groups() {
    let entry = |i: u32| ((format!("{i:o}").into_bytes(), std::cmp::Reverse(7)), None);
    let entries: Entries = (0..1_000).map(entry).collect();
    let raw = encoded(&entries, false);
    let layout = BlockLayout::parse(&raw).unwrap();
    assert!(!layout.fixed_keys && layout.groups() > 40);
    for hint in HINTS {
        let mut layout = layout;
        layout.hint = hint;
        let view = BlockView::new(&raw, &layout);
        for (slot, (key, _)) in entries.keys().enumerate() {
            for expected in [
                0,
                slot.saturating_sub(3),
                slot,
                slot + 40,
                999,
                1_000,
                70_000,
            ] {
                let (found, _) = view.find_near(key, 7, Some(expected as u64));
                assert_eq!(found, slot, "{hint:?} about {expected}");
            }
        }
    }
}

/// Limits inside of groups, at their borders and behind all of a range.
#[test]
fn ranges_are_searched_from_and_to_any_slot() {
    let entry = |i: u32| ((format!("{i:o}").into_bytes(), std::cmp::Reverse(7)), None);
    for count in [1, 16, 17, 200, 1_000] {
        let mut entries: Entries = (0..count).map(entry).collect();
        let raw = encoded(&entries, false);
        let layout = BlockLayout::parse(&raw).unwrap();
        let view = BlockView::new(&raw, &layout);
        entries.extend([entry(8_000), entry(70_000)]);
        let limits: Vec<_> = entries.keys().map(|(key, _)| key).collect();
        let count = count as usize;
        for start in (0..count).step_by(7) {
            for end in [0, 1, 5, 16, 33, 600].map(|len| count.min(start + len)) {
                for limit in limits.iter().skip(start / 2).step_by(1 + count / 40) {
                    let below = view.lower_bound(limit, MAX_SEQUENCE);
                    let (found, has_key) = view.first_from(start..end, limit);
                    assert_eq!(found, below.clamp(start, end), "{start}..{end} of {count}");
                    let is_there = found < end && view.has_key(found, limit);
                    // The first key of a group was only compared.
                    let begins_group = found.is_multiple_of(1 << layout.group_shift);
                    assert!(!has_key || is_there);
                    assert!(has_key || !is_there || begins_group || layout.fixed_keys);
                }
            }
        }
    }
}

/// Pointers follow the values, which then are not found from the end of the block.
#[test]
fn pointers_behind_keys_of_different_lengths_are_found() {
    let pointer = |i: u64| Pointer {
        file: 3,
        offset: 100 * i,
        len: 7,
    };
    let mut builder = BlockBuilder::default();
    for i in 0..50 {
        let entry = NewEntry {
            key: &vec![b'a'; i + 1],
            sequence: 7,
            kind: EntryKind::Pointer,
            value: &pointer(i as u64).to_bytes(),
            new_key: true,
        };
        assert!(builder.push_within(&entry, usize::MAX));
    }
    let mut raw = Vec::new();
    builder.encode(None, None, &mut raw);
    let layout = BlockLayout::of_sound(&raw);
    let parsed = BlockLayout::parse(&raw).unwrap();
    assert_eq!(format!("{layout:?}"), format!("{parsed:?}"));
    assert!(layout.fixed_values && !layout.fixed_keys);
    let view = BlockView::new(&raw, &layout);
    assert_eq!(view.pointer(view.count() - 1), pointer(49));
}

/// Damaged bytes give wrong columns, and no panic.
#[test]
fn damaged_bytes_have_some_layout() {
    let entry = |i: u32| {
        let value = (!i.is_multiple_of(3)).then(|| vec![9; (i % 2) as usize]);
        ((format!("{i:o}").into_bytes(), std::cmp::Reverse(7)), value)
    };
    for alike in [false, true] {
        let entries: Entries = (0..50)
            .map(|i| entry(if alike { 6 * i + 1 } else { i }))
            .collect();
        let raw = encoded(&entries, false);
        for len in 0..raw.len() {
            BlockLayout::of_sound(&raw[..len]);
        }
        for at in 0..HEADER_BYTES {
            for bit in 0..8 {
                let mut raw = raw.clone();
                raw[at] ^= 1 << bit;
                BlockLayout::of_sound(&raw);
            }
        }
    }
}

/// What keys share is measured now and then; when must not matter.
#[test]
fn blocks_do_not_depend_on_when_they_are_measured() {
    let strategy = (entries(), 100..4_000usize);
    proptest!(|((entries, limit) in strategy)| {
        let (mut often, mut late) = (BlockBuilder::default(), BlockBuilder::default());
        let mut last: Option<&[u8]> = None;
        for ((key, sequence), value) in &entries {
            let entry = NewEntry {
                key,
                sequence: sequence.0,
                kind: if value.is_some() { EntryKind::Put } else { EntryKind::Delete },
                value: value.as_deref().unwrap_or_default(),
                new_key: last.replace(key) != Some(key),
            };
            let added = often.push_within(&entry, limit);
            prop_assert_eq!(added, late.push_within(&entry, limit));
            let exact = often.raw_bytes();
            prop_assert!(exact <= limit || often.count() == 1);
        }
        let (mut one, mut other) = (Vec::new(), Vec::new());
        often.encode(None, None, &mut one);
        late.encode(None, None, &mut other);
        prop_assert_eq!(one, other);
    });
}
