//! Chunks: so many bytes of a string as a big-endian number, with zeros after the end of the string.

use std::fmt::Debug;

use super::LONG;
use crate::search::{first_eight, first_sixteen, last_not_above};

/// A chunk of 8 or 16 bytes.
pub(super) trait Chunk: Copy + Ord + Debug + Send + Sync + 'static {
    /// How it is stored: little-endian.
    type Stored: Copy + Debug + AsRef<[u8]>;

    /// How many bytes it has.
    const BYTES: usize;

    /// The flag of forms with such chunks.
    const FLAG: u8;

    /// The chunk at the front of a string.
    fn of(string: &[u8]) -> Self;

    /// The chunks of a column.
    fn column(bytes: &[u8]) -> &[Self::Stored];

    /// A stored chunk.
    fn read(stored: Self::Stored) -> Self;

    /// The chunk as it is stored.
    fn stored(self) -> Self::Stored;

    /// How many zero bits are at its end.
    fn zero_bits(self) -> u32;

    /// The next chunk; `None` after the last one.
    fn after(self) -> Option<Self>;

    /// How far it is above another that is not above it.
    fn above(self, other: Self) -> f64;

    /// The 64 highest bits of that.
    fn top_above(self, other: Self) -> u64;

    /// The last chunk of a column in `from..to` that is not above this one, or `from` if all are above. Those before `from` must
    /// not be above it, and those from `to` on must be.
    fn last_not_above(self, column: &[Self::Stored], from: usize, to: usize) -> usize;

    /// The bytes of the chunk before the zeros at its end.
    fn length(self) -> usize {
        Self::BYTES.saturating_sub(self.zero_bits() as usize / 8)
    }
}

/// What chunks of both lengths do alike.
macro_rules! alike {
    ($bytes:literal) => {
        type Stored = [u8; $bytes];
        const BYTES: usize = $bytes;

        #[inline(always)]
        fn column(bytes: &[u8]) -> &[[u8; $bytes]] {
            bytes.as_chunks().0
        }

        #[inline(always)]
        fn read(stored: [u8; $bytes]) -> Self {
            Self::from_le_bytes(stored)
        }

        fn stored(self) -> [u8; $bytes] {
            self.to_le_bytes()
        }

        fn zero_bits(self) -> u32 {
            self.trailing_zeros()
        }

        fn after(self) -> Option<Self> {
            self.checked_add(1)
        }

        #[inline(always)]
        fn above(self, other: Self) -> f64 {
            self.wrapping_sub(other) as f64
        }
    };
}

impl Chunk for u64 {
    alike!(8);
    const FLAG: u8 = 0;

    #[inline(always)]
    fn of(string: &[u8]) -> Self {
        first_eight(string)
    }

    #[inline(always)]
    fn top_above(self, other: Self) -> u64 {
        self.wrapping_sub(other)
    }

    #[inline(always)]
    fn last_not_above(self, column: &[[u8; 8]], from: usize, to: usize) -> usize {
        last_not_above(column, from, to, self)
    }
}

impl Chunk for u128 {
    alike!(16);
    const FLAG: u8 = LONG;

    #[inline(always)]
    fn of(string: &[u8]) -> Self {
        first_sixteen(string)
    }

    #[inline(always)]
    fn top_above(self, other: Self) -> u64 {
        (self.wrapping_sub(other) >> 64) as u64
    }

    #[inline(always)]
    fn last_not_above(self, column: &[[u8; 16]], from: usize, to: usize) -> usize {
        let inside = column.get(from..to).unwrap_or_default();
        let count = inside.partition_point(|stored| Self::read(*stored) <= self);
        from + count.saturating_sub(1)
    }
}
