//! The files of a store: their names and numbers, how tables are read, and which files can be deleted.
//!
//! The files of an open store are deleted here, for one of three reasons:
//!
//! - Nothing durable names it, and it is not read: [`Files::delete`].
//! - It is obsolete, but may still be read: a [`FileRef`] notes it as garbage when the last reader has
//!   dropped it, and a background thread deletes it.
//! - It is a manifest that `CURRENT` on the disk may or may not name: [`Files::keep_stray`] keeps it until
//!   another one is published.
//!
//! A file that cannot be deleted does no harm: the next opening deletes all that the manifest does not
//! name.

use std::path::{Path, PathBuf};
use std::task::Waker;

use crate::error::Result;
use crate::fs::names::{self, FileKind};
use crate::fs::{Access, FileSystem, ops};
use crate::memory::BlockCache;
use crate::options::Granularity;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Arc, Mutex, lock};
use crate::table::OpenAs;
use crate::vlog::KeptValues;

/// The owner of a store's files.
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
    /// What one index covers.
    pub granularity: Granularity,
    /// The values of value files in it.
    pub kept_values: Arc<KeptValues>,
    next_number: AtomicU64,
    garbage: Mutex<Vec<(FileKind, u64)>>,
    strays: Mutex<Vec<u64>>,
    /// Wakes a thread that deletes garbage.
    waker: Waker,
}

impl Files {
    /// The files in `dir`.
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
            kept_values: Arc::new(KeptValues::new(&cache)),
            cache,
            granularity: Granularity::default(),
            next_number: AtomicU64::new(0),
            garbage: Mutex::new(Vec::new()),
            strays: Mutex::new(Vec::new()),
            waker: Waker::noop().clone(),
        }
    }

    /// Wakes `waker` from now on whenever there is garbage to delete.
    pub fn waking(mut self, waker: Waker) -> Self {
        self.waker = waker;
        self
    }

    /// Covers as much with one index as this says.
    pub fn covering(mut self, granularity: Granularity) -> Self {
        self.granularity = granularity;
        self
    }

    /// The files in `dir`, whose tables are read without keeping blocks in memory.
    ///
    /// # Errors
    /// If there is no memory for the little that even an empty cache takes.
    pub fn uncached(fs: &Arc<dyn FileSystem>, dir: &Path) -> Result<Arc<Self>> {
        let cache = Arc::new(BlockCache::new(0)?);
        let (fs, dir) = (Arc::clone(fs), dir.to_path_buf());
        Ok(Arc::new(Files::new(fs, dir, Access::Buffered, cache)))
    }

    /// The same files, whose tables are read without keeping blocks in memory. Not for new files, whose numbers it does not know.
    ///
    /// # Errors
    /// As [`Files::uncached`].
    pub fn without_cache(&self) -> Result<Arc<Self>> {
        let cache = Arc::new(BlockCache::new(0)?);
        let files = Files::new(Arc::clone(&self.fs), self.dir.clone(), self.access, cache);
        Ok(Arc::new(files.covering(self.granularity)))
    }

    /// A file number that was never used before.
    pub fn new_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// The number that the next new file gets.
    pub fn next_number(&self) -> u64 {
        self.next_number.load(Ordering::Relaxed)
    }

    /// Gives no number below `number` to new files.
    pub fn start_at(&self, number: u64) {
        self.next_number.fetch_max(number, Ordering::Relaxed);
    }

    /// How tables are opened.
    pub fn open_as(&self) -> OpenAs {
        OpenAs {
            access: self.access,
            cache: Arc::clone(&self.cache),
            index_later: self.granularity != Granularity::Table,
        }
    }

    /// The path of a numbered file.
    pub fn path(&self, kind: FileKind, number: u64) -> PathBuf {
        self.dir.join(kind.name(number))
    }

    /// The path of the table with this file number.
    pub fn table_path(&self, number: u64) -> PathBuf {
        self.path(FileKind::Table, number)
    }

    /// Deletes a file that no manifest on the disk names, and that is not read.
    pub fn delete(&self, kind: FileKind, number: u64) {
        // The next opening deletes what remains.
        let _ = ops::remove(&*self.fs, &self.path(kind, number));
        if kind == FileKind::Table && self.granularity == Granularity::Trained {
            let model = self.dir.join(names::level_model_name(number));
            let _ = ops::remove(&*self.fs, &model);
        }
    }

    /// Notes a manifest that `CURRENT` may name on the disk. It is kept until another one counts.
    pub fn keep_stray(&self, manifest: u64) {
        lock(&self.strays).push(manifest);
    }

    /// Deletes the strays, once another manifest counts.
    pub fn delete_strays(&self) {
        let strays = std::mem::take(&mut *lock(&self.strays));
        for manifest in strays {
            self.delete(FileKind::Manifest, manifest);
        }
    }

    /// Notes a file that is not read any more. It is not deleted here, since a reader may be the one that
    /// dropped it.
    fn discard(&self, kind: FileKind, number: u64) {
        let mut garbage = lock(&self.garbage);
        garbage.push((kind, number));
        let first = garbage.len() == 1;
        drop(garbage);
        if first {
            self.waker.wake_by_ref();
        }
    }

    /// Deletes the files noted as unused. For background threads, never for readers.
    pub fn delete_garbage(&self) {
        let garbage = std::mem::take(&mut *lock(&self.garbage));
        for (kind, number) in garbage {
            self.delete(kind, number);
        }
    }
}

/// A reference to a file that is read. When the last reference to an obsolete file is dropped, the file
/// becomes garbage.
#[derive(Debug)]
pub(super) struct FileRef {
    pub files: Arc<Files>,
    kind: FileKind,
    number: u64,
    obsolete: AtomicBool,
}

impl FileRef {
    pub fn new(files: Arc<Files>, kind: FileKind, number: u64) -> Self {
        FileRef {
            files,
            kind,
            number,
            obsolete: AtomicBool::new(false),
        }
    }

    pub fn path(&self) -> PathBuf {
        self.files.path(self.kind, self.number)
    }

    /// Whether no manifest names the file any more.
    pub fn is_obsolete(&self) -> bool {
        self.obsolete.load(Ordering::Relaxed)
    }

    /// Marks the file as named by no manifest any more.
    pub fn mark_obsolete(&self) {
        // The reference count of the `Arc` that owns this orders this before the drop.
        self.obsolete.store(true, Ordering::Relaxed);
    }
}

impl Drop for FileRef {
    fn drop(&mut self) {
        if self.is_obsolete() {
            self.files.discard(self.kind, self.number);
        }
    }
}
