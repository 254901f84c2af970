//! The operating system's file system.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Once};

use rustix::buffer::spare_capacity;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::special::{not_a_file, open_file, special_kind};
use super::{Access, FileLock, FileSystem, LockMode, ReadFile, WriteFile, names};
use crate::sync::atomic::{AtomicBool, Ordering};

/// Direct reads go to memory at multiples of this. Where the file system does not report a smaller
/// unit, they also start and end at multiples of it in the file: no disk in use has larger sectors.
pub(super) const ALIGNMENT: usize = 4096;

/// The most bytes of one direct read through the bounce buffer; a larger one is made in parts.
const LARGEST_BOUNCE: usize = 1 << 20;

/// The limit of open files that the process asks for, within the system's hard limit.
const OPEN_FILES: u64 = 1 << 20;

thread_local! {
    static BOUNCE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The file system of the operating system.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct OsFileSystem;

impl OsFileSystem {
    /// Creating it raises the process's limit of open files as far as allowed: a store keeps a file
    /// open for each table.
    pub fn new() -> Self {
        static RAISED: Once = Once::new();
        RAISED.call_once(raise_open_file_limit);
        OsFileSystem
    }
}

impl Default for OsFileSystem {
    fn default() -> Self {
        OsFileSystem::new()
    }
}

/// A failure is ignored: opening the first file above the limit will report the problem.
fn raise_open_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.unwrap_or(OPEN_FILES).min(OPEN_FILES);
    if limit.current.is_some_and(|current| current < wanted) {
        let current = Some(wanted);
        let _ = setrlimit(Resource::Nofile, Rlimit { current, ..limit });
    }
}

