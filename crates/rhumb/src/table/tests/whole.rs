//! Tables placed by a model that is trained when all of their keys are known: the form of TridentKV,
//! whose recursive model index names the one block that a get reads (docs/decisions/0022).

use rand::SeedableRng;
use rhumb_index::check::{SplitMix64, distributions};

use super::placed::{built, get_all, model_of, random_numbers, trace_of};
use super::round_trip::check_cursor;
use super::*;
use crate::table::Salvage;

/// Keys of a distribution of rhumb-index.
fn keys_of(name: &str, count: usize, seed: u64) -> Vec<Vec<u8>> {
    let distribution = distributions::by_name(name).unwrap();
    distribution.keys(&mut SplitMix64::new(seed), count)
}

/// Numbers of a random cascade, in ascending order: clusters within clusters, as cells of a map.
fn cascade(rng: &mut StdRng, count: usize, start: u64, bits: u32, into: &mut Vec<u64>) {
    if count <= 16 || bits < 8 {
        let mut few: Vec<u64> = (0..count)
            .map(|_| start + rng.random_range(0..1u64 << bits))
            .collect();
        few.sort_unstable();
        few.dedup();
        into.extend(few);
        return;
    }
    let shares = [(); 4].map(|()| rng.random_range(0.2..1.0f64).powi(2));
    let total: f64 = shares.iter().sum();
    let (mut sum, mut done) = (0.0, 0);
    for (quarter, share) in (0..4).zip(shares) {
        sum += share;
        let end = (count as f64 * sum / total).round() as usize;
        let bits = bits - 2;
        cascade(rng, end - done, start + (quarter << bits), bits, into);
        done = end;
    }
}

fn why(table: &TableReader) -> &str {
    let why = table.properties().text("index.fallback");
    why.unwrap_or_default()
}

fn clustered(rng: &mut StdRng, count: usize) -> Vec<Vec<u8>> {
    let mut numbers = Vec::new();
    cascade(rng, count, 0, 60, &mut numbers);
    numbers.iter().map(|n| n.to_be_bytes().to_vec()).collect()
}

/// Present keys of a placed table take one block each; absent keys and seeks find the same as a sorted map.
fn check_one_block_a_get(rng: &mut StdRng, table: &Arc<TableReader>, model: &Model, context: &str) {
    let is_placed = table.directory.is_placed() && !table.fell_back();
    assert!(is_placed, "{context}: {}", why(table));
    get_all(table, model, context);
    for key in probes(rng, model, 1_000) {
        let (answer, _) = trace_of(table, &key, 5);
        assert_eq!(answer, expected(model, &key, 5), "{context}");
    }
    check_cursor(rng, table, model);
}

#[test]
fn a_get_reads_one_block_whatever_the_distribution() {
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    let sets = [
        ("uniform", keys_of("uniform", 40_000, seed)),
        ("lognormal", keys_of("lognormal", 40_000, seed)),
        ("clustered", clustered(&mut rng, 40_000)),
    ];
    for (name, keys) in sets {
        let equal = model_of(keys.clone(), |_| 64);
        let varying = model_of(keys, |i| i * i % 120);
        for (model, sizes) in [(equal, "equal"), (varying, "varying")] {
            for partition in ["predicted(50)", "predicted(14)", "predicted(3)"] {
                for compression in ["none", "lz4"] {
                    let spec = format!("partition={partition},compression={compression},filter=0");
                    let table = built(&settings("rmi:leaves=40", &spec, &model), &model);
                    let context = format!("{name}, {sizes} sizes, {spec}, seed {seed}");
                    check_one_block_a_get(&mut rng, &table, &model, &context);
                }
            }
        }
    }
}

#[test]
fn blocks_keep_their_bound_where_the_model_is_poor() {
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    let model = model_of(clustered(&mut rng, 60_000), |_| 100);
    let spec = "partition=predicted(32),filter=0";
    let table = built(&settings("rmi:leaves=4", spec, &model), &model);
    check_one_block_a_get(&mut rng, &table, &model, &format!("seed {seed}"));
    assert!(
        table.directory.extra_blocks() > 0,
        "{:?}",
        table.properties()
    );
    let largest = table.properties().number("raw_block.largest").unwrap();
    assert!(largest <= 8 * 32 * 128, "{largest} bytes");
}

#[test]
fn a_model_that_would_make_gets_dear_is_given_up() {
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    let model = model_of(keys_of("clusters", 40_000, seed), |_| 100);
    let test = TestTable::new(
        &settings("rmi:leaves=1,root=linear", "filter=0", &model),
        &model,
        &RangeDeletes::default(),
    );
    let told = test.fallback();
    assert!(told.contains("on average instead of"), "{told}");
    let table = test.open(0).unwrap();
    table.verify(&mut |_, _| {}).unwrap();
    get_all(&table, &model, "given up");
    check_cursor(&mut rng, &table, &model);
}

#[test]
fn keys_that_tie_share_a_cell() {
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    // The map tells 8 bytes apart; up to 60 keys have the same.
    let numbers = random_numbers(&mut rng, 2_000);
    let keys = numbers.iter().enumerate().flat_map(|(i, number)| {
        let ties = if i % 400 == 9 {
            60u16
        } else {
            1 + i as u16 % 2
        };
        (0..ties).map(|tie| [&number.to_be_bytes()[..], &tie.to_be_bytes()].concat())
    });
    let model = model_of(keys, |_| 100);
    for partition in ["predicted", "predicted(5)"] {
        let spec = format!("partition={partition},filter=0");
        let mut settings = settings("rmi:leaves=5", &spec, &model);
        settings.map = Arc::new(rhumb_index::KeyMap::eight_bytes());
        let table = built(&settings, &model);
        assert!(table.directory.is_placed(), "{:?}", table.properties());
        get_all(&table, &model, &spec);
        for key in probes(&mut rng, &model, 1_000) {
            assert_eq!(trace_of(&table, &key, 5).0, expected(&model, &key, 5));
        }
        check_cursor(&mut rng, &table, &model);
    }
}

