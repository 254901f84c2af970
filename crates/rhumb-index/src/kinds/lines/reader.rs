//! A row of lines, used from its bytes.

use super::{RUNS, Segment};
use crate::bytes::{Reader, f32_of, i16_of, u16_of, u32_of, u64_of};
use crate::kinds::knobs::BOUNDARY;
use crate::segment::Line;
use crate::{IndexError, Window};

/// Where a row of lines stands in the bytes of an index, and how many there are.
#[derive(Debug, Clone)]
pub(crate) struct Lines {
    /// Where the column of numbers starts.
    columns_at: usize,
    segments: usize,
    keys: u64,
    has_runs: bool,
    widest: u64,
}

/// A column of numbers.
pub(crate) type Numbers<'a> = &'a [[u8; 8]];

impl Lines {
    /// Reads and checks what [`super::encode_lines`] wrote.
    pub(crate) fn open(reader: &mut Reader<'_>) -> Result<Self, IndexError> {
        let segments = reader.length()?;
        let keys = reader.u64()?;
        let boundary = u64::from(reader.u16()?);
        let flags = reader.u16()?;
        reader.reserved(4)?;
        if keys > u64::from(u32::MAX) || (keys == 0) != (segments == 0) {
            return Err(reader.damaged("segments where there are keys, below 2^32", keys));
        }
        if flags > RUNS || !(BOUNDARY.min..=BOUNDARY.max).contains(&boundary) {
            return Err(reader.damaged("flags 0 or 1 and a boundary of 4 to 1024", flags));
        }
        let has_runs = flags & RUNS != 0;
        let mut lines = Lines {
            columns_at: reader.at(),
            segments,
            keys,
            has_runs,
            widest: 0,
        };
        reader.take(segments.saturating_mul(20 + 2 * usize::from(has_runs)))?;
        lines.check(boundary, reader)?;
        Ok(lines)
    }

    /// Checks every segment once and notes the widest window, which is never stored: what the
    /// lines promise is what their segments say.
    fn check(&mut self, boundary: u64, reader: &Reader<'_>) -> Result<(), IndexError> {
        let bytes = reader.bytes();
        for i in 0..self.segments {
            let segment = self.segment(bytes, i);
            let (line, next) = (segment.line, self.line(bytes, i + 1));
            let sound = (i > 0 || line.first_rank == 0)
                && line.ranks > 0
                && (i + 1 == self.segments || line.first_number < next.first_number)
                && line.slope.is_finite()
                && line.slope >= 0.0
                && segment.run > 0
                && segment.width() <= boundary;
            if !sound {
                let expected = format!(
                    "segment {i} of {}: ranks and numbers that ascend, a finite slope that is not \
                     negative, a window of at most {boundary}",
                    self.segments
                );
                return Err(reader.damaged(expected, format!("{segment:?}")));
            }
            self.widest = self.widest.max(segment.width());
        }
        Ok(())
    }

    /// How many segments there are.
    pub(crate) fn segments(&self) -> usize {
        self.segments
    }

    /// How many keys there are.
    pub(crate) fn keys(&self) -> u64 {
        self.keys
    }

    /// The most ranks that a window holds.
    pub(crate) fn widest(&self) -> u64 {
        self.widest
    }

    /// The numbers of the segments' first keys.
    #[inline]
    pub(crate) fn numbers<'a>(&self, bytes: &'a [u8]) -> Numbers<'a> {
        let (numbers, _) = self.column(bytes, 0).as_chunks::<8>();
        numbers.get(..self.segments).unwrap_or(numbers)
    }

    /// Where a number is, if it belongs to segment `i`.
    #[inline]
    pub(crate) fn window(&self, bytes: &[u8], i: usize, number: u64) -> Window {
        let segment = self.segment(bytes, i);
        let predicted = segment.line.predict(number);
        let error = u64::from(segment.error);
        Window {
            lo: predicted.saturating_sub(error).min(self.keys),
            hi: (predicted + error + u64::from(segment.run)).min(self.keys),
        }
    }

    /// The column that starts `before` bytes a segment after the first column.
    #[inline]
    fn column<'a>(&self, bytes: &'a [u8], before: usize) -> &'a [u8] {
        bytes
            .get(self.columns_at + before * self.segments..)
            .unwrap_or_default()
    }

    /// A segment's fields; a segment beyond the last starts at the end of the keys.
    #[inline]
    fn segment(&self, bytes: &[u8], i: usize) -> Segment {
        let run = match self.has_runs {
            true => u16_of(self.column(bytes, 20), i),
            false => 1,
        };
        Segment {
            line: self.line(bytes, i),
            error: u16_of(self.column(bytes, 18), i),
            run,
        }
    }

    /// The line of segment `i`.
    #[inline]
    pub(crate) fn line(&self, bytes: &[u8], i: usize) -> Line {
        let first_rank = self.first_rank(bytes, i);
        Line {
            first_number: u64_of(self.column(bytes, 0), i),
            first_rank,
            ranks: self.first_rank(bytes, i + 1).saturating_sub(first_rank),
            slope: f32_of(self.column(bytes, 12), i),
            offset: i16_of(self.column(bytes, 16), i),
        }
    }

    #[inline]
    fn first_rank(&self, bytes: &[u8], i: usize) -> u64 {
        if i < self.segments {
            u32_of(self.column(bytes, 8), i).into()
        } else {
            self.keys
        }
    }
}
