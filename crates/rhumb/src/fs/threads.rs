//! Work that waits for the device, much of it at a time.

use std::thread;

use crate::sync::atomic::{AtomicUsize, Ordering};

/// So much of it goes on at a time, each in a thread of its own.
const THREADS: usize = 16;

/// Works on all items, many at a time. Returns the results in any order.
pub(crate) fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let some = || {
        let mut results = Vec::new();
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            results.push(work(item));
        }
        results
    };
    thread::scope(|scope| {
        let helpers = 1..THREADS.min(items.len());
        // Without some of the threads, the others do more.
        let helpers = helpers.map_while(|_| thread::Builder::new().spawn_scoped(scope, some).ok());
        let helpers: Vec<_> = helpers.collect();
        let mut results = some();
        for helper in helpers {
            let joined = helper.join();
            results.extend(joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        results
    })
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_worked_on_once() {
        for count in [0, 1, 5, 1_000] {
            let items: Vec<usize> = (0..count).collect();
            let mut results = each(&items, |item| item * 3);
            results.sort_unstable();
            assert!(results.into_iter().eq((0..count).map(|item| item * 3)));
        }
    }
}
