//! The part of an open store that all user-facing handles share: the store closes when the last
//! handle is dropped.

use std::borrow::Cow;
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::db::store::Store;
use crate::db::write::batch::WriteBatch;
use crate::db::write::group::{Request, Written};
use crate::db::write::swap::Condition;
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

    /// Writes a batch with the durability of the store's options.
    pub(super) fn write(&self, batch: Cow<'_, WriteBatch>) -> Result<()> {
        self.write_with(batch, self.store.options.durability)
    }

    pub(super) fn write_with(
        &self,
        batch: Cow<'_, WriteBatch>,
        durability: Durability,
    ) -> Result<()> {
        batch.check_store(self.store.number)?;
        let condition = None;
        let request = Request {
            batch,
            durability,
            condition,
        };
        // Without a condition, whether it holds is no question.
        self.store.submit(request).map(|_| ())
    }

    /// Writes a batch if a condition holds then.
    pub(super) fn write_if(
        &self,
        condition: Condition,
        batch: WriteBatch,
        durability: Durability,
    ) -> Written {
        self.store.submit(Request {
            batch: Cow::Owned(batch),
            durability,
            condition: Some(Box::new(condition)),
        })
    }

    /// Waits until the background threads have nothing to do or cannot go on.
    pub(super) fn settle(&self) {
        let threads = lock(&self.threads).len();
        // A thread that has just woken up may not have looked for work yet.
        let signals = &self.store.scheduler.signals;
        signals.wake_all();
        loop {
            let seen = signals.changes();
            if self.store.check_writable().is_err() || signals.wait_for_rest(threads, seen) {
                break;
            }
        }
        // One thread may have released a table after another had looked for garbage.
        self.store.collect_garbage();
    }

    /// Stops the threads and ends the log cleanly. Later writes fail.
    pub(super) fn close(&self) -> Result<()> {
        self.store.cancelled.store(true, Ordering::Relaxed);
        self.store.scheduler.signals.shut_down();
        for thread in lock(&self.threads).drain(..) {
            // If a thread panicked, its work is redone when the store is opened again.
            let _ = thread.join();
        }
        // The threads may have ended before they deleted the inputs of the last merge.
        self.store.collect_garbage();
        self.store.end_log()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // The error cannot be returned from here. Whatever was acknowledged as durable is durable.
        let _ = self.close();
    }
}
