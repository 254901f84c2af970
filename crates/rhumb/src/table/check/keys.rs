//! The key map of a table that was written without one.

use std::sync::Arc;

use rhumb_index::{KeyMap, KeyMapBuilder};

use crate::entry::{Cursor, LARGEST_KEY};
use crate::error::Result;
use crate::table::read::reader::TableReader;

impl TableReader {
    /// A key map of the table's keys, all of which are read. Merges need one even if the table's index needs no
    /// numbers.
    ///
    /// # Errors
    /// If a block cannot be read or is damaged.
    pub fn map_of_keys(self: &Arc<Self>) -> Result<KeyMap> {
        let mut map = KeyMapBuilder::new();
        let mut cursor = self.cursor(false);
        cursor.seek_first()?;
        while cursor.valid() {
            // The end of a range delete without an end would make the map coarser.
            if cursor.key() != LARGEST_KEY {
                map.push(cursor.key());
            }
            cursor.next()?;
        }
        Ok(map.build())
    }
}
