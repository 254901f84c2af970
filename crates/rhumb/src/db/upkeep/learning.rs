//! When models of tables are learned beside their indexes ([`Tuner::Bourbon`](crate::Tuner::Bourbon)).

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::background::Round;
use super::compact::LONGEST_NAP;
use crate::db::store::{OpenKeyspace, Store};
use crate::error::{Error, Result};
use crate::sync::lock;
use crate::table::Learning;
use crate::tune::{Learned, Learner, Next};
use crate::version::Table;

/// A learner works for so long at a time, and beside flushes and merges rests for so many times as long: it would take the
/// processor from them, and nobody waits for it.
const TURN: Duration = Duration::from_millis(1);
const RESTS: u32 = 3;

/// When a learner began its turn, and how long it has rested.
pub(super) struct Turn {
    begun: Instant,
    rested: Duration,
}

impl Turn {
    pub(super) fn begun_at(begun: Instant) -> Self {
        Turn {
            begun,
            rested: Duration::ZERO,
        }
    }
}

impl Store {
    /// Learns the table of all keyspaces from which most is to be gained; none while writers are held up. A table that cannot
    /// be learned is told of in the statistics, and read as before.
    pub(super) fn learn_next(&self) -> Round {
        let (mut best, mut soonest) = (None, None);
        let mut most = 0.0;
        let now = Instant::now();
        for keyspace in self.keyspaces.load().values() {
            let Some(learner) = keyspace.learner() else {
                continue;
            };
            // No view is kept for so long that it would wait to be freed.
            let levels = keyspace.view.load().levels.clone();
            match learner.next(&levels, now) {
                Next::Learn { gain, table } if gain > most => {
                    (best, most) = (Some((keyspace.clone(), table)), gain);
                }
                Next::In(time) => soonest = Some(soonest.map_or(time, |s: Duration| s.min(time))),
                Next::Learn { .. } | Next::Nothing => {}
            }
        }
        if self.scheduler.signals.is_pressed() {
            // A signal tells when it ends.
            return Round::Nothing;
        }
        match (best, soonest) {
            (Some((keyspace, table)), _) => {
                if let Some(learner) = keyspace.learner() {
                    self.learn(&keyspace, learner, &table);
                }
                Round::Worked
            }
            (None, Some(time)) => Round::NothingFor(time),
            (None, None) => Round::Nothing,
        }
    }

    /// Learns a table as long as that is wanted: it is not merged away, its keyspace is not dropped, and the store takes writes.
    fn learn(&self, keyspace: &OpenKeyspace, learner: &Learner, table: &Arc<Table>) {
        let started = Instant::now();
        let mut turn = Turn::begun_at(started);
        let is_wanted = || {
            let takes_writes = self.check_writable().is_ok();
            takes_writes && self.is_wanted(keyspace).is_ok() && !table.is_obsolete()
        };
        let mut go_on = || self.give_way(&mut turn, &is_wanted);
        let learned = self.learn_table(keyspace, table, &mut go_on);
        let time = started.elapsed().saturating_sub(turn.rested);
        let learned = match learned {
            Ok(Learning::Done { bytes }) => Learned::Model { bytes, time },
            Ok(Learning::Needless) => Learned::Modelled,
            Ok(Learning::Unfit) => Learned::Unfit,
            Ok(Learning::Stopped) => return,
            Err(_) if !is_wanted() => return,
            Err(error) => Learned::Failed(error),
        };
        learner.note(table, learned);
    }

    fn learn_table(
        &self,
        keyspace: &OpenKeyspace,
        table: &Table,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Learning> {
        let reader = table.reader()?;
        if !reader.is_learnable() {
            return Ok(Learning::Needless);
        }
        let number = table.meta.map_number;
        let map = {
            let catalog = lock(&self.catalog);
            let state = catalog.state.keyspaces.get(&keyspace.id);
            let is_there = |(_, there): (_, &Arc<Table>)| there.meta.number == table.meta.number;
            // Maps go with their last table.
            match state.filter(|state| state.levels.tables().any(is_there)) {
                Some(state) => state.maps.by_number().get(&number).cloned(),
                None => return Ok(Learning::Stopped),
            }
        };
        let map = map.ok_or_else(|| {
            let expected = format!("key map {number} in the manifest");
            Error::corruption(&table.path(), 0, expected, "none")
        })?;
        reader.learn((number, map), go_on)
    }

    /// Rests beside flushes and merges, and while writers are held up. Returns whether the work is still wanted then.
    pub(super) fn give_way(&self, turn: &mut Turn, is_wanted: &dyn Fn() -> bool) -> bool {
        let (worked, started) = (turn.begun.elapsed(), Instant::now());
        if worked < TURN {
            return is_wanted();
        }
        let signals = &self.scheduler.signals;
        if self.scheduler.running().is_busy() {
            signals.rest(RESTS * worked);
        }
        while signals.is_pressed() && is_wanted() {
            signals.rest(LONGEST_NAP);
        }
        turn.begun = Instant::now();
        turn.rested += turn.begun - started;
        is_wanted()
    }
}
