//! Fills and drops the page cache of the operating system.

use std::fs::{self, File};
use std::io::{self, BufReader, Seek};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};

#[cfg(feature = "peer-lmdb")]
use super::Temperature;
use crate::error::{Error, Result};

/// Bytes of one read.
const READ_BYTES: usize = 1 << 20;

/// The files of a store, synced, so that all their pages can be dropped from memory.
#[derive(Debug)]
pub struct Pages(Vec<(PathBuf, File)>);

impl Pages {
    /// All files that are now in a directory and below it.
    ///
    /// # Errors
    /// If a file cannot be opened or synced.
    pub fn of(directory: &Path) -> Result<Pages> {
        let mut pages = Pages(Vec::new());
        pages.add(directory)?;
        Ok(pages)
    }

    #[cfg(feature = "peer-lmdb")]
    /// The same if the store is opened cold, else `None`.
    ///
    /// # Errors
    /// See [`Pages::of`].
    pub fn if_cold(temperature: Temperature, directory: &Path) -> Result<Option<Pages>> {
        match temperature {
            Temperature::Warm => Ok(None),
            Temperature::Cold => Pages::of(directory).map(Some),
        }
    }

    fn add(&mut self, directory: &Path) -> Result<()> {
        for entry in fs::read_dir(directory).map_err(Error::io("list", directory))? {
            let path = entry.map_err(Error::io("list", directory))?.path();
            if path.is_dir() {
                self.add(&path)?;
                continue;
            }
            let file = File::open(&path).map_err(Error::io("open", &path))?;
            file.sync_all().map_err(Error::io("sync", &path))?;
            self.0.push((path, file));
        }
        Ok(())
    }

    /// Reads all files once, from their first byte to their last, so that their pages are in memory as
    /// far as it holds them.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn enter(&self) -> Result<()> {
        self.0.iter().try_for_each(|(path, file)| {
            let mut reader = BufReader::with_capacity(READ_BYTES, file);
            let read = reader
                .rewind()
                .and_then(|()| io::copy(&mut reader, &mut io::sink()));
            read.map(drop).map_err(Error::io("read", path))
        })
    }

    /// Drops the pages of the files from memory, so that the next read of each comes from the
    /// device. Pages that are mapped into a process stay (`posix_fadvise`, `DONTNEED`).
    ///
    /// # Errors
    /// Any error of the operating system.
    pub fn leave(&self) -> Result<()> {
        self.0.iter().try_for_each(|(path, file)| {
            fadvise(file, 0, None, Advice::DontNeed)
                .map_err(|error| Error::io("drop the cached pages of", path)(error.into()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_below_are_found_and_keep_their_bytes() {
        let directory = tempfile::tempdir().unwrap();
        let below = directory.path().join("below");
        fs::create_dir(&below).unwrap();
        let paths = [directory.path().join("a"), below.join("b")];
        for path in &paths {
            fs::write(path, vec![7; 100_000]).unwrap();
        }
        let pages = Pages::of(directory.path()).unwrap();
        let mut found: Vec<&PathBuf> = pages.0.iter().map(|(path, _)| path).collect();
        found.sort();
        assert_eq!(found, [&paths[0], &paths[1]]);
        pages.leave().unwrap();
        for path in &paths {
            assert_eq!(fs::read(path).unwrap(), vec![7; 100_000]);
        }
    }
}
