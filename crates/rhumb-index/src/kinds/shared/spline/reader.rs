//! Reads a spline from its byte form. Each column is copied into a field of its own, so that a
//! look-up finds it without address arithmetic.

use super::knots::{KnotLine, Knots};
use super::top::Effort;
use super::{CELL, KNOT, KNOTS_AT, LeftOut, REACH, REACHES, Top, halvings_of};
use crate::bytes::Reader;
use crate::kind::{HEADER, Kind};
use crate::kinds::shared::knobs::BOUNDARY;
use crate::kinds::shared::reach::Reach;
use crate::{Band, Index, IndexError, Position, Probe, Window};

/// A spline under its top, read from the byte form.
#[derive(Debug)]
pub(in crate::kinds) struct Spline {
    kind: &'static Kind,
    keys: u64,
    /// The common error and run of all segments; `None` if each has its own.
    reach: Option<Reach>,
    widest: u64,
    knots: Box<[[u8; KNOT]]>,
    reaches: Box<[[u8; REACH]]>,
    top: Top,
    cells: Box<[[u8; CELL]]>,
    left_out: LeftOut,
    /// The number of the first knot under the top, and the distance from it to the number of the
    /// last.
    lowest: u64,
    range: u64,
    effort: Effort,
}

impl Spline {
    /// Opens the byte form of a kind; `allows` tells which tops the kind may have.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] if the bytes are not a valid form.
    pub(in crate::kinds) fn open(
        kind: &'static Kind,
        bytes: &[u8],
        allows: fn(Top, LeftOut) -> bool,
    ) -> Result<Self, IndexError> {
        let mut reader = Reader::new(kind.name, bytes);
        reader.take(HEADER)?;
        let knots = reader.length()?;
        let keys = reader.keys(knots)?;
        let boundary = u64::from(reader.u16()?);
        let error = reader.u16()?;
        let flags = reader.u8()?;
        let form = reader.u32()?.to_le_bytes();
        let (low, high) = (reader.u8()?, reader.u8()?);
        reader.reserved(1)?;
        let cells = reader.length()?;
        if flags > REACHES || !(BOUNDARY.min..=BOUNDARY.max).contains(&boundary) {
            let found = format!("flags {flags}, boundary {boundary}");
            return Err(reader.damaged("flags 0 or 1 and a boundary of 4 to 1024", found));
        }
        let left_out = LeftOut { low, high };
        let Some(top) = Top::from_bytes(form).filter(|top| allows(*top, left_out)) else {
            return Err(reader.damaged("a top of this kind", format!("{form:?}, {left_out:?}")));
        };
        let knots = reader.take(knots.saturating_mul(KNOT))?;
        let has_reaches = flags & REACHES != 0;
        let reaches = reader.take(knots.len() / KNOT * REACH * usize::from(has_reaches))?;
        let cells = reader.take(cells.saturating_mul(CELL))?;
        reader.end()?;
        let mut spline = Spline {
            kind,
            keys,
            reach: (!has_reaches).then_some(Reach { error, run: 1 }),
            widest: 0,
            knots: knots.as_chunks().0.into(),
            reaches: reaches.as_chunks().0.into(),
            top,
            cells: cells.as_chunks().0.into(),
            left_out,
            lowest: 0,
            range: 0,
            effort: Effort::default(),
        };
        spline.check_knots(boundary)?;
        spline.check_top()?;
        Ok(spline)
    }

    /// Checks every knot, error and run, and notes the widest window, which is never stored.
    fn check_knots(&mut self, boundary: u64) -> Result<(), IndexError> {
        let mut before = None;
        for (i, knot) in Knots(&self.knots).iter().enumerate() {
            let ascends = match before {
                None => knot.rank == 0,
                Some((number, rank)) => knot.number > number && knot.rank > rank,
            };
            let reach = self.reach_of(i);
            let is_sound = ascends
                && u64::from(knot.rank) < self.keys
                && reach.run > 0
                && reach.width() <= boundary;
            if !is_sound {
                let expected = format!(
                    "knot {i} of {}: ascending numbers, ranks that ascend from 0 and stay below \
                     {}, windows of at most {boundary}",
                    self.knots.len(),
                    self.keys
                );
                let found = format!("{knot:?}, {reach:?}");
                return Err(self.kind.damaged(KNOTS_AT + i * KNOT, expected, found));
            }
            before = Some((knot.number, knot.rank));
            self.widest = self.widest.max(reach.width());
        }
        Ok(())
    }

