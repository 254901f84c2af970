//! A model for each block of a table, found by the last number of the block: shared by `pla` and `pra`, the models of DobLIX
//! (Heidari et al., section III-C).
//!
//! A number belongs to the first block whose last number is not below it, and to the last block if there is none. So a present
//! key is found in the block where its first entry is, even if its versions continue in the next one; an absent key's lower bound
//! is in its block or is the first entry of the next one with keys of its own, since all numbers in the block before are below its
//! own. Keys that share a number must share a block: otherwise the kind is unfit.
//!
//! A radix table over the last numbers, with the published 18 bits at most and about half a cell to one a block, leads to a few
//! blocks. Then one line tells the slot: between the last points of two blocks ([`Line::Between`]), or a line of the block's own
//! ([`Line::Own`]). Slots are estimates. The writer of blocks measures how wrong they are, with the arithmetic of look-ups, which
//! is [`Line::slot`].
//!
//! Building takes constant time a key and memory for the numbers of one block; a look-up reads two cells, searches O(log B) last
//! numbers in the worst case, and evaluates one line.

mod builder;
mod reader;

pub(in crate::kinds) use builder::{BlocksBuilder, Fit};
pub(in crate::kinds) use reader::Blocks;

use crate::kind::HEADER;

/// Where the columns start.
const COLUMNS_AT: usize = HEADER + 28;

/// Bytes of a line that a block has for itself.
const OWN_LINE: usize = 6;

/// How many units of the offset of such a line are a slot: a line through `keys` keys may be about half as many slots off its last
/// key, and the offset has two bytes.
fn offset_unit(keys: usize) -> f64 {
    if keys > 1024 { 1.0 } else { 64.0 }
}

/// The most bits of the radix table.
const MOST_BITS: u32 = 18;

/// A line through a block of `keys` keys, the last of which has the number `last`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BlockLine {
    pub last: u64,
    pub keys: u16,
    pub line: Line,
}

/// The line from numbers to slots.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Line {
    /// From a number, at the slot before the first or at the first, to the last number at the last slot.
    Between { from: u64, from_first: bool },
    /// Through the last number at the last slot and so many units ([`offset_unit`]) above it, with this slope.
    Own { slope: f32, offset: i16 },
}

impl BlockLine {
    /// The slot of a number: at least 0, and below the number of keys if there are any.
    ///
    /// Monotone in the number, since every step is; a slope of NaN or below 0 counts as 0.
    #[inline(always)]
    pub fn slot(&self, number: u64) -> u64 {
        self.slots()(number)
    }

    /// The slots of numbers; see [`BlockLine::slot`].
    #[inline(always)]
    pub fn slots(&self) -> impl Fn(u64) -> u64 + use<> {
        let BlockLine { last, keys, line } = *self;
        let most = f64::from(keys.saturating_sub(1));
        let (from, span, slope, start) = match line {
            Line::Between { from, from_first } => {
                let span = last.saturating_sub(from);
                let start = f64::from(u8::from(!from_first));
                (from, span, (most + start) / span.max(1) as f64, -start)
            }
            Line::Own { slope, offset } => {
                let end = most + f64::from(offset) / offset_unit(keys.into());
                (0, last, f64::from(slope.max(0.0)), end)
            }
        };
        let is_own = matches!(line, Line::Own { .. });
        move |number| {
            let slot = match is_own {
                false => slope * number.saturating_sub(from).min(span) as f64 + start,
                true => start - slope * span.saturating_sub(number) as f64,
            };
            (slot.max(0.0).min(most) + 0.5) as u64
        }
    }
}
