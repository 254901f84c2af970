//! Many reads at once, where the system can do them together.

use std::os::fd::BorrowedFd;

use super::ReadFile;

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod uring;
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
mod uring {
    /// Reads none: this system cannot.
    pub(crate) fn read_all(_: &[super::Part<'_>], _: impl FnMut(usize, &[u8])) {}
}

pub(crate) use uring::read_all;

/// Longer parts are better read apart from others: they take longer to bring than to ask for.
pub(crate) const MOST_BYTES: u64 = 256 << 10;

/// A part of a file that is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    pub file: BorrowedFd<'a>,
    /// Reads have to start and end at multiples of this.
    pub unit: usize,
    pub offset: u64,
    pub bytes: usize,
}

impl<'a> Part<'a> {
    /// A part of a file; `None` if the file has to see each read.
    pub fn of(file: &'a dyn ReadFile, offset: u64, bytes: u64) -> Option<Part<'a>> {
        let bytes = usize::try_from(bytes).ok()?;
        let (file, unit) = file.descriptor()?;
        Some(Part {
            file,
            unit,
            offset,
            bytes,
        })
    }

    /// Whether reads of the file go past the page cache, so that each waits for the device.
    pub fn is_direct(&self) -> bool {
        self.unit > 1
    }
}
