//! Group commit: writers queue their requests, and one of them, the leader, serves all that wait.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex, MutexGuard, lock, wait};

/// How often a caller looks whether the leader has ended before it sleeps: about 20 us, several times what a group
/// without a sync takes. To sleep and to be woken takes longer, 50 us and more on a virtual machine.
const LOOKS: usize = if cfg!(loom) { 0 } else { 800 };

/// A queue of requests, served in groups by one of the callers at a time, the leader.
///
/// Groups form by themselves: while a leader is busy (writing, syncing), further requests are
/// queued, and the next leader takes all of them.
#[derive(Debug)]
pub(in crate::db) struct CommitQueue<T, R> {
    state: Mutex<QueueState<T, R>>,
    changed: Condvar,
    progress: Progress,
}

/// What waiting callers look at. In a cache line of its own, so that they do not slow down the leader.
#[derive(Debug)]
#[repr(align(64))]
struct Progress {
    /// The number of groups that were served.
    groups: AtomicU64,
    /// Whether the group that is served takes so long that to wait awake is in vain.
    is_slow: AtomicBool,
}

#[derive(Debug)]
struct QueueState<T, R> {
    waiting: VecDeque<(u64, T)>,
    results: HashMap<u64, R>,
    next_ticket: u64,
    leading: bool,
    /// The number of callers that wait to be alone. While it is not 0, nobody becomes leader, but for one after
    /// each caller alone.
    waiting_alone: usize,
    /// Whether requests that waited for a caller alone come before the next one.
    requests_first: bool,
    /// Whether a caller looks for the end of the leader that was alone when it came, and has not queued its request.
    looking: bool,
    /// The number of callers that sleep until something changes. Waking takes a call of the operating system.
    sleeping: usize,
    /// Whether a leader panicked.
    broken: bool,
}

impl<T, R> QueueState<T, R> {
    /// Whether a caller with a request may become leader now.
    fn may_lead(&self) -> bool {
        !self.leading && (self.waiting_alone == 0 || self.requests_first)
    }
}

impl<T, R> CommitQueue<T, R> {
    pub(in crate::db) fn new() -> Self {
        let state = QueueState {
            waiting: VecDeque::new(),
            results: HashMap::new(),
            next_ticket: 0,
            leading: false,
            waiting_alone: 0,
            requests_first: false,
            looking: false,
            sleeping: 0,
            broken: false,
        };
        CommitQueue {
            state: Mutex::new(state),
            changed: Condvar::new(),
            progress: Progress {
                groups: AtomicU64::new(0),
                is_slow: AtomicBool::new(false),
            },
        }
    }

    /// Notes that the leader, which the caller is, now waits for something slow, such as a disk: nobody waits awake
    /// for the end of its group.
    pub(in crate::db) fn slows_down(&self) {
        self.progress.is_slow.store(true, Ordering::Relaxed);
    }

    /// Queues `request`, waits until it is served, and returns its result and how long it slept until other
    /// leaders had ended. A caller that becomes leader calls `lead` with the queued requests in the order in
    /// which they were queued; `lead` returns one result for each. If no other caller waits, the request is not
    /// made one for the queue by `queued`, but served by `lone`. A caller that `looks` calls `prepare` if it finds
    /// only a leader there, and looks for a moment whether it ends; one whose request is slow should not. Two
    /// leaders never run at the same time.
    ///
    /// Returns `None` once a leader has panicked: the outcome of its group is unknown, so no
    /// further request is served.
    pub(in crate::db) fn submit<Q>(
        &self,
        request: Q,
        looks: bool,
        prepare: impl FnOnce(&Q),
        queued: impl FnOnce(Q) -> T,
        lone: impl FnOnce(&Q) -> R,
        lead: impl FnOnce(Vec<T>) -> Vec<R>,
    ) -> Option<(R, Duration)> {
        let mut state = lock(&self.state);
        if looks && state.leading && !state.looking && state.waiting.is_empty() && !self.is_slow() {
            state.looking = true;
            let groups = self.groups();
            drop(state);
            prepare(&request);
            self.look(groups);
            state = lock(&self.state);
            state.looking = false;
        }
        if state.broken {
            return None;
        }
        if state.may_lead() && state.waiting.is_empty() {
            state.leading = true;
            drop(state);
            let own = self.serve(|| lone(&request), |_, own| own);
            return Some((own, Duration::ZERO));
        }
        drop(state);
        let request = queued(request);
        let mut state = lock(&self.state);
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiting.push_back((ticket, request));
        if looks && state.leading {
            let groups = self.groups();
            drop(state);
            self.look(groups);
            state = lock(&self.state);
        }
        // Only those who sleep look at the clock.
        let mut sleeping: Option<Instant> = None;
        let slept = |since: Option<Instant>| since.map_or(Duration::ZERO, |since| since.elapsed());
        loop {
            if let Some(result) = state.results.remove(&ticket) {
                return Some((result, slept(sleeping)));
            }
            if state.broken {
                return None;
            }
            if state.may_lead() {
                break;
            }
            sleeping.get_or_insert_with(Instant::now);
            state = self.sleep(state);
        }
        state.leading = true;
        state.requests_first = false;
        let (tickets, group): (Vec<_>, Vec<_>) = state.waiting.drain(..).unzip();
        drop(state);
        let slept = slept(sleeping);
        let own = self.serve(
            || tickets.into_iter().zip(lead(group)),
            |state, results| {
                state.results.extend(results);
                // A caller that was not served is in the queue, all of which the leader takes.
                state.results.remove(&ticket)
            },
        );
        own.map(|own| (own, slept))
    }

