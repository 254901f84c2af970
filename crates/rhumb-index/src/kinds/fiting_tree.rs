//! The FITing-Tree: segments of a shrinking cone under a B+-tree. Galakatos, Markovitch, Binnig,
//! Fonseca and Kraska, "FITing-Tree: A Data-aware Index Structure", SIGMOD 2019, sections 3 and 4, for
//! data that does not change.
//!
//! Guarantee and lines are those of [`super::lines`], cut by [`crate::segment::cone`]: about three times
//! the fewest segments possible, but the cheapest to train. A look-up descends a B+-tree over the
//! segments' first numbers, 16 a node, each node in two cache lines.
//!
//! As nothing changes, the tree needs no pointers: each level is every 16th number of the one below,
//! down to the column of the lines itself. Behind the lines come its levels, the lowest first, up to
//! the first of at most 16 numbers; where there are at most 16 segments there is none. So it takes 8/15
//! of a byte a segment.

use super::column::{Numbers, last_not_above};
use super::knobs::BOUNDARY;
use super::lines::{LineBuilder, LineIndex, LineKind, Lines, Route, Segment};
use super::retained::RETAINED;
use crate::bytes::Reader;
use crate::registry::Kind;
use crate::segment::cone::Cone;
use crate::{IndexError, IndexSpec};

/// Numbers in a node.
const NODE: usize = 16;

pub(crate) const KIND: Kind = Kind {
    name: "fiting-tree",
    id: 4,
    about: "FITing-Tree (Galakatos et al., SIGMOD 2019): shrinking cones under a B+-tree",
    knobs: &[BOUNDARY, RETAINED],
    needs_number: true,
    version: 1,
    builder: |spec| Box::new(LineBuilder::<FitingTree>::new(spec)),
    open: |bytes| Ok(Box::new(LineIndex::<FitingTree>::open(bytes)?)),
};

#[derive(Debug)]
struct FitingTree;

impl LineKind for FitingTree {
    type Fit = Cone;
    type Route = Tree;

    fn kind() -> &'static Kind {
        &KIND
    }
}

/// A B+-tree over the lines' first numbers.
#[derive(Debug)]
struct Tree {
    /// Where each level starts in the bytes, the top first, and how many numbers it has.
    levels: Vec<(usize, usize)>,
}

/// How many numbers each level above the lines has, the lowest first.
fn level_sizes(segments: usize) -> impl Iterator<Item = usize> {
    let above = |below: &usize| (*below > NODE).then(|| below.div_ceil(NODE));
    std::iter::successors(above(&segments), above)
}

impl Route for Tree {
    fn encode(_: &IndexSpec, segments: &[Segment], out: &mut Vec<u8>) -> Result<(), IndexError> {
        let mut step = NODE;
        for _ in level_sizes(segments.len()) {
            let level = segments.iter().step_by(step);
            out.extend(level.flat_map(|segment| segment.line.first_number.to_le_bytes()));
            step *= NODE;
        }
        Ok(())
    }

    fn open(reader: &mut Reader<'_>, lines: &Lines) -> Result<Self, IndexError> {
        let mut levels = Vec::new();
        let mut below = lines.numbers(reader.bytes());
        for size in level_sizes(lines.segments()) {
            levels.push((reader.at(), size));
            let (numbers, _) = reader.take(size * 8)?.as_chunks::<8>();
            if !numbers.iter().eq(below.iter().step_by(NODE)) {
                return Err(reader.damaged(
                    "each level of the tree to be every 16th number of the one below",
                    "others",
                ));
            }
            below = numbers;
        }
        levels.reverse();
        Ok(Tree { levels })
    }

    #[inline]
    fn find(&self, bytes: &[u8], lines: &Lines, number: u64) -> usize {
        let mut node = 0;
        for &(at, size) in &self.levels {
            let (numbers, _) = bytes.get(at..).unwrap_or_default().as_chunks::<8>();
            node = last_in_node(numbers.get(..size).unwrap_or(numbers), node, number);
        }
        last_in_node(lines.numbers(bytes), node, number)
    }
}

/// The last number of a node that is not above `number`, or its first.
#[inline]
fn last_in_node(level: Numbers<'_>, node: usize, number: u64) -> usize {
    let start = node * NODE;
    last_not_above(level, start, (start + NODE).min(level.len()), number)
}