impl FileSystem for OsFileSystem {
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        // In this mode every write goes to the end, also after the file was cut.
        let mut options = OpenOptions::new();
        let file = options.append(true).create_new(true).open(path)?;
        Ok(Box::new(OsWriteFile(file)))
    }

    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn ReadFile>> {
        Ok(Arc::new(match access {
            Access::Buffered => OsReadFile::buffered(open_to_read(path)?),
            Access::Direct => open_direct(path)?,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = path.ancestors().take_while(|p| !p.is_dir()).collect();
        fs::create_dir_all(path)?;
        // An existing directory may have been created by a process that died before it synced it.
        for directory in missing.into_iter().chain([path]) {
            match directory
                .parent()
                .map_or(Ok(()), |parent| self.sync_dir(parent))
            {
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {}
                synced => synced?,
            }
        }
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            // The store gives no file a name that is not Unicode.
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let kind = entry.file_type()?;
            if !kind.is_file()
                && names::is_of_store(&name)
                && let Some(special) = special_kind(&entry.path())
            {
                return Err(not_a_file(&format!("{name} in it"), special));
            }
            if !kind.is_dir() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        open_to_read(path)?.sync_all()
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let here = path.as_os_str().is_empty();
        File::open(if here { Path::new(".") } else { path })?.sync_all()
    }

    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<Option<Box<dyn FileLock>>> {
        let file = open_lock_file(path, mode)?;
        let locked = match mode {
            LockMode::Exclusive => file.try_lock(),
            LockMode::Shared => file.try_lock_shared(),
        };
        match locked {
            Ok(()) => Ok(Some(Box::new(OsFileLock { _file: file }))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(e),
        }
    }
}

/// A shared lock needs no write permission, so that a store on a read-only medium can be read.
fn open_lock_file(path: &Path, mode: LockMode) -> io::Result<File> {
    if mode == LockMode::Shared {
        match open_to_read(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    open_file(path, &options)
}

fn open_to_read(path: &Path) -> io::Result<File> {
    open_file(path, OpenOptions::new().read(true))
}

/// Reads no longer note when a file was read last, which takes 5 to 10 % of the time of a small read out of the page cache. Only
/// the owner of a file may ask for that; others read it as ever.
#[cfg(target_os = "linux")]
fn leave_access_time(file: &File) {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    if let Ok(flags) = fcntl_getfl(file) {
        let _ = fcntl_setfl(file, flags | OFlags::NOATIME);
    }
}

#[cfg(not(target_os = "linux"))]
fn leave_access_time(_file: &File) {}

/// Opens a file past the page cache, or through it where the file system refuses direct reads.
#[cfg(target_os = "linux")]
fn open_direct(path: &Path) -> io::Result<OsReadFile> {
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::fs::OFlags;
    let flags = OFlags::DIRECT.bits().cast_signed();
    match open_file(path, OpenOptions::new().read(true).custom_flags(flags)) {
        Err(e) if e.kind() == io::ErrorKind::InvalidInput => {
            Ok(OsReadFile::buffered(open_to_read(path)?))
        }
        opened => {
            let file = opened?;
            leave_access_time(&file);
            Ok(OsReadFile {
                sector: sector(&file),
                direct: AtomicBool::new(true),
                file,
            })
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn open_direct(path: &Path) -> io::Result<OsReadFile> {
    Ok(OsReadFile::buffered(open_to_read(path)?))
}

/// The unit in which direct reads of a file start and end, as its file system reports it (Linux 6.1
/// and later): a 4 KiB block that straddles two pages then costs half a KiB more, not a page.
#[cfg(target_os = "linux")]
fn sector(file: &File) -> usize {
    use rustix::fs::{AtFlags, StatxFlags, statx};
    let about = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN);
    let told = about.ok().filter(|about| {
        let mask = StatxFlags::from_bits_retain(about.stx_mask);
        mask.contains(StatxFlags::DIOALIGN) && about.stx_dio_mem_align <= ALIGNMENT as u32
    });
    let told = told.and_then(|about| usize::try_from(about.stx_dio_offset_align).ok());
    told.filter(|sector| sector.is_power_of_two() && *sector <= ALIGNMENT)
        .unwrap_or(ALIGNMENT)
}

#[derive(Debug)]
struct OsWriteFile(File);

impl WriteFile for OsWriteFile {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut &self.0, bytes)
    }

    #[cfg(target_os = "linux")]
    fn preallocate(&self, offset: u64, bytes: u64) -> bool {
        use rustix::fs::{FallocateFlags, fallocate};
        // In this mode what is not written is behind the end.
        fallocate(&self.0, FallocateFlags::KEEP_SIZE, offset, bytes).is_ok()
    }

    #[cfg(target_os = "linux")]
    fn begin_sync(&self) -> io::Result<()> {
        super::begin::begin_sync(&self.0)
    }

    fn sync(&self) -> io::Result<()> {
        // `sync_data` also makes the length durable, without which the data could not be read.
        self.0.sync_data()
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }
}

#[derive(Debug)]
struct OsReadFile {
    file: File,
    /// Whether the file is read past the page cache.
    direct: AtomicBool,
    /// Direct reads start and end at multiples of this.
    sector: usize,
}

impl ReadFile for OsReadFile {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        if self.is_direct() {
            let read = self.read_direct(into, offset);
            if !self.has_refused(&read)? {
                return read;
            }
        }
        self.file.read_at(into, offset)
    }

    fn append_at(&self, bytes: &mut Vec<u8>, len: usize, offset: u64) -> io::Result<usize> {
        let start = bytes.len();
        if self.is_direct() {
            let append = |part: &[u8]| bytes.extend_from_slice(part);
            let read = self.read_bounced(len, offset, append);
            if !self.has_refused(&read)? {
                return read;
            }
        }
        bytes.reserve_exact(len);
        let read = rustix::io::pread(&self.file, spare_capacity(bytes), offset)?;
        // There may have been room for more.
        bytes.truncate(start.saturating_add(len));
        Ok(read.min(len))
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn descriptor(&self) -> Option<(BorrowedFd<'_>, usize)> {
        let unit = if self.is_direct() { self.sector } else { 1 };
        Some((self.file.as_fd(), unit))
    }

    #[cfg(target_os = "linux")]
    fn will_need(&self, offset: u64, bytes: usize) -> bool {
        use rustix::fs::{Advice, fadvise};
        let length = std::num::NonZero::new(bytes as u64);
        !self.is_direct() && fadvise(&self.file, offset, length, Advice::WillNeed).is_ok()
    }

    #[cfg(target_os = "linux")]
    fn longest_hole(&self, enough: u64) -> io::Result<u64> {
        use rustix::fs::{SeekFrom, seek};
        let (mut at, mut longest, end) = (0, 0, self.len()?);
        while at < end && longest < enough {
            // A file system that cannot tell knows of no holes.
            let Ok(hole) = seek(&self.file, SeekFrom::Hole(at)) else {
                break;
            };
            at = match seek(&self.file, SeekFrom::Data(hole)) {
                Ok(data) => data,
                Err(rustix::io::Errno::NXIO) => end,
                Err(_) => break,
            };
            longest = longest.max(at.saturating_sub(hole));
        }
        Ok(longest)
    }
}

impl OsReadFile {
    fn buffered(file: File) -> OsReadFile {
        leave_access_time(&file);
        OsReadFile {
            file,
            direct: AtomicBool::new(false),
            sector: ALIGNMENT,
        }
    }

    fn is_direct(&self) -> bool {
        self.direct.load(Ordering::Relaxed)
    }

    /// Whether a direct read was refused: some file systems accept the flag when opening and then refuse to read. Reads then
    /// go through the page cache.
    fn has_refused(&self, read: &io::Result<usize>) -> io::Result<bool> {
        let refused = |error: &io::Error| error.kind() == io::ErrorKind::InvalidInput;
        let refused = read.as_ref().is_err_and(refused);
        if refused {
            self.leave_direct()?;
        }
        Ok(refused)
    }

    fn read_direct(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let aligned = into.as_ptr().align_offset(ALIGNMENT) == 0;
        let in_sectors =
            offset.is_multiple_of(self.sector as u64) && into.len().is_multiple_of(self.sector);
        if aligned && in_sectors {
            return self.file.read_at(into, offset);
        }
        self.read_bounced(into.len(), offset, |bytes| {
            if let Some(into) = into.get_mut(..bytes.len()) {
                into.copy_from_slice(bytes);
            }
        })
    }

    /// Reads the whole sectors around a range, and passes on what is in the range.
    fn read_bounced(&self, len: usize, offset: u64, take: impl FnOnce(&[u8])) -> io::Result<usize> {
        let skip = (offset % self.sector as u64) as usize;
        let wanted = len.saturating_add(skip).min(LARGEST_BOUNCE);
        // While the thread ends its buffer is gone already, so a new one is made and dropped.
        let mut memory = BOUNCE.try_with(RefCell::take).unwrap_or_default();
        let bounce = aligned_part(&mut memory, wanted.next_multiple_of(self.sector));
        let start = offset - skip as u64;
        let end = self.file.read_at(bounce, start)?;
        if end <= skip && start + (end as u64) < self.len()? {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let end = end.min(skip.saturating_add(len));
        let bytes = bounce.get(skip..end).unwrap_or_default();
        let n = bytes.len();
        take(bytes);
        let _ = BOUNCE.try_with(|kept| kept.replace(memory));
        Ok(n)
    }

    #[cfg(target_os = "linux")]
    fn leave_direct(&self) -> io::Result<()> {
        use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
        let flags = fcntl_getfl(&self.file)?;
        fcntl_setfl(&self.file, flags - OFlags::DIRECT)?;
        self.direct.store(false, Ordering::Relaxed);
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    fn leave_direct(&self) -> io::Result<()> {
        self.direct.store(false, Ordering::Relaxed);
        Ok(())
    }
}

/// `length` bytes of `memory` that start at a multiple of [`ALIGNMENT`]; grows `memory` if needed.
pub(super) fn aligned_part(memory: &mut Vec<u8>, length: usize) -> &mut [u8] {
    if memory.len() < length + ALIGNMENT {
        memory.resize(length + ALIGNMENT, 0);
    }
    let start = memory.as_ptr().align_offset(ALIGNMENT);
    memory.get_mut(start..start + length).unwrap_or_default()
}

/// Closing the file releases the lock.
#[derive(Debug)]
struct OsFileLock {
    _file: File,
}

impl FileLock for OsFileLock {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_can_be_switched_from_direct_to_buffered_reads() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, [7; 10_000]).unwrap();
        let file = open_direct(&path).unwrap();
        file.leave_direct().unwrap();
        // Most file systems refuse such a read while the file is in direct mode.
        assert_eq!(file.file.read_at(&mut [0; 3], 1).unwrap(), 3);
        assert_eq!(file.read_at(&mut [0; 3], 9_998).unwrap(), 2);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_cannot_tell_its_holes_has_none() {
        use std::os::unix::fs::OpenOptionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        File::create(&path).unwrap().set_len(1 << 20).unwrap();
        // Such a handle tells the length, but cannot be searched.
        let path_only = rustix::fs::OFlags::PATH.bits().cast_signed();
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(path_only)
            .open(&path);
        let file = OsReadFile::buffered(file.unwrap());
        assert_eq!(file.longest_hole(1).unwrap(), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn reads_leave_the_access_time_alone() {
        use rustix::fs::{OFlags, fcntl_getfl};
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, [1; 100]).unwrap();
        let buffered = OsReadFile::buffered(open_to_read(&path).unwrap());
        for file in [buffered, open_direct(&path).unwrap()] {
            assert!(fcntl_getfl(&file.file).unwrap().contains(OFlags::NOATIME));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn many_holes_are_legitimate_and_a_very_long_one_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let file = File::create(&path).unwrap();
        for nth in 1..=5u64 {
            file.write_at(b"data", nth * (500 << 20)).unwrap();
        }
        let refuse = || {
            let file = OsReadFile::buffered(File::open(&path).unwrap());
            crate::fs::ops::refuse_sparse(&file, &path, 5 << 30)
        };
        refuse().unwrap();
        file.set_len(10 << 30).unwrap();
        assert!(refuse().unwrap_err().to_string().contains("a sparse file"));
    }

    #[test]
    fn the_open_file_limit_is_raised() {
        OsFileSystem::new();
        let limit = getrlimit(Resource::Nofile);
        let allowed = limit.maximum.unwrap_or(OPEN_FILES).min(OPEN_FILES);
        assert!(limit.current.is_none_or(|current| current >= allowed));
    }
}
