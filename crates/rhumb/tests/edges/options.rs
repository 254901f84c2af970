//! Settings: which are refused, how that is said, and that those at the ends of their ranges work.

use std::time::Duration;

use rhumb::{Compression, Db, Error, Levels, Options, Partition, TableSpec, WriteBatch};

#[test]
fn settings_out_of_range_are_refused_with_a_remedy() {
    for text in [
        "partition=entries(0)",
        "partition=bytes(0)",
        "partition=bytes(99999999999)",
        "partition=rows(4)",
        "partition=bytes(4096",
        "filter=65",
        "filter=-1",
        "size=1",
        "size=99999999999GiB",
        "size=4EiB",
        "compression=zip",
        "colour=red",
        "size",
    ] {
        let error = text.parse::<TableSpec>().unwrap_err().to_string();
        assert!(error.contains("write "), "{text}: {error}");
        assert!(error.contains(&format!("{text:?}")), "{text}: {error}");
    }
    for text in [
        "",
        "fp,",
        "plr:boundary=0",
        "plr:boundary=x",
        "b-tree",
        "fp:boundary=1025",
        "lits:boundary=8",
    ] {
        if let Ok(spec) = text.parse::<rhumb::IndexSpec>() {
            panic!("{text:?} is taken for {spec}");
        }
    }
}

