//! An inner node: a line from numbers to children.
//!
//! The published line has any slope and as many children as a power of two; here the slope is a power of
//! two, and the children are as many as there are. Then the child is found by a subtraction and a shift,
//! exactly: a node may be refined, or go on to either side, and no number that was there before changes
//! its child.

/// A node's number; data nodes have this bit set.
pub(super) const LEAF: u32 = 1 << 31;

/// An inner node.
#[derive(Debug, Default)]
pub(super) struct Inner {
    /// The least number of child 0, but for those below all.
    pub(super) base: u64,
    /// A child is for 2^shift numbers.
    pub(super) shift: u32,
    /// How many different children there are.
    pub(super) nodes: u32,
    /// Each node in one or more places next to each other.
    pub(super) children: Box<[u32]>,
}

impl Inner {
    /// Where a number would be, if there were children enough.
    #[inline(always)]
    pub(super) fn place(&self, number: u64) -> u64 {
        number.saturating_sub(self.base) >> self.shift
    }

    /// Where a number is.
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

    /// The places of the node that is in this place.
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

    /// Different children, in order.
    pub(super) fn nodes(&self) -> impl Iterator<Item = u32> + '_ {
        self.children
            .chunk_by(|a, b| a == b)
            .filter_map(|chunk| chunk.first().copied())
    }

    /// Gives 2^bits places to every child; `bits` is not above the shift.
    pub(super) fn refine(&mut self, bits: u32) {
        let children = self.children.iter();
        self.children = children
            .flat_map(|child| std::iter::repeat_n(*child, 1 << bits))
            .collect();
        self.shift -= bits;
    }

    /// So many more places of the last child.
    pub(super) fn extend(&mut self, more: usize) {
        let mut children = std::mem::take(&mut self.children).into_vec();
        let last = children.last().copied().unwrap_or_default();
        children.extend(std::iter::repeat_n(last, more));
        self.children = children.into_boxed_slice();
    }

    /// So many more places of the first child, if numbers go down so far.
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
            "11 numbers are left, a place takes 32"
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
