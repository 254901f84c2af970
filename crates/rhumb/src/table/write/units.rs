//! Cuts entries of one size into units, as long as they have one size (docs/format.md, Unit).

use super::blocks::BlockWriter;
use crate::entry::{EntryKind, Sequence};
use crate::error::Result;
use crate::table::LARGE_ENTRY_BYTES;
use crate::table::block::NewEntry;
use crate::table::form::units::{LARGEST_UNIT_BYTES, UnitShape, Units};

impl BlockWriter {
    /// Adds an entry to the open unit, or to a new one if it has `entries` entries. Returns whether the
    /// entry fits: if not, it was not added, and neither it nor a later entry may go into a unit.
    ///
    /// # Errors
    /// As [`BlockWriter::push`].
    pub fn push_into_unit(&mut self, entry: &NewEntry<'_>, entries: u32) -> Result<bool> {
        let own = shape_of(entry);
        let open = self.unit.or(own).unwrap_or(NONE);
        let joined = own.filter(|own| (own.key, own.value) == (open.key, open.value));
        let joined = joined.filter(|_| entry.new_key);
        let joined = joined.map(|own| UnitShape {
            width: own.width.max(open.width),
            ..open
        });
        let fits = |shape: &UnitShape| shape.unit_bytes(entries) <= LARGEST_UNIT_BYTES;
        let Some(shape) = joined.filter(fits) else {
            self.close(None)?;
            self.unit = None;
            return Ok(false);
        };
        if shape.width > open.width || self.open().count() >= entries as usize {
            self.close(None)?;
        }
        self.units.get_or_insert_with(|| Units::new(entries, shape));
        self.unit = Some(shape);
        self.push(entry, usize::MAX)?;
        Ok(true)
    }
}

const NONE: UnitShape = UnitShape {
    key: 0,
    value: 0,
    width: 0,
};

/// The shape of a unit with this entry alone; `None` if no unit may hold it.
fn shape_of(entry: &NewEntry<'_>) -> Option<UnitShape> {
    let (key, value) = (entry.key.len(), entry.value.len());
    let fits = entry.kind == EntryKind::Put && key > 0 && key + value <= LARGE_ENTRY_BYTES;
    fits.then_some(UnitShape {
        key: key as u32,
        value: value as u32,
        width: sequence_bytes(entry.sequence),
    })
}

/// The bytes that a sequence needs; 0 for the sequence 0.
fn sequence_bytes(sequence: Sequence) -> u8 {
    (u64::BITS - sequence.leading_zeros()).div_ceil(8) as u8
}
