//! Puts, of one size or of any, make the same table whether they are written together or one by one.

use std::cmp::Reverse;

use rand::SeedableRng;

use super::placed::{model_of, random_numbers};
use super::*;
use crate::table::{EntryEnd, LARGE_ENTRY_BYTES, Puts};

/// Which puts may be written together.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Together {
    OfOneSize,
    OfAnySize,
}

/// The bytes of a table but for those that tell how long training took, and what follows them. `together` draws how many puts
/// are written together at most.
fn written(
    settings: &TableSettings,
    model: &Model,
    which: Together,
    mut together: impl FnMut() -> usize,
) -> Vec<u8> {
    let fs = Arc::new(MemoryFileSystem::new());
    let dynamic: Arc<dyn FileSystem> = fs.clone();
    let writer = TableWriter::create(&dynamic, Path::new("/"), 7, settings).unwrap();
    let mut writer = writer.with_id(9);
    let mut rest: Vec<_> = model.iter().collect();
    rest.reverse();
    let mut before: Option<&Vec<u8>> = None;
    while let Some(((key, sequence), (kind, value))) = rest.pop() {
        let is_new_put = before.replace(key) != Some(key) && *kind == EntryKind::Put;
        let is_small = |key: &[u8], value: &[u8]| key.len() + value.len() <= LARGE_ENTRY_BYTES;
        let most = if is_new_put && is_small(key, value) {
            together()
        } else {
            1
        };
        let end = |keys: &[u8], values: &[u8], sequence| EntryEnd {
            key: keys.len(),
            value: values.len(),
            sequence,
        };
        let mut ends = vec![end(key, value, sequence.0)];
        let (mut keys, mut values) = (key.clone(), value.clone());
        while let Some(((next, at), (kind, other))) = rest.last()
            && (*kind == EntryKind::Put && ends.len() < most && before != Some(next))
            && match which {
                Together::OfOneSize => (next.len(), other.len()) == (key.len(), value.len()),
                Together::OfAnySize => is_small(next, other),
            }
        {
            keys.extend_from_slice(next);
            values.extend_from_slice(other);
            ends.push(end(&keys, &values, at.0));
            before = Some(next);
            rest.pop();
        }
        if ends.len() == 1 {
            writer.add(key, sequence.0, *kind, value).unwrap();
            continue;
        }
        let puts = Puts::new(&keys, &values, &ends);
        let puts = match which {
            Together::OfOneSize => puts.of_sizes((key.len(), value.len())),
            Together::OfAnySize => puts,
        };
        writer.add_puts(&puts).unwrap();
    }
    writer.finish(&RangeDeletes::default()).unwrap();
    let mut bytes = fs.bytes(Path::new("/000007.table")).unwrap();
    let property = b"index.training_ns";
    let times = bytes
        .windows(property.len())
        .rposition(|bytes| bytes == property);
    bytes.truncate(times.unwrap());
    bytes
}

fn check(rng: &mut StdRng, settings: &TableSettings, model: &Model) {
    let alone = written(settings, model, Together::OfOneSize, || 1);
    for which in [Together::OfOneSize, Together::OfAnySize] {
        let most = [3, 40, 5_000][rng.random_range(0..3)];
        let together = written(settings, model, which, || rng.random_range(1..=most));
        // What is compared begins with the first block and ends within the properties.
        let differs = alone
            .iter()
            .zip(&together)
            .position(|(one, other)| one != other);
        assert_eq!(differs, None, "{which:?} {settings:?}");
        assert_eq!(alone.len(), together.len());
    }
}

#[test]
fn tables_do_not_depend_on_what_is_written_together() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    for _ in 0..400 {
        let mut model = random_model(&mut rng);
        if rng.random_bool(0.3) {
            // A put of a key before its delete.
            let (key, _) = model.keys().next().unwrap().clone();
            model.insert((key, Reverse(0)), (EntryKind::Put, vec![1; 8]));
        }
        let settings = random_settings(&mut rng, &model);
        check(&mut rng, &settings, &model);
    }
}

