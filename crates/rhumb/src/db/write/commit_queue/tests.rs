use super::*;

/// Submits a request which `lead` serves, by itself or in a group.
fn submit(
    queue: &CommitQueue<u64, u64>,
    request: u64,
    lead: impl Fn(Vec<u64>) -> Vec<u64>,
) -> Option<u64> {
    let lone = |request: &u64| lead(vec![*request])[0];
    let served = queue.submit(request, true, |_| (), |request| request, lone, &lead);
    served.map(|(result, _)| result)
}

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
                    let lead = |group: Vec<u64>| {
                        enter();
                        leave();
                        group
                    };
                    assert_eq!(submit(queue, request, lead), Some(request));
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
    assert_eq!(submit(&queue, 1, |group| group), None);
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
                let lead = |group| {
                    lock(order).push("requests");
                    group
                };
                submit(queue, 1, lead)
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

/// Runs a request while another one is served, which calls `serving` first and ends once the caller calls
/// `prepare` or has queued its request. Returns what the caller did, in order.
fn done_beside_a_leader(serving: impl FnOnce(&CommitQueue<u64, u64>) + Send) -> Vec<&'static str> {
    let queue = CommitQueue::<u64, u64>::new();
    let (served, ending) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let leader = scope.spawn(|| {
            let lone = |n: &u64| {
                serving(&queue);
                served.wait();
                ending.wait();
                *n
            };
            queue.submit(1, true, |_| (), |n| n, lone, |group| group)
        });
        served.wait();
        let prepare = |_: &u64| {
            lock(&done).push("prepared");
            ending.wait();
            // The leader ends before the caller looks.
            while lock(&queue.state).leading {
                std::thread::yield_now();
            }
        };
        let queued = |n| {
            lock(&done).push("queued");
            ending.wait();
            n
        };
        let lone = |n: &u64| {
            lock(&done).push("alone");
            *n
        };
        let result = queue.submit(2, true, prepare, queued, lone, |group| group);
        assert_eq!(result.map(|(result, _)| result), Some(2));
        let led = leader.join().ok().flatten();
        assert_eq!(led.map(|(result, _)| result), Some(1));
    });
    lock(&done).clone()
}

#[test]
fn a_caller_that_finds_only_a_leader_is_served_alone_after_it() {
    assert_eq!(done_beside_a_leader(|_| ()), ["prepared", "alone"]);
}

#[test]
fn callers_are_queued_behind_a_slow_group() {
    let done = done_beside_a_leader(CommitQueue::slows_down);
    assert_eq!(done, ["queued"]);
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
                    let lead = |group: Vec<u64>| {
                        groups.fetch_add(1, Ordering::Relaxed);
                        group.iter().map(|n| n + 1).collect::<Vec<_>>()
                    };
                    assert_eq!(submit(queue, n, lead), Some(n + 1));
                }
            });
        }
    });
    assert!(groups.into_inner() <= 2000);
}

#[test]
fn later_requests_fail_after_a_leader_panics() {
    let queue = CommitQueue::<u64, u64>::new();
    let panicking = |_| panic!("the panic that the test asks for");
    std::thread::scope(|scope| {
        let leader = scope.spawn(|| submit(&queue, 1, panicking));
        assert!(leader.join().is_err());
    });
    assert_eq!(submit(&queue, 2, |group| group), None);
}
