//! The layout of frames and their headers in memory.
//!
//! ```text
//!   region:   slab 0 | slab 1 | ... | headers
//!   slab:     frame 0 | frame 1 | ...     of one size, which may change when the slab is empty
//!   headers:  the first 256 of slab 0, of slab 1, ... | the next 256 of slab 0, of slab 1, ... | ...
//! ```
//!
//! Headers lie apart from the bytes, at addresses that do not depend on the size of the frames: the
//! number of a frame that no longer exists still leads to a header. The headers in use lie close
//! together, a page from each slab after the other, so that in caches of 512 MiB and more huge
//! pages can hold those of most frames: a missing address translation costs a get as much as a
//! missing cache line.

use std::num::NonZeroU32;
use std::ptr::NonNull;

use rhumb_index::search::{LINE_BYTES, prefetch_bytes, prefetch_line};

use super::pins::FramePin;
use super::region::{HUGE_PAGE_BYTES, Region};
use super::sizes::{MIN_FRAME_BYTES, Sizes};
use super::state::Header;
use crate::error::{Error, Result};
use crate::memory::Pinned;
use crate::sync::atomic::{AtomicU32, Ordering};

/// The most bytes of a range that are prefetched.
const MOST_BYTES_AHEAD: usize = 16 * LINE_BYTES;

/// How many headers of a slab lie together: a page of them.
const HEADERS_TOGETHER: usize = 256;

/// Most blocks are larger than this, so only this many frames a slab are expected to use their
/// headers.
const USUAL_FRAME_BYTES: usize = 4 << 10;

/// The number of a frame: its slab and its place in the slab, plus one. Every number that
/// [`FrameSpace::frame`] made has a header, and slots hold only such numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameNumber(NonZeroU32);

impl FrameNumber {
    /// The frame in a slot; `None` if the slot is empty.
    #[inline]
    pub fn from_slot(slot: u32) -> Option<Self> {
        NonZeroU32::new(slot).map(FrameNumber)
    }

    /// The value for a slot.
    pub fn to_slot(self) -> u32 {
        self.0.get()
    }

    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// The memory of all frames.
pub(super) struct FrameSpace {
    region: Region,
    slab_bytes: usize,
    slabs: usize,
    /// A frame's index is its slab's number, shifted left by this, plus its place.
    places_shift: u32,
    /// Two to the power of this are the headers of a slab that lie together.
    together_shift: u32,
    headers_offset: usize,
    /// How many headers at the start of each slab's headers take memory even if unused: those in
    /// huge pages.
    headers_ahead: usize,
    /// The frame size of each slab in bytes; 0 if the slab is not divided.
    frame_bytes: Box<[AtomicU32]>,
}

// SAFETY: the region belongs to the process, not to a thread.
unsafe impl Send for FrameSpace {}
// SAFETY: headers and sizes are atomics. The bytes of a frame are read only while it is pinned and
// written only while it is claimed (`state.rs`), which exclude each other.
unsafe impl Sync for FrameSpace {}

impl FrameSpace {
    /// Reserves as many slabs as `capacity` holds, or as frame numbers reach.
    ///
    /// # Errors
    /// If the system refuses the address space.
    pub fn reserve(capacity: u64, sizes: &Sizes) -> Result<FrameSpace> {
        let slab_bytes = sizes.slab_bytes();
        let places = slab_bytes / MIN_FRAME_BYTES;
        let slabs = (capacity / slab_bytes as u64).min(u64::from(u32::MAX) / places as u64);
        let slabs = usize::try_from(slabs).unwrap_or(usize::MAX);
        let headers_offset = slabs.saturating_mul(slab_bytes);
        let header_bytes = slabs.saturating_mul(places * size_of::<Header>());
        let region = Region::reserve(headers_offset.saturating_add(header_bytes)).map_err(|e| {
            Error::InvalidArgument(format!(
                "Options::cache_bytes is {capacity}, and so much address space cannot be reserved ({e}): \
                 set it smaller, or let the process have more"
            ))
        })?;
        let whole = |bytes: usize| bytes - bytes % HUGE_PAGE_BYTES;
        region.use_huge_pages(0, whole(headers_offset), true);
        region.use_huge_pages(headers_offset, header_bytes, false);
        let groups = slab_bytes / USUAL_FRAME_BYTES / HEADERS_TOGETHER;
        let headers_ahead = match headers_offset == whole(headers_offset) {
            true => groups * HEADERS_TOGETHER,
            false => 0,
        };
        let ahead = slabs * headers_ahead * size_of::<Header>();
        region.use_huge_pages(headers_offset, whole(ahead), true);
        Ok(FrameSpace {
            region,
            slab_bytes,
            slabs,
            places_shift: places.trailing_zeros(),
            together_shift: HEADERS_TOGETHER.min(places).trailing_zeros(),
            headers_offset,
            headers_ahead,
            frame_bytes: (0..slabs).map(|_| AtomicU32::new(0)).collect(),
        })
    }

