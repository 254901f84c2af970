//! Every interleaving of readers and writers of one frame, within three preemptions.
//!
//! Loom watches the cell that holds the frame's bytes, and reports a read during a write as an
//! error.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use super::state::{ClaimOutcome, Header};
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Mutex, lock};

/// The tags of two blocks; block `i` has slot `i`.
const TAGS: [u64; 2] = [1 << 32, 1 << 32 | 1];

/// One frame, number 1, two slots, and the lock of the pool. The frame's bytes are its block's tag.
struct World {
    header: Header,
    bytes: UnsafeCell<u64>,
    slots: [AtomicU32; 2],
    pool: Mutex<()>,
}

// SAFETY: the models check the claim that frames exclude readers and writers of their bytes.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

impl World {
    /// A world whose frame holds block 0.
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
        // SAFETY: loom checks that there is no write at the same time.
        self.bytes.with(|bytes| unsafe { *bytes })
    }

    /// Pins a block as a table does; returns whether the block was in the frame.
    fn pin(&self, block: usize) -> bool {
        self.slots[block].load(Ordering::Relaxed) == 1 && self.header.pin(TAGS[block])
    }

    /// Reads a block if it is in the frame.
    fn read(&self, block: usize) {
        if self.pin(block) {
            assert_eq!(self.bytes(), TAGS[block]);
            assert_eq!(self.header.len(), block as u32 + 8);
            self.header.unpin(1);
        }
    }

    /// Puts a block into the claimed frame.
    fn fill(&self, block: usize, pinned: bool) {
        // SAFETY: loom checks that there is no other access at the same time.
        self.bytes.with_mut(|bytes| unsafe { *bytes = TAGS[block] });
        self.header
            .publish(TAGS[block], block as u32 + 8, pinned, false);
        self.slots[block].store(1, Ordering::Relaxed);
    }

    /// Removes the block from the claimed frame.
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

    /// Reads a block; if it is not in the frame, puts it there as a miss does, unless the frame is
    /// in use.
    fn read_and_keep(&self, block: usize) {
        let guard = lock(&self.pool);
        if !self.pin(block) {
            if self.header.claim_if_idle() != ClaimOutcome::Claimed {
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
        // No pin is left over and none was taken back twice: the frame can be claimed.
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
        // One pin for the holder, and one to hand on later.
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
                // The frame is freed, and taken by another table.
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
