//! Signals between the threads of a store: something changed, or a thread has nothing to do.

use std::time::{Duration, Instant};

use crate::db::write::pressure::Pressure;
use crate::error::{Error, Result};
use crate::sync::{Condvar, Mutex, lock, wait_timeout};

/// A writer sleeps once it owes this much, since the system does not time shorter sleeps well.
const LEAST_SLEEP: Duration = Duration::from_millis(1);
/// The longest time that waiting threads wait before they check again.
const LOOK_AROUND: Duration = Duration::from_millis(100);

/// Wakes the threads that wait for work, for room, or for the store to close.
#[derive(Debug)]
pub(in crate::db) struct Signals {
    state: Mutex<Signalled>,
    changed: Condvar,
    /// Separate from `changed`: if resting threads signalled `changed`, two of them would wake each
    /// other forever.
    rested: Condvar,
}

/// The state that the threads of a store share for signalling.
#[derive(Debug)]
pub(in crate::db) struct Signalled {
    /// The number of changes so far, so that none between a check and a wait is missed.
    changes: u64,
    shutting_down: bool,
    disk_full: Option<Error>,
    pressure: Pressure,
    owed: Duration,
    /// The number of threads that found nothing to do since the last change.
    resting: usize,
}

impl Signalled {
    pub(in crate::db) fn pressure(&self) -> Pressure {
        self.pressure
    }

    /// Fails while background work waits for room on the disk, or if the store is closing.
    pub(in crate::db) fn disk_full(&self) -> Result<()> {
        if self.shutting_down {
            return Err(Error::Closed);
        }
        self.disk_full.clone().map_or(Ok(()), Err)
    }
}

impl Signals {
    pub(in crate::db) fn new() -> Self {
        let state = Signalled {
            changes: 0,
            shutting_down: false,
            disk_full: None,
            pressure: Pressure::None,
            owed: Duration::ZERO,
            resting: 0,
        };
        Signals {
            state: Mutex::new(state),
            changed: Condvar::new(),
            rested: Condvar::new(),
        }
    }

    fn change(&self, change: impl FnOnce(&mut Signalled)) {
        let mut state = lock(&self.state);
        change(&mut state);
        state.changes += 1;
        state.resting = 0;
        drop(state);
        self.changed.notify_all();
    }

    pub(in crate::db) fn wake_all(&self) {
        self.change(|_| {});
    }

    pub(in crate::db) fn shut_down(&self) {
        self.change(|s| s.shutting_down = true);
    }

    pub(in crate::db) fn shutting_down(&self) -> bool {
        lock(&self.state).shutting_down
    }

    pub(in crate::db) fn set_disk_full(&self, error: Error) {
        self.change(|s| s.disk_full = Some(error));
    }

    pub(in crate::db) fn clear_disk_full(&self) {
        self.change(|s| s.disk_full = None);
    }

    /// Waits before a failed step is tried again; returns early if the store closes.
    pub(in crate::db) fn wait_a_while(&self) {
        let until = Instant::now() + LOOK_AROUND;
        let mut state = lock(&self.state);
        while !state.shutting_down {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = wait_timeout(&self.changed, state, left);
        }
    }

    pub(in crate::db) fn set_pressure(&self, pressure: impl FnOnce() -> Pressure) {
        self.change(|s| s.pressure = pressure());
    }

    pub(in crate::db) fn pressure(&self) -> Pressure {
        lock(&self.state).pressure
    }

    /// Adds to the time that writers owe. Returns whether it is long enough for a sleep.
    pub(in crate::db) fn owe(&self, time: Duration) -> bool {
        let mut state = lock(&self.state);
        state.owed += time;
        state.owed >= LEAST_SLEEP
    }

    /// Takes up to `most` off the time owed. Returns how much was taken off.
    pub(in crate::db) fn pay(&self, most: Duration) -> Duration {
        let mut state = lock(&self.state);
        let paid = state.owed.min(most);
        state.owed -= paid;
        paid
    }

    /// Waits while `waiting` returns `true`.
    pub(in crate::db) fn wait_while(
        &self,
        waiting: impl Fn(&Signalled) -> Result<bool>,
    ) -> Result<()> {
        let mut state = lock(&self.state);
        while waiting(&state)? {
            state = wait_timeout(&self.changed, state, LOOK_AROUND);
        }
        Ok(())
    }

    /// The number of changes so far.
    pub(in crate::db) fn changes(&self) -> u64 {
        lock(&self.state).changes
    }

    /// Waits until something has changed since [`Signals::changes`] returned `seen`, or for a
    /// while.
    pub(in crate::db) fn wait_for_change(&self, seen: u64) {
        let mut state = lock(&self.state);
        if state.changes != seen || state.shutting_down {
            return;
        }
        state.resting += 1;
        self.rested.notify_all();
        state = wait_timeout(&self.changed, state, LOOK_AROUND);
        if state.changes == seen {
            state.resting -= 1;
        }
    }

    /// Like [`Signals::wait_for_change`], but the caller is not counted as a thread without work.
    ///
    /// # Errors
    /// If the store is closing.
    pub(in crate::db) fn wait_past(&self, seen: u64) -> Result<()> {
        let mut state = lock(&self.state);
        if state.changes == seen && !state.shutting_down {
            state = wait_timeout(&self.changed, state, LOOK_AROUND);
        }
        match state.shutting_down {
            true => Err(Error::Closed),
            false => Ok(()),
        }
    }

    /// Waits a while until `threads` threads have nothing to do, the disk is full, or the store
    /// closes. Returns whether one of these is the case.
    pub(in crate::db) fn wait_for_rest(&self, threads: usize) -> bool {
        let rests = |state: &Signalled| {
            state.resting >= threads || state.shutting_down || state.disk_full.is_some()
        };
        let state = lock(&self.state);
        rests(&state) || rests(&wait_timeout(&self.rested, state, LOOK_AROUND))
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Regression test: resting threads once used the signal that wakes them to announce that they
    /// rest, so they never slept.
    #[test]
    fn resting_threads_let_each_other_rest() {
        let signals = Signals::new();
        let rounds = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !signals.shutting_down() {
                        signals.wait_for_change(signals.changes());
                        rounds.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            while !signals.wait_for_rest(2) {}
            std::thread::sleep(2 * LOOK_AROUND);
            signals.shut_down();
        });
        // Two or three rounds each if the threads sleep; hundreds of thousands if they do not.
        assert!(rounds.into_inner() < 1_000);
    }
}
