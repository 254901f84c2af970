//! Where the tables of a store lie, how they are read, and which of them can be deleted.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::fs::{Access, FileSystem, names, ops};
use crate::memory::BlockCache;
use crate::sync::{Arc, Mutex, lock};

/// What all tables of a store share.
#[derive(Debug)]
pub(crate) struct Files {
    /// The file system.
    pub fs: Arc<dyn FileSystem>,
    /// The store's directory.
    pub dir: PathBuf,
    /// How tables are read for gets.
    pub access: Access,
    /// Blocks in memory.
    pub cache: Arc<BlockCache>,
    garbage: Mutex<Vec<u64>>,
}

impl Files {
    /// The tables in `dir`.
    pub fn new(
        fs: Arc<dyn FileSystem>,
        dir: PathBuf,
        access: Access,
        cache: Arc<BlockCache>,
    ) -> Self {
        Files {
            fs,
            dir,
            access,
            cache,
            garbage: Mutex::new(Vec::new()),
        }
    }

    /// The path of the table with this file number.
    pub fn table_path(&self, number: u64) -> PathBuf {
        self.dir.join(names::table_name(number))
    }

    /// Notes a table that nobody reads any more. The dropper may be a reader, so it only notes.
    pub(super) fn discard(&self, number: u64) {
        lock(&self.garbage).push(number);
    }

    /// Deletes the files of tables that are obsolete and not read any more, and says how many. To
    /// be called by a background thread, never by a reader.
    ///
    /// # Errors
    /// The first failure; the file stays until the next opening of the store, the others go on.
    pub fn delete_garbage(&self) -> Result<usize> {
        let numbers = std::mem::take(&mut *lock(&self.garbage));
        let mut deleted = 0;
        let mut failed: Option<Error> = None;
        for number in numbers {
            match ops::if_found(ops::remove(&*self.fs, &self.table_path(number))) {
                Ok(found) => deleted += usize::from(found.is_some()),
                Err(e) => failed = failed.or(Some(e)),
            }
        }
        failed.map_or(Ok(deleted), Err)
    }
}
