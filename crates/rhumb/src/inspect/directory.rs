//! The files in a store's directory, and the lock that a tool takes on it.

use std::path::{Path, PathBuf};

use super::report::VerifyProgress;
use crate::error::{Error, Result};
use crate::fs::names::{self, FileKind};
use crate::fs::{Access, FileLock, FileSystem, LockMode, ops};
use crate::options::Options;
use crate::sync::Arc;

/// The directory of a store, locked while this value exists.
pub(super) struct StoreDirectory {
    /// The file system.
    pub fs: Arc<dyn FileSystem>,
    /// The directory.
    pub path: PathBuf,
    /// Numbers of the manifests, ascending.
    pub manifests: Vec<u64>,
    /// Numbers of the logs, ascending.
    pub logs: Vec<u64>,
    /// Numbers of the tables, ascending.
    pub tables: Vec<u64>,
    /// Numbers of the value files, ascending.
    pub values: Vec<u64>,
    /// The names of all other files: temporary files, and files that are not the store's.
    pub others: Vec<String>,
    _lock: Box<dyn FileLock>,
}

impl StoreDirectory {
    /// Locks the store in a directory and lists its files.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no file of a store, [`Error::Locked`] if others use it,
    /// [`Error::InvalidArgument`] for options that a store cannot be opened with.
    pub fn open(path: &Path, options: &Options, mode: LockMode) -> Result<Self> {
        options.check()?;
        let fs = Arc::clone(&options.file_system);
        let not_found = || Error::NotFound {
            path: path.to_path_buf(),
        };
        // Listed before the lock is taken, so that no lock file is left in a directory without a
        // store.
        let names = ops::if_found(ops::list(&*fs, path))?.ok_or_else(not_found)?;
        let of_store = |n: &String| n == names::CURRENT || names::parse(n).is_some();
        if !names.iter().any(of_store) {
            return Err(not_found());
        }
        let lock = ops::lock(&*fs, &path.join(names::LOCK), mode)?.ok_or_else(|| {
            let path = path.to_path_buf();
            Error::Locked { path }
        })?;
        // Listed again, since a writer may have created and deleted files meanwhile.
        let names = ops::list(&*fs, path)?;
        let mut directory = StoreDirectory {
            fs,
            path: path.to_path_buf(),
            manifests: Vec::new(),
            logs: Vec::new(),
            tables: Vec::new(),
            values: Vec::new(),
            others: Vec::new(),
            _lock: lock,
        };
        for name in names {
            directory.add(name);
        }
        for numbers in [
            &mut directory.manifests,
            &mut directory.logs,
            &mut directory.tables,
            &mut directory.values,
        ] {
            numbers.sort_unstable();
        }
        directory.others.sort_unstable();
        Ok(directory)
    }

    fn add(&mut self, name: String) {
        match names::parse(&name) {
            Some((FileKind::Manifest, number)) => self.manifests.push(number),
            Some((FileKind::Log, number)) => self.logs.push(number),
            Some((FileKind::Table, number)) => self.tables.push(number),
            Some((FileKind::Values, number)) => self.values.push(number),
            None if name == names::CURRENT || name == names::LOCK || name == LOST => {}
            None if names::is_spare(&name) => {}
            None => self.others.push(name),
        }
    }

    pub fn manifest_path(&self, number: u64) -> PathBuf {
        self.path.join(names::manifest_name(number))
    }

    pub fn log_path(&self, number: u64) -> PathBuf {
        self.path.join(names::log_name(number))
    }

    pub fn table_path(&self, number: u64) -> PathBuf {
        self.path.join(names::table_name(number))
    }

    pub fn values_path(&self, number: u64) -> PathBuf {
        self.path.join(FileKind::Values.name(number))
    }

    /// The length of a file in bytes, 0 if it is missing.
    pub fn file_bytes(&self, path: &Path) -> Result<u64> {
        match ops::if_found(ops::open(&*self.fs, path, Access::Buffered))? {
            Some(file) => ops::len(&*file, path),
            None => Ok(0),
        }
    }
}

/// The sub-directory to which `repair` moves the files that it could not use.
pub(super) const LOST: &str = "lost";

/// The progress of a tool, in bytes of the files that it reads.
pub(super) struct Progress<'a> {
    report: &'a mut dyn FnMut(VerifyProgress<'_>),
    /// The bytes of the files that have been read.
    pub bytes_done: u64,
    bytes: u64,
}

impl<'a> Progress<'a> {
    pub fn new(bytes: u64, report: &'a mut dyn FnMut(VerifyProgress<'_>)) -> Self {
        Progress {
            report,
            bytes_done: 0,
            bytes,
        }
    }

    /// Reports that `file` is about to be read.
    pub fn begin(&mut self, file: &Path) {
        (self.report)(VerifyProgress {
            file,
            bytes_done: self.bytes_done,
            bytes: self.bytes,
        });
    }

    /// Counts `bytes` more as done.
    pub fn done(&mut self, bytes: u64) {
        self.bytes_done += bytes;
    }
}
