//! Sections with matching checksums and wrong contents: slower or refused, never wrong.

use rand::SeedableRng;

use super::*;
use crate::entry::MAX_SEQUENCE;
use crate::entry::checksum::{crc, stamped};
use crate::error::Error;
use crate::table::form::footer::FOOTER_BYTES;

const ROW_BYTES: usize = 32;
const DIRECTORY: u16 = 1;
const INDEX: u16 = 2;
const KEY_MAP: u16 = 5;
pub(super) const PROPERTIES: u16 = 6;

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Changes the section with this id, and makes the checksums of section, rows and footer match
/// again.
pub(super) fn with_section(table: &[u8], id: u16, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut bytes = table.to_vec();
    let footer = bytes.len() - FOOTER_BYTES;
    let (table_id, rows) = (u64_at(&bytes, footer), u64_at(&bytes, footer + 16) as usize);
    let row = (rows..footer)
        .step_by(ROW_BYTES)
        .find(|row| bytes[*row..row + 2] == id.to_le_bytes())
        .unwrap();
    let (start, len) = (
        u64_at(&bytes, row + 8) as usize,
        u64_at(&bytes, row + 16) as usize,
    );
    change(&mut bytes[start..start + len]);
    let sum = stamped(&bytes[start..start + len], table_id, start as u64);
    bytes[row + 4..row + 8].copy_from_slice(&sum.to_le_bytes());
    let sum = stamped(&bytes[rows..footer], table_id, rows as u64);
    bytes[footer + 28..footer + 32].copy_from_slice(&sum.to_le_bytes());
    let sum = crc(&bytes[footer..footer + 36]);
    bytes[footer + 36..footer + 40].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn mutate(rng: &mut StdRng, bytes: &mut [u8]) {
    for _ in 0..rng.random_range(1..6) {
        let at = rng.random_range(0..bytes.len());
        match rng.random_range(0..4) {
            0 => bytes[at] ^= 1 << rng.random_range(0..8),
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][rng.random_range(0..5)],
            2 => {
                let end = bytes.len().min(at + 8);
                let word = [0, u64::MAX, 1 << 63, f64::NAN.to_bits(), rng.random()];
                let word = word[rng.random_range(0..5)].to_le_bytes();
                bytes[at..end].copy_from_slice(&word[..end - at]);
            }
            _ => bytes[at] = rng.random(),
        }
    }
}

/// Changes a block as it is stored, and makes its checksum match again.
pub(super) fn with_block(
    bytes: &[u8],
    table: &TableReader,
    block: u64,
    change: impl FnOnce(&mut [u8]),
) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let (offset, len) = table.directory.extent(block).unwrap();
    let stored = &mut bytes[offset as usize..offset as usize + len];
    change(stored);
    let sum = stamped(&stored[4..], table.table_id(), offset);
    stored[..4].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn check_gets(rng: &mut StdRng, table: &TableReader, model: &Model, context: &str) -> (u32, u32) {
    let (mut right, mut refused) = (0, 0);
    for key in probes(rng, model, 12) {
        let visible = [MAX_SEQUENCE, 50_000][rng.random_range(0..2)];
        match get(table, &key, visible) {
            Ok(answer) => {
                assert_eq!(answer, expected(model, &key, visible), "{context}");
                right += 1;
            }
            Err(_) => refused += 1,
        }
    }
    (right, refused)
}

