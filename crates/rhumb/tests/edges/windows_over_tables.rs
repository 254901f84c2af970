//! A get that reads windows of small blocks in several tables does not mix up their blocks.

use rhumb::{Db, Options};

const KEYS: u32 = 2_000;
const TABLES: u32 = 3;

#[test]
fn blocks_read_with_others_are_not_taken_for_those_of_the_next_table() {
    for cache_bytes in [0, 1 << 20] {
        let mut options = Options::in_memory();
        options.cache_bytes = cache_bytes;
        options.index = "plr:boundary=16".parse().unwrap();
        // Every table is searched, and a window spans many blocks, which are read in one call.
        options.table = "partition=entries(1),filter=0".parse().unwrap();
        options.levels.level0_tables = 100;
        let db = Db::open("store", options).unwrap();
        // The pattern is irregular, so that keys are often not where the model expects them.
        let table_of = |number: u32| (number.wrapping_mul(0x9E37_79B9) >> 16) % TABLES;
        for table in 0..TABLES {
            for number in (0..KEYS).filter(|number| table_of(*number) == table) {
                db.put(number.to_be_bytes(), number.to_le_bytes()).unwrap();
            }
            db.flush().unwrap();
        }
        for number in 0..KEYS {
            let value = db.get(number.to_be_bytes()).unwrap();
            assert_eq!(value.unwrap(), number.to_le_bytes(), "{cache_bytes}");
        }
        let reads = db.stats().unwrap().reads;
        assert!(reads.window_ranks > 3 * reads.tables_probed, "{reads:?}");
        assert!(db.get(KEYS.to_be_bytes()).unwrap().is_none());
    }
}
