//! A region of address space, to which the operating system gives memory as it is touched.

use std::ffi::c_void;
use std::io;
use std::ptr::{NonNull, null_mut};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Bytes of a huge page. The region starts at a multiple, so that it needs few address
/// translations.
pub(super) const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Zeroed memory at a fixed address. Dropping it does not unmap it: its owner unmaps it when
/// nothing is read any more.
pub(super) struct Region {
    mapped: NonNull<u8>,
    mapped_bytes: usize,
    start: NonNull<u8>,
}

impl Region {
    /// Reserves `bytes` bytes that start at a multiple of [`HUGE_PAGE_BYTES`].
    ///
    /// # Errors
    /// If the process may not have that much address space.
    pub fn reserve(bytes: usize) -> io::Result<Region> {
        let too_much = || io::Error::from(io::ErrorKind::OutOfMemory);
        let mapped_bytes = bytes.checked_add(HUGE_PAGE_BYTES).ok_or_else(too_much)?;
        let flags = MapFlags::PRIVATE;
        // Untouched memory must not count against the system's commit limit.
        #[cfg(target_os = "linux")]
        let flags = flags | MapFlags::NORESERVE;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: no address is asked for, so the mapping replaces nothing.
        let mapped = unsafe { mmap_anonymous(null_mut(), mapped_bytes, protection, flags) }?;
        let mapped = NonNull::new(mapped.cast::<u8>()).ok_or_else(too_much)?;
        let skip = mapped.as_ptr().align_offset(HUGE_PAGE_BYTES);
        Ok(Region {
            mapped,
            mapped_bytes,
            // SAFETY: `skip` is below `HUGE_PAGE_BYTES`, and that many extra bytes were mapped.
            start: unsafe { mapped.add(skip) },
        })
    }

    /// The first byte.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Advises the system to use huge pages, or not to, for the `bytes` at `offset`. A refusal is
    /// ignored: small pages work as well.
    pub fn use_huge_pages(&self, offset: usize, bytes: usize, huge: bool) {
        #[cfg(target_os = "linux")]
        {
            use rustix::mm::{Advice, madvise};
            let advice = match huge {
                true => Advice::LinuxHugepage,
                false => Advice::LinuxNoHugepage,
            };
            // SAFETY: the range is inside the mapping, and the advice changes no byte of it.
            let _ = unsafe { madvise(self.address(offset), bytes, advice) };
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (offset, bytes, huge);
    }

    /// Gives back the memory of the whole pages among the `bytes` at `offset`, whose contents are
    /// undefined afterwards.
    ///
    /// # Safety
    /// There must be no read or write of the range during the call.
    pub unsafe fn discard(&self, offset: usize, bytes: usize) {
        #[cfg(target_os = "linux")]
        {
            use rustix::mm::{Advice, madvise};
            // For a range that ends inside a page the system would discard the whole page,
            // including what follows the range. The region starts at a page.
            let page = rustix::param::page_size();
            let start = offset.next_multiple_of(page);
            let end = offset + bytes;
            let pages = (end - end % page).saturating_sub(start);
            // SAFETY: the pages are inside the range, which is inside the mapping, and the caller
            // excludes all other access to it.
            let _ = unsafe { madvise(self.address(start), pages, Advice::LinuxDontNeed) };
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (offset, bytes);
    }

    fn address(&self, offset: usize) -> *mut c_void {
        self.start.as_ptr().wrapping_add(offset).cast()
    }

    /// Unmaps everything.
    ///
    /// # Safety
    /// There must be no pointer into the region that will still be used.
    pub unsafe fn unmap(&self) {
        // SAFETY: it was mapped by `reserve`, and the caller guarantees that it is not used any
        // more.
        let _ = unsafe { munmap(self.mapped.as_ptr().cast(), self.mapped_bytes) };
    }
}
