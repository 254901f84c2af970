//! Columns of byte strings.

use std::cmp::Ordering;
use std::ops::Range;

use super::column::{Collector, Column, middle};
use super::form::NAME;
use crate::bytes::Reader;
use crate::search::{
    LINE_BYTES, NEAR_STRINGS, Number, Strings as Searched, lower_bound_strings, prefetch,
};
use crate::{IndexError, KeyMap, Window};

/// Byte strings, concatenated: all of the same length, or with the start of each.
#[derive(Debug)]
pub struct Strings {
    /// The length of each string; 0 if starts are stored.
    stride: usize,
    /// Bytes of each start: 4 or 8; 0 if there are none.
    width: usize,
    /// How many strings there are.
    count: usize,
    /// The locations of the starts and of the strings.
    starts: Range<usize>,
    bytes: Range<usize>,
}

/// Bytes before the starts: the length of each string and the bytes of each start.
const STRINGS_HEADER: usize = 8;

/// The most bytes of strings that are prefetched at once.
const MOST_AHEAD: usize = NEAR_STRINGS * LINE_BYTES;

/// The starts of strings.
trait Starts: Copy {
    /// The start of a string, which is the end of the one before it; `None` past the end.
    fn start(self, at: usize) -> Option<usize>;

    /// Prefetches the starts of the strings of a range.
    fn prefetch_starts(self, range: Range<usize>);

    /// How many strings there are.
    fn count(self) -> usize;
}

/// Strings of the same length.
#[derive(Clone, Copy)]
struct Strided {
    stride: usize,
    count: usize,
}

impl Starts for Strided {
    #[inline(always)]
    fn start(self, at: usize) -> Option<usize> {
        at.checked_mul(self.stride)
    }

    #[inline(always)]
    fn prefetch_starts(self, _range: Range<usize>) {}

    #[inline(always)]
    fn count(self) -> usize {
        self.count
    }
}

impl<N: Number> Starts for &[N] {
    #[inline(always)]
    fn start(self, at: usize) -> Option<usize> {
        self.get(at).map(|start| start.value() as usize)
    }

    #[inline(always)]
    fn prefetch_starts(self, range: Range<usize>) {
        prefetch(self, range.start..range.end.saturating_add(1));
    }

    #[inline(always)]
    fn count(self) -> usize {
        self.len().saturating_sub(1)
    }
}

/// A column together with its bytes.
#[derive(Clone, Copy)]
struct InForm<'b, S> {
    starts: S,
    bytes: &'b [u8],
}

impl<'b, S: Starts> InForm<'b, S> {
    #[inline(always)]
    fn get(self, at: usize) -> Option<&'b [u8]> {
        let end = self.starts.start(at.checked_add(1)?)?;
        self.bytes.get(self.starts.start(at)?..end)
    }
}

impl<S: Starts> Searched for InForm<'_, S> {
    #[inline(always)]
    fn len(self) -> usize {
        self.starts.count()
    }

    #[inline(always)]
    fn at(&self, at: usize) -> &[u8] {
        self.get(at).unwrap_or_default()
    }

    #[inline]
    fn prefetch(self, range: Range<usize>) {
        let starts = self.starts;
        starts.prefetch_starts(range.clone());
        let start = starts.start(range.start).unwrap_or_default();
        let end = starts.start(range.end.min(starts.count()));
        let most = start.saturating_add(MOST_AHEAD);
        prefetch(self.bytes, start..end.unwrap_or_default().min(most));
    }
}

/// Evaluates an expression over a column with its bytes, compiled for each way of storing starts.
macro_rules! in_form {
    ($column:expr, $form:expr, $strings:ident => $answer:expr) => {{
        let (column, form): (&Strings, &[u8]) = ($column, $form);
        let bytes = form.get(column.bytes.clone()).unwrap_or_default();
        let starts = form.get(column.starts.clone()).unwrap_or_default();
        match column.width {
            0 => {
                let (stride, count) = (column.stride, column.count);
                let starts = Strided { stride, count };
                let $strings = InForm { starts, bytes };
                $answer
            }
            4 => {
                let starts = starts.as_chunks::<4>().0;
                let $strings = InForm { starts, bytes };
                $answer
            }
            _ => {
                let starts = starts.as_chunks::<8>().0;
                let $strings = InForm { starts, bytes };
                $answer
            }
        }
    }};
}

