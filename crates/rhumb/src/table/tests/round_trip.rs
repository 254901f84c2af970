//! Tables return what was written: gets and cursors are compared with a model.

use std::cmp::Reverse;

use rand::SeedableRng;

use super::*;
use crate::entry::cursor_checks::{assert_at, pass, walk};
use crate::entry::{Cursor, MAX_SEQUENCE};

pub(super) fn check_cursor(rng: &mut StdRng, table: &Arc<TableReader>, model: &Model) {
    for fill_cache in [false, true] {
        let mut cursor = table.cursor(fill_cache);
        assert_at(&mut cursor, None);
        pass(&mut cursor, model);
    }
    let mut cursor = table.cursor(true);
    for key in probes(rng, model, 100) {
        let sequence = [0, 1, 50_000, MAX_SEQUENCE, rng.random_range(0..100_000)];
        let sequence = sequence[rng.random_range(0..5)];
        walk(rng, &mut cursor, model, key, sequence);
    }
}

#[test]
fn random_tables_answer_as_the_model_does() {
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    let (mut gets, mut found) = (0, 0);
    for _ in 0..300 {
        let model = random_model(&mut rng);
        let ranges = random_ranges(&mut rng);
        let settings = random_settings(&mut rng, &model);
        let test = TestTable::new(&settings, &model, &ranges);
        let table = test.open([0, 1 << 20][rng.random_range(0..2)]).unwrap();
        let mut told = 0;
        let report = table.verify(&mut |done, _| told = done).unwrap();
        assert_eq!((report.entries, report.blocks), (model.len() as u64, told));
        assert_eq!(table.summary(), test.summary);
        assert_eq!(test.open_any().unwrap().summary(), test.summary);
        assert_eq!(**table.range_deletes(), ranges);
        for key in probes(&mut rng, &model, 150) {
            for visible in [0, rng.random_range(0..100_000), 50_000, MAX_SEQUENCE] {
                let answer = get(&table, &key, visible).unwrap();
                assert_eq!(
                    answer,
                    expected(&model, &key, visible),
                    "seed {seed}, {settings:?}"
                );
                assert_eq!(
                    table.covering(&key, visible),
                    ranges.covering(&key, visible)
                );
                gets += 1;
                found += u64::from(answer.is_some());
            }
        }
        check_cursor(&mut rng, &table, &model);
    }
    assert!(
        found > gets / 10,
        "only {found} of {gets} gets found something"
    );
}

#[test]
fn every_kind_is_built_and_finds_with_one_block_a_get() {
    let model: Model = (0..20_000u64)
        .map(|i| {
            (
                (
                    format!("key{:09}", i * i % 1_000_003).into_bytes(),
                    Reverse(i + 1),
                ),
                i,
            )
        })
        .map(|(at, i)| (at, (EntryKind::Put, vec![i as u8; 100])))
        .collect();
    let exact = ["alex", "lipp", "dili", "lits", "nfl", "btree"];
    for kind in ["fp", "fp-raw", "plr:boundary=16"].into_iter().chain(exact) {
        let settings = settings(kind, "", &model);
        let table = TestTable::new(&settings, &model, &RangeDeletes::default());
        assert_eq!(table.fallback(), "");
        assert_eq!(table.summary.index_kind, kind.split(':').next().unwrap());
        let table = table.open(0).unwrap();
        let mut source = BlockSource::new(true);
        for ((key, _), (_, value)) in &model {
            let mut numbers = NumberCache::default();
            source.leave_table();
            let found = table.get(&Asked::alone(key, MAX_SEQUENCE), &mut numbers, &mut source);
            assert_eq!(*found.unwrap().unwrap().content.into_value(), value[..]);
        }
        let gets = model.len() as u32;
        assert_eq!(
            (
                source.trace.tables_probed,
                source.trace.filter_false_positive
            ),
            (gets, 0)
        );
        let most = if kind.starts_with("plr") {
            gets * 5 / 4
        } else {
            gets
        };
        assert!(
            (gets..=most).contains(&source.trace.blocks_read),
            "{kind}: {}",
            source.trace.blocks_read
        );
    }
}

