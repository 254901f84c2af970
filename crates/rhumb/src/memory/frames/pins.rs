//! Pins: what keeps a frame as it is while its bytes are read.

use std::ptr::NonNull;

use super::state::Header;

/// The most pins that are taken at once for a stock.
const MOST_AT_ONCE: u32 = 16;

/// One pin in the count of a frame. The frame's bytes do not change while it is held.
pub(in crate::memory) struct FramePin {
    header: NonNull<Header>,
}

// SAFETY: a pin is a count in an atomic, which any thread may take back.
unsafe impl Send for FramePin {}
// SAFETY: as above.
unsafe impl Sync for FramePin {}

impl FramePin {
    /// A pin that is in the frame's count already.
    ///
    /// # Safety
    /// It is the caller's to give: nobody else takes it back. The header stays where it is as long as
    /// there are pins in its count.
    #[inline]
    pub(super) unsafe fn counted(header: NonNull<Header>) -> FramePin {
        FramePin { header }
    }

    /// The frame's header.
    #[inline]
    pub(super) fn header(&self) -> &Header {
        // SAFETY: this is one of the pins that keep it (`FramePin::counted`).
        unsafe { self.header.as_ref() }
    }

    /// Another pin of the frame; `None` if it has too many.
    #[inline]
    pub fn again(&self) -> Option<FramePin> {
        let header = self.header;
        // Not `then_some`: a pin that was not added must not be dropped.
        self.header().pin_again(1).then(|| FramePin { header })
    }

    /// Another pin of the frame, out of `stock`; `None` if it has too many.
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

/// Pins of one frame for one who will need many, one after the other. The count of a frame changes by
/// a locked instruction, behind which nothing is read before all that stands before it was: where
/// every entry of a block took one, a scan would wait for each entry's memory by itself.
#[derive(Debug, Default)]
pub(in crate::memory) struct PinStock {
    header: Option<NonNull<Header>>,
    left: u32,
    /// How many were taken last: more each time, since most scans are short.
    taken: u32,
}

// SAFETY: as for the pins it holds.
unsafe impl Send for PinStock {}
// SAFETY: as above; it changes by `&mut` only.
unsafe impl Sync for PinStock {}

impl PinStock {
    /// Takes some pins of the frame that `pin` holds; `None` if it has too many.
    fn take(&mut self, pin: &FramePin) -> Option<()> {
        self.give_back();
        let count = (2 * self.taken).clamp(1, MOST_AT_ONCE);
        if !pin.header().pin_again(count) {
            return None;
        }
        (self.header, self.left, self.taken) = (Some(pin.header), count, count);
        Some(())
    }

    /// Gives back the pins that are left.
    pub fn give_back(&mut self) {
        if let Some(header) = self.header.take()
            && self.left > 0
        {
            // SAFETY: the pins that are left keep the header.
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
