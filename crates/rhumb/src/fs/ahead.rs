//! Reads that another thread makes while the one that needs their bytes does something else.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use super::{ReadFile, ops};

/// The threads that read, and so the reads that go on at the same time. They mostly wait for a device.
const THREADS: usize = 4;

/// Reads that may wait for a thread. Whoever finds as many before him reads for himself.
const WAITING: usize = 16;

/// A read that has begun.
#[derive(Debug)]
pub(crate) struct Reading(Receiver<Option<Vec<u8>>>);

struct Task {
    file: Arc<dyn ReadFile>,
    path: PathBuf,
    offset: u64,
    bytes: usize,
    done: SyncSender<Option<Vec<u8>>>,
}

impl Reading {
    /// Begins to read a part of a file. `None` if too many reads wait, or there is no thread for it.
    pub fn begin(
        file: &Arc<dyn ReadFile>,
        path: &Path,
        (offset, bytes): (u64, usize),
    ) -> Option<Self> {
        static READERS: OnceLock<Option<SyncSender<Task>>> = OnceLock::new();
        let readers = READERS.get_or_init(start).as_ref()?;
        let (done, result) = sync_channel(1);
        let task = Task {
            file: Arc::clone(file),
            path: path.to_path_buf(),
            offset,
            bytes,
            done,
        };
        readers.try_send(task).ok().map(|()| Reading(result))
    }

    /// Waits for the bytes. `None` if they could not be read: reading them again says why.
    pub fn end(self) -> Option<Vec<u8>> {
        self.0.recv().ok().flatten()
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
        let mut bytes = vec![0; task.bytes];
        let read = ops::read_exact_at(&*task.file, &task.path, &mut bytes, task.offset);
        // Nobody may wait for it any more.
        let _ = task.done.send(read.is_ok().then_some(bytes));
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::fs::{Access, FileSystem, MemoryFileSystem};

    #[test]
    fn reads_end_with_their_bytes_or_with_none() {
        let fs = MemoryFileSystem::new();
        let path = PathBuf::from("file");
        let file = fs.create(&path).unwrap();
        let content: Vec<u8> = (0..200).collect();
        assert_eq!(file.write(&content).unwrap(), content.len());
        let file = fs.open(&path, Access::Buffered).unwrap();
        for round in 0..100u8 {
            let begun = (0..8).map(|n| Reading::begin(&file, &path, (u64::from(n + round), 10)));
            let begun: Vec<_> = begun.collect();
            for (n, reading) in (round..).zip(begun) {
                let expected: Vec<u8> = (n..n + 10).collect();
                assert_eq!(reading.unwrap().end().unwrap(), expected);
            }
        }
        let behind_the_end = Reading::begin(&file, &path, (195, 10)).unwrap();
        assert_eq!(behind_the_end.end(), None);
        // A read that nobody waits for ends too.
        drop(Reading::begin(&file, &path, (0, 10)).unwrap());
    }
}