/// Nothing is written before the end; beyond the limit everything is, and memory is given back.
#[test]
fn tables_much_larger_than_asked_for_are_not_waited_for() {
    for (entries, is_placed) in [(150, true), (200, false)] {
        let keys = (0..entries as u64).map(|n| (n * n).to_be_bytes().to_vec());
        let model = model_of(keys, |_| 100_000);
        let settings = settings("rmi:leaves=5", "size=64KiB,filter=0", &model);
        let fs = Arc::new(MemoryFileSystem::new());
        let dynamic: Arc<dyn FileSystem> = fs.clone();
        let mut writer = TableWriter::create(&dynamic, Path::new("/"), 7, &settings).unwrap();
        add_all(&mut writer, &model);
        assert!(writer.estimated_bytes() > entries as u64 * 100_000);
        let path = PathBuf::from("/000007.table");
        assert_eq!(fs.bytes(&path).unwrap().len() < 1 << 20, is_placed);
        let summary = writer.finish(&RangeDeletes::default()).unwrap().summary;
        let test = TestTable { fs, path, summary };
        let table = test.open(0).unwrap();
        table.verify(&mut |_, _| {}).unwrap();
        assert_eq!(table.directory.is_placed(), is_placed);
        let told = test.fallback();
        assert_eq!(told.contains("write smaller tables"), !is_placed, "{told}");
        get_all(&table, &model, "large");
    }
}

/// Cells of a size that was asked for are for comparisons.
#[test]
fn the_published_form_is_kept_however_poor_it_is() {
    let seed = test_seed();
    let mut rng = StdRng::seed_from_u64(seed);
    let model = model_of(keys_of("clusters", 40_000, seed), |_| 100);
    for leaves in [1, 1_000, 40_000] {
        let spec = "partition=predicted(32),filter=0";
        let index = format!("rmi:leaves={leaves},root=linear");
        let table = built(&settings(&index, spec, &model), &model);
        check_one_block_a_get(&mut rng, &table, &model, &index);
    }
}

/// Prints how blocks come out, and the time to train and to write, beside `plr`.
#[test]
#[ignore = "measures"]
fn spreads_and_times_are_measured() {
    let mut rng = StdRng::seed_from_u64(1);
    let count = 900_000;
    let sets = [
        ("uniform", keys_of("uniform", count, 1)),
        ("lognormal", keys_of("lognormal", count, 1)),
        ("osm-like", clustered(&mut rng, count)),
    ];
    for (name, keys) in sets {
        let model = model_of(keys, |_| 64);
        for (index, partition) in [
            ("rmi:leaves=1000", "predicted(56)"),
            ("rmi:leaves=1000", "predicted"),
            ("plr", "predicted"),
        ] {
            let spec = format!("partition={partition}");
            let settings = settings(index, &spec, &model);
            let began = std::time::Instant::now();
            let test = TestTable::new(&settings, &model, &RangeDeletes::default());
            let wrote = began.elapsed();
            let table = test.open(0).unwrap();
            let mut reads = (0, 0);
            for (key, _) in model.keys().step_by(7) {
                let trace = trace_of(&table, key, 5).1;
                reads = (reads.0 + 1, reads.1 + trace.blocks_read);
            }
            let memory = table.memory();
            let salvage = Salvage::open(&*test.fs, &test.path).unwrap();
            println!(
                "{name}, {} keys, {index} {partition}: {:.4} blocks a get, index {} B, directory {} B, {:?} in all, {} ns to train; {}\n{}",
                model.len(),
                f64::from(reads.1) / f64::from(reads.0),
                memory.index,
                memory.directory,
                wrote,
                table.properties().text("index.training_ns").unwrap(),
                why(&table),
                salvage.blocks(),
            );
        }
    }
}

/// Their records and numbers take memory as well: of four times the size of a table, enough for entries of 11 bytes.
#[test]
fn tables_of_small_entries_are_waited_for() {
    let model = model_of([vec![0; 8], vec![u8::MAX; 8]], |_| 1);
    let mut settings = settings("rmi:leaves=5", "size=8MiB,filter=0", &model);
    settings.map = Arc::new(rhumb_index::KeyMap::eight_bytes());
    for (value, is_placed) in [(3, true), (2, false)] {
        let fs = Arc::new(MemoryFileSystem::new());
        let dynamic: Arc<dyn FileSystem> = fs.clone();
        let mut writer = TableWriter::create(&dynamic, Path::new("/"), 7, &settings).unwrap();
        for n in 0..(8 << 20) / (8 + value as u64) {
            let key = (n * 1_000).to_be_bytes();
            writer
                .add(&key, 1, EntryKind::Put, &vec![7; value])
                .unwrap();
        }
        let summary = writer.finish(&RangeDeletes::default()).unwrap().summary;
        let path = PathBuf::from("/000007.table");
        let test = TestTable { fs, path, summary };
        assert_eq!(test.open(0).unwrap().directory.is_placed(), is_placed);
        let told = test.fallback();
        assert_eq!(told.contains("write smaller tables"), !is_placed, "{told}");
    }
}
