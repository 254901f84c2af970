//! Shared by the kinds that know the exact rank of every number: the data-unclustered kinds of
//! "Evaluating Learned Indexes in LSM-tree Systems" (section 3.2), as table indexes.
//!
//! Such a kind keeps all distinct numbers in a layout of its own, each with the rank of its first
//! key. The window of a number holds exactly the keys with that number, mostly one. For an absent
//! number the window is empty and stands at the lower bound, so no entry is read in vain and range
//! scans can start there.
//!
//! Byte form, little-endian, after the common header of 4 bytes:
//!
//! ```text
//! offset  size  field
//!      4     4  N, number of keys
//!      8     4  D, number of distinct numbers, at most N; 0 if and only if N is 0
//!     12     2  position boundary, 4 to 1024
//!     14     2  longest run: the most keys that share a number; 0 if there are no keys
//!     16        only where D is below N: N bits in words of 8 bytes; bit r % 64 of word r / 64 is
//!               set if key r has the same number as key r - 1; bits past the last key are 0
//!               the layout, to the end; absent if D is 0
//! ```

mod builder;
mod index;
mod ties;

pub(crate) use builder::ExactBuilder;
pub(crate) use index::ExactIndex;

use std::fmt::Debug;

use crate::IndexError;
use crate::kind::Kind;
use crate::knob::Settings;

/// Where a number is, or would be, among the numbers of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The number is present; its first key has this rank.
    At(u64),
    /// Absent; the next greater number's first key has this rank, the number of keys if there is
    /// none.
    Before(u64),
    /// Absent; the first key of the next smaller number has this rank.
    After(u64),
}

impl Place {
    /// The place of `number`, given the neighbouring stored number `own` and the rank of its first
    /// key. No other stored number may lie between the two.
    #[inline(always)]
    pub(crate) fn of(own: u64, rank: u64, number: u64) -> Place {
        // Two comparisons: a three-way match would compile to a table look-up.
        if own == number {
            Place::At(rank)
        } else if own > number {
            Place::Before(rank)
        } else {
            Place::After(rank)
        }
    }
}

/// A layout of distinct numbers with a rank each.
pub(crate) trait Layout: Debug + Send + Sync + Sized + 'static {
    /// The kind whose layout it is.
    fn kind() -> &'static Kind;

    /// Writes the layout of one or more ascending numbers, each with the rank of its first key.
    /// Ranks ascend from 0 and are below 2^32 - 1.
    ///
    /// # Errors
    /// [`IndexError::Unfit`] if the layout cannot hold these numbers.
    fn lay(
        settings: &Settings,
        entries: &[(u64, u64)],
        out: &mut Vec<u8>,
    ) -> Result<(), IndexError>;

    /// Opens a layout of `numbers` numbers that [`Layout::lay`] wrote; `bytes` holds nothing else.
    ///
    /// # Errors
    /// [`IndexError::Damaged`], with an offset in `bytes`, if the layout is invalid. Undetected
    /// damage may make answers wrong, but [`Layout::find`] must terminate and must not panic.
    fn open(bytes: &[u8], numbers: usize) -> Result<Self, IndexError>;

    /// Finds a number. The caller clamps ranks that are too large.
    fn find(&self, bytes: &[u8], number: u64) -> Place;

    /// The offset of the byte that should be aligned to [`crate::search::LINE_BYTES`] in memory, if
    /// alignment matters.
    fn cache_line_at(&self) -> Option<usize> {
        None
    }

    /// As [`Layout::find`] if a few steps suffice, else `None`. The fewer instructions most
    /// look-ups take, the more of their memory accesses the processor overlaps.
    #[inline(always)]
    fn find_at_once(&self, bytes: &[u8], number: u64) -> Option<Place> {
        Some(self.find(bytes, number))
    }

    /// Heap bytes, the byte form not counted.
    fn heap_bytes(&self) -> usize {
        0
    }
}
