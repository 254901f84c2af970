//! How the threads of a store tell each other that something changed.

use std::time::{Duration, Instant};

use super::pressure::Pressure;
use crate::error::{Error, Result};
use crate::sync::{Condvar, Mutex, lock, wait_timeout};

/// A writer sleeps once it owes this much, since shorter sleeps are not kept.
const LEAST_SLEEP: Duration = Duration::from_millis(1);
/// Waiting threads look around at least this often.
const LOOK_AROUND: Duration = Duration::from_millis(100);

/// Wakes those who wait for work, for room, or for an end.
#[derive(Debug)]
pub(super) struct Signals {
    state: Mutex<Signalled>,
    changed: Condvar,
    /// Told apart from `changed`, or two threads that rest would wake each other for ever.
    rested: Condvar,
}

/// What the threads of a store know of each other.
#[derive(Debug)]
pub(super) struct Signalled {
    /// Counts the changes, so that none is missed between looking and waiting.
    changes: u64,
    shutting_down: bool,
    disk_full: Option<Error>,
    pressure: Pressure,
    owed: Duration,
    /// How many threads found nothing to do since the last change.
    resting: usize,
}

impl Signalled {
    pub(super) fn pressure(&self) -> Pressure {
        self.pressure
    }

    /// An error while background work waits for room on the disk, or the store is closing.
    pub(super) fn disk_full(&self) -> Result<()> {
        if self.shutting_down {
            return Err(Error::Closed);
        }
        self.disk_full.clone().map_or(Ok(()), Err)
    }
}

impl Signals {
    pub(super) fn new() -> Self {
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

    pub(super) fn wake_all(&self) {
        self.change(|_| {});
    }

    pub(super) fn shut_down(&self) {
        self.change(|s| s.shutting_down = true);
    }

    pub(super) fn shutting_down(&self) -> bool {
        lock(&self.state).shutting_down
    }

    pub(super) fn set_disk_full(&self, error: Error) {
        self.change(|s| s.disk_full = Some(error));
    }

    pub(super) fn clear_disk_full(&self) {
        self.change(|s| s.disk_full = None);
    }

    /// Waits for the time after which a failed step is tried again, or for the end.
    pub(super) fn wait_a_while(&self) {
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

    pub(super) fn set_pressure(&self, pressure: impl FnOnce() -> Pressure) {
        self.change(|s| s.pressure = pressure());
    }

    pub(super) fn pressure(&self) -> Pressure {
        lock(&self.state).pressure
    }

    /// Adds to the time that writers owe; whether it is worth a sleep now.
    pub(super) fn owe(&self, time: Duration) -> bool {
        let mut state = lock(&self.state);
        state.owed += time;
        state.owed >= LEAST_SLEEP
    }

    /// The time owed so far, at most `most`, which is then owed no more.
    pub(super) fn pay(&self, most: Duration) -> Duration {
        let mut state = lock(&self.state);
        let paid = state.owed.min(most);
        state.owed -= paid;
        paid
    }

    /// Waits until `waiting` says no.
    pub(super) fn wait_while(&self, waiting: impl Fn(&Signalled) -> Result<bool>) -> Result<()> {
        let mut state = lock(&self.state);
        while waiting(&state)? {
            state = wait_timeout(&self.changed, state, LOOK_AROUND);
        }
        Ok(())
    }

    /// How often something changed so far.
    pub(super) fn changes(&self) -> u64 {
        lock(&self.state).changes
    }

    /// Waits until something changed since [`Signals::changes`] said `seen`, or for a while.
    pub(super) fn wait_for_change(&self, seen: u64) {
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

    /// Waits until something changed since [`Signals::changes`] said `seen`, or for a while. For
    /// callers, who do not count as resting.
    ///
    /// # Errors
    /// If the store is closing.
    pub(super) fn wait_past(&self, seen: u64) -> Result<()> {
        let mut state = lock(&self.state);
        if state.changes == seen && !state.shutting_down {
            state = wait_timeout(&self.changed, state, LOOK_AROUND);
        }
        match state.shutting_down {
            true => Err(Error::Closed),
            false => Ok(()),
        }
    }

    /// Waits a while for so many threads to have nothing to do, or to wait for room or for the end;
    /// whether it came to that.
    pub(super) fn wait_for_rest(&self, threads: usize) -> bool {
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

    /// Threads that rest told each other so by the signal that wakes them, and never slept.
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
        // Two or three each, if they sleep; hundreds of thousands if they do not.
        assert!(rounds.into_inner() < 1_000);
    }
}
