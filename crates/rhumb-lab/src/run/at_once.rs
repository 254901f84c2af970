//! Several threads that begin together.

use std::sync::Barrier;

use crate::error::Result;

/// Runs each piece of work in a thread of its own, none before all threads are there, and gives
/// what came of each.
///
/// # Errors
/// The first one.
pub fn at_once<T, W>(works: Vec<W>) -> Result<Vec<T>>
where
    T: Send,
    W: FnOnce() -> Result<T> + Send,
{
    let barrier = &Barrier::new(works.len());
    std::thread::scope(|scope| {
        let spawn = |work: W| {
            scope.spawn(move || {
                barrier.wait();
                work()
            })
        };
        let threads: Vec<_> = works.into_iter().map(spawn).collect();
        let outcomes = threads.into_iter().map(|thread| match thread.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        outcomes.collect()
    })
}
