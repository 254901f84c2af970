//! Address space from the operating system, which gives it memory as it is touched.

use std::ffi::c_void;
use std::io;
use std::ptr::{NonNull, null_mut};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Bytes of a huge page: where the region starts at a multiple, few translations find all of it.
pub(super) const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Zeroed memory at a fixed place. Nothing is unmapped by itself: its owner knows what is still read.
pub(super) struct Region {
    mapped: NonNull<u8>,
    mapped_bytes: usize,
    start: NonNull<u8>,
}

impl Region {
    /// Reserves `bytes`, which start at a multiple of [`HUGE_PAGE_BYTES`].
    ///
    /// # Errors
    /// If the process may not have so much address space.
    pub fn reserve(bytes: usize) -> io::Result<Region> {
        let too_much = || io::Error::from(io::ErrorKind::OutOfMemory);
        let mapped_bytes = bytes.checked_add(HUGE_PAGE_BYTES).ok_or_else(too_much)?;
        let flags = MapFlags::PRIVATE;
        // What is never touched is not to count against what the system can promise.
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
            // SAFETY: `skip` is below `HUGE_PAGE_BYTES`, and as many bytes more were mapped.
            start: unsafe { mapped.add(skip) },
        })
    }

    /// The first byte.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Whether the `bytes` at `offset` shall lie in huge pages. A wish: if it is refused, the small
    /// ones serve.
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

    /// Gives the memory of the `bytes` at `offset` back, as far as they are whole pages; reading them
    /// gives anything then.
    ///
    /// # Safety
    /// Nobody reads or writes the range meanwhile.
    pub unsafe fn discard(&self, offset: usize, bytes: usize) {
        #[cfg(target_os = "linux")]
        {
            use rustix::mm::{Advice, madvise};
            // Of a range that ends inside a page the system takes all of the page, with what lies
            // behind the range. The region starts with a page.
            let page = rustix::param::page_size();
            let start = offset.next_multiple_of(page);
            let end = offset + bytes;
            let pages = (end - end % page).saturating_sub(start);
            // SAFETY: the pages are inside the range, this is inside the mapping, and the caller
            // keeps everybody off it.
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
    /// Nobody has a pointer into the region that is used any more.
    pub unsafe fn unmap(&self) {
        // SAFETY: it was mapped by `reserve`, and the caller says that nobody uses it.
        let _ = unsafe { munmap(self.mapped.as_ptr().cast(), self.mapped_bytes) };
    }
}
