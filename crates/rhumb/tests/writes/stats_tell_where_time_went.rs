//! The times in `stats` add up: training, reads and writes are parts of the flushes and merges to
//! which they belong.

use std::time::Duration;

use rhumb::{Compaction, Db, Durability, Levels, Options, WriteStats};

fn load(index: &str, table: &str) -> WriteStats {
    let options = Options {
        durability: Durability::Buffered,
        write_buffer_bytes: 64 << 10,
        index: index.parse().unwrap(),
        table: table.parse().unwrap(),
        levels: Levels {
            compaction: Compaction::Leveled,
            size_ratio: 3,
            base_bytes: 128 << 10,
            level0_tables: 2,
            ..Levels::default()
        },
        // Merges side by side would take more time in sum than passes on the clock.
        compaction_threads: 1,
        ..Options::in_memory()
    };
    let db = Db::open("times", options).unwrap();
    for n in 0..20_000u64 {
        let key = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        db.put(key.to_be_bytes(), [n as u8; 40]).unwrap();
    }
    db.flush().unwrap();
    db.settle();
    db.stats().unwrap().writes
}

#[test]
fn parts_are_smaller_than_the_whole() {
    let zero = Duration::ZERO;
    for index in ["fp", "plr", "pgm"] {
        for partition in ["predicted", "bytes(4096)", "entries(1)"] {
            let w = load(index, &format!("partition={partition},size={}", 128 << 10));
            assert!(w.flushes > 3 && w.compactions > 3, "{w:?}");
            assert!(zero < w.flush_training_time, "{w:?}");
            assert!(zero < w.flush_write_time, "{w:?}");
            assert!(
                w.flush_training_time + w.flush_write_time < w.flush_time,
                "{w:?}"
            );
            assert!(zero < w.compaction_training_time, "{w:?}");
            assert!(zero < w.compaction_read_time, "{w:?}");
            assert!(zero < w.compaction_write_time, "{w:?}");
            let parts =
                w.compaction_training_time + w.compaction_read_time + w.compaction_write_time;
            assert!(parts < w.compaction_time, "{w:?}");
        }
    }
}

/// After waiting for work, the caller finds it counted.
#[test]
fn flushes_and_merges_are_counted_before_they_are_seen() {
    let options = Options {
        durability: Durability::Buffered,
        levels: Levels {
            level0_tables: 2,
            ..Levels::default()
        },
        ..Options::in_memory()
    };
    let db = Db::open("counts", options).unwrap();
    for n in 1..=300u64 {
        for key in ["a", "z"] {
            db.put(key, n.to_be_bytes()).unwrap();
        }
        db.flush().unwrap();
        assert_eq!(db.stats().unwrap().writes.flushes, n);
        db.compact_range(None, None).unwrap();
        let writes = db.stats().unwrap().writes;
        assert_eq!(writes.compactions + writes.trivial_moves, n);
    }
}
