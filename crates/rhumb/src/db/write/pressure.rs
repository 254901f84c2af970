//! Back-pressure: writers are slowed down when background work falls behind, and stalled when it
//! falls far behind.

use std::time::{Duration, Instant};

use crate::db::store::Store;
use crate::error::Result;
use crate::options;

/// The numbers at which writers are slowed down and stalled.
pub(in crate::db) struct Limits {
    slow: usize,
    stall: usize,
    reason: &'static str,
}

/// For the waiting memtables of one keyspace.
pub(in crate::db) const WAITING: Limits = Limits {
    slow: 2,
    stall: 4,
    reason: "write buffers wait to be flushed",
};

/// For the runs in level 0 of one keyspace: multiples of the number of tables that starts a compaction.
pub(in crate::db) fn level0(options: &options::Levels) -> Limits {
    let trigger = options.level0_tables.max(1) as usize;
    Limits {
        slow: trigger * 3,
        stall: trigger * 9,
        reason: "level 0 waits to be merged",
    }
}

impl Limits {
    fn pressure(&self, count: usize) -> Pressure {
        let Limits {
            slow,
            stall,
            reason,
        } = *self;
        if count >= stall {
            Pressure::Stall(reason)
        } else if count >= slow {
            Pressure::Slow((count - slow + 1) as f64 / (stall - slow) as f64, reason)
        } else {
            Pressure::None
        }
    }

    /// How near a count is to a stall: from 1 on, writers wait; 0 while they are not even slowed down.
    pub(in crate::db) fn nearness(&self, count: usize) -> f64 {
        match count >= self.slow {
            true => count as f64 / self.stall as f64,
            false => 0.0,
        }
    }
}

/// The bytes a second that writers reach under the strongest slowdown.
const SLOWEST: f64 = 4.0 * 1024.0 * 1024.0;

/// A writer sleeps once this much is owed, since the system does not time shorter sleeps well.
const LEAST_SLEEP: Duration = Duration::from_millis(1);
/// The longest sleep of one group, and the most that is owed at any time: a large batch must not make the
/// writers behind it wait for seconds.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// Whether writers have to wait for background work, and why.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::db) enum Pressure {
    /// Writers are not held up.
    None,
    /// Writers are slowed down. The delay grows with the square of the number, which is at most 1.
    Slow(f64, &'static str),
    /// Writers wait.
    Stall(&'static str),
}

impl Pressure {
    fn weight(self) -> f64 {
        match self {
            Pressure::None => 0.0,
            Pressure::Slow(share, _) => share,
            Pressure::Stall(_) => 2.0,
        }
    }
}

/// The time that writers owe under a slowdown. It is collected until it is long enough for a sleep.
#[derive(Debug, Default)]
pub(in crate::db) struct Debt(Duration);

impl Debt {
    /// Adds to the time owed. Returns what the caller has to sleep, and with it all that is owed, if it is
    /// long enough for a sleep.
    pub(in crate::db) fn add(&mut self, time: Duration) -> Option<Duration> {
        self.0 = self.0.saturating_add(time).min(LONGEST_SLEEP);
        (self.0 >= LEAST_SLEEP).then(|| std::mem::take(&mut self.0))
    }

    pub(in crate::db) fn forgive(&mut self) {
        self.0 = Duration::ZERO;
    }
}

impl Store {
    /// Computes the pressure again, after memtables or levels changed, and wakes the threads that wait
    /// for such changes.
    pub(in crate::db) fn update_pressure(&self) {
        // It is computed under the lock, so that an earlier result never overwrites a later one.
        let signals = &self.scheduler.signals;
        signals.set_pressure(|| self.worst_pressure());
    }

    fn worst_pressure(&self) -> Pressure {
        let level0 = level0(&self.options.levels);
        let mut worst = Pressure::None;
        for keyspace in self.keyspaces.load().values() {
            let view = keyspace.view.load();
            for pressure in [
                WAITING.pressure(view.waiting.len()),
                level0.pressure(view.levels.runs(0).len()),
            ] {
                if pressure.weight() > worst.weight() {
                    worst = pressure;
                }
            }
        }
        worst
    }

    /// Makes the leader of a commit group wait as long as the pressure demands.
    ///
    /// # Errors
    /// If the store takes no writes any more, or if, during a stall, the disk is full.
    pub(in crate::db) fn wait_for_room(&self, bytes: usize) -> Result<()> {
        match self.scheduler.signals.pressure() {
            Pressure::None => Ok(()),
            Pressure::Slow(share, reason) => {
                let time = Duration::from_secs_f64(bytes as f64 / SLOWEST * share * share);
                let started = Instant::now();
                if self.scheduler.signals.slow_down(time) {
                    self.writes.held_up(reason, started.elapsed(), false);
                }
                Ok(())
            }
            Pressure::Stall(reason) => {
                let started = Instant::now();
                let result = self.scheduler.signals.wait_while(|signals| {
                    self.check_writable()?;
                    signals.disk_full()?;
                    Ok(matches!(signals.pressure(), Pressure::Stall(_)))
                });
                self.writes.held_up(reason, started.elapsed(), true);
                result
            }
        }
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn a_large_batch_leaves_no_debt_to_later_writers() {
        let mut debt = Debt::default();
        assert_eq!(debt.add(Duration::from_secs(16)), Some(LONGEST_SLEEP));
        assert_eq!(debt.add(Duration::ZERO), None);
    }

    #[test]
    fn small_writes_sleep_together() {
        let mut debt = Debt::default();
        let part = LEAST_SLEEP * 2 / 5;
        assert_eq!([debt.add(part), debt.add(part)], [None, None]);
        assert_eq!(debt.add(part), Some(part * 3));
        assert_eq!(debt.add(part), None);
    }
}
