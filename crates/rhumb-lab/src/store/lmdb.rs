//! LMDB, through heed, as a [`Store`]: one unnamed database, without durability.

use std::convert::Infallible;
use std::ops::Bound;
use std::path::Path;

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions};

use super::Store;
use crate::data::Pairs;
use crate::error::{Error, Result};

/// Address space to map, which bounds the size of the database. It takes neither memory nor disk.
const MAP_BYTES: usize = 64 << 30;

/// Opens or creates a database in a directory that exists.
///
/// # Errors
/// Whatever LMDB says.
pub fn open(directory: &Path) -> Result<Box<dyn Store>> {
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP_BYTES);
    // LMDB's fastest way of writing, so that the yardstick is no straw man.
    let flags = EnvFlags::NO_SYNC | EnvFlags::WRITE_MAP | EnvFlags::MAP_ASYNC;
    // SAFETY: without syncs a crash of the machine can damage the file, and with a writable map a
    // stray write of this process can; the lab throws the file away when it ends, and compares every
    // value that it reads from it.
    unsafe { options.flags(flags) };
    // SAFETY: the file lies in a temporary directory of the lab's own, so nobody else changes what
    // is mapped, and the lab opens a directory again only after closing it.
    let env = unsafe { options.open(directory)? };
    let transaction = env.write_txn()?;
    let created = env.create_databases_and_commit(transaction, |creator, transaction| {
        let database = creator.create_database(transaction, None)?;
        Ok::<_, Error>(CommitOrAbort::<_, Infallible>::Commit(database))
    })?;
    let CommitOrAbort::Commit(database) = created;
    Ok(Box::new(Lmdb { env, database }))
}

struct Lmdb {
    env: Env,
    database: Database<'static, Bytes, Bytes>,
}

impl Store for Lmdb {
    fn write(&self, batch: &Pairs) -> Result<()> {
        let mut transaction = self.env.write_txn()?;
        for (key, value) in batch.iter() {
            self.database.put(&mut transaction, key, value)?;
        }
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

    fn scan(&self, start: &[u8], count: usize, into: &mut Pairs) -> Result<()> {
        into.clear();
        let transaction = self.env.read_txn()?;
        let range = (Bound::Included(start), Bound::Unbounded);
        for pair in self.database.range(&transaction, &range)?.take(count) {
            let (key, value) = pair?;
            into.push(key, value);
        }
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<()> {
        // Waits until the file is closed, so that it can be opened anew.
        self.env.prepare_for_closing().wait();
        Ok(())
    }
}
