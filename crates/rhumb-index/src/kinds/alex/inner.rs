//! An inner node: a line from numbers to children.
//!
//! The published line has any slope and a power of two of children; here the slope is a power of
//! two, and the number of children is arbitrary. A child is then found exactly, by a subtraction
//! and a shift: a node may be refined, or extended to either side, without any number changing its
//! child.

/// A node's number; data nodes have this bit set.
pub(super) const LEAF: u32 = 1 << 31;

/// An inner node.
#[derive(Debug, Default)]
pub(super) struct Inner {
    /// The least number of child 0, which also takes all numbers below.
    pub(super) base: u64,
    /// A place is for 2^shift numbers.
    pub(super) shift: u32,
    /// The number of distinct children.
    pub(super) nodes: u32,
    /// The child in each place; a child has one or more adjacent places.
    pub(super) children: Box<[u32]>,
}

impl Inner {
    /// The place of a number, not clamped to the places that exist.
    #[inline(always)]
    pub(super) fn place(&self, number: u64) -> u64 {
        number.saturating_sub(self.base) >> self.shift
    }

    /// The place of a number.
    #[inline(always)]
    pub(super) fn slot(&self, number: u64) -> usize {
        let last = self.children.len() as u64 - 1;
        self.place(number).min(last) as usize
    }

    /// The node that a number belongs to.
    #[inline(always)]
    pub(super) fn child(&self, number: u64) -> u32 {
        self.children[self.slot(number)]
    }

    /// All places of the child in this place.
    pub(super) fn places(&self, slot: usize) -> std::ops::Range<usize> {
        let node = self.children[slot];
        let other = |place: &u32| *place != node;
        let start = self.children[..slot]
            .iter()
            .rposition(other)
            .map_or(0, |at| at + 1);
        let len = self.children[slot..].iter().position(other);
        start..len.map_or(self.children.len(), |len| slot + len)
    }

    /// The distinct children, in order.
    pub(super) fn nodes(&self) -> impl Iterator<Item = u32> + '_ {
        self.children
            .chunk_by(|a, b| a == b)
            .filter_map(|chunk| chunk.first().copied())
    }

    /// Divides every place into 2^bits places of the same child; `bits` must not exceed the shift.
    pub(super) fn refine(&mut self, bits: u32) {
        let children = self.children.iter();
        self.children = children
            .flat_map(|child| std::iter::repeat_n(*child, 1 << bits))
            .collect();
        self.shift -= bits;
    }

    /// Adds this many places of the last child.
    pub(super) fn extend(&mut self, more: usize) {
        let mut children = std::mem::take(&mut self.children).into_vec();
        let last = children.last().copied().unwrap_or_default();
        children.extend(std::iter::repeat_n(last, more));
        self.children = children.into_boxed_slice();
    }

    /// Adds this many places of the first child. Returns false if that would need numbers below 0.
    pub(super) fn extend_left(&mut self, more: usize) -> bool {
        let room = (more as u64).checked_mul(1 << self.shift);
        let Some(base) = room.and_then(|room| self.base.checked_sub(room)) else {
            return false;
        };
        let first = self.children.first().copied().unwrap_or_default();
        let children = std::iter::repeat_n(first, more).chain(self.children.iter().copied());
        self.children = children.collect();
        self.base = base;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_moves_no_number_to_another_child() {
        let children = [LEAF, LEAF | 1, LEAF | 1, LEAF | 2, 7];
        let node = || Inner {
            base: 1_003,
            shift: 5,
            nodes: 4,
            children: children.into(),
        };
        let numbers = || (0..2_000).chain([u64::MAX - 1, u64::MAX]);
        let before: Vec<u32> = numbers().map(|number| node().child(number)).collect();
        let (mut finer, mut wider, mut lower) = (node(), node(), node());
        finer.refine(5);
        wider.extend(9);
        assert!(lower.extend_left(31));
        assert!(
            !lower.extend_left(1),
            "11 numbers are left below the base, and a place takes 32"
        );
        for node in [finer, wider, lower] {
            let after: Vec<u32> = numbers().map(|number| node.child(number)).collect();
            assert!(before == after && node.children.len() > 5, "{node:?}");
            assert!(node.nodes().eq([LEAF, LEAF | 1, LEAF | 2, 7]));
        }
        assert_eq!(node().places(2), 1..3);
        assert_eq!(node().places(4), 4..5);
    }
}
