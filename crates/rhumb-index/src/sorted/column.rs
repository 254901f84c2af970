//! Columns of elements in a byte form.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::ops::Range;

use super::form::NAME;
use crate::bytes::Reader;
use crate::search::{NEAR_NUMBERS, Number, lower_bound_in_column, prefetch};
use crate::{IndexError, KeyMap, Window};

/// The location of elements of one type in a byte form. The form is passed to every call.
pub trait Column: Debug + Sized {
    /// An element as stored.
    type Item<'k>: Copy + Ord + Debug;

    /// Whether items are numbers and need no key map.
    const NUMBERS: bool;

    /// Collects elements for the column.
    type Collector: Collector<Column = Self>;

    /// Opens `place` of a form as a column of `count` elements.
    fn open(form: &[u8], place: Range<usize>, count: usize) -> Result<Self, IndexError>;

    /// An element; `None` past the end, or if the bytes are damaged.
    fn get<'b>(&self, form: &'b [u8], at: usize) -> Option<Self::Item<'b>>;

    /// The first index in a window whose element is not below `item`.
    fn lower_bound(&self, form: &[u8], window: Window, item: Self::Item<'_>) -> usize;

    /// Prefetches the elements of a window.
    fn prefetch(&self, form: &[u8], window: Window);

    /// Prefetches the data that [`Column::prefetch`] itself reads.
    fn prefetch_places(&self, form: &[u8], window: Window);

    /// The number by which models find an item.
    fn number(map: Option<&KeyMap>, item: Self::Item<'_>) -> u64;

    /// Passes the bytes of an item to `show`. Their order is that of the items.
    fn with_bytes<R>(item: Self::Item<'_>, show: impl FnOnce(&[u8]) -> R) -> R;
}

/// Collects the elements of a column.
pub trait Collector: Default {
    /// The type of the column.
    type Column: Column;

    /// Adds an element.
    fn push(&mut self, item: <Self::Column as Column>::Item<'_>);

    /// Compares the last element added with `item`; `None` if there is none.
    fn compare_last(&self, item: <Self::Column as Column>::Item<'_>) -> Option<Ordering>;

    /// Appends the column.
    fn finish(self, out: &mut Vec<u8>);
}

/// The ranks about the middle of a window, at most so many: a search begins there.
pub(super) fn middle(window: Window, most: usize) -> Range<usize> {
    let clamp = |rank: u64| usize::try_from(rank).unwrap_or(usize::MAX);
    let (lo, hi) = (clamp(window.lo), clamp(window.hi));
    let len = hi.saturating_sub(lo);
    let start = lo + len.saturating_sub(most) / 2;
    start..start.saturating_add(len.min(most))
}

/// Numbers of `W` bytes, little-endian.
#[derive(Debug)]
pub struct Fixed<const W: usize> {
    bytes: Range<usize>,
}

impl<const W: usize> Fixed<W> {
    #[inline(always)]
    fn numbers<'b>(&self, form: &'b [u8]) -> &'b [[u8; W]] {
        form.get(self.bytes.clone())
            .unwrap_or_default()
            .as_chunks()
            .0
    }
}

impl<const W: usize> Column for Fixed<W>
where
    [u8; W]: Number,
{
    type Item<'k> = u64;
    const NUMBERS: bool = true;
    type Collector = Numbers<W>;

    fn open(form: &[u8], place: Range<usize>, count: usize) -> Result<Self, IndexError> {
        if count.checked_mul(W) != Some(place.len()) {
            let expected = format!("{count} numbers of {W} bytes");
            let reader = Reader::new(NAME, form);
            return Err(reader.damaged_at(place.start, expected, place.len()));
        }
        Ok(Fixed { bytes: place })
    }

    #[inline(always)]
    fn get(&self, form: &[u8], at: usize) -> Option<u64> {
        self.numbers(form).get(at).map(|bytes| bytes.value())
    }

    #[inline(always)]
    fn lower_bound(&self, form: &[u8], window: Window, item: u64) -> usize {
        lower_bound_in_column(self.numbers(form), window, item)
    }

    #[inline(always)]
    fn prefetch(&self, form: &[u8], window: Window) {
        prefetch(self.numbers(form), middle(window, NEAR_NUMBERS));
    }

    #[inline(always)]
    fn prefetch_places(&self, _form: &[u8], _window: Window) {}

    #[inline(always)]
    fn number(_map: Option<&KeyMap>, item: u64) -> u64 {
        item
    }

    #[inline(always)]
    fn with_bytes<R>(item: u64, show: impl FnOnce(&[u8]) -> R) -> R {
        show(&item.to_be_bytes())
    }
}

/// Collects numbers of `W` bytes.
#[derive(Debug, Default)]
pub struct Numbers<const W: usize> {
    bytes: Vec<u8>,
    last: Option<u64>,
}

impl<const W: usize> Collector for Numbers<W>
where
    [u8; W]: Number,
{
    type Column = Fixed<W>;

    #[inline]
    fn push(&mut self, item: u64) {
        self.bytes.extend(item.to_le_bytes().iter().take(W));
        self.last = Some(item);
    }

    #[inline]
    fn compare_last(&self, item: u64) -> Option<Ordering> {
        self.last.map(|last| last.cmp(&item))
    }

    fn finish(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes);
    }
}
