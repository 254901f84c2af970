//! The byte form of a directory, from what a table's writer knows of its blocks.

use super::{FENCED, PLACED, RANKED, STRIDED, Stride, UNITS};
use crate::table::form::column::Column;
use crate::table::form::units::Units;

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