/// More than is learned from at first, so that entries are placed while others wait.
#[test]
fn placed_tables_do_not_depend_on_what_is_written_together() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    for (count, value) in [(30_000, 40), (90_000, 8), (2_000, 1_016), (60, 70_000)] {
        let numbers = random_numbers(&mut rng, count);
        let keys = numbers.iter().map(|number| number.to_be_bytes().to_vec());
        let mut model = model_of(keys, |_| value);
        for spec in ["predicted", "predicted(5)", "bytes(4096)", "entries(40)"] {
            let spec = format!("partition={spec},compression=none,filter=10");
            check(&mut rng, &settings("plr", &spec, &model), &model);
        }
        let odd = numbers[numbers.len() / 2];
        model.insert(
            (odd.to_be_bytes().to_vec(), Reverse(9)),
            (EntryKind::Delete, Vec::new()),
        );
        let spec = "partition=predicted,compression=none,filter=10";
        check(&mut rng, &settings("plr", spec, &model), &model);
    }
}

/// Sizes change from put to put, or from time to time, while entries wait and are placed.
#[test]
fn placed_tables_of_puts_of_several_sizes_do_not_depend_on_it_either() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let numbers = random_numbers(&mut rng, 60_000);
    let from_put_to_put: fn(usize) -> usize = |i| 40 + i % 7;
    for value in [from_put_to_put, |i| 40 + i / 3_000 % 2] {
        let keys = numbers.iter().map(|number| number.to_be_bytes().to_vec());
        let model = model_of(keys, value);
        for spec in ["predicted", "predicted(5)", "entries(40)", "dual(4096)"] {
            let spec = format!("partition={spec},compression=none,filter=10");
            check(&mut rng, &settings("plr", &spec, &model), &model);
        }
    }
}

/// Behind keys that suit the model come many with one number.
#[test]
fn tables_that_leave_the_model_do_not_depend_on_it_either() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let numbers = random_numbers(&mut rng, 40_000);
    let last = (0..40_000u64).map(|n| (u64::MAX, n));
    let keys = numbers.into_iter().map(|number| (number, 0)).chain(last);
    let keys = keys.map(|(one, other)| [one.to_be_bytes(), other.to_be_bytes()].concat());
    let model = model_of(keys, |i| 40 + i % 2);
    let settings = settings("plr", "partition=predicted,compression=none", &model);
    let table = TestTable::new(&settings, &model, &RangeDeletes::default());
    assert_ne!(table.fallback(), "");
    check(&mut rng, &settings, &model);
}

#[test]
fn puts_that_do_not_ascend_are_refused() {
    let model = model_of([vec![1], vec![2]], |_| 1);
    let settings = settings("plr", "partition=predicted", &model);
    for (keys, at) in [
        (vec![3, 3], 2),
        (vec![3, 2], 2),
        (vec![1, 3], 1),
        (vec![0, 3], 1),
        (vec![3, 4, 5, 6, 6], 5),
    ] {
        let keys: Vec<u64> = keys;
        let fs: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let mut writer = TableWriter::create(&fs, Path::new("/"), 7, &settings).unwrap();
        let first = 1u64.to_be_bytes();
        writer.add(&first, 8, EntryKind::Put, b"v").unwrap();
        let ends: Vec<_> = (1..=keys.len())
            .map(|end| EntryEnd {
                key: 8 * end,
                value: end,
                sequence: 5,
            })
            .collect();
        let keys: Vec<u8> = keys.into_iter().flat_map(u64::to_be_bytes).collect();
        let values = vec![b'v'; ends.len()];
        let puts = Puts::new(&keys, &values, &ends);
        let expected = format!("entry {at} of table 7 does not sort after");
        for puts in [puts, puts.of_sizes((8, 1))] {
            let error = writer.add_puts(&puts).unwrap_err().to_string();
            assert!(error.contains(&expected), "{error}");
        }
    }
}
