//! Stored blocks and units become raw forms with a layout.

use std::borrow::Cow;
use std::path::Path;

use crate::error::Result;
use crate::table::block::BlockLayout;
use crate::table::form::damage::Damage;
use crate::table::form::directory::Directory;
use crate::table::form::stored::{STORED_HEADER_BYTES, load, load_unit};
use crate::table::form::units::UNIT_CHECKSUM_BYTES;

/// What it takes to verify the blocks of a table.
#[derive(Debug, Clone, Copy)]
pub(in crate::table) struct Verifier<'t> {
    pub path: &'t Path,
    pub directory: &'t Directory,
    pub table_id: u64,
    /// The largest raw block, in bytes.
    pub raw_largest: u64,
    /// Whether the table has value references, and so may have pointers.
    pub with_pointers: bool,
    /// Whether blocks may have fence keys.
    pub with_fence_keys: bool,
}

/// A verified block. The order of its entries is not checked.
#[derive(Debug)]
pub(in crate::table) struct Verified<'b> {
    /// Its raw form.
    pub raw: Cow<'b, [u8]>,
    pub layout: BlockLayout,
    /// Where the raw form starts in the stored block, if it is borrowed from there.
    pub start: usize,
}

impl Verifier<'_> {
    /// Verifies a block that was read from `offset`.
    ///
    /// # Errors
    /// If it is damaged, or of a form that this build does not read.
    pub fn open<'b>(&self, number: u64, offset: u64, stored: &'b [u8]) -> Result<Verified<'b>> {
        let in_file = |damage: Damage| damage.in_file(self.path, offset);
        if let Some(shape) = self.directory.unit_shape(number) {
            let entries = load_unit(stored, shape, self.table_id, offset).map_err(in_file)?;
            return Ok(Verified {
                raw: Cow::Borrowed(entries),
                layout: BlockLayout::of_unit(shape, entries.len()),
                start: UNIT_CHECKSUM_BYTES,
            });
        }
        let raw = load(stored, self.table_id, offset, self.raw_largest).map_err(in_file)?;
        let layout = BlockLayout::parse(&raw).and_then(|layout| {
            layout.check(&raw)?;
            if layout.has_pointers(&raw) && !self.with_pointers {
                let expected = "no pointers in a table without value references";
                return Err(Damage::new(6, expected, "some"));
            }
            if layout.has_fence_keys && !self.with_fence_keys {
                let expected = "no fence keys in a table without the section";
                return Err(Damage::new(6, expected, "some"));
            }
            Ok(layout)
        });
        let layout = layout.map_err(|d| d.in_block(self.path, offset))?;
        Ok(Verified {
            raw,
            layout,
            start: STORED_HEADER_BYTES,
        })
    }
}
