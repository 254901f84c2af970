//! Reads a row of lines from the byte form.

use super::{RECORD, RUNS, Segment};
use crate::bytes::{Reader, f32_of, i16_of, u16_of, u32_of, u64_of};
use crate::kinds::shared::knobs::BOUNDARY;
use crate::kinds::shared::reach::Reach;
use crate::segment::Line;
use crate::{Band, IndexError, Window};

/// The offsets and counts of a row of lines within the bytes of an index.
#[derive(Debug, Clone)]
pub(crate) struct Lines {
    /// Offsets of the numbers, the records and the runs; `runs_at` is 0 without runs.
    numbers_at: usize,
    records_at: usize,
    runs_at: usize,
    segments: usize,
    keys: u64,
    widest: u64,
}

impl Lines {
    /// Reads and checks what [`super::encode_lines`] wrote.
    pub(crate) fn open(reader: &mut Reader<'_>) -> Result<Self, IndexError> {
        let segments = reader.length()?;
        let keys = reader.keys(segments)?;
        let boundary = u64::from(reader.u16()?);
        let flags = reader.u16()?;
        reader.reserved(4)?;
        if flags > RUNS || !(BOUNDARY.min..=BOUNDARY.max).contains(&boundary) {
            let found = format!("flags {flags}, boundary {boundary}");
            return Err(reader.damaged("flags 0 or 1 and a boundary of 4 to 1024", found));
        }
        let numbers_at = reader.at();
        reader.take(segments.saturating_mul(8))?;
        let records_at = reader.at();
        reader.take(segments.saturating_add(1).saturating_mul(RECORD))?;
        let runs_at = if flags & RUNS != 0 { reader.at() } else { 0 };
        if runs_at > 0 {
            reader.take(segments.saturating_mul(2))?;
        }
        let mut lines = Lines {
            numbers_at,
            records_at,
            runs_at,
            segments,
            keys,
            widest: 0,
        };
        lines.check(boundary, reader)?;
        Ok(lines)
    }

    /// Checks every segment and notes the widest window, which is derived from the segments instead
    /// of stored.
    fn check(&mut self, boundary: u64, reader: &Reader<'_>) -> Result<(), IndexError> {
        let bytes = reader.bytes();
        for i in 0..self.segments {
            let segment = self.segment(bytes, i);
            let (line, next) = (segment.line, self.segment(bytes, i + 1).line);
            let last = i + 1 == self.segments;
            let sound = (i > 0 || line.first_rank == 0)
                && line.ranks > 0
                && (last || line.first_number < next.first_number)
                && (!last || next.first_rank == self.keys)
                && line.slope.is_finite()
                && line.slope >= 0.0
                && segment.reach.run > 0
                && segment.reach.width() <= boundary;
            if !sound {
                let expected = format!(
                    "segment {i} of {}: ascending ranks and numbers, a finite slope that is not \
                     negative, a window of at most {boundary}",
                    self.segments
                );
                let offset = self.records_at + i * RECORD;
                return Err(reader.damaged_at(offset, expected, format!("{segment:?}")));
            }
            self.widest = self.widest.max(segment.reach.width());
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
    #[inline(always)]
    pub(crate) fn numbers<'a>(&self, bytes: &'a [u8]) -> &'a [[u8; 8]] {
        let column = bytes.get(self.numbers_at..self.records_at);
        column.unwrap_or_default().as_chunks().0
    }

    /// The window of a number that belongs to segment `i`.
    #[inline(always)]
    pub(crate) fn window(&self, bytes: &[u8], i: usize, number: u64) -> Window {
        let segment = self.segment(bytes, i);
        segment
            .reach
            .around(segment.line.predict(number), self.keys)
    }

    /// The line of segment `i`.
    #[inline(always)]
    pub(crate) fn line(&self, bytes: &[u8], i: usize) -> Line {
        self.segment(bytes, i).line
    }

    /// The piece of segment `i`.
    pub(crate) fn band(&self, bytes: &[u8], i: usize) -> Band {
        let Segment { line, reach } = self.segment(bytes, i);
        Band {
            first_number: line.first_number,
            first_rank: line.first_rank,
            ranks: line.ranks,
            slope: line.slope.into(),
            offset: line.offset(),
            error: reach.error.into(),
            run: reach.run.into(),
        }
    }

    /// The fields of segment `i`; those past the last segment are 0 except the first rank.
    #[inline(always)]
    fn segment(&self, bytes: &[u8], i: usize) -> Segment {
        let number = bytes.get(self.numbers_at + i * 8..);
        let records = bytes.get(self.records_at + i * RECORD..);
        let both = records.and_then(|records| records.first_chunk::<{ 2 * RECORD }>());
        // The final record has no successor; only its rank is used.
        let both = both.copied().unwrap_or_else(|| last_alone(records));
        let run = match self.runs_at {
            0 => 1,
            at => u16_of(bytes.get(at..).unwrap_or_default(), i),
        };
        let first_rank = u32_of(&both, 0);
        Segment {
            line: Line {
                first_number: u64_of(number.unwrap_or_default(), 0),
                first_rank: first_rank.into(),
                ranks: u32_of(&both, 3).saturating_sub(first_rank).into(),
                slope: f32_of(&both, 1),
                offset: i16_of(&both, 4),
            },
            reach: Reach {
                error: u16_of(&both, 5),
                run,
            },
        }
    }
}

/// The final record, followed by zeros.
#[cold]
fn last_alone(records: Option<&[u8]>) -> [u8; 2 * RECORD] {
    let mut both = [0; 2 * RECORD];
    let record = records.unwrap_or_default().iter();
    both.iter_mut()
        .zip(record.take(RECORD))
        .for_each(|(to, from)| *to = *from);
    both
}

#[cfg(test)]
mod tests {
    use crate::kind::HEADER;
    use crate::{IndexError, registry};

    #[test]
    fn a_window_wider_than_the_boundary_is_damage() {
        for kind in ["plr", "fiting-tree", "pgm"] {
            let mut builder = registry::builder(&kind.parse().unwrap()).unwrap();
            for number in (0..10_000u64).map(|i| i * i) {
                builder.push(&number.to_be_bytes(), number).unwrap();
            }
            let mut form = builder.finish().unwrap();
            registry::open(&form).unwrap();
            // The boundary stands after the numbers of segments and keys.
            let boundary = &mut form[HEADER + 12..][..2];
            assert_eq!(boundary, [16, 0], "{kind}");
            boundary[0] = 4;
            let opened = registry::open(&form).map(|index| index.extent());
            assert!(
                matches!(opened, Err(IndexError::Damaged { .. })),
                "{kind}: {opened:?}"
            );
        }
    }
}