#[test]
fn a_window_of_small_blocks_is_read_in_one_call() {
    let model: Model = (0..5_000u64)
        .map(|i| {
            (
                (
                    hash_key(&i.to_le_bytes()).to_be_bytes().to_vec(),
                    Reverse(1),
                ),
                i,
            )
        })
        .map(|(at, i)| (at, (EntryKind::Put, vec![i as u8; 20])))
        .collect();
    let settings = settings("plr:boundary=16", "partition=entries(1)", &model);
    let table = TestTable::new(&settings, &model, &RangeDeletes::default());
    let table = table.open(0).unwrap();
    assert_eq!(table.blocks(), 5_000);
    let mut source = BlockSource::new(true);
    for (key, _) in model.keys() {
        let mut numbers = NumberCache::default();
        source.leave_table();
        let found = table.get(&Asked::alone(key, 1), &mut numbers, &mut source);
        assert!(found.unwrap().is_some());
    }
    assert_eq!(source.trace.reads, 5_000);
    assert_eq!(source.trace.blocks_read, source.trace.window_ranks);
}

#[test]
fn many_versions_of_a_key_go_on_over_many_blocks() {
    let mut model = Model::new();
    for sequence in 1..=20_000u64 {
        let value = sequence.to_le_bytes().to_vec();
        model.insert(
            (b"middle".to_vec(), Reverse(2 * sequence)),
            (EntryKind::Put, value),
        );
    }
    for key in [&b"a"[..], b"middl", b"middle0", b"z"] {
        model.insert(
            (key.to_vec(), Reverse(5)),
            (EntryKind::Put, b"other".to_vec()),
        );
    }
    for kind in KINDS.into_iter().step_by(2) {
        let settings = settings(kind, "partition=bytes(1024)", &model);
        let test = TestTable::new(&settings, &model, &RangeDeletes::default());
        let table = test.open(0).unwrap();
        assert!(table.blocks() > 100);
        table.verify(&mut |_, _| {}).unwrap();
        let mut reads = 0;
        for visible in 0..=40_002 {
            let mut source = BlockSource::new(true);
            let mut numbers = NumberCache::default();
            let found = table
                .get(&Asked::alone(b"middle", visible), &mut numbers, &mut source)
                .unwrap();
            let expected = (visible / 2).min(20_000);
            assert_eq!(
                found.map(|v| v.sequence),
                (expected > 0).then_some(2 * expected)
            );
            reads = reads.max(source.trace.blocks_read);
        }
        assert!(reads <= 20, "{kind}: {reads} blocks for one get");
        for key in [
            &b"a"[..],
            b"b",
            b"middl",
            b"middla",
            b"middle/",
            b"middle0",
            b"z",
            b"zz",
        ] {
            assert_eq!(
                get(&table, key, 9).unwrap(),
                super::expected(&model, key, 9)
            );
        }
    }
}

#[test]
fn the_smallest_and_largest_keys_and_values_fit() {
    let mut model = Model::new();
    let mut put = |key: Vec<u8>, value: Vec<u8>| {
        model.insert((key.clone(), Reverse(9)), (EntryKind::Put, value));
        model.insert((key, Reverse(8)), (EntryKind::Delete, Vec::new()));
    };
    put(Vec::new(), b"empty".to_vec());
    put(vec![7; 65_536], b"long".to_vec());
    put([&[7; 65_535][..], &[8]].concat(), b"as long".to_vec());
    put(vec![7; 65_535], Vec::new());
    put(b"\x07big".to_vec(), vec![3; 16 << 20]);
    for i in 0..100u8 {
        put(vec![i; 20], vec![i; 40_000]);
    }
    for kind in ["fp", "plr:boundary=16"] {
        for spec in [
            "partition=entries(65535)",
            "partition=bytes(4096),compression=lz4",
        ] {
            let settings = settings(kind, spec, &model);
            let test = TestTable::new(&settings, &model, &RangeDeletes::default());
            let table = test.open(1 << 20).unwrap();
            table.verify(&mut |_, _| {}).unwrap();
            for (key, _) in model.keys() {
                for visible in [7, 8, 9] {
                    let found = get(&table, key, visible).unwrap();
                    assert!(
                        found == expected(&model, key, visible),
                        "{kind} {spec} {visible}"
                    );
                }
            }
        }
    }
}

