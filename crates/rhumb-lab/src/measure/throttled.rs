//! A file system that is as slow as a disk, for our own store where the operating system permits no slow device.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rhumb::fs::{Access, FileLock, FileSystem, LockMode, ReadFile, WriteFile};

/// The speed of a disk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Disk {
    /// The time that each call takes besides its bytes.
    pub call: Duration,
    /// The time before a call that does not begin where the last one ended.
    pub seek: Duration,
    /// Bytes a second.
    pub bytes_per_second: f64,
}

impl Disk {
    /// A hard disk.
    pub const HARD: Disk = Disk {
        call: Duration::ZERO,
        seek: Duration::from_millis(8),
        bytes_per_second: 150e6,
    };

    /// An SSD behind SATA, for a client that waits for each call.
    pub const SATA_SSD: Disk = Disk {
        call: Duration::from_micros(100),
        seek: Duration::ZERO,
        bytes_per_second: 500e6,
    };

    /// The time of a call.
    fn time(&self, bytes: u64, continues: bool) -> Duration {
        let transfer = Duration::from_secs_f64(bytes as f64 / self.bytes_per_second);
        match continues {
            true => self.call + transfer,
            false => self.call + self.seek + transfer,
        }
    }
}

/// A file system over another one, whose calls wait for one disk: reads past the page cache as long as they take on
/// it, writes when they are synced, and those that were begun behind those before. What is read through the page cache is not slowed down.
#[derive(Debug)]
pub struct ThrottledFs {
    inner: Arc<dyn FileSystem>,
    server: Arc<Server>,
}

/// The disk, which does one call after the other.
#[derive(Debug)]
struct Server {
    disk: Disk,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// When it will have done all calls so far.
    free: Instant,
    /// The file and the place where the last one ends.
    head: (PathBuf, u64),
}

impl Server {
    /// Waits until a call is done that begins at a place of a file. What the real device takes for it is a part of the time.
    fn serve(&self, began: Instant, path: &Path, at: u64, bytes: u64) {
        sleep_until(self.begin(began, path, at, bytes));
    }

    /// When a call will be done that waits for nothing yet.
    fn begin(&self, began: Instant, path: &Path, at: u64, bytes: u64) -> Instant {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let continues = state.head.0 == path && state.head.1 == at;
        state.free = state.free.max(began) + self.disk.time(bytes, continues);
        state.head = (path.to_path_buf(), at + bytes);
        state.free
    }
}

fn sleep_until(done: Instant) {
    std::thread::sleep(done.saturating_duration_since(Instant::now()));
}

impl ThrottledFs {
    /// Makes a file system as slow as a disk.
    pub fn new(inner: Arc<dyn FileSystem>, disk: Disk) -> ThrottledFs {
        let state = State {
            free: Instant::now(),
            head: (PathBuf::new(), 0),
        };
        ThrottledFs {
            inner,
            server: Arc::new(Server {
                disk,
                state: Mutex::new(state),
            }),
        }
    }
}