    /// The number of slabs.
    pub fn slabs(&self) -> usize {
        self.slabs
    }

    /// The number of a frame; `None` if there is no such slab or place.
    pub fn frame(&self, slab: usize, place: usize) -> Option<FrameNumber> {
        let inside = slab < self.slabs && place >> self.places_shift == 0;
        let number = (slab << self.places_shift | place) as u32;
        inside
            .then(|| FrameNumber::from_slot(number.wrapping_add(1)))
            .flatten()
    }

    /// The slab that a frame lies in.
    #[inline]
    pub fn slab_of(&self, frame: FrameNumber) -> usize {
        frame.index() >> self.places_shift
    }

    /// The place of a frame in its slab.
    #[inline]
    fn place_of(&self, frame: FrameNumber) -> usize {
        frame.index() & ((1 << self.places_shift) - 1)
    }

    /// The memory that the headers of a slab of `frames` frames take, in bytes.
    pub fn header_bytes(&self, frames: usize) -> u64 {
        (frames.max(self.headers_ahead) * size_of::<Header>()) as u64
    }

    #[inline]
    fn header_address(&self, frame: FrameNumber) -> NonNull<Header> {
        let together = self.together_shift;
        let (place, in_group) = (self.place_of(frame), (1 << together) - 1);
        let group = (place >> together) * self.slabs + self.slab_of(frame);
        let offset = (group << together | place & in_group) * size_of::<Header>();
        let offset = self.headers_offset + offset;
        // SAFETY: `frame` made the number, so the slab is below `slabs` and the place below `1 <<
        // places_shift`, a multiple of `1 << together`, since both are powers of two. So the group
        // is below the number of groups for which `reserve` made room after `headers_offset`.
        unsafe { self.region.start().add(offset).cast() }
    }

    /// The header of a frame.
    #[inline]
    pub fn header(&self, frame: FrameNumber) -> &Header {
        // SAFETY: the address is inside the region, aligned (the sizes of slabs and headers are
        // powers of two), zeroed at first, and only ever used for this header.
        unsafe { self.header_address(frame).as_ref() }
    }

    /// The address of a frame's bytes. It is valid for callers that have the frame pinned or
    /// claimed; for others it is a guess that may even lie outside of the region.
    #[inline]
    pub fn bytes_of(&self, frame: FrameNumber) -> *mut u8 {
        let slab = self.slab_of(frame);
        let place = self.place_of(frame);
        let size = self.frame_bytes.get(slab);
        let size = size.map_or(0, |bytes| bytes.load(Ordering::Relaxed)) as usize;
        let offset = slab * self.slab_bytes + place * size;
        self.region.start().as_ptr().wrapping_add(offset)
    }

    /// Pins a frame and returns its block, if it holds the block with this tag.
    #[inline]
    pub fn pin(&self, frame: FrameNumber, tag: u64) -> Option<Pinned> {
        // SAFETY: the pin was just added, and is handed over here.
        let pinned = || unsafe { self.pinned(frame) };
        self.header(frame).pin(tag).then(pinned)
    }

    /// The block in a frame.
    ///
    /// # Safety
    /// The frame's count must contain a pin that only this call hands over.
    #[inline]
    unsafe fn pinned(&self, frame: FrameNumber) -> Pinned {
        // SAFETY: the pin is the caller's to hand over, and headers stay as long as there are pins
        // (see `drop`).
        let pin = unsafe { FramePin::counted(self.header_address(frame)) };
        let len = self.header(frame).len() as usize;
        // SAFETY: the frame is pinned and holds `len` bytes, which are not written before the pin
        // is taken back, and the region stays as long as there are pins.
        unsafe { Pinned::in_frame(pin, self.bytes_of(frame), len) }
    }

