//! Decodes and checks the byte form of a directory.

use std::ops::RangeInclusive;

use super::{Directory, FENCED, Form, HEADER_BYTES, PLACED, RANKED, STRIDED, Stride, UNITS};
use crate::table::form::bits::word;
use crate::table::form::column::Column;
use crate::table::form::damage::Damage;
use crate::table::form::stored::STORED_HEADER_BYTES;
use crate::table::form::units::{UNIT_CHECKSUM_BYTES, Units};

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
