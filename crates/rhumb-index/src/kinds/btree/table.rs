//! The tree in a table: it is static, so it needs no pointers.
//!
//! Numbers are in one ascending column, 16 a node; the last node may have fewer. Each level above
//! has the last number of every node of the level below, again 16 a node, up to a level of one
//! node. A search goes from the top down and counts the numbers below the one sought: that many
//! nodes precede its own in the level below. It reads two cache lines a level and does not branch.
//! The levels above take 8/15 of a byte a number.
//!
//! Layout, little-endian:
//!
//! ```text
//! offset  size  field
//!      0     4  1 if there are ranks, 0 if number i has rank i
//!      4     4  reserved
//!      8        levels, the top first: 8 bytes a number
//!            8D  numbers, ascending
//!            4D  their ranks, only if there are ranks
//! ```
//!
//! Opening does not check the order; it reads only the lengths.

use super::KIND;
use crate::IndexError;
use crate::bytes::{Reader, u32_of};
use crate::kind::Kind;
use crate::kinds::shared::exact::{Layout, Place};
use crate::knob::Settings;
use crate::search::{Count, Counting, counting, first_not};

/// Numbers of a node.
const NODE: usize = 16;

/// The tree, read from the byte form.
#[derive(Debug)]
pub(super) struct Table {
    /// The offset of each level, the top first, and its number of numbers; the last level has all.
    levels: Vec<(usize, usize)>,
    /// The offset of the ranks, if there are any.
    ranks_at: Option<usize>,
}

/// How many numbers each level has, the top first.
fn lens(numbers: usize) -> Vec<usize> {
    let mut lens = vec![numbers];
    while let Some(&len) = lens.last()
        && len > NODE
    {
        lens.push(len.div_ceil(NODE));
    }
    lens.reverse();
    lens
}

impl Layout for Table {
    fn kind() -> &'static Kind {
        &KIND
    }

    fn lay(_: &Settings, entries: &[(u64, u64)], out: &mut Vec<u8>) -> Result<(), IndexError> {
        let has_ranks = entries
            .last()
            .is_some_and(|last| last.1 >= entries.len() as u64);
        out.extend(u32::from(has_ranks).to_le_bytes());
        out.extend([0; 4]);
        let lens = lens(entries.len());
        for (level, &len) in lens.iter().enumerate() {
            let step = NODE.pow((lens.len() - 1 - level) as u32);
            // The last number of each node; the last node may not be full.
            let places = (1..=len).map(|node| (node * step).min(entries.len()) - 1);
            let numbers = places.filter_map(|at| entries.get(at));
            out.extend(numbers.flat_map(|entry| entry.0.to_le_bytes()));
        }
        if has_ranks {
            out.extend(
                entries
                    .iter()
                    .flat_map(|entry| (entry.1 as u32).to_le_bytes()),
            );
        }
        Ok(())
    }

    fn open(bytes: &[u8], numbers: usize) -> Result<Self, IndexError> {
        let mut reader = Reader::new(KIND.name, bytes);
        let has_ranks = match reader.u32()? {
            0 => false,
            1 => true,
            other => return Err(reader.damaged_at(0, "0 or 1, for ranks", other)),
        };
        reader.reserved(4)?;
        let mut levels = Vec::new();
        for len in lens(numbers) {
            levels.push((reader.at(), len));
            reader.take(len.saturating_mul(8))?;
        }
        levels.shrink_to_fit();
        let ranks_at = has_ranks.then_some(reader.at());
        if has_ranks {
            reader.take(numbers.saturating_mul(4))?;
        }
        reader.end()?;
        Ok(Table { levels, ranks_at })
    }

    #[inline]
    fn find(&self, bytes: &[u8], number: u64) -> Place {
        counting(Find {
            table: self,
            bytes,
            number,
        })
    }

    /// Aligns the column of numbers, so that a node takes two cache lines, not three.
    fn cache_line_at(&self) -> Option<usize> {
        self.levels.last().map(|(at, _)| *at)
    }

    fn heap_bytes(&self) -> usize {
        self.levels.capacity() * size_of::<(usize, usize)>()
    }
}

