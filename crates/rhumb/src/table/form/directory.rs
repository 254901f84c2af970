//! The directory: where each block starts in the file, and which block belongs to a rank or a
//! prediction.
//!
//! Offsets and first ranks of units are computed. For other blocks:
//! if an index answers with windows of ranks, the directory keeps the first rank of each block. If it
//! answers with blocks, as fence pointers do, or if the model placed the blocks, so that the prediction
//! itself gives the block, no ranks are needed (docs/format.md, Directory).
//! First ranks are then kept only if the offsets are derived from them, as they are if every entry
//! takes the same number of bytes.

use std::ops::RangeInclusive;

use super::bits::word;
use super::column::Column;
use super::damage::Damage;
use super::stored::STORED_HEADER_BYTES;
use super::units::{UNIT_CHECKSUM_BYTES, UnitShape, Units};

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

/// How the blocks of a table are found.
#[derive(Debug, Clone, Copy)]
pub(in crate::table) enum Arrangement<'a> {
    /// By ranks. `entries_per_cell` is that of the cells that the model placed
    /// before it was given up; 0 if there are none.
    Ranked { entries_per_cell: u32 },
    /// By an index that answers with blocks; `entries_per_cell` as above.
    Fenced { entries_per_cell: u32 },
    /// As ranked; the first blocks are units.
    Units(&'a Units),
    /// By the model's prediction.
    Placed {
        entries_per_cell: u32,
        /// The number of the last key before each extra block.
        thresholds: &'a [u64],
        /// The size of entries, if it is equal in all blocks.
        stride: Option<Stride>,
    },
}

/// The input of a directory.
#[derive(Debug, Default)]
pub(in crate::table) struct DirectoryBuilder {
    /// The offset of each block in the file, ascending.
    pub offsets: Vec<u64>,
    /// The rank of each block's first key, ascending.
    pub first_ranks: Vec<u64>,
}

impl DirectoryBuilder {
    /// The number of blocks; only before [`DirectoryBuilder::close`].
    pub fn blocks(&self) -> u64 {
        self.offsets.len() as u64
    }

    /// Completes the columns with the end of the blocks and the number of ranks.
    pub fn close(&mut self, end: u64, ranks: u64) {
        self.offsets.push(end);
        self.first_ranks.push(ranks);
    }

