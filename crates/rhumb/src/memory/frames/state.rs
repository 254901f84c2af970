//! The header of a frame: who may read it, who may write it, and whose block it holds.
//!
//! A reader comes with a frame number that it found in a table's slot and that may be out of date.
//! It pins the frame first and asks afterwards: if the frame is claimed, or holds another block, it
//! takes its pin back. A writer claims a frame only where nobody has pinned it, so a pin that was
//! kept keeps the bytes as they are.
//!
//! ```text
//!   reader: slot -> number | state += 1 | claimed? tag? -> keep the pin, or state -= 1
//!   writer: state 0 -> CLAIMED | old slot = 0 | bytes, tag | state -= CLAIMED | new slot = number
//! ```
//!
//! Headers stay headers for ever: a reader that is late by any time still adds to a state and takes
//! it back, never to bytes of a block. Every change of a state is a read-modify-write, so that what
//! a writer released is seen behind any number of readers' pins.

use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Set while the frame is its writer's alone: being filled, or free.
const CLAIMED: u32 = 1 << 31;
/// Set by readers, cleared by the hand of the clock.
const REFERENCED: u32 = 1 << 30;
/// The top bit of the count of pins: so many that nobody may add one. Far from running over into
/// `REFERENCED`, whatever number of threads just tries.
const CROWDED: u32 = 1 << 29;
const PINS: u32 = REFERENCED - 1;

/// What the hand of the clock found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    /// The frame is the caller's now.
    Claimed,
    /// It was read since the hand last came by; its mark is taken off.
    Spared,
    /// It is pinned or claimed.
    Busy,
}

/// The header of one frame. All zeros: a frame that was never used.
#[derive(Debug)]
#[repr(align(16))]
pub(super) struct Header {
    state: AtomicU32,
    /// Bytes of the block.
    len: AtomicU32,
    /// Table and block; in a free frame the next free one.
    tag: AtomicU64,
}

impl Header {
    /// A frame that was never used, as in zeroed memory.
    #[cfg(loom)]
    pub fn new() -> Self {
        Header {
            state: AtomicU32::new(0),
            len: AtomicU32::new(0),
            tag: AtomicU64::new(0),
        }
    }

    /// Pins the frame if it holds the block with this tag. The caller then may read it until
    /// [`Header::unpin`].
    #[inline]
    pub fn pin(&self, tag: u64) -> bool {
        // Acquires what the frame's last writer released. While it is not claimed and our pin is in,
        // nobody claims it, so that tag and bytes are those of that writer.
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

    /// Adds some pins, far fewer than make a crowd, to one that the caller holds; `false` if there
    /// are too many.
    #[inline]
    pub fn pin_again(&self, pins: u32) -> bool {
        let before = self.state.fetch_add(pins, Ordering::Relaxed);
        let added = before & CROWDED == 0;
        if !added {
            self.unpin(pins);
        }
        added
    }

    /// Takes back some pins.
    #[inline]
    pub fn unpin(&self, pins: u32) {
        // Releases what was read to the writer that claims the frame next.
        self.state.fetch_sub(pins, Ordering::Release);
    }

    /// Claims the frame for the clock, unless it was read since the last time.
    pub fn claim_if_idle(&self) -> Claim {
        let state = self.state.load(Ordering::Relaxed);
        match state {
            0 if self.exchange(state) => Claim::Claimed,
            REFERENCED => {
                self.state.fetch_and(!REFERENCED, Ordering::Relaxed);
                Claim::Spared
            }
            _ => Claim::Busy,
        }
    }

    /// Claims the frame, read lately or not, and says whether it was; `None` if it is pinned or
    /// claimed.
    pub fn claim(&self) -> Option<bool> {
        // Twice, for the clock is not the only one that may take the mark off or put it on.
        (0..2).find_map(|_| {
            let state = self.state.load(Ordering::Relaxed);
            let free = state & !REFERENCED == 0;
            (free && self.exchange(state)).then_some(state != 0)
        })
    }

    fn exchange(&self, unpinned: u32) -> bool {
        // Acquires what readers did before they unpinned: their reads come before our writes.
        self.state
            .compare_exchange(unpinned, CLAIMED, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Claims a frame that holds nothing: it was never used, or is claimed by the caller already.
    /// Late readers may just have a pin in.
    pub fn seize(&self) {
        self.state.fetch_or(CLAIMED, Ordering::Relaxed);
    }

    /// Puts the number of the next free frame into a claimed one. No block has such a tag.
    pub fn set_next_free(&self, next: u32) {
        self.tag.store(u64::from(next), Ordering::Relaxed);
    }

    /// What [`Header::set_next_free`] put there.
    pub fn next_free(&self) -> u32 {
        self.tag.load(Ordering::Relaxed) as u32
    }

    /// Shows a claimed frame to readers, with its bytes written: it holds `len` bytes of the block
    /// with this tag, and is pinned by the caller, or marked as read, if these say so.
    pub fn publish(&self, tag: u64, len: u32, pinned: bool, referenced: bool) {
        self.len.store(len, Ordering::Relaxed);
        self.tag.store(tag, Ordering::Relaxed);
        let mark = if referenced { REFERENCED } else { 0 };
        // Late readers may have pins in, so nothing is overwritten: adding the top bit removes it.
        let change = CLAIMED | mark | u32::from(pinned);
        self.state.fetch_add(change, Ordering::Release);
    }

    /// Whether the frame is its writer's alone.
    pub fn is_claimed(&self) -> bool {
        self.state.load(Ordering::Relaxed) & CLAIMED != 0
    }

    /// Whether somebody has the frame pinned. If not, what those who had read is done with.
    pub fn is_pinned(&self) -> bool {
        self.state.load(Ordering::Acquire) & PINS != 0
    }

    /// The tag; of meaning to those who keep the frame from being claimed.
    pub fn tag(&self) -> u64 {
        self.tag.load(Ordering::Relaxed)
    }

    /// Bytes of the block; of meaning to those who keep the frame from being claimed.
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
