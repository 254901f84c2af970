//! In tables cut into single entries, a get reads exactly the window of the model, in one call.

use std::path::{Path, PathBuf};

use rhumb::fs::Access;
use rhumb::{Db, Durability, Error, Options, ReadStats};

/// Entries of equal size, sorted by key.
struct Entries {
    keys: Vec<Vec<u8>>,
    value_bytes: usize,
}

impl Entries {
    /// Entries with keys whose first 8 bytes are random numbers.
    fn new(count: u64, key_bytes: usize, value_bytes: usize) -> Entries {
        let key = |number: u64| {
            let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mut key = (mixed ^ mixed >> 32).to_be_bytes().to_vec();
            key.resize(key_bytes, b'k');
            key
        };
        let mut keys: Vec<Vec<u8>> = (0..count).map(key).collect();
        keys.sort_unstable();
        Entries { keys, value_bytes }
    }

    /// Entries of 8 + 8 and of 24 + 1000 bytes, the sizes of the study that uses such tables.
    fn both_sizes() -> [Entries; 2] {
        [Entries::new(20_000, 8, 8), Entries::new(4_000, 24, 1_000)]
    }

    fn key(&self, number: u64) -> &[u8] {
        &self.keys[number as usize]
    }

    fn count(&self) -> u64 {
        self.keys.len() as u64
    }

    fn value(&self, number: u64) -> Vec<u8> {
        vec![number as u8; self.value_bytes]
    }

    fn options(&self, index: &str, cache_bytes: u64) -> Options {
        Options {
            durability: Durability::Buffered,
            index: index.parse().unwrap(),
            table: "partition=entries(1)".parse().unwrap(),
            cache_bytes,
            ..Options::default()
        }
    }

    /// Writes all entries and compacts them into one run.
    fn write(&self, path: &Path, options: Options) {
        let db = Db::open(path, options).unwrap();
        for number in 0..self.count() {
            db.put(self.key(number), self.value(number)).unwrap();
        }
        db.compact_range(None, None).unwrap();
        assert_eq!(db.stats().unwrap().keyspaces[0].fallbacks, 0);
        db.close().unwrap();
    }
}

fn table_of(directory: &Path) -> PathBuf {
    let files = std::fs::read_dir(directory)
        .unwrap()
        .map(|f| f.unwrap().path());
    let tables: Vec<PathBuf> = files
        .filter(|f| f.extension().is_some_and(|e| e == "table"))
        .collect();
    assert_eq!(tables.len(), 1);
    tables[0].clone()
}

/// The statistics of 500 gets among the first 1,000 keys, with a cache of `cache_bytes` bytes.
fn gets(entries: &Entries, index: &str, cache_bytes: u64) -> ReadStats {
    let directory = tempfile::tempdir().unwrap();
    let options = entries.options(index, cache_bytes);
    entries.write(directory.path(), options.clone());
    let db = Db::open(directory.path(), options).unwrap();
    for get in 0..500 {
        let number = get * 7_919 % 1_000;
        let found = db.get(entries.key(number)).unwrap();
        assert_eq!(found.unwrap(), entries.value(number));
    }
    db.stats().unwrap().reads
}

#[test]
fn bytes_fall_with_the_boundary() {
    for entries in &Entries::both_sizes() {
        let retained = gets(entries, "plr:retained=1,boundary=64", 0);
        assert_eq!((retained.read_calls, retained.blocks_read), (500, 500));
        let entry_bytes = retained.bytes_read / 500;
        for kind in ["plr", "pgm"] {
            let mut before = u64::MAX;
            for boundary in [128, 64, 32, 16, 8] {
                let index = format!("{kind}:boundary={boundary}");
                let reads = gets(entries, &index, 0);
                assert_eq!(reads.read_calls, 500, "{index}: {reads:?}");
                assert!(reads.window_ranks <= 500 * boundary, "{index}: {reads:?}");
                assert_eq!(
                    (reads.blocks_read, reads.bytes_read),
                    (reads.window_ranks, reads.window_ranks * entry_bytes),
                    "{index}"
                );
                assert!(reads.bytes_read < before, "{index}: {reads:?}");
                before = reads.bytes_read;
            }
        }
    }
}

