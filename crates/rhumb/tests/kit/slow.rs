//! A file system whose syncs take time, as those of a disk do, and which can hold merges up.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rhumb::fs::{Access, FileLock, FileSystem, LockMode, ReadFile, WriteFile};

/// What takes time. Clones share the settings.
#[derive(Debug, Default, Clone)]
pub struct Delays {
    sync_micros: Arc<AtomicU64>,
    syncs_wait: Arc<AtomicBool>,
    waiting_syncs: Arc<AtomicU64>,
    merges_wait: Arc<AtomicBool>,
    merge_rate: Arc<AtomicU64>,
}

impl Delays {
    /// How long each sync takes from now on, at least.
    pub fn set_sync(&self, time: Duration) {
        let micros = time.as_micros() as u64;
        self.sync_micros.store(micros, Ordering::SeqCst);
    }

    /// Whether syncs wait, all of them, until they are held no longer.
    pub fn hold_syncs(&self, hold: bool) {
        self.syncs_wait.store(hold, Ordering::SeqCst);
    }

    /// Waits until a sync waits.
    pub fn wait_for_a_sync(&self) {
        while self.waiting_syncs.load(Ordering::SeqCst) == 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether merges wait before each table that they begin. Flushes do not.
    pub fn hold_merges(&self, hold: bool) {
        self.merges_wait.store(hold, Ordering::SeqCst);
    }

    /// How many bytes a second a merge can write from now on; 0 for no limit. Flushes are not limited.
    pub fn set_merge_rate(&self, bytes: u64) {
        self.merge_rate.store(bytes, Ordering::SeqCst);
    }

    fn write(&self, bytes: usize) {
        let rate = self.merge_rate.load(Ordering::SeqCst);
        if rate > 0 {
            thread::sleep(Duration::from_secs_f64(bytes as f64 / rate as f64));
        }
    }

    fn sync(&self) {
        let time = Duration::from_micros(self.sync_micros.load(Ordering::SeqCst));
        if !time.is_zero() {
            thread::sleep(time);
        }
        self.waiting_syncs.fetch_add(1, Ordering::SeqCst);
        while self.syncs_wait.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
        self.waiting_syncs.fetch_sub(1, Ordering::SeqCst);
    }

    fn create(&self, path: &Path) {
        if of_merge(path) {
            while self.merges_wait.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

/// Whether it is a table that this thread, which does not flush, begins.
fn of_merge(path: &Path) -> bool {
    let table = path.extension() == Some("table".as_ref());
    table && thread::current().name() != Some("rhumb-flush")
}

/// Passes calls on, some of them late.
#[derive(Debug, Clone)]
pub struct Slow<F> {
    pub inner: F,
    pub delays: Delays,
}

impl<F: FileSystem> FileSystem for Slow<F> {
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        self.delays.create(path);
        let inner = self.inner.create(path)?;
        Ok(Box::new(SlowFile {
            inner,
            of_merge: of_merge(path),
            delays: self.delays.clone(),
        }))
    }

    pass_calls_on!();

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.delays.sync();
        self.inner.sync_file(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.delays.sync();
        self.inner.sync_dir(path)
    }
}

#[derive(Debug)]
struct SlowFile {
    inner: Box<dyn WriteFile>,
    of_merge: bool,
    delays: Delays,
}

impl WriteFile for SlowFile {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        if self.of_merge {
            self.delays.write(bytes.len());
        }
        self.inner.write(bytes)
    }

    fn begin_sync(&self) -> io::Result<()> {
        self.inner.begin_sync()
    }

    fn sync(&self) -> io::Result<()> {
        self.delays.sync();
        self.inner.sync()
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.inner.truncate(length)
    }
}
