//! Where frames and their headers lie.
//!
//! ```text
//!   region:   slab 0 | slab 1 | ... | headers
//!   slab:     frame 0 | frame 1 | ...     of one size, which may change when the slab is empty
//!   headers:  the first 256 of slab 0, of slab 1, ... | the next 256 of slab 0, of slab 1, ... | ...
//! ```
//!
//! Headers lie apart from the bytes, in a place that does not depend on the size of the frames: the
//! number of a frame that is long gone still leads to a header. And those that are in use lie close
//! together, a page of each slab beside the other, so that huge pages can hold those of most frames in
//! caches of 512 MiB and more: each translation of an address that is missing costs a get as much as a
//! line of memory does.

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

/// The most bytes of a range that are fetched ahead of use.
const MOST_BYTES_AHEAD: usize = 16 * LINE_BYTES;

/// Headers of a slab that lie together: a page of them.
const HEADERS_TOGETHER: usize = 256;

/// Blocks are larger than this, mostly: so many headers to a slab are taken for used.
const USUAL_FRAME_BYTES: usize = 4 << 10;

/// The number of a frame: slab and place in the slab, plus one. There is a header for each number
/// that [`FrameSpace::frame`] made, and only those are put into slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameNumber(NonZeroU32);

impl FrameNumber {
    /// What a slot holds; `None` where it holds nothing.
    #[inline]
    pub fn from_slot(slot: u32) -> Option<Self> {
        NonZeroU32::new(slot).map(FrameNumber)
    }

    /// For a slot.
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
    /// Numbers are a slab's times two to this, plus the place in the slab.
    places_shift: u32,
    headers_offset: usize,
    /// How many headers at the start of each slab's take memory, used or not: those in huge pages.
    headers_ahead: usize,
    /// Bytes of each slab's frames; 0 if it has none.
    frame_bytes: Box<[AtomicU32]>,
}

// SAFETY: the region is memory of this process, not of a thread.
unsafe impl Send for FrameSpace {}
// SAFETY: headers and sizes are atomics; bytes of frames are read behind a pin and written behind a
// claim (`state.rs`), which exclude each other.
unsafe impl Sync for FrameSpace {}

