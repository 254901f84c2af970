//! Back-pressure: writers are slowed down when background work falls behind, and stalled when it
//! falls far behind.

use std::time::{Duration, Instant};

use crate::compaction::{Room, most_runs_above};
use crate::db::store::Store;
use crate::error::Result;
use crate::options::{self, TierSpec};

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

/// For the runs that stand above a range of a learned tier: multiples of the number that starts a merge. Reads ask each
/// of them.
fn above_tier(tier: TierSpec) -> Limits {
    let trigger = tier.runs.max(1) as usize;
    Limits {
        slow: trigger * 3,
        stall: trigger * 9,
        reason: "runs above the learned tier wait to be merged",
    }
}

/// Writers are slowed down from this share of the space on that garbage in value files may take, so that the files stay
/// within it.
const SPACE_SLOW: f64 = 0.7;
/// They are slowed down by at most this share of the way to a stall, where a small write takes some milliseconds: the
/// round that makes room may take seconds, and meanwhile they write next to nothing.
const SPACE_SLOWEST: f64 = 0.9;
/// What value files may hold beyond their part: so many write buffers, which flushes add at once.
const SPACE_BUFFERS: u64 = 4;

/// For the garbage in value files. Large batches, which a slowdown does not hold back, are stalled one write buffer later,
/// unless too little garbage is known for a collection.
fn space(room: &Room, write_buffer_bytes: u64) -> Pressure {
    let reason = "value files wait to be emptied";
    let taken = |buffers: u64| room.taken(buffers.saturating_mul(write_buffer_bytes));
    if taken(SPACE_BUFFERS + 1) >= 1.0 && room.can_be_made() {
        return Pressure::Stall(reason);
    }
    if !room.can_be_made() && room.unknown() < 1.0 {
        // Nothing would be done meanwhile.
        return Pressure::None;
    }
    match (taken(SPACE_BUFFERS) - SPACE_SLOW) / (1.0 - SPACE_SLOW) {
        over if over > 0.0 => Pressure::Slow(over.min(SPACE_SLOWEST), reason),
        _ => Pressure::None,
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
            Pressure::Slow(
                (count - slow + 1) as f64 / (stall - slow + 1) as f64,
                reason,
            )
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

/// The bytes a second that writers reach half-way between the first slowdown and a stall.
const HALF_WAY: f64 = 8.0 * 1024.0 * 1024.0;

/// A writer sleeps once this much is owed, since the system does not time shorter sleeps well.
const LEAST_SLEEP: Duration = Duration::from_millis(1);
/// The longest sleep of one group, and the most that is owed at any time: a large batch must not make the
/// writers behind it wait for seconds.
const LONGEST_SLEEP: Duration = Duration::from_millis(40);

/// Whether writers have to wait for background work, and why.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::db) enum Pressure {
    /// Writers are not held up.
    None,
    /// Writers are slowed down, by how far the way from no delay (0) to a stall (1) is gone.
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

/// The time that a write of `bytes` takes after `share` of the way to a stall.
///
/// The rate falls towards nothing, so that at some point before the stall writers are as fast as the merges,
/// whatever these achieve: writes become slower, each by little, where they would wait for a whole merge. Groups
/// of more than merges take in during [`LONGEST_SLEEP`] come to the stall all the same.
fn delay(bytes: usize, share: f64) -> Duration {
    let rate = HALF_WAY * (1.0 / share - 1.0).powi(2);
    Duration::try_from_secs_f64(bytes as f64 / rate).unwrap_or(LONGEST_SLEEP)
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
        let tier = self.options.levels.compaction.tier();
        let mut worst = Pressure::None;
        for keyspace in self.keyspaces.load().values() {
            let view = keyspace.view.load();
            let values = match view.levels.value_files().is_empty() {
                true => Pressure::None,
                false => {
                    let room = Room::of(&view.levels, self.options.over_provision_percent, tier);
                    space(&room, self.options.write_buffer_bytes)
                }
            };
            let above = tier.map_or(Pressure::None, |tier| {
                let limits = above_tier(tier);
                // Mostly there are too few runs in all, and nobody has to look at the ranges.
                match limits.pressure(view.levels.runs_count()) {
                    Pressure::None => Pressure::None,
                    _ => limits.pressure(most_runs_above(&view.levels, tier)),
                }
            });
            for pressure in [
                values,
                above,
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
                let started = Instant::now();
                if self.scheduler.signals.slow_down(delay(bytes, share)) {
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

    /// Writers that never pause, and merges that take all runs of level 0 that are there when they begin:
    /// however long these need, the writers slow down before they stall.
    #[test]
    fn writers_slow_down_to_the_speed_of_merges() {
        const BUFFER: usize = 1 << 20;
        const WRITE: usize = 4096;
        let limits = level0(&options::Levels::default());
        for merge_seconds in [0.1, 0.5, 2.0, 4.0] {
            let (mut runs, mut taken, mut filled) = (0, 0, 0);
            let (mut now, mut merged_at) = (0.0, 0.0);
            while now < 60.0 {
                let pressure = limits.pressure(runs);
                now += match pressure {
                    Pressure::Slow(share, _) => delay(WRITE, share).as_secs_f64(),
                    _ => WRITE as f64 / 500e6,
                };
                let stalled = matches!(pressure, Pressure::Stall(_));
                assert!(!stalled, "{runs} runs, merges of {merge_seconds} s");
                filled += WRITE;
                if filled >= BUFFER {
                    (filled, runs) = (0, runs + 1);
                }
                if now >= merged_at {
                    runs -= taken;
                    (taken, merged_at) = (runs, now + merge_seconds);
                }
            }
        }
    }

    #[test]
    fn writers_slow_down_before_value_files_are_too_large() {
        // 1,000 bytes of garbage may be there beside 2,000 in use, and 4 buffers.
        let pressure = |known: u64, buffer| space(&Room::for_tests(2_000, known, 0, 50), buffer);
        assert_eq!(pressure(700, 0), Pressure::None);
        assert!(matches!(pressure(710, 0), Pressure::Slow(share, _) if share < 0.1));
        assert!(matches!(
            pressure(1_000, 1),
            Pressure::Slow(SPACE_SLOWEST, _)
        ));
        assert!(matches!(
            pressure(1_004, 1),
            Pressure::Slow(SPACE_SLOWEST, _)
        ));
        assert!(matches!(pressure(1_005, 1), Pressure::Stall(_)));
        assert_eq!(pressure(1_005, 1_000), Pressure::None);
        // What is hidden becomes known by merges: nobody waits for a collection that cannot begin, nor while none of them
        // is due.
        let hidden = space(&Room::for_tests(2_000, 200, 900, 50), 0);
        assert!(matches!(hidden, Pressure::Slow(SPACE_SLOWEST, _)));
        let unknown = space(&Room::for_tests(2_000, 240, 490, 50), 0);
        assert_eq!(unknown, Pressure::None);
        assert!(delay(1_000, SPACE_SLOWEST) < LONGEST_SLEEP / 2);
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
