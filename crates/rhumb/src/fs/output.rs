//! Files that background jobs write from front to back.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{FileSystem, WriteFile, ops};
use crate::error::Result;

/// A file is synced whenever so many bytes of it were written: the device gets them while more are made, and a sync of
/// the log, or a read, does not wait behind much (docs/performance.md, Reads beside a conversion).
const MOST_UNSYNCED: u64 = 1 << 20;

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    file: Box<dyn WriteFile>,
    unsynced: u64,
    /// The time spent creating, writing and syncing it.
    pub time: Duration,
}

impl Output {
    /// Creates a file. Its name is durable after the next sync of the directory.
    ///
    /// # Errors
    /// If it exists or cannot be created.
    #[track_caller]
    pub fn create(fs: &Arc<dyn FileSystem>, path: PathBuf) -> Result<Output> {
        let started = Instant::now();
        let file = ops::create(&**fs, &path)?;
        Ok(Output {
            path,
            file,
            unsynced: 0,
            time: started.elapsed(),
        })
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// If they cannot be written, or what was written before cannot be synced.
    #[track_caller]
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let started = Instant::now();
        let written = ops::write_all(&*self.file, &self.path, bytes);
        self.time += started.elapsed();
        written?;
        self.unsynced += bytes.len() as u64;
        match self.unsynced >= MOST_UNSYNCED {
            true => self.sync(),
            false => Ok(()),
        }
    }

    /// Makes durable what was written.
    ///
    /// # Errors
    /// If that fails; what was written may be lost then, even if a later sync succeeds.
    #[track_caller]
    pub fn sync(&mut self) -> Result<()> {
        // No closure: tests leave out each sync for itself, and tell them apart by their callers.
        let started = Instant::now();
        let synced = ops::sync(&*self.file, &self.path);
        self.time += started.elapsed();
        synced?;
        self.unsynced = 0;
        Ok(())
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::fs::{FaultyFileSystem, FileCall, MemoryFileSystem, Plan};

    #[test]
    fn large_files_are_synced_as_they_grow() {
        let disk = FaultyFileSystem::new(Arc::new(MemoryFileSystem::new()), Plan::default());
        let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
        let mut output = Output::create(&fs, "file".into()).unwrap();
        let syncs = || {
            let sites = disk.sites();
            let syncs = sites.iter().filter(|(site, _)| site.call == FileCall::Sync);
            syncs.map(|(_, calls)| *calls).sum::<u64>()
        };
        let part = vec![7; 1 << 18];
        for written in 1..=10 {
            output.write(&part).unwrap();
            assert_eq!(syncs(), written / 4);
        }
        output.sync().unwrap();
        assert_eq!(syncs(), 3);
    }
}
