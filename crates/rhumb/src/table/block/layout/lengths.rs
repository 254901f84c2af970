//! Columns of lengths.

use std::ops::Range;

use crate::table::form::bits::word;

/// A column of lengths: stored, or the same length for all entries.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::table::block) struct Lengths {
    /// Where the lengths are stored; if `width` is 0, the length of all entries.
    start_or_alike: u32,
    /// Bytes of a stored length; 0 if all lengths are equal.
    width: u8,
}

impl Lengths {
    /// The same length for all entries.
    #[inline]
    pub fn all(length: u32) -> Self {
        Lengths {
            start_or_alike: length,
            width: 0,
        }
    }

    /// Lengths that are stored from `start` on, with `width` bytes each.
    #[inline]
    pub fn stored(start: u32, width: u8) -> Self {
        Lengths {
            start_or_alike: start,
            width,
        }
    }

    /// Where the lengths are stored.
    #[inline]
    pub fn start(&self) -> usize {
        self.start_or_alike as usize
    }

    /// The lengths of some entries, if they are stored in a byte each.
    #[inline]
    pub fn bytes<'r>(&self, raw: &'r [u8], entries: Range<usize>) -> Option<&'r [u8]> {
        match self.width {
            1 => raw.get(self.start() + entries.start..self.start() + entries.end),
            _ => None,
        }
    }

    /// The length of all entries, if the lengths are equal.
    #[inline]
    pub fn alike(&self) -> usize {
        self.start_or_alike as usize
    }

    #[inline]
    pub fn get(&self, raw: &[u8], i: usize) -> usize {
        match self.width {
            0 => self.alike(),
            1 => raw.get(self.start() + i).copied().unwrap_or(0).into(),
            2 => u16::from_le_bytes(word(raw, self.start() + 2 * i)).into(),
            _ => u32::from_le_bytes(word(raw, self.start() + 4 * i)) as usize,
        }
    }

    /// The sum of the lengths of the entries `from..to`, which lie in one group.
    #[inline]
    pub fn sum(&self, raw: &[u8], from: usize, to: usize) -> usize {
        match self.width {
            0 => (to - from) * self.alike(),
            1 => sum_of_bytes(raw, self.start() + from, to - from),
            _ => (from..to).map(|i| self.get(raw, i)).sum(),
        }
    }
}

/// The sum of the `count` bytes at `at`, which are few; 0 if they lie outside.
#[inline]
fn sum_of_bytes(raw: &[u8], at: usize, count: usize) -> usize {
    const EVEN: u128 = u128::MAX / 0xffff * 0xff;
    match raw.get(at..).and_then(|bytes| bytes.first_chunk()) {
        Some(bytes) if count < 16 => {
            let bytes = u128::from_le_bytes(*bytes) & !(u128::MAX << (8 * count));
            // Eight sums of two bytes, and the sum of these in the highest of them.
            let sums = (bytes & EVEN) + (bytes >> 8 & EVEN);
            let sums = (sums as u64).wrapping_add((sums >> 64) as u64);
            (sums.wrapping_mul(0x0001_0001_0001_0001) >> 48) as usize
        }
        _ => {
            let bytes = raw.get(at..at + count).unwrap_or_default();
            bytes.iter().map(|b| usize::from(*b)).sum()
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_that_of_the_bytes_inside() {
        let raw: Vec<u8> = (0..40).map(|i| 255 - i).collect();
        for at in 0..42 {
            for count in 0..18 {
                let bytes = raw.get(at..at + count).unwrap_or_default();
                let sum: usize = bytes.iter().map(|b| usize::from(*b)).sum();
                assert_eq!(sum_of_bytes(&raw, at, count), sum, "{count} at {at}");
            }
        }
    }
}
