//! The directory: where each block starts in the file, and the rank of its first key.
//!
//! Both columns are nearly straight lines, so each is kept as a line and what it misses by, packed
//! into as few bits as the worst miss needs. Blocks all alike cost nothing at all.

use super::bits::{pack, packed_bytes, unpack, width_of, word};
use super::damage::Damage;
use super::stored::STORED_HEADER_BYTES;

const HEADER_BYTES: usize = 32;
const COLUMN_HEADER_BYTES: usize = 24;
/// Behind the residuals, so that each can be read as one 8-byte word.
const PADDING_BYTES: usize = 8;
/// A residual and its bit offset fit into one 8-byte word.
const MAX_WIDTH: u32 = 57;

/// Ascending numbers as a line and bit-packed residuals.
#[derive(Debug)]
struct Column {
    base: i64,
    slope: u64,
    width: u32,
    residuals: Box<[u8]>,
}

impl Column {
    /// The line's value at `i`.
    fn line(base: i64, slope: u64, i: u64) -> i128 {
        i128::from(base) + ((u128::from(i) * u128::from(slope)) >> 32) as i128
    }

    /// Appends the byte form of ascending `values`. Returns whether the residuals fit their width.
    fn encode(values: &[u64], into: &mut Vec<u8>) -> bool {
        let slope = best_slope(values);
        let miss = |i: usize, v: u64| i128::from(v) - Column::line(0, slope, i as u64);
        let misses = || values.iter().enumerate().map(|(i, &v)| miss(i, v));
        let base = misses().min().unwrap_or(0);
        let spread = misses().max().unwrap_or(0) - base;
        let (Ok(base64), Ok(spread)) = (i64::try_from(base), u64::try_from(spread)) else {
            return false;
        };
        let width = width_of(spread);
        if width > MAX_WIDTH {
            return false;
        }
        into.extend_from_slice(&base64.to_le_bytes());
        into.extend_from_slice(&slope.to_le_bytes());
        into.extend_from_slice(&u64::from(width).to_le_bytes());
        if width > 0 {
            pack(misses().map(|m| (m - base) as u64), width, into);
            into.extend_from_slice(&[0; PADDING_BYTES]);
        }
        true
    }

    /// Takes a column of `count` values off the front of `bytes`; `at` is where that is.
    fn decode(bytes: &mut &[u8], at: &mut usize, count: u64) -> Result<Column, Damage> {
        let header = word::<COLUMN_HEADER_BYTES>(bytes, 0);
        let width = u64::from_le_bytes(word(&header, 16));
        let residual_bytes = match u32::try_from(width).ok().filter(|w| *w <= MAX_WIDTH) {
            Some(0) => Some(0),
            Some(width) => packed_bytes(count, width).and_then(|n| n.checked_add(PADDING_BYTES)),
            None => return Err(Damage::new(*at + 16, "a width of 0 to 57 bits", width)),
        };
        let end = residual_bytes.and_then(|n| n.checked_add(COLUMN_HEADER_BYTES));
        let Some((column, rest)) = end.and_then(|end| bytes.split_at_checked(end)) else {
            let expected = format!("a column of {count} values of {width} bits");
            return Err(Damage::new(*at, expected, format!("{} bytes", bytes.len())));
        };
        *at += column.len();
        *bytes = rest;
        Ok(Column {
            base: i64::from_le_bytes(word(&header, 0)),
            slope: u64::from_le_bytes(word(&header, 8)),
            width: width as u32,
            residuals: column.get(COLUMN_HEADER_BYTES..).unwrap_or_default().into(),
        })
    }

    /// The value at `i`, clamped to 64 bits.
    #[inline]
    fn value(&self, i: u64) -> u64 {
        let residual = unpack(&self.residuals, i, self.width);
        let value = Column::line(self.base, self.slope, i).wrapping_add(i128::from(residual));
        u64::try_from(value.max(0)).unwrap_or(u64::MAX)
    }

