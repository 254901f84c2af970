//! Pointers come back from their columns, take few bytes, and lead nowhere if the columns are damaged.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::{BlockBuilder, BlockLayout, BlockView, HEADER_BYTES, NewEntry};
use super::PointerView;
use crate::entry::{EntryKind, Pointer, Sequence};
use crate::table::form::damage::Damage;

/// What an entry has: nothing, a value, or a pointer.
#[derive(Debug, Clone)]
enum Has {
    Nothing,
    Value(Vec<u8>),
    Pointer(Pointer),
}

type Entries = BTreeMap<Vec<u8>, Has>;

fn pointer(file: u64, offset: u64, len: usize) -> Has {
    Has::Pointer(Pointer::new(file, offset, len).unwrap())
}

/// Adds the entries to a block as long as they fit into `limit` bytes; returns it and their number.
fn encoded(
    entries: &Entries,
    limit: usize,
    sequence: impl Fn(u64) -> Sequence,
) -> (Vec<u8>, usize) {
    let mut builder = BlockBuilder::default();
    for (place, (key, has)) in entries.iter().enumerate() {
        let stored;
        let (kind, value) = match has {
            Has::Nothing => (EntryKind::Delete, &[][..]),
            Has::Value(value) => (EntryKind::Put, &value[..]),
            Has::Pointer(pointer) => {
                stored = pointer.to_bytes();
                (EntryKind::Pointer, &stored[..])
            }
        };
        let entry = NewEntry {
            key,
            sequence: sequence(place as u64),
            kind,
            value,
            new_key: true,
        };
        if !builder.push_within(&entry, limit) {
            break;
        }
    }
    let mut raw = Vec::new();
    builder.encode(None, None, &mut raw);
    assert_eq!(raw.len(), builder.raw_bytes());
    assert!(raw.len() <= limit || builder.count() == 1);
    (raw, builder.count())
}

fn layout(raw: &[u8]) -> Result<BlockLayout, Damage> {
    let layout = BlockLayout::parse(raw)?;
    layout.check(raw)?;
    Ok(layout)
}

fn check(entries: &Entries, raw: &[u8]) {
    let layout = layout(raw).unwrap();
    let view = BlockView::new(raw, &layout);
    let mut key = Vec::new();
    for (slot, (expected, has)) in entries.iter().enumerate().take(view.count()) {
        view.key_into(slot, &mut key);
        assert_eq!(&key, expected);
        let (start, len) = view.value(slot);
        let value = &raw[start..start + len];
        match has {
            Has::Nothing => assert_eq!((view.kind(slot), value), (EntryKind::Delete, &[][..])),
            Has::Value(expected) => {
                assert_eq!((view.kind(slot), value), (EntryKind::Put, &expected[..]))
            }
            Has::Pointer(pointer) => {
                assert_eq!((view.kind(slot), value), (EntryKind::Pointer, &[][..]));
                assert_eq!(view.pointer(slot), *pointer);
            }
        }
    }
}

/// Where the values of a block lie.
#[derive(Debug, Clone, Copy)]
enum Places {
    /// Anywhere.
    Random,
    /// In a few logs, in any order.
    Logs,
    /// One behind the other in so many files.
    Ascending(u64),
}

