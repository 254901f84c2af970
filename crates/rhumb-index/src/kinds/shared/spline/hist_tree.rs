//! A compact Hist-Tree over knots: Crotty, "Hist-Tree: those who ignore it are doomed to learn",
//! CIDR 2021, in the read-only form that PLEX (Stoian et al., 2021, section 3) puts above its
//! spline.
//!
//! A trie over the distances to the first knot, `bits` of them a level. A node has a cell for each
//! of its bins. A bin with more knots than the limit is a node of the next level. Any other bin is
//! a leaf, whose cell counts the knots to the left of it; that is defined for empty bins too. Nodes
//! are stored level by level, every child after its parent.

use std::hint::select_unpredictable;

use super::Knot;
use super::top::{Cells, Effort, cell_of};

/// Marks the cell of a leaf.
const LEAF: u32 = 1 << 31;

/// The shape of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kinds) struct HistTree {
    /// Bits a level, 1 to [`HistTree::MOST_BITS`].
    pub(in crate::kinds) bits: u8,
    /// The most knots in a leaf, at least 1.
    pub(in crate::kinds) limit: u8,
    /// Bits below those of the root.
    pub(super) shift: u8,
}

/// A bin: its range of knots, and the shift that selects the bits for its own bins.
#[derive(Debug, Clone, Copy)]
struct Bin {
    start: usize,
    end: usize,
    shift: u8,
    /// How many levels are above it.
    depth: usize,
}

/// The predicted size and cost of a tree that is not built.
#[derive(Debug, Clone, Default)]
pub(in crate::kinds) struct Survey {
    /// For each level: the number of nodes, and of keys whose look-ups pass them.
    pub levels: Vec<(u64, u64)>,
    /// Indexed by the number of knots in a leaf: how many keys' look-ups search such a leaf.
    pub leaves: Vec<u64>,
}

impl HistTree {
    /// The most bits of a level.
    pub(super) const MOST_BITS: u8 = 16;

    /// The most knots that a cell can count.
    pub(in crate::kinds) const MOST_KNOTS: usize = LEAF as usize - 1;

    /// A tree over numbers up to `range` above the first.
    pub(in crate::kinds) fn new(range: u64, bits: u8, limit: u8) -> Self {
        let width = (u64::BITS - range.leading_zeros()) as u8;
        HistTree {
            bits,
            limit,
            shift: width.saturating_sub(bits),
        }
    }

    /// The bin, within its node, of a number at a distance of `above` from the first knot.
    #[inline]
    fn bin_of(self, above: u64, shift: u8) -> usize {
        ((above >> shift) as usize) & ((1 << self.bits) - 1)
    }

    /// The root as a bin.
    fn root(self, knots: &[Knot]) -> Bin {
        Bin {
            start: 0,
            end: knots.len(),
            shift: self.shift,
            depth: 0,
        }
    }

    /// Calls `each` with the index and the knots of each of the node's bins that holds knots, in
    /// order.
    fn split(self, knots: &[Knot], node: Bin, mut each: impl FnMut(usize, Bin)) {
        let first = knots.first().map_or(0, |knot| knot.number);
        let bin = |knot: &Knot| self.bin_of(knot.number - first, node.shift);
        let mut start = node.start;
        let held = knots.get(node.start..node.end).unwrap_or_default();
        for together in held.chunk_by(|a, b| bin(a) == bin(b)) {
            let end = start + together.len();
            let shift = node.shift.saturating_sub(self.bits);
            let depth = node.depth + 1;
            let held = Bin {
                start,
                end,
                shift,
                depth,
            };
            each(together.first().map_or(0, bin), held);
            start = end;
        }
    }

    /// The cells over sorted knots, at most [`HistTree::MOST_KNOTS`].
    pub(super) fn build(self, knots: &[Knot]) -> Vec<u32> {
        let fan = 1usize << self.bits;
        let (mut nodes, mut next) = (vec![self.root(knots)], 0);
        let mut cells = Vec::new();
        while let Some(&node) = nodes.get(next) {
            next += 1;
            let end = next * fan;
            self.split(knots, node, |bin, held| {
                // Empty bins before this one have the same knots to their left.
                cells.resize(end - fan + bin, LEAF | held.start as u32);
                if held.end - held.start > usize::from(self.limit) {
                    cells.push(nodes.len() as u32);
                    nodes.push(held);
                } else {
                    cells.push(LEAF | held.start as u32);
                }
            });
            cells.resize(end, LEAF | node.end as u32);
        }
        cells
    }

