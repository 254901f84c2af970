//! Runs work in several threads that begin at the same time.

use std::sync::Barrier;

use crate::error::Result;

/// Runs each piece of work in a thread of its own. The work begins when all threads have started.
/// Returns the results.
///
/// # Errors
/// The first error of a thread.
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
