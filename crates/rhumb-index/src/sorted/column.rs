//! Columns of elements in a byte form.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::ops::Range;

use super::form::NAME;
use crate::bytes::{Reader, u32_of, u64_of};
use crate::search::{
    LINE_BYTES, Number, Strings as Searched, lower_bound_in_column, lower_bound_strings, prefetch,
};
use crate::{IndexError, KeyMap, Window};

/// Where elements of one sort stand in a byte form, which is given to every call.
pub trait Column: Debug + Sized {
    /// An element as it is stored.
    type Item<'k>: Copy + Ord + Debug;

    /// Whether items are numbers, which are their own place in the order; else a key map numbers them.
    const NUMBERS: bool;

    /// What collects elements.
    type Collector: Collector<Column = Self>;

    /// Takes `place` of a form as a column of `count` elements.
    fn open(form: &[u8], place: Range<usize>, count: usize) -> Result<Self, IndexError>;

    /// One of them; `None` beyond the end, or if the bytes are damaged.
    fn get<'b>(&self, form: &'b [u8], at: usize) -> Option<Self::Item<'b>>;

    /// The first place in a window whose element is not below `item`.
    fn lower_bound(&self, form: &[u8], window: Window, item: Self::Item<'_>) -> usize;

    /// Asks for the elements of a window ahead of their use.
    fn prefetch(&self, form: &[u8], window: Window);

    /// Asks for what [`Column::prefetch`] itself waits for.
    fn prefetch_places(&self, form: &[u8], window: Window);

    /// The number by which models find an item.
    fn number(map: Option<&KeyMap>, item: Self::Item<'_>) -> u64;

    /// Shows the bytes of an item, whose order is that of the items.
    fn with_bytes<R>(item: Self::Item<'_>, show: impl FnOnce(&[u8]) -> R) -> R;
}

/// Collects the elements of a column.
pub trait Collector: Default {
    /// The column that comes out.
    type Column: Column;

    /// Adds one.
    fn push(&mut self, item: <Self::Column as Column>::Item<'_>);

    /// How the one that was added last compares with `item`; `None` if there is none.
    fn compare_last(&self, item: <Self::Column as Column>::Item<'_>) -> Option<Ordering>;

    /// Appends the column.
    fn finish(self, out: &mut Vec<u8>);
}

/// The range that a window is, as far as it has a meaning here.
fn range(window: Window) -> Range<usize> {
    let clamp = |rank: u64| usize::try_from(rank).unwrap_or(usize::MAX);
    clamp(window.lo)..clamp(window.hi)
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
        prefetch(self.numbers(form), range(window));
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

/// Byte strings: all of one length, or each with the place where it ends.
#[derive(Debug)]
pub struct Strings {
    count: usize,
    /// The length of all of them, 0 if there are ends.
    stride: usize,
    /// Bytes of an end, 4 or 8.
    width: usize,
    /// Where the ends are, and the strings.
    ends: Range<usize>,
    bytes: Range<usize>,
}

/// Bytes before the ends: the length of all strings, and the bytes of an end.
const STRINGS_HEADER: usize = 8;

impl Strings {
    /// Where a string starts, counted from the first: where the one before it ends.
    #[inline]
    fn start(&self, form: &[u8], at: usize) -> usize {
        let Some(before) = at.checked_sub(1) else {
            return 0;
        };
        let ends = form.get(self.ends.clone()).unwrap_or_default();
        match self.width {
            4 => u32_of(ends, before) as usize,
            _ => u64_of(ends, before) as usize,
        }
    }

    #[inline]
    fn place(&self, form: &[u8], at: usize) -> Range<usize> {
        match self.stride {
            0 => self.start(form, at)..self.start(form, at + 1),
            stride => at * stride..(at + 1) * stride,
        }
    }

    #[inline]
    fn one<'b>(&self, form: &'b [u8], at: usize) -> Option<&'b [u8]> {
        let place = self.place(form, at);
        form.get(self.bytes.clone())?.get(place)
    }
}

impl Column for Strings {
    type Item<'k> = &'k [u8];
    const NUMBERS: bool = false;
    type Collector = Texts;

    fn open(form: &[u8], place: Range<usize>, count: usize) -> Result<Self, IndexError> {
        let mut reader = Reader::new(NAME, form);
        reader.take(place.start)?;
        let (stride, width) = (reader.length()?, reader.length()?);
        let ends_len = match (stride, width) {
            (0, 4 | 8) => count.checked_mul(width),
            (1.., 0) => Some(0),
            _ => None,
        };
        let Some(ends_len) = ends_len else {
            let found = format!("length {stride}, ends of {width} bytes");
            return Err(reader.damaged_at(
                place.start,
                "one length, or ends of 4 or 8 bytes",
                found,
            ));
        };
        let ends_at = reader.at();
        let ends = reader.take(ends_len)?;
        let total = match (count.checked_sub(1), stride) {
            (None, _) => Some(0),
            (Some(last), 0) if width == 4 => Some(u32_of(ends, last) as usize),
            (Some(last), 0) => usize::try_from(u64_of(ends, last)).ok(),
            (Some(_), stride) => stride.checked_mul(count),
        };
        let bytes_at = reader.at();
        if total.and_then(|total| total.checked_add(bytes_at)) != Some(place.end) {
            let found = format!("{total:?} bytes of strings from {bytes_at} on");
            let expected = format!("strings that end at {}", place.end);
            return Err(reader.damaged_at(place.start, expected, found));
        }
        Ok(Strings {
            count,
            stride,
            width,
            ends: ends_at..bytes_at,
            bytes: bytes_at..place.end,
        })
    }

    #[inline]
    fn get<'b>(&self, form: &'b [u8], at: usize) -> Option<&'b [u8]> {
        (at < self.count).then(|| self.one(form, at))?
    }

    #[inline]
    fn lower_bound(&self, form: &[u8], window: Window, item: &[u8]) -> usize {
        let column = self;
        lower_bound_strings(InForm { column, form }, window, item)
    }

    #[inline]
    fn prefetch(&self, form: &[u8], window: Window) {
        let Range { start, end } = range(window);
        for at in start..end.min(self.count).min(start + LINE_BYTES) {
            prefetch(self.one(form, at).unwrap_or_default(), 0..1);
        }
    }

    #[inline]
    fn prefetch_places(&self, form: &[u8], window: Window) {
        let Range { start, end } = range(window);
        let ends = form.get(self.ends.clone()).unwrap_or_default();
        let place = |at: usize| at.saturating_mul(self.width);
        prefetch(ends, place(start.saturating_sub(1))..place(end));
    }

    #[inline]
    fn number(map: Option<&KeyMap>, item: &[u8]) -> u64 {
        map.map_or(0, |map| map.number(item))
    }

    #[inline]
    fn with_bytes<R>(item: &[u8], show: impl FnOnce(&[u8]) -> R) -> R {
        show(item)
    }
}

/// A column of strings together with its bytes, as searches take them.
#[derive(Clone, Copy)]
struct InForm<'a> {
    column: &'a Strings,
    form: &'a [u8],
}

