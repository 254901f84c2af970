//! A radix table over knots: the top of RadixSpline, and one of PLEX's tops.
//!
//! Cell p holds the number of knots with a prefix below p: the knots with prefix p are those from
//! cell p to cell p + 1.

use super::top::{Cells, Effort, cell_of};
use crate::search;

/// Cells for every value of (number - first number) >> shift.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kinds) struct RadixTable {
    /// At most 63.
    pub(in crate::kinds) shift: u8,
}

impl RadixTable {
    /// The table over the most significant `bits` of distances up to `range`; at least one bit is
    /// used if the range takes all 64.
    pub(in crate::kinds) fn new(range: u64, bits: u32) -> Self {
        let width = u64::BITS - range.leading_zeros();
        let shift = width.saturating_sub(bits).min(u64::BITS - 1) as u8;
        RadixTable { shift }
    }

    /// How many cells the table has over this range.
    pub(in crate::kinds) fn cells(self, range: u64) -> u64 {
        // Saturates for the full range and a shift of 0, which would fit no memory.
        self.prefix(range).saturating_add(2)
    }

    /// The prefix of a number at a distance of `above` from the first knot.
    #[inline]
    pub(in crate::kinds) fn prefix(self, above: u64) -> u64 {
        above >> self.shift
    }

    /// The cells over sorted knots, each with a number.
    pub(in crate::kinds) fn build<K>(self, knots: &[K], number: impl Fn(&K) -> u64) -> Vec<u32> {
        let (Some(first), Some(last)) = (knots.first(), knots.last()) else {
            return Vec::new();
        };
        let lowest = number(first);
        let cells = self.cells(number(last) - lowest) as usize;
        let mut table = Vec::with_capacity(cells);
        for (i, knot) in knots.iter().enumerate() {
            let prefix = self.prefix(number(knot) - lowest);
            let missing = (prefix as usize + 1).saturating_sub(table.len());
            table.extend(std::iter::repeat_n(i as u32, missing));
        }
        table.resize(cells, knots.len() as u32);
        table
    }

    /// The effort of a search if the cells are valid for a table over this range and number of
    /// knots; else `None`.
    pub(in crate::kinds) fn check(self, cells: &Cells, range: u64, knots: usize) -> Option<Effort> {
        let values = cells.iter().map(|cell| u32::from_le_bytes(*cell) as usize);
        let is_sound = cells.len() as u64 == self.cells(range)
            && values.clone().next() == Some(0)
            && values.clone().next_back() == Some(knots)
            && values.clone().is_sorted();
        let pairs = values.clone().zip(values.skip(1));
        let most = pairs.map(|(from, to)| to.saturating_sub(from)).max()?;
        is_sound.then(|| Effort::new(0, most))
    }

    /// The first and the last candidate knot for a number at a distance of `above` from the first
    /// knot.
    #[inline]
    pub(super) fn find(self, cells: &Cells, above: u64) -> (usize, usize) {
        let (from, to) = self.ends(cells, above);
        (from.saturating_sub(1), to.saturating_sub(1))
    }

    /// How many knots have a lower prefix than a number at a distance of `above` from the first knot, and how many have no
    /// higher one.
    #[inline]
    pub(in crate::kinds) fn ends(self, cells: &Cells, above: u64) -> (usize, usize) {
        let prefix = self.prefix(above) as usize;
        (
            cell_of(cells, prefix) as usize,
            // Only a damaged shift makes so large a prefix.
            cell_of(cells, prefix.saturating_add(1)) as usize,
        )
    }

    /// Prefetches the two cells that [`RadixTable::ends`] reads.
    #[inline]
    pub(in crate::kinds) fn prefetch(self, cells: &Cells, above: u64) {
        let prefix = self.prefix(above) as usize;
        search::prefetch(cells, prefix..prefix.saturating_add(2));
    }
}
