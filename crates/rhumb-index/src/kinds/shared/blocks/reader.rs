//! Reads models of blocks from their byte form. Each column is copied into a field of its own, as those of splines are.

use super::{BlockLine, COLUMNS_AT, Line, OWN_LINE};
use crate::bytes::Reader;
use crate::kind::{HEADER, Kind};
use crate::kinds::shared::spline::{CELL, RadixTable};
use crate::search::{self, lower_bound_in_column};
use crate::{BlockRows, Index, IndexError, Position, Probe, Window};

/// Of so many blocks from the first that may have a number, the columns are prefetched.
const FETCHED: usize = 16;

/// Models of blocks under a radix table.
#[derive(Debug)]
pub(in crate::kinds) struct Blocks {
    kind: &'static Kind,
    /// The number of the first key.
    first: u64,
    lasts: Box<[[u8; 8]]>,
    keys: Box<[[u8; 2]]>,
    /// Empty if lines go from block to block.
    own: Box<[[u8; OWN_LINE]]>,
    table: RadixTable,
    cells: Box<[[u8; CELL]]>,
    /// The last number of the first block, and its distance to that of the last block.
    lowest: u64,
    range: u64,
}

impl Blocks {
    /// Opens the byte form of a kind, whose blocks have lines of their own or not.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] if the bytes are not a valid form.
    pub(in crate::kinds) fn open(
        kind: &'static Kind,
        bytes: &[u8],
        has_own: bool,
    ) -> Result<Self, IndexError> {
        let mut reader = Reader::new(kind.name, bytes);
        reader.take(HEADER)?;
        let blocks = reader.length()?;
        let (keys, first) = (reader.u64()?, reader.u64()?);
        let shift = reader.u8()?;
        if shift > 63 {
            return Err(reader.damaged("a shift of 0 to 63", shift));
        }
        reader.reserved(3)?;
        let cells = reader.length()?;
        let lasts = reader.take(blocks.saturating_mul(8))?;
        let counts = reader.take(blocks.saturating_mul(2))?;
        let own = if has_own { OWN_LINE } else { 0 };
        let own = reader.take(blocks.saturating_mul(own))?;
        let cells = reader.take(cells.saturating_mul(CELL))?;
        reader.end()?;
        let mut read = Blocks {
            kind,
            first,
            lasts: lasts.as_chunks().0.into(),
            keys: counts.as_chunks().0.into(),
            own: own.as_chunks().0.into(),
            table: RadixTable { shift },
            cells: cells.as_chunks().0.into(),
            lowest: first,
            range: 0,
        };
        read.check_blocks(keys)?;
        read.check_cells()?;
        Ok(read)
    }

    fn check_blocks(&mut self, keys: u64) -> Result<(), IndexError> {
        let lasts = self.lasts.iter().map(|last| u64::from_le_bytes(*last));
        let counted = self
            .keys
            .iter()
            .map(|keys| u64::from(u16::from_le_bytes(*keys)))
            .sum::<u64>();
        let ascend = lasts.clone().is_sorted();
        let (lowest, highest) = (lasts.clone().next(), lasts.clone().next_back());
        let begins = lowest.is_none_or(|lowest| self.first <= lowest);
        if !ascend || !begins || counted != keys || (keys == 0) != self.lasts.is_empty() {
            let expected = format!("ascending last numbers of blocks with {keys} keys");
            return Err(self
                .kind
                .damaged(COLUMNS_AT, expected, format!("{counted} keys")));
        }
        (self.lowest, self.range) = lowest.zip(highest).map_or((0, 0), |(l, h)| (l, h - l));
        Ok(())
    }

    fn check_cells(&self) -> Result<(), IndexError> {
        let is_empty = self.lasts.is_empty() && self.cells.is_empty();
        let checked = self.table.check(&self.cells, self.range, self.lasts.len());
        if checked.is_none() && !is_empty {
            let expected = format!("cells over {} blocks", self.lasts.len());
            let found = format!("{} cells of {:?}", self.cells.len(), self.table);
            return Err(self.kind.damaged(COLUMNS_AT, expected, found));
        }
        Ok(())
    }

    /// The first block whose last number is not below a number, or the last block; 0 without blocks. The `rows` of the blocks that
    /// it may be are prefetched, if they are few.
    #[inline]
    fn block(&self, number: u64, rows: BlockRows) -> usize {
        let last = self.lasts.len().saturating_sub(1);
        let above = match self.above(number) {
            Ok(above) => above,
            Err(block) => return block,
        };
        let (from, to) = self.table.ends(&self.cells, above);
        // The last numbers wait for memory once more.
        rows.prefetch(from, to);
        let window = Window {
            lo: from as u64,
            hi: to as u64,
        };
        // Cells that are wrong, though they ascend, may lead behind the last block.
        lower_bound_in_column(&self.lasts, window, number).min(last)
    }

    /// How far a number is above the lowest last number of a block. If it is not between the lowest and the highest, no search
    /// is needed: `Err` has its block.
    #[inline]
    fn above(&self, number: u64) -> Result<u64, usize> {
        match number.checked_sub(self.lowest) {
            None | Some(0) => Err(0),
            Some(above) if above > self.range => Err(self.lasts.len().saturating_sub(1)),
            Some(above) => Ok(above),
        }
    }

    #[inline]
    fn line(&self, block: usize) -> Option<BlockLine> {
        let last_of = |block: usize| self.lasts.get(block).map(|last| u64::from_le_bytes(*last));
        let line = match self.own.get(block) {
            Some([a, b, c, d, e, f]) => Line::Own {
                slope: f32::from_le_bytes([*a, *b, *c, *d]),
                offset: i16::from_le_bytes([*e, *f]),
            },
            None => {
                let before = block.checked_sub(1).and_then(last_of);
                Line::Between {
                    from: before.unwrap_or(self.first),
                    from_first: before.is_none(),
                }
            }
        };
        Some(BlockLine {
            last: last_of(block)?,
            keys: u16::from_le_bytes(*self.keys.get(block)?),
            line,
        })
    }
}

impl Index for Blocks {
    fn kind(&self) -> &'static str {
        self.kind.name
    }

    fn needs_number(&self) -> bool {
        true
    }

    fn locate(&self, probe: Probe<'_>) -> Position {
        self.locate_beside(probe, BlockRows::NONE)
    }

    #[inline]
    fn locate_beside(&self, probe: Probe<'_>, rows: BlockRows) -> Position {
        let block = self.block(probe.number, rows);
        let slot = self.line(block).map_or(0, |line| line.slot(probe.number));
        Position::Slot {
            block: block as u64,
            slot,
        }
    }

    fn prefetch(&self, probe: Probe<'_>, step: usize) {
        let Ok(above) = self.above(probe.number) else {
            return;
        };
        if step == 0 {
            return self.table.prefetch(&self.cells, above);
        }
        let (from, to) = self.table.ends(&self.cells, above);
        // A few lines have most cells.
        let few = from..to.min(from + FETCHED);
        search::prefetch(&self.lasts, few.clone());
        search::prefetch(&self.keys, few.clone());
        search::prefetch(&self.own, few);
    }

    fn predict(&self, _number: u64) -> Option<u64> {
        None
    }

    fn extent(&self) -> u64 {
        self.lasts.len().max(1) as u64
    }

    fn widest_window(&self) -> u64 {
        0
    }

    fn size_in_bytes(&self) -> usize {
        let columns = [
            size_of_val(&*self.lasts),
            size_of_val(&*self.keys),
            size_of_val(&*self.own),
            size_of_val(&*self.cells),
        ];
        size_of::<Self>() + columns.iter().sum::<usize>()
    }
}
