//! Every interleaving of readers and writers of one frame, within three preemptions.
//!
//! The bytes of the frame are a cell that loom watches: a read beside a write is an error by itself.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use super::state::{Claim, Header};
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Mutex, lock};

/// Two blocks, by their tags: block `i` has slot `i`.
const TAGS: [u64; 2] = [1 << 32, 1 << 32 | 1];

/// One frame, number 1, two slots, and the lock of the pool. A frame's bytes are its tag again.
struct World {
    header: Header,
    bytes: UnsafeCell<u64>,
    slots: [AtomicU32; 2],
    pool: Mutex<()>,
}

// SAFETY: what the models are to show.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

impl World {
    /// The frame holds block 0.
    fn new() -> Arc<World> {
        let world = World {
            header: Header::new(),
            bytes: UnsafeCell::new(0),
            slots: [AtomicU32::new(0), AtomicU32::new(0)],
            pool: Mutex::new(()),
        };
        world.header.seize();
        world.fill(0, false);
        Arc::new(world)
    }

    fn bytes(&self) -> u64 {
        // SAFETY: loom checks that nobody writes meanwhile.
        self.bytes.with(|bytes| unsafe { *bytes })
    }

    /// Pins a block as a table does; says whether it was there.
    fn pin(&self, block: usize) -> bool {
        self.slots[block].load(Ordering::Relaxed) == 1 && self.header.pin(TAGS[block])
    }

    /// Reads a block, if it is there.
    fn read(&self, block: usize) {
        if self.pin(block) {
            assert_eq!(self.bytes(), TAGS[block]);
            assert_eq!(self.header.len(), block as u32 + 8);
            self.header.unpin(1);
        }
    }

    /// Puts a block into the frame, which is claimed.
    fn fill(&self, block: usize, pinned: bool) {
        // SAFETY: loom checks that nobody reads or writes meanwhile.
        self.bytes.with_mut(|bytes| unsafe { *bytes = TAGS[block] });
        self.header
            .publish(TAGS[block], block as u32 + 8, pinned, false);
        self.slots[block].store(1, Ordering::Relaxed);
    }

    /// Takes the block out of the frame, which is claimed.
    fn evict(&self) {
        let block = self.header.tag() as u32 as usize;
        self.slots[block].store(0, Ordering::Relaxed);
    }

    /// Replaces the block in the frame, unless it is pinned.
    fn replace(&self, block: usize) {
        let _pool = lock(&self.pool);
        if self.header.claim().is_some() {
            self.evict();
            self.fill(block, false);
        }
    }

    /// Reads a block, from elsewhere if need be, as one who then keeps it.
    fn read_and_keep(&self, block: usize) {
        let guard = lock(&self.pool);
        if !self.pin(block) {
            if self.header.claim_if_idle() != Claim::Claimed {
                return;
            }
            self.evict();
            self.fill(block, true);
        }
        drop(guard);
        assert_eq!(self.bytes(), TAGS[block]);
        self.header.unpin(1);
    }
}

fn model(run: impl Fn(&Arc<World>) + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let world = World::new();
        run(&world);
        // No pin is left or lost: the frame can be claimed.
        assert!(!world.header.is_pinned());
        assert!(world.header.claim().is_some());
        assert!(world.header.claim().is_none() && !world.pin(0) && !world.pin(1));
    });
}

fn spawn(world: &Arc<World>, run: impl FnOnce(&World) + 'static) -> thread::JoinHandle<()> {
    let world = Arc::clone(world);
    thread::spawn(move || run(&world))
}

#[test]
fn loom_a_late_reader_never_sees_another_block() {
    model(|world| {
        let reader = spawn(world, |world| world.read(0));
        let other = spawn(world, |world| world.read(1));
        world.replace(1);
        reader.join().unwrap();
        other.join().unwrap();
    });
}

#[test]
fn loom_a_block_that_comes_back_is_whole() {
    model(|world| {
        let reader = spawn(world, |world| {
            world.read(0);
            world.read(0);
        });
        world.replace(1);
        world.replace(0);
        reader.join().unwrap();
    });
}

#[test]
fn loom_those_who_keep_blocks_read_their_own() {
    model(|world| {
        let first = spawn(world, |world| world.read_and_keep(1));
        let second = spawn(world, |world| world.read(1));
        world.read_and_keep(0);
        first.join().unwrap();
        second.join().unwrap();
    });
}

#[test]
fn loom_a_pin_that_is_handed_on_holds_the_block() {
    model(|world| {
        assert!(world.pin(0));
        // One for the holder, one in stock.
        assert!(world.header.pin_again(2));
        let holder = spawn(world, |world| {
            assert_eq!(world.bytes(), TAGS[0]);
            world.header.unpin(1);
        });
        let writer = spawn(world, |world| world.replace(1));
        assert_eq!(world.bytes(), TAGS[0]);
        world.header.unpin(2);
        holder.join().unwrap();
        writer.join().unwrap();
    });
}

#[test]
fn loom_a_pinned_block_outlives_its_table() {
    model(|world| {
        let pinned = world.pin(0);
        let dropper = spawn(world, |world| {
            let _pool = lock(&world.pool);
            if world.header.claim().is_some() {
                world.evict();
                // Free, and taken again by another table.
                world.header.set_next_free(0);
                world.header.seize();
                world.fill(1, false);
            }
        });
        let late = spawn(world, |world| world.read(0));
        assert!(pinned && world.bytes() == TAGS[0]);
        world.header.unpin(1);
        dropper.join().unwrap();
        late.join().unwrap();
    });
}
