//! Files that background jobs write from front to back.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{FileSystem, WriteFile, ops};
use crate::error::Result;

/// Whenever so many bytes of a file were written, the device begins to take them, once it has taken those before. So it is busy
/// while more are made, and a sync of the log, or a read, does not wait behind much (docs/performance/tier.md, Reads
/// beside a conversion).
const BEGIN_EVERY: u64 = 512 << 10;

/// Room is set aside for so many bytes at a time, or as many as there are already: where the file system finds it for each write
/// of a piece, writing takes half as much more of the processor's time (docs/performance/merges.md).
const ROOM_BYTES: u64 = 1 << 20;

/// The size of pieces where few files are written at a time.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// In which pieces a file is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pieces {
    /// They end at multiples of this, a power of two: the page cache then takes a piece as few large pages, where the file
    /// system knows these, and none is written twice (docs/performance/merges.md).
    pub bytes: usize,
    /// The most memory for what is not written yet that is kept for what follows.
    pub kept: usize,
}

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    file: Box<dyn WriteFile>,
    pieces: Pieces,
    /// What was appended and is not written yet.
    pending: Vec<u8>,
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
    /// Creates a file that is written in such pieces. Its name is durable after the next sync of the directory.
    ///
    /// # Errors
    /// If it exists or cannot be created.
    #[track_caller]
    pub fn create(fs: &Arc<dyn FileSystem>, path: PathBuf, pieces: Pieces) -> Result<Output> {
        let started = Instant::now();
        let file = ops::create(&**fs, &path)?;
        Ok(Output {
            path,
            file,
            pieces,
            pending: Vec::with_capacity(pieces.bytes + pieces.bytes / 8),
            length: 0,
            room: 0,
            gets_room: true,
            not_begun: 0,
            time: started.elapsed(),
        })
    }

    /// The bytes that the file ends with and that are not written yet: what follows is appended to them.
    pub fn pending(&mut self) -> &mut Vec<u8> {
        &mut self.pending
    }

    /// The length of the file with what is not written yet.
    pub fn end(&self) -> u64 {
        self.length + self.pending.len() as u64
    }

    /// Writes the pieces that are full.
    ///
    /// # Errors
    /// If they cannot be written, or the device cannot take what was written before.
    #[track_caller]
    pub fn write_pieces(&mut self) -> Result<()> {
        let rest = (self.end() % self.pieces.bytes as u64) as usize;
        // Behind a sync the rest may be longer than what was appended.
        let full = self.pending.len().saturating_sub(rest);
        if full == 0 {
            return Ok(());
        }
        // Room grows with the file, so that many small ones take little.
        self.write(full, self.length.min(ROOM_BYTES))?;
        self.not_begun += full as u64;
        if self.not_begun < BEGIN_EVERY {
            return Ok(());
        }
        self.not_begun = 0;
        // No closure, here and below: tests fail each call for itself, and tell them apart by their callers.
        let started = Instant::now();
        let begun = ops::begin_sync(&*self.file, &self.path);
        self.time += started.elapsed();
        begun
    }

    /// Writes the first of the pending bytes. Where there is no room for them, it is set aside for `ahead` bytes at least.
    #[track_caller]
    fn write(&mut self, bytes: usize, ahead: u64) -> Result<()> {
        let started = Instant::now();
        self.make_room(bytes as u64, ahead);
        let first = self.pending.get(..bytes).unwrap_or_default();
        let written = ops::write_all(&*self.file, &self.path, first);
        if written.is_ok() {
            self.length += bytes as u64;
            self.pending.drain(..bytes);
            self.pending.shrink_to(self.pieces.kept);
        }
        self.time += started.elapsed();
        written
    }

    /// Sets room aside for the next bytes, or for `ahead` of them if these are more, if the file has some already: many have no more
    /// than one piece.
    fn make_room(&mut self, bytes: u64, ahead: u64) {
        let start = self.length.max(self.room);
        if self.length == 0 || !self.gets_room || self.length + bytes <= start {
            return;
        }
        let end = self.length + bytes.max(ahead);
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

    /// Writes the rest and makes all of it durable.
    ///
    /// # Errors
    /// If that fails; what was written may be lost then, even if a later sync succeeds.
    #[track_caller]
    pub fn sync(&mut self) -> Result<()> {
        self.write(self.pending.len(), 0)?;
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
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::error::Error;
    use crate::fs::{Fault, FaultAt, FaultyFileSystem, FileCall, MemoryFileSystem, Plan};

    /// Pieces of a page.
    const SMALL: Pieces = Pieces {
        bytes: 4 << 10,
        kept: 4 << 10,
    };

    fn append(output: &mut Output, bytes: &[u8]) {
        output.pending().extend_from_slice(bytes);
        output.write_pieces().unwrap();
    }

    #[test]
    fn the_device_takes_large_files_as_they_grow() {
        let disk = FaultyFileSystem::new(Arc::new(MemoryFileSystem::new()), Plan::default());
        let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
        let mut output = Output::create(&fs, "file".into(), SMALL).unwrap();
        let calls = |call| disk.calls_of(call);
        let part = vec![7; 1 << 18];
        for written in 1..=10 {
            append(&mut output, &part);
            assert_eq!(calls(FileCall::BeginSync), written / 2);
        }
        assert_eq!(calls(FileCall::Sync), 0);
        output.sync().unwrap();
        assert_eq!((calls(FileCall::BeginSync), calls(FileCall::Sync)), (5, 1));
    }

    #[test]
    fn pieces_end_at_multiples_of_their_size() {
        let disk = FaultyFileSystem::new(Arc::new(MemoryFileSystem::new()), Plan::default());
        let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
        let path = std::path::Path::new("file");
        let mut output = Output::create(&fs, path.into(), SMALL).unwrap();
        let lengths = [100, 3_995, 1, 5_000, 0, 20_000, 7_768, 1_000];
        let (mut end, mut expected) = (0, Vec::new());
        for (i, length) in lengths.into_iter().enumerate() {
            let bytes = vec![i as u8; length];
            append(&mut output, &bytes);
            expected.extend_from_slice(&bytes);
            end += length as u64;
            assert_eq!(output.end(), end);
            let read = ops::read_all(&*fs, path).unwrap();
            let written = expected.len() / SMALL.bytes * SMALL.bytes;
            assert!(read == expected[..written], "{} {written}", read.len());
            assert!(output.pending().capacity() <= 2 * SMALL.bytes);
        }
        // All others of these calls left a piece unfinished.
        assert_eq!(disk.calls_of(FileCall::Write), 4);
        output.sync().unwrap();
        assert!(ops::read_all(&*fs, path).unwrap() == expected);
        assert_eq!(disk.calls_of(FileCall::Write), 5);
    }

    /// Writes parts to a file of the operating system, and returns how many bytes of room the file takes beyond its length before and
    /// after a sync.
    fn room_behind(parts: &[usize]) -> (u64, u64) {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let fs: Arc<dyn FileSystem> = Arc::new(crate::fs::OsFileSystem::new());
        let path = dir.path().join("file");
        let mut output = Output::create(&fs, path.clone(), SMALL).unwrap();
        let length: usize = parts.iter().sum();
        let behind = || {
            let about = std::fs::metadata(&path).unwrap();
            assert_eq!(about.len(), length as u64);
            (about.blocks() * 512).saturating_sub(about.len())
        };
        for (i, part) in parts.iter().enumerate() {
            append(&mut output, &vec![i as u8; *part]);
        }
        let before = behind();
        output.sync().unwrap();
        let parts = parts.iter().enumerate();
        let expected: Vec<u8> = parts.flat_map(|(i, n)| vec![i as u8; *n]).collect();
        assert!(std::fs::read(&path).unwrap() == expected);
        (before, behind())
    }

    /// A file that only counts how often room is set aside.
    #[derive(Debug, Default)]
    struct CountsRoom(AtomicU64);

    impl WriteFile for Arc<CountsRoom> {
        fn write(&self, bytes: &[u8]) -> std::io::Result<usize> {
            Ok(bytes.len())
        }

        fn preallocate(&self, _: u64, _: u64) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed);
            true
        }

        fn sync(&self) -> std::io::Result<()> {
            Ok(())
        }

        fn truncate(&self, _: u64) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn room_is_set_aside_for_many_pieces_at_a_time() {
        let fs: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let mut output = Output::create(&fs, "file".into(), SMALL).unwrap();
        let file = Arc::new(CountsRoom::default());
        output.file = Box::new(Arc::clone(&file));
        for _ in 0..1_024 {
            append(&mut output, &[1; 4 << 10]);
        }
        // Twice as much each time up to a MiB, and then a MiB.
        assert_eq!(file.0.load(Ordering::Relaxed), 8 + 3);
    }

    #[test]
    fn room_that_was_set_aside_is_given_back() {
        let (before, after) = room_behind(&[1 << 18, 1 << 18, 4 << 10]);
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
        let cuts = || disk.calls_of(FileCall::Truncate);
        let mut output = Output::create(&fs, "file".into(), SMALL).unwrap();
        append(&mut output, &[1; 100]);
        output.sync().unwrap();
        assert_eq!(cuts(), 0);
        append(&mut output, &[2; 10_000]);
        append(&mut output, &[3; 4_000]);
        output.sync().unwrap();
        output.sync().unwrap();
        assert_eq!(cuts(), 1);
        append(&mut output, &vec![4; 3 << 20]);
        append(&mut output, &[5; 5_000]);
        output.sync().unwrap();
        assert_eq!(cuts(), 2);
        let file = fs
            .open(std::path::Path::new("file"), crate::fs::Access::Buffered)
            .unwrap();
        assert_eq!(file.len().unwrap(), 19_100 + (3 << 20));
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
        let mut output = Output::create(&fs, "file".into(), SMALL).unwrap();
        let bytes = vec![7; BEGIN_EVERY as usize];
        output.pending().extend_from_slice(&bytes);
        let failed = output.write_pieces().unwrap_err();
        assert!(matches!(failed, Error::Io { .. }), "{failed}");
        assert!(
            failed.to_string().starts_with("cannot begin to sync file"),
            "{failed}"
        );
        assert_eq!((output.end(), output.pending().len()), (BEGIN_EVERY, 0));
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
