//! Blocks that are kept as they are written.

use super::super::WrittenBlocks;
use super::*;

const ID: u64 = 7;

/// Inserts the first blocks of a table, whatever has to leave for them.
fn insert_first(slots: &FrameSlots, table: u64, count: u64) -> Vec<Pinned> {
    let insert = |number| slots.insert(number, &block(table, number, 4000), Room::Any);
    (0..count).map(|number| insert(number).unwrap()).collect()
}

#[test]
fn kept_blocks_take_free_room_alone_and_are_evicted_like_others() {
    let cache = cache(1 << 20);
    let table = FrameSlots::new(Arc::clone(&cache), 100);
    insert_first(&table, 1, 100);
    let mut written = WrittenBlocks::new(&cache).unwrap();
    (0..1_000).for_each(|number| written.push(&block(2, number, 4000)));
    assert_within_capacity(&cache);
    assert_eq!(cache.state().used.evictions, 0);
    assert!((0..100).all(|number| table.get(number).is_some()));
    let kept = cache.state().used.blocks / 4000 - 100;
    assert!((130..=162).contains(&kept), "{kept} blocks are kept");

    // Before they can be read, others take the place of some: those that were read lately stay.
    let newer = FrameSlots::new(Arc::clone(&cache), 50);
    insert_first(&newer, 3, 50);
    written.hand_over(ID);
    let reader = FrameSlots::of_table(Arc::clone(&cache), 1_000, ID);
    let (left, all) = reader.held_among(1_000);
    assert_eq!(all, 1_000);
    assert!(left < kept && left > kept - 120, "{left} of {kept}");
    let found = (0..1_000).filter(|number| reader.get(*number).is_some());
    assert_eq!(found.count() as u64, left);
    for number in 0..1_000 {
        if let Some(bytes) = reader.get(number) {
            assert_eq!(*bytes, block(2, number, 4000));
        }
    }
    // They are evicted and inserted like all others from now on.
    for number in 0..1_000 {
        let bytes = block(2, number, 4000);
        assert_eq!(*reader.insert(number, &bytes, Room::Any).unwrap(), bytes);
    }
    assert_within_capacity(&cache);
    drop((reader, newer, table));
    assert_eq!(cache.state().used.blocks, 0);
}

/// A frame that went to another table meanwhile is neither taken nor freed.
#[test]
fn frames_of_others_are_left_alone() {
    let cache = cache(256 << 10);
    let mut all: Vec<WrittenBlocks> = (0..2)
        .map(|_| WrittenBlocks::new(&cache).unwrap())
        .collect();
    all.iter_mut()
        .for_each(|written| (0..20).for_each(|number| written.push(&block(2, number, 4000))));
    let table = FrameSlots::new(Arc::clone(&cache), 1_000);
    let pins = insert_first(&table, 1, 30);
    let held = |table: &FrameSlots| {
        (0..30)
            .filter(|number| table.get(*number).is_some())
            .count()
    };
    let second = all.pop().unwrap();
    drop(all);
    assert_eq!(held(&table), 30);
    second.hand_over(ID);
    let reader = FrameSlots::of_table(Arc::clone(&cache), 20, ID);
    for number in 0..20 {
        assert!(
            reader
                .get(number)
                .is_none_or(|bytes| *bytes == block(2, number, 4000))
        );
    }
    drop(reader);
    assert_eq!(held(&table), 30);
    assert!(
        pins.iter()
            .zip(0..)
            .all(|(pin, number)| **pin == block(1, number, 4000))
    );
    drop((pins, table));
    assert_eq!(cache.state().used.blocks, 0);
}

#[test]
fn another_number_of_blocks_is_not_taken() {
    let cache = cache(1 << 20);
    let mut written = WrittenBlocks::new(&cache).unwrap();
    (0..5).for_each(|number| written.push(&block(1, number, 500)));
    written.hand_over(ID);
    assert!(FrameSlots::of_table(Arc::clone(&cache), 6, ID).is_empty());
    assert_eq!(cache.state().used.blocks, 0);
    assert!(WrittenBlocks::new(&Arc::new(BlockCache::new(0).unwrap())).is_none());
}
