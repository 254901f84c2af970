//! Fits the models of blocks on a stream of keys.

use super::{BlockLine, Line, MOST_BITS, offset_unit};
use crate::kind::Kind;
use crate::kinds::shared::least_squares::Moments;
use crate::kinds::shared::order::Order;
use crate::kinds::shared::spline::RadixTable;
use crate::segment::corridor::Corridor;
use crate::{IndexBuilder, IndexError};

/// How the line of a block is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kinds) enum Fit {
    /// Through the last points of the block before and of this one; a block is as long as this line is within so many ranks of
    /// all its points.
    Between(u64),
    /// Least squares.
    Own,
}

/// Builds `pla` or `pra`.
#[derive(Debug)]
pub(in crate::kinds) struct BlocksBuilder {
    kind: &'static Kind,
    fit: Fit,
    order: Order,
    /// The numbers of the keys of the open block.
    open: Vec<u64>,
    /// The line of the open block, if it was asked for after its last key.
    fitted: Option<BlockLine>,
    closed: Vec<BlockLine>,
    first: Option<u64>,
    last: u64,
    unfit: Option<String>,
}

impl BlocksBuilder {
    pub(in crate::kinds) fn new(kind: &'static Kind, fit: Fit) -> Self {
        BlocksBuilder {
            kind,
            fit,
            order: Order::default(),
            open: Vec::new(),
            fitted: None,
            closed: Vec::new(),
            first: None,
            last: 0,
            unfit: None,
        }
    }

    /// Notes the numbers of the next keys.
    fn add(&mut self, numbers: &[u64]) {
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else {
            return;
        };
        if self.open.is_empty() && !self.closed.is_empty() && *first == self.last {
            self.unfit = Some("keys of two blocks share a number: use fp".into());
        }
        self.fitted = None;
        self.first.get_or_insert(*first);
        self.last = *last;
        self.open.extend_from_slice(numbers);
    }

    fn check_number(&self, key: &[u8], number: u64) -> Result<(), IndexError> {
        match self.first.is_some() && number < self.last {
            true => self.order.descends(key, number, self.last),
            false => Ok(()),
        }
    }

    /// The line of the open block.
    fn line(&mut self) -> BlockLine {
        if let Some(fitted) = self.fitted {
            return fitted;
        }
        let keys = u16::try_from(self.open.len()).unwrap_or_else(|_| {
            self.unfit = Some(format!(
                "{} keys were pushed for one block, which has at most 65535: call `cut` where each block starts",
                self.open.len()
            ));
            u16::MAX
        });
        let line = BlockLine {
            last: self.last,
            keys,
            line: match self.fit {
                Fit::Between(_) => self.between(),
                Fit::Own => own(&self.open, self.last),
            },
        };
        self.fitted = Some(line);
        line
    }

    fn between(&self) -> Line {
        let before = self.closed.last();
        Line::Between {
            from: before.map_or(self.first.unwrap_or(0), |block| block.last),
            from_first: before.is_none(),
        }
    }

    fn close(&mut self) {
        let line = self.line();
        self.closed.push(line);
        self.open.clear();
        self.fitted = None;
    }

    fn encode(&self) -> Vec<u8> {
        let (first, last) = (self.closed.first(), self.closed.last());
        let range = last.zip(first).map_or(0, |(l, f)| l.last - f.last);
        let bits = self
            .closed
            .len()
            .checked_ilog2()
            .unwrap_or(0)
            .min(MOST_BITS);
        let table = RadixTable::new(range, bits);
        let cells = table.build(&self.closed, |block| block.last);
        let mut out = self.kind.header().to_vec();
        out.extend((self.closed.len() as u32).to_le_bytes());
        out.extend(self.order.keys().to_le_bytes());
        out.extend(self.first.unwrap_or(0).to_le_bytes());
        out.extend([table.shift, 0, 0, 0]);
        out.extend((cells.len() as u32).to_le_bytes());
        out.extend(
            self.closed
                .iter()
                .flat_map(|block| block.last.to_le_bytes()),
        );
        out.extend(
            self.closed
                .iter()
                .flat_map(|block| block.keys.to_le_bytes()),
        );
        for block in &self.closed {
            if let Line::Own { slope, offset } = block.line {
                out.extend(slope.to_le_bytes());
                out.extend(offset.to_le_bytes());
            }
        }
        out.extend(cells.iter().flat_map(|cell| cell.to_le_bytes()));
        out
    }
}

/// The least-squares line from numbers to slots.
fn own(numbers: &[u64], last: u64) -> Line {
    if numbers.is_empty() {
        return Line::Own {
            slope: 0.0,
            offset: 0,
        };
    }
    let key = |i: usize| numbers.get(i).copied().unwrap_or(last);
    let moments = Moments::of(0..numbers.len(), key);
    let slope = moments.slope();
    let slope = if slope.is_finite() {
        slope.max(0.0) as f32
    } else {
        0.0
    };
    // The rounded slope is used, so that the line still goes through the mean.
    let below = (last - key(0)) as f64 - moments.x;
    let at_last = moments.y + f64::from(slope) * below;
    let offset = (at_last - (numbers.len() - 1) as f64) * offset_unit(numbers.len());
    Line::Own {
        slope,
        offset: offset.round() as i16,
    }
}

impl IndexBuilder for BlocksBuilder {
    fn push(&mut self, key: &[u8], number: u64) -> Result<(), IndexError> {
        self.check_number(key, number)?;
        self.order.push(key)?;
        self.add(&[number]);
        Ok(())
    }

    fn push_numbers(&mut self, numbers: &[u64]) -> Result<(), IndexError> {
        if let Some(first) = numbers.first() {
            self.check_number(&first.to_be_bytes(), *first)?;
        }
        self.order.push_numbers(numbers)?;
        self.add(numbers);
        Ok(())
    }

    fn trust_order(&mut self) {
        self.order.trust();
    }

    fn cut(&mut self, _last_key: &[u8], _first_key: &[u8]) {
        if self.first.is_some() {
            self.close();
        }
    }

    fn admits(&self, numbers: &[u64]) -> usize {
        let (Fit::Between(error), Some((first, rest))) = (self.fit, numbers.split_first()) else {
            return numbers.len();
        };
        if self.is_unfit() {
            return numbers.len();
        }
        let mut corridor = Corridor::new(error);
        let mut admitted = match self.first {
            // The first line begins at the first key, the others at the last key so far.
            None => 1 + corridor.add_all(*first, 1, rest),
            Some(_) => corridor.add_all(self.last, 1, numbers).max(1),
        };
        // Keys that share a number have to share a block.
        while admitted > 1 && numbers.get(admitted - 1) == numbers.get(admitted) {
            admitted -= 1;
        }
        admitted
    }

    fn expected_slots(&mut self, slots: &mut Vec<u64>) {
        let slot = self.line().slots();
        slots.extend(self.open.iter().map(|number| slot(*number)));
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<u8>, IndexError> {
        if self.first.is_some() {
            self.close();
        }
        match self.unfit.take() {
            Some(why) => Err(IndexError::Unfit {
                kind: self.kind.name,
                why,
            }),
            None => Ok(self.encode()),
        }
    }

    fn is_unfit(&self) -> bool {
        self.unfit.is_some()
    }
}
