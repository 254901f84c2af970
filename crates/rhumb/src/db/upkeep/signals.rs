//! Signals between the threads of a store: something changed, or a thread has nothing to do.

use std::task::Wake;
use std::time::{Duration, Instant};

use crate::db::write::pressure::{Debt, Pressure};
use crate::error::{Error, Result};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, Condvar, Rank, Ranked, RankedGuard, lock};

/// A step that failed on a full disk is tried again after this time.
const RETRY: Duration = Duration::from_millis(100);

/// Wakes the threads that wait for work, for room, or for the store to close.
#[derive(Debug)]
pub(in crate::db) struct Signals {
    state: Ranked<Signalled>,
    /// Whether there is any pressure: every write looks, and mostly there is none.
    is_pressed: AtomicBool,
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
    debt: Debt,
    /// The number of threads that found nothing to do since the last change.
    resting: usize,
    /// The number of times that a thread has found nothing to do.
    #[cfg(test)]
    waits: u64,
}

impl Signalled {
    pub(in crate::db) fn pressure(&self) -> Pressure {
        self.pressure
    }

    fn is_slow(&self) -> bool {
        matches!(self.pressure, Pressure::Slow(..))
    }

    #[cfg(test)]
    fn count_wait(&mut self) {
        self.waits += 1;
    }

    #[cfg(not(test))]
    fn count_wait(&mut self) {}

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
            debt: Debt::default(),
            resting: 0,
            #[cfg(test)]
            waits: 0,
        };
        Signals {
            state: Ranked::new(Rank::Signals, state),
            is_pressed: AtomicBool::new(false),
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
        self.rested.notify_all();
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
        self.rest(RETRY);
    }

    /// Waits for `time`; returns early if the store closes.
    pub(in crate::db) fn rest(&self, time: Duration) {
        self.sleep(lock(&self.state), time, |_| false);
    }

    /// Waits for `time`, until the store closes, or until there is `enough`.
    fn sleep<'a>(
        &'a self,
        mut state: RankedGuard<'a, Signalled>,
        time: Duration,
        enough: impl Fn(&Signalled) -> bool,
    ) {
        let until = Instant::now() + time;
        while !state.shutting_down && !enough(&state) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = state.wait_timeout(&self.changed, left);
        }
    }

    pub(in crate::db) fn set_pressure(&self, pressure: impl FnOnce() -> Pressure) {
        self.change(|s| {
            s.pressure = pressure();
            let is_pressed = s.pressure != Pressure::None;
            self.is_pressed.store(is_pressed, Ordering::Release);
            if !s.is_slow() {
                s.debt.forgive();
            }
        });
    }

    /// Whether writers are held up.
    pub(in crate::db) fn is_pressed(&self) -> bool {
        self.is_pressed.load(Ordering::Acquire)
    }

    pub(in crate::db) fn pressure(&self) -> Pressure {
        match self.is_pressed() {
            true => lock(&self.state).pressure,
            false => Pressure::None,
        }
    }

    /// Makes writers wait for `time`, together with earlier times that were too short for a sleep, or
    /// until the slowdown ends. Returns whether the caller waited.
    pub(in crate::db) fn slow_down(&self, time: Duration) -> bool {
        let mut state = lock(&self.state);
        match state.debt.add(time) {
            Some(owed) => {
                self.sleep(state, owed, |s| !s.is_slow());
                true
            }
            None => false,
        }
    }

    /// Waits while `waiting` returns `true`.
    pub(in crate::db) fn wait_while(
        &self,
        waiting: impl Fn(&Signalled) -> Result<bool>,
    ) -> Result<()> {
        let mut state = lock(&self.state);
        while waiting(&state)? {
            state = state.wait(&self.changed);
        }
        Ok(())
    }

    /// The number of changes so far.
    pub(in crate::db) fn changes(&self) -> u64 {
        lock(&self.state).changes
    }

    /// Waits until something has changed since [`Signals::changes`] returned `seen`, or for `time` if one
    /// is given. Meanwhile the caller counts as a thread without work. Returns whether something has
    /// changed.
    pub(in crate::db) fn wait_for_change(&self, seen: u64, time: Option<Duration>) -> bool {
        let until = time.map(|time| Instant::now() + time);
        let mut state = lock(&self.state);
        state.count_wait();
        if state.changes != seen || state.shutting_down {
            return true;
        }
        state.resting += 1;
        self.rested.notify_all();
        while state.changes == seen {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            state = match left {
                None => state.wait(&self.changed),
                Some(Duration::ZERO) => {
                    state.resting -= 1;
                    return false;
                }
                Some(left) => state.wait_timeout(&self.changed, left),
            };
        }
        true
    }

    /// Like [`Signals::wait_for_change`], but the caller is not counted as a thread without work.
    ///
    /// # Errors
    /// If the store is closing.
    pub(in crate::db) fn wait_past(&self, seen: u64) -> Result<()> {
        let mut state = lock(&self.state);
        while state.changes == seen && !state.shutting_down {
            state = state.wait(&self.changed);
        }
        match state.shutting_down {
            true => Err(Error::Closed),
            false => Ok(()),
        }
    }

    /// Waits until `threads` threads have nothing to do, the disk is full, or the store closes. Returns
    /// `false` if something has changed first since [`Signals::changes`] returned `seen`.
    pub(in crate::db) fn wait_for_rest(&self, threads: usize, seen: u64) -> bool {
        let mut state = lock(&self.state);
        loop {
            if state.resting >= threads || state.shutting_down || state.disk_full.is_some() {
                return true;
            }
            if state.changes != seen {
                return false;
            }
            state = state.wait(&self.rested);
        }
    }
}

