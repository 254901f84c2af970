//! redb as a [`Store`]: one table, written without durability until [`Store::settle`] unless it is asked for.

use std::fmt::Display;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

use ::redb::{
    AccessGuard, Database, Durability, Range, ReadOnlyTable, ReadableDatabase,
    ReadableTableMetadata, StorageError, Table, TableDefinition,
};

use super::pages::Pages;
use super::{Cursor, Footprint, Settings, Store, Temperature};
use crate::data::Pairs;
use crate::error::{Error, Result};

const NAME: &str = "redb";
const TABLE: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("pairs");
/// The size of redb's pages by default.
const PAGE_BYTES: u64 = 4096;

/// Opens or creates a store in a directory that exists. redb does not compress.
///
/// # Errors
/// Any error of redb.
pub fn open(
    directory: &Path,
    settings: &Settings,
    temperature: Temperature,
) -> Result<Box<dyn Store>> {
    let cache_bytes = settings.cache(temperature);
    let mut builder = Database::builder();
    builder.set_cache_size(cache_bytes as usize);
    let database = builder.create(directory.join("redb")).map_err(failed)?;
    let redb = Redb {
        pages: Pages::if_cold(temperature, directory)?,
        database: RwLock::new(database),
        durability: match settings.sync {
            true => Durability::Immediate,
            false => Durability::None,
        },
    };
    // Opening the table for writing creates it.
    redb.change(Durability::None, |_| Ok(()))?;
    Ok(Box::new(redb))
}

fn failed(error: impl Display) -> Error {
    super::failed(NAME, error)
}

struct Redb {
    /// Compaction needs exclusive access. No code panics with the lock held, and locking costs
    /// a hundredth of a get.
    database: RwLock<Database>,
    pages: Option<Pages>,
    durability: Durability,
}

impl Redb {
    /// Runs a reader over the present state of the table.
    fn read<T>(
        &self,
        reader: impl FnOnce(&ReadOnlyTable<&'static [u8], &'static [u8]>) -> Result<T>,
    ) -> Result<T> {
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let transaction = database.begin_read().map_err(failed)?;
        reader(&transaction.open_table(TABLE).map_err(failed)?)
    }

    fn change(
        &self,
        durability: Durability,
        change: impl FnOnce(&mut Table<'_, &'static [u8], &'static [u8]>) -> Result<(), StorageError>,
    ) -> Result<()> {
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let mut transaction = database.begin_write().map_err(failed)?;
        transaction.set_durability(durability).map_err(failed)?;
        let mut table = transaction.open_table(TABLE).map_err(failed)?;
        change(&mut table).map_err(failed)?;
        drop(table);
        transaction.commit().map_err(failed)
    }
}

impl Store for Redb {
    fn write(&self, batch: &Pairs) -> Result<()> {
        self.change(self.durability, |table| {
            for (key, value) in batch.iter() {
                table.insert(key, value)?;
            }
            Ok(())
        })
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        self.change(self.durability, |table| table.remove(key).map(drop))
    }

    fn settle(&self) -> Result<()> {
        self.change(Durability::Immediate, |_| Ok(()))?;
        let mut database = self
            .database
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        database.compact().map(drop).map_err(failed)
    }

    fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool> {
        into.clear();
        self.read(|table| {
            let value = table.get(key).map_err(failed)?;
            if let Some(value) = &value {
                into.extend_from_slice(value.value());
            }
            Ok(value.is_some())
        })
    }

    fn with_cursor(&self, with: &mut dyn FnMut(&mut dyn Cursor) -> Result<()>) -> Result<()> {
        self.read(|table| {
            with(&mut Forward {
                table,
                pairs: None,
                pair: None,
            })
        })
    }

    fn cool(&self) -> Result<()> {
        self.pages.as_ref().map_or(Ok(()), Pages::leave)
    }

    fn footprint(&self) -> Result<Option<Footprint>> {
        self.read(|table| {
            let pages = table.stats().map_err(failed)?.branch_pages();
            Ok(Some(Footprint {
                index: pages * PAGE_BYTES,
                tables: 1,
                ..Footprint::default()
            }))
        })
    }

    fn close(self: Box<Self>) -> Result<()> {
        let database = self.database.into_inner();
        let database = database.unwrap_or_else(PoisonError::into_inner);
        database.close().map_err(failed)
    }
}

type Bytes = AccessGuard<'static, &'static [u8]>;

/// A cursor; each seek makes an iterator, since those of redb have no seek.
struct Forward<'a> {
    table: &'a ReadOnlyTable<&'static [u8], &'static [u8]>,
    pairs: Option<Range<'static, &'static [u8], &'static [u8]>>,
    pair: Option<(Bytes, Bytes)>,
}

impl Cursor for Forward<'_> {
    fn seek(&mut self, key: &[u8]) -> Result<bool> {
        self.pairs = Some(self.table.range(key..).map_err(failed)?);
        self.advance()
    }

    fn advance(&mut self) -> Result<bool> {
        let next = self.pairs.as_mut().and_then(Iterator::next);
        self.pair = next.transpose().map_err(failed)?;
        Ok(self.pair.is_some())
    }

    fn pair(&self) -> (&[u8], &[u8]) {
        let pair = self.pair.as_ref();
        pair.map_or((&[], &[]), |(key, value)| (key.value(), value.value()))
    }
}
