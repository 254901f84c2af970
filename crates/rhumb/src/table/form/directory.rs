//! The directory: where each block starts in the file, and which block belongs to a rank or a
//! prediction.
//!
//! Offsets and first ranks of units are computed. For other blocks:
//! if an index answers with windows of ranks, the directory keeps the first rank of each block. If it
//! answers with blocks, as fence pointers do, or if the model placed the blocks, so that the prediction
//! itself gives the block, no ranks are needed (docs/format.md, Directory).
//! First ranks are then kept only if the offsets are derived from them, as they are if every entry
//! takes the same number of bytes.

mod decode;
mod encode;

use super::column::Column;
use super::units::{UnitShape, Units};

pub(in crate::table) use encode::{Arrangement, DirectoryBuilder};

const HEADER_BYTES: usize = 32;
const RANKED: u8 = 0;
const PLACED: u8 = 1;
const STRIDED: u8 = 2;
const UNITS: u8 = 3;
const FENCED: u8 = 4;

/// The size of blocks whose entries have equal sizes: `overhead` bytes, and `stride` for each
/// entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::table) struct Stride {
    pub overhead: u32,
    pub stride: u32,
}

impl Stride {
    /// The offset of a block that follows `blocks` blocks with `entries` entries, unless it
    /// overflows.
    fn offset(self, blocks: u64, entries: u64) -> Option<u64> {
        let overheads = blocks.checked_mul(self.overhead.into())?;
        overheads.checked_add(entries.checked_mul(self.stride.into())?)
    }
}

/// The source of the blocks' offsets.
#[derive(Debug)]
enum Form {
    Ranked {
        offsets: Column,
        first_ranks: Column,
    },
    Placed {
        offsets: Column,
    },
    Fenced {
        offsets: Column,
    },
    Strided {
        stride: Stride,
        first_ranks: Column,
    },
    /// The columns are those of the blocks behind the units.
    Units {
        units: Units,
        offsets: Column,
        first_ranks: Column,
    },
}

/// The directory of a table, in memory in its byte form.
#[derive(Debug)]
pub(in crate::table) struct Directory {
    blocks: u64,
    ranks: u64,
    entries: u64,
    /// The end of the last block.
    end: u64,
    entries_per_cell: u32,
    /// Whether the model gives the block of a key: to tell from the form takes as long as some parts of a get.
    is_placed: bool,
    form: Form,
    /// The number of the last key before each extra block.
    thresholds: Box<[u64]>,
}

/// The place that the model predicts for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::table) struct Prediction {
    pub block: u64,
    /// How far into its cell the prediction is. The block's slot hint is relative to this.
    pub slot: u64,
}

impl Directory {
    /// The number of blocks.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The number of distinct user keys.
    pub fn ranks(&self) -> u64 {
        self.ranks
    }

    /// The number of entries.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Whether the model gives the block of a key: [`Directory::place`].
    #[inline]
    pub fn is_placed(&self) -> bool {
        self.is_placed
    }

    /// The units at the start of the table, if it begins with units.
    pub fn units(&self) -> Option<&Units> {
        match &self.form {
            Form::Units { units, .. } => Some(units),
            _ => None,
        }
    }

    /// What the entries of a block have in common, if it is a unit.
    #[inline]
    pub fn unit_shape(&self, block: u64) -> Option<UnitShape> {
        match &self.form {
            Form::Units { units, .. } => units.shape(block),
            _ => None,
        }
    }

    /// The number of neighbouring predictions that share a cell; 0 if the model placed no block of
    /// the table. Blocks may be without entries only if it is not 0.
    pub fn entries_per_cell(&self) -> u32 {
        self.entries_per_cell
    }

    /// The number of blocks that continue a cell.
    pub fn extra_blocks(&self) -> u64 {
        self.thresholds.len() as u64
    }

    /// Whether all entries of all blocks take the same number of bytes.
    pub fn is_strided(&self) -> bool {
        matches!(self.form, Form::Strided { .. })
    }

    /// The place of a key with this number for which the index predicts the rank `predicted`. The
    /// block always exists, even if the directory is damaged; `None` if blocks are not placed by
    /// predictions.
    #[inline]
    pub fn place(&self, predicted: u64, number: u64) -> Option<Prediction> {
        if !self.is_placed() {
            return None;
        }
        let n = u64::from(self.entries_per_cell.max(1));
        let extra = match self.thresholds.is_empty() {
            true => 0,
            false => self.thresholds.partition_point(|t| *t < number),
        };
        let block = (predicted / n).saturating_add(extra as u64);
        Some(Prediction {
            block: block.min(self.blocks.saturating_sub(1)),
            slot: predicted % n,
        })
    }

