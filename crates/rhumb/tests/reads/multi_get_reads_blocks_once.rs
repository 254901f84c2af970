//! A `multi_get` reads each block once, whatever the order of its keys.

use rhumb::{Db, Options};

const KEYS: u32 = 20_000;

fn key(number: u32) -> [u8; 4] {
    (2 * number).to_be_bytes()
}

#[test]
fn each_block_is_read_once() {
    for table in ["predicted", "bytes(4096)"] {
        let mut options = Options::in_memory();
        // Only the call itself keeps blocks in memory.
        options.cache_bytes = 0;
        options.table.partition = format!("partition={table}")
            .parse::<rhumb::TableSpec>()
            .unwrap()
            .partition;
        let db = Db::open("store", options).unwrap();
        for number in 0..KEYS {
            db.put(key(number), [number as u8; 50]).unwrap();
        }
        db.compact_range(None, None).unwrap();
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
