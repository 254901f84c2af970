//! A file system in memory that models a disk: it tracks what was synced, and can show the disk as
//! it would be found after a loss of power.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "test-kit")]
use super::loss::{Loss, Random};
use super::{Access, FileLock, FileSystem, LockMode, ReadFile, WriteFile};
use crate::sync::{Mutex, lock};

/// A file system in memory. Clones share the same files.
///
/// It tracks what was synced. With the cargo feature `test-kit` it can show the disk as a loss of power would
/// leave it.
#[derive(Debug, Clone, Default)]
pub struct MemoryFileSystem {
    disk: Arc<Mutex<Disk>>,
}

#[derive(Debug, Default)]
struct Disk {
    files: BTreeMap<FileId, File>,
    next_file: FileId,
    directories: BTreeMap<PathBuf, MemoryDirectory>,
    locks: BTreeMap<PathBuf, Locked>,
}

type FileId = u64;

/// The contents of a file, apart from its names. Files are only appended to and cut, so the unsynced
/// bytes are a suffix.
#[derive(Debug, Default)]
struct File {
    bytes: Arc<Vec<u8>>,
    synced: usize,
    /// The synced bytes that were cut off behind the first `synced` ones and not synced since.
    cut: Vec<u8>,
    /// Shared with every open handle: a file without a name lives as long as it is open.
    handle: Arc<()>,
}

/// The names in a directory now, those on the disk, and the changes between the two.
#[derive(Debug, Default, Clone)]
struct MemoryDirectory {
    now: BTreeMap<String, FileId>,
    durable: BTreeMap<String, FileId>,
    unsynced: Vec<NameChange>,
}

#[derive(Debug, Clone)]
enum NameChange {
    Link(String, FileId),
    /// The old name, the new name and the file. The rename is skipped if the old name belongs to
    /// another file on the disk.
    Rename(String, String, FileId),
    Unlink(String),
}

#[derive(Debug)]
enum Locked {
    Exclusive,
    Shared(usize),
}

impl NameChange {
    /// Makes the change, if the file that it needs is there.
    fn apply(&self, names: &mut BTreeMap<String, FileId>) {
        match self {
            NameChange::Link(name, file) => {
                names.insert(name.clone(), *file);
            }
            NameChange::Rename(from, to, file) => {
                if names.get(from) == Some(file) {
                    names.remove(from);
                    names.insert(to.clone(), *file);
                }
            }
            NameChange::Unlink(name) => {
                names.remove(name);
            }
        }
    }
}

impl MemoryDirectory {
    fn change(&mut self, change: NameChange) {
        change.apply(&mut self.now);
        self.unsynced.push(change);
    }

    fn sync(&mut self) {
        self.durable = self.now.clone();
        self.unsynced.clear();
    }

    /// The names found after a loss of power.
    #[cfg(feature = "test-kit")]
    fn found(&self, loss: Loss, random: &mut Random) -> BTreeMap<String, FileId> {
        let mut names = self.durable.clone();
        let kept = loss.directory.kept(self.unsynced.len(), random);
        for (change, _) in self.unsynced.iter().zip(kept).filter(|(_, kept)| *kept) {
            change.apply(&mut names);
        }
        names
    }
}

impl MemoryFileSystem {
    /// An empty file system; paths start at `/` or at the current directory.
    pub fn new() -> Self {
        let fs = MemoryFileSystem::default();
        for root in ["", "/"] {
            lock(&fs.disk)
                .directories
                .insert(root.into(), MemoryDirectory::default());
        }
        fs
    }

    fn handle(&self, id: FileId) -> io::Result<MemoryFile> {
        let handle = lock(&self.disk).file(id)?.handle.clone();
        Ok(MemoryFile {
            disk: self.disk.clone(),
            id,
            _handle: handle,
        })
    }
}

