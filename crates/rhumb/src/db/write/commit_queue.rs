//! Group commit: writers queue their requests, and one of them, the leader, serves all that wait.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex, lock, wait};

/// A queue of requests, served in groups by one of the callers at a time, the leader.
///
/// Groups form by themselves: while a leader is busy (writing, syncing), further requests are
/// queued, and the next leader takes all of them.
#[derive(Debug)]
pub(in crate::db) struct CommitQueue<T, R> {
    state: Mutex<QueueState<T, R>>,
    changed: Condvar,
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
    /// Whether a leader panicked.
    broken: bool,
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
            broken: false,
        };
        CommitQueue {
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// Queues `request`, waits until it is served, and returns its result and how long it waited for other
    /// leaders. A caller that becomes
    /// leader calls `lead` with the queued requests in the order in which they were queued; `lead`
    /// returns one result for each. Two leaders never run at the same time.
    ///
    /// Returns `None` once a leader has panicked: the outcome of its group is unknown, so no
    /// further request is served.
    pub(in crate::db) fn submit(
        &self,
        request: T,
        mut lead: impl FnMut(Vec<T>) -> Vec<R>,
    ) -> Option<(R, Duration)> {
        // Only those who wait look at the clock.
        let mut waiting: Option<Instant> = None;
        let mut state = lock(&self.state);
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiting.push_back((ticket, request));
        loop {
            if let Some(result) = state.results.remove(&ticket) {
                let waited = waiting.map_or(Duration::ZERO, |since| since.elapsed());
                return Some((result, waited));
            }
            if state.broken {
                return None;
            }
            if state.leading || (state.waiting_alone > 0 && !state.requests_first) {
                waiting.get_or_insert_with(Instant::now);
                state = wait(&self.changed, state);
                continue;
            }
            state.leading = true;
            state.requests_first = false;
            let (tickets, group): (Vec<_>, Vec<_>) = state.waiting.drain(..).unzip();
            drop(state);
            let mut leader = Leader {
                queue: self,
                finished: false,
            };
            let results = lead(group);
            leader.finished = true;
            state = lock(&self.state);
            state.results.extend(tickets.into_iter().zip(results));
            state.leading = false;
            self.changed.notify_all();
        }
    }

    /// Calls `work` while no leader runs and none begins: requests wait, and come before the next caller alone.
    ///
    /// Returns `None` once a leader has panicked, or an earlier caller alone.
    pub(in crate::db) fn alone<A>(&self, work: impl FnOnce() -> A) -> Option<A> {
        let mut state = lock(&self.state);
        state.waiting_alone += 1;
        while (state.leading || state.requests_first) && !state.broken {
            state = wait(&self.changed, state);
        }
        state.waiting_alone -= 1;
        if state.broken {
            return None;
        }
        state.leading = true;
        drop(state);
        let mut leader = Leader {
            queue: self,
            finished: false,
        };
        let done = work();
        leader.finished = true;
        state = lock(&self.state);
        state.leading = false;
        // Each of them has a caller who waits to become leader.
        state.requests_first = !state.waiting.is_empty();
        self.changed.notify_all();
        Some(done)
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
mod models {
    use super::*;
    use crate::sync::Arc;
    use crate::sync::atomic::{AtomicUsize, Ordering};

    /// Three writers: each gets its own result, and leaders never overlap.
    #[test]
    fn loom_every_writer_gets_its_own_result() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            let queue = Arc::new(CommitQueue::<usize, usize>::new());
            let leaders = Arc::new(AtomicUsize::new(0));
            let submit = |queue: &CommitQueue<usize, usize>, leaders: &AtomicUsize, n: usize| {
                let result = queue.submit(n, |group| {
                    assert_eq!(leaders.fetch_add(1, Ordering::SeqCst), 0, "two leaders");
                    let results = group.iter().map(|n| n * 10).collect();
                    leaders.fetch_sub(1, Ordering::SeqCst);
                    results
                });
                assert_eq!(result.map(|(result, _)| result), Some(n * 10));
            };
            let threads: Vec<_> = (1..3)
                .map(|n| {
                    let (queue, leaders) = (queue.clone(), leaders.clone());
                    loom::thread::spawn(move || submit(&queue, &leaders, n))
                })
                .collect();
            submit(&queue, &leaders, 3);
            for thread in threads {
                thread.join().unwrap();
            }
        });
    }

    /// Two writers and a caller who wants to be alone: he is, and everybody gets his turn.
    #[test]
    fn loom_a_caller_alone_is_alone() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            let queue = Arc::new(CommitQueue::<usize, usize>::new());
            let busy = Arc::new(AtomicUsize::new(0));
            let submit = |queue: &CommitQueue<usize, usize>, busy: &AtomicUsize, n: usize| {
                let result = queue.submit(n, |group| {
                    assert_eq!(busy.fetch_add(1, Ordering::SeqCst), 0, "not alone");
                    busy.fetch_sub(1, Ordering::SeqCst);
                    group
                });
                assert_eq!(result.map(|(result, _)| result), Some(n));
            };
            let writer = {
                let (queue, busy) = (queue.clone(), busy.clone());
                loom::thread::spawn(move || submit(&queue, &busy, 1))
            };
            let caller = {
                let (queue, busy) = (queue.clone(), busy.clone());
                loom::thread::spawn(move || {
                    let done = queue.alone(|| {
                        assert_eq!(busy.fetch_add(1, Ordering::SeqCst), 0, "not alone");
                        busy.fetch_sub(1, Ordering::SeqCst);
                    });
                    assert_eq!(done, Some(()));
                })
            };
            submit(&queue, &busy, 2);
            writer.join().unwrap();
            caller.join().unwrap();
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn nobody_leads_while_a_caller_is_alone() {
        let queue = CommitQueue::<u64, u64>::new();
        let busy = std::sync::atomic::AtomicBool::new(false);
        let enter = || assert!(!busy.swap(true, std::sync::atomic::Ordering::SeqCst));
        let leave = || busy.store(false, std::sync::atomic::Ordering::SeqCst);
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let (queue, enter, leave) = (&queue, &enter, &leave);
                scope.spawn(move || {
                    for n in 0..500 {
                        let request = writer * 1000 + n;
                        let (result, _) = queue
                            .submit(request, |group| {
                                enter();
                                leave();
                                group
                            })
                            .unwrap();
                        assert_eq!(result, request);
                    }
                });
            }
            for _ in 0..2 {
                let (queue, enter, leave) = (&queue, &enter, &leave);
                scope.spawn(move || {
                    for n in 0..200 {
                        let done = queue.alone(|| {
                            enter();
                            std::thread::yield_now();
                            leave();
                            n
                        });
                        assert_eq!(done, Some(n));
                    }
                });
            }
        });
        // A panic leaves nobody waiting.
        let panics = std::panic::AssertUnwindSafe(|| queue.alone(|| panic!("on purpose")));
        assert!(std::panic::catch_unwind(panics).is_err());
        assert!(queue.alone(|| ()).is_none());
        assert!(queue.submit(1, |group| group).is_none());
    }

    /// Callers who are alone one after another do not keep the others waiting for ever.
    #[test]
    fn requests_come_between_callers_alone() {
        let queue = CommitQueue::<u64, u64>::new();
        let order = Mutex::new(Vec::new());
        let (queue, order) = (&queue, &order);
        std::thread::scope(|scope| {
            queue.alone(|| {
                scope.spawn(|| {
                    queue.submit(1, |group| {
                        lock(order).push("requests");
                        group
                    })
                });
                scope.spawn(|| queue.alone(|| lock(order).push("alone")));
                // Both wait.
                loop {
                    let state = lock(&queue.state);
                    if state.waiting.len() == 1 && state.waiting_alone == 1 {
                        break;
                    }
                    drop(state);
                    std::thread::yield_now();
                }
            });
        });
        assert_eq!(*lock(order), ["requests", "alone"]);
    }

    #[test]
    fn concurrent_writers_form_groups_and_get_their_own_results() {
        let queue = CommitQueue::<u64, u64>::new();
        let groups = std::sync::atomic::AtomicU64::new(0);
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let (queue, groups) = (&queue, &groups);
                scope.spawn(move || {
                    for i in 0..500 {
                        let n = thread * 1000 + i;
                        let result = queue.submit(n, |group| {
                            groups.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                            group.iter().map(|n| n + 1).collect()
                        });
                        assert_eq!(result.map(|(result, _)| result), Some(n + 1));
                    }
                });
            }
        });
        assert!(groups.into_inner() <= 2000);
    }

    #[test]
    fn later_requests_fail_after_a_leader_panics() {
        let queue = CommitQueue::<u64, u64>::new();
        std::thread::scope(|scope| {
            let leader =
                scope.spawn(|| queue.submit(1, |_| panic!("the panic that the test asks for")));
            assert!(leader.join().is_err());
        });
        assert_eq!(queue.submit(2, |group| group), None);
    }
}
