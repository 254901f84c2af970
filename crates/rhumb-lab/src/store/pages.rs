//! The page cache of the operating system, kept away from stores that cannot read past it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};

#[cfg(feature = "peer-lmdb")]
use super::Temperature;
use crate::error::{Error, Result};

/// The files of a store, synced, so that none of their pages has to stay in memory.
#[derive(Debug)]
pub struct Pages(Vec<(PathBuf, File)>);

impl Pages {
    /// Of all files that are in a directory and below it now.
    ///
    /// # Errors
    /// If one cannot be opened or synced.
    pub fn of(directory: &Path) -> Result<Pages> {
        let mut pages = Pages(Vec::new());
        pages.add(directory)?;
        Ok(pages)
    }

    #[cfg(feature = "peer-lmdb")]
    /// For a store that is opened cold.
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

    /// Drops their pages from memory: the next read of each is one of the device. Pages that are
    /// mapped into a process stay (`posix_fadvise`, `DONTNEED`).
    ///
    /// # Errors
    /// Whatever the operating system says.
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
    fn every_file_below_is_found_and_keeps_its_bytes() {
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