/// A search.
struct Find<'a> {
    table: &'a Table,
    bytes: &'a [u8],
    number: u64,
}

impl Counting for Find<'_> {
    type Answer = Place;

    #[inline(always)]
    fn by<C: Count>(self, count: C) -> Place {
        let Find {
            table,
            bytes,
            number,
        } = self;
        let mut node = 0;
        let mut found = None;
        for &(at, len) in &table.levels {
            let column = bytes.get(at..).unwrap_or_default().as_chunks::<8>().0;
            let column = column.get(..len).unwrap_or_default();
            node = lower_bound(count, column, node * NODE, number);
            found = column.get(node);
        }
        let rank_of = |at: usize| match table.ranks_at {
            Some(ranks_at) => u32_of(bytes.get(ranks_at..).unwrap_or_default(), at).into(),
            None => at as u64,
        };
        match found.map(|found| u64::from_le_bytes(*found)) {
            Some(found) => Place::of(found, rank_of(node), number),
            None => Place::After(rank_of(node.saturating_sub(1))),
        }
    }
}

/// The first number of the node at `start` that is not below `number`, or the end of the node.
#[inline(always)]
fn lower_bound<C: Count>(count: C, column: &[[u8; 8]], start: usize, number: u64) -> usize {
    // For the last node this counts some of its neighbour's numbers too, all of which are below.
    if let Some(last) = column.len().checked_sub(NODE) {
        let start = start.min(last);
        if let Some(node) = column
            .get(start..)
            .and_then(|from| from.first_chunk::<NODE>())
        {
            return start + count.below(node, number);
        }
    }
    let value = |at: usize| column.get(at).map_or(0, |one| u64::from_le_bytes(*one));
    first_not(0..column.len(), |at| value(at) < number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::SplitMix64;
    use crate::registry;

    fn opened(entries: &[(u64, u64)]) -> (Vec<u8>, Table) {
        let mut bytes = Vec::new();
        Table::lay(&registry::settings(KIND.name), entries, &mut bytes).unwrap();
        let table = Table::open(&bytes, entries.len()).unwrap();
        (bytes, table)
    }

    #[test]
    fn every_number_is_found_in_trees_of_every_height() {
        let mut random = SplitMix64::new(3);
        for len in [1, 2, 15, 16, 17, 255, 256, 257, 4095, 4096, 4097, 5000] {
            let mut numbers: Vec<u64> = (0..len).map(|_| random.next_u64()).collect();
            numbers[0] = 0;
            numbers.push(u64::MAX);
            numbers.sort_unstable();
            numbers.dedup();
            for run in [1, 3] {
                let entries: Vec<_> = numbers.iter().copied().zip((0..).step_by(run)).collect();
                let (bytes, table) = opened(&entries);
                let ranks = if run == 1 { 0 } else { 4 };
                let least = 8 + (8 + ranks) * entries.len();
                assert!(bytes.len() >= least && bytes.len() <= least + entries.len() * 8 / 15 + 64);
                for (at, &(number, rank)) in entries.iter().enumerate() {
                    assert_eq!(table.find(&bytes, number), Place::At(rank));
                    let next = entries.get(at + 1);
                    if let Some(next) = next.filter(|next| next.0 > number + 1) {
                        assert_eq!(table.find(&bytes, number + 1), Place::Before(next.1));
                    }
                }
                let (_, entries) = entries.split_last().unwrap();
                let (bytes, table) = opened(entries);
                let last = entries.last().unwrap().1;
                assert_eq!(table.find(&bytes, u64::MAX), Place::After(last));
            }
        }
    }

    #[test]
    fn cut_forms_are_refused() {
        let entries: Vec<_> = (0..40).map(|i| (i * 10, i * 2)).collect();
        let (bytes, _) = opened(&entries);
        for len in 0..bytes.len() {
            assert!(Table::open(&bytes[..len], 40).is_err());
        }
        assert!(Table::open(&bytes, 39).is_err());
        assert!(Table::open(&bytes, usize::MAX).is_err());
    }
}
