//! A panic in a background thread makes the store read-only, and no call waits for ever.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "all of it is test code"
)]

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use rhumb::fs::{Access, FileLock, FileSystem, LockMode, MemoryFileSystem, ReadFile, WriteFile};
use rhumb::{Db, Error, Options};

/// A file system that panics when a table is created.
#[derive(Debug)]
struct Panicking(MemoryFileSystem);

impl FileSystem for Panicking {
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        assert!(
            path.extension() != Some("table".as_ref()),
            "creating tables panics here"
        );
        self.0.create(path)
    }
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn ReadFile>> {
        self.0.open(path, access)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.0.create_dir(path)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.0.list(path)
    }
    fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.0.sync_file(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.0.sync_dir(path)
    }
    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<Option<Box<dyn FileLock>>> {
        self.0.lock(path, mode)
    }
}

#[test]
fn a_panic_in_the_background_makes_the_store_read_only() {
    let disk = MemoryFileSystem::new();
    let options = Options {
        file_system: Arc::new(Panicking(disk.clone())),
        ..Options::default()
    };
    let db = Db::open("store", options).unwrap();
    db.put("a", "1").unwrap();
    let (send, receive) = mpsc::channel();
    let waiting = std::thread::spawn(move || {
        let _ = send.send(db.flush());
        db
    });
    let flushed = receive.recv_timeout(Duration::from_secs(10));
    let flushed = flushed.expect("the flush waits for a thread that has ended");
    assert!(
        matches!(flushed, Err(Error::ReadOnly { .. })),
        "{flushed:?}"
    );
    let db = waiting.join().unwrap();
    assert!(matches!(db.put("b", "2"), Err(Error::ReadOnly { .. })));
    assert_eq!(db.get("a").unwrap().unwrap(), "1");
    drop(db);
    let options = Options {
        file_system: Arc::new(disk),
        ..Options::default()
    };
    let db = Db::open("store", options).unwrap();
    assert_eq!(db.get("a").unwrap().unwrap(), "1");
    db.flush().unwrap();
}
