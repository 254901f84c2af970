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
            if state.leading {
                waiting.get_or_insert_with(Instant::now);
                state = wait(&self.changed, state);
                continue;
            }
            state.leading = true;
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
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

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
