//! Small numbers for the running threads.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

/// How many threads can have a number at one time.
pub(crate) const NUMBERED_THREADS: usize = 256;

const WORDS: usize = NUMBERED_THREADS / 64;

/// The numbers in use, as bits.
static IN_USE: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];

struct Number(Option<usize>);

impl Number {
    fn take() -> Self {
        let lowest_free = |in_use: u64| (in_use != u64::MAX).then(|| in_use | (in_use + 1));
        for (i, word) in IN_USE.iter().enumerate() {
            // What a number's last owner did must be visible to its next owner.
            if let Ok(in_use) = word.fetch_update(AcqRel, Acquire, lowest_free) {
                return Number(Some(i * 64 + in_use.trailing_ones() as usize));
            }
        }
        Number(None)
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        if let Some(number) = self.0
            && let Some(word) = IN_USE.get(number / 64)
        {
            word.fetch_and(!(1 << (number % 64)), AcqRel);
        }
    }
}

thread_local!(static NUMBER: Number = Number::take());

/// A number below [`NUMBERED_THREADS`] that no other running thread has; `None` if too many threads
/// are running or this one is ending.
#[inline]
pub(crate) fn thread_number() -> Option<usize> {
    NUMBER.try_with(|number| number.0).ok().flatten()
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::Barrier;

    #[test]
    fn no_two_threads_have_one_number() {
        for _ in 0..3 {
            let threads = NUMBERED_THREADS + 20;
            let all_have_one = Barrier::new(threads);
            let numbers: Vec<Option<usize>> = std::thread::scope(|scope| {
                let number = || {
                    let number = thread_number();
                    all_have_one.wait();
                    assert_eq!(thread_number(), number);
                    number
                };
                let threads: Vec<_> = (0..threads).map(|_| scope.spawn(number)).collect();
                threads.into_iter().map(|t| t.join().unwrap()).collect()
            });
            let given: Vec<usize> = numbers.into_iter().flatten().collect();
            let distinct: HashSet<usize> = given.iter().copied().collect();
            assert_eq!(distinct.len(), given.len());
            assert!(given.iter().all(|&n| n < NUMBERED_THREADS));
            // Other tests' threads take numbers too; the numbers of ended threads are reused.
            assert!(
                given.len() > NUMBERED_THREADS / 2,
                "{} numbers",
                given.len()
            );
        }
    }
}
