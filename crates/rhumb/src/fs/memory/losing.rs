//! What tests do to a disk in memory: show it as a loss of power leaves it, copy it, damage it. With the cargo
//! feature `test-kit`.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{Disk, File, FileId, MemoryDirectory, MemoryFileSystem, split};
use crate::fs::loss::{Loss, Random};
use crate::sync::{Mutex, lock};

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
        found.count_names();
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
            names: file.names,
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
            nameless: disk.nameless.clone(),
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
                let (directory, _) = split(path)?;
                disk.sync_dir(directory)?;
                id
            }
        };
        let file = disk.files.entry(id).or_default();
        file.bytes = Arc::new(bytes);
        file.sync();
        Ok(())
    }
}

impl MemoryDirectory {
    /// The names found after a loss of power.
    fn found(&self, loss: Loss, random: &mut Random) -> BTreeMap<String, FileId> {
        let mut names = self.durable.clone();
        let kept = loss.directory.kept(self.unsynced.len(), random);
        for (change, _) in self.unsynced.iter().zip(kept).filter(|(_, kept)| *kept) {
            change.apply(&mut names);
        }
        names
    }
}

impl File {
    fn durable(bytes: Arc<Vec<u8>>) -> Self {
        let mut file = File {
            bytes,
            ..File::default()
        };
        file.sync();
        file
    }
}

impl Disk {
    /// Counts the names of all files, and frees those without any.
    fn count_names(&mut self) {
        for directory in self.directories.values() {
            for id in directory.now.values().chain(directory.durable.values()) {
                if let Some(file) = self.files.get_mut(id) {
                    file.names += 1;
                }
            }
        }
        self.files.retain(|_, file| file.names > 0);
    }
}
