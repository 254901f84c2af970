//! Files that background jobs write from front to back.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{FileSystem, WriteFile, ops};
use crate::error::Result;

/// Whenever so many bytes of a file were written, the device begins to take them, once it has taken those before. So it is busy
/// while more are made, and a sync of the log, or a read, does not wait behind much (docs/performance.md, Reads beside a
/// conversion).
const BEGIN_EVERY: u64 = 512 << 10;

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    file: Box<dyn WriteFile>,
    /// How many bytes were written that the device was not asked to take.
    not_begun: u64,
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
            not_begun: 0,
            time: started.elapsed(),
        })
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// If they cannot be written, or the device cannot take what was written before.
    #[track_caller]
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        // No closure, here and below: tests fail each call for itself, and tell them apart by their callers.
        let started = Instant::now();
        let written = self.append(bytes);
        self.time += started.elapsed();
        written
    }

    #[track_caller]
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        ops::write_all(&*self.file, &self.path, bytes)?;
        self.not_begun += bytes.len() as u64;
        if self.not_begun >= BEGIN_EVERY {
            self.not_begun = 0;
            ops::begin_sync(&*self.file, &self.path)?;
        }
        Ok(())
    }

    /// Makes durable what was written.
    ///
    /// # Errors
    /// If that fails; what was written may be lost then, even if a later sync succeeds.
    #[track_caller]
    pub fn sync(&mut self) -> Result<()> {
        let started = Instant::now();
        let synced = ops::sync(&*self.file, &self.path);
        self.time += started.elapsed();
        self.not_begun = 0;
        synced
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::fs::{Fault, FaultAt, FaultyFileSystem, FileCall, MemoryFileSystem, Plan};

    #[test]
    fn the_device_takes_large_files_as_they_grow() {
        let disk = FaultyFileSystem::new(Arc::new(MemoryFileSystem::new()), Plan::default());
        let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
        let mut output = Output::create(&fs, "file".into()).unwrap();
        let calls = |call| {
            let sites = disk.sites();
            let calls = sites.iter().filter(|(site, _)| site.call == call);
            calls.map(|(_, calls)| *calls).sum::<u64>()
        };
        let part = vec![7; 1 << 18];
        for written in 1..=10 {
            output.write(&part).unwrap();
            assert_eq!(calls(FileCall::BeginSync), written / 2);
        }
        assert_eq!(calls(FileCall::Sync), 0);
        output.sync().unwrap();
        assert_eq!((calls(FileCall::BeginSync), calls(FileCall::Sync)), (5, 1));
    }

    #[test]
    fn what_the_device_could_not_take_fails_the_next_write() {
        let plan = |call| Plan {
            fault: Some((FaultAt::Call(call), Fault::InputOutput)),
            ..Plan::default()
        };
        // The calls are a creation, a write and a beginning.
        let disk = FaultyFileSystem::new(Arc::new(MemoryFileSystem::new()), plan(3));
        let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
        let mut output = Output::create(&fs, "file".into()).unwrap();
        let failed = output.write(&vec![7; BEGIN_EVERY as usize]).unwrap_err();
        assert!(matches!(failed, Error::Io { .. }), "{failed}");
        assert!(
            failed.to_string().starts_with("cannot begin to sync file"),
            "{failed}"
        );
        let begun = |site: &crate::fs::Site| site.call == FileCall::BeginSync;
        assert_eq!(
            (
                disk.faults(),
                disk.sites().keys().filter(|s| begun(s)).count()
            ),
            (1, 1)
        );
    }
}
