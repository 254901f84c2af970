//! A B+-tree over the first numbers of segments with 16 numbers a node; a node takes two cache
//! lines.
//!
//! The tree is static, so it needs no pointers: each level consists of every 16th number of the
//! level below, and the lowest level is the column of the lines itself. The tree is built when an
//! index is opened and takes 8/15 of a byte a segment.

use super::{Lines, Route};
use crate::IndexError;
use crate::bytes::Reader;
use crate::search::{FEW, last_not_above, last_of_few};

/// The levels above the lines, the top first. The last node of each is padded with the largest
/// number.
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
            // The padding of nodes is not above this number, so the search would count it.
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