    /// Calls `work` while no leader runs and none begins: requests wait, and come before the next caller alone.
    ///
    /// Returns `None` once a leader has panicked, or an earlier caller alone.
    pub(in crate::db) fn alone<A>(&self, work: impl FnOnce() -> A) -> Option<A> {
        let mut state = lock(&self.state);
        state.waiting_alone += 1;
        while (state.leading || state.requests_first) && !state.broken {
            state = self.sleep(state);
        }
        state.waiting_alone -= 1;
        if state.broken {
            return None;
        }
        state.leading = true;
        drop(state);
        self.slows_down();
        let done = self.serve(work, |state, done| {
            // Each of them has a caller who waits to become leader.
            state.requests_first = !state.waiting.is_empty();
            done
        });
        Some(done)
    }

    /// The number of groups that were served. Under the lock of the state, while there is a leader, it does not count
    /// the leader's group.
    fn groups(&self) -> u64 {
        self.progress.groups.load(Ordering::Relaxed)
    }

    /// Waits a moment for the end of the group behind so many.
    fn look(&self, groups: u64) {
        for _ in 0..LOOKS {
            if self.groups() != groups || self.is_slow() {
                break;
            }
            std::hint::spin_loop();
        }
    }

    fn is_slow(&self) -> bool {
        self.progress.is_slow.load(Ordering::Relaxed)
    }

    /// Sleeps until something changes.
    fn sleep<'a>(
        &'a self,
        mut state: MutexGuard<'a, QueueState<T, R>>,
    ) -> MutexGuard<'a, QueueState<T, R>> {
        state.sleeping += 1;
        let mut state = wait(&self.changed, state);
        state.sleeping -= 1;
        state
    }

    /// Does the work of a leader, which the caller is, and then `end`s it.
    fn serve<A, B>(
        &self,
        work: impl FnOnce() -> A,
        end: impl FnOnce(&mut QueueState<T, R>, A) -> B,
    ) -> B {
        let mut leader = Leader {
            queue: self,
            finished: false,
        };
        let done = work();
        leader.finished = true;
        let mut state = lock(&self.state);
        let ended = end(&mut state, done);
        state.leading = false;
        let sleeping = state.sleeping > 0;
        if self.is_slow() {
            self.progress.is_slow.store(false, Ordering::Relaxed);
        }
        drop(state);
        self.progress.groups.fetch_add(1, Ordering::Relaxed);
        if sleeping {
            self.changed.notify_all();
        }
        ended
    }
}

/// Marks the queue as broken, and wakes the waiting callers, if the leader panics.
struct Leader<'a, T, R> {
    queue: &'a CommitQueue<T, R>,
    finished: bool,
}

impl<T, R> Drop for Leader<'_, T, R> {
    fn drop(&mut self) {
        if !self.finished {
            lock(&self.queue.state).broken = true;
            self.queue.changed.notify_all();
        }
    }
}

#[cfg(all(test, loom))]
mod loom_models;
#[cfg(all(test, not(loom)))]
mod tests;
