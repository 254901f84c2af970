//! A file system in memory that models a disk: it tracks what was synced, and can show the disk as
//! it would be found after a loss of power.

#[cfg(feature = "test-kit")]
mod losing;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    /// The files without a name that were open when they were last looked at.
    nameless: Vec<FileId>,
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
    /// How often directories name it: now, on the disk, or in an unsynced link.
    names: usize,
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
    /// Makes the change, if the file that it needs is there. Returns the file that lost its name.
    fn apply(&self, names: &mut BTreeMap<String, FileId>) -> Option<FileId> {
        match self {
            NameChange::Link(name, file) => names.insert(name.clone(), *file),
            NameChange::Rename(from, to, file) if names.get(from) == Some(file) => {
                names.remove(from);
                names.insert(to.clone(), *file)
            }
            NameChange::Rename(..) => None,
            NameChange::Unlink(name) => names.remove(name),
        }
    }
}

impl MemoryDirectory {
    /// Makes a change. Returns the file that lost its name.
    fn change(&mut self, change: NameChange) -> Option<FileId> {
        let lost = change.apply(&mut self.now);
        self.unsynced.push(change);
        lost
    }

    /// Makes the names durable: unsynced links become names on the disk. Returns the files that lost their
    /// names there.
    fn sync(&mut self) -> Vec<FileId> {
        let (unsynced, durable) = (self.unsynced.drain(..), &mut self.durable);
        unsynced
            .filter_map(|change| change.apply(durable))
            .collect()
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

impl File {
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
        // The name and the unsynced link.
        let names = 2;
        self.files.insert(
            id,
            File {
                names,
                ..File::default()
            },
        );
        self.next_file += 1;
        Ok(id)
    }

    fn sync_dir(&mut self, path: &Path) -> io::Result<()> {
        let directory = self.directories.get_mut(path).ok_or_else(not_found)?;
        let lost = directory.sync();
        lost.into_iter().for_each(|id| self.lose_name(id));
        self.forget_unreachable();
        Ok(())
    }

    fn lose_name(&mut self, id: FileId) {
        if let Some(file) = self.files.get_mut(&id) {
            file.names -= 1;
            if file.names == 0 {
                self.nameless.push(id);
            }
        }
    }

    /// Frees the files that are not open and have no name: neither now, nor on the disk, nor in an
    /// unsynced link.
    fn forget_unreachable(&mut self) {
        let files = &mut self.files;
        self.nameless.retain(|id| {
            let open = files
                .get(id)
                .is_some_and(|f| Arc::strong_count(&f.handle) > 1);
            if !open {
                files.remove(id);
            }
            open
        });
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
        let lost = match same_directory {
            true => target.change(NameChange::Rename(old_name, new_name, id)),
            false => {
                let lost = target.change(NameChange::Link(new_name, id));
                disk.directory(from)?.0.change(NameChange::Unlink(old_name));
                // It has a name and an unsynced link more, and a name less.
                disk.file_mut(id)?.names += 1;
                lost
            }
        };
        lost.into_iter().for_each(|id| disk.lose_name(id));
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut disk = lock(&self.disk);
        let id = disk.named(from)?;
        let (directory, name) = disk.directory(to)?;
        if directory.now.contains_key(&name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        directory.change(NameChange::Link(name, id));
        // The name and the unsynced link.
        disk.file_mut(id)?.names += 2;
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut disk = lock(&self.disk);
        disk.named(path)?;
        let (directory, name) = disk.directory(path)?;
        let lost = directory.change(NameChange::Unlink(name));
        lost.into_iter().for_each(|id| disk.lose_name(id));
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
        lock(&self.disk).sync_dir(path)
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

    fn preallocate(&self, _offset: u64, _bytes: u64) -> bool {
        // There is always room; who writes a file gives back what it did not need, as on a disk.
        true
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

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::super::loss::Random;
    use super::*;

    /// How often directories name each file, counted from the directories.
    fn names(disk: &Disk) -> BTreeMap<FileId, usize> {
        let mut names = BTreeMap::new();
        for directory in disk.directories.values() {
            let listed = directory.now.values().chain(directory.durable.values());
            let links = directory.unsynced.iter().filter_map(|change| match change {
                NameChange::Link(_, file) => Some(file),
                NameChange::Rename(..) | NameChange::Unlink(_) => None,
            });
            for file in listed.chain(links) {
                *names.entry(*file).or_default() += 1;
            }
        }
        names
    }

    #[test]
    fn files_are_kept_as_long_as_they_have_a_name_or_are_open() {
        let fs = MemoryFileSystem::new();
        for directory in ["/a", "/b"] {
            fs.create_dir(Path::new(directory)).unwrap();
        }
        let mut random = Random(1);
        let path = |random: &mut Random| {
            let (directory, name) = (random.below(2) as usize, random.below(4));
            PathBuf::from(format!("/{}/{name}", ["a", "b"][directory]))
        };
        let mut open = Vec::new();
        for _ in 0..20_000 {
            let (from, to) = (path(&mut random), path(&mut random));
            match random.below(8) {
                0..3 => open.extend(fs.create(&from).ok()),
                3 => drop(match random.below(2) {
                    0 => fs.rename(&from, &to),
                    _ => fs.link(&from, &to),
                }),
                4 => drop(fs.remove(&from)),
                5 => open.truncate(random.below(3) as usize),
                _ => {
                    fs.sync_dir(from.parent().unwrap()).unwrap();
                    let disk = lock(&fs.disk);
                    let counted = names(&disk);
                    for (id, file) in &disk.files {
                        let expected = counted.get(id).copied().unwrap_or(0);
                        assert_eq!(file.names, expected, "file {id}");
                        let open = Arc::strong_count(&file.handle) > 1;
                        // One that lost its last name in this call is freed by it.
                        assert!(expected > 0 || open, "file {id} is not freed");
                    }
                    assert!(counted.keys().all(|id| disk.files.contains_key(id)));
                }
            }
        }
    }
}
