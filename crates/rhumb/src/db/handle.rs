//! What keeps a store open: the last handle to go closes it.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::batch::WriteBatch;
use super::store::Store;
use crate::error::Result;
use crate::options::Durability;
use crate::sync::atomic::Ordering;
use crate::sync::{Mutex, lock};

/// An open store with its threads.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) store: Arc<Store>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Handle {
    pub(super) fn new(store: Arc<Store>, threads: Vec<JoinHandle<()>>) -> Self {
        Handle {
            store,
            threads: Mutex::new(threads),
        }
    }

    /// Writes a batch with the durability that the options name.
    pub(super) fn write(&self, batch: WriteBatch) -> Result<()> {
        self.write_with(batch, self.store.options.durability)
    }

    pub(super) fn write_with(&self, batch: WriteBatch, durability: Durability) -> Result<()> {
        batch.check_store(self.store.number)?;
        self.store.submit(batch, durability)
    }

    /// Waits until the threads have nothing to do, or cannot go on.
    pub(super) fn settle(&self) {
        let threads = lock(&self.threads).len();
        // A thread that woke up late may not have looked around yet.
        self.store.signals.wake_all();
        while self.store.check_writable().is_ok() && !self.store.signals.wait_for_rest(threads) {}
        // One thread may have let go of a table after the other had looked for such.
        self.store.collect_garbage();
    }

    /// Stops the threads and ends the log cleanly. What comes after it fails.
    pub(super) fn close(&self) -> Result<()> {
        self.store.cancelled.store(true, Ordering::Relaxed);
        self.store.signals.shut_down();
        for thread in lock(&self.threads).drain(..) {
            // A thread that panicked has nothing more to say; its work is redone when the store is
            // opened again.
            let _ = thread.join();
        }
        // The threads may have ended before they came to what the last merge left.
        self.store.collect_garbage();
        self.store.end_log()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Nobody is left to tell; what was acknowledged as durable is.
        let _ = self.close();
    }
}
