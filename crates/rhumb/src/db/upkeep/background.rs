//! The threads behind an open store: one flushes, the others compact and collect garbage.

use std::sync::Arc;
use std::thread::JoinHandle;

use crate::db::store::Store;
use crate::error::{Error, Result};

/// One step of background work. Returns whether there was something to do.
type Task = fn(&Store) -> Result<bool>;

/// The most threads that are started for compactions: more of them would wait for the disk and for
/// each other's tables.
const MOST_COMPACTION_THREADS: usize = 4;

/// The number of compaction threads: the number in the options, or, if that is 0, the number of
/// cores less one, between 1 and [`MOST_COMPACTION_THREADS`].
fn compaction_threads(store: &Store) -> usize {
    match store.options.compaction_threads {
        0 => {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            cores.saturating_sub(1).clamp(1, MOST_COMPACTION_THREADS)
        }
        threads => threads,
    }
}

/// Starts the background threads of a store.
///
/// # Errors
/// If the operating system cannot start a thread.
pub(in crate::db) fn start(store: &Arc<Store>) -> Result<Vec<JoinHandle<()>>> {
    let flush: (&str, Task) = ("rhumb-flush", Store::flush_one);
    let compact: (&str, Task) = ("rhumb-compact", Store::compact_one);
    let compact = std::iter::repeat_n(compact, compaction_threads(store));
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for (name, task) in [flush].into_iter().chain(compact) {
        let own = store.clone();
        let thread = std::thread::Builder::new().name(name.to_string());
        match thread.spawn(move || work(&own, task)) {
            Ok(thread) => threads.push(thread),
            Err(e) => {
                store.signals.shut_down();
                threads.into_iter().for_each(|t| drop(t.join()));
                return Err(Error::io("start a thread for", &store.dir, e));
            }
        }
    }
    Ok(threads)
}

/// Repeats a task while there is something to do and waits otherwise, until the store closes.
fn work(store: &Store, task: Task) {
    let _guard = FailOnPanic(store);
    let mut failed = false;
    while !store.signals.shutting_down() {
        let seen = store.signals.changes();
        let step = task(store);
        if step.is_ok() && std::mem::take(&mut failed) {
            store.signals.clear_disk_full();
        }
        match step {
            Ok(true) => {}
            Ok(false) => store.signals.wait_for_change(seen),
            Err(e) => {
                failed = true;
                store.note_background_error(&e);
                store.signals.wait_a_while();
            }
        }
    }
}

/// Puts the store into read-only mode when a background thread panics, so that no caller waits for
/// work that will never be done.
struct FailOnPanic<'a>(&'a Store);

impl Drop for FailOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let what = "a background thread panicked, which is a bug".to_string();
            self.0.fail(&Error::InvalidArgument(what));
        }
    }
}
