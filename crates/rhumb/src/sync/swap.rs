//! A value that readers take without a lock while others replace it.
//!
//! A reader notes the value that it is about to use in its thread's slot, and then checks that the
//! value is still current (hazard pointers: M. Michael, IEEE TPDS 15(6), 2004). Replaced values
//! are kept until [`Swap::free`] finds them in no slot. Readers never free anything, so a read
//! runs no destructor, whatever the value holds.

use std::ops::Deref;

use super::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use super::atomic::{AtomicPtr, fence};
use super::{Arc, Mutex, NUMBERED_THREADS, lock, thread_number};

/// One hazard slot for each numbered thread, shared by any number of [`Swap`]s. A thread notes one
/// value at a time; for further values it counts references.
#[derive(Debug)]
pub(crate) struct HazardSlots(Box<[HazardSlot]>);

#[derive(Debug)]
#[repr(align(64))]
struct HazardSlot(AtomicPtr<()>);

impl HazardSlot {
    /// Notes the value about to be read: either `free` sees the note, or the reader's next load of
    /// the current value sees that it was replaced. The store is a release, so that whatever `free`
    /// reads here, the thread's earlier reads happen before it.
    #[inline]
    fn announce(&self, value: *mut ()) {
        // A `SeqCst` exchange orders as the store and the fence below do, in half the time.
        #[cfg(not(loom))]
        self.0.swap(value, SeqCst);
        // Loom models `SeqCst` fences, but treats all other `SeqCst` operations as weaker.
        #[cfg(loom)]
        {
            self.0.store(value, Release);
            fence(SeqCst);
        }
    }
}

impl Default for HazardSlots {
    fn default() -> Self {
        HazardSlots::for_threads(NUMBERED_THREADS)
    }
}

impl HazardSlots {
    fn for_threads(threads: usize) -> Self {
        let slot = |_| HazardSlot(AtomicPtr::new(std::ptr::null_mut()));
        HazardSlots((0..threads).map(slot).collect())
    }

    fn hold(&self, value: *const ()) -> bool {
        self.0
            .iter()
            .any(|slot| slot.0.load(SeqCst).cast_const() == value)
    }
}

/// The current value, and replaced ones that may still be in use.
#[derive(Debug)]
pub(crate) struct Swap<T> {
    /// Points to the value of `Held::current`.
    current: AtomicPtr<T>,
    held: Mutex<Held<T>>,
    slots: Arc<HazardSlots>,
}

#[derive(Debug)]
struct Held<T> {
    current: Arc<T>,
    retired: Vec<Arc<T>>,
}

impl<T> Swap<T> {
    /// A swap whose current value is `value`.
    pub fn new(value: T, slots: &Arc<HazardSlots>) -> Self {
        let value = Arc::new(value);
        Swap {
            current: AtomicPtr::new(Arc::as_ptr(&value).cast_mut()),
            held: Mutex::new(Held {
                current: value,
                retired: Vec::new(),
            }),
            slots: Arc::clone(slots),
        }
    }

    /// The current value, for the length of one read: takes no lock, allocates and frees nothing.
    /// But a thread that holds a value already, or has no number, takes a lock and counts a
    /// reference.
    #[inline]
    pub fn load(&self) -> Guard<'_, T> {
        self.load_as(thread_number())
    }

    #[inline]
    fn load_as(&self, thread: Option<usize>) -> Guard<'_, T> {
        let slot = thread.and_then(|number| self.slots.0.get(number));
        let Some(slot) = slot.filter(|slot| slot.0.load(Relaxed).is_null()) else {
            return Guard::Counted(Arc::clone(&lock(&self.held).current));
        };
        let mut value = self.current.load(Acquire);
        loop {
            slot.announce(value.cast());
            let now = self.current.load(SeqCst);
            if now == value {
                // Return `now`, not `value`, though the addresses are equal: the first value may
                // have been freed before it was noted, and the current one allocated at the same
                // address.
                return Guard::Noted { slot, value: now };
            }
            value = now;
        }
    }

    /// The current value, to be kept.
    pub fn load_full(&self) -> Arc<T> {
        match &self.load() {
            Guard::Counted(value) => Arc::clone(value),
            Guard::Noted { value, .. } => {
                // SAFETY: the pointer came from `held.current` or a retired `Arc`, which `free`
                // does not drop while the guard holds the slot.
                unsafe {
                    Arc::increment_strong_count(*value);
                    Arc::from_raw(*value)
                }
            }
        }
    }

    /// Replaces the current value.
    pub fn replace(&self, make: impl FnOnce(&T) -> T) {
        let mut held = lock(&self.held);
        let value = Arc::new(make(&held.current));
        self.current.store(Arc::as_ptr(&value).cast_mut(), SeqCst);
        let old = std::mem::replace(&mut held.current, value);
        held.retired.push(old);
    }

    /// Frees the replaced values that are no longer in use; returns whether none is left. For
    /// background threads, since the destructors may take long.
    pub fn free(&self) -> bool {
        let mut held = lock(&self.held);
        // Pairs with the fence in `HazardSlot::announce`. The `SeqCst` loads in `hold` would
        // suffice, but loom treats them as weaker, and the cost does not matter on a background
        // thread.
        fence(SeqCst);
        // Slots are checked before counts: a reader clears its slot only after counting its
        // reference.
        let unused = |value: &mut Arc<T>| {
            !self.slots.hold(Arc::as_ptr(value).cast()) && Arc::strong_count(value) == 1
        };
        let unused: Vec<_> = held.retired.extract_if(.., unused).collect();
        let all = held.retired.is_empty();
        drop(held);
        // Another thread may have dropped the last other reference. Its reads of the value must
        // happen before the value is freed here.
        fence(Acquire);
        drop(unused);
        all
    }
}