impl Column for Strings {
    type Item<'k> = &'k [u8];
    const NUMBERS: bool = false;
    type Collector = Texts;

    fn open(form: &[u8], place: Range<usize>, count: usize) -> Result<Self, IndexError> {
        let mut reader = Reader::new(NAME, form);
        reader.take(place.start)?;
        let (stride, width) = (reader.length()?, reader.length()?);
        let starts = match (stride, width) {
            (0, 4 | 8) => count.checked_add(1).and_then(|n| n.checked_mul(width)),
            (1.., 0) => Some(0),
            _ => None,
        };
        let Some(starts) = starts else {
            let found = format!("length {stride}, starts of {width} bytes");
            let expected = "one length, or starts of 4 or 8 bytes";
            return Err(reader.damaged_at(place.start, expected, found));
        };
        let starts_at = reader.at();
        reader.take(starts)?;
        let bytes_at = reader.at();
        let column = Strings {
            stride,
            width,
            count,
            starts: starts_at..bytes_at,
            bytes: bytes_at..place.end,
        };
        let total = in_form!(&column, form, strings => strings.starts.start(count));
        if total.and_then(|total| total.checked_add(bytes_at)) != Some(place.end) {
            let found = format!("{total:?} bytes of strings from {bytes_at} on");
            let expected = format!("strings that end at {}", place.end);
            return Err(reader.damaged_at(place.start, expected, found));
        }
        Ok(column)
    }

    #[inline]
    fn get<'b>(&self, form: &'b [u8], at: usize) -> Option<&'b [u8]> {
        in_form!(self, form, strings => strings.get(at))
    }

    #[inline]
    fn lower_bound(&self, form: &[u8], window: Window, item: &[u8]) -> usize {
        in_form!(self, form, strings => lower_bound_strings(strings, window, item))
    }

    #[inline]
    fn prefetch(&self, form: &[u8], window: Window) {
        in_form!(self, form, strings => strings.prefetch(middle(window, NEAR_STRINGS)));
    }

    #[inline]
    fn prefetch_places(&self, form: &[u8], window: Window) {
        in_form!(self, form, strings => strings.starts.prefetch_starts(middle(window, NEAR_STRINGS)));
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

/// Collects byte strings.
#[derive(Debug)]
pub struct Texts {
    bytes: Vec<u8>,
    /// The start of each string, and the end of the last.
    starts: Vec<u64>,
}

impl Default for Texts {
    fn default() -> Self {
        Texts {
            bytes: Vec::new(),
            starts: vec![0],
        }
    }
}

impl Texts {
    /// The length of each string; 0 if they differ or are empty.
    fn stride(&self) -> usize {
        let ends = self.starts.iter().skip(1);
        let mut lens = self.starts.iter().zip(ends).map(|(start, end)| end - start);
        let first = lens.next().unwrap_or_default();
        let is_one = first <= u64::from(u32::MAX) && lens.all(|len| len == first);
        if is_one { first as usize } else { 0 }
    }
}

impl Collector for Texts {
    type Column = Strings;

    fn push(&mut self, item: &[u8]) {
        self.bytes.extend_from_slice(item);
        self.starts.push(self.bytes.len() as u64);
    }

    fn compare_last(&self, item: &[u8]) -> Option<Ordering> {
        let start = *self.starts.get(self.starts.len().checked_sub(2)?)?;
        Some(self.bytes.get(start as usize..)?.cmp(item))
    }

    fn finish(self, out: &mut Vec<u8>) {
        let stride = self.stride();
        let width = match (stride, u32::try_from(self.bytes.len())) {
            (1.., _) => 0,
            (0, Ok(_)) => 4,
            (0, Err(_)) => 8,
        };
        let starts = self.starts.iter();
        out.reserve_exact(STRINGS_HEADER + starts.len() * width + self.bytes.len());
        out.extend((stride as u32).to_le_bytes());
        out.extend((width as u32).to_le_bytes());
        match width {
            4 => out.extend(starts.flat_map(|start| (*start as u32).to_le_bytes())),
            8 => out.extend(starts.flat_map(|start| start.to_le_bytes())),
            _ => {}
        }
        out.extend_from_slice(&self.bytes);
    }
}
