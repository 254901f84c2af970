//! Tables of entries of one size take no header an entry, and answer as all others do.

use std::cmp::Reverse;

use rand::SeedableRng;

use super::round_trip::check_cursor;
use super::*;
use crate::entry::MAX_SEQUENCE;
use crate::error::Error;
use crate::table::Salvage;

/// `count` entries of 8 + 8 bytes whose sequences are below `sequences`.
fn equal_entries(count: u64, sequences: u64) -> Model {
    let entry = |n: u64| {
        let key = hash_key(&n.to_le_bytes()).to_be_bytes().to_vec();
        let sequence = n.wrapping_mul(0x9E37_79B9) % sequences;
        let place = (key, Reverse(sequence));
        (place, (EntryKind::Put, n.to_le_bytes().to_vec()))
    };
    (0..count).map(entry).collect()
}

fn table_of(model: &Model, index: &str, spec: &str) -> TestTable {
    TestTable::new(
        &settings(index, spec, model),
        model,
        &RangeDeletes::default(),
    )
}

/// The units of a table and the entries of a full one; zeros if it has none.
fn units(table: &TableReader) -> (u64, u32) {
    let units = table.directory.units();
    units.map_or((0, 0), |u| (u.count(), u.entries_per_unit()))
}

#[test]
fn entries_take_their_own_bytes_and_a_share_of_the_checksum() {
    for (sequences, width, stretches) in [(1, 0, 1), (1 << 22, 3, 3)] {
        let model = equal_entries(100_000, sequences);
        for n in [1, 2, 8, 128] {
            let spec = format!("partition=entries({n}),filter=10");
            let made = table_of(&model, "pgm:boundary=128", &spec);
            let table = made.open(0).unwrap();
            assert_eq!(units(&table).1, n);
            let blocks = made.summary.sections_offset as f64 / 1e5;
            let expected = 16.0 + f64::from(width) + 4.0 / f64::from(n);
            // Each width of sequences begins with a unit of its own.
            assert!((blocks - expected).abs() < 0.01, "{n}: {blocks}");
            assert!(table.blocks() <= 100_000u64.div_ceil(n.into()) + stretches);
            let index = table.memory().index as f64 / 1e5;
            let file = made.summary.file_bytes as f64 / 1e5;
            println!(
                "entries({n}), sequences of {width}: {blocks:.2} B, file {file:.2} B an entry"
            );
            assert!(n < 8 || file - index <= 24.0, "{file} B an entry");
            // The directory computes offsets and ranks.
            assert!(table.memory().directory < 1_000);
        }
    }
}

#[test]
fn a_window_is_read_in_one_call_and_only_its_entries() {
    let model = equal_entries(20_000, 1);
    for index in ["pgm:boundary=32", "fp:boundary=32", "fp-raw:boundary=32"] {
        for n in [1, 4u32] {
            let spec = format!("partition=entries({n}),filter=0");
            let table = table_of(&model, index, &spec).open(0).unwrap();
            check_windows(&table, &model, n);
        }
    }
}

fn check_windows(table: &TableReader, model: &Model, n: u32) {
    let unit = 4 + 16 * u64::from(n);
    let mut source = BlockSource::new(true);
    for (key, _) in model.keys().step_by(7) {
        let before = source.trace;
        source.leave_table();
        let mut numbers = NumberCache::default();
        let found = table.get(&Asked::alone(key, 1), &mut numbers, &mut source);
        assert!(found.unwrap().is_some());
        let trace = source.trace;
        assert_eq!(trace.reads - before.reads, 1);
        let blocks = u64::from(trace.blocks_read - before.blocks_read);
        let ranks = u64::from(trace.window_ranks - before.window_ranks);
        assert!((2..=32).contains(&ranks), "{ranks}");
        let most = (ranks - 1).div_ceil(n.into()) + 1;
        assert!(blocks <= most, "{blocks} {ranks}");
        // The last unit of the table may have fewer entries.
        assert!(trace.bytes_read - before.bytes_read <= blocks * unit);
    }
}

/// Comparisons of kinds need the kind that was asked for, also where it takes more memory than fence
/// pointers and its windows span more than a block.
#[test]
fn the_index_asked_for_is_kept_whatever_it_costs() {
    let model = equal_entries(1_000, 1);
    let costly = "radix-spline:boundary=16,radix_bits=18";
    for n in [1, 4] {
        let made = table_of(&model, costly, &format!("partition=entries({n}),filter=0"));
        assert_eq!(made.fallback(), "");
        assert_eq!(made.summary.index_kind, "radix-spline");
        check_windows(&made.open(0).unwrap(), &model, n);
    }
    let by_bytes = table_of(&model, costly, "partition=bytes(64)");
    assert!(by_bytes.fallback().contains("fence pointers"));
    assert_eq!(by_bytes.summary.index_kind, "fp");
}

