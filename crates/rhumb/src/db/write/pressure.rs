//! Back-pressure: writers are slowed down when background work falls behind, and stalled when it
//! falls far behind.

use std::time::{Duration, Instant};

use crate::db::store::Store;
use crate::error::Result;
use crate::version::Levels;

/// The numbers of waiting memtables in one keyspace at which writers are slowed down and stalled.
const WAITING_SLOW: usize = 2;
const WAITING_STALL: usize = 4;
/// The numbers of runs in level 0 at which writers are slowed down and stalled, as multiples of the
/// number of tables that starts a compaction.
const LEVEL0_SLOW: usize = 3;
const LEVEL0_STALL: usize = 9;
/// The bytes a second that writers reach under the strongest slowdown.
const SLOWEST: f64 = 4.0 * 1024.0 * 1024.0;

/// The longest sleep of one group. The time owed beyond that is slept by later groups.
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
    fn of(value: usize, slow: usize, stall: usize, reason: &'static str) -> Self {
        if value >= stall {
            Pressure::Stall(reason)
        } else if value >= slow {
            Pressure::Slow((value - slow + 1) as f64 / (stall - slow) as f64, reason)
        } else {
            Pressure::None
        }
    }

    fn weight(self) -> f64 {
        match self {
            Pressure::None => 0.0,
            Pressure::Slow(share, _) => share,
            Pressure::Stall(_) => 2.0,
        }
    }
}

impl Store {
    /// Computes the pressure again, after memtables or levels changed.
    pub(in crate::db) fn update_pressure(&self) {
        // It is computed under the lock, so that an earlier result never overwrites a later one.
        self.signals.set_pressure(|| self.worst_pressure());
    }

    fn worst_pressure(&self) -> Pressure {
        let mut worst = Pressure::None;
        for keyspace in self.keyspaces.load().values() {
            let view = keyspace.view.load();
            for pressure in [
                Pressure::of(
                    view.waiting.len(),
                    WAITING_SLOW,
                    WAITING_STALL,
                    "write buffers wait to be flushed",
                ),
                self.level0_pressure(&view.levels),
            ] {
                if pressure.weight() > worst.weight() {
                    worst = pressure;
                }
            }
        }
        worst
    }

    fn level0_pressure(&self, levels: &Levels) -> Pressure {
        let trigger = self.options.levels.level0_tables.max(1) as usize;
        let (slow, stall) = (trigger * LEVEL0_SLOW, trigger * LEVEL0_STALL);
        Pressure::of(
            levels.runs(0).len(),
            slow,
            stall,
            "level 0 waits to be merged",
        )
    }

    /// Makes the leader of a commit group wait as long as the pressure demands.
    ///
    /// # Errors
    /// If the store takes no writes any more, or if, during a stall, the disk is full.
    pub(in crate::db) fn wait_for_room(&self, bytes: usize) -> Result<()> {
        match self.signals.pressure() {
            Pressure::None => Ok(()),
            Pressure::Slow(share, reason) => {
                let time = Duration::from_secs_f64(bytes as f64 / SLOWEST * share * share);
                if self.signals.owe(time) {
                    let started = Instant::now();
                    std::thread::sleep(self.signals.pay(LONGEST_SLEEP));
                    self.writes.held_up(reason, started.elapsed(), false);
                }
                Ok(())
            }
            Pressure::Stall(reason) => {
                let started = Instant::now();
                let result = self.signals.wait_while(|signals| {
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
