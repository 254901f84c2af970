//! A `multi_get` reads each block once, whatever the order of its keys, and answers like single gets.

use rhumb::fs::Access;
use rhumb::{Db, Durability, Error, Options, Partition, TableSpec};

const KEYS: u32 = 20_000;

fn key(number: u32) -> [u8; 4] {
    (2 * number).to_be_bytes()
}

fn partition_of(text: &str) -> Partition {
    let table = format!("partition={text}").parse::<TableSpec>();
    table.unwrap().partition
}

/// Writes so many keys, and merges them.
fn fill(db: &Db, keys: u32) {
    for number in 0..keys {
        db.put(key(number), [number as u8; 50]).unwrap();
    }
    db.compact_range(None, None).unwrap();
}

#[test]
fn each_block_is_read_once() {
    for table in ["predicted", "bytes(4096)"] {
        let mut options = Options::in_memory();
        // Only the call itself keeps blocks in memory.
        options.cache_bytes = 0;
        options.table.partition = partition_of(table);
        let db = Db::open("store", options).unwrap();
        fill(&db, KEYS);
        let blocks_read = |keys: &[[u8; 4]]| {
            let before = db.stats().unwrap().reads.blocks_read;
            let values = db.multi_get(keys).unwrap();
            for (key, value) in keys.iter().zip(values) {
                let number = u32::from_be_bytes(*key) / 2;
                assert_eq!(value.unwrap(), [number as u8; 50]);
            }
            db.stats().unwrap().reads.blocks_read - before
        };
        let every_hundredth: Vec<_> = (0..KEYS).step_by(100).map(key).collect();
        let few = blocks_read(&every_hundredth);
        assert!(few <= every_hundredth.len() as u64);
        // Each key three times: once backwards, twice in mixed order.
        let jumbled = (0..KEYS).map(|n| key((n * 7_919) % KEYS));
        let keys: Vec<_> = (0..KEYS)
            .rev()
            .map(key)
            .chain(jumbled.clone())
            .chain(jumbled)
            .collect();
        let all = blocks_read(&keys);
        let in_order: Vec<_> = (0..KEYS).map(key).collect();
        assert_eq!(all, blocks_read(&in_order), "{table}");
        assert!((200..500).contains(&all), "{table}: {all} blocks");
    }
}

/// A store of files without a cache.
fn files(index: &str, partition: &str, access: Access, at: &std::path::Path) -> Db {
    Db::open(at, options(index, partition, access)).unwrap()
}

fn options(index: &str, partition: &str, access: Access) -> Options {
    let mut options = Options {
        index: index.parse().unwrap(),
        access,
        cache_bytes: 0,
        durability: Durability::Buffered,
        ..Options::default()
    };
    options.table.partition = partition_of(partition);
    options
}

/// Indexes and partitions of tables that answer with blocks, with windows over small blocks, or by prediction; read through the
/// page cache and past it.
fn forms() -> impl Iterator<Item = (&'static str, &'static str, Access)> {
    let forms = [
        ("fp", "bytes(4096)"),
        ("pla", "dual(4096)"),
        ("pgm:boundary=64", "entries(16)"),
        ("pgm", "predicted"),
    ];
    let both = |(index, partition)| {
        [Access::Buffered, Access::Direct].map(|access| (index, partition, access))
    };
    forms.into_iter().flat_map(both)
}

/// Blocks that are read together, through the page cache and past it, are those that single gets read.
#[test]
fn files_answer_as_single_gets_do() {
    for (index, partition, access) in forms() {
        let directory = tempfile::tempdir().unwrap();
        let db = files(index, partition, access, directory.path());
        fill(&db, KEYS);
        // Every third of these is absent, and one lies behind all.
        let asked = (0..300).map(|n: u32| match n % 3 {
            0 => (2 * (n * 6_007 % KEYS) + 1).to_be_bytes(),
            _ => key(n * 6_007 % KEYS),
        });
        let asked: Vec<_> = asked.chain([u32::MAX.to_be_bytes()]).collect();
        let reads = || db.stats().unwrap().reads;
        let before = reads();
        let single: Vec<_> = asked.iter().map(|key| db.get(key).unwrap()).collect();
        let between = reads();
        assert_eq!(db.multi_get(&asked).unwrap(), single);
        let (read, alone) = (
            reads().blocks_read - between.blocks_read,
            between.blocks_read - before.blocks_read,
        );
        assert!(
            read > 0 && read <= alone,
            "{index}, {partition}: {read} blocks together, {alone} alone"
        );
        assert_eq!(single.iter().flatten().count(), 200);
    }
}

