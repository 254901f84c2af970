//! How fast two threads exchange a cache line.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Round trips that are timed together.
const TRIPS: u64 = 16;
/// How often these are timed at most, and for how long at most.
const BATCHES: usize = 64;
const LONGEST: Duration = Duration::from_millis(100);
/// Looks at the line before a thread lets others run: both may be on one core.
const LOOKS: u32 = 10_000;
/// What ends the exchange.
const END: u64 = u64::MAX;

/// The time in nanoseconds in which a cache line that one thread wrote reaches another thread and comes back: the
/// least over up to 0.1 s, because the trips take a thousand times longer while both threads share one core.
/// Threads that write to the same memory wait for such trips. On virtual machines it changes with the cores that the
/// host assigns, fourfold within seconds.
pub fn round_trip() -> f64 {
    let line = AtomicU64::new(0);
    let mut least = Duration::MAX;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut odd = 1;
            while await_line(&line, |seen| seen == odd || seen == END) != END {
                line.store(odd + 1, Ordering::Release);
                odd += 2;
            }
        });
        let (began, mut even) = (Instant::now(), 0);
        for _ in 0..BATCHES {
            let batch = Instant::now();
            for _ in 0..TRIPS {
                line.store(even + 1, Ordering::Release);
                even = await_line(&line, |seen| seen == even + 2);
            }
            least = least.min(batch.elapsed());
            if began.elapsed() > LONGEST {
                break;
            }
        }
        line.store(END, Ordering::Release);
    });
    least.as_nanos() as f64 / TRIPS as f64
}

/// Waits until the line is as wanted; returns what it is.
fn await_line(line: &AtomicU64, is_wanted: impl Fn(u64) -> bool) -> u64 {
    loop {
        for _ in 0..LOOKS {
            let seen = line.load(Ordering::Acquire);
            if is_wanted(seen) {
                return seen;
            }
            std::hint::spin_loop();
        }
        std::thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_back() {
        let nanoseconds = round_trip();
        assert!(
            nanoseconds > 0.0 && nanoseconds.is_finite(),
            "{nanoseconds}"
        );
    }
}
