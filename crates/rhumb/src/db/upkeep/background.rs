//! The threads behind an open store: one flushes, one ends logs, one may learn models, the others do all other jobs
//! and delete garbage.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::db::store::Store;
use crate::error::{Error, Result};
use crate::options::{Options, Tuner};
use crate::sync::atomic::Ordering;

/// The most threads that are started for compactions: more of them would wait for the disk and for
/// each other's tables.
const MOST_COMPACTION_THREADS: usize = 4;

/// A replaced view that is still read is looked at again after this time, then after twice the time,
/// and so on up to the longest: readers tell nobody that they have ended.
const SHORTEST_LOOK: Duration = Duration::from_millis(10);
const LONGEST_LOOK: Duration = Duration::from_secs(1);

/// The threads that do the same kinds of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::db) enum Crew {
    /// Flushes, which writers wait for first.
    Flush,
    /// The end of the log that was replaced, and the beginning of the next one.
    Log,
    /// Everything that may take long.
    Merge,
    /// Models of tables, which nobody waits for.
    Learn,
}

impl Crew {
    fn thread_name(self) -> &'static str {
        match self {
            Crew::Flush => "rhumb-flush",
            Crew::Log => "rhumb-log",
            Crew::Merge => "rhumb-compact",
            Crew::Learn => "rhumb-learn",
        }
    }

    /// The number of its threads. For merges it is the number in the options, or, if that is 0, the
    /// number of cores less one, between 1 and [`MOST_COMPACTION_THREADS`].
    fn threads(self, options: &Options) -> usize {
        match (self, options.compaction_threads) {
            (Crew::Flush | Crew::Log, _) => 1,
            (Crew::Learn, _) => {
                let learns = matches!(options.tuner, Tuner::Bourbon { .. });
                usize::from(learns && options.levels.compaction.tier().is_none())
            }
            (Crew::Merge, 0) => {
                let cores = std::thread::available_parallelism().map_or(1, usize::from);
                cores.saturating_sub(1).clamp(1, MOST_COMPACTION_THREADS)
            }
            (Crew::Merge, threads) => threads,
        }
    }
}

/// What a thread found to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Round {
    Worked,
    Nothing,
    /// Nothing before so much time has passed.
    NothingFor(Duration),
    /// Nothing now, but replaced views are still read, and no signal will tell when they are not.
    ViewsAreRead,
}

/// Starts the background threads of a store.
///
/// # Errors
/// If the operating system cannot start a thread.
pub(in crate::db) fn start(store: &Arc<Store>) -> Result<Vec<JoinHandle<()>>> {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    let crews = [Crew::Flush, Crew::Log, Crew::Merge, Crew::Learn].into_iter();
    for crew in crews.flat_map(|crew| std::iter::repeat_n(crew, crew.threads(&store.options))) {
        let own = store.clone();
        let thread = std::thread::Builder::new().name(crew.thread_name().to_string());
        match thread.spawn(move || work(&own, crew)) {
            Ok(thread) => threads.push(thread),
            Err(e) => {
                store.cancelled.store(true, Ordering::Relaxed);
                store.scheduler.signals.shut_down();
                threads.into_iter().for_each(|t| drop(t.join()));
                return Err(Error::io("start a thread for", &store.files.dir, e));
            }
        }
    }
    Ok(threads)
}

impl Store {
    /// One round of a background thread: tidies up and does a job.
    pub(super) fn round(&self, crew: Crew) -> Result<Round> {
        self.check_writable()?;
        if crew == Crew::Log {
            return Ok(match self.end_replaced_log()? {
                true => Round::Worked,
                false => Round::Nothing,
            });
        }
        if crew == Crew::Learn {
            return Ok(self.learn_next());
        }
        // The other threads may be busy for long, and every flush replaces views.
        let freed = self.free_views();
        if crew == Crew::Merge {
            self.delete_garbage();
            self.renew_filters_above()?;
        }
        Ok(match self.do_most_urgent(crew)? {
            true => Round::Worked,
            false if crew == Crew::Merge && self.renew_level_models_idly()? => Round::Worked,
            false if freed || crew != Crew::Flush => Round::Nothing,
            false => Round::ViewsAreRead,
        })
    }
}

/// Repeats rounds while there is something to do and waits otherwise, until the store closes.
fn work(store: &Store, crew: Crew) {
    let guard = Unwinding::fails(store, "a background thread panicked, which is a bug");
    let signals = &store.scheduler.signals;
    let mut disk_was_full = false;
    let mut look = SHORTEST_LOOK;
    while !signals.shutting_down() {
        let seen = signals.changes();
        let round = store.round(crew);
        if round.is_ok() && std::mem::take(&mut disk_was_full) {
            signals.clear_disk_full();
        }
        match round {
            Ok(Round::Worked) => {}
            Ok(Round::Nothing) => {
                signals.wait_for_change(seen, None);
            }
            Ok(Round::NothingFor(time)) => {
                signals.wait_for_change(seen, Some(time));
            }
            Ok(Round::ViewsAreRead) => {
                look = match signals.wait_for_change(seen, Some(look)) {
                    true => SHORTEST_LOOK,
                    false => LONGEST_LOOK.min(2 * look),
                }
            }
            Err(full @ Error::DiskFull { .. }) => {
                disk_was_full = true;
                signals.set_disk_full(full);
                signals.wait_a_while();
            }
            Err(e) => {
                // Nothing more can be done until the store is closed.
                if !matches!(e, Error::Closed) {
                    store.fail(&e);
                }
                signals.wait_for_change(seen, None);
            }
        }
    }
    guard.end();
}

/// Makes the store read-only when a thread panics in work on it, so that no caller waits for work that will
/// never be done, and nothing is built on work that was half done.
pub(in crate::db) struct Unwinding<'a> {
    store: &'a Store,
    message: &'a str,
}

impl<'a> Unwinding<'a> {
    /// The store fails with `message` unless the work [ends](Unwinding::end).
    pub(in crate::db) fn fails(store: &'a Store, message: &'a str) -> Self {
        Unwinding { store, message }
    }

    /// The work has ended, with an error or without.
    pub(in crate::db) fn end(self) {
        std::mem::forget(self);
    }
}

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        let message = self.message.to_string();
        self.store.fail(&Error::InvalidArgument(message));
    }
}
