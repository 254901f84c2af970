//! A learned model beside a table's own index: whatever it answers, gets and seeks find the same.

use std::cmp::Reverse;
use std::ops::Range;

use rand::SeedableRng;

use super::*;
use crate::entry::{Cursor, MAX_SEQUENCE};
use crate::error::Error;
use crate::table::{LearnedBuilder, Learning, Training};

/// Kinds that find keys without numbers.
const LEARNABLE: [&str; 4] = ["fp", "fp-raw", "rss", "fp:boundary=16"];

/// Whether tables have a model then.
fn learn(tables: &[&Arc<TableReader>], map: &TableSettings) -> Result<bool> {
    let mut builder = LearnedBuilder::begin((map.map_number, Arc::clone(&map.map)))?;
    for table in tables {
        if builder.take(table, &mut || true)? == Learning::Unfit {
            return Ok(false);
        }
    }
    builder.end()
}

fn check(table: &Arc<TableReader>, model: &Model, probes: &[Vec<u8>]) {
    for key in probes {
        for visible in [MAX_SEQUENCE, 50_000] {
            let found = get(table, key, visible).unwrap();
            assert_eq!(found, expected(model, key, visible), "{key:?}");
        }
        let mut cursor = table.cursor(true);
        cursor.seek(key, MAX_SEQUENCE).unwrap();
        let from = (key.clone(), Reverse(MAX_SEQUENCE));
        let next = model.range(from..).next();
        let here = cursor.valid().then(|| cursor.key());
        assert_eq!(here, next.map(|((key, _), _)| &key[..]));
    }
}

#[test]
fn tables_with_models_answer_as_without() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    let mut learned = 0;
    for round in 0..200 {
        let model = random_model(&mut rng);
        let partition = PARTITIONS[rng.random_range(0..PARTITIONS.len())];
        let index = LEARNABLE[round % LEARNABLE.len()];
        let spec = format!("partition={partition},filter=0");
        let mut settings = settings(index, &spec, &model);
        let table = TestTable::new(&settings, &model, &RangeDeletes::default());
        let table = table.open(1 << 20).unwrap();
        assert!(table.is_learnable(), "{index}, {partition}");
        if rng.random_bool(0.2) {
            // A map of other keys numbers these badly, but in order.
            settings.map = Arc::new(KeyMapBuilder::new().build());
        }
        let probes = probes(&mut rng, &model, 100);
        check(&table, &model, &probes);
        let before = table.memory().index;
        // Where too many keys share a number, the table stays as it is.
        let is_learned = learn(&[&table], &settings).unwrap();
        assert_eq!(table.is_learned(), is_learned);
        learned += u32::from(is_learned);
        assert_eq!(table.memory().index, before + table.learned_bytes());
        check(&table, &model, &probes);
    }
    assert!(learned > 100, "{learned}");
}

/// Keys that are squares, no two of which share a number.
fn squares(of: Range<u64>) -> Model {
    let entry = |n: u64| {
        let place = ((n * n).to_be_bytes().to_vec(), Reverse(1));
        (place, (EntryKind::Put, vec![n as u8; 100]))
    };
    of.map(entry).collect()
}

/// The ranks of the window of a get whose blocks are in memory.
fn warm_ranks(table: &Arc<TableReader>, key: &[u8]) -> u32 {
    let asked = Asked::alone(key, MAX_SEQUENCE);
    let get = |source: &mut BlockSource| table.get(&asked, &mut NumberCache::default(), source);
    assert!(get(&mut BlockSource::new(true)).unwrap().is_some());
    let mut source = BlockSource::new(true);
    assert!(get(&mut source).unwrap().is_some());
    assert_eq!(source.trace.blocks_read, 0);
    source.trace.window_ranks
}

/// Of a model with an error of 8 over 1,000 keys, mostly one block of a table is read, and never more than its window spans: of the
/// first table of a model as of the last one. Tables share the memory of their model.
#[test]
fn a_get_reads_the_blocks_of_the_window() {
    let whole = squares(0..1_000);
    let settings = settings("fp", "partition=bytes(4096)", &whole);
    for ends in [&[0, 1_000][..], &[0, 100, 700, 1_000]] {
        let parts = ends.windows(2).map(|ends| ends[0]..ends[1]);
        let models: Vec<_> = parts.map(squares).collect();
        let tests = models
            .iter()
            .map(|model| TestTable::new(&settings, model, &RangeDeletes::default()));
        let tests: Vec<_> = tests.collect();
        let open = |bytes| tests.iter().map(move |test| test.open(bytes).unwrap());
        let (mut tables, warm): (Vec<_>, Vec<_>) = (open(0).collect(), open(1 << 20).collect());
        for tables in [&tables, &warm] {
            assert!(learn(&tables.iter().collect::<Vec<_>>(), &settings).unwrap());
        }
        let mut read = 0;
        for ((table, warm), model) in tables.iter().zip(&warm).zip(&models) {
            for (key, _) in model.keys() {
                let (mut numbers, mut source) = (NumberCache::default(), BlockSource::new(true));
                let found = table.get(&Asked::alone(key, MAX_SEQUENCE), &mut numbers, &mut source);
                assert!(found.unwrap().is_some());
                assert!((1..=18).contains(&source.trace.window_ranks));
                assert!(source.trace.blocks_read <= 2, "{:?}", source.trace);
                read += source.trace.blocks_read;
                assert_eq!(warm_ranks(warm, key), source.trace.window_ranks);
            }
        }
        assert!(read < 1_400, "{read}");
        let before = tables[0].learned_bytes();
        if tables.len() > 1 {
            tables.pop();
            assert!(tables[0].learned_bytes() > before, "{before}");
        }
    }
}