    /// Checks the cells, and notes the range of the top and the effort of searches.
    fn check_top(&mut self) -> Result<(), IndexError> {
        let covered = Knots(self.left_out.rest(&self.knots));
        let last = covered.get(covered.0.len().saturating_sub(1));
        let effort = match covered.get(0).zip(last) {
            Some((first, last)) => {
                (self.lowest, self.range) = (first.number, last.number - first.number);
                self.top.check(&self.cells, self.range, covered.0.len())
            }
            None => {
                let is_empty = self.knots.is_empty() && self.cells.is_empty();
                (is_empty && self.left_out == LeftOut::default()).then(Effort::default)
            }
        };
        let Some(effort) = effort else {
            let at = KNOTS_AT + self.knots.len() * KNOT + self.reaches.len() * REACH;
            let found = format!("{} cells, {:?}", self.cells.len(), self.left_out);
            let expected = format!("cells of {:?} over {} knots", self.top, self.knots.len());
            return Err(self.kind.damaged(at, expected, found));
        };
        self.effort = effort;
        Ok(())
    }

    #[inline]
    fn reach_of(&self, segment: usize) -> Reach {
        self.reach.unwrap_or_else(|| {
            let [a, b, c, d] = self.reaches.get(segment).copied().unwrap_or_default();
            Reach {
                error: u16::from_le_bytes([a, b]),
                run: u16::from_le_bytes([c, d]),
            }
        })
    }

    /// The segment of a number and its predicted rank; `None` without keys.
    #[inline]
    fn find(&self, number: u64) -> Option<(usize, u64)> {
        if self.keys == 0 {
            // The top of an empty index is not checked, so it must not be used.
            return None;
        }
        let knots = Knots(&self.knots);
        let above = number.wrapping_sub(self.lowest);
        let segment = if above <= self.range {
            let (from, to) = self.top.find(&self.cells, self.effort, above);
            let low = usize::from(self.left_out.low);
            knots.last_not_above(from + low, to + low, self.effort.halvings, number)
        } else {
            self.find_outside(number)
        };
        let line = KnotLine::new(knots.get(segment)?, knots.get(segment + 1), self.keys);
        Some((segment, line.predict(number)))
    }

    /// The segment of a number that is below or above the range of the top.
    #[cold]
    fn find_outside(&self, number: u64) -> usize {
        let (low, high) = (self.left_out.low, self.left_out.high);
        let last = self.knots.len().saturating_sub(1);
        let (from, to) = match number < self.lowest {
            true => (0, low.saturating_sub(1).into()),
            false => (last.saturating_sub(high.into()), last),
        };
        Knots(&self.knots).last_not_above(from, to, halvings_of(to - from + 1), number)
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
        Position::Window(self.window(probe.number))
    }

    fn window(&self, number: u64) -> Window {
        let Some((segment, predicted)) = self.find(number) else {
            return Window { lo: 0, hi: 0 };
        };
        self.reach_of(segment).around(predicted, self.keys)
    }

    fn predict(&self, number: u64) -> Option<u64> {
        self.find(number).map(|(_, predicted)| predicted)
    }

    fn bands(&self) -> Vec<Band> {
        let knots = Knots(&self.knots);
        let lines = knots.iter().enumerate();
        lines
            .map(|(i, knot)| {
                KnotLine::new(knot, knots.get(i + 1), self.keys).band(self.reach_of(i))
            })
            .collect()
    }

    fn extent(&self) -> u64 {
        self.keys
    }

    fn widest_window(&self) -> u64 {
        self.widest
    }

    fn size_in_bytes(&self) -> usize {
        let (knots, reaches) = (self.knots.len() * KNOT, self.reaches.len() * REACH);
        size_of::<Self>() + knots + reaches + self.cells.len() * CELL
    }
}
