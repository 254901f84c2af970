//! Asks the processor for memory ahead of its use.

use std::ops::Range;

/// The size of a cache line, in bytes.
pub(super) const LINE_BYTES: usize = 64;

/// Asks for the cache lines of a range of `bytes`, as far as it is inside. It changes nothing but the
/// time that the next reads take.
#[inline]
pub(crate) fn prefetch(bytes: &[u8], range: Range<usize>) {
    let end = range.end.min(bytes.len());
    let start = bytes.as_ptr().wrapping_add(range.start);
    prefetch_bytes(start, end.saturating_sub(range.start));
}

/// Asks for the cache lines of `len` bytes at any address.
#[inline]
pub(super) fn prefetch_bytes(start: *const u8, len: usize) {
    if len == 0 {
        return;
    }
    let before = start.addr() % LINE_BYTES;
    let first = start.wrapping_sub(before);
    for at in (0..before + len).step_by(LINE_BYTES) {
        prefetch_line(first.wrapping_add(at));
    }
}

/// Asks for the cache line that an address is in. Any address will do.
#[inline]
pub(super) fn prefetch_line(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch accesses no memory, whatever the address, and every x86_64 has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn any_range_and_address_will_do() {
        let bytes = [7; 200];
        for range in [0..200, 199..4000, 300..400, 5..5] {
            prefetch(&bytes, range);
        }
        prefetch(&[], 0..1);
        prefetch_line(std::ptr::null());
        prefetch_line(usize::MAX as *const u8);
        assert_eq!(bytes, [7; 200]);
    }
}
