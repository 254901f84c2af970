//! Pins, which keep a frame unchanged while its bytes are read.

use std::ptr::NonNull;

use super::state::Header;

/// The most pins that a stock takes at once.
const MOST_AT_ONCE: u32 = 16;

/// One pin in a frame's pin count. The frame's bytes do not change while it is held.
pub(in crate::memory) struct FramePin {
    header: NonNull<Header>,
}

// SAFETY: a pin is part of an atomic count, which any thread may decrement.
unsafe impl Send for FramePin {}
// SAFETY: as above.
unsafe impl Sync for FramePin {}

impl FramePin {
    /// Wraps a pin that is already in the frame's count.
    ///
    /// # Safety
    /// The pin must be the caller's: no other value takes it back. The header must stay at its
    /// address as long as its pin count is not zero.
    #[inline]
    pub(super) unsafe fn counted(header: NonNull<Header>) -> FramePin {
        FramePin { header }
    }

    /// The frame's header.
    #[inline]
    pub(super) fn header(&self) -> &Header {
        // SAFETY: the header stays while it has pins, and this is one (`FramePin::counted`).
        unsafe { self.header.as_ref() }
    }

    /// Another pin of the same frame; `None` if the frame has too many.
    #[inline]
    pub fn again(&self) -> Option<FramePin> {
        let header = self.header;
        // Not `then_some`, which would drop, and so unpin, a pin that was never added.
        self.header().pin_again(1).then(|| FramePin { header })
    }

    /// Another pin of the same frame, taken from `stock`; `None` if the frame has too many.
    #[inline]
    pub fn again_from(&self, stock: &mut PinStock) -> Option<FramePin> {
        if stock.header != Some(self.header) || stock.left == 0 {
            stock.take(self)?;
        }
        stock.left -= 1;
        let header = self.header;
        Some(FramePin { header })
    }
}

impl Drop for FramePin {
    #[inline]
    fn drop(&mut self) {
        self.header().unpin(1);
    }
}

/// A stock of pins of one frame, for a scan that needs many of them one by one. A pin count changes
/// by a locked instruction, and no later load runs before all earlier loads are done. If each entry
/// took its pin in this way, a scan would wait for the memory of each entry in turn.
#[derive(Debug, Default)]
pub(in crate::memory) struct PinStock {
    header: Option<NonNull<Header>>,
    left: u32,
    /// How many pins were taken last. The number doubles each time, since most scans are short.
    taken: u32,
}

// SAFETY: as for the pins that it holds.
unsafe impl Send for PinStock {}
// SAFETY: as above; the stock changes through `&mut` only.
unsafe impl Sync for PinStock {}

impl PinStock {
    /// Replaces the stock by new pins of the frame that `pin` holds; `None` if it has too many.
    fn take(&mut self, pin: &FramePin) -> Option<()> {
        self.give_back();
        let count = (2 * self.taken).clamp(1, MOST_AT_ONCE);
        if !pin.header().pin_again(count) {
            return None;
        }
        (self.header, self.left, self.taken) = (Some(pin.header), count, count);
        Some(())
    }

    /// Takes back the pins that are left.
    pub fn give_back(&mut self) {
        if let Some(header) = self.header.take()
            && self.left > 0
        {
            // SAFETY: the pins that are left keep the header in place.
            unsafe { header.as_ref() }.unpin(self.left);
        }
        self.left = 0;
    }
}

impl Drop for PinStock {
    fn drop(&mut self) {
        self.give_back();
    }
}