    /// About where `value` stands: the inverse of the line.
    #[inline]
    fn guess(&self, value: u64) -> u64 {
        let above = u128::try_from(i128::from(value) - i128::from(self.base)).unwrap_or(0);
        let i = (above << 32).checked_div(u128::from(self.slope));
        u64::try_from(i.unwrap_or(0)).unwrap_or(u64::MAX)
    }
}

/// The slope, with 32 fraction bits, that needs the narrowest residuals. Their spread is a convex
/// function of the slope, so a search by thirds finds its least value; only the corners of the
/// convex hull can be extreme, and there are few.
fn best_slope(values: &[u64]) -> u64 {
    let mut corners = hull(values, 1);
    corners.extend(hull(values, -1));
    // With all 32 fraction bits: rounded spreads would have plateaus, on which thirds go astray.
    let spread = |slope: u64| {
        let line = |i: u64| i128::from(i) * i128::from(slope);
        let misses = || {
            corners
                .iter()
                .map(|&(i, v)| (i128::from(v) << 32) - line(i))
        };
        misses().max().unwrap_or(0) - misses().min().unwrap_or(0)
    };
    let steepest = values.windows(2).map(|w| w[1].saturating_sub(w[0])).max();
    let steepest = u128::from(steepest.unwrap_or(0)) << 32;
    let (mut low, mut high) = (0, u64::try_from(steepest).unwrap_or(u64::MAX));
    while high - low > 2 {
        let third = (high - low) / 3;
        if spread(low + third) <= spread(high - third) {
            high -= third;
        } else {
            low += third;
        }
    }
    (low..=high).min_by_key(|s| spread(*s)).unwrap_or(low)
}

/// The corners of the upper (`side` 1) or lower (`side` -1) convex hull of the points (i, value).
fn hull(values: &[u64], side: i128) -> Vec<(u64, u64)> {
    let mut corners: Vec<(u64, u64)> = Vec::new();
    for (i, &v) in values.iter().enumerate() {
        let point = (i as u64, v);
        while let [.., a, b] = corners.as_slice() {
            let (dx, dy) = (i128::from(b.0 - a.0), i128::from(b.1) - i128::from(a.1));
            let (ex, ey) = (i128::from(point.0 - a.0), i128::from(v) - i128::from(a.1));
            if (dy * ex - ey * dx) * side > 0 {
                break;
            }
            corners.pop();
        }
        corners.push(point);
    }
    corners
}

/// The directory of a table, in memory in its byte form.
#[derive(Debug)]
pub(super) struct Directory {
    blocks: u64,
    ranks: u64,
    entries: u64,
    offsets: Column,
    first_ranks: Column,
}

/// What a directory is built from, and what it counts.
#[derive(Debug, Default)]
pub(super) struct DirectoryBuilder {
    /// Offset of each block in the file, ascending.
    pub offsets: Vec<u64>,
    /// Rank of each block's first key, ascending.
    pub first_ranks: Vec<u64>,
}

impl DirectoryBuilder {
    /// The byte form; `end` is the end of the blocks. `None` if an offset is beyond what the form
    /// can hold (2^57).
    pub fn encode(mut self, end: u64, ranks: u64, entries: u64) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        for number in [self.offsets.len() as u64, ranks, entries, 0] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        self.offsets.push(end);
        self.first_ranks.push(ranks);
        let fits = Column::encode(&self.offsets, &mut bytes)
            && Column::encode(&self.first_ranks, &mut bytes);
        fits.then_some(bytes)
    }
}

