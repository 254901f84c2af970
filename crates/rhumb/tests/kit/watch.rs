//! A file system that makes merges run side by side, and counts those that do.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use rhumb::fs::{Access, FileLock, FileSystem, LockMode, ReadFile, WriteFile};

use super::recorder::held;

/// The tables that merges are writing, by thread. Clones share the state.
#[derive(Debug, Default, Clone)]
pub struct Merging {
    writing: Arc<Mutex<BTreeMap<String, usize>>>,
    begun: Arc<Condvar>,
    beside: Arc<AtomicU64>,
    /// How long a merge waits at each table for another merge: with a disk in memory, merges would
    /// hardly ever run side by side.
    pub patience: Duration,
}

impl Merging {
    /// How many tables were begun while another thread wrote a table of another merge.
    pub fn beside(&self) -> u64 {
        self.beside.load(Ordering::Relaxed)
    }

    /// Notes that this thread writes a table. Flushes are not counted.
    fn begin(&self, path: &Path) -> Option<Writing> {
        let table = path.extension() == Some("table".as_ref());
        if !table || thread::current().name() == Some("rhumb-flush") {
            return None;
        }
        let own = name(thread::current().id());
        let mut writing = held(&self.writing);
        *writing.entry(own.clone()).or_default() += 1;
        self.begun.notify_all();
        if !self.patience.is_zero() {
            let alone = |w: &mut BTreeMap<String, usize>| w.len() < 2;
            let waited = self.begun.wait_timeout_while(writing, self.patience, alone);
            writing = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if writing.len() > 1 {
            self.beside.fetch_add(1, Ordering::Relaxed);
        }
        drop(writing);
        Some(Writing(self.clone(), own))
    }
}

fn name(thread: ThreadId) -> String {
    format!("{thread:?}")
}

/// A table being written by a thread.
#[derive(Debug)]
struct Writing(Merging, String);

impl Drop for Writing {
    fn drop(&mut self) {
        let mut writing = held(&self.0.writing);
        if let Some(count) = writing.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                writing.remove(&self.1);
            }
        }
    }
}

/// Passes calls on, and notes the tables being written.
#[derive(Debug, Clone)]
pub struct Watch<F> {
    pub inner: F,
    pub merging: Merging,
}

impl<F: FileSystem> FileSystem for Watch<F> {
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        let file = self.inner.create(path)?;
        let writing = self.merging.begin(path);
        Ok(Box::new(Watched {
            file,
            patience: self.merging.patience,
            _writing: writing,
        }))
    }

    pass_calls_on!();

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.inner.sync_file(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.inner.sync_dir(path)
    }
}

/// A file being written.
#[derive(Debug)]
struct Watched {
    file: Box<dyn WriteFile>,
    /// How long the thread that ends logs waits before it syncs one, so that writers go on in the next.
    patience: Duration,
    _writing: Option<Writing>,
}

impl WriteFile for Watched {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn begin_sync(&self) -> io::Result<()> {
        self.file.begin_sync()
    }

    fn sync(&self) -> io::Result<()> {
        if thread::current().name() == Some("rhumb-log") {
            thread::sleep(self.patience);
        }
        self.file.sync()
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.file.truncate(length)
    }
}
