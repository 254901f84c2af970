//! A file system that records the disk at every moment at which the power could be cut.

use std::io;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rhumb::fs::{Access, FileLock, FileSystem, LockMode, MemoryFileSystem, ReadFile, WriteFile};

/// How much of the commit order was submitted, and how much is durable.
#[derive(Debug, Default, Clone, Copy)]
pub struct Progress {
    /// The number of crashes that lost events; prefixes of different generations differ.
    pub generation: usize,
    /// How many events must be found after a loss of power.
    pub durable: usize,
    /// How many events may be found.
    pub submitted: usize,
}

/// Shared by the writer and those that look at the disk meanwhile.
pub type SharedProgress = Arc<Mutex<Progress>>;

/// A moment at which the power is cut.
#[derive(Debug, Clone)]
pub struct Point {
    /// The disk, including what is not synced yet.
    pub disk: MemoryFileSystem,
    pub generation: usize,
    /// How many events may be found.
    pub legal: RangeInclusive<usize>,
    /// The call in progress.
    pub call: String,
}

/// The moments recorded so far.
#[derive(Debug, Default)]
pub struct Record {
    pub points: Vec<Point>,
    pub calls: usize,
    pub stopped: bool,
}

/// Passes calls on, and copies the disk before, during and after each one that changes it.
#[derive(Debug, Clone)]
pub struct Recorder {
    disk: MemoryFileSystem,
    progress: SharedProgress,
    record: Arc<Mutex<Record>>,
}

pub fn held<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recorder {
    pub fn new(disk: MemoryFileSystem, progress: SharedProgress) -> Self {
        let record = Arc::default();
        Recorder {
            disk,
            progress,
            record,
        }
    }

    pub fn record(&self) -> Arc<Mutex<Record>> {
        self.record.clone()
    }

    /// Makes one call at a time, so that each copy shows one moment.
    fn mutate<T>(
        &self,
        name: &str,
        path: &Path,
        make: impl FnOnce(&mut dyn FnMut(&str)) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut record = held(&self.record);
        if record.stopped {
            return make(&mut |_| {});
        }
        record.calls += 1;
        let call = record.calls;
        let mut keep = |when: &str| {
            // An event acknowledged before the copy must be in it; one submitted by its end may be.
            let before = *held(&self.progress);
            let disk = self.disk.fork();
            let after = *held(&self.progress);
            let file = path.file_name().unwrap_or_default().display();
            record.points.push(Point {
                disk,
                generation: after.generation,
                legal: before.durable.min(after.durable)..=after.submitted,
                call: format!("{when} call {call}, {name} {file}"),
            });
        };
        keep("before");
        let made = make(&mut keep);
        keep("after");
        made
    }
}

impl FileSystem for Recorder {
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        let file = self.mutate("create", path, |_| self.disk.create(path))?;
        let (recorder, path) = (self.clone(), path.to_path_buf());
        Ok(Box::new(RecordedFile {
            file,
            recorder,
            path,
        }))
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn ReadFile>> {
        self.disk.open(path, access)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.mutate("rename", from, |_| self.disk.rename(from, to))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.mutate("link", to, |_| self.disk.link(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.mutate("remove", path, |_| self.disk.remove(path))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.mutate("create directory", path, |_| self.disk.create_dir(path))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.disk.list(path)
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.mutate("sync", path, |_| self.disk.sync_file(path))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.mutate("sync directory", path, |_| self.disk.sync_dir(path))
    }

    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<Option<Box<dyn FileLock>>> {
        self.disk.lock(path, mode)
    }
}

#[derive(Debug)]
struct RecordedFile {
    file: Box<dyn WriteFile>,
    recorder: Recorder,
    path: std::path::PathBuf,
}

impl WriteFile for RecordedFile {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let file = &self.file;
        self.recorder.mutate("write", &self.path, |keep| {
            let (first, second) = bytes.split_at(bytes.len() / 2);
            file.write(first)?;
            keep("amid");
            file.write(second)?;
            Ok(bytes.len())
        })
    }

    fn begin_sync(&self) -> io::Result<()> {
        self.file.begin_sync()
    }

    fn sync(&self) -> io::Result<()> {
        let sync = |_: &mut dyn FnMut(&str)| self.file.sync();
        self.recorder.mutate("sync", &self.path, sync)
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        let cut = |_: &mut dyn FnMut(&str)| self.file.truncate(length);
        self.recorder.mutate("truncate", &self.path, cut)
    }
}
