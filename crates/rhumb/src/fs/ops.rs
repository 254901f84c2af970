//! The only calls by which the store reaches its files.
//!
//! Each adds the path to errors, continues after interrupted and short calls, and notes its call
//! site, so that tests can fail every call site of the store once and show that they did.

#[cfg(feature = "test-kit")]
use std::cell::Cell;
use std::io;
#[cfg(feature = "test-kit")]
use std::panic::Location;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::special::sparse;
use super::{Access, FileLock, FileSystem, LockMode, ReadFile, WriteFile};
use crate::error::{Error, Result};

/// The shortest hole that is refused: reading a longer one would take minutes. A file system may leave out
/// zeros that were written, but a store has so many in one piece only in a value of zeros of this size.
const LONGEST_HOLE: u64 = 512 << 20;

/// Up to so many bytes are read without asking whether they were written.
const SMALL_BYTES: u64 = 1 << 20;

#[cfg(feature = "test-kit")]
thread_local! {
    static SITE: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}

/// The source location of the call under way on this thread; `None` if the call did not go
/// through this module.
#[cfg(feature = "test-kit")]
pub(super) fn current_site() -> Option<&'static Location<'static>> {
    SITE.get()
}

/// Makes one call. For the test kit, the caller's location is its site.
#[track_caller]
fn call<T>(make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    #[cfg(feature = "test-kit")]
    SITE.set(Some(Location::caller()));
    let result = make();
    #[cfg(feature = "test-kit")]
    SITE.set(None);
    result
}

/// Adds the time that `work` takes to `total`.
pub(crate) fn timed<T>(total: &mut Duration, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let done = work();
    *total += started.elapsed();
    done
}

/// Repeats a call as long as it is interrupted.
#[track_caller]
fn retry<T>(op: &'static str, path: &Path, mut make: impl FnMut() -> io::Result<T>) -> Result<T> {
    loop {
        match call(&mut make) {
            Ok(done) => return Ok(done),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Error::io(op, path, e)),
        }
    }
}

/// Turns the error of a missing file into `None`.
///
/// # Errors
/// Every other error, unchanged.
pub(crate) fn if_found<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// Creates an empty file for appending.
///
/// # Errors
/// If it exists, or cannot be created.
#[track_caller]
pub(crate) fn create(fs: &dyn FileSystem, path: &Path) -> Result<Box<dyn WriteFile>> {
    retry("create", path, || fs.create(path))
}

/// Opens an existing file for reading.
///
/// # Errors
/// If it is missing (see [`if_found`]) or cannot be opened.
#[track_caller]
pub(crate) fn open(fs: &dyn FileSystem, path: &Path, access: Access) -> Result<Arc<dyn ReadFile>> {
    retry("open", path, || fs.open(path, access))
}

/// Renames a file, replacing the target.
///
/// # Errors
/// With the path of the file that was to be renamed.
#[track_caller]
pub(crate) fn rename(fs: &dyn FileSystem, from: &Path, to: &Path) -> Result<()> {
    retry("rename", from, || fs.rename(from, to))
}

/// Gives a file a second name, which must be free.
///
/// # Errors
/// With the path of the second name.
#[track_caller]
pub(crate) fn link(fs: &dyn FileSystem, from: &Path, to: &Path) -> Result<()> {
    retry("link", to, || fs.link(from, to))
}

/// Removes a file.
///
/// # Errors
/// If it is missing (see [`if_found`]) or cannot be removed.
#[track_caller]
pub(crate) fn remove(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    retry("remove", path, || fs.remove(path))
}

/// Creates a directory and the missing ones above it, durably.
///
/// # Errors
/// If one of them cannot be created; some of the directories above it may then exist.
#[track_caller]
pub(crate) fn create_dir(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    retry("create directory", path, || fs.create_dir(path))
}

/// The names of the files in a directory.
///
/// # Errors
/// If the directory is missing (see [`if_found`]) or cannot be read.
#[track_caller]
pub(crate) fn list(fs: &dyn FileSystem, path: &Path) -> Result<Vec<String>> {
    retry("list", path, || fs.list(path))
}

/// Makes the contents of an existing file durable.
///
/// # Errors
/// If it cannot be opened or synced. Unsynced bytes may then be lost even if a later sync succeeds.
#[track_caller]
pub(crate) fn sync_file(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    retry("sync", path, || fs.sync_file(path))
}

/// Makes creations, renames and removals in a directory durable.
///
/// # Errors
/// If it cannot be opened or synced.
#[track_caller]
pub(crate) fn sync_dir(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    retry("sync directory", path, || fs.sync_dir(path))
}

/// Takes a lock on a file, which is created if it is missing; `None` if the lock is held elsewhere.
///
/// # Errors
/// If the file cannot be opened or locked for another reason.
#[track_caller]
pub(crate) fn lock(
    fs: &dyn FileSystem,
    path: &Path,
    mode: LockMode,
) -> Result<Option<Box<dyn FileLock>>> {
    retry("lock", path, || fs.lock(path, mode))
}

/// Has the device begin to take what was written to a file.
///
/// # Errors
/// If what was written before could not be. It may then be lost, even if a later sync succeeds.
#[track_caller]
pub(crate) fn begin_sync(file: &dyn WriteFile, path: &Path) -> Result<()> {
    retry("begin to sync", path, || file.begin_sync())
}

