//! What finds keys in a table: its own index, or a model over several neighbouring tables.

use std::sync::Arc;

use rhumb_index::{Index, KeyMap, Window};

use super::reader::TableReader;
use super::trace::NumberCache;
use crate::error::Result;

/// An index, and the key map that numbers its keys.
#[derive(Debug)]
pub(crate) struct Model {
    pub index: Box<dyn Index>,
    /// `None` if the index needs no numbers.
    pub map: Option<KeyMap>,
    pub map_number: u64,
}

impl Model {
    /// The number of a key; 0 if the index needs no numbers.
    #[inline]
    pub fn number_of(&self, key: &[u8]) -> u64 {
        self.map.as_ref().map_or(0, |map| map.number(key))
    }

    /// Whether the index needs numbers, as [`Index::needs_number`] says: without a call through its table.
    #[inline]
    pub fn needs_number(&self) -> bool {
        self.map.is_some()
    }

    /// The number of a key, which is mapped once for all tables with the same map; 0 if the index needs no numbers.
    #[inline]
    pub fn number_by(&self, key: &[u8], numbers: &mut NumberCache) -> u64 {
        let number = |map: &KeyMap| numbers.number(self.map_number, || map.number(key));
        self.map.as_ref().map_or(0, number)
    }

    /// The bytes in memory of the key map.
    pub fn map_bytes(&self) -> usize {
        self.map.as_ref().map_or(0, KeyMap::size_in_bytes)
    }
}

/// A model over neighbouring tables, as one of them sees it. Tables never change, so it stays right as long as it is kept,
/// whatever happens to their neighbours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SliceRef<'a> {
    pub model: &'a Arc<Model>,
    /// The ranks of all tables before this one, and their blocks.
    pub first_rank: u64,
    pub first_block: u64,
}

/// The same, for who keeps it.
#[derive(Debug)]
pub(in crate::table) struct Slice {
    model: Arc<Model>,
    first_rank: u64,
    first_block: u64,
}

impl SliceRef<'_> {
    pub(in crate::table) fn keep(self) -> Slice {
        Slice {
            model: Arc::clone(self.model),
            first_rank: self.first_rank,
            first_block: self.first_block,
        }
    }
}

impl Slice {
    pub fn as_ref(&self) -> SliceRef<'_> {
        SliceRef {
            model: &self.model,
            first_rank: self.first_rank,
            first_block: self.first_block,
        }
    }
}

/// What finds keys in a table.
#[derive(Debug, Clone, Copy)]
pub(in crate::table) struct Finder<'a> {
    pub model: &'a Model,
    pub first_rank: u64,
    pub first_block: u64,
}

impl TableReader {
    /// What finds keys: the table's slice of a model, if there is one, or else its own index.
    ///
    /// # Errors
    /// If its own index is not in memory yet, and cannot be read.
    #[inline]
    pub(in crate::table) fn finder<'a>(
        &'a self,
        slice: Option<SliceRef<'a>>,
    ) -> Result<Finder<'a>> {
        Ok(match slice {
            None => Finder {
                model: self.own()?,
                first_rank: 0,
                first_block: 0,
            },
            Some(slice) => Finder {
                model: slice.model,
                first_rank: slice.first_rank,
                first_block: slice.first_block,
            },
        })
    }

    /// Its own index.
    ///
    /// # Errors
    /// If it is not in memory yet, and cannot be read.
    #[inline]
    pub(in crate::table) fn own(&self) -> Result<&Model> {
        self.own.get_or_open(|| self.read_own())
    }
}

impl Finder<'_> {
    /// A window in ranks of the table, where those past its end count as its last one.
    #[inline]
    pub fn own_ranks(&self, window: Window) -> Window {
        Window {
            lo: window.lo.saturating_sub(self.first_rank),
            hi: window.hi.saturating_sub(self.first_rank),
        }
    }
}