/// What tests do to a disk. With the cargo feature `test-kit`.
#[cfg(feature = "test-kit")]
impl MemoryFileSystem {
    /// The file system as found if the power is lost now. `self` goes on unchanged and shares
    /// nothing with the result, in which no locks are held.
    pub fn crash(&self, loss: Loss, seed: u64) -> MemoryFileSystem {
        let disk = lock(&self.disk);
        let mut random = Random(seed);
        let mut found = Disk {
            next_file: disk.next_file,
            ..Disk::default()
        };
        for (path, directory) in &disk.directories {
            let names = directory.found(loss, &mut random);
            let (now, durable, unsynced) = (names.clone(), names, Vec::new());
            let directory = MemoryDirectory {
                now,
                durable,
                unsynced,
            };
            found.directories.insert(path.clone(), directory);
        }
        for (id, file) in &disk.files {
            let mut bytes = file.bytes.clone();
            if file.synced < bytes.len() {
                bytes = Arc::new(loss.data.apply(&bytes, file.synced, &mut random));
            }
            if !file.cut.is_empty() && loss.data.undoes_a_cut(&mut random) {
                let new = bytes.len() - file.synced;
                let old = file.cut.get(new..).unwrap_or_default();
                Arc::make_mut(&mut bytes).extend_from_slice(old);
            }
            found.files.insert(*id, File::durable(bytes));
        }
        found.forget_unreachable();
        let disk = Arc::new(Mutex::new(found));
        MemoryFileSystem { disk }
    }

    /// A deep copy: the same files, the same unsynced changes, no locks.
    pub fn fork(&self) -> MemoryFileSystem {
        let disk = lock(&self.disk);
        let copy = |file: &File| File {
            bytes: file.bytes.clone(),
            synced: file.synced,
            cut: file.cut.clone(),
            handle: Arc::default(),
        };
        let copy = Disk {
            files: disk
                .files
                .iter()
                .map(|(id, file)| (*id, copy(file)))
                .collect(),
            next_file: disk.next_file,
            directories: disk.directories.clone(),
            locks: BTreeMap::new(),
        };
        let disk = Arc::new(Mutex::new(copy));
        MemoryFileSystem { disk }
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// If there is no such file.
    pub fn bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        let disk = lock(&self.disk);
        let file = disk.named(path)?;
        Ok(disk.file(file)?.bytes.to_vec())
    }

    /// Durably replaces the bytes of a file in place, or creates the file, to simulate damage:
    /// readers that have the file open see the new bytes.
    ///
    /// # Errors
    /// If there is no such directory.
    pub fn set_bytes(&self, path: &Path, bytes: Vec<u8>) -> io::Result<()> {
        let mut disk = lock(&self.disk);
        let id = match disk.named(path) {
            Ok(id) => id,
            Err(_) => {
                let id = disk.make(path)?;
                disk.directory(path)?.0.sync();
                id
            }
        };
        let file = disk.files.entry(id).or_default();
        file.bytes = Arc::new(bytes);
        file.sync();
        Ok(())
    }
}

impl File {
    #[cfg(feature = "test-kit")]
    fn durable(bytes: Arc<Vec<u8>>) -> Self {
        let mut file = File {
            bytes,
            ..File::default()
        };
        file.sync();
        file
    }

    fn sync(&mut self) {
        self.synced = self.bytes.len();
        self.cut.clear();
    }

    fn truncate(&mut self, length: usize) {
        if let Some(synced) = self.bytes.get(length..self.synced) {
            self.cut = [synced, &self.cut].concat();
            self.synced = length;
        }
        Arc::make_mut(&mut self.bytes).truncate(length);
    }
}

fn not_found() -> io::Error {
    io::ErrorKind::NotFound.into()
}