/// Makes everything written to a file durable.
///
/// # Errors
/// If the sync failed. What was written since the last sync may then be lost, even if a later sync
/// succeeds.
#[track_caller]
pub(crate) fn sync(file: &dyn WriteFile, path: &Path) -> Result<()> {
    retry("sync", path, || file.sync())
}

/// Cuts off what follows the first `length` bytes of a file; the next write appends there.
///
/// # Errors
/// If the operating system refuses. The file may then be as long as before.
#[track_caller]
pub(crate) fn truncate(file: &dyn WriteFile, path: &Path, length: u64) -> Result<()> {
    retry("truncate", path, || file.truncate(length))
}

/// The length of a file in bytes.
///
/// # Errors
/// If the operating system does not tell it.
#[track_caller]
pub(crate) fn len(file: &dyn ReadFile, path: &Path) -> Result<u64> {
    retry("measure", path, || file.len())
}

/// Appends all of `bytes`, continuing after short and interrupted writes.
///
/// # Errors
/// The first other error, with the path. Some of the bytes may then have been written.
#[track_caller]
pub(crate) fn write_all(file: &dyn WriteFile, path: &Path, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        match retry("write", path, || file.write(bytes))? {
            0 => return Err(Error::io("write", path, io::ErrorKind::WriteZero.into())),
            n => bytes = bytes.get(n..).unwrap_or_default(),
        }
    }
    Ok(())
}

/// Tells the system that a part of a file will be read soon, if it can be told: see [`ReadFile::will_need`].
pub(crate) fn will_need(file: &dyn ReadFile, offset: u64, bytes: usize) -> bool {
    file.will_need(offset, bytes)
}

/// Fills `into` from `offset`, continuing after short and interrupted reads.
///
/// # Errors
/// [`Error::Corruption`] if the file ends too early; any other error with the path.
#[track_caller]
pub(crate) fn read_exact_at(
    file: &dyn ReadFile,
    path: &Path,
    into: &mut [u8],
    offset: u64,
) -> Result<()> {
    let len = into.len();
    read_parts(path, len, offset, |done, at| {
        file.read_at(into.get_mut(done..).unwrap_or_default(), at)
    })
}

/// Calls `read` with the bytes that are done, of `len`, and the place of the next, until all are.
#[track_caller]
fn read_parts(
    path: &Path,
    len: usize,
    offset: u64,
    mut read: impl FnMut(usize, u64) -> io::Result<usize>,
) -> Result<()> {
    let mut done = 0;
    while done < len {
        let at = offset.saturating_add(done as u64);
        match retry("read", path, || read(done, at))? {
            0 => {
                let expected = format!("{} more bytes", len - done);
                return Err(Error::corruption(path, at, expected, "end of file"));
            }
            n => done += n,
        }
    }
    Ok(())
}

/// The whole contents of a file, through the page cache.
///
/// # Errors
/// If it is missing (see [`if_found`]), cannot be read, or does not fit into memory.
#[track_caller]
pub(crate) fn read_all(fs: &dyn FileSystem, path: &Path) -> Result<Vec<u8>> {
    read_whole(fs, path, Access::Buffered)
}

/// The whole contents of a file, past the page cache where the file system allows it: after a
/// failed sync the page cache may hold bytes that never reach the disk.
///
/// # Errors
/// As [`read_all`].
#[track_caller]
pub(crate) fn read_all_from_disk(fs: &dyn FileSystem, path: &Path) -> Result<Vec<u8>> {
    read_whole(fs, path, Access::Direct)
}

#[track_caller]
fn read_whole(fs: &dyn FileSystem, path: &Path, access: Access) -> Result<Vec<u8>> {
    let file = open(fs, path, access)?;
    let length = len(&*file, path)?;
    refuse_sparse(&*file, path, length)?;
    read_range(&*file, path, 0, length)
}

/// `length` bytes from `offset` of a file, whose length was asked for, so that a length that only
/// damaged or forged bytes claim costs no memory.
///
/// # Errors
/// If they cannot be read, or do not fit into memory.
#[track_caller]
pub(crate) fn read_range(
    file: &dyn ReadFile,
    path: &Path,
    offset: u64,
    length: u64,
) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let fits = usize::try_from(length)
        .ok()
        .filter(|n| bytes.try_reserve_exact(*n).is_ok());
    let Some(length) = fits else {
        return Err(Error::io("read", path, io::ErrorKind::OutOfMemory.into()));
    };
    read_parts(path, length, offset, |done, at| {
        file.append_at(&mut bytes, length - done, at)
    })?;
    Ok(bytes)
}

/// Refuses a file that claims more bytes than a store can have written, before `length` bytes of it are
/// read.
///
/// # Errors
/// If it has a hole that no store leaves.
#[track_caller]
pub(crate) fn refuse_sparse(file: &dyn ReadFile, path: &Path, length: u64) -> Result<()> {
    if length <= SMALL_BYTES {
        return Ok(());
    }
    let hole = retry("measure", path, || file.longest_hole(LONGEST_HOLE))?;
    match hole < LONGEST_HOLE {
        true => Ok(()),
        false => Err(Error::io("read", path, sparse(len(file, path)?, hole))),
    }
}
