//! Models of writers and of callers alone.

use super::*;
use crate::sync::Arc;
use crate::sync::atomic::AtomicUsize;

/// Three writers: each gets its own result, and leaders never overlap.
#[test]
fn loom_every_writer_gets_its_own_result() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let queue = Arc::new(CommitQueue::<usize, usize>::new());
        let leaders = Arc::new(AtomicUsize::new(0));
        let submit = |queue: &CommitQueue<usize, usize>, leaders: &AtomicUsize, n: usize| {
            let lead = |group: Vec<usize>| {
                assert_eq!(leaders.fetch_add(1, Ordering::SeqCst), 0, "two leaders");
                let results = group.iter().map(|n| n * 10).collect::<Vec<_>>();
                leaders.fetch_sub(1, Ordering::SeqCst);
                results
            };
            let lone = |n: &usize| lead(vec![*n])[0];
            let result = queue.submit(n, true, |_| (), |n| n, lone, lead);
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
            let lead = |group: Vec<usize>| {
                assert_eq!(busy.fetch_add(1, Ordering::SeqCst), 0, "not alone");
                busy.fetch_sub(1, Ordering::SeqCst);
                group
            };
            let result = queue.submit(n, true, |_| (), |n| n, |n| lead(vec![*n])[0], lead);
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