    /// Puts a block into a claimed frame, publishes it to readers, and marks it as not read yet.
    pub fn fill_unread(&self, frame: FrameNumber, tag: u64, block: &[u8]) {
        self.write(frame, tag, block, false, false);
    }

    /// Puts a block into a claimed frame, publishes it to readers, and pins it.
    pub fn fill(&self, frame: FrameNumber, tag: u64, block: &[u8]) -> Pinned {
        self.write(frame, tag, block, true, false);
        // SAFETY: the frame was published with a pin, which is handed over here.
        unsafe { self.pinned(frame) }
    }

    /// Copies the block of one claimed frame into another and publishes it there.
    pub fn relocate(&self, from: FrameNumber, to: FrameNumber, tag: u64, referenced: bool) {
        let (bytes, len) = (self.bytes_of(from), self.header(from).len() as usize);
        // SAFETY: `from` is claimed by the caller and holds `len` bytes of a block.
        let block = unsafe { std::slice::from_raw_parts(bytes, len) };
        self.write(to, tag, block, false, referenced);
    }

    fn write(&self, frame: FrameNumber, tag: u64, block: &[u8], pin: bool, referenced: bool) {
        let room = self.frame_bytes.get(self.slab_of(frame));
        let room = room.map_or(0, |bytes| bytes.load(Ordering::Relaxed)) as usize;
        let block = block.get(..room).unwrap_or(block);
        // SAFETY: the caller has claimed the frame, so no other thread reads or writes it, and its
        // `room` bytes lie in its slab.
        unsafe {
            std::ptr::copy_nonoverlapping(block.as_ptr(), self.bytes_of(frame), block.len());
        }
        let header = self.header(frame);
        header.publish(tag, block.len() as u32, pin, referenced);
    }

    /// Prefetches into the processor's caches the header of a frame, the first of its bytes, and
    /// some ranges of them. The frame may hold another block by now, which does no harm.
    #[inline]
    pub fn prefetch<const N: usize>(&self, frame: FrameNumber, ranges: [(usize, usize); N]) {
        prefetch_line(self.header_address(frame).as_ptr().cast());
        let bytes = self.bytes_of(frame);
        prefetch_line(bytes);
        for (start, len) in ranges {
            prefetch_bytes(bytes.wrapping_add(start), len.min(MOST_BYTES_AHEAD));
        }
    }

    /// Divides an empty slab into frames of `bytes` bytes; 0 for none. The caller must have claimed
    /// all of its frames that were ever used.
    pub fn divide(&self, slab: usize, bytes: u32) {
        if let Some(frame_bytes) = self.frame_bytes.get(slab) {
            frame_bytes.store(bytes, Ordering::Relaxed);
        }
    }

    /// Gives back the memory of an empty slab, all of whose frames the caller has claimed.
    pub fn discard(&self, slab: usize) {
        self.divide(slab, 0);
        // SAFETY: frames are read only while pinned and written only while claimed, and the caller
        // has claimed those of the slab.
        unsafe {
            self.region.discard(slab * self.slab_bytes, self.slab_bytes);
        }
    }

    /// The frames of a slab.
    pub fn frames_of(&self, slab: usize) -> impl Iterator<Item = FrameNumber> + '_ {
        let bytes = self.frame_bytes.get(slab);
        let bytes = bytes.map_or(0, |bytes| bytes.load(Ordering::Relaxed)) as usize;
        let places = self.slab_bytes.checked_div(bytes).unwrap_or(0);
        (0..places).filter_map(move |place| self.frame(slab, place))
    }
}

impl Drop for FrameSpace {
    /// Pins may outlive the cache and all tables. The region then stays mapped for ever, except
    /// that slabs without pins give back their memory: lost address space is better than bytes that
    /// vanish under a reader.
    fn drop(&mut self) {
        let is_pinned = |slab: usize| {
            let mut frames = self.frames_of(slab);
            frames.any(|frame| self.header(frame).is_pinned())
        };
        if !(0..self.slabs).any(is_pinned) {
            // SAFETY: only this space and pins have pointers into the region. There are no pins,
            // and no new ones can be made without the space.
            unsafe { self.region.unmap() };
            return;
        }
        for slab in 0..self.slabs {
            if !is_pinned(slab) && self.frames_of(slab).next().is_some() {
                self.discard(slab);
            }
        }
    }
}
