//! What stands above the knots.

use super::{HistTree, Knot, RadixTable};

/// Bytes of a cell.
pub(in crate::kinds) const CELL: usize = 4;

/// The structure that leads from a number to a few knots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kinds) enum Top {
    Radix(RadixTable),
    Tree(HistTree),
}

impl Top {
    /// Its form, shift, bits a level and limit, as they are stored.
    pub(super) fn to_bytes(self) -> [u8; 4] {
        match self {
            Top::Radix(table) => [0, table.shift, 0, 0],
            Top::Tree(tree) => [1, tree.shift, tree.bits, tree.limit],
        }
    }

    /// The top that is stored so, if there is one.
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
            Top::Radix(table) => table.build(knots),
            Top::Tree(tree) => tree.build(knots),
        }
    }

    /// Whether cells could be those of this top over so many knots, the last of which is `range`
    /// above the first. Any search in sound cells ends.
    pub(super) fn is_sound(self, cells: &[u8], range: u64, knots: usize) -> bool {
        match self {
            Top::Radix(table) => table.is_sound(cells, range, knots),
            Top::Tree(tree) => tree.is_sound(cells, range, knots),
        }
    }

    /// The first and the last knot that the search for a number goes through, `above` being its
    /// distance to the first knot's. The last may be behind the last there is.
    #[inline]
    pub(super) fn find(self, cells: &[u8], above: u64) -> (usize, usize) {
        match self {
            Top::Radix(table) => table.find(cells, above),
            Top::Tree(tree) => tree.find(cells, above),
        }
    }
}