impl Directory {
    /// Reads the byte form of the directory of a table whose blocks end at `end`.
    ///
    /// # Errors
    /// Where the form cannot be what it claims. Residuals are not looked at: whoever reads a block
    /// asks [`Directory::extent`], which never leaves the block area.
    pub fn decode(mut bytes: &[u8], end: u64) -> Result<Directory, Damage> {
        let whole = bytes;
        let field = |i: usize| u64::from_le_bytes(word(whole, i * 8));
        if bytes.len() < HEADER_BYTES {
            return Err(Damage::new(
                0,
                "a directory header",
                format!("{} bytes", bytes.len()),
            ));
        }
        let (blocks, ranks, entries) = (field(0), field(1), field(2));
        // A block takes a byte besides its header at the least, since LZ4 may have shrunk it.
        if blocks > end / (STORED_HEADER_BYTES as u64 + 1) || (blocks == 0) != (end == 0) {
            let expected = format!("as many blocks as fit into {end} bytes");
            return Err(Damage::new(0, expected, blocks));
        }
        if ranks > entries || (ranks == 0) != (blocks == 0) || entries < blocks {
            return Err(Damage::new(
                8,
                "at most one key an entry, at least one a block",
                ranks,
            ));
        }
        if entries > blocks.saturating_mul(u64::from(u16::MAX)) {
            return Err(Damage::new(16, "at most 65535 entries a block", entries));
        }
        if field(3) != 0 {
            return Err(Damage::new(24, "zero in a reserved field", field(3)));
        }
        bytes = bytes.get(HEADER_BYTES..).unwrap_or_default();
        let mut at = HEADER_BYTES;
        let offsets = Column::decode(&mut bytes, &mut at, blocks + 1)?;
        let first_ranks = Column::decode(&mut bytes, &mut at, blocks + 1)?;
        if !bytes.is_empty() {
            let found = format!("{} more bytes", bytes.len());
            return Err(Damage::new(at, "the end of the directory", found));
        }
        let directory = Directory {
            blocks,
            ranks,
            entries,
            offsets,
            first_ranks,
        };
        for (column, what, last) in [
            (&directory.offsets, "offsets", end),
            (&directory.first_ranks, "first ranks", ranks),
        ] {
            let found = (column.value(0), column.value(blocks));
            if found != (0, last) {
                let expected = format!("{what} from 0 to {last}");
                let found = format!("{} to {}", found.0, found.1);
                return Err(Damage::new(HEADER_BYTES, expected, found));
            }
        }
        Ok(directory)
    }

    /// How many blocks the table has.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// How many distinct user keys the table has.
    pub fn ranks(&self) -> u64 {
        self.ranks
    }

    /// How many entries the table has.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Offset of a block in the file and its length; `None` if the directory is damaged there or
    /// has no such block. Extents of neighbours meet, because both come from the same number.
    #[inline]
    pub fn extent(&self, block: u64) -> Option<(u64, usize)> {
        if block >= self.blocks {
            return None;
        }
        let (start, end) = (self.offsets.value(block), self.offsets.value(block + 1));
        let inside = start < end && end <= self.offsets.value(self.blocks);
        let len = usize::try_from(end.wrapping_sub(start)).ok()?;
        inside.then_some((start, len))
    }

    /// The rank of a block's first key, or the number of ranks behind the last block.
    #[inline]
    pub fn first_rank(&self, block: u64) -> u64 {
        self.first_ranks.value(block.min(self.blocks))
    }

    /// The block in which to look for the key with this rank: the first one that starts with it, or
    /// else the last one that starts below it. Some block, whatever the directory says.
    pub fn block_of_rank(&self, rank: u64) -> u64 {
        let below = self.blocks_below(rank);
        if below < self.blocks && self.first_rank(below) == rank {
            return below;
        }
        below.saturating_sub(1)
    }

