//! One run at a time adds to a file of results: two would measure each other.

use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::path::Path;

use crate::error::{Error, Result};

/// The right to add to a file of results, until it is dropped or the process ends. It stands in a
/// file beside the results, since SQLite loses its own locks when the program closes another handle
/// of its file. That file stays, so that no two runs can lock different files of the same name.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a file of results.
    ///
    /// # Errors
    /// If another run has it, or its file cannot be made.
    pub fn take(results: &Path) -> Result<Lock> {
        let mut path = results.as_os_str().to_owned();
        path.push(".lock");
        let path = Path::new(&path);
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(Error::io("make the lock", path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // The number is for the message alone.
                let _ = file.read_to_string(&mut holder);
                return Err(Error::Usage(format!(
                    "another run (process {}) adds to {}: wait until it ends, or name another file with --results; \
                     two runs at one time on one machine slow each other down",
                    holder.trim(),
                    results.display()
                )));
            }
            Err(TryLockError::Error(source)) => return Err(Error::io("lock", path)(source)),
        }
        file.set_len(0)
            .and_then(|()| file.write_all(std::process::id().to_string().as_bytes()))
            .map_err(Error::io("write", path))?;
        Ok(Lock { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_is_refused_until_the_first_ends() {
        let directory = tempfile::tempdir().unwrap();
        let results = directory.path().join("r.sqlite");
        let first = Lock::take(&results).unwrap();
        let error = Lock::take(&results).unwrap_err().to_string();
        let process = format!("process {}", std::process::id());
        assert!(
            error.contains(&process) && error.contains("r.sqlite"),
            "{error}"
        );
        drop(first);
        drop(Lock::take(&results).unwrap());
        let missing = directory.path().join("no/r.sqlite");
        assert!(Lock::take(&missing).is_err());
    }
}