fn entries() -> impl Strategy<Value = Entries> {
    let places = prop_oneof![
        Just(Places::Random),
        Just(Places::Logs),
        (1..9u64).prop_map(Places::Ascending),
    ];
    let one = (any::<u64>(), any::<u64>(), any::<u32>(), 0..100u32);
    let kinds = prop_oneof![
        Just((100, 100)),
        Just((95, 97)),
        Just((30, 40)),
        Just((1, 90))
    ];
    let same_len = prop_oneof![Just(true), Just(false)];
    (places, kinds, same_len, prop::collection::vec(one, 1..200)).prop_map(
        |(places, (pointers, deletes), same_len, rows)| {
            let mut end = 24;
            let entries = rows.into_iter().enumerate().map(|(i, (a, b, len, kind))| {
                let key = ((i as u64) << 20 | a & 0xfffff).to_be_bytes().to_vec();
                let len = if same_len { 1016 } else { len >> (a % 32) };
                end += u64::from(len) + 14;
                let limit = Pointer::LIMIT;
                let (file, offset) = match places {
                    Places::Random => (a >> 16 >> (b % 48), b % limit),
                    Places::Logs => (7 + 3 * (a % 4), b % (64 << 20)),
                    Places::Ascending(files) => (a % files + limit - files, end % limit),
                };
                let has = match kind {
                    kind if kind < pointers => pointer(file, offset, len as usize),
                    kind if kind < deletes => Has::Nothing,
                    _ => Has::Value(vec![kind as u8; (b % 40) as usize]),
                };
                (key, has)
            });
            entries.collect()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    #[test]
    fn pointers_come_back(entries in entries(), limit in prop_oneof![Just(usize::MAX), 60..4_000usize]) {
        let (raw, count) = encoded(&entries, limit, |_| 7);
        check(&entries, &raw);
        prop_assert!(limit < usize::MAX || count == entries.len());
        for len in 0..raw.len() {
            prop_assert!(BlockLayout::parse(&raw[..len]).is_err());
        }
    }

    #[test]
    fn damaged_columns_are_refused_or_lead_to_what_can_be_checked(
        entries in entries(), at in any::<prop::sample::Index>(), xor in 1..=255u8
    ) {
        let (mut raw, _) = encoded(&entries, usize::MAX, |i| i);
        let at = at.index(raw.len());
        raw[at] ^= xor;
        read_all(&raw);
    }
}

/// Reads everything in a block that may be damaged; a pointer of a block that is not refused can be encoded.
fn read_all(raw: &[u8]) {
    // A get takes a block that was checked when it was loaded, and never panics on another one.
    let sound = layout(raw);
    let found = BlockLayout::of_sound(raw);
    let view = BlockView::new(raw, &found);
    for slot in (0..view.count()).chain([usize::from(u16::MAX)]) {
        let pointer = view.pointer(slot);
        let (file, offset) = (pointer.file, pointer.offset);
        assert!(file < Pointer::LIMIT && offset < Pointer::LIMIT);
        if sound.is_ok() && slot < view.count() && view.kind(slot) == EntryKind::Pointer {
            assert_eq!(Pointer::from_bytes(&pointer.to_bytes()), Some(pointer));
            assert_ne!(pointer, Pointer::NOWHERE, "slot {slot}");
        }
    }
}

fn mixed() -> Entries {
    let entry = |i: u64| {
        let has = match i % 5 {
            0 => Has::Nothing,
            1 => Has::Value(vec![i as u8; 3 + i as usize % 2]),
            _ => pointer(7 + i % 3, 24 + i * 1_000 + i % 2, 900 + i as usize % 7),
        };
        (i.to_be_bytes().to_vec(), has)
    };
    (0..60).map(entry).collect()
}

#[test]
fn every_flipped_bit_and_every_cut_is_harmless() {
    let pointers = (0..40u64).map(|i| (i.to_be_bytes().to_vec(), pointer(9, 24 + 1_000 * i, 900)));
    for entries in [mixed(), pointers.collect()] {
        let (raw, _) = encoded(&entries, usize::MAX, |i| i);
        check(&entries, &raw);
        for bit in 0..raw.len() * 8 {
            let mut flipped = raw.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            read_all(&flipped);
        }
        for at in 0..raw.len() {
            let mut wide = raw.clone();
            wide[at] = 0xff;
            read_all(&wide);
            read_all(&raw[..at]);
            assert!(BlockLayout::parse(&raw[..at]).is_err());
        }
    }
}

#[test]
fn wrong_columns_are_named() {
    let entries = mixed();
    let (raw, _) = encoded(&entries, usize::MAX, |i| i);
    let start = raw.len() - raw_pointers(&raw);
    let refused = |at: usize, bytes: &[u8]| {
        let mut raw = raw.clone();
        raw[start + at..start + at + bytes.len()].copy_from_slice(bytes);
        format!("{:?}", layout(&raw).unwrap_err())
    };
    let groups = layout(&raw).unwrap().groups();
    let rows = PointerView::parse(&raw[start..], Some(groups))
        .unwrap()
        .rows;
    for (at, bytes, expected) in [
        // The first row names the fourth of three files.
        (rows, &[raw[start + rows] | 3][..], "another as number 0"),
        (6, &[0, 0], "1 to 36 value files"),
        (6, &[37, 0], "1 to 36 value files"),
        (20, &[35, 0], "block of"),
        (22, &[49], "a file number of at most 48 bits"),
        (23, &[58], "a start of at most 57 bits"),
        (24, &[33], "a slope of at most 32 bits"),
        (25, &[17], "an index of at most 16 bits"),
        (26, &[58], "a residual of at most 57 bits"),
        (27, &[33], "a length of at most 32 bits"),
        (28, &[1, 0], "0 pointers before group 0"),
        (
            0,
            &[0xff; 6],
            "a pointer with a file and an offset below 2^48",
        ),
        (
            8,
            &[0xff; 7],
            "a pointer with a file and an offset below 2^48",
        ),
        (
            16,
            &[0xff; 4],
            "a pointer with a file and an offset below 2^48",
        ),
    ] {
        let error = refused(at, bytes);
        assert!(error.contains(expected), "byte {at}: {error}");
    }
}

/// The bytes of the pointers at the end of a block without values.
fn raw_pointers(raw: &[u8]) -> usize {
    let layout = layout(raw).unwrap();
    raw.len() - layout.pointers(raw)
}

fn random(n: u64) -> u64 {
    crate::table::hash_key(&n.to_le_bytes())
}

/// 200,000 keys of 8 bytes with values of 1,016 bytes, written in random order: the bytes a key of a block of 4 KiB. `place`
/// gives file and offset of the value of a key, from its rank and from its place in the order of writing.
fn bytes_a_key(place: impl Fn(u64, u64) -> (u64, u64)) -> f64 {
    let written: BTreeMap<u64, u64> = (0..200_000).map(|n| (random(n), n)).collect();
    let ranked = (0..).zip(&written).skip(70_400).take(1_000);
    let entries = ranked.map(|(rank, (key, n))| {
        let (file, offset) = place(rank, *n);
        (key.to_be_bytes().to_vec(), pointer(file, offset, 1_016))
    });
    let entries: Entries = entries.collect();
    let (raw, count) = encoded(&entries, 4_096, |place| random(place) % 200_000);
    check(&entries, &raw);
    raw.len() as f64 / count as f64
}

#[test]
fn pointers_in_key_order_cost_next_to_nothing_and_others_few_bytes() {
    // Sequences take 18 bits, and the keys of a block share a byte.
    let own = 7.0 + 18.0 / 8.0 + HEADER_BYTES as f64 / 300.0;
    let moved = bytes_a_key(|rank, _| (1, 24 + rank * 1_034));
    assert!(moved < own + 0.3, "{moved} bytes");
    // Of 64 MiB a log: 26 bits for the offset, 2 for the file.
    let logs = bytes_a_key(|_, n| (2 + 3 * (n / 60_000), 24 + n % 60_000 * 1_086));
    assert!(logs < own + 3.8, "{logs} bytes");
    assert!(moved < 10.0 && logs < 16.0 && logs > moved);
}
