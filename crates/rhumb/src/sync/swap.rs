//! A value that readers take without a lock while others replace it.
//!
//! A reader notes in its thread's slot which value it is about to use, and looks whether that is
//! still the current one (hazard pointers: M. Michael, IEEE TPDS 15(6), 2004). Values that were
//! replaced are kept until [`Swap::free`] finds them in no slot. Readers never free anything, so a
//! read runs no destructor, whatever the value holds.

use std::ops::Deref;

use super::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use super::atomic::{AtomicPtr, fence};
use super::{Arc, Mutex, NUMBERED_THREADS, lock, thread_number};

/// A slot for each numbered thread, shared by any number of [`Swap`]s: a thread uses one value at a
/// time, and counts references if it ever uses more.
#[derive(Debug)]
pub(crate) struct Slots(Box<[Slot]>);

#[derive(Debug)]
#[repr(align(64))]
struct Slot(AtomicPtr<()>);

impl Slot {
    /// Notes what is about to be read: either `free` sees it, or the next load of what is current
    /// sees that it was replaced. Released, so that `free`, whichever value it meets here, has what
    /// was read before.
    #[inline]
    fn announce(&self, value: *mut ()) {
        // An exchange orders like a fence here, and takes half the time of one.
        #[cfg(not(loom))]
        self.0.swap(value, SeqCst);
        // Loom knows fences, but takes `SeqCst` of anything else for less.
        #[cfg(loom)]
        {
            self.0.store(value, Release);
            fence(SeqCst);
        }
    }
}

impl Default for Slots {
    fn default() -> Self {
        Slots::for_threads(NUMBERED_THREADS)
    }
}

impl Slots {
    fn for_threads(threads: usize) -> Self {
        let slot = |_| Slot(AtomicPtr::new(std::ptr::null_mut()));
        Slots((0..threads).map(slot).collect())
    }

    fn hold(&self, value: *const ()) -> bool {
        self.0
            .iter()
            .any(|slot| slot.0.load(SeqCst).cast_const() == value)
    }
}

/// The current value, and those that were replaced and perhaps are still being read.
#[derive(Debug)]
pub(crate) struct Swap<T> {
    /// Where `Held::current` points to.
    current: AtomicPtr<T>,
    held: Mutex<Held<T>>,
    slots: Arc<Slots>,
}

#[derive(Debug)]
struct Held<T> {
    current: Arc<T>,
    retired: Vec<Arc<T>>,
}

impl<T> Swap<T> {
    /// A swap that begins with `value`.
    pub fn new(value: T, slots: &Arc<Slots>) -> Self {
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

    /// The value now, for the length of one read: no lock, nothing allocated, nothing freed. A
    /// thread that holds another one already, or has no number, takes a lock and counts.
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
                // This one, though they are equal: what was loaded first may have been freed before
                // it was noted, and the current value have come to lie in its place.
                return Guard::Noted { slot, value: now };
            }
            value = now;
        }
    }

    /// The value now, to be kept.
    pub fn load_full(&self) -> Arc<T> {
        match &self.load() {
            Guard::Counted(value) => Arc::clone(value),
            Guard::Noted { value, .. } => {
                // SAFETY: the pointer came from an `Arc` of ours, which `free` does not drop while the
                // guard holds the slot.
                unsafe {
                    Arc::increment_strong_count(*value);
                    Arc::from_raw(*value)
                }
            }
        }
    }

    /// Puts another value in place of the current one.
    pub fn replace(&self, make: impl FnOnce(&T) -> T) {
        let mut held = lock(&self.held);
        let value = Arc::new(make(&held.current));
        self.current.store(Arc::as_ptr(&value).cast_mut(), SeqCst);
        let old = std::mem::replace(&mut held.current, value);
        held.retired.push(old);
    }

    /// Frees the replaced values that nobody uses any more; whether that was all of them. For
    /// background threads: what they hold may take long to be let go of.
    pub fn free(&self) -> bool {
        let mut held = lock(&self.held);
        // Pairs with the fence in `Slot::announce`. That the loads below are `SeqCst` would do, but
        // loom takes that for less; and nobody waits for what this costs.
        fence(SeqCst);
        // The slots first: a reader leaves its slot only after it has counted its reference.
        let unused = |value: &mut Arc<T>| {
            !self.slots.hold(Arc::as_ptr(value).cast()) && Arc::strong_count(value) == 1
        };
        let unused: Vec<_> = held.retired.extract_if(.., unused).collect();
        let all = held.retired.is_empty();
        drop(held);
        // The count was let go of elsewhere; what was read there comes before what is freed here.
        fence(Acquire);
        drop(unused);
        all
    }
}

/// A value that stays for as long as this is held.
pub(crate) enum Guard<'a, T> {
    /// Noted in the thread's slot.
    Noted {
        #[expect(private_interfaces)]
        slot: &'a Slot,
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
    fn readers_never_free_and_free_frees_what_nobody_reads() {
        let slots = Arc::new(Slots::default());
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
        assert!(watched.upgrade().is_some(), "one reader keeps it");
        drop(kept);
        assert!(watched.upgrade().is_some(), "readers do not free");
        assert!(swap.free());
        assert!(watched.upgrade().is_none());
        assert_eq!(**swap.load(), 2);
    }

    #[test]
    fn threads_that_read_while_others_replace_see_whole_values() {
        let slots = Arc::new(Slots::default());
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

    /// Says when it is freed, in a way that loom sees as a write: a reader that could still read it
    /// then is a race.
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
            // SAFETY: nobody writes while it is read, which loom checks.
            self.0.with(|n| unsafe { *n })
        }
    }

    impl Drop for Watched {
        fn drop(&mut self) {
            // SAFETY: nobody reads while it is dropped, which loom checks.
            self.0.with_mut(|n| unsafe { *n = u32::MAX });
        }
    }

    // References that are counted are not modelled: loom has its own `Arc`, which ours is not.
    fn model(readers: usize, read: fn(&Swap<Watched>, usize)) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let slots = Arc::new(Slots::for_threads(readers));
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
