//! Fence keys in whole tables: absent keys cost one block, and unsound ones are found.

use rand::SeedableRng;

use super::hostile::with_block;
use super::*;
use crate::entry::MAX_SEQUENCE;

/// Random numbers as keys of 8 bytes, each with a small value.
fn model(rng: &mut StdRng, keys: usize) -> Model {
    let entry = |_| {
        let place = (random_bytes(rng, 8), std::cmp::Reverse(0));
        (place, (EntryKind::Put, vec![7; 24]))
    };
    (0..keys).map(entry).collect()
}

/// A table of random keys. A cell without entries, which a gap as wide as a cell leaves, would be read before the block behind it.
fn table_of_full_blocks(rng: &mut StdRng, index: &str, partition: &str) -> Arc<TableReader> {
    let spec = format!("partition={partition},filter=0");
    loop {
        let model = model(rng, 3_000);
        let settings = settings(index, &spec, &model);
        let table = TestTable::new(&settings, &model, &RangeDeletes::default());
        let table = table.open(0).unwrap();
        let mut source = BlockSource::new(false);
        let mut blocks = (0..table.blocks()).map(|n| table.block(n, &mut source).unwrap());
        if blocks.all(|block| block.view().count() > 0) {
            return table;
        }
    }
}

#[test]
fn a_get_of_an_absent_key_reads_one_block() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    for (index, partition) in [
        ("fp", "bytes(400)"),
        ("rss", "bytes(400)"),
        ("pla", "dual(400)"),
        ("pra", "dual(400)"),
        ("plr", "predicted(9)"),
    ] {
        let table = table_of_full_blocks(&mut rng, index, partition);
        table.verify(&mut |_, _| {}).unwrap();
        let (mut source, gets) = (BlockSource::new(true), 20_000);
        for _ in 0..gets {
            // A block shows that a key is between it and a neighbour, but for one in some 500 such keys.
            let key = random_bytes(&mut rng, 8);
            let mut numbers = NumberCache::default();
            let asked = Asked::alone(&key, MAX_SEQUENCE);
            table.get(&asked, &mut numbers, &mut source).unwrap();
        }
        let blocks = f64::from(source.trace.blocks_read) / f64::from(gets);
        println!(
            "{index} {partition}: {blocks} blocks an absent key, {} blocks",
            table.blocks()
        );
        assert!(
            (1.0..1.001).contains(&blocks),
            "{index} {partition}: {blocks}"
        );
    }
}

#[test]
fn a_seek_to_a_key_between_two_blocks_reads_the_second_alone() {
    use crate::entry::Cursor;
    let mut rng = StdRng::seed_from_u64(test_seed());
    let model = model(&mut rng, 3_000);
    let settings = settings("pla", "partition=dual(400),filter=0", &model);
    let test = TestTable::new(&settings, &model, &RangeDeletes::default());
    let table = test.open(0).unwrap();
    let (mut cursor, seeks) = (table.cursor(true), 20_000);
    for _ in 0..seeks {
        let key = random_bytes(&mut rng, 8);
        cursor.seek(&key, MAX_SEQUENCE).unwrap();
        let found = cursor.here().map(|here| here.key.to_vec());
        let expected = model.range((key, std::cmp::Reverse(MAX_SEQUENCE))..).next();
        assert_eq!(found, expected.map(|((key, _), _)| key.clone()));
    }
    let blocks = f64::from(cursor.trace().blocks_read) / f64::from(seeks);
    println!("{blocks} blocks a seek");
    assert!((0.99..1.005).contains(&blocks), "{blocks}");
}

#[test]
fn unsound_fence_keys_are_found() {
    let mut rng = StdRng::seed_from_u64(test_seed());
    let model = model(&mut rng, 500);
    let spec = "partition=bytes(400),filter=0,compression=none";
    let test = TestTable::new(
        &settings("fp", spec, &model),
        &model,
        &RangeDeletes::default(),
    );
    let good = test.bytes();
    let table = test.open(0).unwrap();
    table.verify(&mut |_, _| {}).unwrap();
    for block in 0..table.blocks() {
        // A key further away from those of the block, or nearer, at the fence that is low or that is high.
        let is_high = block == 0 || block % 2 == 1 && block < table.blocks() - 1;
        let by = if rng.random() { 1 } else { u16::MAX };
        test.set_bytes(&with_block(&good, &table, block, |stored| {
            let at = stored.len() - if is_high { 2 } else { 6 };
            let next = u16::from_le_bytes([stored[at], stored[at + 1]]).wrapping_add(by);
            stored[at..at + 2].copy_from_slice(&next.to_le_bytes());
        }));
        let error = test.open(0).unwrap().verify(&mut |_, _| {}).unwrap_err();
        let error = error.to_string();
        let (offset, _) = table.directory.extent(block).unwrap();
        let at = format!("at offset {offset}");
        assert!(
            error.contains("a fence key ") && error.contains(&at),
            "{error}"
        );
    }
}
