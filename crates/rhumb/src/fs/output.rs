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

/// Room is set aside for so many bytes at a time, or as many as there are already: where the file system finds it for each write
/// of a piece, writing takes half as much more of the processor's time (docs/performance.md, Flushes and merges).
const ROOM_BYTES: u64 = 1 << 20;

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    file: Box<dyn WriteFile>,
    /// How many bytes were written.
    length: u64,
    /// How far room was set aside, at most, and whether it could be.
    room: u64,
    gets_room: bool,
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
            length: 0,
            room: 0,
            gets_room: true,
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
        let added = bytes.len() as u64;
        self.make_room(added);
        ops::write_all(&*self.file, &self.path, bytes)?;
        self.length += added;
        self.not_begun += added;
        if self.not_begun >= BEGIN_EVERY {
            self.not_begun = 0;
            ops::begin_sync(&*self.file, &self.path)?;
        }
        Ok(())
    }

    /// Sets room aside for the next bytes, if the file has some already: many have no more than one piece. It grows with the file, so
    /// that many small ones take little.
    fn make_room(&mut self, bytes: u64) {
        let start = self.length.max(self.room);
        if self.length == 0 || !self.gets_room || self.length + bytes <= start {
            return;
        }
        let end = self.length + bytes.max(self.length.min(ROOM_BYTES));
        // Some may be there although not all is.
        self.room = end;
        self.gets_room = self.file.preallocate(start, end - start);
    }

    /// Gives back the room behind the bytes that were written.
    #[track_caller]
    fn give_back_room(&mut self) -> Result<()> {
        if self.room > self.length {
            ops::truncate(&*self.file, &self.path, self.length)?;
            self.room = self.length;
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
        let synced = match self.give_back_room() {
            Ok(()) => ops::sync(&*self.file, &self.path),
            failed => failed,
        };
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

    /// How many calls of a kind were made.
    fn calls(disk: &FaultyFileSystem, call: FileCall) -> u64 {
        let sites = disk.sites();
        let calls = sites.iter().filter(|(site, _)| site.call == call);
        calls.map(|(_, calls)| *calls).sum()
    }

    #[test]
    fn the_device_takes_large_files_as_they_grow() {
        let disk = FaultyFileSystem::new(Arc::new(MemoryFileSystem::new()), Plan::default());
        let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
        let mut output = Output::create(&fs, "file".into()).unwrap();
        let calls = |call| calls(&disk, call);
        let part = vec![7; 1 << 18];
        for written in 1..=10 {
            output.write(&part).unwrap();
            assert_eq!(calls(FileCall::BeginSync), written / 2);
        }
        assert_eq!(calls(FileCall::Sync), 0);
        output.sync().unwrap();
        assert_eq!((calls(FileCall::BeginSync), calls(FileCall::Sync)), (5, 1));
    }

    /// Writes pieces to a file of the operating system, and returns how many bytes of room the file takes beyond its length before and
    /// after a sync.
    fn room_behind(pieces: &[usize]) -> (u64, u64) {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let fs: Arc<dyn FileSystem> = Arc::new(crate::fs::OsFileSystem::new());
        let path = dir.path().join("file");
        let mut output = Output::create(&fs, path.clone()).unwrap();
        let length: usize = pieces.iter().sum();
        let behind = || {
            let about = std::fs::metadata(&path).unwrap();
            assert_eq!(about.len(), length as u64);
            (about.blocks() * 512).saturating_sub(about.len())
        };
        for (i, piece) in pieces.iter().enumerate() {
            output.write(&vec![i as u8; *piece]).unwrap();
        }
        let before = behind();
        output.sync().unwrap();
        let pieces = pieces.iter().enumerate();
        let expected: Vec<u8> = pieces.flat_map(|(i, n)| vec![i as u8; *n]).collect();
        assert!(std::fs::read(&path).unwrap() == expected);
        (before, behind())
    }

    #[test]
    fn room_that_was_set_aside_is_given_back() {
        let (before, after) = room_behind(&[1 << 18, 1 << 18, 1_000]);
        if before < 1 << 18 {
            println!("the file system sets no room aside");
            return;
        }
        assert!(after < 64 << 10, "{before} {after}");
    }

    #[test]
    fn what_was_written_without_room_is_cut_nowhere() {
        let disk = FaultyFileSystem::new(Arc::new(MemoryFileSystem::new()), Plan::default());
        let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
        let cuts = |disk: &FaultyFileSystem| calls(disk, FileCall::Truncate);
        let mut output = Output::create(&fs, "file".into()).unwrap();
        output.write(&[1; 100]).unwrap();
        output.sync().unwrap();
        assert_eq!(cuts(&disk), 0);
        output.write(&[2; 100]).unwrap();
        output.write(&[3; 100]).unwrap();
        output.sync().unwrap();
        output.sync().unwrap();
        assert_eq!(cuts(&disk), 1);
        output.write(&vec![4; 3 << 20]).unwrap();
        output.write(&[5; 100]).unwrap();
        output.sync().unwrap();
        assert_eq!(cuts(&disk), 2);
        let file = fs
            .open(std::path::Path::new("file"), crate::fs::Access::Buffered)
            .unwrap();
        assert_eq!(file.len().unwrap(), 400 + (3 << 20));
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
