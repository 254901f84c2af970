//! Atomics, locks and threads, in one place so that loom can replace them.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p rhumb --release --lib loom` runs the models.

mod opened;
mod own_lines;
mod ranked;
mod swap;
mod thread_number;

pub(crate) use opened::Opened;
pub(crate) use own_lines::OwnLines;
pub(crate) use ranked::{Rank, Ranked, RankedGuard};
pub(crate) use swap::{Guard, HazardSlots, Swap};
pub(crate) use thread_number::{NUMBERED_THREADS, thread_number};

#[cfg(loom)]
pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard, atomic};
#[cfg(not(loom))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, atomic};

// Loom's `Arc` cannot hold a trait object, and our reference counts need no model. Loom has no
// `OnceLock`; ours are filled under a mutex, which loom does model.
pub(crate) use std::sync::{Arc, OnceLock, Weak};

/// What can be locked.
pub(crate) trait Lock {
    /// Unlocks it when dropped.
    type Guard<'a>
    where
        Self: 'a;

    /// See [`lock`].
    #[track_caller]
    fn acquire(&self) -> Self::Guard<'_>;
}

impl<T> Lock for Mutex<T> {
    type Guard<'a>
        = MutexGuard<'a, T>
    where
        T: 'a;

    fn acquire(&self) -> MutexGuard<'_, T> {
        self.lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl<L: Lock> Lock for Arc<L> {
    type Guard<'a>
        = L::Guard<'a>
    where
        L: 'a;

    fn acquire(&self) -> L::Guard<'_> {
        (**self).acquire()
    }
}

/// Locks a mutex even if an earlier holder panicked: no invariant of the store spans a panic.
#[track_caller]
pub(crate) fn lock<L: Lock>(mutex: &L) -> L::Guard<'_> {
    mutex.acquire()
}

/// Waits on a condition, even if an earlier holder of the lock panicked.
pub(crate) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar
        .wait(guard)
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Waits on a condition for at most `time`, even if an earlier holder of the lock panicked.
pub(crate) fn wait_timeout<'a, T>(
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    time: std::time::Duration,
) -> MutexGuard<'a, T> {
    match condvar.wait_timeout(guard, time) {
        Ok((guard, _)) => guard,
        Err(poisoned) => poisoned.into_inner().0,
    }
}
