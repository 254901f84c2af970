//! Tables whose index gives the exact ranks of the keys looked up: kinds that retain the mapped
//! keys, and the data-unclustered kinds.

use std::cmp::Reverse;

use rand::SeedableRng;
use rhumb_index::registry::{self, Answers, Kind};

use super::round_trip::check_cursor;
use super::*;
use crate::entry::MAX_SEQUENCE;

/// A kind that retains its mapped keys, and all kinds that are exact by themselves.
fn specs() -> Vec<&'static str> {
    let kinds = registry::kinds()
        .iter()
        .filter(|kind| kind.answers == Answers::Exact);
    let names = kinds.map(|kind| kind.name);
    ["plr:retained=1"].into_iter().chain(names).collect()
}

fn kind_of(spec: &str) -> &'static Kind {
    let name = spec.split(':').next().unwrap();
    registry::kinds().iter().find(|k| k.name == name).unwrap()
}

/// Keys far apart; every hundredth is followed by `ties` more with the same number.
fn with_ties(rng: &mut StdRng, count: usize, ties: u8) -> Model {
    let put = |key: Vec<u8>| ((key, Reverse(1)), (EntryKind::Put, vec![7; 200]));
    let mut model = Model::new();
    for number in 0..count {
        let key = rng.random::<u64>().to_be_bytes().to_vec();
        let more = if number % 100 == 0 { ties } else { 0 };
        model.extend((0..more).map(|i| put([&key[..], &[b'/', i]].concat())));
        model.insert((key, Reverse(1)), (EntryKind::Put, vec![7; 200]));
    }
    model
}

/// Gets every key by reading only blocks of keys with its number.
fn get_all(table: &TableReader, model: &Model, context: &str) {
    let map = settings("fp", "", model).map;
    let mut runs: BTreeMap<u64, u32> = BTreeMap::new();
    for (key, _) in model.keys() {
        *runs.entry(map.number(key)).or_default() += 1;
    }
    for ((key, _), (_, value)) in model {
        let (mut numbers, mut source) = (NumberCache::default(), BlockSource::new(true));
        let found = table.get(&Asked::alone(key, MAX_SEQUENCE), &mut numbers, &mut source);
        assert_eq!(
            *found.unwrap().unwrap().content.into_value(),
            value[..],
            "{context}"
        );
        let most = runs[&map.number(key)];
        assert!(
            (1..=most).contains(&source.trace.blocks_read),
            "{context}: {} of {most}",
            source.trace.blocks_read
        );
    }
}

#[test]
fn an_exact_kind_is_kept_in_spite_of_some_ties() {
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    let model = with_ties(&mut rng, 3_000, 2);
    for spec in specs() {
        for partition in ["entries(1)", "bytes(4096)"] {
            let settings = settings(spec, &format!("partition={partition}"), &model);
            let test = TestTable::new(&settings, &model, &RangeDeletes::default());
            let context = format!("{spec} {partition} seed {seed}");
            assert_eq!(test.fallback(), "", "{context}");
            assert_eq!(test.summary.index_kind, kind_of(spec).name, "{context}");
            let table = test.open(0).unwrap();
            table.verify(&mut |_, _| {}).unwrap();
            get_all(&table, &model, &context);
            check_cursor(&mut rng, &table, &model);
        }
    }
}

#[test]
fn exact_kinds_are_cut_by_bytes_and_kept() {
    let mut rng = StdRng::seed_from_u64(3);
    let model = with_ties(&mut rng, 8_000, 1);
    for spec in specs() {
        let build = |partition: &str| {
            let settings = settings(spec, &format!("partition={partition}"), &model);
            TestTable::new(&settings, &model, &RangeDeletes::default())
        };
        let (placed, cut) = (build("predicted"), build("bytes(4096)"));
        assert_eq!(placed.summary.index_kind, kind_of(spec).name);
        let (placed, cut) = (placed.open(0).unwrap(), cut.open(0).unwrap());
        assert_eq!(placed.blocks(), cut.blocks());
        let properties = placed.properties();
        assert_eq!(properties.text("partition"), Some("bytes(4096)"), "{spec}");
        assert_eq!(properties.text("index.spec"), Some(spec));
        assert!(!placed.fell_back() && !placed.directory.is_placed());
        get_all(&placed, &model, spec);
    }
}

/// Entries are written to the file as they arrive, whatever the kind.
#[test]
fn exact_kinds_write_entries_as_they_arrive() {
    for spec in specs() {
        let fs = Arc::new(MemoryFileSystem::new());
        let dynamic: Arc<dyn FileSystem> = fs.clone();
        let settings = settings(spec, "partition=predicted", &Model::new());
        let mut writer = TableWriter::create(&dynamic, Path::new("/"), 7, &settings).unwrap();
        for number in 0..1_000u64 {
            let key = number.to_be_bytes();
            writer.add(&key, 1, EntryKind::Put, &[3; 1_000]).unwrap();
        }
        let written = fs.bytes(Path::new("/000007.table")).unwrap().len();
        assert!(written > 700_000, "{spec}: {written} bytes of 1,000,000");
        writer.finish(&RangeDeletes::default()).unwrap();
    }
}

#[test]
fn fence_pointers_are_the_fallback_of_all_other_kinds() {
    let mut rng = StdRng::seed_from_u64(5);
    let model = with_ties(&mut rng, 2_000, 200);
    // A map that gives all keys one number, which are more than a few pages.
    let map = Arc::new(KeyMapBuilder::new().build());
    for kind in registry::kinds() {
        for partition in ["entries(1)", "predicted"] {
            let mut settings = settings(kind.name, &format!("partition={partition}"), &model);
            settings.map = Arc::clone(&map);
            let test = TestTable::new(&settings, &model, &RangeDeletes::default());
            let summary = &test.summary;
            let context = format!("{} {partition}", kind.name);
            // No model that needs numbers can distinguish the keys.
            let built = if kind.needs_number { "fp" } else { kind.name };
            assert_eq!(summary.index_kind, built, "{context}");
            assert_eq!(test.fallback().is_empty(), !kind.needs_number);
            let table = test.open(0).unwrap();
            let gives_blocks = kind.answers == Answers::Blocks || built == "fp";
            assert_eq!(
                table.own().unwrap().index.widest_window() == 0,
                gives_blocks
            );
            for ((key, _), (_, value)) in &model {
                let (mut numbers, mut source) = (NumberCache::default(), BlockSource::new(true));
                let found = table.get(&Asked::alone(key, MAX_SEQUENCE), &mut numbers, &mut source);
                assert_eq!(
                    *found.unwrap().unwrap().content.into_value(),
                    value[..],
                    "{context}"
                );
            }
        }
    }
}