impl Searched for InForm<'_> {
    #[inline]
    fn len(self) -> usize {
        self.column.count
    }

    #[inline]
    fn at(&self, at: usize) -> &[u8] {
        self.column.one(self.form, at).unwrap_or_default()
    }

    #[inline]
    fn prefetch_places(self, range: Range<usize>) {
        let (lo, hi) = (range.start as u64, range.end as u64);
        self.column.prefetch_places(self.form, Window { lo, hi });
    }
}

/// Collects byte strings.
#[derive(Debug, Default)]
pub struct Texts {
    bytes: Vec<u8>,
    ends: Vec<u64>,
}

impl Texts {
    /// The length of all strings; 0 if they differ, or are empty.
    fn stride(&self) -> usize {
        let lens = || {
            let starts = std::iter::once(&0).chain(&self.ends);
            starts.zip(&self.ends).map(|(start, end)| end - start)
        };
        let first = lens().next().unwrap_or_default();
        let is_one = first <= u64::from(u32::MAX) && lens().all(|len| len == first);
        if is_one { first as usize } else { 0 }
    }
}

impl Collector for Texts {
    type Column = Strings;

    fn push(&mut self, item: &[u8]) {
        self.bytes.extend_from_slice(item);
        self.ends.push(self.bytes.len() as u64);
    }

    fn compare_last(&self, item: &[u8]) -> Option<Ordering> {
        let before = self.ends.len().checked_sub(2);
        let start = before
            .and_then(|at| self.ends.get(at))
            .map_or(0, |end| *end);
        let last = self.bytes.get(start as usize..).unwrap_or_default();
        (!self.ends.is_empty()).then(|| last.cmp(item))
    }

    fn finish(self, out: &mut Vec<u8>) {
        let stride = self.stride();
        let width = match (stride, u32::try_from(self.bytes.len())) {
            (1.., _) => 0,
            (0, Ok(_)) => 4,
            (0, Err(_)) => 8,
        };
        out.reserve_exact(STRINGS_HEADER + self.ends.len() * width + self.bytes.len());
        out.extend((stride as u32).to_le_bytes());
        out.extend((width as u32).to_le_bytes());
        match width {
            4 => out.extend(self.ends.iter().flat_map(|end| (*end as u32).to_le_bytes())),
            8 => out.extend(self.ends.iter().flat_map(|end| end.to_le_bytes())),
            _ => {}
        }
        out.extend_from_slice(&self.bytes);
    }
}