/// Of keys that ascend without gaps no block is read twice, where groups of keys meet either, but for windows that overlap.
#[test]
fn files_give_each_block_once() {
    for (index, partition, access) in forms() {
        let directory = tempfile::tempdir().unwrap();
        let db = files(index, partition, access, directory.path());
        fill(&db, KEYS / 4);
        let before = db.stats().unwrap().reads;
        let all: Vec<_> = (0..KEYS / 4).map(key).collect();
        let found = db.multi_get(&all).unwrap();
        assert!(found.iter().all(Option::is_some));
        let read = db.stats().unwrap().reads.blocks_read - before.blocks_read;
        assert_eq!(db.iter().unwrap().count(), all.len());
        let blocks = db.stats().unwrap().scans.blocks_read;
        // Windows overlap, and a prediction may be off at the end of a block.
        let most = match index {
            "pgm:boundary=64" => blocks + blocks / 4,
            "pgm" => blocks + blocks / 50,
            _ => blocks,
        };
        assert!(
            (blocks..=most).contains(&read),
            "{index}, {partition}: {read} of {blocks}"
        );
    }
}

/// Keys of several runs and many tables, some of them deleted or written again.
#[test]
fn many_tables_answer_as_single_gets_do() {
    for (index, partition, access) in forms() {
        let directory = tempfile::tempdir().unwrap();
        let mut options = options(index, partition, access);
        options.table.table_bytes = 64 << 10;
        options.write_buffer_bytes = 256 << 10;
        options.levels.level0_tables = 16;
        let db = Db::open(directory.path(), options).unwrap();
        for round in 0..12 {
            for number in (0..KEYS / 2).filter(|n| n % (round + 1) == 0) {
                db.put(key(number), [(number + round) as u8; 50]).unwrap();
            }
            for number in (0..KEYS / 2).filter(|n| n % 17 == round) {
                db.delete(key(number)).unwrap();
            }
            let from = 1_000 * (round + 1);
            db.delete_range(key(from)..key(from + 100)).unwrap();
            db.flush().unwrap();
        }
        let large = vec![7; 300_000];
        db.put(key(4_321), &large).unwrap();
        db.flush().unwrap();
        let asked = (0..500).map(|n: u32| match n % 5 {
            0 => (2 * (n * 6_007 % KEYS) + 1).to_be_bytes(),
            1 => key(4_300 + n % 50),
            _ => key(n * 6_007 % (KEYS / 2)),
        });
        let asked: Vec<_> = asked.collect();
        let single: Vec<_> = asked.iter().map(|key| db.get(key).unwrap()).collect();
        let present = single.iter().flatten().count();
        assert!((50..480).contains(&present), "{present}");
        assert_eq!(db.multi_get(&asked).unwrap(), single);
        let snapshot = db.snapshot();
        db.delete_range::<[u8; 4]>(..).unwrap();
        assert_eq!(snapshot.multi_get(&db, &asked).unwrap(), single);
    }
}

/// A block that is damaged fails the calls that need it, and no others.
#[test]
fn a_damaged_block_fails_who_needs_it() {
    for (index, partition, access) in forms() {
        let directory = tempfile::tempdir().unwrap();
        let db = files(index, partition, access, directory.path());
        fill(&db, 2_000);
        db.close().unwrap();
        let mut names = std::fs::read_dir(directory.path()).unwrap();
        let is_table = |path: &std::path::PathBuf| path.extension().is_some_and(|e| e == "table");
        let table = names.find_map(|name| Some(name.unwrap().path()).filter(is_table));
        let table = table.unwrap();
        let mut bytes = std::fs::read(&table).unwrap();
        bytes[40_000] ^= 1;
        std::fs::write(&table, bytes).unwrap();
        let db = files(index, partition, access, directory.path());
        let (lost, there): (Vec<_>, Vec<_>) =
            (0..2_000).map(key).partition(|key| db.get(key).is_err());
        assert!(!lost.is_empty() && lost.len() < 200, "{index}, {partition}");
        let found = db.multi_get(&there).unwrap();
        assert!(found.iter().all(Option::is_some));
        let all: Vec<_> = (0..2_000).map(key).collect();
        let error = db.multi_get(&all).unwrap_err();
        let alone = db.get(lost[0]).unwrap_err();
        assert!(matches!(alone, Error::Corruption { .. }), "{alone}");
        assert_eq!(error.to_string(), alone.to_string());
    }
}