    /// How many blocks start with a rank below `rank`: a guess by the line, then a gallop.
    fn blocks_below(&self, rank: u64) -> u64 {
        let is_below = |block: u64| self.first_rank(block) < rank;
        let guess = self.first_ranks.guess(rank).min(self.blocks);
        let (mut low, mut high, mut step) = (0, self.blocks, 1);
        // Everything before `low` is below the rank, `high` and everything behind it is not.
        if guess < self.blocks && is_below(guess) {
            low = guess + 1;
            while low < high {
                let probe = low.saturating_add(step - 1).min(high - 1);
                if !is_below(probe) {
                    high = probe;
                    break;
                }
                low = probe + 1;
                step = step.saturating_mul(2);
            }
        } else {
            high = guess;
            while low < high {
                let probe = high.saturating_sub(step).max(low);
                if is_below(probe) {
                    low = probe + 1;
                    break;
                }
                high = probe;
                step = step.saturating_mul(2);
            }
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if is_below(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Memory taken, in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Directory>() + self.offsets.residuals.len() + self.first_ranks.residuals.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    fn built(offsets: &[u64], first_ranks: &[u64], end: u64, ranks: u64) -> Vec<u8> {
        let builder = DirectoryBuilder {
            offsets: offsets.to_vec(),
            first_ranks: first_ranks.to_vec(),
        };
        builder.encode(end, ranks, ranks).unwrap()
    }

    #[test]
    fn uniform_blocks_cost_nothing() {
        let offsets: Vec<u64> = (0..1000).map(|i| i * 4096).collect();
        let ranks: Vec<u64> = (0..1000).map(|i| i * 37).collect();
        let bytes = built(&offsets, &ranks, 4_096_000, 37_000);
        assert_eq!(bytes.len(), HEADER_BYTES + 2 * COLUMN_HEADER_BYTES);
        let directory = Directory::decode(&bytes, 4_096_000).unwrap();
        for i in 0..1000 {
            assert_eq!(directory.extent(i), Some((i * 4096, 4096)));
            assert_eq!(directory.block_of_rank(i * 37 + 36), i);
            assert_eq!(directory.block_of_rank(i * 37), i);
        }
        assert_eq!(directory.extent(1000), None);
    }

    #[test]
    fn ragged_blocks_come_back_and_are_found_by_rank() {
        let seed = crate::table::test_seed();
        let mut rng = StdRng::seed_from_u64(seed);
        for _ in 0..300 {
            let blocks = rng.random_range(1..200);
            let (mut offset, mut rank) = (0, 0);
            let (mut offsets, mut ranks) = (Vec::new(), Vec::new());
            for _ in 0..blocks {
                offsets.push(offset);
                ranks.push(rank);
                offset += 33 + (rng.random::<u64>() >> rng.random_range(40..64));
                rank += rng.random::<u64>() >> rng.random_range(57..64);
            }
            rank += 1;
            // A first rank may not be the count itself.
            let builder = DirectoryBuilder {
                offsets: offsets.clone(),
                first_ranks: ranks.clone(),
            };
            let bytes = builder.encode(offset, rank, rank.max(blocks)).unwrap();
            let directory = Directory::decode(&bytes, offset).unwrap();
            offsets.push(offset);
            for i in 0..blocks as usize {
                let len = (offsets[i + 1] - offsets[i]) as usize;
                assert_eq!(
                    directory.extent(i as u64),
                    Some((offsets[i], len)),
                    "seed {seed}"
                );
                assert_eq!(directory.first_rank(i as u64), ranks[i]);
            }
            for probe in 0..rank + 3 {
                let below = ranks.partition_point(|r| *r < probe);
                let expected = match ranks.get(below) {
                    Some(r) if *r == probe => below,
                    _ => below.saturating_sub(1),
                };
                assert_eq!(
                    directory.block_of_rank(probe),
                    expected as u64,
                    "seed {seed}"
                );
            }
        }
    }

    #[test]
    fn hostile_directories_answer_something_inside() {
        let seed = crate::table::test_seed();
        let mut rng = StdRng::seed_from_u64(seed);
        let offsets: Vec<u64> = (0..50).map(|i| i * 4000 + i * i).collect();
        let ranks: Vec<u64> = (0..50).map(|i| i * 30 + i % 7).collect();
        let bytes = built(&offsets, &ranks, 300_000, 2_000);
        let mut decoded = 0;
        for _ in 0..20_000 {
            let mut bytes = bytes.clone();
            for _ in 0..rng.random_range(1..4) {
                let at = rng.random_range(0..bytes.len());
                bytes[at] = rng.random();
            }
            let Ok(directory) = Directory::decode(&bytes, 300_000) else {
                continue;
            };
            decoded += 1;
            for probe in [0, 1, 29, 777, 1999, 2000, u64::MAX, rng.random()] {
                assert!(
                    directory.block_of_rank(probe) < directory.blocks(),
                    "seed {seed}"
                );
                if let Some((start, len)) = directory.extent(probe) {
                    assert!(start + len as u64 <= 300_000, "seed {seed}");
                }
            }
        }
        assert!(decoded > 1000, "only {decoded} mutations were decoded");
    }
}