impl FileSystem for ThrottledFs {
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        let inner = self.inner.create(path)?;
        Ok(Box::new(Written::new(inner, path, &self.server)))
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn ReadFile>> {
        let inner = self.inner.open(path, access)?;
        Ok(match access {
            Access::Buffered => inner,
            Access::Direct => Arc::new(Read {
                inner,
                path: path.to_path_buf(),
                server: Arc::clone(&self.server),
            }),
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.inner.create_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.inner.list(path)
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        let began = Instant::now();
        self.inner.sync_file(path)?;
        self.server.serve(began, path, u64::MAX, 0);
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let began = Instant::now();
        self.inner.sync_dir(path)?;
        self.server.serve(began, path, u64::MAX, 0);
        Ok(())
    }

    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<Option<Box<dyn FileLock>>> {
        self.inner.lock(path, mode)
    }
}

/// A file that is read past the page cache.
#[derive(Debug)]
struct Read {
    inner: Arc<dyn ReadFile>,
    path: PathBuf,
    server: Arc<Server>,
}

impl ReadFile for Read {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let began = Instant::now();
        let read = self.inner.read_at(into, offset)?;
        self.server.serve(began, &self.path, offset, read as u64);
        Ok(read)
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn longest_hole(&self, enough: u64) -> io::Result<u64> {
        self.inner.longest_hole(enough)
    }
}

/// A file that is written.
#[derive(Debug)]
struct Written {
    inner: Box<dyn WriteFile>,
    path: PathBuf,
    server: Arc<Server>,
    progress: Mutex<Progress>,
}

#[derive(Debug)]
struct Progress {
    /// Bytes written, and those of them that the disk was asked to take.
    written: u64,
    begun: u64,
    /// When it will have taken them.
    done: Instant,
}

impl Written {
    fn new(inner: Box<dyn WriteFile>, path: &Path, server: &Arc<Server>) -> Written {
        Written {
            inner,
            path: path.to_path_buf(),
            server: Arc::clone(server),
            progress: Mutex::new(Progress {
                written: 0,
                begun: 0,
                done: Instant::now(),
            }),
        }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the disk to take what was written before, by `call`. Returns when it has what it was asked for before that, and when all.
    fn begin(&self, call: impl FnOnce() -> io::Result<()>) -> io::Result<[Instant; 2]> {
        let (began, all) = (Instant::now(), self.progress().written);
        call()?;
        let mut progress = self.progress();
        let (before, begun) = (progress.done, progress.begun);
        let bytes = all.saturating_sub(begun);
        progress.done = self.server.begin(began, &self.path, begun, bytes);
        progress.begun = begun.max(all);
        Ok([before, progress.done])
    }
}

impl WriteFile for Written {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.progress().written += written as u64;
        Ok(written)
    }

    fn preallocate(&self, offset: u64, bytes: u64) -> bool {
        self.inner.preallocate(offset, bytes)
    }

    fn begin_sync(&self) -> io::Result<()> {
        let [before, _] = self.begin(|| self.inner.begin_sync())?;
        sleep_until(before);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let [_, all] = self.begin(|| self.inner.sync())?;
        sleep_until(all);
        Ok(())
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.inner.truncate(length)?;
        let mut progress = self.progress();
        progress.written = length;
        progress.begun = progress.begun.min(length);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rhumb::fs::MemoryFileSystem;
    use rhumb::{Db, Durability, Options};

    use super::*;

    #[test]
    fn calls_that_go_on_need_no_seek() {
        let disk = Disk::HARD;
        assert_eq!(disk.time(150_000, true), Duration::from_millis(1));
        assert_eq!(disk.time(150_000, false), Duration::from_millis(9));
        let disk = Disk::SATA_SSD;
        assert_eq!(disk.time(5_000, true), Duration::from_micros(110));
        assert_eq!(disk.time(5_000, false), Duration::from_micros(110));
    }

    /// The disk takes what was begun in turn, and nobody waits for what he has just begun.
    #[test]
    fn what_was_begun_is_taken_in_turn() {
        let memory: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let slow = ThrottledFs::new(Arc::clone(&memory), Disk::SATA_SSD);
        let path = Path::new("/file");
        let file = Written::new(memory.create(path).unwrap(), path, &slow.server);
        let mut last = None;
        for bytes in [100_000, 50_000] {
            file.write(&vec![7; bytes]).unwrap();
            let [before, done] = file.begin(|| Ok(())).unwrap();
            assert!(last.is_none_or(|last| last == before));
            assert!(done >= before + Disk::SATA_SSD.time(bytes as u64, true));
            last = Some(done);
        }
        file.sync().unwrap();
        assert!(Some(Instant::now()) >= last);
    }

    /// A store over it holds what was written, and no sync returns before the disk has the bytes.
    #[test]
    fn a_store_waits_for_the_disk() {
        let disk = Disk {
            call: Duration::ZERO,
            seek: Duration::from_millis(3),
            bytes_per_second: 1e9,
        };
        let options = || Options {
            file_system: Arc::new(ThrottledFs::new(Arc::new(MemoryFileSystem::new()), disk)),
            durability: Durability::Immediate,
            access: Access::Direct,
            ..Options::default()
        };
        let db = Db::open("/db", options()).unwrap();
        let began = Instant::now();
        for number in 0..10_u8 {
            db.put([number], [number; 100]).unwrap();
        }
        // A lower bound: each write is synced, and other files are synced between.
        let took = began.elapsed();
        assert!(took >= Duration::from_micros(800), "{took:?}");
        for number in 0..10_u8 {
            assert_eq!(
                db.get([number]).unwrap().as_deref(),
                Some(&[number; 100][..])
            );
        }
        db.close().unwrap();
    }
}