#[test]
fn hostile_indexes_maps_and_directories_never_give_a_wrong_answer() {
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    let mut opened = [0u32; 4];
    let mut right = [0u32; 4];
    for _ in 0..40 {
        let model = random_model(&mut rng);
        let settings = random_settings(&mut rng, &model);
        let test = TestTable::new(&settings, &model, &RangeDeletes::default());
        let good = test.bytes();
        let has_map = test.open(0).unwrap().key_map().unwrap().is_some();
        for _ in 0..60 {
            let which = rng.random_range(0..4);
            let id = [DIRECTORY, INDEX, KEY_MAP, PROPERTIES][which];
            if id == KEY_MAP && !has_map {
                continue;
            }
            test.set_bytes(&with_section(&good, id, |section| {
                mutate(&mut rng, section)
            }));
            let Ok(table) = test.open(1 << 20) else {
                continue;
            };
            opened[which] += 1;
            let context = format!("seed {seed}, section {id}, {settings:?}");
            right[which] += check_gets(&mut rng, &table, &model, &context).0;
            let _ = table.verify(&mut |_, _| {});
        }
    }
    println!("opened {opened:?}, right answers {right:?}");
    assert!(opened.iter().all(|n| *n > 20), "{opened:?}");
    assert!(right.iter().all(|n| *n > 20), "{right:?}");
}

/// The number of mutations of placed tables.
fn cases() -> usize {
    match std::env::var("RHUMB_DEEP") {
        Ok(_) => 1_000_000,
        Err(_) => 100_000,
    }
}

/// A small placed table: with a stride or without, with versions, empty cells and extra blocks.
fn placed_table(rng: &mut StdRng) -> (TestTable, Model, Arc<TableReader>) {
    loop {
        let mut model = random_model(rng);
        while model.len() > 400 {
            model.pop_last();
        }
        let partition = ["predicted", "predicted(1)", "predicted(3)"][rng.random_range(0..3)];
        let compression = ["none", "none", "lz4"][rng.random_range(0..3)];
        let spec = format!("partition={partition},compression={compression},filter=0");
        let settings = settings(
            ["plr", "plr:boundary=8", "rmi:leaves=9"][rng.random_range(0..3)],
            &spec,
            &model,
        );
        let test = TestTable::new(&settings, &model, &RangeDeletes::default());
        let table = test.open(0).unwrap();
        if table.directory.is_placed() && test.summary.file_bytes < 200_000 {
            return (test, model, table);
        }
    }
}

/// Changes the slot hint of a block that is not compressed, and makes its checksum match again.
fn with_hint(rng: &mut StdRng, table: &TableReader, bytes: &[u8]) -> Vec<u8> {
    let block = rng.random_range(0..table.blocks());
    with_block(bytes, table, block, |block| {
        if block[4] != 0 {
            return;
        }
        let hint: u32 = match rng.random_range(0..3) {
            0 => rng.random(),
            1 => 0x7fff_7fff,
            // Narrow, and close to a right one.
            _ => [0, 0x0001_0001, 0xffff_ffff, 0x0002_0001][rng.random_range(0..4)],
        };
        block[9 + 24..9 + 28].copy_from_slice(&hint.to_le_bytes());
    })
}

