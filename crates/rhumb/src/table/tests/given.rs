//! Tables whose sequence the manifest gives.

use std::cmp::Reverse;

use rand::SeedableRng;

use super::round_trip::check_cursor;
use super::*;
use crate::entry::MAX_SEQUENCE;
use crate::error::Error;
use crate::table::Salvage;

/// A model with one version of each key, at `sequence`.
fn one_each(model: &Model, sequence: Sequence) -> Model {
    let entries = model.iter();
    let entries =
        entries.map(|((key, _), entry)| ((key.clone(), Reverse(sequence)), entry.clone()));
    entries.collect()
}

fn given(rng: &mut StdRng, model: &Model) -> TestTable {
    let mut settings = random_settings(rng, model);
    (settings.given_sequence, settings.keyspace) = (true, None);
    TestTable::new(&settings, model, &RangeDeletes::default())
}

/// What the manifest names, given a sequence.
fn named(table: &TestTable, sequence: Sequence) -> TableMeta {
    TableMeta {
        smallest_sequence: sequence,
        largest_sequence: sequence,
        map_number: 12,
        ..table.summary.clone()
    }
}

fn open_named(table: &TestTable, cache: u64, meta: &TableMeta) -> Result<Arc<TableReader>> {
    let reader = Arc::into_inner(table.open(cache)?).unwrap();
    reader.named_by(meta).map(Arc::new)
}

#[test]
fn all_entries_have_the_sequence_that_is_given() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    for _ in 0..150 {
        let plain = one_each(&random_model(&mut rng), 0);
        let table = given(&mut rng, &plain);
        assert!(table.open(0).unwrap().takes_sequence());
        assert_eq!(table.open(0).unwrap().summary(), table.summary);
        assert_eq!(table.summary.largest_sequence, 0);
        let sequence = [1, 70_000, 1 << 61][rng.random_range(0..3)];
        let (meta, model) = (named(&table, sequence), one_each(&plain, sequence));
        let reader = open_named(&table, [0, 1 << 20][rng.random_range(0..2)], &meta).unwrap();
        assert_eq!(reader.summary(), meta);
        for key in probes(&mut rng, &model, 60) {
            for visible in [0, sequence - 1, sequence, MAX_SEQUENCE] {
                let answer = get(&reader, &key, visible).unwrap();
                assert_eq!(answer, expected(&model, &key, visible));
            }
        }
        check_cursor(&mut rng, &reader, &model);
        reader.verify(&mut |_, _| {}).unwrap();
        let mut salvaged = Model::new();
        let salvage = Salvage::open(&*table.fs, &table.path).unwrap();
        let mut visit = |key: &[u8], sequence, kind, value: &[u8]| {
            salvaged.insert((key.to_vec(), Reverse(sequence)), (kind, value.to_vec()));
            Ok(())
        };
        let salvage = salvage.named_by(&meta);
        salvage
            .entries(&mut visit, &mut |_| panic!("nothing is damaged"))
            .unwrap();
        assert_eq!(salvaged, model);
    }
}

#[test]
fn other_tables_keep_their_sequences() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    let model = random_model(&mut rng);
    let settings = random_settings(&mut rng, &model);
    let table = TestTable::new(&settings, &model, &RangeDeletes::default());
    let meta = named(&table, 500_000);
    let reader = open_named(&table, 0, &meta).unwrap();
    assert!(!reader.takes_sequence());
    assert_eq!(reader.summary(), table.summary);
}

#[test]
fn one_sequence_has_to_be_given_to_all_of_a_table() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    let model = one_each(&random_model(&mut rng), 0);
    let table = given(&mut rng, &model);
    for (smallest, largest) in [(0, 0), (0, 7), (6, 7)] {
        let mut meta = named(&table, largest);
        meta.smallest_sequence = smallest;
        let opened = open_named(&table, 0, &meta);
        assert!(matches!(opened, Err(Error::Corruption { .. })));
    }
}

#[test]
fn tables_with_sequences_versions_or_range_deletes_cannot_be_given_one() {
    let entry =
        |key: &[u8], sequence| ((key.to_vec(), Reverse(sequence)), (EntryKind::Put, vec![]));
    let mut ranges = RangeDeletes::default();
    ranges.insert(b"x", b"y", 9);
    let none = RangeDeletes::default();
    let zero = Model::from([entry(b"a", 0), entry(b"b", 0)]);
    let one = Model::from([entry(b"a", 1), entry(b"b", 0)]);
    let twice = Model::from([entry(b"a", 1), entry(b"a", 0)]);
    for (model, ranges, sound) in [
        (&zero, &none, true),
        (&one, &none, false),
        (&twice, &none, false),
        (&zero, &ranges, false),
    ] {
        let mut settings = settings("plr", "partition=predicted", model);
        settings.given_sequence = true;
        let opened = TestTable::new(&settings, model, ranges).open_any();
        assert_eq!(opened.is_ok(), sound);
        assert!(matches!(opened, Ok(_) | Err(Error::Corruption { .. })));
    }
}
