//! Reads that another thread makes while the one that needs their bytes does something else.

use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use super::{ReadFile, ops};

/// The threads that read, and so the reads that go on at the same time. They mostly wait for a device.
const THREADS: usize = 4;

/// Reads that may wait for a thread. Whoever finds as many before him reads for himself.
const WAITING: usize = 16;

/// A read that a thread was asked for. Dropped, it is not made if no thread has begun it.
#[derive(Debug)]
pub(crate) struct Reading {
    result: Receiver<Option<Vec<u8>>>,
    taken: Arc<AtomicBool>,
}

struct Task {
    file: Arc<dyn ReadFile>,
    path: PathBuf,
    offset: u64,
    bytes: usize,
    /// Set by the thread that begins it, or by whoever does not wait for that any more.
    taken: Arc<AtomicBool>,
    done: SyncSender<Option<Vec<u8>>>,
}

impl Reading {
    /// Asks for a part of a file. `None` if too many reads wait, or there is no thread for it.
    pub fn begin(
        file: &Arc<dyn ReadFile>,
        path: &Path,
        (offset, bytes): (u64, usize),
    ) -> Option<Self> {
        static READERS: OnceLock<(u32, Option<SyncSender<Task>>)> = OnceLock::new();
        let (process, readers) = READERS.get_or_init(|| (process::id(), start()));
        // A forked process has none of the threads.
        let readers = readers.as_ref().filter(|_| *process == process::id())?;
        let (done, result) = sync_channel(1);
        let taken = Arc::new(AtomicBool::new(false));
        let task = Task {
            file: Arc::clone(file),
            path: path.to_path_buf(),
            offset,
            bytes,
            taken: Arc::clone(&taken),
            done,
        };
        let asked = readers.try_send(task).is_ok();
        asked.then_some(Reading { result, taken })
    }

    /// Waits for the bytes. `None` if the read has not begun, or failed: whoever needs them reads, and learns why.
    pub fn end(self) -> Option<Vec<u8>> {
        match self.taken.swap(true, Ordering::Relaxed) {
            true => self.result.recv().ok().flatten(),
            false => None,
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.taken.store(true, Ordering::Relaxed);
    }
}

/// Starts the threads, which last as long as the process. `None` if not even one can be started.
fn start() -> Option<SyncSender<Task>> {
    let (sender, tasks) = sync_channel::<Task>(WAITING);
    let tasks = Arc::new(Mutex::new(tasks));
    let started = (0..THREADS).filter(|n| {
        let tasks = Arc::clone(&tasks);
        let thread = thread::Builder::new().name(format!("rhumb-read-{n}"));
        thread.spawn(move || read_all(&tasks)).is_ok()
    });
    (started.count() > 0).then_some(sender)
}

fn read_all(tasks: &Mutex<Receiver<Task>>) {
    loop {
        // Nothing panics while it holds the lock. The sender is never dropped.
        let task = tasks.lock().map(|tasks| tasks.recv());
        let Ok(Ok(task)) = task else { return };
        if task.taken.swap(true, Ordering::Relaxed) {
            continue;
        }
        let read = ops::read_range(&*task.file, &task.path, task.offset, task.bytes as u64);
        // Nobody may wait for it any more.
        let _ = task.done.send(read.ok());
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::fs::{Access, FileSystem, MemoryFileSystem};

    fn file() -> (Arc<dyn ReadFile>, PathBuf) {
        let (fs, path) = (MemoryFileSystem::new(), PathBuf::from("file"));
        let file = fs.create(&path).unwrap();
        let content: Vec<u8> = (0..200).collect();
        assert_eq!(file.write(&content).unwrap(), content.len());
        (fs.open(&path, Access::Buffered).unwrap(), path)
    }

    /// The result of a read that a thread has begun.
    fn read(part: (u64, usize)) -> Option<Vec<u8>> {
        let (file, path) = file();
        loop {
            let reading = Reading::begin(&file, &path, part);
            while let Some(reading) = &reading
                && !reading.taken.load(Ordering::Relaxed)
            {
                thread::yield_now();
            }
            match reading {
                Some(reading) => return reading.end(),
                // Other tests have filled the queue.
                None => thread::yield_now(),
            }
        }
    }

    #[test]
    fn reads_end_with_their_bytes_or_with_none() {
        for from in 0..100u8 {
            let expected: Vec<u8> = (from..from + 10).collect();
            assert_eq!(read((from.into(), 10)), Some(expected));
        }
        // Behind the end.
        assert_eq!(read((195, 10)), None);
    }

    /// Whatever threads and those who wait do first, a read ends, with its bytes or without.
    #[test]
    fn reads_that_are_not_waited_for_are_not_in_the_way() {
        let (file, path) = file();
        for round in 0..1_000u64 {
            let begun: Vec<_> = (0..8)
                .map(|n| Reading::begin(&file, &path, (n, 10)))
                .collect();
            for (n, reading) in begun
                .into_iter()
                .flatten()
                .enumerate()
                .skip(round as usize % 8)
            {
                let bytes = reading.end();
                assert!(bytes.is_none_or(|bytes| bytes.len() == 10), "{n}");
            }
        }
    }
}
