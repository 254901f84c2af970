//! Indexes that are trained on the keys of tables that are there, one table after another.

use std::fmt::Display;
use std::sync::Arc;

use rhumb_index::{IndexBuilder, IndexError, IndexSpec, KeyMap, registry};

use super::reader::TableReader;
use crate::entry::Cursor;
use crate::error::{Error, Result};

/// After so many entries it is asked whether to go on.
const ASK_AFTER: u64 = 1024;

/// What becomes of a training behind one more table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Learning {
    /// It can go on, or end.
    GoesOn,
    /// The keys do not suit the kind: too many share a number.
    Unfit,
    /// It was not to go on.
    Stopped,
}

/// An index while it is trained on tables whose keys ascend from one to the next.
pub(crate) struct Training {
    builder: Box<dyn IndexBuilder>,
    /// `None` if the index needs no numbers.
    map: Option<Arc<KeyMap>>,
    /// The distinct keys so far, and the last one.
    ranks: u64,
    last: Option<Vec<u8>>,
}

impl Training {
    /// Begins an index of a kind over keys that a map numbers.
    ///
    /// # Errors
    /// If the kind cannot be built so.
    pub fn begin(spec: &IndexSpec, map: Option<Arc<KeyMap>>) -> Result<Training> {
        let mut builder = registry::builder(spec).map_err(refused)?;
        // Whoever wrote the tables checked the order of their keys. Numbers that descend are still refused, and whatever a
        // model of wrong keys says, the entries of the blocks decide. Kinds without numbers have nothing else to tell forged
        // tables by.
        if spec.kind().needs_number {
            builder.trust_order();
        }
        Ok(Training {
            builder,
            map,
            ranks: 0,
            last: None,
        })
    }

    /// The number of distinct keys so far.
    pub fn ranks(&self) -> u64 {
        self.ranks
    }

    /// Adds the keys of a table, and tells of each block that has entries the rank of its first key. `go_on` is asked from time to time.
    ///
    /// # Errors
    /// If the table cannot be read or is damaged. Then there is no index.
    pub fn take(
        &mut self,
        table: &Arc<TableReader>,
        go_on: &mut dyn FnMut() -> bool,
        begins: &mut dyn FnMut(u64, u64),
    ) -> Result<Learning> {
        let mut cursor = table.cursor(false);
        cursor.seek_first()?;
        let (mut last_block, mut entries) = (None, 0);
        while let Some(block) = cursor.block().filter(|_| cursor.valid()) {
            if entries % ASK_AFTER == 0 {
                if !go_on() {
                    return Ok(Learning::Stopped);
                }
                if self.builder.is_unfit() {
                    return Ok(Learning::Unfit);
                }
            }
            entries += 1;
            let is_cut = last_block.replace(block) != Some(block);
            match self.add(cursor.key(), is_cut) {
                Err(IndexError::Unfit { .. }) => return Ok(Learning::Unfit),
                added => added.map_err(|error| of_table(table, error))?,
            }
            if is_cut {
                begins(block, self.ranks - 1);
            }
            cursor.next()?;
        }
        Ok(match self.builder.is_unfit() {
            true => Learning::Unfit,
            false => Learning::GoesOn,
        })
    }

    /// Adds a key, unless it is the last one once more. It may be the first one of a block.
    fn add(&mut self, key: &[u8], is_cut: bool) -> Result<(), IndexError> {
        if let Some(last) = self.last.as_ref().filter(|_| is_cut) {
            self.builder.cut(last, key);
        }
        if self.last.as_ref().is_none_or(|last| last != key) {
            let number = self.map.as_ref().map_or(0, |map| map.number(key));
            self.builder.push(key, number)?;
            self.ranks += 1;
            let last = self.last.get_or_insert_default();
            last.clear();
            last.extend_from_slice(key);
        }
        Ok(())
    }

    /// The byte form of the index; `None` if the keys do not suit the kind, which the last ones may decide.
    ///
    /// # Errors
    /// If it cannot be built.
    pub fn end(self) -> Result<Option<Vec<u8>>> {
        match self.builder.finish() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(IndexError::Unfit { .. }) => Ok(None),
            Err(error) => Err(refused(error)),
        }
    }
}

/// That no index of a table can be trained.
pub(super) fn of_table(table: &TableReader, why: impl Display) -> Error {
    refused(format!("{why}, in {}", table.path().display()))
}

pub(super) fn refused(why: impl Display) -> Error {
    Error::InvalidArgument(format!("no model can be learned: {why}"))
}
