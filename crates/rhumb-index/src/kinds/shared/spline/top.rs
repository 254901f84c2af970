//! The structures above the knots.

use super::{HistTree, Knot, RadixTable, halvings_of};

/// Bytes of a cell.
pub(in crate::kinds) const CELL: usize = 4;

/// Cells in their byte form.
pub(in crate::kinds) type Cells = [[u8; CELL]];

/// A cell's value, or 0 beyond the last.
#[inline]
pub(super) fn cell_of(cells: &Cells, i: usize) -> u32 {
    cells.get(i).map_or(0, |cell| u32::from_le_bytes(*cell))
}

/// How many knots at either end a top leaves out, because a few outliers would stretch the range
/// that the top divides by powers of two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::kinds) struct LeftOut {
    pub low: u8,
    pub high: u8,
}

impl LeftOut {
    /// The knots under the top; none if more are left out than there are.
    pub(in crate::kinds) fn rest<K>(self, knots: &[K]) -> &[K] {
        let end = knots.len().saturating_sub(self.high.into());
        knots.get(self.low.into()..end).unwrap_or_default()
    }
}

/// The structure that leads from a number to a few knots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kinds) enum Top {
    Radix(RadixTable),
    Tree(HistTree),
}

impl Top {
    /// Its form, shift, bits a level and limit, as stored.
    pub(super) fn to_bytes(self) -> [u8; 4] {
        match self {
            Top::Radix(table) => [0, table.shift, 0, 0],
            Top::Tree(tree) => [1, tree.shift, tree.bits, tree.limit],
        }
    }

    /// The top stored in these bytes, if they are valid.
    pub(super) fn from_bytes(bytes: [u8; 4]) -> Option<Top> {
        match bytes {
            [0, shift @ ..=63, 0, 0] => Some(Top::Radix(RadixTable { shift })),
            [1, shift @ ..=63, bits, limit] => Some(Top::Tree(HistTree { bits, limit, shift })),
            _ => None,
        }
    }

    /// The cells over sorted knots.
    pub(super) fn build(self, knots: &[Knot]) -> Vec<u32> {
        match self {
            Top::Radix(table) => table.build(knots, |knot| knot.number),
            Top::Tree(tree) => tree.build(knots),
        }
    }

    /// The effort of a search if the cells are valid for this top over `knots` knots, the last of
    /// which is at a distance of `range` from the first; else `None`. Any search in valid cells
    /// terminates.
    pub(super) fn check(self, cells: &Cells, range: u64, knots: usize) -> Option<Effort> {
        match self {
            Top::Radix(table) => table.check(cells, range, knots),
            Top::Tree(tree) => tree.check(cells, range, knots),
        }
    }

    /// The first and the last candidate knot for a number at a distance of `above` from the first
    /// knot. The last may be past the end of the knots.
    #[inline]
    pub(super) fn find(self, cells: &Cells, effort: Effort, above: u64) -> (usize, usize) {
        match self {
            Top::Radix(table) => table.find(cells, above),
            Top::Tree(tree) => tree.find(cells, effort.levels, above),
        }
    }
}

/// The number of steps of a search. Every search takes all of them, so that the processor can
/// predict their branches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::kinds) struct Effort {
    /// Levels of a tree.
    pub levels: u32,
    /// Halvings of the candidates among the knots.
    pub halvings: u32,
}

impl Effort {
    /// For this many levels and at most `knots` knots in a bin; the knot before the bin is a
    /// candidate too.
    pub(super) fn new(levels: u32, knots: usize) -> Self {
        Effort {
            levels,
            halvings: halvings_of(knots + 1),
        }
    }
}
