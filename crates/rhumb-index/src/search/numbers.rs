//! Search among sorted numbers.

use std::ops::Range;

use super::count::{FEW, MORE, below};
use super::outward::{Sorted, from_middle};
use super::{clamped, prefetch};
use crate::Window;

/// The rank at which a number belongs in a sorted slice, given the window that an index returned:
/// the first rank in `lo..=hi` whose number is not below `key`, or `hi` if there is none. A window
/// that extends past the slice is clipped, so the answer is at most the slice's length.
///
/// Numbers may repeat. For a number whose rank is outside the window the answer is the nearer end
/// of the window.
///
/// ```
/// use rhumb_index::{Window, search};
///
/// let numbers = [10, 20, 20, 30, 40];
/// let window = Window { lo: 1, hi: 4 };
/// assert_eq!(search::lower_bound_u64(&numbers, window, 20), 1);
/// assert_eq!(search::lower_bound_u64(&numbers, window, 25), 3);
/// assert_eq!(search::lower_bound_u64(&numbers, window, 99), 4);
/// ```
#[inline]
pub fn lower_bound_u64(numbers: &[u64], window: Window, key: u64) -> usize {
    lower_bound_in_column(numbers, window, key)
}

/// As [`lower_bound_u64`] for numbers stored in other types, such as those of a byte form.
#[inline]
pub(crate) fn lower_bound_in_column<N: Number>(column: &[N], window: Window, key: u64) -> usize {
    let numbers = column;
    from_middle(Numbers { numbers, key }, clamped(window, numbers.len()))
}

/// How many numbers are prefetched at once: seventeen cache lines, about as many as a core fetches
/// in parallel.
pub(crate) const NEAR_NUMBERS: usize = 136;

/// A stored number.
pub(crate) trait Number: Copy {
    /// The number.
    fn value(self) -> u64;

    /// How many of these are below `key`, counted with SIMD; `None` if that is not possible or not
    /// faster.
    #[inline(always)]
    fn count_below<const N: usize>(_numbers: &[Self; N], _key: u64) -> Option<usize> {
        None
    }
}

impl Number for u64 {
    #[inline(always)]
    fn value(self) -> u64 {
        self
    }

    #[inline(always)]
    fn count_below<const N: usize>(numbers: &[u64; N], key: u64) -> Option<usize> {
        below(numbers, key)
    }
}

impl Number for [u8; 8] {
    #[inline(always)]
    fn value(self) -> u64 {
        u64::from_le_bytes(self)
    }

    #[inline(always)]
    fn count_below<const N: usize>(numbers: &[[u8; 8]; N], key: u64) -> Option<usize> {
        below(numbers, key)
    }
}

/// Little-endian numbers of fewer bytes.
macro_rules! narrow {
    ($($number:ty),*) => {$(
        impl Number for [u8; size_of::<$number>()] {
            #[inline(always)]
            fn value(self) -> u64 {
                <$number>::from_le_bytes(self).into()
            }
        }
    )*};
}
narrow!(u8, u16, u32);

/// Sorted numbers, and the one sought.
#[derive(Clone, Copy)]
struct Numbers<'a, N> {
    numbers: &'a [N],
    key: u64,
}

impl<N: Number> Sorted for Numbers<'_, N> {
    const NEAR: usize = NEAR_NUMBERS;

    #[inline]
    fn is_before(self, at: usize) -> bool {
        let number = self.numbers.get(at);
        number.is_some_and(|number| number.value() < self.key)
    }

    #[inline]
    fn prefetch(self, at: usize) {
        prefetch(self.numbers, at..at + 1);
    }

    #[inline]
    fn search_near(self, range: Range<usize>) -> usize {
        // Exact kinds give a window of one key or none.
        if range.len() <= 1 {
            return range.start + usize::from(!range.is_empty() && self.is_before(range.start));
        }
        let counted = if range.len() <= FEW {
            self.count::<FEW>(range.clone())
        } else if range.len() <= MORE {
            self.count::<MORE>(range.clone())
        } else {
            None
        };
        if let Some(place) = counted {
            return place;
        }
        let start = range.start;
        let near = self.numbers.get(range).unwrap_or_default();
        prefetch(near, 0..near.len());
        // The loop of `first_not`, without bounds checks.
        start + near.partition_point(|number| number.value() < self.key)
    }
}

impl<N: Number> Numbers<'_, N> {
    /// The first index of a range of at most `AT_ONCE` numbers that is not before the key, or its
    /// end, by counting. `None` if that is not faster.
    #[inline]
    fn count<const AT_ONCE: usize>(self, range: Range<usize>) -> Option<usize> {
        // Neighbours are counted too; the slice is sorted, so clamping corrects the result.
        let start = range.start.min(self.numbers.len().checked_sub(AT_ONCE)?);
        let numbers = self.numbers.get(start..)?.first_chunk::<AT_ONCE>()?;
        let counted = N::count_below(numbers, self.key)?;
        Some((start + counted).clamp(range.start, range.end))
    }
}
