//! Locks that are taken in a fixed order, so that no two threads wait for each other forever.
//!
//! Each lock has a [`Rank`], and a thread that holds a lock takes only locks of higher ranks. Tests and
//! debug builds check this at each lock, and that a thread which waits for a condition holds no other
//! lock. In other builds a [`Ranked`] is a plain mutex.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use super::{Condvar, Lock, Mutex, MutexGuard};

/// The order in which the locks of a store are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// Held to choose a background job and to end one.
    Scheduler,
    /// Held to write a group and to replace a memtable.
    Write,
    /// Held to change the set of tables.
    Catalog,
    /// Held to read or change the list of snapshots.
    Snapshots,
    /// Held to free the views of dropped keyspaces.
    Dropped,
    /// Held to read or change what threads wait for.
    Signals,
    /// Held to read or change which logs there are.
    Logs,
    /// Held to read or set the error that ended all writing.
    Failure,
}

/// A mutex with a [`Rank`].
#[derive(Debug)]
pub(crate) struct Ranked<T> {
    mutex: Mutex<T>,
    order: order::Order,
}

impl<T> Ranked<T> {
    /// An unlocked mutex.
    pub fn new(rank: Rank, value: T) -> Self {
        Ranked {
            mutex: Mutex::new(value),
            order: order::Order::new(rank),
        }
    }
}

impl<T> Lock for Ranked<T> {
    type Guard<'a>
        = RankedGuard<'a, T>
    where
        T: 'a;

    #[track_caller]
    fn acquire(&self) -> RankedGuard<'_, T> {
        let held = self.order.hold();
        RankedGuard {
            guard: super::lock(&self.mutex),
            held,
        }
    }
}

/// A locked [`Ranked`].
#[derive(Debug)]
pub(crate) struct RankedGuard<'a, T> {
    guard: MutexGuard<'a, T>,
    held: order::Held,
}

impl<T> Deref for RankedGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for RankedGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl<'a, T> RankedGuard<'a, T> {
    /// Waits on a condition.
    #[track_caller]
    pub fn wait(self, condvar: &Condvar) -> Self {
        let RankedGuard { guard, held } = self;
        held.check_alone();
        let guard = super::wait(condvar, guard);
        RankedGuard { guard, held }
    }

    /// Waits on a condition for at most `time`.
    #[track_caller]
    pub fn wait_timeout(self, condvar: &Condvar, time: Duration) -> Self {
        let RankedGuard { guard, held } = self;
        held.check_alone();
        let guard = super::wait_timeout(condvar, guard, time);
        RankedGuard { guard, held }
    }
}

/// The check. Loom's threads share one thread of the system, and with it what is local to a thread.
#[cfg(all(any(test, debug_assertions), not(loom)))]
mod order {
    use std::cell::RefCell;
    use std::marker::PhantomData;

    use super::Rank;

    thread_local!(static HELD: RefCell<Vec<Rank>> = const { RefCell::new(Vec::new()) });

    /// Nothing is checked in a thread that is ending.
    #[track_caller]
    fn with_held(work: impl FnOnce(&mut Vec<Rank>)) {
        let _ = HELD.try_with(|held| work(&mut held.borrow_mut()));
    }

    #[derive(Debug)]
    pub(super) struct Order(Rank);

    /// Notes that this thread holds a lock; it is not sent to others.
    #[derive(Debug)]
    pub(super) struct Held(Rank, PhantomData<*const ()>);

    impl Order {
        pub(super) fn new(rank: Rank) -> Self {
            Order(rank)
        }

        #[track_caller]
        pub(super) fn hold(&self) -> Held {
            let rank = self.0;
            with_held(|held| {
                let wrong = held.iter().find(|other| **other >= rank);
                assert!(wrong.is_none(), "{rank:?} is locked after {wrong:?}");
                held.push(rank);
            });
            Held(rank, PhantomData)
        }
    }

    impl Held {
        #[track_caller]
        pub(super) fn check_alone(&self) {
            with_held(|held| assert!(*held == [self.0], "a thread waits while it holds {held:?}"));
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            with_held(|held| held.retain(|rank| *rank != self.0));
        }
    }
}

#[cfg(not(all(any(test, debug_assertions), not(loom))))]
mod order {
    #[derive(Debug)]
    pub(super) struct Order;

    #[derive(Debug)]
    pub(super) struct Held;

    impl Order {
        pub(super) fn new(_: super::Rank) -> Self {
            Order
        }

        pub(super) fn hold(&self) -> Held {
            Held
        }
    }

    impl Held {
        pub(super) fn check_alone(&self) {}
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::super::lock;
    use super::*;

    fn panics(work: impl FnOnce() + Send) -> bool {
        std::thread::scope(|scope| scope.spawn(work).join().is_err())
    }

    #[test]
    fn locks_are_taken_by_rising_rank() {
        let write = Ranked::new(Rank::Write, 1);
        let catalog = Ranked::new(Rank::Catalog, 2);
        let rising = || *lock(&write) + *lock(&catalog);
        assert_eq!(rising(), 3);
        assert!(panics(|| {
            let _catalog = lock(&catalog);
            let _write = lock(&write);
        }));
        assert!(panics(|| {
            let _write = lock(&write);
            let _again = lock(&write);
        }));
        // They were let go in any order, and by threads that panicked.
        let (first, second) = (lock(&write), lock(&catalog));
        drop(first);
        drop(second);
        assert_eq!(rising(), 3);
    }

    #[test]
    fn a_thread_that_waits_holds_no_other_lock() {
        let (condvar, instant) = (Condvar::new(), Duration::from_nanos(1));
        let write = Ranked::new(Rank::Write, 1);
        let signals = Ranked::new(Rank::Signals, 2);
        assert_eq!(*lock(&signals).wait_timeout(&condvar, instant), 2);
        assert!(panics(|| {
            let _write = lock(&write);
            drop(lock(&signals).wait_timeout(&condvar, instant));
        }));
        assert!(panics(|| {
            let _write = lock(&write);
            drop(lock(&signals).wait(&condvar));
        }));
    }
}