/// Blocks at the ends of a window that are in memory are not read again, and do not split the call.
#[test]
fn a_get_reads_at_most_once_with_part_of_its_window_in_memory() {
    for entries in &Entries::both_sizes() {
        let cold = gets(entries, "pgm:boundary=32", 0);
        for cache_bytes in [256 << 10, 64 << 20] {
            let reads = gets(entries, "pgm:boundary=32", cache_bytes);
            assert!(reads.read_calls <= 500, "{reads:?}");
            assert!(reads.bytes_read < cold.bytes_read, "{reads:?}");
        }
    }
}

#[test]
fn a_flipped_byte_in_the_block_that_answers_is_an_error() {
    let entries = Entries::new(20_000, 8, 8);
    for access in [Access::Buffered, Access::Direct] {
        let directory = tempfile::tempdir().unwrap();
        let options = Options {
            access,
            ..entries.options("plr:boundary=32", 0)
        };
        entries.write(directory.path(), options.clone());
        let path = table_of(directory.path());
        let mut bytes = std::fs::read(&path).unwrap();
        let damaged = 7_000u64;
        // The value ends its block. Blocks have equal lengths, in the order of entries.
        let stored = {
            let db = Db::open(directory.path(), options.clone()).unwrap();
            db.get(entries.key(damaged)).unwrap();
            let reads = db.stats().unwrap().reads;
            db.close().unwrap();
            reads.bytes_read / reads.blocks_read
        } as usize;
        bytes[(damaged as usize + 1) * stored - 1] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let db = Db::open(directory.path(), options).unwrap();
        let error = db.get(entries.key(damaged)).unwrap_err();
        assert!(matches!(error, Error::Corruption { .. }), "{error}");
        // Neighbouring keys share windows with it, and are found unless the search reads the
        // damaged block.
        let near = damaged - 20..damaged + 20;
        let found = near.filter(|n| match db.get(entries.key(*n)) {
            Ok(value) => value.unwrap() == entries.value(*n),
            Err(error) => {
                assert!(matches!(error, Error::Corruption { .. }), "{error}");
                false
            }
        });
        assert!((20..40).contains(&found.count()));
    }
}

#[test]
fn a_seek_reads_a_window_and_a_scan_what_it_shows() {
    let entries = Entries::new(20_000, 8, 8);
    let directory = tempfile::tempdir().unwrap();
    let options = entries.options("pgm:boundary=16", 0);
    entries.write(directory.path(), options.clone());
    let db = Db::open(directory.path(), options).unwrap();
    for get in 0..200 {
        let number = get * 97 % entries.count();
        let mut seek = db.range(entries.key(number)..).unwrap();
        assert!(seek.advance().unwrap());
        assert_eq!(seek.key(), entries.key(number));
    }
    let seeks = db.stats().unwrap().scans;
    assert_eq!((seeks.seeks, seeks.read_calls), (200, 200));
    assert_eq!(seeks.blocks_read, seeks.window_ranks);
    let mut scan = db.range(entries.key(5_000)..).unwrap();
    for _ in 0..100 {
        assert!(scan.advance().unwrap());
    }
    drop(scan);
    let scans = db.stats().unwrap().scans;
    assert_eq!(scans.seeks, 201);
    let read = scans.blocks_read - seeks.blocks_read;
    assert!((100..300).contains(&read), "{read}");
    // An iterator that was never advanced has read nothing.
    drop(db.iter().unwrap());
    assert_eq!(db.stats().unwrap().scans, scans);
    assert_eq!(db.stats().unwrap().reads, ReadStats::default());
}