/// Keeps a value alive until it is dropped.
pub(crate) enum Guard<'a, T> {
    /// Noted in the thread's slot.
    Noted {
        #[expect(private_interfaces)]
        slot: &'a HazardSlot,
        value: *const T,
    },
    Counted(Arc<T>),
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match self {
            // SAFETY: the value is in the slot, so `free` keeps it.
            Guard::Noted { value, .. } => unsafe { &**value },
            Guard::Counted(value) => value,
        }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if let Guard::Noted { slot, .. } = self {
            slot.0.store(std::ptr::null_mut(), Release);
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn free_frees_unread_values_and_readers_free_none() {
        let slots = Arc::new(HazardSlots::default());
        let swap = Swap::new(Arc::new(1), &slots);
        let (first, nested, kept) = (swap.load(), swap.load(), swap.load_full());
        assert!(matches!(first, Guard::Noted { .. }));
        assert!(matches!(nested, Guard::Counted(_)));
        let watched = Arc::downgrade(&*first);
        swap.replace(|one| Arc::new(**one + 1));
        assert_eq!((**first, **nested, **kept, **swap.load()), (1, 1, 1, 2));
        for holder in [Some(first), Some(nested), None] {
            swap.free();
            assert!(watched.upgrade().is_some());
            drop(holder);
        }
        assert!(!swap.free());
        assert!(
            watched.upgrade().is_some(),
            "a reader keeps the value alive"
        );
        drop(kept);
        assert!(watched.upgrade().is_some(), "readers do not free");
        assert!(swap.free());
        assert!(watched.upgrade().is_none());
        assert_eq!(**swap.load(), 2);
    }

    #[test]
    fn threads_that_read_while_others_replace_see_whole_values() {
        let slots = Arc::new(HazardSlots::default());
        let swap = Swap::new(vec![0u64; 64], &slots);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut last = 0;
                    while last < 2000 {
                        let value = swap.load();
                        assert!(value.iter().all(|n| *n == value[0]) && value[0] >= last);
                        last = value[0];
                    }
                });
            }
            for n in 1..=2000 {
                swap.replace(|_| vec![n; 64]);
                swap.free();
            }
        });
        assert!(swap.free());
    }
}

#[cfg(all(test, loom))]
mod loom_models {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::thread;

    /// A value whose destructor is a write that loom sees: loom reports a race if the value could
    /// still be read then.
    struct Watched(UnsafeCell<u32>);

    // SAFETY: loom's cell checks each access.
    unsafe impl Sync for Watched {}
    // SAFETY: as above.
    unsafe impl Send for Watched {}

    impl Watched {
        fn new(n: u32) -> Self {
            Watched(UnsafeCell::new(n))
        }

        fn read(&self) -> u32 {
            // SAFETY: there is no write while it is read; loom checks that.
            self.0.with(|n| unsafe { *n })
        }
    }

    impl Drop for Watched {
        fn drop(&mut self) {
            // SAFETY: there is no read while it is dropped; loom checks that.
            self.0.with_mut(|n| unsafe { *n = u32::MAX });
        }
    }

    // Counted references are not modelled: they use the standard `Arc`, which loom cannot see.
    fn model(readers: usize, read: fn(&Swap<Watched>, usize)) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let slots = Arc::new(HazardSlots::for_threads(readers));
            let swap = Arc::new(Swap::new(Watched::new(1), &slots));
            let threads: Vec<_> = (0..readers)
                .map(|number| {
                    let swap = Arc::clone(&swap);
                    thread::spawn(move || read(&swap, number))
                })
                .collect();
            swap.replace(|_| Watched::new(2));
            swap.free();
            threads.into_iter().for_each(|t| t.join().unwrap());
            assert!(swap.free());
        });
    }

    #[test]
    fn loom_a_value_is_not_freed_while_it_is_read() {
        for readers in [1, 2] {
            model(readers, |swap, number| {
                let first = swap.load_as(Some(number)).read();
                let second = swap.load_as(Some(number)).read();
                assert!((1..=2).contains(&first) && (first..=2).contains(&second));
            });
        }
    }
}
