//! Which frame a block gets: everything that is decided under the lock.
//!
//! A block that was not in memory takes a free frame of its size; if there is none, a new slab
//! while memory is left; else the frame at the hand of the clock.
//!
//! A single clock over all blocks would evict those read least recently, whatever their sizes. Here
//! each size has a clock of its own, and slabs move from sizes with slow hands to sizes with fast
//! ones, so that all hands keep nearly the same speed. To free a slab, the slow hand is advanced
//! until as many frames are free as a slab has; the blocks left in one slab then move to the free
//! frames of the others.

use std::collections::HashMap;
use std::sync::Arc;

use super::class::{Class, LAP};
use super::sizes::Sizes;
use super::slots::Slots;
use super::space::{FrameNumber, FrameSpace};
use super::state::{ClaimOutcome, Header};
use super::written::Waiting;
use crate::memory::Pinned;

/// How far a hand may be behind another before its size gives up a slab. Moving a slab leaves
/// frames free on both sides for a while: with a slack of a quarter of a lap, sizes that need
/// between two and three slabs pass one back and forth, which cost 0.4 points of the hit rate.
const SLACK: u64 = 2 * LAP;

/// How many slabs are tried in search of one that can be emptied; a slab with pinned frames cannot.
const SLABS_TRIED: usize = 4;

/// Where a block may be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// Where there is a free frame, or memory left for one. The first block of a table may still evict others, for its
    /// slots.
    Free,
    /// There, or in place of another block.
    Any,
}

/// The pool's record of a slab.
#[derive(Debug, Clone, Copy, Default)]
struct Slab {
    class: usize,
    /// Frames that hold blocks.
    filled: usize,
}

/// The memory in use, in bytes, and the number of evictions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CacheUse {
    /// Blocks.
    pub blocks: u64,
    /// Slabs that are divided into frames.
    pub slabs: u64,
    /// Headers of these frames.
    pub headers: u64,
    /// Slots of tables.
    pub slots: u64,
    /// The number of blocks evicted to make room for others.
    pub evictions: u64,
}

impl CacheUse {
    /// The total memory in use; blocks lie in the slabs.
    pub fn total(&self) -> u64 {
        self.slabs + self.headers + self.slots
    }
}

/// The tables, slabs and clocks of a cache.
pub(super) struct Pool {
    space: Arc<FrameSpace>,
    sizes: Sizes,
    classes: Vec<Class>,
    slabs: Vec<Slab>,
    /// Slabs whose memory was given back.
    unused: Vec<usize>,
    tables: HashMap<u32, Arc<Slots>>,
    last_table: u32,
    /// The most bytes that may be used in total, and by slots.
    limit: u64,
    slots_limit: u64,
    used: CacheUse,
}

impl Pool {
    /// A pool over the frames in `space`, which may use about `capacity` bytes.
    pub fn new(space: Arc<FrameSpace>, sizes: Sizes, capacity: u64) -> Pool {
        let classes = (0..sizes.count()).map(|size| {
            let frame_bytes = sizes.frame_bytes(size) as usize;
            Class::new(sizes.slab_bytes() / frame_bytes.max(1))
        });
        Pool {
            space,
            classes: classes.collect(),
            sizes,
            slabs: Vec::new(),
            unused: Vec::new(),
            tables: HashMap::new(),
            last_table: 0,
            // Memory is taken in whole slabs: exceeding the capacity slightly is better than
            // staying a whole slab below it.
            limit: capacity.saturating_add(capacity / 32),
            slots_limit: capacity / 2,
            used: CacheUse::default(),
        }
    }

    /// What is used now.
    pub fn used(&self) -> CacheUse {
        self.used
    }

    /// A number for a table.
    pub fn number_table(&mut self) -> Option<u32> {
        self.last_table = self.last_table.checked_add(1)?;
        Some(self.last_table)
    }

    /// Makes slots for a table of `blocks` blocks; `None` if there is no room for them.
    pub fn register(&mut self, blocks: u64) -> Option<Arc<Slots>> {
        // The number stays free if there is no room: each miss would take another one.
        let table = self.last_table.checked_add(1)?;
        let slots = self.register_as(table, blocks)?;
        self.last_table = table;
        Some(slots)
    }

    fn register_as(&mut self, table: u32, blocks: u64) -> Option<Arc<Slots>> {
        let bytes = blocks.checked_mul(Slots::BYTES_A_BLOCK)?;
        let in_all = self.used.slots.checked_add(bytes)?;
        if in_all > self.slots_limit || !self.make_room_for(bytes) {
            return None;
        }
        let slots = Arc::new(Slots::new(table, usize::try_from(blocks).ok()?));
        self.used.slots = in_all;
        self.tables.insert(table, Arc::clone(&slots));
        Some(slots)
    }

