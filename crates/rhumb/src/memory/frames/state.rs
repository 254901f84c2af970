//! The header of a frame: who may read or write the frame, and whose block it holds.
//!
//! A reader finds a frame number in a table's slot, which may be out of date. It pins the frame
//! first and checks afterwards: if the frame is claimed, or holds another block, it takes its pin
//! back. A writer claims only a frame without pins, so a pin that was kept keeps the bytes
//! unchanged.
//!
//! ```text
//!   reader: slot -> number | state += 1 | claimed? tag? -> keep the pin, or state -= 1
//!   writer: state 0 -> CLAIMED | old slot = 0 | bytes, tag | state -= CLAIMED | new slot = number
//! ```
//!
//! The memory of headers is never used for anything else: a late reader changes a state and undoes
//! that, never the bytes of a block. Every change of a state is a read-modify-write, so that a
//! writer's release is visible through any number of readers' pins.

use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Set while only the frame's writer may use it: while it is being filled, or free.
const CLAIMED: u32 = 1 << 31;
/// Set by readers, cleared by the hand of the clock.
const REFERENCED: u32 = 1 << 30;
/// The top bit of the pin count. Once it is set, no more pins are granted. The range above it is
/// large enough for the pins of all threads that add one and take it back, so that the count cannot
/// overflow into `REFERENCED`.
const CROWDED: u32 = 1 << 29;
const PINS: u32 = REFERENCED - 1;

/// What the hand of the clock found at a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimOutcome {
    /// The frame now belongs to the caller.
    Claimed,
    /// It was read since the hand last passed; its mark is now cleared.
    Spared,
    /// It is pinned or claimed.
    Busy,
}

/// The header of one frame. All zeros for a frame that was never used.
#[derive(Debug)]
#[repr(align(16))]
pub(super) struct Header {
    state: AtomicU32,
    /// Bytes of the block.
    len: AtomicU32,
    /// The table and block; in a free frame the number of the next free one.
    tag: AtomicU64,
}

impl Header {
    /// The header of a frame that was never used, as in zeroed memory.
    #[cfg(all(test, loom))]
    pub fn new() -> Self {
        Header {
            state: AtomicU32::new(0),
            len: AtomicU32::new(0),
            tag: AtomicU64::new(0),
        }
    }

    /// Pins the frame if it holds the block with this tag; returns whether it does. The caller may
    /// then read it until [`Header::unpin`].
    #[inline]
    pub fn pin(&self, tag: u64) -> bool {
        // Acquires what the frame's last writer released. If the frame was not claimed when the pin
        // was added, it cannot be claimed now, so tag and bytes are those of that writer.
        let before = self.state.fetch_add(1, Ordering::Acquire);
        if before & (CLAIMED | CROWDED) != 0 || self.tag.load(Ordering::Relaxed) != tag {
            self.unpin(1);
            return false;
        }
        if before & REFERENCED == 0 {
            self.state.fetch_or(REFERENCED, Ordering::Relaxed);
        }
        true
    }

    /// Adds pins, far fewer than `CROWDED`, to one that the caller holds; returns whether they were
    /// granted.
    #[inline]
    pub fn pin_again(&self, pins: u32) -> bool {
        let before = self.state.fetch_add(pins, Ordering::Relaxed);
        let added = before & CROWDED == 0;
        if !added {
            self.unpin(pins);
        }
        added
    }

    /// Takes back pins.
    #[inline]
    pub fn unpin(&self, pins: u32) {
        // The thread's reads happen before the writes of the frame's next claimer.
        self.state.fetch_sub(pins, Ordering::Release);
    }

    /// Claims the frame for the clock, unless it was read since the hand last passed.
    pub fn claim_if_idle(&self) -> ClaimOutcome {
        let state = self.state.load(Ordering::Relaxed);
        match state {
            0 if self.exchange(state) => ClaimOutcome::Claimed,
            REFERENCED => {
                self.state.fetch_and(!REFERENCED, Ordering::Relaxed);
                ClaimOutcome::Spared
            }
            _ => ClaimOutcome::Busy,
        }
    }

    /// Claims the frame whether it was read lately or not, and returns which; `None` if it is
    /// pinned or claimed.
    pub fn claim(&self) -> Option<bool> {
        // Tried twice, since `REFERENCED` may change between the load and the exchange.
        (0..2).find_map(|_| {
            let state = self.state.load(Ordering::Relaxed);
            let free = state & !REFERENCED == 0;
            (free && self.exchange(state)).then_some(state != 0)
        })
    }

    fn exchange(&self, unpinned: u32) -> bool {
        // Acquires the readers' releases in `unpin`: their reads happen before our writes.
        self.state
            .compare_exchange(unpinned, CLAIMED, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Claims a frame that holds nothing: it was never used, or the caller has claimed it already.
    /// Late readers may have added pins that they are about to take back.
    pub fn seize(&self) {
        self.state.fetch_or(CLAIMED, Ordering::Relaxed);
    }

    /// Puts the number of the next free frame into a claimed one. No block has such a tag, since
    /// tables are numbered from 1.
    pub fn set_next_free(&self, next: u32) {
        self.tag.store(u64::from(next), Ordering::Relaxed);
    }

    /// The number that [`Header::set_next_free`] stored.
    pub fn next_free(&self) -> u32 {
        self.tag.load(Ordering::Relaxed) as u32
    }

    /// Publishes a claimed frame, whose bytes are written, to readers: it holds `len` bytes of the
    /// block with this tag. It is pinned for the caller if `pinned`, and marked as read if
    /// `referenced`.
    pub fn publish(&self, tag: u64, len: u32, pinned: bool, referenced: bool) {
        self.len.store(len, Ordering::Relaxed);
        self.tag.store(tag, Ordering::Relaxed);
        let mark = if referenced { REFERENCED } else { 0 };
        // Late readers may have added pins, so the state is not overwritten. Adding the top bit,
        // which is set, clears it.
        let change = CLAIMED | mark | u32::from(pinned);
        self.state.fetch_add(change, Ordering::Release);
    }

    /// Whether only the frame's writer may use it.
    pub fn is_claimed(&self) -> bool {
        self.state.load(Ordering::Relaxed) & CLAIMED != 0
    }

    /// Whether the frame has pins. If not, the reads of all that were taken back happened before.
    pub fn is_pinned(&self) -> bool {
        self.state.load(Ordering::Acquire) & PINS != 0
    }

    /// The tag; only valid for callers that prevent the frame from being claimed.
    pub fn tag(&self) -> u64 {
        self.tag.load(Ordering::Relaxed)
    }

    /// Bytes of the block; only valid for callers that prevent the frame from being claimed.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len.load(Ordering::Relaxed)
    }

    #[cfg(test)]
    #[cfg(not(loom))]
    pub fn pins(&self) -> u32 {
        self.state.load(Ordering::Acquire) & PINS
    }

    #[cfg(test)]
    #[cfg(not(loom))]
    pub fn crowd(&self) {
        self.state.fetch_add(CROWDED, Ordering::Relaxed);
    }

    #[cfg(test)]
    #[cfg(not(loom))]
    pub fn disperse(&self) {
        self.state.fetch_sub(CROWDED, Ordering::Relaxed);
    }
}