#[test]
fn hostile_placements_never_give_a_wrong_answer() {
    use crate::entry::Cursor;
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    let (mut done, mut opened, mut right, mut refused) = (0, [0u32; 4], [0u32; 4], 0u32);
    while done < cases() {
        let (test, model, sound) = placed_table(&mut rng);
        let good = test.bytes();
        let flat: Vec<_> = model
            .keys()
            .map(|(key, sequence)| (key, sequence.0))
            .collect();
        for _ in 0..500 {
            done += 1;
            let which = rng.random_range(0..4);
            test.set_bytes(&match which {
                0 => with_section(&good, DIRECTORY, |section| mutate(&mut rng, section)),
                // The entries a cell; or the thresholds or the stride.
                1 => with_section(&good, DIRECTORY, |section| match rng.random() {
                    true => {
                        let n = [1, 2, 4, 9, 300, u32::MAX][rng.random_range(0..6)];
                        section[24..28].copy_from_slice(&n.to_le_bytes());
                    }
                    false => {
                        let end = section.len().min(72);
                        mutate(&mut rng, &mut section[40..end]);
                    }
                }),
                2 => with_section(&good, INDEX, |section| mutate(&mut rng, section)),
                _ => with_hint(&mut rng, &sound, &good),
            });
            let Ok(table) = test.open(1 << 20) else {
                continue;
            };
            opened[which] += 1;
            let context = format!("seed {seed}, kind of change {which}");
            for key in probes(&mut rng, &model, 3) {
                match get(&table, &key, 50_000) {
                    Ok(answer) => {
                        assert_eq!(answer, expected(&model, &key, 50_000), "{context}");
                        right[which] += 1;
                    }
                    Err(_) => refused += 1,
                }
                let mut cursor = table.cursor(true);
                if cursor.seek(&key, MAX_SEQUENCE).is_ok() {
                    let found = cursor
                        .valid()
                        .then(|| (cursor.key().to_vec(), cursor.sequence()));
                    let at = flat.partition_point(|(k, _)| **k < key);
                    let expected = flat.get(at).map(|(k, s)| (k.to_vec(), *s));
                    assert_eq!(found, expected, "{context}");
                }
                if cursor.seek_before(&key).is_ok() {
                    let at = flat.partition_point(|(k, _)| **k < key);
                    let expected = at.checked_sub(1).map(|at| flat[at].0.clone());
                    let found = cursor.valid().then(|| cursor.key().to_vec());
                    assert_eq!(found, expected, "{context}");
                }
            }
        }
    }
    println!("{done} cases, opened {opened:?}, right answers {right:?}, {refused} refused");
    assert!(
        right.iter().all(|n| *n > 2_000) && refused > 100,
        "{right:?} {refused}"
    );
}

#[test]
fn properties_that_differ_from_the_entries_are_found() {
    let keys = (1..300u64).map(|n| (n.to_be_bytes().to_vec(), std::cmp::Reverse(n + 100)));
    let model: Model = keys
        .map(|at| (at, (EntryKind::Put, b"value".repeat(9))))
        .collect();
    let test = TestTable::new(
        &settings("fp", "partition=bytes(512)", &model),
        &model,
        &RangeDeletes::default(),
    );
    let good = test.bytes();
    test.open(0).unwrap().verify(&mut |_, _| {}).unwrap();
    for (name, says) in [
        ("deletes", "deletes"),
        ("key.smallest", "first key"),
        ("key.largest", "last key"),
        ("raw_block.largest", "largest raw block"),
        ("sequence.smallest", "least sequence"),
        ("sequence.largest", "greatest sequence"),
    ] {
        test.set_bytes(&with_section(&good, PROPERTIES, |section| {
            let at = section
                .windows(name.len())
                .position(|w| w == name.as_bytes());
            // The name is followed by the length and the first byte of the value.
            section[at.unwrap() + name.len() + 1] += 1;
        }));
        let error = test.open(0).unwrap().verify(&mut |_, _| {}).unwrap_err();
        assert!(error.to_string().contains(says), "{name}: {error}");
    }
}

#[test]
fn an_index_of_an_unknown_kind_is_not_taken_for_damage() {
    let model = random_model(&mut StdRng::seed_from_u64(1));
    let settings = settings("fp", "", &model);
    let test = TestTable::new(&settings, &model, &RangeDeletes::default());
    test.set_bytes(&with_section(&test.bytes(), INDEX, |index| index[0] = 99));
    let refused = test.open(0).unwrap_err();
    assert!(matches!(refused, Error::Unsupported { .. }), "{refused}");
}