/// The parent directory and the file name.
fn split(path: &Path) -> io::Result<(&Path, String)> {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .map(str::to_owned);
    path.parent()
        .zip(name)
        .ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

impl Disk {
    fn directory(&mut self, path: &Path) -> io::Result<(&mut MemoryDirectory, String)> {
        let (directory, name) = split(path)?;
        let directory = self.directories.get_mut(directory).ok_or_else(not_found)?;
        Ok((directory, name))
    }

    fn named(&self, path: &Path) -> io::Result<FileId> {
        let (directory, name) = split(path)?;
        let directory = self.directories.get(directory);
        directory
            .and_then(|d| d.now.get(&name))
            .copied()
            .ok_or_else(not_found)
    }

    fn file(&self, id: FileId) -> io::Result<&File> {
        self.files.get(&id).ok_or_else(not_found)
    }

    fn file_mut(&mut self, id: FileId) -> io::Result<&mut File> {
        self.files.get_mut(&id).ok_or_else(not_found)
    }

    fn make(&mut self, path: &Path) -> io::Result<FileId> {
        let id = self.next_file;
        let (directory, name) = self.directory(path)?;
        if directory.now.contains_key(&name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        directory.change(NameChange::Link(name, id));
        self.files.insert(id, File::default());
        self.next_file += 1;
        Ok(id)
    }

    /// Frees the files that are not open and have no name: neither now, nor on the disk, nor in an
    /// unsynced change.
    fn forget_unreachable(&mut self) {
        let mut reachable: BTreeSet<FileId> = BTreeSet::new();
        for directory in self.directories.values() {
            reachable.extend(directory.now.values().chain(directory.durable.values()));
            reachable.extend(directory.unsynced.iter().filter_map(|change| match change {
                NameChange::Link(_, file) => Some(file),
                NameChange::Rename(..) | NameChange::Unlink(_) => None,
            }));
        }
        self.files
            .retain(|id, file| reachable.contains(id) || Arc::strong_count(&file.handle) > 1);
    }
}

impl FileSystem for MemoryFileSystem {
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        let id = lock(&self.disk).make(path)?;
        Ok(Box::new(self.handle(id)?))
    }

    fn open(&self, path: &Path, _: Access) -> io::Result<Arc<dyn ReadFile>> {
        let id = lock(&self.disk).named(path)?;
        Ok(Arc::new(self.handle(id)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut disk = lock(&self.disk);
        let id = disk.named(from)?;
        let same_directory = from.parent() == to.parent();
        let (_, old_name) = split(from)?;
        let (target, new_name) = disk.directory(to)?;
        if same_directory {
            target.change(NameChange::Rename(old_name, new_name, id));
            return Ok(());
        }
        target.change(NameChange::Link(new_name, id));
        disk.directory(from)?.0.change(NameChange::Unlink(old_name));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut disk = lock(&self.disk);
        disk.named(path)?;
        let (directory, name) = disk.directory(path)?;
        directory.change(NameChange::Unlink(name));
        Ok(())
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut disk = lock(&self.disk);
        for directory in path.ancestors() {
            disk.directories.entry(directory.into()).or_default();
        }
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let disk = lock(&self.disk);
        let directory = disk.directories.get(path).ok_or_else(not_found)?;
        Ok(directory.now.keys().cloned().collect())
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        let mut disk = lock(&self.disk);
        let id = disk.named(path)?;
        disk.file_mut(id)?.sync();
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut disk = lock(&self.disk);
        disk.directories.get_mut(path).ok_or_else(not_found)?.sync();
        disk.forget_unreachable();
        Ok(())
    }

    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<Option<Box<dyn FileLock>>> {
        let mut disk = lock(&self.disk);
        if disk.named(path).is_err() {
            disk.make(path)?;
        }
        match (disk.locks.get_mut(path), mode) {
            (Some(Locked::Shared(holders)), LockMode::Shared) => *holders += 1,
            (Some(_), _) => return Ok(None),
            (None, LockMode::Shared) => {
                disk.locks.insert(path.into(), Locked::Shared(1));
            }
            (None, LockMode::Exclusive) => {
                disk.locks.insert(path.into(), Locked::Exclusive);
            }
        }
        let (disk, path) = (self.disk.clone(), path.into());
        Ok(Some(Box::new(MemoryLock { disk, path })))
    }
}

/// An open file.
#[derive(Debug)]
struct MemoryFile {
    disk: Arc<Mutex<Disk>>,
    id: FileId,
    _handle: Arc<()>,
}

impl WriteFile for MemoryFile {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut disk = lock(&self.disk);
        let file = disk.file_mut(self.id)?;
        Arc::make_mut(&mut file.bytes).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn sync(&self) -> io::Result<()> {
        lock(&self.disk).file_mut(self.id)?.sync();
        Ok(())
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        lock(&self.disk).file_mut(self.id)?.truncate(length);
        Ok(())
    }
}

impl ReadFile for MemoryFile {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = lock(&self.disk).file(self.id)?.bytes.clone();
        let rest = usize::try_from(offset).ok().and_then(|at| bytes.get(at..));
        io::Read::read(&mut rest.unwrap_or_default(), into)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(lock(&self.disk).file(self.id)?.bytes.len() as u64)
    }
}

#[derive(Debug)]
struct MemoryLock {
    disk: Arc<Mutex<Disk>>,
    path: PathBuf,
}

impl FileLock for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        let mut disk = lock(&self.disk);
        match disk.locks.get_mut(&self.path) {
            Some(Locked::Shared(holders)) if *holders > 1 => *holders -= 1,
            _ => {
                disk.locks.remove(&self.path);
            }
        }
    }
}
