//! All file access of the store goes through [`FileSystem`], so that tests can cut the power at
//! every call, lose what was not synced, and fail any call. Only files that tell their descriptor are also read without
//! it, many at once (`ring`).
//!
//! What such tests need is there with the cargo feature `test-kit`, for programs over rhumb too:
//! `FaultyFileSystem`, and `MemoryFileSystem::crash`.

use std::fmt::Debug;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;

pub(crate) mod ahead;
#[cfg(target_os = "linux")]
mod begin;
#[cfg(test)]
mod fault_tests;
#[cfg(feature = "test-kit")]
mod faulty;
#[cfg(feature = "test-kit")]
mod loss;
mod memory;
pub(crate) mod names;
pub(crate) mod ops;
mod os;
pub(crate) mod output;
pub(crate) mod ring;
mod special;
#[cfg(test)]
mod tests;
pub(crate) mod threads;

#[cfg(feature = "test-kit")]
pub use faulty::{Fault, FaultAt, FaultyFileSystem, FileCall, Plan, Site};
#[cfg(feature = "test-kit")]
pub use loss::{DataLoss, DirectoryLoss, Loss};
pub use memory::MemoryFileSystem;
pub use os::OsFileSystem;

/// How a file that is only read should be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// Through the page cache of the operating system.
    #[default]
    Buffered,
    /// Past the page cache (`O_DIRECT`), where the file system allows it.
    Direct,
}

/// Who else may hold a lock at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockMode {
    /// No other holder.
    Exclusive,
    /// Other holders with this mode.
    Shared,
}

/// A directory tree of files. Errors are those of the operating system, unchanged; the store calls
/// it only through the helpers of `ops`, which add the path and retry interrupted calls.
pub trait FileSystem: Debug + Send + Sync {
    /// Creates an empty file for appending; fails if it exists.
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>>;
    /// Opens an existing file for reading. What is no file is an error, at once.
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn ReadFile>>;
    /// Renames a file, replacing the target.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file a second name, `to`, which must be free. Both then name the same bytes, and each is removed for
    /// itself. A file system that cannot do this returns an error, as this default does.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let _ = (from, to);
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Creates a directory and the missing ones above it, and makes what it created durable. A
    /// directory that exists already is left as it is.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// The names (not paths) of the files in a directory. What is no file, but is named like a file of
    /// a store, is an error.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;
    /// Makes the contents of an existing file durable, whichever process wrote them; its name in
    /// the directory is not made durable.
    fn sync_file(&self, path: &Path) -> io::Result<()>;
    /// Makes creations, renames, links and removals in a directory durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Takes a lock on a file, which is created if it is missing; `None` if the lock is held
    /// elsewhere. Dropping the lock releases it.
    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<Option<Box<dyn FileLock>>>;
}

/// A file open for appending. One thread may sync it while another one appends.
pub trait WriteFile: Debug + Send + Sync {
    /// Appends up to `bytes.len()` bytes and returns how many; may be interrupted or short. No two calls
    /// run at the same time.
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;
    /// Sets room on the device aside for `bytes` from `offset` on, which takes less time than finding it for each write there. Neither
    /// the length nor the contents change; [`WriteFile::truncate`] gives back what lies behind its length. Whether there is such room
    /// now; the default says that there is none. A file system over another one should pass the call on.
    fn preallocate(&self, offset: u64, bytes: u64) -> bool {
        let _ = (offset, bytes);
        false
    }
    /// Asks the device to take what was written before the call. Waits at most until it has taken what earlier calls asked for. Makes nothing
    /// durable: only [`WriteFile::sync`] does that, and has less to wait for then. After an error what was written may be lost, even if a
    /// later sync succeeds. The default does nothing; a file system over another one should pass the call on.
    fn begin_sync(&self) -> io::Result<()> {
        Ok(())
    }
    /// Makes everything durable that was written before the call.
    fn sync(&self) -> io::Result<()>;
    /// Cuts off what follows the first `length` bytes; the next write appends there. Durable after the next
    /// sync. Never called while a write is under way.
    fn truncate(&self, length: u64) -> io::Result<()>;
}

/// A file open for reading.
#[expect(
    clippy::len_without_is_empty,
    reason = "the store never needs to know whether a file is empty"
)]
pub trait ReadFile: Debug + Send + Sync {
    /// Reads up to `into.len()` bytes at `offset` and returns how many, 0 at the end; may be
    /// interrupted or short.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Appends up to `len` bytes at `offset` to `bytes` and returns how many, as [`ReadFile::read_at`]. The default writes zeros
    /// there and reads over them, which a file system can save.
    fn append_at(&self, bytes: &mut Vec<u8>, len: usize, offset: u64) -> io::Result<usize> {
        let start = bytes.len();
        bytes.resize(start.saturating_add(len), 0);
        let read = self.read_at(bytes.get_mut(start..).unwrap_or_default(), offset);
        bytes.truncate(start + read.as_ref().map_or(0, |n| *n));
        read
    }
    /// The file's length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// The length of the longest stretch of it that takes no space and reads as zeros, as far as the
    /// file system can tell; the search may stop at one of `enough` bytes.
    fn longest_hole(&self, enough: u64) -> io::Result<u64> {
        let _ = enough;
        Ok(0)
    }
    /// Tells the operating system that a part of the file will be read soon, so that it reads it into its page cache meanwhile.
    /// Whether it was told; the default says that it was not.
    fn will_need(&self, offset: u64, bytes: usize) -> bool {
        let _ = (offset, bytes);
        false
    }
    /// The open file of the operating system, where many reads at once may go there and not through
    /// [`ReadFile::read_at`], and the unit in bytes at whose multiples they have to start and end: a power of two. The
    /// default says that they may not.
    fn descriptor(&self) -> Option<(BorrowedFd<'_>, usize)> {
        None
    }
}

/// A lock held on a file until it is dropped.
pub trait FileLock: Debug + Send + Sync {}
