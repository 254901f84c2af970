//! The frames of one size: the free ones, and the clock over the others.

use super::space::{FrameNumber, FrameSpace};

/// One revolution of the clock's hand, in the unit of [`Class::laps`].
pub(super) const LAP: u64 = 1 << 32;

/// All slabs with frames of one size.
#[derive(Debug, Default)]
pub(super) struct Class {
    /// Frames in a slab.
    pub per_slab: usize,
    slabs: Vec<usize>,
    /// The hand's position, in frames.
    hand: usize,
    /// How many times the hand has gone round, in units of 1 / [`LAP`]. Its growth is the speed at
    /// which blocks of this size age; the pool keeps that speed equal for all sizes.
    pub laps: u64,
    /// The first free frame, encoded as in a slot of a table; each free frame holds the next one.
    first_free: u32,
    free: usize,
}

impl Class {
    /// A class without slabs.
    pub fn new(per_slab: usize) -> Self {
        Class {
            per_slab,
            ..Class::default()
        }
    }

    /// The slabs of the class.
    pub fn slabs(&self) -> &[usize] {
        &self.slabs
    }

    /// The number of frames.
    pub fn frames(&self) -> usize {
        self.slabs.len() * self.per_slab
    }

    /// Whether at least as many frames are free as a slab has.
    pub fn has_surplus(&self) -> bool {
        !self.slabs.is_empty() && self.free >= self.per_slab
    }

    /// Adds a claimed frame to the free ones.
    pub fn push_free(&mut self, space: &FrameSpace, frame: FrameNumber) {
        space.header(frame).set_next_free(self.first_free);
        self.first_free = frame.to_slot();
        self.free += 1;
    }

    /// Removes a free frame from the list; it stays claimed.
    pub fn pop_free(&mut self, space: &FrameSpace) -> Option<FrameNumber> {
        let frame = FrameNumber::from_slot(self.first_free)?;
        self.first_free = space.header(frame).next_free();
        self.free -= 1;
        Some(frame)
    }

    /// Removes the frames of a slab from the free ones.
    pub fn withdraw_free(&mut self, space: &FrameSpace, slab: usize) {
        let mut kept = Class::default();
        while let Some(frame) = self.pop_free(space) {
            if space.slab_of(frame) != slab {
                kept.push_free(space, frame);
            }
        }
        (self.first_free, self.free) = (kept.first_free, kept.free);
    }

    /// Adds a slab at the position that the hand reaches last.
    pub fn add(&mut self, slab: usize) {
        let before = (self.hand / self.per_slab.max(1)).min(self.slabs.len());
        self.slabs.insert(before, slab);
        self.hand += self.per_slab;
    }

    /// Removes a slab.
    pub fn remove(&mut self, slab: usize) {
        let Some(at) = self.slabs.iter().position(|s| *s == slab) else {
            return;
        };
        self.slabs.remove(at);
        if self.hand / self.per_slab.max(1) > at {
            self.hand -= self.per_slab;
        }
    }

    /// Advances the hand by one frame and returns the frame that it passed.
    pub fn tick(&mut self, space: &FrameSpace) -> Option<FrameNumber> {
        let frames = self.frames();
        if self.hand >= frames {
            self.hand = 0;
        }
        let slab = *self.slabs.get(self.hand.checked_div(self.per_slab)?)?;
        let frame = space.frame(slab, self.hand % self.per_slab);
        self.hand += 1;
        self.laps += LAP / frames as u64;
        frame
    }
}
