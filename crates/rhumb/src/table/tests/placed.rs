//! Tables whose blocks are placed by the model: a get reads one block, with little memory, and the
//! answers are the same.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rand::SeedableRng;
use rhumb_index::check::{SplitMix64, distributions};

use super::round_trip::check_cursor;
use super::*;
use crate::entry::MAX_SEQUENCE;
use crate::table::read::source::BlockSource;

/// One version of each key; `value_bytes` gives the length of the value by the key's index.
pub(super) fn model_of(
    keys: impl IntoIterator<Item = Vec<u8>>,
    value_bytes: impl Fn(usize) -> usize,
) -> Model {
    let put = |(i, key): (usize, Vec<u8>)| {
        let value = vec![i as u8; value_bytes(i)];
        ((key, Reverse(0)), (EntryKind::Put, value))
    };
    keys.into_iter().enumerate().map(put).collect()
}

pub(super) fn random_numbers(rng: &mut StdRng, count: usize) -> Vec<u64> {
    let mut numbers: Vec<u64> = (0..count).map(|_| rng.random()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Writes and verifies a table, opened without a cache.
pub(super) fn built(settings: &TableSettings, model: &Model) -> Arc<TableReader> {
    let test = TestTable::new(settings, model, &RangeDeletes::default());
    let table = test.open(0).unwrap();
    table.verify(&mut |_, _| {}).unwrap();
    table
}

pub(super) fn trace_of(table: &TableReader, key: &[u8], visible: Sequence) -> (Answer, GetTrace) {
    let (mut numbers, mut source) = (NumberCache::default(), BlockSource::new(true));
    let version = table.get(&Asked::alone(key, visible), &mut numbers, &mut source);
    let answer = version
        .unwrap()
        .map(|v| (v.sequence, v.kind, v.content.into_value().to_vec()));
    (answer, source.trace)
}

/// Gets every key of the model. In a placed table this reads one block for each key, unless the key
/// before it has the same number. Returns the bytes that were read.
pub(super) fn get_all(table: &TableReader, model: &Model, context: &str) -> u64 {
    let mut bytes = 0;
    let mut last = None;
    for ((key, sequence), (kind, value)) in model {
        let (answer, trace) = trace_of(table, key, sequence.0);
        assert_eq!(
            answer,
            Some((sequence.0, *kind, value.clone())),
            "{context}"
        );
        let number = table.own().unwrap().number_of(key);
        if table.directory.is_placed() && last != Some(number) {
            assert_eq!(trace.blocks_read, 1, "{context}: {key:02x?}");
        }
        last = Some(number);
        bytes += trace.bytes_read;
    }
    bytes
}

#[test]
fn every_distribution_is_placed_or_falls_back() {
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    let mut outcomes: BTreeMap<&str, usize> = BTreeMap::new();
    for distribution in distributions::all() {
        let keys = distribution.keys(&mut SplitMix64::new(seed), 3_000);
        if keys.is_empty() {
            continue;
        }
        for (index, partition, compression) in [
            ("plr", "predicted", "none"),
            ("plr", "predicted(4)", "lz4"),
            ("plr:boundary=8", "predicted(1)", "none"),
            ("rmi:leaves=20", "predicted", "none"),
            ("rmi:leaves=3,root=linear", "predicted(7)", "lz4"),
            ("rmi:boundary=64", "predicted(2)", "none"),
        ] {
            let fixed = rng.random::<bool>();
            let lengths: Vec<usize> = (0..97).map(|_| rng.random_range(0..120)).collect();
            let model = model_of(keys.clone(), |i| if fixed { 64 } else { lengths[i % 97] });
            let spec = format!("partition={partition},compression={compression},filter=0");
            let table = built(&settings(index, &spec, &model), &model);
            let context = format!("{} {index} {spec} seed {seed}", distribution.name);
            get_all(&table, &model, &context);
            for key in probes(&mut rng, &model, 200) {
                let (answer, _) = trace_of(&table, &key, 5);
                assert_eq!(answer, expected(&model, &key, 5), "{context}");
            }
            if rng.random_bool(0.2) {
                check_cursor(&mut rng, &table, &model);
            }
            let outcome = match (table.directory.is_placed(), table.fell_back()) {
                (true, false) if table.directory.is_strided() => "strided",
                (true, false) => "placed",
                (false, true) => "fell back",
                other => panic!("{context}: {other:?}"),
            };
            *outcomes.entry(outcome).or_default() += 1;
        }
    }
    println!("{outcomes:?}");
    assert!(
        outcomes.len() == 3 && outcomes.values().all(|n| *n > 5),
        "{outcomes:?}"
    );
}

/// The memory of index and directory in bytes, scaled to `keys` keys, and the bytes that a get
/// reads.
fn costs(table: &TableReader, model: &Model, keys: u64) -> (u64, u64) {
    assert!(table.directory.is_strided(), "{:?}", table.properties());
    let mut source = BlockSource::new(true);
    for number in 0..10 {
        // The hint spans at most twice the error to either side.
        let (low, high) = table
            .block(number, &mut source)
            .unwrap()
            .view()
            .slot_hint()
            .unwrap();
        let boundary = table.own().unwrap().index.widest_window() as i32;
        assert!(high - low <= 2 * boundary, "{low} to {high}");
    }
    let memory = table.memory();
    let found_by = (memory.index + memory.directory) as u64;
    let read = get_all(table, model, "costs") / model.len() as u64;
    (found_by * keys / model.len() as u64, read)
}

#[test]
fn small_and_large_entries_stay_within_their_budgets() {
    let mut rng = StdRng::seed_from_u64(7);
    // Five million integers with values of 64 bytes: the limits are 119 KiB and 5,600 bytes a read.
    let keys = random_numbers(&mut rng, 200_000).into_iter();
    let model = model_of(keys.map(|n| n.to_be_bytes().to_vec()), |_| 64);
    let table = built(&settings("plr", "filter=0", &model), &model);
    let (memory, read) = costs(&table, &model, 5_000_000);
    println!("integers: {memory} bytes in memory, {read} a get");
    assert!(memory <= 100 << 10 && read <= 4_500, "{memory} {read}");
    // Two million decimal keys with values of 1,000 bytes: the limits are 444 KiB and 5,840 bytes a
    // read. In so small a table, the fixed bytes of the forms are counted a hundred times, which
    // adds 3 %.
    let decimal =
        |rng: &mut StdRng| -> Vec<u8> { (0..24).map(|_| rng.random_range(b'0'..=b'9')).collect() };
    let model = model_of((0..20_000).map(|_| decimal(&mut rng)), |_| 1_000);
    let table = built(&settings("plr", "filter=0", &model), &model);
    assert_eq!(table.directory.entries_per_cell(), 4);
    let (memory, read) = costs(&table, &model, 2_000_000);
    println!("decimals: {memory} bytes in memory, {read} a get");
    assert!(memory <= 420 << 10 && read <= 5_500, "{memory} {read}");
}

#[test]
fn versions_of_a_key_go_on_over_many_blocks() {
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    // The last key has the largest number of all.
    let mut keys: Vec<Vec<u8>> = random_numbers(&mut rng, 3_000)
        .iter()
        .map(|n| n.to_be_bytes().to_vec())
        .collect();
    keys.push(vec![0xff; 8]);
    let mut model = Model::new();
    for (i, key) in keys.iter().enumerate() {
        let versions = if i % 1_000 == 0 || i == keys.len() - 1 {
            4_000
        } else {
            1 + i as u64 % 3
        };
        for sequence in 1..=versions {
            let value = vec![i as u8; rng.random_range(0..60)];
            model.insert((key.clone(), Reverse(sequence)), (EntryKind::Put, value));
        }
    }
    for (index, partition) in [
        ("plr", "predicted"),
        ("plr", "predicted(1)"),
        ("plr", "predicted(40)"),
        ("rmi:leaves=30", "predicted"),
        ("rmi:leaves=30", "predicted(3)"),
    ] {
        let spec = format!("partition={partition},filter=0");
        let table = built(&settings(index, &spec, &model), &model);
        assert!(table.directory.is_placed() && !table.directory.is_strided());
        assert!(table.directory.extra_blocks() >= 4);
        for (i, key) in keys.iter().enumerate() {
            let newest = trace_of(&table, key, MAX_SEQUENCE);
            assert_eq!(newest.0, expected(&model, key, MAX_SEQUENCE));
            assert_eq!(
                newest.1.blocks_read, 1,
                "{index} {partition} key {i} seed {seed}"
            );
        }
        for key in probes(&mut rng, &model, 500) {
            let visible = rng.random_range(0..4_100);
            assert_eq!(
                trace_of(&table, &key, visible).0,
                expected(&model, &key, visible)
            );
        }
    }
}

#[test]
fn large_entries_stand_alone_and_cost_others_nothing() {
    let mut rng = StdRng::seed_from_u64(3);
    let keys: Vec<Vec<u8>> = random_numbers(&mut rng, 2_000)
        .iter()
        .map(|n| n.to_be_bytes().to_vec())
        .collect();
    let model = model_of(keys, |i| if i % 50 == 7 { 100 << 10 } else { 100 });
    for (index, partition) in [
        ("plr", "predicted(8)"),
        ("plr", "predicted"),
        ("rmi:leaves=20", "predicted(8)"),
        ("rmi:leaves=20", "predicted"),
    ] {
        let spec = format!("partition={partition},filter=0");
        let table = built(&settings(index, &spec, &model), &model);
        assert!(table.directory.is_placed(), "{:?}", table.properties());
        for ((key, _), (_, value)) in &model {
            let (answer, trace) = trace_of(&table, key, 0);
            assert_eq!(answer.unwrap().2, *value);
            assert_eq!(trace.blocks_read, 1);
            let alone = value.len() > 64 << 10;
            assert!(
                alone == (trace.bytes_read > 64 << 10),
                "{}",
                trace.bytes_read
            );
        }
    }
}

/// Settings with a map that was made of other keys.
fn with_map(mut settings: TableSettings, keys: &[&[u8]]) -> TableSettings {
    let mut map = KeyMapBuilder::new();
    keys.iter().for_each(|key| map.push(key));
    settings.map = Arc::new(map.build());
    settings
}

#[test]
fn maps_that_tell_no_keys_apart_cost_time_only() {
    let mut rng = StdRng::seed_from_u64(4);
    let keys = random_numbers(&mut rng, 60_000);
    let keys = keys.iter().map(|n| n.to_be_bytes().to_vec());
    let large = model_of(keys, |_| 20);
    let small: Model = large
        .iter()
        .take(40)
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    for model in [&large, &small] {
        for others in [&[][..], &[b"one".as_slice()], &[b"user1", b"user2"]] {
            let settings = with_map(settings("plr", "filter=0", model), others);
            let table = built(&settings, model);
            assert_eq!(
                table.fell_back(),
                model.len() > 1_000,
                "{:?}",
                table.properties()
            );
            for key in probes(&mut rng, model, 300) {
                assert_eq!(trace_of(&table, &key, 0).0, expected(model, &key, 0));
            }
        }
    }
}

#[test]
fn a_model_that_stops_serving_gives_the_rest_to_fence_pointers() {
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    // Numbers far apart, then many keys that differ only after what the map distinguishes.
    let spread = random_numbers(&mut rng, 30_000);
    let spread = spread.iter().map(|n| (n >> 1).to_be_bytes().to_vec());
    let tied = (0..3_000u32).map(|i| [&[0xf0; 8][..], &i.to_be_bytes()].concat());
    let model = model_of(spread.chain(tied), |_| 50);
    for (partition, compression) in [("predicted(1)", "none"), ("predicted", "lz4")] {
        let spec = format!("partition={partition},compression={compression},filter=0");
        let settings = settings("plr", &spec, &model);
        let test = TestTable::new(&settings, &model, &RangeDeletes::default());
        assert_eq!(test.summary.index_kind, "fp");
        let why = test.fallback();
        assert!(why.contains("share a number"), "{why}");
        let table = test.open(0).unwrap();
        table.verify(&mut |_, _| {}).unwrap();
        assert_eq!(table.properties().text("partition"), Some("bytes(4096)"));
        // With one entry a cell, some cells are empty.
        let cells = table.directory.entries_per_cell();
        assert_eq!(cells, if partition == "predicted" { 0 } else { 1 });
        for (key, _) in model.keys() {
            let (answer, trace) = trace_of(&table, key, 0);
            assert_eq!(answer, expected(&model, key, 0));
            assert_eq!(trace.blocks_read, 1);
        }
        check_cursor(&mut rng, &table, &model);
    }
}

#[test]
fn tiny_tables_and_empty_keys_are_placed() {
    for count in 1..40u64 {
        let keys =
            (0..count).map(|n| (n * n).to_be_bytes()[8 - (n as usize % 9).min(8)..].to_vec());
        let model = model_of(keys, |i| i);
        for partition in ["predicted", "predicted(1)", "predicted(65535)"] {
            let spec = format!("partition={partition}");
            for index in ["plr:boundary=4", "rmi:leaves=5", "rmi"] {
                let table = built(&settings(index, &spec, &model), &model);
                get_all(&table, &model, &spec);
                assert_eq!(table.entries(), model.len() as u64);
            }
        }
    }
}

#[test]
fn kinds_without_a_model_cut_by_bytes() {
    let model = model_of((0..5_000u64).map(|n| n.to_be_bytes().to_vec()), |_| 100);
    for kind in ["fp", "fp-raw"] {
        let placed = built(&settings(kind, "partition=predicted", &model), &model);
        let cut = built(&settings(kind, "partition=bytes(4096)", &model), &model);
        assert_eq!(placed.blocks(), cut.blocks());
        assert_eq!(placed.properties().text("partition"), Some("bytes(4096)"));
        assert!(!placed.fell_back() && !placed.directory.is_placed());
    }
}

#[test]
fn a_boundary_is_chosen_unless_it_is_named() {
    let map = |table: &TableReader| table.properties().text("index.spec").map(str::to_string);
    let model = model_of(
        (0..5_000u64).map(|n| (n * n).to_be_bytes().to_vec()),
        |_| 1_000,
    );
    let table = built(&settings("plr", "", &model), &model);
    assert_eq!(map(&table).as_deref(), Some("plr:boundary=32"));
    assert_eq!(table.properties().text("partition"), Some("predicted(4)"));
    let table = built(
        &settings("plr:boundary=16", "partition=predicted(9)", &model),
        &model,
    );
    assert_eq!(map(&table).as_deref(), Some("plr:boundary=16"));
    assert_eq!(table.properties().text("partition"), Some("predicted(9)"));
    assert_eq!(table.directory.entries_per_cell(), 9);
}

#[test]
fn prefixes_that_keys_share_do_not_spoil_the_stride() {
    let key = |n: u64| format!("user{n:020}/profile").into_bytes();
    let mut rng = StdRng::seed_from_u64(9);
    let keys = random_numbers(&mut rng, 20_000);
    let model = model_of(keys.iter().map(|n| key(n >> 20)), |_| 200);
    let table = built(&settings("plr", "filter=0", &model), &model);
    assert!(table.directory.is_strided(), "{:?}", table.properties());
    get_all(&table, &model, "profiles");
    // Long keys that share much only with their neighbours: a stride would cost more than it saves.
    let key = |n: u64| format!("{:064}/{:04}", (n % 50).pow(9), n / 50).into_bytes();
    let model = model_of((0..20_000).map(key), |_| 8);
    let table = built(&settings("plr", "filter=0", &model), &model);
    assert!(!table.directory.is_strided(), "{:?}", table.properties());
}

#[test]
fn cells_chosen_for_large_entries_are_given_up_where_small_ones_follow() {
    let mut rng = StdRng::seed_from_u64(10);
    let keys = random_numbers(&mut rng, 50_000);
    let keys: Vec<Vec<u8>> = keys.iter().map(|n| n.to_be_bytes().to_vec()).collect();
    // Large values, or one key with many versions.
    let large = |i: usize| if i < 1_000 { 5_000 } else { 8 };
    let values = model_of(keys.clone(), large);
    let mut versions = model_of(keys, |_| 8);
    let hot = versions.keys().next().unwrap().0.clone();
    for sequence in 1..20_000 {
        let put = (EntryKind::Put, vec![1; 60]);
        versions.insert((hot.clone(), Reverse(sequence)), put);
    }
    for model in [values, versions] {
        let table = built(&settings("plr", "filter=0", &model), &model);
        let cut = built(
            &settings("fp", "partition=bytes(4096),filter=0", &model),
            &model,
        );
        let (own, least) = (table.sections_offset, cut.sections_offset);
        assert!(own < least + least / 4, "{own} bytes, else {least}");
        assert!(table.blocks() < 8_000, "{} blocks", table.blocks());
        let why = table.properties().text("index.fallback").unwrap();
        assert!(why.contains("on average instead of"), "{why}");
        get_all(&table, &model, "small behind large");
        check_cursor(&mut rng, &table, &model);
    }
    // Small cells are kept if they were requested.
    let model = model_of((0..50_000u64).map(|n| n.to_be_bytes().to_vec()), large);
    let table = built(
        &settings("plr", "partition=predicted(2),filter=0", &model),
        &model,
    );
    assert!(table.directory.is_placed(), "{:?}", table.properties());
}

#[test]
fn versions_of_one_key_are_written_while_they_come() {
    let fs = Arc::new(MemoryFileSystem::new());
    let dynamic: Arc<dyn FileSystem> = fs.clone();
    let settings = settings(
        "plr",
        "",
        &model_of([b"one".to_vec(), b"two".to_vec()], |_| 0),
    );
    let mut writer = TableWriter::create(&dynamic, Path::new("/"), 7, &settings).unwrap();
    let value = [3; 10_000];
    for sequence in (0..4_000).rev() {
        writer
            .add(b"one", sequence, EntryKind::Put, &value)
            .unwrap();
    }
    let written = fs.bytes(Path::new("/000007.table")).unwrap().len();
    assert!(written > 20 << 20, "{written} bytes of 40 MB");
    writer.add(b"two", 1, EntryKind::Put, &value).unwrap();
    let summary = writer.finish(&RangeDeletes::default()).unwrap().summary;
    assert_eq!((summary.entries, &summary.index_kind[..]), (4_001, "fp"));
    let path = PathBuf::from("/000007.table");
    let why = TestTable { fs, path, summary }.fallback();
    assert!(why.contains("one number"), "{why}");
}

#[test]
fn what_keys_share_does_not_make_blocks_small() {
    let key = |n: u64| format!("{:0>200}", n * 7).into_bytes();
    let model = model_of((0..40_000).map(key), |_| 8);
    let table = built(&settings("plr", "filter=0", &model), &model);
    assert!(table.directory.is_placed(), "{:?}", table.properties());
    let cut = built(&settings("fp", "filter=0", &model), &model);
    let (own, least) = (table.sections_offset, cut.sections_offset);
    assert!(own < least + least / 8, "{own} bytes, else {least}");
    assert!(table.blocks() < 2 * cut.blocks(), "{}", table.blocks());
}

#[test]
fn a_get_does_not_read_all_versions_of_its_key() {
    let mut rng = StdRng::seed_from_u64(11);
    let mut model = Model::new();
    for number in random_numbers(&mut rng, 100) {
        for sequence in 0..1_000 {
            let put = (EntryKind::Put, vec![1; 100]);
            model.insert((number.to_be_bytes().to_vec(), Reverse(sequence)), put);
        }
    }
    let table = built(&settings("plr", "filter=0", &model), &model);
    let mut read = 0;
    for ((key, sequence), _) in model.iter().step_by(1_000) {
        assert_eq!(sequence.0, 999);
        read += trace_of(&table, key, MAX_SEQUENCE).1.bytes_read;
    }
    assert!(read / 100 < 8_000, "{} bytes a get", read / 100);
}