impl Wake for Signals {
    fn wake(self: Arc<Self>) {
        self.wake_all();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_all();
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::sync::atomic::{AtomicUsize, Ordering};

    /// A thread looks for work and sleeps without a time limit; two others bring work. Loom reports a
    /// thread that sleeps forever.
    #[test]
    fn loom_no_work_is_slept_through() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            let signals = Arc::new(Signals::new());
            let work = Arc::new(AtomicUsize::new(0));
            let bring = |signals: &Signals, work: &AtomicUsize| {
                work.fetch_add(1, Ordering::SeqCst);
                signals.wake_all();
            };
            let (theirs, to_do) = (signals.clone(), work.clone());
            let worker = loom::thread::spawn(move || {
                while !theirs.shutting_down() {
                    let seen = theirs.changes();
                    if to_do.swap(0, Ordering::SeqCst) == 0 {
                        theirs.wait_for_change(seen, None);
                    }
                }
            });
            let (theirs, to_do) = (signals.clone(), work.clone());
            let other = loom::thread::spawn(move || bring(&theirs, &to_do));
            bring(&signals, &work);
            other.join().unwrap();
            while !signals.wait_for_rest(1, signals.changes()) {}
            assert_eq!(work.load(Ordering::SeqCst), 0);
            signals.shut_down();
            worker.join().unwrap();
        });
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    impl Signals {
        /// The number of times that a thread has found nothing to do.
        pub(in crate::db) fn waits(&self) -> u64 {
            lock(&self.state).waits
        }
    }

    #[test]
    fn the_end_of_a_slowdown_ends_its_debt() {
        let signals = Signals::new();
        let part = Duration::from_micros(600);
        let slow = || Pressure::Slow(1.0, "a test");
        signals.set_pressure(slow);
        assert!(!signals.slow_down(part));
        signals.set_pressure(|| Pressure::None);
        signals.set_pressure(slow);
        assert!(!signals.slow_down(part), "the debt was kept");
        assert!(signals.slow_down(part));
    }

    /// Regression test: resting threads once used the signal that wakes them to announce that they
    /// rest, so they never slept.
    #[test]
    fn resting_threads_let_each_other_rest() {
        let signals = Signals::new();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !signals.shutting_down() {
                        signals.wait_for_change(signals.changes(), None);
                    }
                });
            }
            while !signals.wait_for_rest(2, signals.changes()) {}
            assert_eq!(signals.waits(), 2);
            signals.shut_down();
        });
    }
}