#[test]
fn an_index_of_another_table_only_costs_reads() {
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    let keys = |multiplier: u64, shift: u32| -> Model {
        (0..3_000u64)
            .map(|i| (i * multiplier) << shift)
            .map(|n| ((n.to_be_bytes().to_vec(), std::cmp::Reverse(1)), n))
            .map(|(at, n)| (at, (EntryKind::Put, n.to_le_bytes().repeat(8))))
            .collect()
    };
    let (model, other) = (keys(1, 0), keys(977, 20));
    for kind in KINDS {
        let mut spec = settings(kind, "filter=0", &model);
        let none = RangeDeletes::default();
        let test = TestTable::new(&spec, &model, &none);
        spec.map = settings(kind, "", &other).map;
        let foreign = TestTable::new(&spec, &other, &none).open_any().unwrap();
        let mut table = Arc::into_inner(test.open(0).unwrap()).unwrap();
        table.own = Arc::into_inner(foreign).unwrap().own;
        let (right, refused) = check_gets(&mut rng, &table, &model, "a foreign index");
        assert_eq!((right, refused), (14, 0));
        assert!(table.verify(&mut |_, _| {}).is_err(), "{kind}");
    }
}

#[test]
fn hostile_blocks_do_not_panic() {
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    let (mut answered, mut refused) = (0, 0);
    for _ in 0..60 {
        let mut model = random_model(&mut rng);
        while model.len() > 2_000 {
            model.pop_last();
        }
        let settings = random_settings(&mut rng, &model);
        let test = TestTable::new(&settings, &model, &RangeDeletes::default());
        let good = test.bytes();
        let table = test.open(0).unwrap();
        for round in 0..40 {
            let number = rng.random_range(0..table.blocks());
            test.set_bytes(&with_block(&good, &table, number, |block| {
                let columns = block.len().min(120);
                mutate(&mut rng, &mut block[4..columns]);
            }));
            for key in probes(&mut rng, &model, 8) {
                match get(&table, &key, 50_000) {
                    Ok(_) => answered += 1,
                    Err(_) => refused += 1,
                }
            }
            if round % 4 == 0 {
                walk(&table);
            }
        }
    }
    assert!(
        answered > 300 && refused > 300,
        "{answered} answered, {refused} refused"
    );
}

/// Goes over a table in both directions until an error.
fn walk(table: &Arc<TableReader>) {
    use crate::entry::Cursor;
    let mut cursor = table.cursor(false);
    let mut steps = 0;
    if cursor.seek_first().is_ok() {
        while cursor.valid() && cursor.next().is_ok() {
            steps += cursor.value_bytes().len().min(1) + 1;
        }
    }
    if cursor.seek_last().is_ok() {
        while cursor.valid() && cursor.prev().is_ok() {
            steps += 1;
        }
    }
    assert!(steps < 10_000_000);
}

#[test]
fn hostile_tables_that_were_given_up_half_way_never_give_a_wrong_answer() {
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    // Cells with and without entries, followed by blocks cut by bytes.
    let spread = (0..22_000).map(|_| (rng.random::<u64>() >> 1).to_be_bytes().to_vec());
    let tied = (0..2_000u32).map(|i| [&[0xf0; 8][..], &i.to_be_bytes()].concat());
    let keys: Vec<_> = spread.chain(tied).collect();
    let put = |key: Vec<u8>| {
        let at = (key, std::cmp::Reverse(7));
        (at, (EntryKind::Put, vec![5; 60]))
    };
    let model: Model = keys.into_iter().map(put).collect();
    let settings = settings("plr", "partition=predicted(1),filter=0", &model);
    let test = TestTable::new(&settings, &model, &RangeDeletes::default());
    let good = test.bytes();
    let table = test.open(0).unwrap();
    assert!(!table.directory.is_placed() && table.directory.entries_per_cell() == 1);
    let (mut opened, mut right) = (0, 0);
    for case in 0..cases() / 500 {
        let id = [DIRECTORY, INDEX][rng.random_range(0..2)];
        test.set_bytes(&with_section(&good, id, |section| {
            mutate(&mut rng, section);
        }));
        let Ok(table) = test.open(1 << 20) else {
            continue;
        };
        opened += 1;
        let context = format!("seed {seed}, case {case}, section {id}");
        right += check_gets(&mut rng, &table, &model, &context).0;
    }
    println!("opened {opened}, right answers {right}");
    assert!(opened > 20 && right > 200, "{opened} {right}");
}