    /// Makes slots for a table whose blocks were [kept](Pool::keep) as they were written; `None` if none is left, or if there is
    /// no room for slots, and none of its blocks then.
    pub fn adopt(&mut self, waiting: &Waiting) -> Option<Arc<Slots>> {
        self.still_kept(waiting).next()?;
        let Some(slots) = self.register_as(waiting.table, waiting.frames.len() as u64) else {
            self.free_written(waiting);
            return None;
        };
        // Looked at again, since blocks may have made room for the slots.
        for (block, frame) in self.still_kept(waiting) {
            slots.set(block, frame);
        }
        Some(slots)
    }

    /// Frees what was kept of a table that will not be read.
    pub fn free_written(&mut self, waiting: &Waiting) {
        let frames: Vec<_> = self.still_kept(waiting).collect();
        for (_, frame) in frames {
            self.release(frame);
        }
    }

    /// The blocks that were kept as they were written, and still are, with their frames.
    fn still_kept<'a>(
        &'a self,
        waiting: &'a Waiting,
    ) -> impl Iterator<Item = (usize, FrameNumber)> + 'a {
        let slots = waiting.frames.iter().enumerate();
        let frames =
            slots.filter_map(|(block, slot)| Some((block, FrameNumber::from_slot(*slot)?)));
        frames.filter(|(block, frame)| {
            let header = self.header(*frame);
            !header.is_claimed() && Slots::tag_of(waiting.table, *block) == Some(header.tag())
        })
    }

    /// Removes a table and frees its frames; those that are pinned are freed when the clock reaches
    /// them.
    pub fn forget(&mut self, table: &Slots) {
        if self.tables.remove(&table.table()).is_none() {
            return;
        }
        self.used.slots -= table.blocks() as u64 * Slots::BYTES_A_BLOCK;
        for frame in table.frames() {
            self.release(frame);
        }
    }

    /// Frees a frame of a table that is gone, unless it is pinned.
    fn release(&mut self, frame: FrameNumber) {
        if self.header(frame).claim().is_some() {
            self.vacate(frame);
        }
    }

    /// Keeps a block of a table, and pins it. `None` if it is too large, or there is no such room, or everything
    /// that could make room is pinned.
    pub fn insert(
        &mut self,
        (table, block): (&Slots, usize),
        bytes: &[u8],
        room: Room,
    ) -> Option<Pinned> {
        let tag = table.tag(block)?;
        let (frame, pinned) = self.fill(tag, bytes, room, FrameSpace::fill)?;
        table.set(block, frame);
        Some(pinned)
    }

    /// Keeps a block of a table that is being written, in a free frame. Nobody may read it before the table is
    /// [adopted](Pool::adopt), and it may be evicted until then.
    pub fn keep(&mut self, table: u32, block: usize, bytes: &[u8]) -> Option<FrameNumber> {
        let tag = Slots::tag_of(table, block)?;
        let (frame, ()) = self.fill(tag, bytes, Room::Free, FrameSpace::fill_unread)?;
        Some(frame)
    }

    /// Fills a frame with a block by `fill`, which is given the frame, the tag and the block.
    fn fill<T>(
        &mut self,
        tag: u64,
        bytes: &[u8],
        room: Room,
        fill: impl FnOnce(&FrameSpace, FrameNumber, u64, &[u8]) -> T,
    ) -> Option<(FrameNumber, T)> {
        let class = self.sizes.of_block(bytes.len())?;
        let frame = self.frame_for(class, room)?;
        let filled = fill(&self.space, frame, tag, bytes);
        self.count_in(frame);
        Some((frame, filled))
    }

    fn header(&self, frame: FrameNumber) -> &Header {
        self.space.header(frame)
    }

    fn count_in(&mut self, frame: FrameNumber) {
        self.used.blocks += u64::from(self.header(frame).len());
        self.slabs[self.space.slab_of(frame)].filled += 1;
    }

    fn count_out(&mut self, frame: FrameNumber) {
        self.used.blocks -= u64::from(self.header(frame).len());
        self.slabs[self.space.slab_of(frame)].filled -= 1;
    }

    /// Removes the block from a claimed frame.
    fn evict(&mut self, frame: FrameNumber) {
        if let Some((slots, block)) = self.owner(frame) {
            slots.clear(block);
        }
        self.count_out(frame);
        self.used.evictions += 1;
    }

    /// Frees a claimed frame whose table was dropped.
    fn vacate(&mut self, frame: FrameNumber) {
        self.count_out(frame);
        let class = self.slabs[self.space.slab_of(frame)].class;
        self.classes[class].push_free(&self.space, frame);
    }

    /// The table whose block is in a frame, with the block's number; `None` if the table was
    /// dropped.
    fn owner(&self, frame: FrameNumber) -> Option<(&Slots, usize)> {
        let (table, block) = Slots::of_tag(self.header(frame).tag());
        self.tables.get(&table).map(|slots| (&**slots, block))
    }

    /// A frame of a class, claimed for the caller.
    fn frame_for(&mut self, class: usize, room: Room) -> Option<FrameNumber> {
        if let Some(frame) = self.classes[class].pop_free(&self.space) {
            return Some(frame);
        }
        match self.another_slab(class, room) {
            Some(slab) => {
                self.give(slab, class);
                self.classes[class].pop_free(&self.space)
            }
            None if room == Room::Free => None,
            None => {
                let steps = 2 * self.classes[class].frames() + 1;
                (0..steps).find_map(|_| self.tick(class))
            }
        }
    }

    /// Advances a class's hand by one frame; returns that frame, claimed, if its block could be
    /// evicted.
    fn tick(&mut self, class: usize) -> Option<FrameNumber> {
        let frame = self.classes[class].tick(&self.space)?;
        let claimed = self.header(frame).claim_if_idle() == ClaimOutcome::Claimed;
        claimed.then(|| {
            self.evict(frame);
            frame
        })
    }

    /// A slab that no class has; `None` if there is none, or no memory for `more` bytes.
    fn unused_slab(&mut self, more: u64) -> Option<usize> {
        if self.used.total() + more > self.limit {
            return None;
        }
        self.unused.pop().or_else(|| {
            let untouched = self.slabs.len() < self.space.slabs();
            untouched.then(|| {
                self.slabs.push(Slab::default());
                self.slabs.len() - 1
            })
        })
    }

    /// A slab for a class that has no free frames; `None` if the class should not get one, or not from another class.
    fn another_slab(&mut self, class: usize, room: Room) -> Option<usize> {
        let header_bytes = self.space.header_bytes(self.classes[class].per_slab);
        let more = self.sizes.slab_bytes() as u64 + header_bytes;
        if self.used.slots + more > self.limit {
            // It would not fit even if all other slabs were given back.
            return None;
        }
        loop {
            if let Some(slab) = self.unused_slab(more) {
                return Some(slab);
            }
            if room == Room::Free {
                return None;
            }
            let slab = self.slab_of_another(class)?;
            if self.used.total() + more <= self.limit {
                return Some(slab);
            }
            // A slab with small frames needs more memory for headers than the one taken may have
            // used. Giving back one slab makes room for the headers of many.
            self.give_back(slab);
        }
    }

    /// A slab from another class, for a class without free frames; `None` if no class should give
    /// one.
    fn slab_of_another(&mut self, class: usize) -> Option<usize> {
        let surplus = (0..self.classes.len()).find(|c| self.classes[*c].has_surplus());
        if let Some(slab) = surplus.and_then(|donor| self.take_slab(donor)) {
            return Some(slab);
        }
        if self.classes[class].slabs().is_empty() {
            return self.squeeze_out();
        }
        let donors = (0..self.classes.len()).filter(|c| !self.classes[*c].slabs().is_empty());
        let donor = donors.min_by_key(|c| self.classes[*c].laps)?;
        if self.classes[donor].laps + SLACK >= self.classes[class].laps {
            return None;
        }
        self.drive(donor, self.classes[donor].per_slab);
        self.take_slab(donor)
    }

    /// A slab of any class, trying classes in the order of their hands, the slowest first, and
    /// evicting as many blocks as needed.
    fn squeeze_out(&mut self) -> Option<usize> {
        let mut donors: Vec<usize> = (0..self.classes.len()).collect();
        donors.sort_by_key(|class| self.classes[*class].laps);
        donors.into_iter().find_map(|donor| {
            self.drive(donor, 2 * self.classes[donor].frames());
            self.take_slab(donor)
        })
    }

    /// Advances a hand by up to `frames` frames, until as many are free as a slab has.
    fn drive(&mut self, class: usize, frames: usize) {
        for _ in 0..frames {
            if self.classes[class].has_surplus() {
                return;
            }
            if let Some(frame) = self.tick(class) {
                self.classes[class].push_free(&self.space, frame);
            }
        }
    }

    /// Takes a slab from a class with as many free frames as a slab has. The slab's frames are
    /// claimed.
    fn take_slab(&mut self, class: usize) -> Option<usize> {
        if !self.classes[class].has_surplus() {
            return None;
        }
        let mut slabs = self.classes[class].slabs().to_vec();
        slabs.sort_by_key(|slab| self.slabs[*slab].filled);
        slabs.truncate(SLABS_TRIED);
        let slab = slabs.into_iter().find(|slab| self.empty(*slab, class))?;
        self.classes[class].remove(slab);
        self.used.slabs -= self.sizes.slab_bytes() as u64;
        self.used.headers -= self.space.header_bytes(self.classes[class].per_slab);
        Some(slab)
    }

    /// Moves the blocks of a slab to free frames elsewhere; returns whether the slab is empty. If
    /// it is not, the blocks left are pinned, and the emptied frames are free.
    fn empty(&mut self, slab: usize, class: usize) -> bool {
        let frames: Vec<FrameNumber> = self.space.frames_of(slab).collect();
        if frames.iter().any(|frame| self.header(*frame).is_pinned()) {
            return false;
        }
        self.classes[class].withdraw_free(&self.space, slab);
        let mut empty = true;
        for frame in &frames {
            if self.header(*frame).is_claimed() {
                continue;
            }
            match self.header(*frame).claim() {
                Some(referenced) => self.move_out(*frame, class, referenced),
                None => empty = false,
            }
        }
        if !empty {
            for frame in frames {
                if self.header(frame).is_claimed() {
                    self.classes[class].push_free(&self.space, frame);
                }
            }
        }
        empty
    }

    /// Moves the block of a claimed frame to a free one; drops it if there is none or its table is
    /// gone.
    fn move_out(&mut self, from: FrameNumber, class: usize, referenced: bool) {
        let owned = self.owner(from).is_some();
        let to = owned.then(|| self.classes[class].pop_free(&self.space));
        let Some(to) = to.flatten() else {
            return self.evict(from);
        };
        let tag = self.header(from).tag();
        self.space.relocate(from, to, tag, referenced);
        self.count_in(to);
        self.count_out(from);
        if let Some((slots, block)) = self.owner(from) {
            slots.set(block, to);
        }
    }

    /// Divides an empty slab into frames of a class and adds it to the class.
    fn give(&mut self, slab: usize, class: usize) {
        let fastest = self.classes.iter().filter(|c| !c.slabs().is_empty());
        let fastest = fastest.map(|c| c.laps).max().unwrap_or(0);
        self.space.divide(slab, self.sizes.frame_bytes(class));
        self.slabs[slab] = Slab { class, filled: 0 };
        let mut frames: Vec<FrameNumber> = self.space.frames_of(slab).collect();
        frames.reverse();
        let class = &mut self.classes[class];
        if class.slabs().is_empty() {
            // The laps counted when the class last had frames say nothing about the age of blocks
            // now.
            class.laps = fastest;
        }
        for frame in frames {
            self.space.header(frame).seize();
            class.push_free(&self.space, frame);
        }
        class.add(slab);
        self.used.slabs += self.sizes.slab_bytes() as u64;
        self.used.headers += self.space.header_bytes(class.per_slab);
    }

    /// Gives back slabs until `bytes` more may be used; returns whether that succeeded.
    fn make_room_for(&mut self, bytes: u64) -> bool {
        while self.used.total().saturating_add(bytes) > self.limit {
            let Some(slab) = self.squeeze_out() else {
                return false;
            };
            self.give_back(slab);
        }
        true
    }

    /// Gives back the memory of an empty slab.
    fn give_back(&mut self, slab: usize) {
        self.space.discard(slab);
        self.unused.push(slab);
    }

    /// The number of pinned frames of a slab and the bytes of their blocks; `None` past the last
    /// slab. Asked slab by slab, so that the lock is held only briefly.
    pub fn pinned_in(&self, slab: usize) -> Option<(u64, u64)> {
        (slab < self.slabs.len()).then(|| {
            let frames = self.space.frames_of(slab).map(|frame| self.header(frame));
            frames
                .filter(|header| !header.is_claimed() && header.is_pinned())
                .fold((0, 0), |(count, bytes), header| {
                    (count + 1, bytes + u64::from(header.len()))
                })
        })
    }
}
