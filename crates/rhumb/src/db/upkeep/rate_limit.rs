//! How fast merges may write.

use std::time::{Duration, Instant};

use crate::sync::{Mutex, lock};

/// What was not written in the time before the present is written at once, up to this much time.
const BURST: Duration = Duration::from_millis(100);

/// Divides a number of bytes a second among the merges of a store.
#[derive(Debug)]
pub(in crate::db) struct RateLimit {
    bytes_per_second: u64,
    /// When all that merges have reserved is written at the limit; `None` before the first reservation.
    written_at: Mutex<Option<Instant>>,
}

impl RateLimit {
    /// At most `bytes_per_second`; `None` for 0, which stands for no limit.
    pub(in crate::db) fn new(bytes_per_second: u64) -> Option<Self> {
        (bytes_per_second > 0).then(|| RateLimit {
            bytes_per_second,
            written_at: Mutex::new(None),
        })
    }

    /// Reserves the writing of `bytes`. Returns how long after `now` they may be written.
    pub(in crate::db) fn reserve(&self, bytes: u64, now: Instant) -> Duration {
        let time = Duration::try_from_secs_f64(bytes as f64 / self.bytes_per_second as f64);
        let time = time.unwrap_or(Duration::MAX);
        let mut written_at = lock(&self.written_at);
        let earliest = now.checked_sub(BURST).unwrap_or(now);
        let begins = written_at.unwrap_or(earliest).max(earliest);
        // A time beyond the clock's range is not reached anyway.
        let ends = begins.checked_add(time).unwrap_or(begins);
        *written_at = Some(ends);
        ends.saturating_duration_since(now)
    }

    /// Forgets what was reserved and is written without waiting.
    pub(in crate::db) fn forgive(&self, now: Instant) {
        let mut written_at = lock(&self.written_at);
        *written_at = written_at.map(|at| at.min(now));
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    const MEGABYTE: u64 = 1_000_000;

    fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn merges_together_keep_to_the_limit() {
        let limit = RateLimit::new(MEGABYTE).unwrap();
        let now = Instant::now();
        // The burst, and then each byte takes its time, whoever writes it.
        assert_eq!(limit.reserve(100_000, now), millis(0));
        assert_eq!(limit.reserve(50_000, now), millis(50));
        assert_eq!(limit.reserve(50_000, now), millis(100));
        assert_eq!(limit.reserve(50_000, now + millis(100)), millis(50));
    }

    #[test]
    fn idle_time_is_kept_up_to_a_burst() {
        let limit = RateLimit::new(MEGABYTE).unwrap();
        let now = Instant::now();
        limit.reserve(100_000, now);
        assert_eq!(limit.reserve(300_000, now + millis(60_000)), millis(200));
    }

    #[test]
    fn what_is_forgiven_is_not_waited_for() {
        let limit = RateLimit::new(MEGABYTE).unwrap();
        let now = Instant::now();
        limit.reserve(10_000_000, now);
        limit.forgive(now);
        assert_eq!(limit.reserve(50_000, now), millis(50));
    }

    #[test]
    fn no_limit_and_times_beyond_the_clock() {
        assert!(RateLimit::new(0).is_none());
        let limit = RateLimit::new(1).unwrap();
        limit.reserve(u64::MAX, Instant::now());
        limit.reserve(u64::MAX, Instant::now());
    }
}
