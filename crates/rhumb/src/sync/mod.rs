//! Atomics, locks and threads, in one place so that loom can stand in for them.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p rhumb --release --lib loom` runs the models.

mod swap;
mod thread_number;

pub(crate) use swap::{Guard, Slots, Swap};
pub(crate) use thread_number::{NUMBERED_THREADS, thread_number};

#[cfg(loom)]
pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard, atomic};
#[cfg(not(loom))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, atomic};

// loom's pointer cannot point to a trait object, and what ours count is not in question; loom has no
// such cell, and ours are filled under a mutex that it does model.
pub(crate) use std::sync::{Arc, OnceLock};

/// Locks a mutex whatever happened to an earlier holder: no invariant of ours spans a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Waits on a condition, whatever happened to an earlier holder.
pub(crate) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar
        .wait(guard)
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Waits on a condition for some time, whatever happened to an earlier holder.
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
