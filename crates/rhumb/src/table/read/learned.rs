//! A model of a table that is learned after the table was written, beside its own index (Bourbon, OSDI 2020, section 4).
//!
//! It lies in memory only. As any index it tells where to look first: whatever it answers, the entries of the blocks decide.

use std::sync::Arc;

use rhumb_index::{Index, IndexBuilder, IndexError, IndexSpec, KeyMap, registry};

use super::model::SliceRef;
use super::reader::TableReader;
use super::search::Expected;
use super::trace::NumberCache;
use crate::entry::Cursor;
use crate::error::{Error, Result};
use crate::table::form::column::Column;

/// Greedy PLR whose windows hold the rank that is predicted and 8 on either side, as Bourbon's do.
const SPECIFICATION: &str = "plr:boundary=18";

/// After so many entries it is asked whether to go on.
const ASK_AFTER: u64 = 1024;

/// How learning a table ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Learning {
    /// It has a model, which takes so many bytes.
    Done { bytes: u64 },
    /// Its own index is a model.
    Needless,
    /// Too many of its keys share a number.
    Unfit,
    /// It was not to go on.
    Stopped,
}

/// A model of the ranks of a table's keys, and where its blocks begin among them.
#[derive(Debug)]
pub(in crate::table) struct Learned {
    index: Box<dyn Index>,
    /// The map that numbers the keys; the keyspace knows it by its number.
    map: (u64, Arc<KeyMap>),
    /// The rank of each block's first key, then the number of ranks. The directory of a table with fences has none.
    first_ranks: Column,
    blocks: u64,
}

impl Learned {
    /// Where the model expects a key.
    #[inline]
    pub(super) fn expected(&self, key: &[u8], numbers: &mut NumberCache) -> Expected {
        let (map_number, map) = &self.map;
        let number = numbers.number(*map_number, || map.number(key));
        let window = self.index.window(number);
        let block_of = |rank| {
            self.first_ranks
                .count_to(self.blocks, rank)
                .saturating_sub(1)
        };
        let first_rank = |block| Some(self.first_ranks.value(block));
        Expected::in_window(window, window.len(), block_of, first_rank)
    }

    /// The memory that it takes, in bytes, without the map, which the keyspace keeps anyway.
    fn bytes(&self) -> usize {
        size_of::<Learned>() + self.index.size_in_bytes() + self.first_ranks.bytes()
    }
}

/// A model while a table is gone over.
struct Training {
    builder: Box<dyn IndexBuilder>,
    first_ranks: Vec<u64>,
    ranks: u64,
    last_key: Vec<u8>,
}

impl Training {
    fn begin() -> Result<Training, IndexError> {
        let specification: IndexSpec = SPECIFICATION.parse()?;
        let mut builder = registry::builder(&specification)?;
        // Whoever wrote the table checked the order of its keys. Here numbers that descend are still refused, and whatever a
        // model of wrong keys says, the entries of the blocks decide.
        builder.trust_order();
        Ok(Training {
            builder,
            first_ranks: Vec::new(),
            ranks: 0,
            last_key: Vec::new(),
        })
    }

    /// Adds an entry in a block, whose key has a number.
    fn add(&mut self, key: &[u8], number: u64, block: u64) -> Result<(), IndexError> {
        if self.ranks == 0 || self.last_key != key {
            self.builder.push(key, number)?;
            self.ranks += 1;
            self.last_key.clear();
            self.last_key.extend_from_slice(key);
        }
        // Blocks without entries, which a given-up placement may leave, begin with the next key.
        while self.first_ranks.len() as u64 <= block {
            self.first_ranks.push(self.ranks - 1);
        }
        Ok(())
    }

    /// The model of a table with so many blocks; `None` if their ranks have no byte form.
    fn end(mut self, map: (u64, Arc<KeyMap>), blocks: u64) -> Result<Option<Learned>, IndexError> {
        while self.first_ranks.len() as u64 <= blocks {
            self.first_ranks.push(self.ranks);
        }
        let mut bytes = Vec::new();
        let fits = Column::encode(&self.first_ranks, &mut bytes);
        let first_ranks = Column::decode(&mut &*bytes, &mut 0, blocks + 1);
        let Some(first_ranks) = first_ranks.ok().filter(|_| fits) else {
            return Ok(None);
        };
        Ok(Some(Learned {
            index: registry::open(self.builder.finish()?)?,
            map,
            first_ranks,
            blocks,
        }))
    }
}

impl TableReader {
    /// The learned model, if there is one and no slice of a model over several tables, which comes first.
    #[inline]
    pub(super) fn learned_for(&self, slice: Option<SliceRef<'_>>) -> Option<&Learned> {
        match slice {
            None => self.learned.get().map(|learned| &**learned),
            Some(_) => None,
        }
    }

    /// Whether a model was learned.
    #[inline]
    pub fn is_learned(&self) -> bool {
        self.learned.get().is_some()
    }

    /// The memory that the learned model takes, in bytes; 0 if there is none.
    pub fn learned_bytes(&self) -> usize {
        self.learned.get().map_or(0, |learned| learned.bytes())
    }

    /// Whether a model would find keys in another way than its own index does, which need not be in memory.
    pub fn is_learnable(&self) -> bool {
        let name = self.properties().text("index.kind");
        let kind = registry::kinds()
            .iter()
            .find(|kind| Some(kind.name) == name);
        let has_model = kind.is_none_or(|kind| kind.needs_number);
        self.entries() > 0 && !has_model && !self.directory.is_placed()
    }

    /// Learns a model of a table that is [learnable](TableReader::is_learnable); gets use it from then on. Its keys are
    /// numbered by a map that the keyspace knows by a number. `go_on` is asked from time to time.
    ///
    /// # Errors
    /// If the table cannot be read or is damaged, or a model cannot be built. The table stays as it is.
    pub fn learn(
        self: &Arc<Self>,
        map: (u64, Arc<KeyMap>),
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Learning> {
        let refused = |why: &dyn std::fmt::Display| {
            let path = self.path().display();
            Error::InvalidArgument(format!("no model of {path} can be built: {why}"))
        };
        let mut training = Training::begin().map_err(|error| refused(&error))?;
        let mut cursor = self.cursor(false);
        cursor.seek_first()?;
        let mut entries = 0;
        while let Some(block) = cursor.block().filter(|_| cursor.valid()) {
            if entries % ASK_AFTER == 0 {
                if !go_on() {
                    return Ok(Learning::Stopped);
                }
                if training.builder.is_unfit() {
                    return Ok(Learning::Unfit);
                }
            }
            entries += 1;
            let number = map.1.number(cursor.key());
            let added = training.add(cursor.key(), number, block);
            added.map_err(|error| refused(&error))?;
            cursor.next()?;
        }
        if training.builder.is_unfit() {
            return Ok(Learning::Unfit);
        }
        if training.ranks != self.directory.ranks() {
            return Err(refused(&"its directory counts other keys"));
        }
        let learned = match training.end(map, self.blocks()) {
            // The last keys may decide it.
            Err(IndexError::Unfit { .. }) => return Ok(Learning::Unfit),
            learned => learned.map_err(|error| refused(&error))?,
        };
        let learned = learned.ok_or_else(|| refused(&"its blocks are too many"))?;
        // Whoever was first has learned the same.
        let _ = self.learned.set(Box::new(learned));
        let bytes = self.learned_bytes() as u64;
        Ok(Learning::Done { bytes })
    }
}