    /// The cost of trees with this shape's bits for each of several ascending limits.
    pub(in crate::kinds) fn survey<const N: usize>(
        self,
        knots: &[Knot],
        keys: u64,
        limits: [u8; N],
    ) -> [Survey; N] {
        let mut surveys = limits.map(|_| Survey::default());
        let least = limits.first().copied().unwrap_or(1);
        let rank = |i: usize| knots.get(i).map_or(keys, |knot| knot.rank.into());
        let mut open = vec![(self.root(knots), usize::MAX)];
        while let Some((node, above)) = open.pop() {
            let (held, weight) = (node.end - node.start, rank(node.end) - rank(node.start));
            for (survey, limit) in surveys.iter_mut().zip(limits.map(usize::from)) {
                // The root is a node, however few knots it holds.
                if held > limit || node.depth == 0 {
                    let levels = survey.levels.len().max(node.depth + 1);
                    survey.levels.resize(levels, (0, 0));
                    if let Some(level) = survey.levels.get_mut(node.depth) {
                        *level = (level.0 + 1, level.1 + weight);
                    }
                } else if above > limit {
                    survey.leaves.resize(survey.leaves.len().max(limit + 1), 0);
                    if let Some(leaves) = survey.leaves.get_mut(held) {
                        *leaves += weight;
                    }
                }
            }
            if held > usize::from(least) || node.depth == 0 {
                let above = if node.depth == 0 { usize::MAX } else { held };
                self.split(knots, node, |_, bin| open.push((bin, above)));
            }
        }
        surveys
    }

    /// The effort of a search if the cells are valid for a tree over this range and number of
    /// knots, so that every walk terminates and every leaf refers to an existing knot; else `None`.
    pub(super) fn check(self, cells: &Cells, range: u64, knots: usize) -> Option<Effort> {
        let has_shape = (1..=Self::MOST_BITS).contains(&self.bits)
            && self.limit > 0
            && self == HistTree::new(range, self.bits, self.limit);
        let nodes = cells.len() >> self.bits.min(Self::MOST_BITS);
        if !has_shape || nodes == 0 || nodes << self.bits != cells.len() {
            return None;
        }
        // The depth of each node, counted in nodes from the root to it.
        let mut depths = vec![1u32; nodes];
        for (node, cells) in cells.chunks_exact(1 << self.bits).enumerate() {
            let depth = depths.get(node).copied()?;
            for cell in cells {
                let cell = u32::from_le_bytes(*cell);
                match cell & LEAF {
                    0 if cell as usize <= node => return None,
                    0 => {
                        let child = depths.get_mut(cell as usize)?;
                        *child = (*child).max(depth + 1);
                    }
                    _ if (cell & !LEAF) as usize > knots => return None,
                    _ => {}
                }
            }
        }
        // Each level consumes bits of the number, which bounds the number of levels.
        let levels = depths.into_iter().max()?;
        let most = u64::BITS.div_ceil(self.bits.into());
        (levels <= most).then(|| Effort::new(levels, self.limit.into()))
    }

    /// The first and the last candidate knot for a number at a distance of `above` from the first
    /// knot. The loop always takes `levels` steps: a walk that reaches a leaf early stays there,
    /// since that costs less than a mispredicted branch.
    #[inline]
    pub(super) fn find(self, cells: &Cells, levels: u32, above: u64) -> (usize, usize) {
        let mut shift = self.shift;
        let mut at = self.bin_of(above, shift);
        let mut cell = cell_of(cells, at);
        for _ in 1..levels {
            shift = shift.saturating_sub(self.bits);
            let below = ((cell as usize) << self.bits) + self.bin_of(above, shift);
            at = select_unpredictable(cell & LEAF != 0, at, below);
            cell = cell_of(cells, at);
        }
        let left = (cell & !LEAF) as usize;
        (left.saturating_sub(1), left + usize::from(self.limit) - 1)
    }
}
