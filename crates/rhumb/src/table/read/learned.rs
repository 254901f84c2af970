//! Models that are learned after tables were written, beside their own indexes (Bourbon, OSDI 2020, section 4): of one table, or
//! of several neighbours.
//!
//! They lie in memory only. As any index they tell where to look first: whatever they answer, the entries of the blocks decide.

use std::fmt::Display;
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

/// What becomes of learning behind one more table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Learning {
    /// It can go on, or end.
    GoesOn,
    /// Too many of the keys share a number.
    Unfit,
    /// It was not to go on.
    Stopped,
}

/// A map that numbers keys, which the keyspace knows by its number.
type NumberedMap = (u64, Arc<KeyMap>);

/// A model of the ranks of keys, and where the blocks of one of its tables begin among them.
#[derive(Debug)]
pub(in crate::table) struct Learned {
    /// The tables that were learned together share it.
    index: Arc<dyn Index>,
    map: NumberedMap,
    /// The rank of each block's first key among all keys of the model, then that behind the last one. The directory of a table with fences has
    /// none.
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

    /// The memory that it takes, in bytes, without the map, which the keyspace keeps anyway. What several tables share is divided among
    /// those whose readers are left: those of tables that are gone count as long as somebody reads them.
    fn bytes(&self) -> usize {
        let shared = self.index.size_in_bytes();
        let sharers = Arc::strong_count(&self.index);
        size_of::<Learned>() + shared.div_ceil(sharers) + self.first_ranks.bytes()
    }
}

/// Learns one model of tables that have none, whose keys ascend from one to the next.
pub(crate) struct Training {
    builder: Box<dyn IndexBuilder>,
    map: NumberedMap,
    ranks: u64,
    last_key: Vec<u8>,
    taken: Vec<Taken>,
}

/// A table whose keys the builder has, and its part of the model.
struct Taken {
    table: Arc<TableReader>,
    first_ranks: Column,
}

/// The first ranks of a table's blocks, while it is gone over.
#[derive(Default)]
struct FirstRanks(Vec<u64>);

impl FirstRanks {
    /// Blocks up to this one, if they have no first rank yet, begin with a rank. A given-up placement may leave blocks without entries,
    /// which begin with the next key.
    fn begin(&mut self, up_to: u64, rank: u64) {
        while self.0.len() as u64 <= up_to {
            self.0.push(rank);
        }
    }

    /// `None` if they have no byte form.
    fn encode(&self) -> Option<Column> {
        let mut bytes = Vec::new();
        let fits = Column::encode(&self.0, &mut bytes);
        let column = Column::decode(&mut &*bytes, &mut 0, self.0.len() as u64);
        column.ok().filter(|_| fits)
    }
}

impl Training {
    /// Begins with keys that are numbered by a map that the keyspace knows by a number.
    ///
    /// # Errors
    /// None, as the specification is one of this file.
    pub fn begin(map: NumberedMap) -> Result<Training> {
        let specification: IndexSpec = SPECIFICATION.parse().map_err(refused)?;
        let mut builder = registry::builder(&specification).map_err(refused)?;
        // Whoever wrote the tables checked the order of their keys. Here numbers that descend are still refused, and whatever a
        // model of wrong keys says, the entries of the blocks decide.
        builder.trust_order();
        Ok(Training {
            builder,
            map,
            ranks: 0,
            last_key: Vec::new(),
            taken: Vec::new(),
        })
    }

    /// Adds the keys of a [learnable](TableReader::is_learnable) table. `go_on` is asked from time to time.
    ///
    /// # Errors
    /// If the table cannot be read or is damaged. Then there is no model.
    pub fn take(
        &mut self,
        table: &Arc<TableReader>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Learning> {
        let mut first_ranks = FirstRanks::default();
        let mut cursor = table.cursor(false);
        cursor.seek_first()?;
        let (before, mut entries) = (self.ranks, 0);
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
            let added = self.add(cursor.key());
            added.map_err(|error| of_table(table, error))?;
            first_ranks.begin(block, self.ranks - 1);
            cursor.next()?;
        }
        first_ranks.begin(table.blocks(), self.ranks);
        if self.ranks - before != table.directory.ranks() {
            return Err(of_table(table, "its directory counts other keys"));
        }
        let first_ranks = first_ranks.encode();
        self.taken.push(Taken {
            table: Arc::clone(table),
            first_ranks: first_ranks.ok_or_else(|| of_table(table, "its blocks are too many"))?,
        });
        Ok(match self.builder.is_unfit() {
            true => Learning::Unfit,
            false => Learning::GoesOn,
        })
    }

    /// Adds a key, unless it is the last one once more.
    fn add(&mut self, key: &[u8]) -> Result<(), IndexError> {
        if self.ranks == 0 || self.last_key != key {
            self.builder.push(key, self.map.1.number(key))?;
            self.ranks += 1;
            self.last_key.clear();
            self.last_key.extend_from_slice(key);
        }
        Ok(())
    }

    /// Ends the model of the tables that were taken. Their gets use it from then on. Whether it fits their keys: the last ones may
    /// decide it.
    ///
    /// # Errors
    /// If it cannot be built. The tables stay as they are.
    pub fn end(self) -> Result<bool> {
        let index = match self.builder.finish() {
            Err(IndexError::Unfit { .. }) => return Ok(false),
            built => registry::open(built.map_err(refused)?).map_err(refused)?,
        };
        let index: Arc<dyn Index> = index.into();
        for Taken { table, first_ranks } in self.taken {
            let learned = Learned {
                index: Arc::clone(&index),
                map: self.map.clone(),
                first_ranks,
                blocks: table.blocks(),
            };
            let set = table.learned.set(Box::new(learned));
            debug_assert!(set.is_ok(), "tables with a model are not learned again");
        }
        Ok(true)
    }
}

/// That no model of a table can be built.
fn of_table(table: &TableReader, why: impl Display) -> Error {
    refused(format!("{why}, in {}", table.path().display()))
}

fn refused(why: impl Display) -> Error {
    Error::InvalidArgument(format!("no model can be learned: {why}"))
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
}
