//! Ascending numbers in little memory: a line, and residuals, the differences from it.
//!
//! Offsets and first ranks of blocks lie nearly on a straight line. The residuals are packed into
//! as many bits as the largest one needs; numbers in equal steps need none.

use super::bits::{pack, packed_bytes, unpack, width_of, word};
use super::damage::Damage;

/// The bytes of a column besides its residuals.
pub(in crate::table) const COLUMN_HEADER_BYTES: usize = 24;
/// Bytes after the residuals, so that each can be read as one 8-byte word.
const PADDING_BYTES: usize = 8;
/// A residual and its bit offset fit into one 8-byte word.
const MAX_WIDTH: u32 = 57;

/// Ascending numbers as a line and bit-packed residuals.
#[derive(Debug)]
pub(in crate::table) struct Column {
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
    pub fn encode(values: &[u64], into: &mut Vec<u8>) -> bool {
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

    /// A column of ascending `values`; `None` if the residuals do not fit their width.
    pub fn of(values: &[u64]) -> Option<Column> {
        let mut bytes = Vec::new();
        let fits = Column::encode(values, &mut bytes);
        let column = Column::decode(&mut &*bytes, &mut 0, values.len() as u64);
        column.ok().filter(|_| fits)
    }

    /// Decodes a column of `count` values from the front of `bytes`, and advances `at`, its offset.
    ///
    /// # Errors
    /// If there is no such column. The residuals are not checked.
    pub fn decode(bytes: &mut &[u8], at: &mut usize, count: u64) -> Result<Column, Damage> {
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
    pub fn value(&self, i: u64) -> u64 {
        let residual = unpack(&self.residuals, i, self.width);
        let value = Column::line(self.base, self.slope, i).wrapping_add(i128::from(residual));
        u64::try_from(value.max(0)).unwrap_or(u64::MAX)
    }

    /// The memory of the residuals, in bytes.
    pub fn bytes(&self) -> usize {
        self.residuals.len()
    }

    /// The approximate index of `value`, by the inverse of the line.
    #[inline]
    pub fn guess(&self, value: u64) -> u64 {
        let above = u128::try_from(i128::from(value) - i128::from(self.base)).unwrap_or(0);
        let i = (above << 32).checked_div(u128::from(self.slope));
        u64::try_from(i.unwrap_or(0)).unwrap_or(u64::MAX)
    }

    /// How many of the first `count` values, which ascend, are below `value`, and one more if the next one is `value` itself. Of blocks
    /// and the ranks that they begin with, the block before so many is the first one that begins with a rank, or else the last one that
    /// begins below it.
    pub fn count_to(&self, count: u64, value: u64) -> u64 {
        let below = self.count_below(count, value);
        below + u64::from(below < count && self.value(below) == value)
    }

    /// How many of the first `count` values, which ascend, are below `value`: a guess by the line, then a galloping search.
    fn count_below(&self, count: u64, value: u64) -> u64 {
        let is_below = |i: u64| self.value(i) < value;
        let guess = self.guess(value).min(count);
        let (mut low, mut high, mut step) = (0, count, 1);
        // Everything before `low` is below the value; `high` and everything after it is not.
        if guess < count && is_below(guess) {
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
            match is_below(middle) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }
}

/// The slope, with 32 fraction bits, that gives the narrowest residuals. Their spread is a convex
/// function of the slope, so ternary search finds its minimum. Only the corners of the convex hull
/// can be extreme, and there are few.
fn best_slope(values: &[u64]) -> u64 {
    let mut corners = hull(values, 1);
    corners.extend(hull(values, -1));
    // Computed with all 32 fraction bits: rounded spreads have plateaus, where ternary search
    // fails.
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