/// Each setting out of its range, made in code, with its name, its value and the remedy as code has them.
fn refused_in_code() -> Vec<(Options, [&'static str; 3])> {
    let with = |change: &dyn Fn(&mut Options)| {
        let mut options = Options::in_memory();
        change(&mut options);
        options
    };
    let mut cases = vec![
        (
            with(&|o| o.write_buffer_bytes = 0),
            ["Options::write_buffer_bytes is 0", "at least 1", ""],
        ),
        (
            with(&|o| o.log_bytes = 0),
            ["Options::log_bytes is 0", "at least 1", ""],
        ),
        (
            with(&|o| o.compaction_threads = 65),
            ["Options::compaction_threads is 65", "0 to 64", ""],
        ),
        (
            with(&|o| o.levels.size_ratio = 1),
            ["Levels::size_ratio is 1", "at least 2", ""],
        ),
        (
            with(&|o| o.levels.base_bytes = 0),
            ["Levels::base_bytes is 0", "at least 1", ""],
        ),
        (
            with(&|o| o.levels.level0_tables = 0),
            ["Levels::level0_tables is 0", "at least 1", ""],
        ),
        (
            with(&|o| o.table.table_bytes = 0),
            ["TableSpec::table_bytes is 0", "at least 1", ""],
        ),
        (
            with(&|o| o.table.filter_bits_per_key = 65),
            ["TableSpec::filter_bits_per_key is 65", "0 to 64", ""],
        ),
        (
            with(&|o| o.table.partition = Partition::Bytes(0)),
            [
                "TableSpec::partition is Bytes(0)",
                "Partition::Bytes(n)",
                "1 to 16777216",
            ],
        ),
        (
            with(&|o| o.table.partition = Partition::Dual(0)),
            [
                "TableSpec::partition is Dual(0)",
                "Partition::Dual(n)",
                "1 to 16777216",
            ],
        ),
        (
            with(&|o| o.table.partition = Partition::Entries(u32::MAX)),
            [
                "TableSpec::partition is Entries(4294967295)",
                "Partition::Entries(n)",
                "1 to 16777216",
            ],
        ),
        (
            with(&|o| o.table.partition = Partition::Predicted(u32::MAX)),
            [
                "TableSpec::partition is Predicted(4294967295)",
                "Partition::Predicted(n)",
                "0 to 16777216",
            ],
        ),
    ];
    if !cfg!(feature = "zstd") {
        cases.push((
            with(&|o| o.table.compression = Compression::Zstd),
            [
                "TableSpec::compression is Zstd",
                "Compression::Lz4",
                "cargo feature `zstd`",
            ],
        ));
    }
    cases
}

#[test]
fn settings_made_in_code_are_checked_and_told_as_in_code() {
    for (options, said) in refused_in_code() {
        let sound = Options {
            file_system: options.file_system.clone(),
            ..Options::default()
        };
        let told = |result: rhumb::Result<()>| {
            let Err(error @ Error::InvalidArgument(_)) = result else {
                panic!("{said:?}: {result:?}");
            };
            let error = error.to_string();
            for word in said {
                assert!(error.contains(word), "{error:?} without {word:?}");
            }
            for word in ["partition=", "filter=", "size=", "compression="] {
                assert!(!error.contains(word), "{error:?} has the text form");
            }
        };
        told(Db::open("store", options.clone()).map(drop));
        Db::open("store", sound).unwrap().put("a", "1").unwrap();
        told(Db::open("store", options.clone()).map(drop));
        told(Db::open_read_only("store", options.clone()).map(drop));
        let path = std::path::Path::new("store");
        told(rhumb::inspect::verify(path, &options, &mut |_| {}).map(drop));
        told(rhumb::inspect::repair(path, &options, &mut |_| {}).map(drop));
    }
}

/// A block holds up to 65,535 entries, whatever is asked for.
#[test]
fn blocks_of_very_many_entries_end_where_the_format_does() {
    for partition in [Partition::Entries(16 << 20), Partition::Bytes(16 << 20)] {
        let table = TableSpec {
            partition,
            ..TableSpec::default()
        };
        let options = Options {
            table,
            ..Options::in_memory()
        };
        let db = Db::open("store", options).unwrap();
        for chunk in 0..200u32 {
            let mut batch = WriteBatch::new();
            for n in 0..1000 {
                batch
                    .put(&db, (chunk * 1000 + n).to_be_bytes(), "")
                    .unwrap();
            }
            db.write(batch).unwrap();
        }
        db.flush().unwrap();
        for n in (0..200_000u32).step_by(5003).chain(65_530..65_540) {
            assert!(db.contains_key(n.to_be_bytes()).unwrap(), "{n}");
        }
        assert_eq!(db.iter().unwrap().count(), 200_000);
        assert_eq!(db.iter().unwrap().rev().count(), 200_000);
    }
}

/// Extreme settings slow a store down, and do nothing else.
#[test]
fn settings_at_their_ends_work() {
    let base = Options {
        log_bytes: 1,
        cache_bytes: 0,
        ..Options::in_memory()
    };
    let least = Options {
        write_buffer_bytes: 1,
        table: TableSpec {
            table_bytes: 1,
            filter_bits_per_key: 1,
            partition: Partition::Bytes(1),
            ..TableSpec::default()
        },
        levels: Levels {
            size_ratio: 2,
            base_bytes: 1,
            level0_tables: 1,
            ..Levels::default()
        },
        ..base.clone()
    };
    let most = Options {
        write_buffer_bytes: u64::MAX,
        log_bytes: u64::MAX,
        cache_bytes: 1 << 40,
        table: TableSpec {
            table_bytes: u64::MAX,
            filter_bits_per_key: 64,
            partition: Partition::Entries(16 << 20),
            separate_values: Some(1),
            ..TableSpec::default()
        },
        levels: Levels {
            size_ratio: u32::MAX,
            base_bytes: u64::MAX,
            level0_tables: u32::MAX,
            ..Levels::default()
        },
        ..base
    };
    for options in [least, most] {
        let db = Db::open("store", options.clone()).unwrap();
        for n in 0..500u32 {
            db.put(n.to_be_bytes(), [1; 50]).unwrap();
        }
        db.compact_range(None, None).unwrap();
        for n in (0..500u32).step_by(2) {
            db.delete(n.to_be_bytes()).unwrap();
        }
        db.close().unwrap();
        let db = Db::open("store", options).unwrap();
        assert_eq!(db.iter().unwrap().count(), 250);
        db.compact_range(None, None).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(db.iter().unwrap().rev().count(), 250);
        let stats = db.stats().unwrap();
        assert!(stats.writes.compactions < 5000, "compactions for ever");
    }
}