#[test]
fn models_are_not_learned_of_tables_that_have_one() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    let model = random_model(&mut rng);
    for partition in ["predicted(5)", "entries(7)"] {
        let settings = settings("plr", &format!("partition={partition}"), &model);
        let test = TestTable::new(&settings, &model, &RangeDeletes::default());
        let fell_back = !test.fallback().is_empty();
        assert_eq!(test.open(0).unwrap().is_learnable(), fell_back);
    }
}

/// It stops where it is told to, at a block that is damaged, and leaves the table as it was.
#[test]
fn learning_that_fails_changes_nothing() {
    let model = squares(0..1_000);
    let settings = settings("fp", "partition=bytes(512)", &model);
    let test = TestTable::new(&settings, &model, &RangeDeletes::default());
    let table = test.open(0).unwrap();
    let map = (settings.map_number, Arc::clone(&settings.map));
    let mut builder = LearnedBuilder::begin(map).unwrap();
    let stopped = builder.take(&table, &mut || false).unwrap();
    assert_eq!(stopped, Learning::Stopped);
    assert!(!table.is_learned());
    let mut bytes = test.bytes();
    bytes[test.summary.sections_offset as usize / 2] ^= 1;
    test.set_bytes(&bytes);
    let table = test.open(0).unwrap();
    let damaged = learn(&[&table], &settings);
    assert!(
        matches!(damaged, Err(Error::Corruption { .. })),
        "{damaged:?}"
    );
    assert!(!table.is_learned());
}

/// Forged tables may overlap, which kinds of all sorts notice.
#[test]
fn tables_whose_keys_descend_train_no_index() {
    let settings = settings("fp", "partition=bytes(512)", &squares(0..100));
    let tables = [50..100, 0..50].map(|part| {
        let test = TestTable::new(&settings, &squares(part), &RangeDeletes::default());
        test.open(0).unwrap()
    });
    for kind in ["plr", "rss:over=keys", "fp"] {
        let map = Some(Arc::clone(&settings.map));
        let mut training = Training::begin(&kind.parse().unwrap(), map).unwrap();
        let mut take = |table| training.take(table, &mut || true, &mut |_, _| {});
        assert_eq!(take(&tables[0]).unwrap(), Learning::GoesOn);
        assert!(take(&tables[1]).is_err(), "{kind}");
    }
}

/// Neighbouring tables that share a model answer as without, also for keys before and behind them.
#[test]
fn tables_that_share_a_model_answer_as_without() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    let mut learned = 0;
    for _ in 0..100 {
        let whole = random_model(&mut rng);
        let settings = settings("fp", "partition=bytes(512),filter=0", &whole);
        let probes = probes(&mut rng, &whole, 100);
        // All versions of a key are in one table.
        let cuts = [0, 1, 2].map(|_| rng.random_range(0..=whole.len()));
        let mut parts = vec![Model::new(); 4];
        let (mut part, mut last) = (0, None);
        for (at, (place, entry)) in whole.iter().enumerate() {
            let wanted = cuts.iter().filter(|cut| **cut <= at).count();
            if last.as_ref() != Some(&place.0) {
                (part, last) = (part.max(wanted), Some(place.0.clone()));
            }
            parts[part].insert(place.clone(), entry.clone());
        }
        parts.retain(|part| !part.is_empty());
        let tests = parts
            .iter()
            .map(|part| TestTable::new(&settings, part, &RangeDeletes::default()));
        let tables: Vec<_> = tests.map(|test| test.open(1 << 20).unwrap()).collect();
        let all: Vec<&Arc<TableReader>> = tables.iter().collect();
        learned += u32::from(learn(&all, &settings).unwrap());
        for (table, part) in tables.iter().zip(&parts) {
            check(table, part, &probes);
        }
    }
    assert!(learned > 50, "{learned}");
}
