//! Models that are learned after tables were written, beside their own indexes (Bourbon, OSDI 2020, section 4): of one table, or
//! of several neighbours.
//!
//! They lie in memory only. As any index they tell where to look first: whatever they answer, the entries of the blocks decide.

use std::sync::Arc;

use rhumb_index::{Index, KeyMap, registry};

use super::model::SliceRef;
use super::reader::TableReader;
use super::search::Expected;
use super::trace::NumberCache;
use super::training::{Learning, Training, of_table, refused};
use crate::error::Result;
use crate::table::form::column::Column;

/// Greedy PLR whose windows hold the rank that is predicted and 8 on either side, as Bourbon's do.
const SPECIFICATION: &str = "plr:boundary=18";

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

/// Builds one model of tables that have none, whose keys ascend from one to the next.
pub(crate) struct LearnedBuilder {
    training: Training,
    map: NumberedMap,
    taken: Vec<Taken>,
}

/// A table whose keys were taken, and its part of the model.
struct Taken {
    table: Arc<TableReader>,
    first_ranks: Column,
}

/// Blocks up to this one, if they have no first rank yet, begin with a rank. A given-up placement may leave blocks without entries,
/// which begin with the next key.
fn begin_blocks(first_ranks: &mut Vec<u64>, up_to: u64, rank: u64) {
    while first_ranks.len() as u64 <= up_to {
        first_ranks.push(rank);
    }
}

impl LearnedBuilder {
    /// Begins with keys that are numbered by a map that the keyspace knows by a number.
    ///
    /// # Errors
    /// None, as the specification is one of this file.
    pub fn begin(map: NumberedMap) -> Result<LearnedBuilder> {
        let specification = SPECIFICATION.parse().map_err(refused)?;
        Ok(LearnedBuilder {
            training: Training::begin(&specification, Some(Arc::clone(&map.1)))?,
            map,
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
        let (before, mut first_ranks) = (self.training.ranks(), Vec::new());
        let mut begins = |block, rank| begin_blocks(&mut first_ranks, block, rank);
        let learning = self.training.take(table, go_on, &mut begins)?;
        if learning != Learning::GoesOn {
            return Ok(learning);
        }
        let ranks = self.training.ranks();
        begin_blocks(&mut first_ranks, table.blocks(), ranks);
        if ranks - before != table.directory.ranks() {
            return Err(of_table(table, "its directory counts other keys"));
        }
        let first_ranks = Column::of(&first_ranks);
        self.taken.push(Taken {
            table: Arc::clone(table),
            first_ranks: first_ranks.ok_or_else(|| of_table(table, "its blocks are too many"))?,
        });
        Ok(learning)
    }

    /// Ends the model of the tables that were taken. Their gets use it from then on. Whether it fits their keys: the last ones may
    /// decide it.
    ///
    /// # Errors
    /// If it cannot be built. The tables stay as they are.
    pub fn end(self) -> Result<bool> {
        let Some(bytes) = self.training.end()? else {
            return Ok(false);
        };
        let index: Arc<dyn Index> = registry::open(bytes).map_err(refused)?.into();
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
