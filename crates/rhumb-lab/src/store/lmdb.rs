//! LMDB, through heed, as a [`Store`]: one unnamed database, without durability unless it is asked for.

use std::convert::Infallible;
use std::ops::{Bound, Range};
use std::path::Path;

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, RoRange, RoTxn};
use rustix::mm::{Advice, madvise};

use super::pages::Pages;
use super::{Cursor, Footprint, Settings, Store, Temperature, Values};
use crate::data::Pairs;
use crate::error::{Error, Result};

/// Address space to map, which limits the size of the database. It uses neither memory nor disk.
const MAP_BYTES: usize = 64 << 30;

/// Opens or creates a database in a directory that exists. LMDB has no settings for caches, filters
/// and compression, because it has none of them: its cache is the page cache.
///
/// # Errors
/// Any error of LMDB.
pub fn open(
    directory: &Path,
    settings: &Settings,
    temperature: Temperature,
) -> Result<Box<dyn Store>> {
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP_BYTES);
    // LMDB's fastest way of writing, for a fair comparison.
    let mut flags = EnvFlags::WRITE_MAP;
    if !settings.sync {
        flags |= EnvFlags::NO_SYNC | EnvFlags::MAP_ASYNC;
    }
    if temperature == Temperature::Cold {
        // A random get does not use the neighbours of a page.
        flags |= EnvFlags::NO_READ_AHEAD;
    }
    // SAFETY: without syncs, a crash of the machine can damage the file; with a writable map, a
    // stray write of this process can. The lab deletes the file when it ends, and compares every
    // value that it reads from it.
    unsafe { options.flags(flags) };
    // SAFETY: the file lies in the lab's own temporary directory, so no other process changes the
    // mapped file, and the lab opens a directory again only after closing it.
    let env = unsafe { options.open(directory)? };
    let transaction = env.write_txn()?;
    let created = env.create_databases_and_commit(transaction, |creator, transaction| {
        let database = creator.create_database(transaction, None)?;
        Ok::<_, Error>(CommitOrAbort::<_, Infallible>::Commit(database))
    })?;
    let CommitOrAbort::Commit(database) = created;
    let pages = Pages::if_cold(temperature, directory)?;
    let cold = pages.map(|pages| Cold::new(pages, directory)).transpose()?;
    Ok(Box::new(Lmdb {
        env,
        database,
        cold,
    }))
}

struct Lmdb {
    env: Env,
    database: Database<'static, Bytes, Bytes>,
    cold: Option<Cold>,
}

/// Drops the pages of a mapped file from memory.
struct Cold {
    pages: Pages,
    /// First and past-the-end address of the map.
    map: Range<usize>,
}

impl Cold {
    /// Asks the operating system for the address of the map: LMDB reports the address only if it
    /// was given one.
    fn new(pages: Pages, directory: &Path) -> Result<Cold> {
        let path = directory.join("data.mdb");
        let path = path.canonicalize().map_err(Error::io("find", &path))?;
        let list = Path::new("/proc/self/maps");
        let maps = std::fs::read_to_string(list).map_err(Error::io("read", list))?;
        let of_file = |line: &&str| path.to_str().is_some_and(|path| line.ends_with(path));
        let map = maps.lines().find(of_file).and_then(|line| {
            let (start, end) = line.split_once(' ')?.0.split_once('-')?;
            let address = |text| usize::from_str_radix(text, 16).ok();
            Some(address(start)?..address(end)?)
        });
        let map = map.ok_or_else(|| Error::Input {
            path: list.to_path_buf(),
            expected: "a list of memory maps that has LMDB's file",
            found: format!("no map of {}", path.display()),
        })?;
        Ok(Cold { pages, map })
    }

    fn leave(&self) -> Result<()> {
        let start = std::ptr::without_provenance_mut(self.map.start);
        // Pages that the map uses would stay in the page cache.
        // SAFETY: this is a shared map of a file. It exists while the environment is open, which is
        // until the store that owns this value is closed. Releasing its pages changes no byte: the
        // next access loads a page again from the page cache or the file.
        unsafe { madvise(start, self.map.len(), Advice::LinuxDontNeed) }.map_err(|error| {
            Error::Usage(format!(
                "LMDB: cannot release the pages of its map: {error}"
            ))
        })?;
        self.pages.leave()
    }
}

impl Store for Lmdb {
    fn write(&self, batch: &Pairs) -> Result<()> {
        let mut transaction = self.env.write_txn()?;
        for (key, value) in batch.iter() {
            self.database.put(&mut transaction, key, value)?;
        }
        Ok(transaction.commit()?)
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        let mut transaction = self.env.write_txn()?;
        self.database.delete(&mut transaction, key)?;
        Ok(transaction.commit()?)
    }

    fn settle(&self) -> Result<()> {
        Ok(())
    }

    fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool> {
        into.clear();
        let transaction = self.env.read_txn()?;
        let Some(value) = self.database.get(&transaction, key)? else {
            return Ok(false);
        };
        into.extend_from_slice(value);
        Ok(true)
    }

    fn get_many(&self, keys: &[&[u8]], into: &mut Values) -> Result<()> {
        into.clear();
        let transaction = self.env.read_txn()?;
        for key in keys {
            into.push(self.database.get(&transaction, key)?);
        }
        Ok(())
    }

    fn with_cursor(&self, with: &mut dyn FnMut(&mut dyn Cursor) -> Result<()>) -> Result<()> {
        let transaction = self.env.read_txn()?;
        with(&mut Forward {
            database: self.database,
            transaction: &transaction,
            pairs: None,
            pair: None,
        })
    }

    fn cool(&self) -> Result<()> {
        self.cold.as_ref().map_or(Ok(()), Cold::leave)
    }

    fn footprint(&self) -> Result<Option<Footprint>> {
        let transaction = self.env.read_txn()?;
        let about = self.database.stat(&transaction)?;
        Ok(Some(Footprint {
            index: about.branch_pages as u64 * u64::from(about.page_size),
            tables: 1,
            ..Footprint::default()
        }))
    }

    fn counts_writes(&self) -> bool {
        false
    }

    fn close(self: Box<Self>) -> Result<()> {
        // Waits until the file is closed, so that it can be opened again.
        self.env.prepare_for_closing().wait();
        Ok(())
    }
}

/// A cursor in a read transaction; each seek makes an iterator, since those of heed have no seek.
struct Forward<'t> {
    database: Database<'static, Bytes, Bytes>,
    transaction: &'t RoTxn<'t>,
    pairs: Option<RoRange<'t, Bytes, Bytes>>,
    pair: Option<(&'t [u8], &'t [u8])>,
}

impl Cursor for Forward<'_> {
    fn seek(&mut self, key: &[u8]) -> Result<bool> {
        let range = (Bound::Included(key), Bound::Unbounded);
        self.pairs = Some(self.database.range(self.transaction, &range)?);
        self.advance()
    }

    fn advance(&mut self) -> Result<bool> {
        self.pair = self.pairs.as_mut().and_then(Iterator::next).transpose()?;
        Ok(self.pair.is_some())
    }

    fn pair(&self) -> (&[u8], &[u8]) {
        self.pair.unwrap_or_default()
    }
}
