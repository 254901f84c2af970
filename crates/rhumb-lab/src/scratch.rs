//! The directory for the stores of a run, which the next run removes if this one is killed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{Error, Result};

const PREFIX: &str = "rhumb-lab-";

/// The file in the directory that is locked as long as the run lives.
const LOCK: &str = "in-use";

/// A directory that is removed with everything in it when it is dropped.
#[derive(Debug)]
pub struct Scratch {
    directory: TempDir,
    // Unlocked after the directory is removed.
    _lock: File,
}

impl Scratch {
    /// Makes a directory below `parent`, and removes those of runs that were killed.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new(parent: &Path) -> Result<Scratch> {
        remove_left(parent);
        let directory = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(parent)
            .map_err(Error::io("create a directory in", parent))?;
        let (unlocked, locked) = (directory.path().join("new"), directory.path().join(LOCK));
        let lock = File::create(&unlocked).map_err(Error::io("create", &unlocked))?;
        lock.lock().map_err(Error::io("lock", &unlocked))?;
        // Another run that begins at this moment finds the file locked or not at all.
        fs::rename(&unlocked, &locked).map_err(Error::io("rename", &unlocked))?;
        Ok(Scratch {
            directory,
            _lock: lock,
        })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes the directories whose runs have ended. What cannot be removed stays: it may belong to
/// another user.
fn remove_left(parent: &Path) {
    for directory in fs::read_dir(parent).into_iter().flatten().flatten() {
        if !directory.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let path: PathBuf = directory.path();
        let Ok(lock) = File::options().write(true).open(path.join(LOCK)) else {
            continue;
        };
        if lock.try_lock().is_ok() {
            eprintln!(
                "Removing {}, which a run left that was killed.",
                path.display()
            );
            let _ = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_killed_runs_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let of_others = parent.path().join("rhumb-lab-other");
        fs::create_dir(&of_others).unwrap();
        let killed = Scratch::new(parent.path()).unwrap();
        fs::create_dir(killed.path().join("store")).unwrap();
        // The lock of a process that ends is released, and nothing is removed.
        let left = killed.directory.keep();
        drop(killed._lock);
        let living = Scratch::new(parent.path()).unwrap();
        assert!(!left.exists() && living.path().exists());
        let third = Scratch::new(parent.path()).unwrap();
        assert!(living.path().exists() && third.path().exists());
        assert!(of_others.exists(), "no run of this program made it");
        let path = living.path().to_path_buf();
        drop(living);
        assert!(!path.exists());
    }
}
