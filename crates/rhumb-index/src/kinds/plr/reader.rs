//! Answers from the byte form, in place.

use std::hint::select_unpredictable;

use super::{BOUNDARY, KIND, RUNS, Segment};
use crate::bytes::{Reader, f32_of, i16_of, u16_of, u32_of, u64_of};
use crate::registry::HEADER;
use crate::segment::Line;
use crate::{Index, IndexError, Position, Probe, Window};

/// Where the column of numbers starts.
const COLUMNS_AT: usize = HEADER + 20;

/// A piecewise linear model, used from its bytes.
#[derive(Debug)]
pub(super) struct Plr {
    bytes: Vec<u8>,
    segments: usize,
    keys: u64,
    has_runs: bool,
    widest: u64,
}

impl Plr {
    pub(super) fn open(bytes: Vec<u8>) -> Result<Self, IndexError> {
        let mut reader = Reader::new(KIND.name, &bytes);
        reader.take(HEADER)?;
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
        reader.take(segments.saturating_mul(20 + 2 * usize::from(has_runs)))?;
        reader.end()?;
        let mut plr = Plr {
            bytes,
            segments,
            keys,
            has_runs,
            widest: 0,
        };
        plr.check(boundary)?;
        Ok(plr)
    }

    /// Checks every segment once and notes the widest window, which is never stored: what the
    /// table promises is what its segments say.
    fn check(&mut self, boundary: u64) -> Result<(), IndexError> {
        for i in 0..self.segments {
            let segment = self.segment(i);
            let (line, next) = (segment.line, self.segment(i + 1).line);
            let sound = (i > 0 || line.first_rank == 0)
                && line.ranks > 0
                && (i + 1 == self.segments || line.first_number < next.first_number)
                && line.slope.is_finite()
                && line.slope >= 0.0
                && segment.run > 0
                && segment.width() <= boundary;
            if !sound {
                return Err(IndexError::Damaged {
                    what: KIND.name,
                    offset: COLUMNS_AT + i * 8,
                    expected: format!(
                        "segment {i} of {}: ranks and numbers that ascend, a finite slope that is \
                         not negative, a window of at most {boundary}",
                        self.segments
                    ),
                    found: format!("{segment:?}"),
                });
            }
            self.widest = self.widest.max(segment.width());
        }
        Ok(())
    }

    /// The column that starts `before` bytes a segment after the first column.
    fn column(&self, before: usize) -> &[u8] {
        self.bytes
            .get(COLUMNS_AT + before * self.segments..)
            .unwrap_or_default()
    }

    /// The last segment that starts at or below the number, or the first.
    #[inline]
    fn find(&self, number: u64) -> usize {
        let (numbers, _) = self.column(0).as_chunks::<8>();
        let (mut segment, mut left) = (0, self.segments);
        while left > 1 {
            let half = left / 2;
            let middle = numbers.get(segment + half);
            let behind = middle.is_some_and(|first| u64::from_le_bytes(*first) > number);
            segment = select_unpredictable(behind, segment, segment + half);
            left -= half;
        }
        segment
    }

    /// A segment's fields; a segment beyond the last starts at the end of the keys.
    fn segment(&self, i: usize) -> Segment {
        let run = if self.has_runs {
            u16_of(self.column(20), i)
        } else {
            1
        };
        Segment {
            line: self.line(i),
            error: u16_of(self.column(18), i),
            run,
        }
    }

    #[inline]
    fn line(&self, i: usize) -> Line {
        let first_rank = self.first_rank(i);
        Line {
            first_number: u64_of(self.column(0), i),
            first_rank,
            ranks: self.first_rank(i + 1).saturating_sub(first_rank),
            slope: f32_of(self.column(12), i),
            offset: i16_of(self.column(16), i),
        }
    }

    #[inline]
    fn first_rank(&self, i: usize) -> u64 {
        if i < self.segments {
            u32_of(self.column(8), i).into()
        } else {
            self.keys
        }
    }
}

impl Index for Plr {
    fn kind(&self) -> &'static str {
        KIND.name
    }

    fn needs_number(&self) -> bool {
        KIND.needs_number
    }

    fn locate(&self, probe: Probe<'_>) -> Position {
        if self.segments == 0 {
            return Position::Window(Window { lo: 0, hi: 0 });
        }
        let segment = self.segment(self.find(probe.number));
        let predicted = segment.line.predict(probe.number);
        let error = u64::from(segment.error);
        Position::Window(Window {
            lo: predicted.saturating_sub(error).min(self.keys),
            hi: (predicted + error + u64::from(segment.run)).min(self.keys),
        })
    }

    fn predict(&self, number: u64) -> Option<u64> {
        if self.segments == 0 {
            return None;
        }
        Some(self.line(self.find(number)).predict(number))
    }

    fn extent(&self) -> u64 {
        self.keys
    }

    fn widest_window(&self) -> u64 {
        self.widest
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.len()
    }
}
