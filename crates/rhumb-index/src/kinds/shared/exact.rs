//! What the kinds share that know the exact place of every number: the data-unclustered ones of
//! "Evaluating Learned Indexes in LSM-tree Systems" (section 3.2), as table indexes.
//!
//! Such a kind keeps all distinct numbers in a layout of its own, each with the rank of its first key,
//! and answers a look-up with exactly the keys that have the number: mostly one. Where there are none
//! it answers with the empty window at the lower bound, so it reads nothing in vain and is ordered.
//!
//! Byte form, little-endian, after the common header of 4 bytes:
//!
//! ```text
//! offset  size  field
//!      4     4  N, number of keys
//!      8     4  D, number of distinct numbers, at most N; 0 if and only if N is 0
//!     12     2  position boundary, 4 to 1024
//!     14     2  longest run: the most keys that share a number; 0 if there are no keys
//!     16        only where D is below N: N bits in words of 8 bytes, bit r % 64 of word r / 64 being
//!               set if key r has the number of key r - 1; none behind the last key is set
//!               the layout, to the end; none if D is 0
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

/// The place of a number among those that a layout holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The number is there; its first key has this rank.
    At(u64),
    /// It is not; the first key above it has this rank, which is the number of keys if there is none.
    Before(u64),
    /// It is not; the keys of the next number below it start at this rank.
    After(u64),
}

impl Place {
    /// The place of a number next to one that is held, whose first key has this rank, where none that is held
    /// is between the two.
    #[inline(always)]
    pub(crate) fn of(own: u64, rank: u64, number: u64) -> Place {
        // One after the other: a comparison of all three ways would be looked up in a table.
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

    /// Lays out numbers, of which there is at least one, in ascending order, each with the rank of its first
    /// key; ranks ascend from 0 and are below 2^32 - 1.
    ///
    /// # Errors
    /// [`IndexError::Unfit`] if this cannot be done.
    fn lay(
        settings: &Settings,
        entries: &[(u64, u64)],
        out: &mut Vec<u8>,
    ) -> Result<(), IndexError>;

    /// Reads what [`Layout::lay`] wrote for so many numbers: all of `bytes`.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] if it cannot be used, with an offset in `bytes`. Damage that goes unnoticed may make answers wrong,
    /// but [`Layout::find`] must come to an end and not panic.
    fn open(bytes: &[u8], numbers: usize) -> Result<Self, IndexError>;

    /// Where a number is. Ranks that are too large are cut down by the caller.
    fn find(&self, bytes: &[u8], number: u64) -> Place;

    /// Which byte is best at a multiple of [`crate::search::LINE_BYTES`] in memory, if that matters.
    fn cache_line_at(&self) -> Option<usize> {
        None
    }

    /// The same where it is known after few steps; `None` leaves it to [`Layout::find`]. The fewer
    /// instructions most look-ups need, the more of them wait for memory at once.
    #[inline(always)]
    fn find_at_once(&self, bytes: &[u8], number: u64) -> Option<Place> {
        Some(self.find(bytes, number))
    }

    /// Bytes on the heap, beside the byte form.
    fn heap_bytes(&self) -> usize {
        0
    }
}