    /// The byte form, after [`DirectoryBuilder::close`]; `None` if an offset exceeds what the form
    /// can hold (2^57).
    pub fn encode(&self, entries: u64, arrangement: Arrangement<'_>) -> Option<Vec<u8>> {
        let (n, form, thresholds) = match arrangement {
            Arrangement::Ranked { entries_per_cell } => (entries_per_cell, RANKED, None),
            Arrangement::Fenced { entries_per_cell } => (entries_per_cell, FENCED, None),
            Arrangement::Units(units) => (units.entries_per_unit(), UNITS, None),
            Arrangement::Placed {
                entries_per_cell,
                thresholds,
                stride,
            } => {
                let form = if stride.is_some() { STRIDED } else { PLACED };
                (entries_per_cell, form, Some((thresholds, stride)))
            }
        };
        let (blocks, ranks) = (self.offsets.len() as u64 - 1, *self.first_ranks.last()?);
        let mut bytes = Vec::new();
        for number in [blocks, ranks, entries] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&n.to_le_bytes());
        bytes.extend_from_slice(&[form, 0, 0, 0]);
        let Some((thresholds, stride)) = thresholds else {
            let mut behind = 0;
            if let Arrangement::Units(units) = arrangement {
                units.encode(&mut bytes);
                behind = usize::try_from(units.count()).ok()?;
            }
            let fits = Column::encode(self.offsets.get(behind..)?, &mut bytes)
                && (form == FENCED || Column::encode(self.first_ranks.get(behind..)?, &mut bytes));
            return fits.then_some(bytes);
        };
        bytes.extend_from_slice(&(thresholds.len() as u64).to_le_bytes());
        thresholds
            .iter()
            .for_each(|t| bytes.extend_from_slice(&t.to_le_bytes()));
        let fits = match stride {
            None => Column::encode(&self.offsets, &mut bytes),
            Some(Stride { overhead, stride }) => {
                bytes.extend_from_slice(&overhead.to_le_bytes());
                bytes.extend_from_slice(&stride.to_le_bytes());
                Column::encode(&self.first_ranks, &mut bytes)
            }
        };
        fits.then_some(bytes)
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
    /// Decodes the directory of a table whose blocks end at `end`.
    ///
    /// # Errors
    /// If the bytes cannot be such a directory. Residuals are not checked: readers of blocks call
    /// [`Directory::extent`], whose answers never leave the block area.
    pub fn decode(bytes: &[u8], end: u64) -> Result<Directory, Damage> {
        let field = |i: usize| u64::from_le_bytes(word(bytes, i * 8));
        let Some(mut rest) = bytes.get(HEADER_BYTES..) else {
            let found = format!("{} bytes", bytes.len());
            return Err(Damage::new(0, "a directory header", found));
        };
        let (blocks, ranks, entries) = (field(0), field(1), field(2));
        let entries_per_cell = u32::from_le_bytes(word(bytes, 24));
        let [form, reserved @ ..] = word::<4>(bytes, 28);
        if form > FENCED {
            return Err(Damage::unsupported(format!("directories of form {form}")));
        }
        let (cells, least) = match form {
            UNITS => (0, UNIT_CHECKSUM_BYTES + 1),
            // A stored block has at least one byte besides its header, since LZ4 may have compressed it.
            _ => (entries_per_cell, STORED_HEADER_BYTES + 1),
        };
        check_counts([blocks, ranks, entries], cells, (end, least))?;
        if reserved != [0; 3] {
            return Err(Damage::new(29, "zero in a reserved field", "other values"));
        }
        let mut at = HEADER_BYTES;
        let mut thresholds = Box::default();
        if form == PLACED || form == STRIDED {
            if entries_per_cell == 0 {
                return Err(Damage::new(24, "at least one entry a cell", 0));
            }
            thresholds = take_thresholds(&mut rest, &mut at, blocks)?;
        }
        let column = |rest: &mut &[u8], at: &mut usize, what, last| {
            take_column((rest, at), blocks, what, (0..=0, last))
        };
        let form = match form {
            RANKED => Form::Ranked {
                offsets: column(&mut rest, &mut at, "offsets", end)?,
                first_ranks: column(&mut rest, &mut at, "first ranks", ranks)?,
            },
            PLACED => Form::Placed {
                offsets: column(&mut rest, &mut at, "offsets", end)?,
            },
            FENCED => Form::Fenced {
                offsets: column(&mut rest, &mut at, "offsets", end)?,
            },
            UNITS => {
                let units = Units::decode(&mut rest, &mut at, entries_per_cell, (blocks, end))?;
                take_units(units, (&mut rest, &mut at), [blocks, ranks, entries, end])?
            }
            _ => Form::Strided {
                stride: take_stride(&mut rest, &mut at, [blocks, ranks, entries, end])?,
                first_ranks: column(&mut rest, &mut at, "first ranks", ranks)?,
            },
        };
        if !rest.is_empty() {
            let found = format!("{} more bytes", rest.len());
            return Err(Damage::new(at, "the end of the directory", found));
        }
        Ok(Directory {
            blocks,
            ranks,
            entries,
            end,
            entries_per_cell: cells,
            is_placed: matches!(form, Form::Placed { .. } | Form::Strided { .. }),
            form,
            thresholds,
        })
    }

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

/// Checks the counts of blocks, ranks and entries against each other and against the block area, which
/// ends at `end`; a block takes `least` bytes or more.
fn check_counts(
    counts: [u64; 3],
    entries_per_cell: u32,
    (end, least): (u64, usize),
) -> Result<(), Damage> {
    let [blocks, ranks, entries] = counts;
    if blocks > end / least as u64 || (blocks == 0) != (end == 0) {
        let expected = format!("as many blocks as fit into {end} bytes");
        return Err(Damage::new(0, expected, blocks));
    }
    let enough = entries >= blocks || entries_per_cell > 0;
    if ranks > entries || (ranks == 0) != (blocks == 0) || !enough {
        let expected = "at most one key an entry, at least one a block";
        return Err(Damage::new(8, expected, ranks));
    }
    if entries > blocks.saturating_mul(u64::from(u16::MAX)) {
        return Err(Damage::new(16, "at most 65535 entries a block", entries));
    }
    Ok(())
}

/// Takes a column of `blocks` + 1 values off the front of bytes at a place. It must begin with one of
/// the first values, and end with the last.
fn take_column(
    (bytes, at): (&mut &[u8], &mut usize),
    blocks: u64,
    what: &str,
    (first, last): (RangeInclusive<u64>, u64),
) -> Result<Column, Damage> {
    let start = *at;
    let column = Column::decode(bytes, at, blocks + 1)?;
    let found = (column.value(0), column.value(blocks));
    if first.contains(&found.0) && found.1 == last {
        return Ok(column);
    }
    let found = format!("{} to {}", found.0, found.1);
    let expected = format!("{what} from {} to {last}", first.end());
    Err(Damage::new(start, expected, found))
}

/// Takes what follows `units` off the front of bytes at a place.
fn take_units(
    units: Units,
    (bytes, at): (&mut &[u8], &mut usize),
    counts: [u64; 4],
) -> Result<Form, Damage> {
    let [blocks, ranks, entries, end] = counts;
    let behind = blocks - units.count();
    let in_units = units.ranks();
    if in_units > ranks || (behind == 0 && (in_units, in_units) != (ranks, entries)) {
        let expected = format!("units of at most {ranks} keys, of all if no blocks follow");
        return Err(Damage::new(*at, expected, in_units));
    }
    let after = units.end()..=units.end();
    let offsets = take_column((bytes, at), behind, "offsets", (after, end))?;
    // The first block behind the units may go on with the key of the last unit.
    let first = in_units - u64::from(behind > 0)..=in_units;
    let first_ranks = take_column((bytes, at), behind, "first ranks", (first, ranks))?;
    Ok(Form::Units {
        units,
        offsets,
        first_ranks,
    })
}

/// Takes the thresholds off the front of `bytes`; `at` is where they are.
fn take_thresholds(bytes: &mut &[u8], at: &mut usize, blocks: u64) -> Result<Box<[u64]>, Damage> {
    let count = u64::from_le_bytes(word(bytes, 0));
    let len = usize::try_from(count).ok().filter(|_| count <= blocks);
    let len = len.and_then(|n| n.checked_mul(8)?.checked_add(8));
    let Some((own, rest)) = len.and_then(|len| bytes.split_at_checked(len)) else {
        let expected = format!("thresholds of at most {blocks} extra blocks");
        return Err(Damage::new(*at, expected, count));
    };
    let numbers = own.get(8..).unwrap_or_default().chunks_exact(8);
    let thresholds: Box<[u64]> = numbers.map(|n| u64::from_le_bytes(word(n, 0))).collect();
    if !thresholds.is_sorted() {
        return Err(Damage::new(
            *at + 8,
            "thresholds that ascend",
            "others that do not",
        ));
    }
    *at += own.len();
    *bytes = rest;
    Ok(thresholds)
}

/// Takes overhead and stride off the front of `bytes`; `at` is where they are.
fn take_stride(bytes: &mut &[u8], at: &mut usize, counts: [u64; 4]) -> Result<Stride, Damage> {
    let [blocks, ranks, entries, end] = counts;
    let Some((own, rest)) = bytes.split_at_checked(8) else {
        let found = format!("{} bytes", bytes.len());
        return Err(Damage::new(*at, "overhead and stride", found));
    };
    let stride = Stride {
        overhead: u32::from_le_bytes(word(own, 0)),
        stride: u32::from_le_bytes(word(own, 4)),
    };
    if ranks != entries || stride.offset(blocks, ranks) != Some(end) {
        let expected = format!("{blocks} blocks of {ranks} equal entries that end at {end}");
        return Err(Damage::new(*at, expected, format!("{stride:?}")));
    }
    *at += own.len();
    *bytes = rest;
    Ok(stride)
}
