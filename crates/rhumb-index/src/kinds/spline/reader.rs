//! Answers from the byte form, in place.

use super::knots::{Knots, Line};
use super::{BOUND, BOUNDS, Bound, CELL, KNOT, KNOTS_AT, Top};
use crate::bytes::{Reader, u16_of};
use crate::kinds::knobs::BOUNDARY;
use crate::registry::{HEADER, Kind};
use crate::{Index, IndexError, Position, Probe, Window};

/// A spline under its top, used from its bytes.
#[derive(Debug)]
pub(in crate::kinds) struct Spline {
    kind: &'static Kind,
    bytes: Vec<u8>,
    /// Where the knots, and where the bounds end.
    ends: (usize, usize),
    keys: u64,
    /// The numbers of the first and the last knot.
    numbers: (u64, u64),
    /// The bound of all segments, if they have none of their own.
    bound: Option<Bound>,
    top: Top,
    widest: u64,
}

impl Spline {
    /// Opens the byte form of a kind; `allows` says which tops it may have.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] if the bytes are none.
    pub(in crate::kinds) fn open(
        kind: &'static Kind,
        bytes: Vec<u8>,
        allows: fn(Top) -> bool,
    ) -> Result<Self, IndexError> {
        let mut reader = Reader::new(kind.name, &bytes);
        reader.take(HEADER)?;
        let knots = reader.length()?;
        let keys = reader.u64()?;
        let boundary = u64::from(reader.u16()?);
        let error = reader.u16()?;
        let flags = reader.u8()?;
        let form = reader.u32()?.to_le_bytes();
        reader.reserved(3)?;
        let cells = reader.length()?;
        if keys > u64::from(u32::MAX) || (keys == 0) != (knots == 0) {
            return Err(reader.damaged("knots where there are keys, below 2^32", keys));
        }
        if flags > BOUNDS || !(BOUNDARY.min..=BOUNDARY.max).contains(&boundary) {
            return Err(reader.damaged("flags 0 or 1 and a boundary of 4 to 1024", flags));
        }
        let Some(top) = Top::from_bytes(form).filter(|top| allows(*top)) else {
            return Err(reader.damaged("a top of this kind", format!("{form:?}")));
        };
        reader.take(knots.saturating_mul(KNOT))?;
        let knots_end = reader.at();
        let has_bounds = flags & BOUNDS != 0;
        reader.take(knots.saturating_mul(BOUND * usize::from(has_bounds)))?;
        let bounds_end = reader.at();
        reader.take(cells.saturating_mul(CELL))?;
        reader.end()?;
        let bound = Bound { error, run: 1 };
        let mut spline = Spline {
            kind,
            bytes,
            ends: (knots_end, bounds_end),
            keys,
            numbers: (0, 0),
            bound: (!has_bounds).then_some(bound),
            top,
            widest: 0,
        };
        spline.check(boundary)?;
        Ok(spline)
    }

    /// Checks every knot, bound and cell once and notes the widest window, which is never stored.
    fn check(&mut self, boundary: u64) -> Result<(), IndexError> {
        let knots = self.knots();
        let mut widest = 0;
        let mut before = None;
        for (i, knot) in knots.iter().enumerate() {
            let ascends = match before {
                None => knot.rank == 0,
                Some((number, rank)) => knot.number > number && knot.rank > rank,
            };
            let bound = self.bound_of(i);
            if !ascends || bound.run == 0 || bound.width() > boundary {
                let expected = format!(
                    "knot {i} of {}: numbers that ascend, ranks that ascend from 0, windows of at \
                     most {boundary}",
                    knots.0.len()
                );
                let found = format!("{knot:?}, {bound:?}");
                return Err(self.damaged(KNOTS_AT + i * KNOT, expected, found));
            }
            before = Some((knot.number, knot.rank));
            widest = widest.max(bound.width());
        }
        let last = before.unwrap_or((0, 0));
        if u64::from(last.1) >= self.keys && self.keys > 0 {
            let expected = format!("a last knot below the {} keys", self.keys);
            return Err(self.damaged(self.ends.0 - 4, expected, last.1.to_string()));
        }
        let first = knots.get(0).map_or(0, |knot| knot.number);
        let range = last.0.saturating_sub(first);
        let is_sound = match knots.0.len() {
            0 => self.cells().is_empty(),
            knots => self.top.is_sound(self.cells(), range, knots),
        };
        if !is_sound {
            let expected = format!("cells of {:?} over {} knots", self.top, knots.0.len());
            return Err(self.damaged(self.ends.1, expected, "others".into()));
        }
        (self.widest, self.numbers) = (widest, (first, last.0));
        Ok(())
    }

    fn damaged(&self, offset: usize, expected: String, found: String) -> IndexError {
        IndexError::Damaged {
            what: self.kind.name,
            offset,
            expected,
            found,
        }
    }

    #[inline]
    fn knots(&self) -> Knots<'_> {
        let bytes = self.bytes.get(KNOTS_AT..self.ends.0);
        Knots(bytes.unwrap_or_default().as_chunks().0)
    }

    #[inline]
    fn cells(&self) -> &[u8] {
        self.bytes.get(self.ends.1..).unwrap_or_default()
    }

    #[inline]
    fn bound_of(&self, segment: usize) -> Bound {
        self.bound.unwrap_or_else(|| {
            let bounds = self.bytes.get(self.ends.0..).unwrap_or_default();
            Bound {
                error: u16_of(bounds, 2 * segment),
                run: u16_of(bounds, 2 * segment + 1),
            }
        })
    }

    /// The segment of a number and the rank predicted there, if there are keys.
    #[inline]
    fn find(&self, number: u64) -> Option<(usize, u64)> {
        let knots = self.knots();
        let (first, last) = self.numbers;
        let above = number.min(last).saturating_sub(first);
        let (from, to) = self.top.find(self.cells(), above);
        let segment = knots.last_not_above(from, to, number);
        let line = Line::new(knots.get(segment)?, knots.get(segment + 1), self.keys);
        Some((segment, line.predict(number)))
    }
}

impl Index for Spline {
    fn kind(&self) -> &'static str {
        self.kind.name
    }

    fn needs_number(&self) -> bool {
        self.kind.needs_number
    }

    fn locate(&self, probe: Probe<'_>) -> Position {
        let Some((segment, predicted)) = self.find(probe.number) else {
            return Position::Window(Window { lo: 0, hi: 0 });
        };
        let bound = self.bound_of(segment);
        let error = u64::from(bound.error);
        Position::Window(Window {
            lo: predicted.saturating_sub(error).min(self.keys),
            hi: (predicted + error + u64::from(bound.run)).min(self.keys),
        })
    }

    fn predict(&self, number: u64) -> Option<u64> {
        self.find(number).map(|(_, predicted)| predicted)
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
