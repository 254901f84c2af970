//! A B+-tree over the first numbers of segments, 16 a node, each node in two cache lines.
//!
//! As nothing changes, it needs no pointers: each level is every 16th number of the one below, down to
//! the column of the lines itself. It is made when an index is opened, and takes 8/15 of a byte a
//! segment.

use super::{Lines, Route};
use crate::IndexError;
use crate::bytes::Reader;
use crate::search::{FEW, last_not_above, last_of_few};

/// The levels above the lines, the top first; the last node of each is filled up with the largest
/// number, which nothing is above.
#[derive(Debug)]
pub(crate) struct Tree {
    levels: Vec<Vec<[u64; FEW]>>,
}

impl Route for Tree {
    fn open(reader: &mut Reader<'_>, lines: &Lines) -> Result<Self, IndexError> {
        let numbers = lines.numbers(reader.bytes());
        let mut levels = Vec::new();
        let mut step = FEW;
        while numbers.len().div_ceil(step) > 1 {
            let level = numbers.iter().step_by(step);
            let level: Vec<u64> = level.map(|bytes| u64::from_le_bytes(*bytes)).collect();
            let nodes = level.chunks(FEW).map(|some| {
                let mut node = [u64::MAX; FEW];
                node.iter_mut().zip(some).for_each(|(to, from)| *to = *from);
                node
            });
            levels.push(nodes.collect());
            step *= FEW;
        }
        levels.reverse();
        Ok(Tree { levels })
    }

    #[inline(always)]
    fn find(&self, bytes: &[u8], lines: &Lines, number: u64) -> usize {
        if number == u64::MAX {
            // Even what nodes are filled up with is not above it.
            return lines.segments() - 1;
        }
        let numbers = lines.numbers(bytes);
        let mut node = 0;
        for level in &self.levels {
            let last = level.get(node).map_or(0, |few| last_of_few(few, number));
            node = node * FEW + last;
        }
        let start = node * FEW;
        last_not_above(numbers, start, (start + FEW).min(numbers.len()), number)
    }

    fn size_in_bytes(&self) -> usize {
        let nodes = self.levels.iter().map(Vec::len).sum::<usize>();
        nodes * size_of::<[u64; FEW]>()
    }
}
