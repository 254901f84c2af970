//! Gets that wait together answer as single ones do, whatever reads their blocks.

use rand::SeedableRng;

use super::*;
use crate::entry::MAX_SEQUENCE;
use crate::fs::OsFileSystem;
use crate::fs::ring::{self, Part};
use crate::table::read::together::read_together_by;

/// Answers, or the messages of errors.
type Answers = Vec<std::result::Result<Answer, String>>;

type Arrived<'a> = &'a mut dyn FnMut(usize, &[u8]);

/// What reads parts at once: nothing, the ring, or the ring every second one.
const RINGS: [fn(&[Part<'_>], Arrived<'_>); 3] = [
    |_, _| {},
    |parts, arrived| ring::read_all(parts, arrived),
    |parts, arrived| {
        ring::read_all(parts, |place, bytes| {
            if place % 2 == 0 {
                arrived(place, bytes);
            }
        });
    },
];

fn get_alone(table: &TableReader, keys: &[Vec<u8>]) -> Answers {
    let alone = keys.iter().map(|key| get(table, key, MAX_SEQUENCE));
    alone.map(|a| a.map_err(|e| e.to_string())).collect()
}

/// Asks for all keys, which ascend, at once.
fn get_together(
    table: &TableReader,
    keys: &[Vec<u8>],
    ring: fn(&[Part<'_>], Arrived<'_>),
) -> (Answers, GetTrace) {
    let mut source = BlockSource::shared();
    let asked = keys.iter().map(|key| Asked::alone(key, MAX_SEQUENCE));
    let asked: Vec<Asked<'_>> = asked.collect();
    let mut numbers: Vec<NumberCache> = keys.iter().map(|_| NumberCache::default()).collect();
    let mut begun = Vec::new();
    for (asked, numbers) in asked.iter().zip(&mut numbers) {
        let mut get = table.begin_get(asked, numbers, &mut source.trace);
        if let Some(get) = get.as_mut().unwrap() {
            get.prefetch_index(asked, numbers).unwrap();
            get.ask_index(asked, numbers).unwrap();
            get.prefetch_block();
        }
        begun.push(get.unwrap());
    }
    read_together_by(begun.iter_mut().flatten(), &mut source, ring);
    let ends = begun.iter_mut().zip(&asked).map(|(get, asked)| {
        let Some(get) = get else {
            return Ok(None);
        };
        let found = get.end(asked, &mut source).map_err(|e| e.to_string())?;
        Ok(answer(found))
    });
    let ends: Answers = ends.collect();
    (ends, source.trace)
}

fn open(path: &Path, access: Access) -> TableReader {
    let open_as = OpenAs {
        access,
        ..OpenAs::buffered(Arc::new(BlockCache::new(0).unwrap()))
    };
    TableReader::open_any(&OsFileSystem::new(), path, 7, open_as).unwrap()
}

#[test]
fn blocks_arrive_whoever_reads_them() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("7.table");
    let mut read = 0;
    for _ in 0..40 {
        let model = random_model(&mut rng);
        let settings = random_settings(&mut rng, &model);
        let made = TestTable::new(&settings, &model, &RangeDeletes::default());
        std::fs::write(&path, made.bytes()).unwrap();
        let mut keys = probes(&mut rng, &model, 60);
        keys.sort();
        for access in [Access::Buffered, Access::Direct] {
            let table = open(&path, access);
            let alone = get_alone(&table, &keys);
            for ring in RINGS {
                let (together, trace) = get_together(&table, &keys, ring);
                assert_eq!(together, alone, "{settings:?}");
                read += trace.blocks_read;
            }
        }
    }
    assert!(read > 1_000, "{read} blocks");
}

/// A file that ends early fails the gets that it fails alone, and no others.
#[test]
fn what_cannot_be_read_is_an_error_of_its_own_get() {
    let entry = |n: u64| {
        let place = (n.to_be_bytes().to_vec(), std::cmp::Reverse(n + 1));
        (place, (EntryKind::Put, vec![n as u8; 100]))
    };
    let model: Model = (0..2_000).map(entry).collect();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("7.table");
    for (index, spec) in [("fp", "bytes(4096)"), ("plr:boundary=64", "entries(8)")] {
        let settings = settings(index, &format!("partition={spec}"), &model);
        let made = TestTable::new(&settings, &model, &RangeDeletes::default());
        let keys: Vec<Vec<u8>> = model
            .keys()
            .step_by(40)
            .map(|(key, _)| key.clone())
            .collect();
        for access in [Access::Buffered, Access::Direct] {
            std::fs::write(&path, made.bytes()).unwrap();
            let table = open(&path, access);
            let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.set_len(made.summary.sections_offset / 2).unwrap();
            let alone = get_alone(&table, &keys);
            let lost = alone.iter().filter(|answer| answer.is_err()).count();
            assert!((10..40).contains(&lost), "{lost}");
            for ring in RINGS {
                let (together, _) = get_together(&table, &keys, ring);
                assert_eq!(together.len(), alone.len());
                for (one, other) in together.iter().zip(&alone) {
                    assert_eq!(one.is_ok(), other.is_ok(), "{one:?}, {other:?}");
                    assert!(one.is_err() || one == other);
                }
            }
        }
    }
}