#[test]
fn tables_of_range_deletes_only_are_legal() {
    let mut ranges = RangeDeletes::default();
    ranges.insert(b"d", b"m", 4);
    for kind in KINDS {
        let model = Model::new();
        let test = TestTable::new(&settings(kind, "", &model), &model, &ranges);
        let bounds = &test.summary;
        assert_eq!(
            (&bounds.smallest[..], &bounds.largest[..]),
            (&b"d"[..], &b"m"[..])
        );
        assert!(bounds.largest_excluded);
        assert_eq!(
            (
                test.summary.smallest_sequence,
                test.summary.largest_sequence
            ),
            (4, 4)
        );
        for table in [test.open(0).unwrap(), test.open_any().unwrap()] {
            assert_eq!(table.verify(&mut |_, _| {}).unwrap().entries, 0);
            assert_eq!(get(&table, b"e", 9).unwrap(), None);
            assert_eq!(table.covering(b"e", 9), Some(4));
            assert_eq!(table.covering(b"e", 3), None);
            assert_eq!(table.summary(), test.summary);
            let mut cursor = table.cursor(true);
            cursor.seek_first().unwrap();
            assert!(!cursor.valid());
            cursor.seek_before(b"zz").unwrap();
            assert!(!cursor.valid());
        }
    }
}

#[test]
fn keys_that_no_model_tells_apart_fall_back_to_fence_pointers() {
    let model: Model = (0..3_000u32)
        .map(|i| {
            [
                &[b'x'; 60][..],
                &hash_key(&i.to_le_bytes()).to_be_bytes(),
                &[i as u8; 9],
            ]
            .concat()
        })
        .flat_map(|key| (0..20u8).map(move |i| [&key[..], &[b'/'; 40], &[i]].concat()))
        .map(|key| ((key, Reverse(1)), (EntryKind::Put, Vec::new())))
        .collect();
    let test = TestTable::new(
        &settings("plr:boundary=8", "", &model),
        &model,
        &RangeDeletes::default(),
    );
    assert_eq!(test.summary.index_kind, "fp");
    let why = test.fallback();
    assert!(why.contains("plr"), "{why}");
    test.open(1 << 20).unwrap().verify(&mut |_, _| {}).unwrap();
}

#[test]
fn entries_out_of_order_are_refused() {
    let fs: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let settings = settings("fp", "partition=entries(2)", &Model::new());
    let mut writer = TableWriter::create(&fs, Path::new("/"), 1, &settings).unwrap();
    for sequence in [5, 4, 3] {
        writer.add(b"k", sequence, EntryKind::Put, b"").unwrap();
        assert!(writer.add(b"k", sequence, EntryKind::Put, b"").is_err());
        assert!(writer.add(b"j", 1, EntryKind::Put, b"").is_err());
    }
    assert!(writer.add(&[b'l'; 65_537], 1, EntryKind::Put, b"").is_err());
    assert!(writer.estimated_bytes() > 0);
    writer.abandon().unwrap();
    assert!(fs.list(Path::new("/")).unwrap().is_empty());
}

/// A stage includes the stages before it: the block of a get is read with the others of its window.
#[cfg(feature = "internals")]
#[test]
fn the_block_stage_reads_what_a_get_reads() {
    use crate::table::Stage;
    let keys = (0..3_000u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    let entry = |key: [u8; 8]| {
        let place = (key.to_vec(), std::cmp::Reverse(1));
        (place, (EntryKind::Put, vec![7; 8]))
    };
    let model: Model = keys.map(entry).collect();
    for (index, partition) in [
        ("pgm:boundary=64", "entries(1)"),
        ("pgm:boundary=64", "entries(5)"),
        ("plr", "predicted"),
        ("fp", "bytes(4096)"),
    ] {
        let settings = settings(index, &format!("partition={partition}"), &model);
        let made = TestTable::new(&settings, &model, &RangeDeletes::default());
        let table = made.open(0).unwrap();
        for (key, _) in model.keys().step_by(50) {
            let read_until = |stage| {
                let mut source = BlockSource::new(true);
                table.get_until_by(stage, key, &mut source).unwrap();
                (source.trace.reads, source.trace.bytes_read)
            };
            assert_eq!(read_until(Stage::Index), (0, 0));
            let pin = read_until(Stage::Pin);
            assert_eq!(
                (read_until(Stage::Block), pin.0),
                (pin, 1),
                "{index} {partition}"
            );
        }
    }
}
