//! The largest space of a directory while something runs.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::directory_bytes;
use crate::error::Result;

/// The time between two looks.
const EVERY: Duration = Duration::from_millis(100);

/// Looks at the space of a directory every 100 ms, by a thread of its own, until it is stopped.
#[derive(Debug)]
pub struct SpaceWatch {
    directory: PathBuf,
    /// The thread ends when this is dropped.
    stop: Sender<()>,
    thread: JoinHandle<u64>,
}

impl SpaceWatch {
    /// Begins to look.
    pub fn start(directory: &Path) -> SpaceWatch {
        let (stop, stopped) = channel();
        let watched = directory.to_path_buf();
        let thread = std::thread::spawn(move || {
            let mut peak = 0;
            loop {
                // A directory may be removed while it is looked at; then this look counts nothing.
                peak = peak.max(directory_bytes(&watched).unwrap_or_default());
                if stopped.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout) {
                    return peak;
                }
            }
        });
        SpaceWatch {
            directory: directory.to_path_buf(),
            stop,
            thread,
        }
    }

    /// The space now, and the largest since the start.
    ///
    /// # Errors
    /// If the directory cannot be read now.
    pub fn stop(self) -> Result<(u64, u64)> {
        let now = directory_bytes(&self.directory)?;
        drop(self.stop);
        let peak = self.thread.join().unwrap_or_default();
        Ok((now, peak.max(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_remembered() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, vec![1; 1 << 20]).unwrap();
        let watch = SpaceWatch::start(directory.path());
        std::thread::sleep(3 * EVERY);
        std::fs::remove_file(&file).unwrap();
        let (now, peak) = watch.stop().unwrap();
        assert!(now < 1 << 20 && peak >= 1 << 20, "{now} {peak}");
    }
}