/// Adds an entry that no unit holds, or a larger sequence, at a random place.
fn with_an_odd_one(rng: &mut StdRng, model: &mut Model) -> &'static str {
    let keys: Vec<_> = model.keys().cloned().collect();
    let (key, sequence) = keys[rng.random_range(0..keys.len())].clone();
    let mut longer = key.clone();
    let put = |len| (EntryKind::Put, vec![7; len]);
    let place = |key| (key, Reverse(sequence.0 + 1));
    match rng.random_range(0..6) {
        0 => {
            model.insert(place(key), put(8));
            "a second version"
        }
        1 => {
            model.insert((key, sequence), (EntryKind::Delete, Vec::new()));
            "a delete"
        }
        2 => {
            model.insert((key, sequence), put(9));
            "another value length"
        }
        3 => {
            longer.push(1);
            model.insert(place(longer), put(8));
            "another key length"
        }
        4 => {
            model.remove(&(key.clone(), sequence));
            model.insert((key, Reverse(1 << rng.random_range(20..61))), put(8));
            "a larger sequence"
        }
        _ => {
            model.insert((Vec::new(), Reverse(1)), put(8));
            "an empty key"
        }
    }
}

#[test]
fn tables_whose_entries_differ_on_the_way_answer_as_the_model_does() {
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    let mut mixed = BTreeMap::new();
    for case in 0..120 {
        let sequences = [1, 1, 250, 70_000, 1 << 40][case % 5];
        let mut model = equal_entries(rng.random_range(1..300), sequences);
        let mut odd = Vec::new();
        for _ in 0..rng.random_range(0..3) {
            odd.push(with_an_odd_one(&mut rng, &mut model));
        }
        let n = [1, 2, 7, 64, 65_535][rng.random_range(0..5)];
        let index = KINDS[rng.random_range(0..KINDS.len())];
        let context = format!("seed {seed}, case {case}, {index}, entries({n}), {odd:?}");
        let made = table_of(&model, index, &format!("partition=entries({n})"));
        let table = made.open([0, 1 << 20][case % 2]).unwrap();
        let (units, _) = units(&table);
        for why in odd {
            *mixed.entry(why).or_insert(0) += u32::from(units > 0 && units < table.blocks());
        }
        let report = table.verify(&mut |_, _| {}).expect(&context);
        assert_eq!(report.entries, model.len() as u64, "{context}");
        assert_eq!(table.summary(), made.summary, "{context}");
        let mut read = Model::new();
        let salvage = Salvage::open(&*made.fs, &made.path).unwrap();
        salvage
            .entries(
                &mut |key, sequence, kind, value| {
                    let entry = (kind, value.to_vec());
                    read.insert((key.to_vec(), Reverse(sequence)), entry);
                    Ok(())
                },
                &mut |lost| panic!("{context}: {lost:?}"),
            )
            .unwrap();
        assert!(read == model, "{context}");
        for key in probes(&mut rng, &model, 100) {
            for visible in [0, 200, 50_000, MAX_SEQUENCE] {
                let answer = get(&table, &key, visible).unwrap();
                assert_eq!(answer, expected(&model, &key, visible), "{context}");
            }
        }
        check_cursor(&mut rng, &table, &model);
    }
    println!("{mixed:?}");
    for why in ["a second version", "a delete", "another value length"] {
        assert!(mixed[why] > 3, "{why}: {mixed:?}");
    }
}

#[test]
fn entries_that_fit_no_unit_have_blocks_as_before() {
    let mut long = equal_entries(10, 1);
    long.values_mut()
        .for_each(|(_, value)| value.resize(70_000, 1));
    let equal = equal_entries(1_000, 1);
    for (model, spec) in [
        (&long, "partition=entries(4)"),
        (&equal, "partition=entries(4),compression=lz4"),
        (&equal, "partition=bytes(100)"),
        (&equal, "partition=predicted"),
    ] {
        let table = table_of(model, "pgm:boundary=32", spec).open(0).unwrap();
        assert_eq!(units(&table), (0, 0), "{spec}");
        table.verify(&mut |_, _| {}).unwrap();
    }
    // Units of 65,535 entries of 260 bytes would be larger than 16 MiB.
    let mut wide = equal_entries(100, 1);
    wide.values_mut()
        .for_each(|(_, value)| value.resize(252, 1));
    for (n, some) in [(65_535, false), (60_000, true)] {
        let spec = format!("partition=entries({n})");
        let table = table_of(&wide, "fp", &spec).open(0).unwrap();
        assert_eq!(units(&table).0 > 0, some, "{n}");
    }
}

#[test]
fn a_unit_in_the_place_of_another_is_refused() {
    let model = equal_entries(1_000, 1);
    let made = table_of(&model, "fp", "partition=entries(10)");
    let good = made.bytes();
    let table = made.open(0).unwrap();
    let [(a, len), (b, _)] = [3, 7].map(|unit| table.directory.extent(unit).unwrap());
    let mut bytes = good.clone();
    bytes.copy_within(b as usize..b as usize + len, a as usize);
    made.set_bytes(&bytes);
    let error = table.verify(&mut |_, _| {}).unwrap_err();
    assert!(matches!(error, Error::Corruption { offset, .. } if offset == a));
    assert!(
        error.to_string().contains("a unit with checksum"),
        "{error}"
    );
}
