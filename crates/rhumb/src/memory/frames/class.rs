//! The frames of one size: which are free, and the clock that goes over the others.

use super::space::{FrameNumber, FrameSpace};

/// One revolution of the hand, in the unit of [`Class::laps`].
pub(super) const LAP: u64 = 1 << 32;

/// All slabs with frames of one size.
#[derive(Debug, Default)]
pub(super) struct Class {
    /// Frames to a slab.
    pub per_slab: usize,
    slabs: Vec<usize>,
    /// Where the hand is, in frames.
    hand: usize,
    /// How often the hand went round since the cache was made, in units of 1 / [`LAP`]: the speed at
    /// which blocks of this size grow old. Where no size is favoured, all hands go at one speed.
    pub laps: u64,
    /// The first free frame, as in a slot; each holds the number of the next.
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

    /// Its slabs.
    pub fn slabs(&self) -> &[usize] {
        &self.slabs
    }

    /// How many frames it has.
    pub fn frames(&self) -> usize {
        self.slabs.len() * self.per_slab
    }

    /// Whether as many frames are free as make a slab.
    pub fn has_surplus(&self) -> bool {
        !self.slabs.is_empty() && self.free >= self.per_slab
    }

    /// Puts a claimed frame to the free ones.
    pub fn push_free(&mut self, space: &FrameSpace, frame: FrameNumber) {
        space.header(frame).set_next_free(self.first_free);
        self.first_free = frame.to_slot();
        self.free += 1;
    }

    /// Takes a free frame, which stays claimed.
    pub fn pop_free(&mut self, space: &FrameSpace) -> Option<FrameNumber> {
        let frame = FrameNumber::from_slot(self.first_free)?;
        self.first_free = space.header(frame).next_free();
        self.free -= 1;
        Some(frame)
    }

    /// Takes the free frames of a slab away.
    pub fn withdraw_free(&mut self, space: &FrameSpace, slab: usize) {
        let mut kept = Class::default();
        while let Some(frame) = self.pop_free(space) {
            if space.slab_of(frame) != slab {
                kept.push_free(space, frame);
            }
        }
        (self.first_free, self.free) = (kept.first_free, kept.free);
    }

    /// Adds a slab, which the hand comes to last.
    pub fn add(&mut self, slab: usize) {
        let before = (self.hand / self.per_slab.max(1)).min(self.slabs.len());
        self.slabs.insert(before, slab);
        self.hand += self.per_slab;
    }

    /// Takes a slab out.
    pub fn remove(&mut self, slab: usize) {
        let Some(at) = self.slabs.iter().position(|s| *s == slab) else {
            return;
        };
        self.slabs.remove(at);
        if self.hand / self.per_slab.max(1) > at {
            self.hand -= self.per_slab;
        }
    }

    /// Moves the hand on, and gives the frame that it was at.
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
