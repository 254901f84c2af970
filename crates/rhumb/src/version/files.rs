//! Where the tables of a store are, how they are read, and which of their files can be deleted.

use std::path::{Path, PathBuf};
use std::task::Waker;

use crate::error::{Error, Result};
use crate::fs::{Access, FileSystem, names, ops};
use crate::memory::BlockCache;
use crate::sync::{Arc, Mutex, lock};

/// The context that all tables of a store share.
#[derive(Debug)]
pub(crate) struct Files {
    /// The file system.
    pub fs: Arc<dyn FileSystem>,
    /// The store's directory.
    pub dir: PathBuf,
    /// How table files are read for gets.
    pub access: Access,
    /// The cache of blocks.
    pub cache: Arc<BlockCache>,
    garbage: Mutex<Vec<u64>>,
    /// Wakes a thread that deletes garbage.
    waker: Waker,
}

impl Files {
    /// The context of the tables in `dir`.
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
            waker: Waker::noop().clone(),
        }
    }

    /// Wakes `waker` from now on whenever there is garbage to delete.
    pub fn waking(mut self, waker: Waker) -> Self {
        self.waker = waker;
        self
    }

    /// The context of tables in `dir` that are read without keeping blocks in memory.
    ///
    /// # Errors
    /// If there is no memory for the little that even an empty cache takes.
    pub fn uncached(fs: &Arc<dyn FileSystem>, dir: &Path) -> Result<Arc<Self>> {
        let cache = Arc::new(BlockCache::new(0)?);
        let (fs, dir) = (Arc::clone(fs), dir.to_path_buf());
        Ok(Arc::new(Files::new(fs, dir, Access::Buffered, cache)))
    }

    /// The path of the table with this file number.
    pub fn table_path(&self, number: u64) -> PathBuf {
        self.dir.join(names::table_name(number))
    }

    /// Notes a table that is not read any more. Its file is not deleted here, since a reader may be
    /// the one that dropped it.
    pub(super) fn discard(&self, number: u64) {
        let mut garbage = lock(&self.garbage);
        garbage.push(number);
        let first = garbage.len() == 1;
        drop(garbage);
        if first {
            self.waker.wake_by_ref();
        }
    }

    /// Deletes the files of the tables noted as unused; returns how many were deleted. For
    /// background threads, never for readers.
    ///
    /// # Errors
    /// The first failure. That file stays until the store is next opened; the other files are
    /// deleted.
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