    /// The offset of a block in the file and its length; `None` if the directory is damaged there
    /// or has no such block. A block ends where the next one starts, since both come from one
    /// number.
    #[inline]
    pub fn extent(&self, block: u64) -> Option<(u64, usize)> {
        if block >= self.blocks {
            return None;
        }
        let (start, end) = (self.offset(block)?, self.offset(block + 1)?);
        let inside = start < end && end <= self.end;
        let len = usize::try_from(end.wrapping_sub(start)).ok()?;
        inside.then_some((start, len))
    }

    #[inline]
    fn offset(&self, block: u64) -> Option<u64> {
        match &self.form {
            Form::Ranked { offsets, .. } | Form::Placed { offsets } | Form::Fenced { offsets } => {
                Some(offsets.value(block))
            }
            Form::Strided {
                stride,
                first_ranks,
            } => stride.offset(block, first_ranks.value(block)),
            Form::Units { units, offsets, .. } => match units.offset(block) {
                None => Some(offsets.value(block.saturating_sub(units.count()))),
                computed => computed,
            },
        }
    }

    /// The rank of a block's first key, or past the last block the number of ranks; `None` if the
    /// directory does not store ranks.
    #[inline]
    pub fn first_rank(&self, block: u64) -> Option<u64> {
        match &self.form {
            Form::Ranked { first_ranks, .. } | Form::Strided { first_ranks, .. } => {
                Some(first_ranks.value(block.min(self.blocks)))
            }
            Form::Units {
                units, first_ranks, ..
            } => match units.first_rank(block) {
                None => {
                    let behind = block.min(self.blocks).saturating_sub(units.count());
                    Some(first_ranks.value(behind))
                }
                computed => computed,
            },
            Form::Placed { .. } | Form::Fenced { .. } => None,
        }
    }

    /// Whether it leads from ranks to blocks, so that an index may answer with ranks.
    pub fn has_ranks(&self) -> bool {
        !matches!(self.form, Form::Fenced { .. })
    }

    /// The number of user keys that start in a block; an estimate if the directory does not store
    /// ranks.
    pub fn keys_in(&self, block: u64) -> u64 {
        match (self.first_rank(block), self.first_rank(block + 1)) {
            (Some(first), Some(next)) => next.saturating_sub(first),
            _ if self.is_placed() => self.entries_per_cell.into(),
            _ => self.ranks.div_ceil(self.blocks.max(1)),
        }
    }

    /// The block in which to look for the key with this rank: the first one that starts with it, or
    /// else the last one that starts below it. The block always exists, even if the directory is
    /// damaged.
    pub fn block_of_rank(&self, rank: u64) -> u64 {
        let (first_ranks, units) = match &self.form {
            Form::Ranked { first_ranks, .. } | Form::Strided { first_ranks, .. } => {
                (first_ranks, 0)
            }
            Form::Units {
                units, first_ranks, ..
            } => match units.unit_of_rank(rank) {
                Some(unit) => return unit,
                None => (first_ranks, units.count()),
            },
            Form::Placed { .. } => {
                let cell = rank / u64::from(self.entries_per_cell.max(1));
                return cell.min(self.blocks.saturating_sub(1));
            }
            // No index asks: it answers with blocks.
            Form::Fenced { .. } => return 0,
        };
        let blocks = self.blocks.saturating_sub(units);
        (units + first_ranks.count_to(blocks, rank)).saturating_sub(1)
    }

    /// Memory taken, in bytes.
    pub fn bytes(&self) -> usize {
        let columns = match &self.form {
            Form::Ranked {
                offsets,
                first_ranks,
            } => offsets.bytes() + first_ranks.bytes(),
            Form::Placed { offsets } | Form::Fenced { offsets } => offsets.bytes(),
            Form::Strided { first_ranks, .. } => first_ranks.bytes(),
            Form::Units {
                units,
                offsets,
                first_ranks,
            } => units.heap_bytes() + offsets.bytes() + first_ranks.bytes(),
        };
        size_of::<Directory>() + columns + size_of_val(&*self.thresholds)
    }
}