impl FrameSpace {
    /// Reserves as many slabs as `capacity` holds, or as can be numbered.
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
                "a cache of {capacity} bytes cannot be reserved ({e}): \
                 choose smaller cache_bytes, or let the process have more address space"
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
            headers_offset,
            headers_ahead,
            frame_bytes: (0..slabs).map(|_| AtomicU32::new(0)).collect(),
        })
    }

    /// How many slabs there are.
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

    /// What the headers of a slab of so many frames take.
    pub fn header_bytes(&self, frames: usize) -> u64 {
        (frames.max(self.headers_ahead) * size_of::<Header>()) as u64
    }

    #[inline]
    fn header_address(&self, frame: FrameNumber) -> NonNull<Header> {
        let together = HEADERS_TOGETHER.min(1 << self.places_shift);
        let place = self.place_of(frame);
        let group = place / together * self.slabs + self.slab_of(frame);
        let offset = (group * together + place % together) * size_of::<Header>();
        let offset = self.headers_offset + offset;
        // SAFETY: `frame` made the number, so its slab is below `slabs` and its place below what the
        // shift allows, which is a multiple of `together` (powers of two): the groups of all places
        // of all slabs, one behind the other, are what was reserved for headers.
        unsafe { self.region.start().add(offset).cast() }
    }

    /// The header of a frame.
    #[inline]
    pub fn header(&self, frame: FrameNumber) -> &Header {
        // SAFETY: the place is inside the region, aligned (slabs and headers are of powers of two),
        // zeroed at first, and never used for anything but this header.
        unsafe { self.header_address(frame).as_ref() }
    }

    /// Where the bytes of a frame start: of meaning to those who have it pinned or claimed, for
    /// others a guess that need not lie in the region.
    #[inline]
    pub fn bytes_of(&self, frame: FrameNumber) -> *mut u8 {
        let slab = self.slab_of(frame);
        let place = self.place_of(frame);
        let size = self.frame_bytes.get(slab);
        let size = size.map_or(0, |bytes| bytes.load(Ordering::Relaxed)) as usize;
        let offset = slab * self.slab_bytes + place * size;
        self.region.start().as_ptr().wrapping_add(offset)
    }

    /// Pins a frame if it holds the block with this tag, which is then given out.
    #[inline]
    pub fn pin(&self, frame: FrameNumber, tag: u64) -> Option<Pinned> {
        // SAFETY: this pin was just counted, for what is given out.
        let pinned = || unsafe { self.pinned(frame) };
        self.header(frame).pin(tag).then(pinned)
    }

    /// The block of a frame.
    ///
    /// # Safety
    /// The frame has a pin in its count that nobody else will take back.
    #[inline]
    unsafe fn pinned(&self, frame: FrameNumber) -> Pinned {
        // SAFETY: the pin is the caller's to give, and headers are there as long as there are pins
        // (see `drop`).
        let pin = unsafe { FramePin::counted(self.header_address(frame)) };
        let len = self.header(frame).len() as usize;
        // SAFETY: the frame is pinned and holds `len` bytes, which nobody writes before the pin is
        // taken back, and the region is there as long as there are pins.
        unsafe { Pinned::in_frame(pin, self.bytes_of(frame), len) }
    }

    /// Puts a block into a claimed frame, shows it to readers, and pins it.
    pub fn fill(&self, frame: FrameNumber, tag: u64, block: &[u8]) -> Pinned {
        self.write(frame, tag, block, true, false);
        // SAFETY: it was published with a pin, which is given out here.
        unsafe { self.pinned(frame) }
    }

    /// Puts the block of one claimed frame into another; readers may see it there.
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
        // SAFETY: the frame is claimed by the caller, so nobody else reads or writes it, and its
        // `room` bytes lie in its slab.
        unsafe {
            std::ptr::copy_nonoverlapping(block.as_ptr(), self.bytes_of(frame), block.len());
        }
        let header = self.header(frame);
        header.publish(tag, block.len() as u32, pin, referenced);
    }

    /// Fetches the header of a frame, and of its bytes the first and those of some ranges, if it is
    /// what the caller thinks, into the processor's caches.
    #[inline]
    pub fn prefetch<const N: usize>(&self, frame: FrameNumber, ranges: [(usize, usize); N]) {
        prefetch_line(self.header_address(frame).as_ptr().cast());
        let bytes = self.bytes_of(frame);
        prefetch_line(bytes);
        for (start, len) in ranges {
            prefetch_bytes(bytes.wrapping_add(start), len.min(MOST_BYTES_AHEAD));
        }
    }

    /// Divides an empty slab, all of whose frames are claimed by the caller or were never used, into
    /// frames of `bytes`; 0 for none.
    pub fn divide(&self, slab: usize, bytes: u32) {
        if let Some(frame_bytes) = self.frame_bytes.get(slab) {
            frame_bytes.store(bytes, Ordering::Relaxed);
        }
    }

    /// Gives the memory of an empty slab back, all of whose frames are claimed by the caller.
    pub fn discard(&self, slab: usize) {
        self.divide(slab, 0);
        // SAFETY: frames are read and written only behind a pin or a claim, and the slab's are
        // claimed by the caller.
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
    /// Pins may outlive all that made them. Then the region is left to them for ever, but for the
    /// memory of slabs without pins: better address space that nobody can name any more than bytes
    /// that are gone under a reader.
    fn drop(&mut self) {
        let is_pinned = |slab: usize| {
            let mut frames = self.frames_of(slab);
            frames.any(|frame| self.header(frame).is_pinned())
        };
        if !(0..self.slabs).any(is_pinned) {
            // SAFETY: pointers into the region are this space's own, or pins', of which there are
            // none, nor can there be new ones without the space.
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
